// SPDX-License-Identifier: Apache-2.0

package types

import (
	"math/big"
	"strconv"
	"strings"
)

// Value is a compile-time known value.
type Value interface{ String() string }

// The values.
type (
	// IntValue is a value of type int, bit<W>, int<W>, of a new type made of
	// them, or of an enum with an underlying type.
	IntValue struct{ *big.Int }

	// BoolValue and StringValue are a bool and a string.
	BoolValue   bool
	StringValue string

	// MemberValue is a member of an error, match kind or enum without underlying
	// type.
	MemberValue string

	// ListValue has the elements of a tuple, list or array, or the fields of
	// a struct or valid header in order.
	ListValue []Value

	// NoHeaderValue is {#}.
	NoHeaderValue struct{}

	// DefaultValue is ..., before its type is known.
	DefaultValue struct{}
)

func (v IntValue) String() string    { return v.Int.String() }
func (v BoolValue) String() string   { return strconv.FormatBool(bool(v)) }
func (v StringValue) String() string { return `"` + string(v) + `"` }
func (v MemberValue) String() string { return string(v) }
func (NoHeaderValue) String() string { return "{#}" }
func (DefaultValue) String() string  { return "..." }

func (v ListValue) String() string {
	parts := make([]string, len(v))
	for i, e := range v {
		parts[i] = e.String()
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// makeInt returns n as a value.
func makeInt(n int64) IntValue { return IntValue{big.NewInt(n)} }

// equalValues reports whether two values of the same type are equal.
func equalValues(a, b Value) bool {
	switch a := a.(type) {
	case IntValue:
		b, ok := b.(IntValue)
		return ok && a.Cmp(b.Int) == 0
	case ListValue:
		b, ok := b.(ListValue)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalValues(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}

var one = big.NewInt(1)

// Mask returns 2^width - 1.
func Mask(width int) *big.Int {
	m := new(big.Int).Lsh(one, uint(width))
	return m.Sub(m, one)
}

// Fits reports whether type t can represent v.
func Fits(v *big.Int, t *Bits) bool {
	if !t.Signed {
		return v.Sign() >= 0 && v.BitLen() <= t.Width
	}
	if t.Width == 0 {
		return v.Sign() == 0
	}
	if v.Sign() >= 0 {
		return v.BitLen() < t.Width
	}
	low := new(big.Int).Lsh(one, uint(t.Width-1))
	return v.Cmp(low.Neg(low)) >= 0
}

// Wrap returns v modulo 2^width, in two's complement if t is signed.
func Wrap(v *big.Int, t *Bits) *big.Int {
	if Fits(v, t) {
		return v
	}
	r := new(big.Int).And(v, Mask(t.Width))
	if t.Signed && t.Width > 0 && r.Bit(t.Width-1) == 1 {
		r.Sub(r, new(big.Int).Lsh(one, uint(t.Width)))
	}
	return r
}

// ZeroValue returns the default value of a type (language spec 7.3), or nil
// if it has none.
func ZeroValue(t Type) Value {
	switch t := t.(type) {
	case *Basic:
		switch t {
		case Bool:
			return BoolValue(false)
		case Int:
			return makeInt(0)
		case String:
			return StringValue("")
		case Error:
			return MemberValue("NoError")
		}
	case *Bits:
		return makeInt(0)
	case *NewType:
		return ZeroValue(t.Base)
	case *Enum:
		if t.Underlying != nil {
			return makeInt(0)
		}
		return MemberValue(t.Members[0])
	case *Tuple:
		list := make(ListValue, len(t.Elems))
		for i, e := range t.Elems {
			if list[i] = ZeroValue(e); list[i] == nil {
				return nil
			}
		}
		return list
	case *Array:
		list := make(ListValue, t.Size)
		for i := range list {
			if list[i] = ZeroValue(t.Elem); list[i] == nil {
				return nil
			}
		}
		return list
	case *Struct:
		if t.Kind != PlainStruct {
			return NoHeaderValue{}
		}
		list := make(ListValue, len(t.Fields))
		for i, f := range t.Fields {
			if list[i] = ZeroValue(f.Type); list[i] == nil {
				return nil
			}
		}
		return list
	}
	return nil
}
