// SPDX-License-Identifier: Apache-2.0

package types

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// convertible reports whether x converts to type t without a cast. As in p4c, a
// constant of type int converts to a type declared by "type"; the language
// specification (8.11.2) does not define this case.
func (c *Checker) convertible(x *operand, t Type) bool {
	if Identical(x.typ, t) {
		return true
	}
	switch from := x.typ.(type) {
	case *Basic:
		switch from {
		case Int:
			return isBits(newTypeBase(t)) && x.isConst()
		case NoHeader:
			return isHeader(t) || isUnion(t)
		case Default:
			return ZeroValue(t) != nil
		case Dontcare:
			return true
		}
	case *Enum:
		return from.Underlying != nil && Identical(from.Underlying, t)
	case *Tuple:
		return isLiteralValue(x.expr) && c.elementsFit(x.expr, from, t)
	case *Record:
		s, ok := t.(*Struct)
		if !ok || s.Kind == HeaderUnion {
			return false
		}
		for i, n := range from.Names {
			f, _ := s.Field(n)
			if f == nil || !c.fits(from.Types[i], f.Type) {
				return false
			}
		}
		return from.Dots || len(from.Names) == len(s.Fields)
	}
	return false
}

// fits is convertible for a part of a literal, of which only the type is known.
func (c *Checker) fits(from, to Type) bool {
	return c.convertible(&operand{mode: constant, typ: from, expr: &syntax.ListExpr{}}, to)
}

// isLiteralValue reports whether e is a list literal, possibly after ?:.
func isLiteralValue(e syntax.Expr) bool {
	switch e.(type) {
	case *syntax.ListExpr, *syntax.CondExpr:
		return true
	}
	return false
}

func (c *Checker) elementsFit(e syntax.Expr, from *Tuple, t Type) bool {
	switch t := t.(type) {
	case *Tuple:
		if len(from.Elems) != len(t.Elems) {
			return false
		}
		for i, el := range from.Elems {
			if !c.fits(el, t.Elems[i]) {
				return false
			}
		}
		return true
	case *Struct:
		if t.Kind == HeaderUnion || len(from.Elems) != len(t.Fields) {
			return false
		}
		for i, el := range from.Elems {
			if !c.fits(el, t.Fields[i].Type) {
				return false
			}
		}
		return true
	case *Array:
		if len(from.Elems) != t.Size {
			return false
		}
		for _, el := range from.Elems {
			if !c.fits(el, t.Elem) {
				return false
			}
		}
		return true
	case *List:
		for _, el := range from.Elems {
			if !c.fits(el, t.Elem) {
				return false
			}
		}
		return true
	}
	return false
}

// assign converts x to type t, or reports that this is impossible. what
// describes the destination in the message.
func (c *Checker) assign(x *operand, t Type, what string) {
	if x.mode == invalid || t == Invalid {
		x.invalidate()
		return
	}
	if !c.convertible(x, t) {
		c.errorf(x.pos(), CodeMismatch, "%s has type %s, but %s has type %s%s", what, typeText(t), syntax.Text(x.expr), typeText(x.typ), castHint(x.typ, t))
		x.invalidate()
		return
	}
	c.convert(x, t)
}

// castHint suggests a cast where one is possible.
func castHint(from, to Type) string {
	from = underlyingBits(from)
	switch to := to.(type) {
	case *Bits:
		if f, ok := from.(*Bits); ok && f.Signed == to.Signed || from == Bool && to.Width == 1 && !to.Signed {
			return "; write (" + to.String() + ") if that is what you want"
		}
	case *NewType, *Enum:
		if isNumeric(from) {
			return "; write (" + to.String() + ") if that is what you want"
		}
	}
	return ""
}

// convert converts x to type t. The caller has checked convertible.
func (c *Checker) convert(x *operand, t Type) {
	switch {
	case x.typ == t:
		return
	case x.typ == Int && isBits(newTypeBase(t)):
		c.convertInt(x, newTypeBase(t).(*Bits))
		if !isBits(t) {
			x.typ = t
			c.record(x.expr, t, x.val)
		}
		return
	case x.typ == Default:
		x.val = ZeroValue(t)
	case x.typ == Dontcare:
		return
	}
	switch from := x.typ.(type) {
	case *Tuple:
		if v, ok := x.val.(ListValue); ok {
			x.val = convertList(v, t)
		}
	case *Record:
		if v, ok := x.val.(ListValue); ok {
			s := t.(*Struct)
			list := make(ListValue, len(s.Fields))
			for i, f := range s.Fields {
				list[i] = ZeroValue(f.Type)
			}
			for i, n := range from.Names {
				f, k := s.Field(n)
				list[k] = convertValue(v[i], f.Type)
			}
			x.val = list
		}
	}
	x.typ = t
	c.record(x.expr, t, x.val)
}

