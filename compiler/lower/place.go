// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"strconv"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// unique returns name, with a number appended if it is taken.
func (l *lowerer) unique(name string) string {
	for {
		n, taken := l.names[name]
		if !taken {
			l.names[name] = 0
			return name
		}
		l.names[name] = n + 1
		fresh := name + "_" + strconv.Itoa(n)
		if _, taken := l.names[fresh]; !taken {
			l.names[fresh] = 0
			return fresh
		}
	}
}

// headerType returns the layout of a header, or of a struct stored like a
// header.
func (l *lowerer) headerType(t *types.Struct) *ir.HeaderType {
	if h := l.headerTypes[t]; h != nil {
		return h
	}
	h := &ir.HeaderType{Name: l.typeName(t), Struct: t}
	l.headerTypes[t] = h
	l.addFields(h, t, "", nil)
	l.prog.HeaderTypes = append(l.prog.HeaderTypes, h)
	return h
}

// typeName returns the target's name of a struct-like type.
func (l *lowerer) typeName(t *types.Struct) string {
	name := t.Name
	if t.Decl != nil {
		name = controlName("", t.Decl.Annotations, t.Name)
	}
	for _, a := range t.TypeArgs {
		name += "_" + a.String()
	}
	return l.unique("type " + name)[len("type "):]
}

// addFields adds the fields of t, and those of structs in it, to a layout.
func (l *lowerer) addFields(h *ir.HeaderType, t types.Type, prefix string, decl *syntax.Field) {
	add := func(t types.Type, name string, decl *syntax.Field) {
		if it, ok := irType(t); ok {
			h.Fields = append(h.Fields, &ir.Field{Name: prefix + name, Type: it, Decl: decl})
			return
		}
		old := prefix
		prefix += name + "."
		l.addFields(h, t, prefix, decl)
		prefix = old
	}
	switch t := t.(type) {
	case *types.Struct:
		for _, f := range t.Fields {
			add(f.Type, f.Name, f.Decl)
		}
	case *types.Array:
		for i := range t.Size {
			add(t.Elem, strconv.Itoa(i), decl)
		}
	}
}

// fieldsOf returns the fields of header ref as values of t's fields. next is
// the index of the next field in the layout.
func (l *lowerer) fieldsOf(ref ir.HeaderRef, t types.Type, next *int) value {
	if _, ok := irType(t); ok {
		f := &ir.FieldRef{Header: ref, Field: *next}
		*next++
		return scalar{f}
	}
	a := aggregate{t: t}
	switch t := t.(type) {
	case *types.Struct:
		for _, f := range t.Fields {
			a.elems = append(a.elems, l.fieldsOf(ref, f.Type, next))
		}
	case *types.Array:
		for range t.Size {
			a.elems = append(a.elems, l.fieldsOf(ref, t.Elem, next))
		}
	}
	return a
}

// field returns field i of the header.
func (l *lowerer) field(h header, i int) value {
	next := 0
	for k := range i {
		next += leaves(h.t.Fields[k].Type)
	}
	return l.fieldsOf(h.ref, h.t.Fields[i].Type, &next)
}

// leaves returns how many fields of the layout a header's field takes.
func leaves(t types.Type) int {
	if _, ok := irType(t); ok {
		return 1
	}
	n := 0
	switch t := t.(type) {
	case *types.Struct:
		for _, f := range t.Fields {
			n += leaves(f.Type)
		}
	case *types.Array:
		n = t.Size * leaves(t.Elem)
	}
	return n
}

func (l *lowerer) unionType(t *types.Struct) *ir.UnionType {
	if u := l.unionTypes[t]; u != nil {
		return u
	}
	u := &ir.UnionType{Name: l.typeName(t), Struct: t}
	l.unionTypes[t] = u
	for _, f := range t.Fields {
		u.Members = append(u.Members, ir.UnionMember{Name: f.Name, Type: l.headerType(f.Type.(*types.Struct))})
	}
	l.prog.UnionTypes = append(l.prog.UnionTypes, u)
	return u
}

func (l *lowerer) newHeader(t *types.Struct, name string) *ir.Header {
	h := &ir.Header{Name: name, Type: l.headerType(t)}
	l.prog.Headers = append(l.prog.Headers, h)
	return h
}

func (l *lowerer) newUnion(t *types.Struct, name string) *ir.Union {
	u := &ir.Union{Name: name, Type: l.unionType(t)}
	for _, f := range t.Fields {
		h := l.newHeader(f.Type.(*types.Struct), name+"."+f.Name)
		h.Union = u
		u.Members = append(u.Members, h)
	}
	l.prog.Unions = append(l.prog.Unions, u)
	return u
}

// newVar makes a variable. The name must be unused.
func (l *lowerer) newVar(t ir.Type, name string) *ir.Var {
	v := &ir.Var{Name: name, Type: t}
	l.prog.Vars = append(l.prog.Vars, v)
	return v
}

// place makes a place for a value of type t. The name must be unused.
func (l *lowerer) place(t types.Type, name string) value {
	if it, ok := irType(t); ok {
		return scalar{&ir.VarRef{Var: l.newVar(it, name)}}
	}
	switch t := t.(type) {
	case *types.Struct:
		switch t.Kind {
		case types.Header:
			return header{l.newHeader(t, name), t}
		case types.HeaderUnion:
			return union{l.newUnion(t, name), t}
		}
		a := aggregate{t: t}
		for _, f := range t.Fields {
			a.elems = append(a.elems, l.place(f.Type, l.unique(name+"."+f.Name)))
		}
		return a
	case *types.Tuple:
		a := aggregate{t: t}
		for i, e := range t.Elems {
			a.elems = append(a.elems, l.place(e, l.unique(name+"."+strconv.Itoa(i))))
		}
		return a
	case *types.Array:
		return l.arrayPlace(t, name)
	}
	l.fail(l.span.Start, CodeUnsupported, "a variable cannot have type %s on this target", t)
	return nil
}

