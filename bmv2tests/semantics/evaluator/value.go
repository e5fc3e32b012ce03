// SPDX-License-Identifier: Apache-2.0

package evaluator

import (
	"fmt"
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// A Type is a type of the language (clause 7).
type Type interface{ aType() }

type (
	// BitsType is bit<Width>, or int<Width> if it is Signed.
	BitsType struct {
		Width  int
		Signed bool
	}
	// BoolType is bool.
	BoolType struct{}
	// IntType is int, the arbitrary-precision integers.
	IntType struct{}
	// NameType is an enum without a type, or error: a set of names.
	NameType struct{ Name, First string }
	// EnumType is an enum with an underlying type.
	EnumType struct {
		Under   *BitsType
		Members map[string]*big.Int
		First   string
	}
	// StructType is a struct, a header, a header union or a tuple. The fields of
	// a tuple have no names.
	StructType struct {
		Kind   syntax.Kind // Struct, Header, HeaderUnion, Tuple
		Fields []field
	}
	// StackType is a header stack.
	StackType struct {
		Elem Type
		Size int
	}
	// ListType is list<Elem>.
	ListType struct{ Elem Type }
	// VarbitType is varbit<Max>.
	VarbitType struct{ Max int }
	// anyType is a type parameter whose argument is not written.
	anyType struct{}
)

type field struct {
	name string
	typ  Type
}

func (*BitsType) aType()   {}
func (BoolType) aType()    {}
func (IntType) aType()     {}
func (*NameType) aType()   {}
func (*EnumType) aType()   {}
func (*StructType) aType() {}
func (*StackType) aType()  {}
func (*ListType) aType()   {}
func (*VarbitType) aType() {}
func (anyType) aType()     {}

// index returns the index of a field, or -1.
func (t *StructType) index(name string) int {
	for i, f := range t.Fields {
		if f.name == name {
			return i
		}
	}
	return -1
}

// A Value is the value of an expression. Scalars are never changed in place.
type Value interface{}

type (
	// Bits is a value of bit<W> or int<W>. V is nil if it is undefined.
	Bits struct {
		Type *BitsType
		V    *big.Int // in the range of the type
	}
	// Bool is a Boolean.
	Bool struct{ V, Undefined bool }
	// Int is an arbitrary-precision integer.
	Int struct{ V *big.Int }
	// Name is a member of an enum without a type, or an error.
	Name struct {
		Type      *NameType
		V         string
		Undefined bool
	}
	// Enum is a value of an enum with an underlying type.
	Enum struct {
		Type *EnumType
		V    Bits
	}
	// Struct is the value of a StructType. Valid is used by headers only.
	Struct struct {
		Type   *StructType
		Valid  Bool
		Fields []Value
	}
	// Stack is a header stack.
	Stack struct {
		Type  *StackType
		Elems []Value
		Next  int
	}
	// List is {a, b} or {x = a, y = b} before its type is known, or a list.
	List struct {
		Names []string // nil by position
		Elems []Value
		Dots  bool
	}
	// Varbit is a string of Len bits. V is nil if it is undefined.
	Varbit struct {
		Type *VarbitType
		Len  int
		V    *big.Int
	}
	// Invalid is {#} before its type is known, Dots is "...".
	Invalid struct{}
	Dots    struct{}
	// Applied is the result of a table's apply.
	Applied struct {
		Hit    bool
		Action string
	}
)

// copyOf returns a value that shares nothing that changes with v.
func copyOf(v Value) Value {
	switch v := v.(type) {
	case *Struct:
		c := *v
		c.Fields = make([]Value, len(v.Fields))
		for i, f := range v.Fields {
			c.Fields[i] = copyOf(f)
		}
		return &c
	case *Stack:
		c := *v
		c.Elems = make([]Value, len(v.Elems))
		for i, e := range v.Elems {
			c.Elems[i] = copyOf(e)
		}
		return &c
	}
	return v
}

// undefined returns a value of a variable without an initial value, or of an
// out parameter: headers are invalid, everything else is undefined (6.8).
func undefined(t Type) Value {
	switch t := t.(type) {
	case *BitsType:
		return Bits{Type: t}
	case BoolType:
		return Bool{Undefined: true}
	case *NameType:
		return Name{Type: t, Undefined: true}
	case *EnumType:
		return Enum{t, Bits{Type: t.Under}}
	case *StructType:
		s := &Struct{Type: t}
		for _, f := range t.Fields {
			s.Fields = append(s.Fields, undefined(f.typ))
		}
		return s
	case *StackType:
		s := &Stack{Type: t}
		for range t.Size {
			s.Elems = append(s.Elems, undefined(t.Elem))
		}
		return s
	case *VarbitType:
		return Varbit{Type: t}
	}
	panic(fault("a variable of type %T", t))
}

// zero returns the default value of a type (7.3).
func zero(t Type) Value {
	switch t := t.(type) {
	case *BitsType:
		return Bits{t, new(big.Int)}
	case BoolType:
		return Bool{}
	case *NameType:
		return Name{Type: t, V: t.First}
	case *EnumType:
		return Enum{t, Bits{t.Under, new(big.Int)}}
	case *StructType:
		s := &Struct{Type: t}
		for _, f := range t.Fields {
			s.Fields = append(s.Fields, zero(f.typ))
		}
		return s
	}
	return undefined(t)
}

// wrap returns v modulo 2^W as a value of the type (8.6, 8.7).
func wrap(t *BitsType, v *big.Int) Bits {
	if t.Width == 0 {
		return Bits{t, new(big.Int)}
	}
	r := new(big.Int).And(v, allOnes(t.Width))
	if t.Signed && r.Bit(t.Width-1) == 1 {
		r.Sub(r, power(t.Width))
	}
	return Bits{t, r}
}

// pattern returns the bits of a value as an unsigned number.
func pattern(b Bits) *big.Int { return new(big.Int).And(b.V, allOnes(b.Type.Width)) }

func power(w int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(w)) }

