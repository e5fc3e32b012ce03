// SPDX-License-Identifier: Apache-2.0

package types

import (
	"slices"

	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/diag"
)

// Limits of types.
const (
	maxWidth  = 1 << 16 // bits of a bit string
	maxLeaves = 1 << 16 // fields of a value, counted recursively
)

// typ returns the type of a type expression.
func (c *Checker) typ(e syntax.TypeExpr) Type {
	t := c.typArgs(e, false)
	c.info.TypeExprs[e] = t
	return t
}

// typArgs returns the type of a type expression. With open, a generic type may
// omit its arguments, which are then inferred.
func (c *Checker) typArgs(e syntax.TypeExpr, open bool) Type {
	switch e := e.(type) {
	case *syntax.BaseType:
		return c.baseType(e)
	case *syntax.NamedType:
		return c.namedType(e, open)
	case *syntax.ArrayType:
		return c.arrayType(e)
	case *syntax.TupleType:
		t := &Tuple{}
		for _, el := range e.Elems {
			et := c.typeArg(el)
			if et == Invalid {
				return Invalid
			}
			if !c.canContain(PlainStruct, et, true) && et != String && et != Int && et != MatchKind {
				c.errorf(el.Pos(), CodeTypeUse, "a tuple cannot have a part of type %s", typeText(et))
				return Invalid
			}
			t.Elems = append(t.Elems, et)
		}
		if TooLarge(t) {
			c.errorf(e.Pos(), CodeTooLarge, "the tuple has more than %d fields", maxLeaves)
			return Invalid
		}
		return t
	case *syntax.ListType:
		et := c.typeArg(e.Elem)
		if et == Invalid {
			return Invalid
		}
		switch et.(type) {
		case *Extern, *Block, *Set:
			c.errorf(e.Elem.Pos(), CodeTypeUse, "a list cannot have elements of type %s", typeText(et))
			return Invalid
		}
		if et == Void {
			c.errorf(e.Elem.Pos(), CodeTypeUse, "a list cannot have elements of type void")
			return Invalid
		}
		return &List{et}
	case *syntax.DontCareType:
		return &TypeParam{Name: "_", Fresh: true}
	}
	return Invalid
}

func (c *Checker) baseType(e *syntax.BaseType) Type {
	switch e.Kind {
	case syntax.Bool:
		return Bool
	case syntax.Error:
		return Error
	case syntax.MatchKind:
		return MatchKind
	case syntax.StringType:
		return String
	case syntax.Void:
		return Void
	case syntax.Bit:
		if e.Width == nil {
			return c.bits(e, 1, false)
		}
	case syntax.Int:
		if e.Width == nil {
			return Int
		}
	}
	n, ok := c.size(e.Width, "the width")
	if !ok {
		return Invalid
	}
	if e.Kind == syntax.Varbit {
		if n > maxWidth || n < 0 {
			return c.bits(e.Width, n, false)
		}
		return &Varbit{n}
	}
	return c.bits(e.Width, n, e.Kind == syntax.Int)
}

// smallBits has the types bit<0> to bit<128>, which are frequent.
var smallBits = func() (list [129]*Bits) {
	for i := range list {
		list[i] = &Bits{Width: i}
	}
	return list
}()

// bits returns bit<width> or int<width>, or reports that the width is invalid.
func (c *Checker) bits(at syntax.Node, width int, signed bool) Type {
	switch {
	case width < 0 || width == 0 && signed:
		c.errorf(at.Pos(), CodeWidth, "a type cannot have the width %d", width)
		return Invalid
	case width > maxWidth:
		c.errorf(at.Pos(), CodeWidth, "the width %d is larger than %d bits", width, maxWidth)
		return Invalid
	case !signed && width < len(smallBits):
		return smallBits[width]
	}
	return &Bits{width, signed}
}

