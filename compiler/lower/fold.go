// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// The functions of this file build expressions and fold constants.

// typeFor returns the checker's type of a number type.
func typeFor(t ir.Type) types.Type {
	return &types.Bits{Width: t.Width, Signed: t.Kind == ir.Signed}
}

func toConst(v types.Value, t ir.Type) ir.Expr {
	switch v := v.(type) {
	case types.IntValue:
		return &ir.Const{T: t, Val: v.Int}
	case types.BoolValue:
		return boolConst(bool(v))
	}
	panic("BUG: no constant")
}

func isTrue(c *ir.Const) bool { return c.Val.Sign() != 0 }

// mkUnary makes -x, ~x or !x.
func mkUnary(op syntax.Kind, x ir.Expr) ir.Expr {
	if op == syntax.Plus {
		return x
	}
	if c, ok := x.(*ir.Const); ok {
		switch op {
		case syntax.Not:
			return boolConst(!isTrue(c))
		case syntax.Minus:
			return toConst(types.IntValue{Int: types.Wrap(new(big.Int).Neg(c.Val), typeFor(c.T).(*types.Bits))}, c.T)
		case syntax.Tilde:
			return toConst(types.IntValue{Int: types.Wrap(new(big.Int).Not(c.Val), typeFor(c.T).(*types.Bits))}, c.T)
		}
	}
	if u, ok := x.(*ir.Unary); ok && u.Op == op {
		return u.X // --x, ~~x, !!x
	}
	return &ir.Unary{Op: op, X: x}
}

// mkBinary makes x op y for two operands of the same type, or a logic
// operation.
func mkBinary(op syntax.Kind, x, y ir.Expr) ir.Expr {
	a, aok := x.(*ir.Const)
	b, bok := y.(*ir.Const)
	t := x.Type()
	switch op {
	case syntax.AndAnd, syntax.OrOr:
		and := op == syntax.AndAnd
		switch {
		case aok && isTrue(a) == and:
			return y
		case aok:
			return x
		case bok && isTrue(b) == and:
			return x
		case bok: // x has no effects
			return y
		}
		return &ir.Binary{Op: op, T: ir.BoolType, X: x, Y: y}
	case syntax.Equal, syntax.NotEqual, syntax.Less, syntax.LessEqual, syntax.Greater, syntax.GreaterEqual:
		if aok && bok {
			return toConst(types.Fold(op, a.Val, b.Val, types.Int), ir.BoolType)
		}
		if t.Kind == ir.Bool && (aok || bok) { // x == true
			c, other := a, y
			if bok {
				c, other = b, x
			}
			if isTrue(c) == (op == syntax.Equal) {
				return other
			}
			return mkUnary(syntax.Not, other)
		}
		return &ir.Binary{Op: op, T: ir.BoolType, X: x, Y: y}
	}
	if aok && bok && t.IsNumber() && !((op == syntax.Slash || op == syntax.Percent) && b.Val.Sign() == 0) {
		return toConst(types.Fold(op, a.Val, b.Val, typeFor(t)), t)
	}
	return &ir.Binary{Op: op, T: t, X: x, Y: y}
}

// mkShift makes x << y or x >> y.
func mkShift(op syntax.Kind, x, y ir.Expr) ir.Expr {
	a, aok := x.(*ir.Const)
	b, bok := y.(*ir.Const)
	if bok && b.Val.Sign() == 0 {
		return x
	}
	if aok && bok {
		return toConst(types.FoldShift(op, a.Val, b.Val, typeFor(a.T)), a.T)
	}
	return &ir.Binary{Op: op, T: x.Type(), X: x, Y: y}
}

// mkConcat makes x ++ y.
func mkConcat(x, y ir.Expr) ir.Expr {
	t := x.Type()
	t.Width += y.Type().Width
	if y.Type().Width == 0 {
		return x
	}
	a, aok := x.(*ir.Const)
	b, bok := y.(*ir.Const)
	if aok && bok {
		return toConst(types.FoldConcat(a.Val, b.Val, typeFor(t).(*types.Bits), b.T.Width), t)
	}
	return &ir.Binary{Op: syntax.PlusPlus, T: t, X: x, Y: y}
}

// mkSlice makes x[hi:lo].
func mkSlice(x ir.Expr, hi, lo int) ir.Expr {
	t := ir.Type{Kind: ir.Bits, Width: hi - lo + 1}
	if c, ok := x.(*ir.Const); ok {
		return toConst(types.FoldSlice(c.Val, hi, lo), t)
	}
	if x.Type() == t {
		return x
	}
	return &ir.Slice{X: x, Hi: hi, Lo: lo}
}

// mkCast makes (t) x.
func mkCast(t ir.Type, x ir.Expr) ir.Expr {
	from := x.Type()
	if from == t {
		return x
	}
	if c, ok := x.(*ir.Const); ok {
		if t.Kind == ir.Bool {
			return boolConst(isTrue(c))
		}
		return toConst(types.IntValue{Int: types.Wrap(c.Val, typeFor(t).(*types.Bits))}, t)
	}
	return &ir.Cast{T: t, X: x}
}

// mkMux makes c ? x : y.
func mkMux(c, x, y ir.Expr) ir.Expr {
	if k, ok := c.(*ir.Const); ok {
		if isTrue(k) {
			return x
		}
		return y
	}
	return &ir.Mux{Cond: c, X: x, Y: y}
}
