// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"fmt"
	"math/big"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// validField is the field with the validity of a header.
const validField = "$valid$"

// hex formats a number with as many digits as its width requires, or without
// leading zeros for width 0.
func hex(v *big.Int, width int) string {
	sign := ""
	if v.Sign() < 0 {
		sign, v = "-", new(big.Int).Neg(v)
	}
	return fmt.Sprintf("%s0x%0*s", sign, max((width+7)/8*2, 1), v.Text(16))
}

func number(n int64) *bmv2json.Value { return bmv2json.Hex(fmt.Sprintf("0x%x", n)) }

// place returns a variable or field as a place, nil for other expressions.
func (g *generator) place(x ir.Expr) *bmv2json.Value {
	switch x := x.(type) {
	case *ir.VarRef:
		if x.Var.Type.Kind == ir.Varbit {
			return bmv2json.Field(x.Var.Name, "field")
		}
		return bmv2json.Field(scalars, x.Var.Name)
	case *ir.FieldRef:
		return g.fieldOf(x.Header, x.Field)
	case *ir.Valid:
		if h, ok := x.Header.(*ir.Header); ok {
			return bmv2json.Field(h.Name, validField)
		}
	}
	return nil
}

// fieldOf returns a field of a header as a place.
func (g *generator) fieldOf(h ir.HeaderRef, i int) *bmv2json.Value {
	name := h.HeaderType().Fields[i].Name
	switch h := h.(type) {
	case *ir.Header:
		return bmv2json.Field(h.Name, name)
	case *ir.StackLast:
		return &bmv2json.Value{Type: bmv2json.TypeStackField, Name: h.Stack.Name, Field: name}
	case *ir.UnionStackLast:
		return &bmv2json.Value{Type: bmv2json.TypeUnionStackField, Name: h.Stack.Name, Member: h.Stack.Type.Members[h.Member].Name, Field: name}
	}
	return &bmv2json.Value{Type: bmv2json.TypeExpression, Op: &bmv2json.Op{Op: "access_field", Left: g.header(h), Offset: i}}
}

// header returns a header as a whole.
func (g *generator) header(h ir.HeaderRef) *bmv2json.Value {
	switch h := h.(type) {
	case *ir.Header:
		return bmv2json.Named(bmv2json.TypeHeader, h.Name)
	case *ir.StackElem:
		return bmv2json.Expr("dereference_header_stack", bmv2json.Named(bmv2json.TypeHeaderStack, h.Stack.Name), g.data(h.Index))
	case *ir.UnionStackElem:
		u := bmv2json.Expr("dereference_union_stack", bmv2json.Named(bmv2json.TypeUnionStack, h.Stack.Name), g.data(h.Index))
		return &bmv2json.Value{Type: bmv2json.TypeExpression, Op: &bmv2json.Op{Op: "access_union_header", Left: u, Offset: h.Member}}
	case *ir.StackLast:
		s := bmv2json.Named(bmv2json.TypeHeaderStack, h.Stack.Name)
		return bmv2json.Expr("dereference_header_stack", s, bmv2json.Expr("last_stack_index", nil, s))
	}
	if last, ok := h.(*ir.UnionStackLast); ok {
		g.fail(g.at, "the last element of a stack of unions can only be read field by field: %s.last.%s as a whole is not supported on this target", last.Stack.Name, last.Stack.Type.Members[last.Member].Name)
	}
	g.fail(g.at, "the next element of a stack can only be extracted on this target")
	return nil
}

