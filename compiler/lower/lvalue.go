// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// lvalue returns the place that e denotes. Expressions in its indices are
// evaluated once, immediately.
func (l *lowerer) lvalue(e syntax.Expr) value {
	switch e := e.(type) {
	case *syntax.MemberExpr:
		return l.member(e, l.lvalue(e.X))
	case *syntax.IndexExpr:
		v := l.lvalue(e.X)
		if l.hasEffects(e.Index) {
			v = l.fixed(v)
		}
		return l.element(e, v)
	case *syntax.SliceExpr:
		return l.sliceOf(e)
	}
	return l.expr(e)
}

// sliceOf returns the bits of a place that e selects.
func (l *lowerer) sliceOf(e *syntax.SliceExpr) value {
	s := sliceOf{of: l.lvalue(e.X)}
	if !e.Plus {
		lo := l.number(e.Lo)
		s.low = &ir.Const{T: ir.Bit32, Val: lo}
		s.width = int(l.number(e.Hi).Int64()-lo.Int64()) + 1
		return s
	}
	s.width = int(l.number(e.Hi).Int64())
	if l.hasEffects(e.Lo) {
		s.of = l.fixed(s.of)
	}
	switch lo := l.expr(e.Lo).(type) {
	case number:
		s.low = &ir.Const{T: ir.Bit32, Val: lo.v}
	case scalar:
		s.low = l.once(lo.x)
	}
	return s
}

// hasIndices reports whether place v has an index that is found at run time.
func hasIndices(v value) bool {
	found := func(ref ir.HeaderRef) bool {
		switch ref.(type) {
		case *ir.StackElem, *ir.UnionStackElem:
			return true
		}
		return false
	}
	switch v := v.(type) {
	case scalar:
		x, ok := v.x.(*ir.FieldRef)
		return ok && found(x.Header)
	case header:
		return found(v.ref)
	case unionAt:
		return v.index != nil
	case aggregate:
		return slices.ContainsFunc(v.elems, hasIndices)
	case element:
		return hasIndices(v.array)
	case sliceOf:
		return hasIndices(v.of)
	}
	return false
}

// mapIndices returns the place v after replacing each index that is found at
// run time, of a stack with n elements, by f(index, n).
func mapIndices(v value, f func(index ir.Expr, n int) ir.Expr) value {
	if !hasIndices(v) {
		return v
	}
	refs := map[ir.HeaderRef]ir.HeaderRef{}
	mapRef := func(ref ir.HeaderRef) ir.HeaderRef {
		r, ok := refs[ref]
		if ok {
			return r
		}
		switch ref := ref.(type) {
		case *ir.StackElem:
			r = &ir.StackElem{Stack: ref.Stack, Index: f(ref.Index, len(ref.Stack.Elems))}
		case *ir.UnionStackElem:
			r = &ir.UnionStackElem{Stack: ref.Stack, Index: f(ref.Index, len(ref.Stack.Elems)), Member: ref.Member}
		default:
			return ref
		}
		refs[ref] = r
		return r
	}
	var do func(v value) value
	do = func(v value) value {
		switch v := v.(type) {
		case scalar:
			if x, ok := v.x.(*ir.FieldRef); ok {
				if ref := mapRef(x.Header); ref != x.Header {
					return scalar{&ir.FieldRef{Header: ref, Field: x.Field}}
				}
			}
		case header:
			v.ref = mapRef(v.ref)
			return v
		case unionAt:
			if v.index != nil {
				v.index = f(v.index, len(v.s.Elems))
			}
			return v
		case aggregate:
			out := aggregate{t: v.t}
			for _, e := range v.elems {
				out.elems = append(out.elems, do(e))
			}
			return out
		case element:
			return element{do(v.array).(aggregate), v.index}
		case sliceOf:
			return sliceOf{do(v.of), v.low, v.width}
		}
		return v
	}
	return do(v)
}

// fixed returns the place v with its computed indices copied to variables, so
// that later statements do not change which place it is.
func (l *lowerer) fixed(v value) value {
	keep := func(x ir.Expr, _ int) ir.Expr { return l.copyOf(scalar{x}).(scalar).x }
	var fix func(v value) value
	fix = func(v value) value {
		switch v := v.(type) {
		case element:
			return element{fix(v.array).(aggregate), keep(v.index, 0)}
		case sliceOf:
			return sliceOf{fix(v.of), keep(v.low, 0), v.width}
		}
		return mapIndices(v, keep)
	}
	return fix(v)
}

