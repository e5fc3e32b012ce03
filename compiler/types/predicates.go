// SPDX-License-Identifier: Apache-2.0

package types

import "github.com/pauseless/pauseless/compiler/syntax"

func isBits(t Type) bool    { _, ok := t.(*Bits); return ok }
func isVarbit(t Type) bool  { _, ok := t.(*Varbit); return ok }
func isInvalid(t Type) bool { return t == Invalid }

// isNumeric reports whether t is int, bit<W> or int<W>.
func isNumeric(t Type) bool { return t == Int || isBits(t) }

func isStruct(t Type, k StructKind) bool {
	s, ok := t.(*Struct)
	return ok && s.Kind == k
}

// isHeader reports whether t is a header type.
func isHeader(t Type) bool { return isStruct(t, Header) }

func isUnion(t Type) bool { return isStruct(t, HeaderUnion) }

// underlyingBits returns the underlying type of a serializable enum, and any
// other type unchanged.
func underlyingBits(t Type) Type {
	if e, ok := t.(*Enum); ok && e.Underlying != nil {
		return e.Underlying
	}
	return t
}

// isRuntime reports whether values of type t can be stored in variables and
// passed with a direction.
func isRuntime(t Type) bool {
	switch t := t.(type) {
	case *Basic:
		return t == Bool || t == Error || t == Invalid || t == Dontcare
	case *Bits, *Varbit, *Struct, *Enum, *NewType, *TypeParam:
		return true
	case *Array:
		return isRuntime(t.Elem)
	case *Tuple:
		for _, e := range t.Elems {
			if !isRuntime(e) {
				return false
			}
		}
		return true
	}
	return false
}

// hasTypeParams reports whether a type parameter of the set occurs in t. A nil
// set means any.
func hasTypeParams(t Type, set map[*TypeParam]Type) bool {
	switch t := t.(type) {
	case *TypeParam:
		if set == nil {
			return true
		}
		_, ok := set[t]
		return ok
	case *Array:
		return hasTypeParams(t.Elem, set)
	case *List:
		return hasTypeParams(t.Elem, set)
	case *Set:
		return hasTypeParams(t.Elem, set)
	case *Tuple:
		return anyHas(t.Elems, set)
	case *Struct:
		return anyHas(t.TypeArgs, set)
	case *Extern:
		return anyHas(t.TypeArgs, set)
	case *Block:
		return anyHas(t.TypeArgs, set)
	case *Record:
		return anyHas(t.Types, set)
	}
	return false
}

func anyHas(list []Type, set map[*TypeParam]Type) bool {
	for _, t := range list {
		if hasTypeParams(t, set) {
			return true
		}
	}
	return false
}

// Width returns the number of bits of a value of type t, the maximum for a
// varbit. ok is false if the type has no size.
func Width(t Type) (bits int, ok bool) {
	switch t := t.(type) {
	case *Basic:
		return 1, t == Bool
	case *Bits:
		return t.Width, true
	case *Varbit:
		return t.Width, true
	case *NewType:
		return Width(t.Base)
	case *Enum:
		if t.Underlying != nil {
			return t.Underlying.Width, true
		}
	case *Array:
		n, ok := Width(t.Elem)
		return n * t.Size, ok
	case *Tuple:
		for _, e := range t.Elems {
			n, ok := Width(e)
			if !ok {
				return 0, false
			}
			bits += n
		}
		return bits, true
	case *Struct:
		for _, f := range t.Fields {
			n, ok := Width(f.Type)
			if !ok {
				return 0, false
			}
			if t.Kind == HeaderUnion {
				bits = max(bits, n)
			} else {
				bits += n
			}
		}
		return bits, true
	}
	return 0, false
}

// minWidth returns the minimum number of bits of a value of type t. A varbit
// counts 0, a union its smallest header.
func minWidth(t Type) (bits int, ok bool) {
	switch t := t.(type) {
	case *Varbit:
		return 0, true
	case *Array:
		n, ok := minWidth(t.Elem)
		return n * t.Size, ok
	case *Tuple:
		for _, e := range t.Elems {
			n, ok := minWidth(e)
			if !ok {
				return 0, false
			}
			bits += n
		}
		return bits, true
	case *Struct:
		for i, f := range t.Fields {
			n, ok := minWidth(f.Type)
			switch {
			case !ok:
				return 0, false
			case t.Kind == HeaderUnion && i == 0:
				bits = n
			case t.Kind == HeaderUnion:
				bits = min(bits, n)
			default:
				bits += n
			}
		}
		return bits, true
	}
	return Width(t)
}

// dirText returns a direction as messages show it.
func dirText(d syntax.Direction) string {
	if d == syntax.NoDirection {
		return "no direction"
	}
	return "direction " + d.String()
}