func allOnes(w int) *big.Int { return new(big.Int).Sub(power(w), big.NewInt(1)) }

// convert converts a value implicitly (8.11.2): integers and expressions in
// braces get their type, and enums their underlying type.
func convert(v Value, t Type) Value {
	if _, any := t.(anyType); any {
		return v
	}
	switch x := v.(type) {
	case Int:
		switch t := t.(type) {
		case *BitsType:
			return wrap(t, x.V)
		case IntType:
			return x
		}
	case Bits:
		switch t := t.(type) {
		case *BitsType:
			if *t == *x.Type {
				return x
			}
		case IntType:
			return Int{known(x)}
		}
	case Enum:
		switch t := t.(type) {
		case *EnumType:
			return x
		case *BitsType:
			return convert(x.V, t)
		}
	case *List:
		return convertList(x, t)
	case Invalid:
		return undefined(t)
	case Dots:
		return zero(t)
	case Bool, Name, *Struct, *Stack, Varbit, Applied:
		return v
	}
	panic(fault("a %T becomes a %T", v, t))
}

// convertList gives {…} its type. It makes headers valid (8.17).
func convertList(l *List, t Type) Value {
	switch t := t.(type) {
	case *StructType:
		s := &Struct{Type: t, Valid: Bool{V: t.Kind == syntax.Header}}
		for i, f := range t.Fields {
			at := i
			if l.Names != nil {
				at = -1
				for j, n := range l.Names {
					if n == f.name {
						at = j
					}
				}
			}
			switch {
			case at >= 0 && at < len(l.Elems):
				s.Fields = append(s.Fields, copyOf(convert(l.Elems[at], f.typ)))
			case l.Dots:
				s.Fields = append(s.Fields, zero(f.typ))
			default:
				panic(fault("field %s has no value", f.name))
			}
		}
		return s
	case *StackType:
		s := &Stack{Type: t}
		for i := range t.Size {
			if i < len(l.Elems) {
				s.Elems = append(s.Elems, copyOf(convert(l.Elems[i], t.Elem)))
			} else {
				s.Elems = append(s.Elems, undefined(t.Elem))
			}
		}
		return s
	case *ListType:
		r := &List{}
		for _, e := range l.Elems {
			r.Elems = append(r.Elems, convert(e, t.Elem))
		}
		return r
	}
	panic(fault("{…} becomes a %T", t))
}