// convertList converts the elements of a list literal.
func convertList(v ListValue, t Type) Value {
	list := make(ListValue, len(v))
	for i, e := range v {
		switch t := t.(type) {
		case *Tuple:
			list[i] = convertValue(e, t.Elems[i])
		case *Struct:
			list[i] = convertValue(e, t.Fields[i].Type)
		case *Array:
			list[i] = convertValue(e, t.Elem)
		case *List:
			list[i] = convertValue(e, t.Elem)
		}
	}
	return list
}

// convertValue converts a value to type t.
func convertValue(v Value, t Type) Value {
	switch v := v.(type) {
	case IntValue:
		if b, ok := newTypeBase(t).(*Bits); ok {
			return IntValue{Wrap(v.Int, b)}
		}
	case ListValue:
		return convertList(v, t)
	case DefaultValue:
		return ZeroValue(t)
	}
	return v
}

// cast sets x to (type) y.
func (c *Checker) cast(x *operand, e *syntax.CastExpr) {
	t := c.typ(e.Type)
	if t == Invalid {
		c.rawExpr(x, e.X, nil)
		x.invalidate()
		return
	}
	c.expr(x, e.X, t)
	if x.mode == invalid {
		return
	}
	if !castable(x, t) && !(isLiteral(e.X) && c.convertible(x, t)) {
		hint := ""
		if f, ok := x.typ.(*Bits); ok {
			if b, ok := t.(*Bits); ok && f.Signed != b.Signed {
				hint = ": a cast changes sign or width, not both at once"
			}
		}
		c.errorf(e.Pos(), CodeCast, "%s cannot be cast to %s%s", x.describe(), typeText(t), hint)
		x.invalidate()
		return
	}
	if isLiteral(e.X) {
		c.convert(x, t)
	}
	m := value
	if x.isConst() {
		m = constant
	}
	var v Value
	if m == constant && x.val != nil {
		v = c.castValue(x, t)
	}
	x.set(m, t, v)
}

// newTypeBase returns the type under types declared by "type".
func newTypeBase(t Type) Type {
	for {
		n, ok := t.(*NewType)
		if !ok {
			return t
		}
		t = n.Base
	}
}

// base returns the type under types declared by "type" and the underlying type
// of an enum.
func base(t Type) Type { return underlyingBits(newTypeBase(t)) }

// castable reports whether a cast of x to t is allowed (language spec 8.11).
func castable(x *operand, t Type) bool {
	from := x.typ
	if Identical(from, t) {
		switch t.(type) {
		case *Basic:
			return t != Void && t != String && t != MatchKind
		case *Extern, *Block, *Table, *Action:
			return false
		}
		return true
	}
	// A new type casts to and from its base type, and from numbers without width.
	// p4c allows several such steps in one cast.
	_, fromNew := from.(*NewType)
	_, toNew := t.(*NewType)
	if fromNew || toNew {
		if from == Int {
			return isBits(base(t)) || base(t) == Bool
		}
		return Identical(base(from), base(t))
	}
	if e, ok := t.(*Enum); ok {
		return e.Underlying != nil && (Identical(underlyingBits(from), e.Underlying) || from == Int)
	}
	from = underlyingBits(from)
	switch t := t.(type) {
	case *Basic:
		switch t {
		case Bool:
			if b, ok := from.(*Bits); ok {
				return b.Width == 1 && !b.Signed
			}
			v, ok := x.val.(IntValue)
			return from == Int && (!ok || v.IsInt64() && (v.Int64() == 0 || v.Int64() == 1))
		case Int:
			return isBits(from) && x.isConst()
		}
	case *Bits:
		switch f := from.(type) {
		case *Basic:
			return f == Int || f == Bool && t.Width == 1 && !t.Signed
		case *Bits:
			return f.Signed == t.Signed || f.Width == t.Width
		}
	}
	return false
}

// castValue computes the value of a cast.
func (c *Checker) castValue(x *operand, t Type) Value {
	to := base(t)
	switch v := x.val.(type) {
	case BoolValue:
		if isBits(to) {
			if v {
				return makeInt(1)
			}
			return makeInt(0)
		}
	case IntValue:
		switch to := to.(type) {
		case *Basic:
			if to == Bool {
				return BoolValue(v.Sign() != 0)
			}
		case *Bits:
			if x.typ == Int && !Fits(v.Int, to) && !(v.Sign() < 0 && new(big.Int).Not(v.Int).BitLen() < max(to.Width, 1)) {
				c.warnf(x.pos(), CodeOverflow, "%v does not fit %v", v.Int, to)
			}
			return IntValue{Wrap(v.Int, to)}
		}
	}
	return x.val
}