// logic returns an operand of type bool.
func (g *generator) logic(x ir.Expr) *bmv2json.Value {
	switch x := x.(type) {
	case *ir.Const:
		return &bmv2json.Value{Type: bmv2json.TypeBool, Bool: x.Val.Sign() != 0}
	case *ir.UnionValid:
		return bmv2json.Expr("valid_union", nil, bmv2json.Named(bmv2json.TypeHeaderUnion, x.Union.Name))
	case *ir.Valid:
		if p := g.place(x); p != nil {
			return bmv2json.Expr("d2b", nil, p)
		}
		return bmv2json.Expr("valid", nil, g.header(x.Header))
	case *ir.VarRef, *ir.FieldRef:
		return bmv2json.Expr("d2b", nil, g.place(x))
	case *ir.ParamRef:
		return bmv2json.Expr("d2b", nil, g.param(x))
	case *ir.Unary:
		return bmv2json.Expr("not", nil, g.logic(x.X))
	case *ir.Cast: // of bit<1>
		return bmv2json.Expr("!=", g.data(x.X), number(0))
	case *ir.Mux:
		return &bmv2json.Value{Type: bmv2json.TypeExpression, Op: &bmv2json.Op{
			Op: "?", Left: g.logic(x.X), Right: g.logic(x.Y), Cond: g.logic(x.Cond)}}
	case *ir.Binary:
		switch x.Op {
		case syntax.AndAnd:
			return bmv2json.Expr("and", g.logic(x.X), g.logic(x.Y))
		case syntax.OrOr:
			return bmv2json.Expr("or", g.logic(x.X), g.logic(x.Y))
		}
		if x.X.Type().Kind == ir.Bool {
			return bmv2json.Expr(x.Op.String(), g.logic(x.X), g.logic(x.Y))
		}
		return bmv2json.Expr(x.Op.String(), g.data(x.X), g.data(x.Y))
	}
	panic(fmt.Sprintf("BUG: %T is not a bool", x))
}

// data returns a numeric operand. A bool is 0 or 1.
func (g *generator) data(x ir.Expr) *bmv2json.Value {
	t := x.Type()
	if t.Kind == ir.Bool {
		switch x := x.(type) {
		case *ir.Const:
			return bmv2json.Hex(hex(x.Val, 1))
		case *ir.ParamRef:
			return g.param(x)
		}
		if p := g.place(x); p != nil {
			return p
		}
		return bmv2json.Expr("b2d", nil, g.logic(x))
	}
	switch x := x.(type) {
	case *ir.Const:
		if t.Kind == ir.Error {
			return bmv2json.Hex(hex(x.Val, 0))
		}
		return bmv2json.Hex(hex(x.Val, t.Width))
	case *ir.VarRef, *ir.FieldRef:
		g.read(x)
		return g.place(x)
	case *ir.ParamRef:
		return g.param(x)
	case *ir.LastIndex:
		if x.Stack != nil {
			return bmv2json.Expr("last_stack_index", nil, bmv2json.Named(bmv2json.TypeHeaderStack, x.Stack.Name))
		}
		return bmv2json.Expr("last_stack_index", nil, bmv2json.Named(bmv2json.TypeUnionStack, x.Union.Name))
	case *ir.Unary:
		return g.cut(g.unary(x), t)
	case *ir.Binary:
		return g.binary(x)
	case *ir.Mux:
		return &bmv2json.Value{Type: bmv2json.TypeExpression, Op: &bmv2json.Op{
			Op: "?", Left: g.data(x.X), Right: g.data(x.Y), Cond: g.logic(x.Cond)}}
	case *ir.Cast:
		return g.cast(x)
	case *ir.Slice:
		return g.slice(x)
	case *ir.Lookahead:
		return &bmv2json.Value{Type: bmv2json.TypeLookahead, Index: x.Offset, Width: x.T.Width}
	}
	panic(fmt.Sprintf("BUG: no JSON for %T", x))
}

func (g *generator) unary(x *ir.Unary) *bmv2json.Value {
	if x.Op == syntax.Minus {
		return bmv2json.Expr("-", bmv2json.Hex(hex(new(big.Int), x.Type().Width)), g.data(x.X))
	}
	return bmv2json.Expr("~", nil, g.data(x.X))
}

// maxShift is the largest width of a shift amount, in bits, that is passed to
// BMv2 unchanged: BMv2 would compute 1 << 65535 before truncating the result.
const maxShift = 8