// cast converts a value explicitly (8.11.1).
func cast(v Value, t Type) Value {
	switch x := v.(type) {
	case Bits:
		switch t := t.(type) {
		case *BitsType:
			if x.V == nil {
				return Bits{Type: t}
			}
			return wrap(t, x.V) // signed values are extended by their sign
		case BoolType:
			if x.V == nil {
				return Bool{Undefined: true}
			}
			return Bool{V: x.V.Sign() != 0}
		case *EnumType:
			return Enum{t, convert(x, t.Under).(Bits)}
		}
	case Bool:
		if t, ok := t.(*BitsType); ok {
			switch {
			case x.Undefined:
				return Bits{Type: t}
			case x.V:
				return wrap(t, big.NewInt(1))
			}
			return wrap(t, new(big.Int))
		}
	case Int:
		switch t := t.(type) {
		case BoolType:
			return Bool{V: x.V.Sign() != 0}
		case *EnumType:
			return Enum{t, wrap(t.Under, x.V)}
		}
	case Enum:
		switch t.(type) {
		case *BitsType, BoolType:
			return cast(x.V, t)
		}
	}
	return convert(v, t)
}

// equal compares two values (8.2 to 8.7, 8.16 to 8.19).
func equal(x, y Value) Bool {
	switch a := x.(type) {
	case Bits:
		b := y.(Bits)
		return Bool{V: a.V != nil && b.V != nil && a.V.Cmp(b.V) == 0, Undefined: a.V == nil || b.V == nil}
	case Int:
		return Bool{V: a.V.Cmp(y.(Int).V) == 0}
	case Bool:
		b := y.(Bool)
		return Bool{V: a.V == b.V, Undefined: a.Undefined || b.Undefined}
	case Name:
		b := y.(Name)
		return Bool{V: a.V == b.V, Undefined: a.Undefined || b.Undefined}
	case Enum:
		return equal(a.V, y.(Enum).V)
	case *Struct:
		b := y.(*Struct)
		r := Bool{V: true}
		if a.Type.Kind == syntax.Header {
			r = equal(a.Valid, b.Valid)
			if r.Undefined || !r.V || !a.Valid.V {
				return r
			}
		}
		return equalAll(r, a.Fields, b.Fields)
	case *Stack:
		return equalAll(Bool{V: true}, a.Elems, y.(*Stack).Elems)
	}
	panic(fault("a %T is compared", x))
}

func equalAll(r Bool, a, b []Value) Bool {
	for i := range a {
		e := equal(a[i], b[i])
		if !e.Undefined && !e.V {
			return Bool{}
		}
		r.Undefined = r.Undefined || e.Undefined
	}
	return r
}

// Unspecified is the panic of a program whose behaviour depends on an undefined
// value, and the error of Program.Run.
type Unspecified struct{ What string }

func (u *Unspecified) Error() string { return "not specified: " + u.What }

func unspecified(format string, args ...any) *Unspecified {
	return &Unspecified{fmt.Sprintf(format, args...)}
}

// known returns the number of a value on which behaviour depends.
func known(v Value) *big.Int {
	switch v := v.(type) {
	case Bits:
		if v.V == nil {
			panic(unspecified("an undefined number decides"))
		}
		return v.V
	case Int:
		return v.V
	case Enum:
		return known(v.V)
	}
	panic(fault("a %T is no number", v))
}

// truth returns the truth of a value on which behaviour depends.
func truth(v Value) bool {
	b := v.(Bool)
	if b.Undefined {
		panic(unspecified("an undefined Boolean decides"))
	}
	return b.V
}

// faultError is the panic for a program that the evaluator cannot execute.
type faultError struct{ what string }

func (e *faultError) Error() string { return e.what }

func fault(format string, args ...any) *faultError {
	return &faultError{fmt.Sprintf(format, args...)}
}
