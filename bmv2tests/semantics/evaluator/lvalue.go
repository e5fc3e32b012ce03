// SPDX-License-Identifier: Apache-2.0

package evaluator

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// A place is an l-value whose indices have been evaluated (6.7).
type place interface {
	// get returns the stored value itself, which the caller copies or changes.
	get() Value
	// set stores a value that belongs to nobody else.
	set(Value)
}

// variable is the storage of a variable or parameter.
type variable struct{ value Value }

func (v *variable) get() Value  { return v.value }
func (v *variable) set(x Value) { v.value = x }

// nowhere is "_" as an argument of an out parameter (8.20).
type nowhere struct{ typ Type }

func (n nowhere) get() Value { return undefined(n.typ) }
func (nowhere) set(Value)    {}

// member is a field of a struct, header or union.
type member struct {
	of    place
	index int
}

// get reads a field. In an invalid header it is undefined (8.25).
func (m member) get() Value {
	s := m.of.get().(*Struct)
	if s.Type.Kind == syntax.Header && (s.Valid.Undefined || !s.Valid.V) {
		return undefined(s.Type.Fields[m.index].typ)
	}
	return s.Fields[m.index]
}

// set writes a field. In an invalid header it has no effect on anything that is
// defined (8.25), except that in a union it may change the valid member.
func (m member) set(v Value) {
	s := m.of.get().(*Struct)
	switch s.Type.Kind {
	case syntax.Header:
		if s.Valid.Undefined {
			s.Fields[m.index] = undefined(s.Type.Fields[m.index].typ)
			return
		}
		if !s.Valid.V {
			if u, ok := m.of.(member); ok && u.isUnion() {
				panic(unspecified("a field of an invalid member of a union is written"))
			}
			return
		}
	case syntax.HeaderUnion:
		// An assignment of a valid header is setValid and a copy, that of an invalid
		// one is setInvalid (8.19).
		if truth(v.(*Struct).Valid) {
			m.setValidity(true)
			s.Fields[m.index] = v
		} else {
			m.setValidity(false)
		}
		return
	}
	s.Fields[m.index] = v
}

func (m member) isUnion() bool { return m.of.get().(*Struct).Type.Kind == syntax.HeaderUnion }

// setValidity is setValid and setInvalid of a member of a union: both make all
// other members invalid (8.19).
func (m member) setValidity(valid bool) {
	u := m.of.get().(*Struct)
	for i, f := range u.Fields {
		if i != m.index || !valid {
			f.(*Struct).Valid = Bool{}
		}
	}
	if valid {
		makeValid(u.Fields[m.index].(*Struct))
	}
}

// makeValid makes a header valid. If it was invalid, its fields are undefined
// (8.25).
func makeValid(h *Struct) {
	if h.Valid.Undefined || !h.Valid.V {
		for i, f := range h.Type.Fields {
			h.Fields[i] = undefined(f.typ)
		}
	}
	h.Valid = Bool{V: true}
}

// setValidity is setValid and setInvalid (8.17).
func setValidity(p place, valid bool) {
	if m, ok := p.(member); ok && m.isUnion() {
		m.setValidity(valid)
		return
	}
	h := p.get().(*Struct)
	if valid {
		makeValid(h)
	} else {
		h.Valid = Bool{}
	}
}

// element is an element of a stack. The index may be out of range.
type element struct {
	of    place
	index *big.Int
	next  bool // it was written as stack.next
}

func (e element) stack() *Stack { return e.of.get().(*Stack) }

func (e element) inRange() bool {
	return e.index.Sign() >= 0 && e.index.Cmp(big.NewInt(int64(e.stack().Type.Size))) < 0
}

// get reads an element. Out of range it is undefined, and so is its validity
// (8.25).
func (e element) get() Value {
	s := e.stack()
	if e.inRange() {
		return s.Elems[e.index.Int64()]
	}
	v := undefined(s.Type.Elem)
	if h, ok := v.(*Struct); ok {
		h.Valid = Bool{Undefined: true}
	}
	return v
}