// size returns the value of an expression for a width or size.
func (c *Checker) size(e syntax.Expr, what string) (int, bool) {
	var x operand
	c.expr(&x, e, nil)
	if x.mode == invalid {
		return 0, false
	}
	if !isNumeric(underlyingBits(x.typ)) {
		c.errorf(e.Pos(), CodeMismatch, "%s must be a number, which %s is not", what, x.describe())
		return 0, false
	}
	v, ok := x.val.(IntValue)
	if !ok {
		c.errorf(e.Pos(), CodeNotConstant, "%s must be known at compile time, %s is not", what, syntax.Text(e))
		return 0, false
	}
	if !v.IsInt64() || v.Int64() > 1<<30 || v.Int64() < -(1<<30) {
		c.errorf(e.Pos(), CodeTooLarge, "%s %v is out of bounds", what, v)
		return 0, false
	}
	return int(v.Int64()), true
}

func (c *Checker) namedType(e *syntax.NamedType, open bool) Type {
	s := c.scope
	if e.Global {
		s = c.top
	}
	o := s.lookup(e.Name)
	if o == nil {
		c.errorf(e.Pos(), CodeUndeclared, "type %s is not declared%s", e.Name, diag.DidYouMean(e.Name, typeNamesIn(s)))
		for _, a := range e.Args {
			c.typeArg(a)
		}
		return Invalid
	}
	o.(based).base().used = true
	tn, ok := o.(*TypeName)
	if !ok {
		c.errorf(e.Pos(), CodeNoType, "%s is not a type", e.Name)
		return Invalid
	}
	return c.specialize(e, tn.Type, e.Args, open)
}

func typeNamesIn(s *scope) []string {
	var list []string
	for ; s != nil; s = s.parent {
		for _, o := range s.order {
			if _, ok := o.(*TypeName); ok {
				list = append(list, o.ObjName())
			}
		}
	}
	return list
}

func genericOf(t Type) *generic {
	switch t := t.(type) {
	case *Struct:
		return &t.generic
	case *Extern:
		return &t.generic
	case *Block:
		return &t.generic
	}
	return nil
}

// specialize applies type arguments to t.
func (c *Checker) specialize(at syntax.Node, t Type, args []syntax.TypeExpr, open bool) Type {
	g := genericOf(t)
	if g == nil || len(g.TypeParams) == 0 {
		if len(args) > 0 {
			c.errorf(at.Pos(), CodeTypeArgs, "%s takes no type arguments", typeText(t))
			return Invalid
		}
		return t
	}
	if len(args) == 0 {
		if !open {
			c.errorf(at.Pos(), CodeTypeArgs, "%s needs %d type arguments", typeText(t), len(g.TypeParams))
			return Invalid
		}
		return t
	}
	if len(args) != len(g.TypeParams) {
		c.errorf(at.Pos(), CodeTypeArgs, "%s needs %d type arguments, not %d", typeText(t), len(g.TypeParams), len(args))
		return Invalid
	}
	list := make([]Type, len(args))
	for i, a := range args {
		if list[i] = c.typeArg(a); list[i] == Invalid {
			return Invalid
		}
	}
	for _, a := range list {
		if containsOrigin(a, t) {
			c.errorf(at.Pos(), CodeTypeUse, "%s is an argument of itself", typeText(t))
			return Invalid
		}
	}
	return c.specializeTo(at, t, list)
}

// containsOrigin reports whether the generic type t occurs in a.
func containsOrigin(a, t Type) bool {
	var args []Type
	switch a := a.(type) {
	case *Struct:
		if a.origin == t {
			return true
		}
		args = a.TypeArgs
	case *Extern:
		if a.origin == t {
			return true
		}
		args = a.TypeArgs
	case *Block:
		if a.origin == t {
			return true
		}
		args = a.TypeArgs
	case *Array:
		args = []Type{a.Elem}
	case *Tuple:
		args = a.Elems
	case *List:
		args = []Type{a.Elem}
	}
	for _, e := range args {
		if containsOrigin(e, t) {
			return true
		}
	}
	return false
}

