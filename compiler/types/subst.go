// SPDX-License-Identifier: Apache-2.0

package types

import "strings"

// Subst is a substitution of type parameters.
type Subst map[*TypeParam]Type

// of returns the types of params in order.
func (s Subst) of(params []*TypeParam) []Type {
	args := make([]Type, len(params))
	for i, p := range params {
		args[i] = s[p]
	}
	return args
}

// instances caches specialised types, so that equal ones have the same pointer.
type instances struct {
	structs map[string]*Struct
	externs map[string]*Extern
	blocks  map[string]*Block
	ids     map[any]string
}

func (in *instances) init() {
	in.structs = map[string]*Struct{}
	in.externs = map[string]*Extern{}
	in.blocks = map[string]*Block{}
	in.ids = map[any]string{}
}

// key writes a text that is equal exactly for identical types.
func (in *instances) key(b *strings.Builder, t Type) {
	id := func(p any) string {
		s, ok := in.ids[p]
		if !ok {
			s = "#" + itoa(len(in.ids))
			in.ids[p] = s
		}
		return s
	}
	list := func(ts []Type) {
		for _, t := range ts {
			b.WriteByte(',')
			in.key(b, t)
		}
	}
	switch t := t.(type) {
	case *Basic, *Bits, *Varbit:
		b.WriteString(t.String())
	case *Array:
		in.key(b, t.Elem)
		b.WriteString("[" + itoa(t.Size) + "]")
	case *Tuple:
		b.WriteString("t<")
		list(t.Elems)
		b.WriteByte('>')
	case *List:
		b.WriteString("l<")
		in.key(b, t.Elem)
		b.WriteByte('>')
	case *Set:
		b.WriteString("s<")
		in.key(b, t.Elem)
		b.WriteByte('>')
	case *Struct:
		if t.origin != nil {
			b.WriteString(id(t.origin) + "<")
			list(t.TypeArgs)
			b.WriteByte('>')
			return
		}
		b.WriteString(id(t))
	case *Extern:
		b.WriteString(id(t.Origin()) + "<")
		list(t.TypeArgs)
		b.WriteByte('>')
	case *Block:
		b.WriteString(id(t.Origin()) + "<")
		list(t.TypeArgs)
		b.WriteByte('>')
	default:
		b.WriteString(id(t))
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func (in *instances) keyOf(origin Type, args []Type) string {
	var b strings.Builder
	in.key(&b, origin)
	for _, a := range args {
		b.WriteByte(';')
		in.key(&b, a)
	}
	return b.String()
}

func substOf(params []*TypeParam, args []Type) Subst {
	s := make(Subst, len(params))
	for i, p := range params {
		s[p] = args[i]
	}
	return s
}

// apply returns t with type parameters replaced.
func (in *instances) apply(s Subst, t Type) Type {
	if len(s) == 0 || t == nil {
		return t
	}
	switch t := t.(type) {
	case *TypeParam:
		if r, ok := s[t]; ok && r != nil {
			return r
		}
	case *Array:
		if e := in.apply(s, t.Elem); e != t.Elem {
			return &Array{e, t.Size}
		}
	case *List:
		if e := in.apply(s, t.Elem); e != t.Elem {
			return &List{e}
		}
	case *Set:
		if e := in.apply(s, t.Elem); e != t.Elem {
			return &Set{e}
		}
	case *Tuple:
		if list, changed := in.applyList(s, t.Elems); changed {
			return &Tuple{list}
		}
	case *Record:
		if list, changed := in.applyList(s, t.Types); changed {
			return &Record{t.Names, list, t.Dots}
		}
	case *Struct:
		if list, changed := in.applyList(s, t.TypeArgs); changed {
			return in.specializeStruct(t.origin, list)
		}
	case *Extern:
		if list, changed := in.applyList(s, t.TypeArgs); changed {
			return in.specializeExtern(t.Origin(), list)
		}
	case *Block:
		if list, changed := in.applyList(s, t.TypeArgs); changed {
			return in.specializeBlock(t.Origin(), list)
		}
	}
	return t
}

func (in *instances) applyList(s Subst, list []Type) ([]Type, bool) {
	var out []Type
	for i, t := range list {
		r := in.apply(s, t)
		if r != t && out == nil {
			out = append(make([]Type, 0, len(list)), list[:i]...)
		}
		if out != nil {
			out = append(out, r)
		}
	}
	if out == nil {
		return list, false
	}
	return out, true
}

func (in *instances) applyParams(s Subst, list []*Param) []*Param {
	out := make([]*Param, len(list))
	for i, p := range list {
		q := *p
		q.Type = in.apply(s, p.Type)
		out[i] = &q
	}
	return out
}

func (in *instances) applyFunc(s Subst, f *Func, owner *Extern) *Func {
	g := *f
	g.Params = in.applyParams(s, f.Params)
	g.Result = in.apply(s, f.Result)
	g.Owner = owner
	g.origin = f.Origin()
	return &g
}

// specializeStruct applies type arguments to a generic struct.
func (in *instances) specializeStruct(t *Struct, args []Type) *Struct {
	key := in.keyOf(t, args)
	if r := in.structs[key]; r != nil {
		return r
	}
	r := &Struct{Kind: t.Kind, Name: t.Name, Decl: t.Decl, origin: t}
	r.TypeArgs = args
	in.structs[key] = r
	s := substOf(t.TypeParams, args)
	r.Fields = make([]*Field, len(t.Fields))
	for i, f := range t.Fields {
		r.Fields[i] = &Field{f.Name, in.apply(s, f.Type), f.Decl}
	}
	return r
}

// specializeExtern applies type arguments to a generic extern.
func (in *instances) specializeExtern(t *Extern, args []Type) *Extern {
	key := in.keyOf(t, args)
	if r := in.externs[key]; r != nil {
		return r
	}
	r := &Extern{Name: t.Name, Decl: t.Decl, origin: t}
	r.TypeArgs = args
	in.externs[key] = r
	s := substOf(t.TypeParams, args)
	for _, m := range t.Methods {
		r.Methods = append(r.Methods, in.applyFunc(s, m, r))
	}
	for _, m := range t.Ctors {
		r.Ctors = append(r.Ctors, in.applyFunc(s, m, r))
	}
	return r
}

// specializeBlock applies type arguments to a generic parser, control or
// package type.
func (in *instances) specializeBlock(t *Block, args []Type) *Block {
	key := in.keyOf(t, args)
	if r := in.blocks[key]; r != nil {
		return r
	}
	r := *t
	r.origin = t
	r.TypeParams = nil
	r.TypeArgs = args
	in.blocks[key] = &r
	s := substOf(t.TypeParams, args)
	r.Params = in.applyParams(s, t.Params)
	r.CtorParams = in.applyParams(s, t.CtorParams)
	return &r
}

// Substitute returns t with type parameters replaced.
func (in *Info) Substitute(t Type, s Subst) Type { return in.in.apply(s, t) }

func (c *Checker) apply(s Subst, t Type) Type { return c.info.in.apply(s, t) }