// set writes an element. Out of range it has no effect (8.25).
func (e element) set(v Value) {
	if e.inRange() {
		e.stack().Elems[e.index.Int64()] = v
	}
}

// slice is bits hi to lo of a number. hi may be beyond its width (8.6).
type slice struct {
	of     place
	hi, lo int
}

func (s slice) get() Value { return sliceOf(s.of.get(), s.hi, s.lo) }

// sliceOf returns bits hi to lo. It is unsigned (8.6, 8.7).
func sliceOf(v Value, hi, lo int) Value {
	t := &BitsType{Width: hi - lo + 1}
	switch v := v.(type) {
	case Bits:
		if v.V == nil {
			return Bits{Type: t}
		}
		return wrap(t, new(big.Int).Rsh(pattern(v), uint(lo)))
	case Int:
		return wrap(t, new(big.Int).Rsh(v.V, uint(lo)))
	case Enum:
		return sliceOf(v.V, hi, lo)
	}
	panic(fault("a slice of a %T", v))
}

// set leaves all other bits unchanged (8.6).
func (s slice) set(v Value) {
	old := s.of.get().(Bits)
	x := v.(Bits)
	if old.V == nil || x.V == nil {
		s.of.set(Bits{Type: old.Type})
		return
	}
	mask := new(big.Int).Lsh(allOnes(s.hi-s.lo+1), uint(s.lo))
	r := new(big.Int).AndNot(pattern(old), mask)
	s.of.set(wrap(old.Type, r.Or(r, new(big.Int).Lsh(pattern(x), uint(s.lo)))))
}

// place evaluates an expression to an l-value. ok is false if it is none.
func (f *frame) place(x syntax.Expr) (p place, ok bool) {
	switch x := x.(type) {
	case *syntax.NameExpr:
		v, ok := f.lookup(x).(*variable)
		return v, ok
	case *syntax.MemberExpr:
		of, ok := f.place(x.X)
		if !ok {
			return nil, false
		}
		switch v := of.get().(type) {
		case *Struct:
			if i := v.Type.index(x.Sel.Name); i >= 0 {
				return member{of, i}, true
			}
		case *Stack:
			switch x.Sel.Name {
			case "next": // (8.18)
				if v.Next >= v.Type.Size {
					panic(reject{"StackOutOfBounds"})
				}
				return element{of, big.NewInt(int64(v.Next)), true}, true
			case "last": // never an l-value, but the reader is the same (8.18)
				if v.Next < 1 || v.Next > v.Type.Size {
					panic(reject{"StackOutOfBounds"})
				}
				return element{of, big.NewInt(int64(v.Next - 1)), false}, true
			}
		}
		return nil, false
	case *syntax.IndexExpr:
		of, ok := f.place(x.X)
		if !ok {
			return nil, false
		}
		switch v := of.get().(type) {
		case *Stack:
			return element{of, known(f.eval(x.Index)), false}, true
		case *Struct: // a tuple
			return member{of, int(known(f.eval(x.Index)).Int64())}, v.Type.Kind == syntax.Tuple
		}
		return nil, false
	case *syntax.SliceExpr:
		of, ok := f.place(x.X)
		if !ok {
			return nil, false
		}
		hi, lo := f.bounds(x)
		return slice{of, hi, lo}, true
	}
	return nil, false
}

// bounds evaluates the bounds of a slice (8.6).
func (f *frame) bounds(x *syntax.SliceExpr) (hi, lo int) {
	if x.Plus {
		lo := int(known(f.eval(x.Lo)).Int64())
		return lo + int(known(f.eval(x.Hi)).Int64()) - 1, lo
	}
	return int(known(f.eval(x.Hi)).Int64()), int(known(f.eval(x.Lo)).Int64())
}