// BMv2 stops when the index of a stack is out of range. The language requires
// that reading gives some value and writing does nothing: we read the last
// element.

// safe returns the place v for reading.
func safe(v value) value {
	return mapIndices(v, func(x ir.Expr, n int) ir.Expr {
		in := inRange(x, n)
		if in == nil {
			return x
		}
		return mkMux(in, x, indexConst(x, n-1))
	})
}

// guarded calls do, which writes to the place v, under the condition that v
// exists.
func (l *lowerer) guarded(v value, do func()) {
	var all ir.Expr
	mapIndices(v, func(x ir.Expr, n int) ir.Expr {
		if in := inRange(x, n); in != nil && all != nil {
			all = mkBinary(syntax.AndAnd, all, in)
		} else if in != nil {
			all = in
		}
		return x
	})
	if all == nil {
		do()
		return
	}
	l.ifElse(all, l.span, do, nil)
}

// inRange returns the condition x < n, or nil if it always holds.
func inRange(x ir.Expr, n int) ir.Expr {
	size := big.NewInt(int64(n))
	t := x.Type()
	if t.Kind == ir.Signed && size.BitLen() >= t.Width {
		size.Lsh(big.NewInt(1), uint(t.Width-1))
	} else if highest(x).Cmp(size) < 0 {
		return nil
	}
	x = unsigned(x)
	return mkBinary(syntax.Less, x, &ir.Const{T: x.Type(), Val: size})
}

// highest returns an upper bound of x as an unsigned number.
func highest(x ir.Expr) *big.Int {
	all := types.Mask(x.Type().Width)
	switch x := x.(type) {
	case *ir.Const:
		return x.Val
	case *ir.Cast:
		if from := x.X.Type(); from.Kind == ir.Bits && from.Width <= x.T.Width {
			return highest(x.X)
		}
	case *ir.Binary:
		if c, ok := x.Y.(*ir.Const); ok && x.Op == syntax.And && c.Val.Sign() >= 0 {
			return c.Val
		}
	}
	return all
}

// load returns the value at a place.
func (l *lowerer) load(v value) value {
	switch v := v.(type) {
	case element:
		return scalar{safe(v.array).(aggregate).at(v.index)}
	case sliceOf:
		s, ok := l.load(v.of).(scalar)
		if !ok {
			l.fail(l.span.Start, CodeUnsupported, "this slice is not supported on this target")
		}
		if c, ok := v.low.(*ir.Const); ok {
			lo := int(c.Val.Int64())
			return scalar{mkSlice(s.x, lo+v.width-1, lo)}
		}
		return scalar{mkCast(ir.Type{Kind: ir.Bits, Width: v.width}, mkShift(syntax.Shr, unsigned(s.x), v.low))}
	}
	return safe(v)
}

// at returns the array element with an index found at run time. An index beyond
// the end selects the last element.
func (a aggregate) at(index ir.Expr) ir.Expr {
	n := len(a.elems)
	x := a.elems[n-1].(scalar).x
	for i := n - 2; i >= 0; i-- {
		x = mkMux(mkBinary(syntax.Equal, index, indexConst(index, i)), a.elems[i].(scalar).x, x)
	}
	return x
}

func indexConst(like ir.Expr, i int) ir.Expr {
	return &ir.Const{T: like.Type(), Val: big.NewInt(int64(i))}
}

// moveElement assigns to the array element with an index found at run time. An
// index beyond the end has no effect.
func (l *lowerer) moveElement(d element, src value) {
	for i, e := range d.array.elems {
		is := mkBinary(syntax.Equal, d.index, indexConst(d.index, i))
		l.ifElse(is, l.span, func() { l.move(e, src) }, nil)
	}
}

// moveSlice assigns to some bits of a place.
func (l *lowerer) moveSlice(d sliceOf, src value) {
	s, ok := src.(scalar)
	v, isBits := l.load(d.of).(scalar)
	if !ok || !isBits {
		l.fail(l.span.Start, CodeUnsupported, "this slice cannot be assigned to on this target")
	}
	old := v.x
	t := old.Type()
	wide := ir.Type{Kind: ir.Bits, Width: t.Width}
	ones := &ir.Const{T: wide, Val: types.Mask(d.width)}
	hole := mkUnary(syntax.Tilde, mkShift(syntax.Shl, ones, d.low))
	kept := mkBinary(syntax.And, mkCast(wide, old), hole)
	bits := mkShift(syntax.Shl, mkCast(wide, unsigned(s.x)), d.low)
	l.move(d.of, scalar{mkCast(t, mkBinary(syntax.Or, kept, bits))})
}