func (l *lowerer) arrayPlace(t *types.Array, name string) value {
	if !t.IsStack() {
		a := aggregate{t: t}
		for i := range t.Size {
			a.elems = append(a.elems, l.place(t.Elem, l.unique(name+"."+strconv.Itoa(i))))
		}
		return a
	}
	elem := t.Elem.(*types.Struct)
	if elem.Kind == types.HeaderUnion {
		s := &ir.UnionStack{Name: name, Type: l.unionType(elem)}
		for i := range t.Size {
			u := l.newUnion(elem, name+"["+strconv.Itoa(i)+"]")
			u.Stack, u.Index = s, i
			s.Elems = append(s.Elems, u)
		}
		l.prog.UnionStacks = append(l.prog.UnionStacks, s)
		return unionStack{s, t}
	}
	s := &ir.Stack{Name: name, Type: l.headerType(elem)}
	for i := range t.Size {
		h := l.newHeader(elem, name+"["+strconv.Itoa(i)+"]")
		h.Stack, h.Index = s, i
		s.Elems = append(s.Elems, h)
	}
	l.prog.Stacks = append(l.prog.Stacks, s)
	return stack{s, t}
}

// temp makes a place for a value of type t with a name derived from the given
// one.
func (l *lowerer) temp(t types.Type, name string) value { return l.place(t, l.unique(name)) }

// tempVar makes a variable of a simple type with a derived name.
func (l *lowerer) tempVar(t ir.Type, name string) *ir.VarRef {
	return &ir.VarRef{Var: l.newVar(t, l.unique(name))}
}

// roleValue returns the place of a role of the architecture.
func (l *lowerer) roleValue(p arch.Param, q *types.Param) value {
	if p.Kind == arch.Packet {
		return packet{}
	}
	if v, ok := l.roles[p.Role]; ok {
		return v
	}
	s, ok := q.Type.(*types.Struct)
	if !ok || s.Kind != types.PlainStruct && p.Kind != arch.Intrinsic {
		l.fail(q.Decl.Pos(), CodeUnsupported, "parameter %s must be a struct, not %s", q.Name, q.Type)
	}
	var v value
	switch p.Kind {
	case arch.Headers:
		v = l.headersPlace(s, p.Prefix)
	case arch.Fields:
		v = l.metadataPlace(s, p.Role+".", nil)
	case arch.Intrinsic:
		v = header{l.newHeader(s, l.unique(p.Role)), s}
	case arch.Fixed:
		h := l.newHeader(s, l.unique(p.Role))
		h.Metadata = true
		next := 0
		v = l.fieldsOf(h, s, &next)
	}
	l.roles[p.Role] = v
	return v
}

// headersPlace makes the place of the packet's headers.
func (l *lowerer) headersPlace(s *types.Struct, prefix string) value {
	a := aggregate{t: s}
	for _, f := range s.Fields {
		name := prefix + controlName("", f.Decl.Annotations, f.Name)
		switch t := f.Type.(type) {
		case *types.Struct:
			if t.Kind == types.PlainStruct {
				a.elems = append(a.elems, l.headersPlace(t, name+"."))
				continue
			}
		case *types.Array:
			if t.IsStack() {
				break
			}
			l.fail(f.Decl.Pos(), CodeUnsupported, "field %s of the headers must be a header, stack or union, not %s", f.Name, f.Type)
		default:
			l.fail(f.Decl.Pos(), CodeUnsupported, "field %s of the headers must be a header, stack or union, not %s", f.Name, f.Type)
		}
		a.elems = append(a.elems, l.place(f.Type, l.unique(name)))
	}
	return a
}

// metadataPlace makes the place of the user's metadata.
func (l *lowerer) metadataPlace(s *types.Struct, prefix string, lists []int) value {
	a := aggregate{t: s}
	for _, f := range s.Fields {
		on := lists
		if an := syntax.Annot(f.Decl.Annotations, "field_list"); an != nil {
			on = append(on[:len(on):len(on)], l.listNumbers(an)...)
		}
		name := prefix + f.Name
		if t, ok := f.Type.(*types.Struct); ok && t.Kind == types.PlainStruct {
			a.elems = append(a.elems, l.metadataPlace(t, name+".", on))
			continue
		}
		v := l.place(f.Type, l.unique(name))
		l.markMeta(v, on)
		a.elems = append(a.elems, v)
	}
	return a
}

// markMeta marks variables as the user's metadata and records their field
// lists.
func (l *lowerer) markMeta(v value, lists []int) {
	switch v := v.(type) {
	case scalar:
		if r, ok := v.x.(*ir.VarRef); ok {
			r.Var.Meta, r.Var.Lists = true, lists
		}
	case aggregate:
		for _, e := range v.elems {
			l.markMeta(e, lists)
		}
	}
}

// listNumbers returns the numbers in @field_list(…).
func (l *lowerer) listNumbers(a *syntax.Annotation) []int {
	var list []int
	for _, e := range a.Exprs {
		n, ok := l.info.ValueOf(e).(types.IntValue)
		if !ok || !n.IsInt64() || n.Int64() < 0 || n.Int64() > 255 {
			l.errorf(e.Pos(), CodeUnsupported, "a field list has a number from 0 to 255, which %s is not", syntax.Text(e))
			continue
		}
		list = append(list, int(n.Int64()))
	}
	return list
}