func (g *generator) binary(x *ir.Binary) *bmv2json.Value {
	t := x.T
	switch x.Op {
	case syntax.PlusPlus:
		w := x.Y.Type().Width
		y := g.data(ir.Expr(&ir.Cast{T: ir.Type{Kind: ir.Bits, Width: w}, X: x.Y}))
		if x.Y.Type().Kind == ir.Bits {
			y = g.data(x.Y)
		}
		return bmv2json.Expr("|", g.cut(bmv2json.Expr("<<", g.data(x.X), number(int64(w))), t), y)
	case syntax.PlusSat, syntax.MinusSat:
		op, cast := "+", "usat_cast"
		if x.Op == syntax.MinusSat {
			op = "-"
		}
		if t.Kind == ir.Signed {
			cast = "sat_cast"
		}
		return bmv2json.Expr(cast, bmv2json.Expr(op, g.data(x.X), g.data(x.Y)), number(int64(t.Width)))
	case syntax.Shl, syntax.Shr:
		v := bmv2json.Expr(x.Op.String(), g.data(x.X), g.data(x.Y))
		if x.Op == syntax.Shl {
			v = g.cut(v, t)
		}
		if _, known := x.Y.(*ir.Const); known || x.Y.Type().Width <= maxShift {
			return v
		}
		limit := big.NewInt(int64(t.Width))
		beyond := bmv2json.Hex(hex(new(big.Int), t.Width))
		if x.Op == syntax.Shr && t.Kind == ir.Signed {
			beyond = bmv2json.Expr(">>", g.data(x.X), number(int64(t.Width)))
		}
		return &bmv2json.Value{Type: bmv2json.TypeExpression, Op: &bmv2json.Op{
			Op: "?", Left: v, Right: beyond, Cond: bmv2json.Expr("<", g.data(x.Y), bmv2json.Hex(hex(limit, 0)))}}
	}
	v := bmv2json.Expr(x.Op.String(), g.data(x.X), g.data(x.Y))
	switch x.Op {
	case syntax.And, syntax.Or, syntax.Xor:
		return v
	case syntax.Slash, syntax.Percent:
		if _, known := x.Y.(*ir.Const); known {
			return v
		}
		// Division by zero terminates BMv2.
		return &bmv2json.Value{Type: bmv2json.TypeExpression, Op: &bmv2json.Op{
			Op: "?", Left: v, Right: bmv2json.Hex(hex(new(big.Int), t.Width)), Cond: bmv2json.Expr("!=", g.data(x.Y), number(0))}}
	}
	return g.cut(v, t)
}

// cut truncates a value to the bits of type t.
func (g *generator) cut(v *bmv2json.Value, t ir.Type) *bmv2json.Value {
	switch t.Kind {
	case ir.Bits:
		return bmv2json.Expr("&", v, bmv2json.Hex(hex(types.Mask(t.Width), t.Width)))
	case ir.Signed:
		return bmv2json.Expr("two_comp_mod", v, number(int64(t.Width)))
	}
	return v
}

func (g *generator) cast(x *ir.Cast) *bmv2json.Value {
	from := x.X.Type()
	if from.Kind == ir.Bool {
		return g.data(x.X) // bit<1>
	}
	v := g.data(x.X)
	if from.Kind == x.T.Kind && from.Width <= x.T.Width || from.Kind == ir.Bits && x.T.Kind == ir.Signed && from.Width < x.T.Width {
		return v
	}
	return g.cut(v, x.T)
}

func (g *generator) slice(x *ir.Slice) *bmv2json.Value {
	v := g.data(x.X)
	if x.Lo > 0 {
		v = bmv2json.Expr(">>", v, number(int64(x.Lo)))
	}
	if x.Hi == x.X.Type().Width-1 && x.X.Type().Kind == ir.Bits {
		return v
	}
	return g.cut(v, x.Type())
}

// param returns a parameter of the action, as an operand.
func (g *generator) param(x *ir.ParamRef) *bmv2json.Value {
	for i, p := range g.params {
		if p == x.Param {
			return bmv2json.Local(i)
		}
	}
	panic("BUG: parameter " + x.Param.Name + " of another action")
}

// argument returns a value as a parameter of a primitive.
func (g *generator) argument(x ir.Expr) *bmv2json.Value {
	if p, ok := x.(*ir.ParamRef); ok {
		return bmv2json.RuntimeData(g.param(p).Index)
	}
	if t, ok := x.(*ir.Text); ok {
		return bmv2json.Named(bmv2json.TypeString, t.Val)
	}
	return wrap(g.data(x))
}

// wrap nests an expression in one more object, as parameters require.
func wrap(v *bmv2json.Value) *bmv2json.Value {
	switch v.Type {
	case bmv2json.TypeExpression, bmv2json.TypeStackField, bmv2json.TypeUnionStackField:
		return bmv2json.Wrap(v)
	case bmv2json.TypeLocal:
		return bmv2json.RuntimeData(v.Index)
	}
	return v
}

// isSimple reports whether x can be a parameter of any primitive: a constant, a
// parameter, a variable or a fixed field.
func isSimple(x ir.Expr) bool {
	switch x := x.(type) {
	case *ir.Const, *ir.VarRef, *ir.ParamRef, *ir.Text:
		return true
	case *ir.FieldRef:
		_, ok := x.Header.(*ir.Header)
		return ok
	}
	return false
}