func (c *Checker) specializeTo(at syntax.Node, t Type, list []Type) Type {
	switch t := t.(type) {
	case *Struct:
		if slices.ContainsFunc(list, isFresh) {
			c.errorf(at.Pos(), CodeTypeUse, "a type argument of %s cannot be _", t.Name)
			return Invalid
		}
		s := c.info.in.specializeStruct(t, list)
		for i, f := range t.Fields { // a type argument must be a valid field type
			if _, ok := f.Type.(*TypeParam); ok && !c.canContain(t.Kind, s.Fields[i].Type, true) {
				c.errorf(at.Pos(), CodeTypeUse, "field %s of %s cannot have type %s", f.Name, typeText(t), typeText(s.Fields[i].Type))
				return Invalid
			}
		}
		return s
	case *Extern:
		return c.info.in.specializeExtern(t, list)
	case *Block:
		return c.info.in.specializeBlock(t, list)
	}
	return t
}

// typeArg returns a type given as an argument for a type parameter.
func (c *Checker) typeArg(e syntax.TypeExpr) Type {
	t := c.typ(e)
	switch u := t.(type) {
	case *Block:
		if u.HasBody || u.Kind == PackageBlock {
			c.errorf(e.Pos(), CodeTypeUse, "%s cannot be a type argument", typeText(t))
			return Invalid
		}
	}
	return t
}

func (c *Checker) arrayType(e *syntax.ArrayType) Type {
	elem := c.typ(e.Elem)
	n, ok := c.size(e.Size, "the size of an array")
	if elem == Invalid || !ok {
		return Invalid
	}
	if n < 1 {
		c.errorf(e.Size.Pos(), CodeWidth, "an array cannot have the size %d", n)
		return Invalid
	}
	if l := leaves(elem); l*n > maxLeaves {
		c.errorf(e.Pos(), CodeTooLarge, "the array has more than %d fields", maxLeaves)
		return Invalid
	}
	switch t := elem.(type) {
	case *Bits, *Struct, *Enum, *NewType, *TypeParam, *Array, *Varbit:
	case *Basic:
		if t != Bool && t != Error {
			c.errorf(e.Pos(), CodeTypeUse, "an array cannot have elements of type %s", typeText(elem))
			return Invalid
		}
	default:
		c.errorf(e.Pos(), CodeTypeUse, "an array cannot have elements of type %s", typeText(elem))
		return Invalid
	}
	return &Array{elem, n}
}

// TooLarge reports whether values of type t have too many fields. Type arguments can
// double them at each of many nested calls.
func TooLarge(t Type) bool { return leaves(t) > maxLeaves }

// leaves counts the fields of a value of type t, through its parts.
func leaves(t Type) int {
	switch t := t.(type) {
	case *Array:
		return leaves(t.Elem) * t.Size
	case *Tuple:
		n := 0
		for _, e := range t.Elems {
			n += leaves(e)
		}
		return n
	case *Struct:
		n := 0
		for _, f := range t.Fields {
			n += leaves(f.Type)
		}
		return max(n, 1)
	}
	return 1
}

// canContain reports whether a struct-like type can have a field of type t
// (language spec 7.2.8). With nested, structs are looked into.
func (c *Checker) canContain(k StructKind, t Type, nested bool) bool {
	if t == Invalid {
		return true
	}
	switch k {
	case HeaderUnion:
		_, param := t.(*TypeParam)
		return isHeader(t) || param
	case Header:
		switch t := t.(type) {
		case *Basic:
			return t == Bool
		case *Bits, *Varbit, *TypeParam:
			return true
		case *NewType:
			return c.canContain(k, t.Base, nested)
		case *Enum:
			return t.Underlying != nil
		case *Array:
			return !t.IsStack() && c.canContain(k, t.Elem, nested)
		case *Struct:
			if t.Kind != PlainStruct {
				return false
			}
			for _, f := range t.Fields {
				if _, ok := f.Type.(*Varbit); ok || !c.canContain(k, f.Type, nested) {
					return false
				}
			}
			return true
		}
		return false
	}
	switch t := t.(type) {
	case *Basic:
		return t == Bool || t == Error
	case *Bits, *Varbit, *Enum, *NewType, *Struct, *Tuple, *TypeParam, *Array:
		return true
	case *List:
		return false
	}
	return false
}
