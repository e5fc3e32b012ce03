// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"github.com/pauseless/pauseless/compiler/ir"
)

// assign copies src to the place dst. They have the same type.
func (l *lowerer) assign(dst, src value) {
	if l.overlaps(dst, src) {
		src = l.copyOf(src)
	}
	if _, simple := dst.(scalar); !simple && indexMoves(dst) {
		dst = l.fixed(dst)
	}
	l.guarded(dst, func() { l.move(dst, src) })
}

// indexMoves reports whether assigning the parts of dst one after the other
// could change an index in dst, which all parts share.
func indexMoves(dst value) bool {
	moves := false
	mapIndices(dst, func(x ir.Expr, _ int) ir.Expr {
		switch x.(type) {
		case *ir.Const, *ir.VarRef: // no part of a header
		default:
			moves = true
		}
		return x
	})
	if d, ok := dst.(element); ok {
		to := newPlaces()
		to.add(d.array)
		moves = moves || to.reads(scalar{d.index})
	}
	return moves
}

// move assigns src to dst. Assigning a part of dst must not change src.
func (l *lowerer) move(dst, src value) {
	switch d := dst.(type) {
	case scalar:
		s, ok := src.(scalar)
		if !ok {
			l.fail(l.span.Start, CodeUnsupported, "this assignment is not supported on this target")
		}
		if samePlace(d.x, s.x) {
			return
		}
		if !isPlace(d.x) {
			l.fail(l.span.Start, CodeUnsupported, "this cannot be assigned to on this target")
		}
		l.emit(&ir.Assign{Base: l.at(), Dst: d.x, Src: s.x})
	case element:
		l.moveElement(d, src)
	case sliceOf:
		l.moveSlice(d, src)
	case aggregate:
		list := l.parts(src)
		for i, e := range d.elems {
			if i < len(list) && list[i] != nil {
				l.move(e, list[i])
			}
		}
	case header:
		l.moveHeader(d, src)
	case stack:
		switch s := src.(type) {
		case stack:
			if s.s != d.s {
				l.emit(&ir.CopyStack{Base: l.at(), Dst: d.s, Src: s.s})
			}
		default:
			l.moveParts(d, src)
		}
	case union:
		switch s := src.(type) {
		case union:
			if s.u != d.u {
				l.emit(&ir.CopyUnion{Base: l.at(), Dst: d.u, Src: s.u})
			}
		case noHeader:
			for _, h := range d.u.Members {
				l.emit(&ir.SetValid{Base: l.at(), Header: h})
			}
		default:
			l.moveParts(d, src)
		}
	case unionAt:
		if _, ok := src.(noHeader); !ok {
			l.moveParts(d, src)
			return
		}
		for i := range d.t.Fields {
			l.emit(&ir.SetValid{Base: l.at(), Header: d.member(i)})
		}
	case unionStack:
		switch s := src.(type) {
		case unionStack:
			if s.s != d.s {
				l.emit(&ir.CopyUnionStack{Base: l.at(), Dst: d.s, Src: s.s})
			}
		default:
			l.moveParts(d, src)
		}
	default:
		l.fail(l.span.Start, CodeUnsupported, "this cannot be assigned to on this target")
	}
}

// moveParts assigns the elements of a stack, or the members of a union, one by
// one.
func (l *lowerer) moveParts(dst, src value) {
	to, from := l.parts(dst), l.parts(src)
	for i := range to {
		if i >= len(from) || from[i] == nil {
			continue
		}
		a, ok1 := to[i].(header)
		b, ok2 := from[i].(header)
		if ok1 && ok2 && unionOf(a.ref) != nil { // an invalid member says nothing of the others
			l.emit(&ir.CopyHeader{Base: l.at(), Dst: a.ref, Src: b.ref})
		} else {
			l.move(to[i], from[i])
		}
	}
}

func (l *lowerer) moveHeader(d header, src value) {
	switch s := src.(type) {
	case header:
		copied := func() { l.emit(&ir.CopyHeader{Base: l.at(), Dst: d.ref, Src: s.ref}) }
		switch {
		case unionOf(d.ref) != nil:
			if s.ref == d.ref {
				copied = func() {}
			}
			l.ifElse(validity(s), l.span, copied, func() { l.setValid(d.ref, false) })
		case s.ref == d.ref:
		default:
			copied()
		}
	case headerLit:
		l.emit(&ir.SetValid{Base: l.at(), Header: d.ref, Valid: true})
		for i, e := range s.elems {
			if e != nil {
				l.move(l.field(d, i), e)
			}
		}
	case noHeader:
		l.setValid(d.ref, false)
	default:
		l.fail(l.span.Start, CodeUnsupported, "this header cannot be assigned to on this target")
	}
}

// setValid makes a header valid or invalid. A union with a member that is made
// invalid has no valid member (language spec 8.20).
func (l *lowerer) setValid(h ir.HeaderRef, valid bool) {
	members := unionOf(h)
	if valid || members == nil {
		members = []ir.HeaderRef{h}
	}
	for _, m := range members {
		l.emit(&ir.SetValid{Base: l.at(), Header: m, Valid: valid})
	}
}

// unionOf returns the members of the union that a header is a member of, or
// nil.
func unionOf(h ir.HeaderRef) (members []ir.HeaderRef) {
	switch h := h.(type) {
	case *ir.Header:
		if h.Union != nil {
			for _, m := range h.Union.Members {
				members = append(members, m)
			}
		}
	case *ir.UnionStackElem:
		for i := range h.Stack.Type.Members {
			members = append(members, &ir.UnionStackElem{Stack: h.Stack, Index: h.Index, Member: i})
		}
	case *ir.UnionStackNext:
		for i := range h.Stack.Type.Members {
			members = append(members, &ir.UnionStackNext{Stack: h.Stack, Member: i})
		}
	case *ir.UnionStackLast:
		for i := range h.Stack.Type.Members {
			members = append(members, &ir.UnionStackLast{Stack: h.Stack, Member: i})
		}
	}
	return members
}

// samePlace reports whether a and b are the same variable or field.
func samePlace(a, b ir.Expr) bool {
	switch a := a.(type) {
	case *ir.VarRef:
		b, ok := b.(*ir.VarRef)
		return ok && a.Var == b.Var
	case *ir.FieldRef:
		b, ok := b.(*ir.FieldRef)
		return ok && a.Field == b.Field && a.Header == b.Header
	}
	return false
}

// overlaps reports whether assigning the parts of src to those of dst, one
// after the other, could change a part of src before it is read.
func (l *lowerer) overlaps(dst, src value) bool {
	switch dst.(type) {
	case scalar, element, sliceOf:
		return false
	case header:
		if _, ok := src.(headerLit); !ok {
			return false
		}
	case stack:
		if _, ok := src.(stackLit); !ok {
			return false
		}
	}
	to := newPlaces()
	to.add(dst)
	return to.reads(src)
}

// places is a set of variables and headers.
type places struct {
	vars    map[*ir.Var]bool
	headers map[*ir.Header]bool
	all     bool // a place that is known only at run time
}

func newPlaces() *places {
	return &places{vars: map[*ir.Var]bool{}, headers: map[*ir.Header]bool{}}
}

func (p *places) empty() bool { return !p.all && len(p.vars) == 0 && len(p.headers) == 0 }

// placesOf returns the places that v has or reads. Those of a struct are
// cached, because all headers of a program are passed to many controls.
func (l *lowerer) placesOf(v value) *places {
	a, ok := v.(aggregate)
	if !ok || len(a.elems) == 0 {
		p := newPlaces()
		p.add(v)
		return p
	}
	p := l.structs[&a.elems[0]]
	if p == nil {
		p = newPlaces()
		p.add(v)
		l.structs[&a.elems[0]] = p
	}
	return p
}

// add adds all places that are part of v.
func (p *places) add(v value) {
	switch v := v.(type) {
	case scalar:
		p.addExpr(v.x)
	case element:
		p.add(v.array)
		p.addExpr(v.index)
	case sliceOf:
		p.add(v.of)
		p.addExpr(v.low)
	case aggregate:
		for _, e := range v.elems {
			p.add(e)
		}
	case header:
		p.addHeader(v.ref)
	case stack:
		for _, h := range v.s.Elems {
			p.headers[h] = true
		}
	case union:
		for _, h := range v.u.Members {
			p.headers[h] = true
		}
	case unionStack:
		for _, u := range v.s.Elems {
			p.add(union{u: u})
		}
	case unionAt:
		p.add(unionStack{s: v.s})
		p.addExpr(v.index)
	case headerLit:
		for _, e := range v.elems {
			p.add(e)
		}
	case stackLit:
		for _, e := range v.elems {
			p.add(e)
		}
	}
}

// addExpr adds the places that x reads.
func (p *places) addExpr(x ir.Expr) {
	ir.Walk(x, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.VarRef:
			p.vars[x.Var] = true
		case *ir.FieldRef:
			p.addHeader(x.Header)
		case *ir.Valid:
			p.addHeader(x.Header)
		case *ir.UnionValid:
			p.add(union{u: x.Union})
		case *ir.LastIndex:
			if x.Stack != nil {
				p.add(stack{s: x.Stack})
			} else {
				p.add(unionStack{s: x.Union})
			}
		case *ir.Lookahead:
			p.all = true
		}
		return true
	})
}

func (p *places) addHeader(h ir.HeaderRef) {
	switch h := h.(type) {
	case *ir.Header:
		p.headers[h] = true
		if h.Union != nil { // it changes the others' validity
			p.add(union{u: h.Union})
		}
	case *ir.StackElem:
		p.add(stack{s: h.Stack})
		p.addExpr(h.Index)
	case *ir.StackNext:
		p.add(stack{s: h.Stack})
	case *ir.StackLast:
		p.add(stack{s: h.Stack})
	case *ir.UnionStackElem:
		p.add(unionStack{s: h.Stack})
		p.addExpr(h.Index)
	case *ir.UnionStackNext:
		p.add(unionStack{s: h.Stack})
	case *ir.UnionStackLast:
		p.add(unionStack{s: h.Stack})
	}
}

// reads reports whether v has or reads one of the places.
func (p *places) reads(v value) bool {
	q := newPlaces()
	q.add(v)
	return p.meets(q)
}

// meets reports whether the two sets have a place in common.
func (p *places) meets(q *places) bool {
	if p.all && !q.empty() || q.all && !p.empty() {
		return true
	}
	if len(p.vars)+len(p.headers) > len(q.vars)+len(q.headers) {
		p, q = q, p
	}
	for v := range p.vars {
		if q.vars[v] {
			return true
		}
	}
	for h := range p.headers {
		if q.headers[h] {
			return true
		}
	}
	return false
}
