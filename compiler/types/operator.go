// SPDX-License-Identifier: Apache-2.0

package types

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// maxIntBits limits values of type int, and thus the memory of constant
// folding.
const maxIntBits = 1 << 16

// unary sets x to -y, +y, ~y or !y.
func (c *Checker) unary(x *operand, e *syntax.UnaryExpr, want Type) {
	c.expr(x, e.X, want)
	if x.mode == invalid {
		return
	}
	t := underlyingBits(x.typ)
	ok := false
	switch e.Op {
	case syntax.Not:
		ok = t == Bool
	case syntax.Tilde:
		ok = isBits(t)
	default:
		ok = isNumeric(t)
	}
	if !ok {
		c.errorf(e.Pos(), CodeOperand, "%v cannot be applied to %s", e.Op, x.describe())
		x.invalidate()
		return
	}
	m, v := value, Value(nil)
	if x.isConst() {
		m = constant
		if x.val != nil {
			v = foldUnary(e.Op, x.val, t)
		}
	}
	x.set(m, t, v)
}

func foldUnary(op syntax.Kind, v Value, t Type) Value {
	switch v := v.(type) {
	case BoolValue:
		return !v
	case IntValue:
		r := v.Int
		switch op {
		case syntax.Minus:
			r = new(big.Int).Neg(r)
		case syntax.Tilde:
			r = new(big.Int).Not(r)
		}
		if b, ok := t.(*Bits); ok {
			r = Wrap(r, b)
		}
		return IntValue{r}
	}
	return nil
}

// binary sets x to y op z.
func (c *Checker) binary(x *operand, e *syntax.BinaryExpr) {
	var y, z operand
	switch e.Op {
	case syntax.Mask, syntax.Range:
		c.set(x, e)
		return
	case syntax.Equal, syntax.NotEqual:
		c.equality(x, e)
		return
	}
	c.expr(&y, e.X, nil)
	c.expr(&z, e.Y, nil)
	if y.mode == invalid || z.mode == invalid {
		return
	}
	switch e.Op {
	case syntax.AndAnd, syntax.OrOr:
		c.logic(x, e, &y, &z)
	case syntax.Shl, syntax.Shr:
		c.shift(x, e, &y, &z)
	case syntax.PlusPlus:
		c.concat(x, e, &y, &z)
	default:
		c.arith(x, e, &y, &z)
	}
}

func (c *Checker) badOperands(e *syntax.BinaryExpr, y, z *operand, why string) {
	c.errorf(e.Pos(), CodeOperand, "%v cannot be applied to %s and %s%s", e.Op, y.describe(), z.describe(), why)
}

func (c *Checker) logic(x *operand, e *syntax.BinaryExpr, y, z *operand) {
	if y.typ != Bool || z.typ != Bool {
		c.badOperands(e, y, z, ": both must be bool")
		return
	}
	x.set(value, Bool, nil)
	and := e.Op == syntax.AndAnd
	l, lok := y.val.(BoolValue)
	r, rok := z.val.(BoolValue)
	switch {
	case lok && bool(l) != and: // false && …, true || …
		x.set(constant, Bool, l)
	case lok && rok:
		x.set(constant, Bool, r)
	case y.isConst() && z.isConst():
		x.mode = constant
	}
}

// match makes the types of two operands equal by implicit casts. It reports
// whether they are equal now.
func (c *Checker) match(y, z *operand) bool {
	if Identical(y.typ, z.typ) {
		return true
	}
	yb, zb := underlyingBits(y.typ), underlyingBits(z.typ)
	switch {
	case y.typ == Int && isBits(zb):
		c.convertInt(y, zb.(*Bits))
		z.typ = zb
	case z.typ == Int && isBits(yb):
		c.convertInt(z, yb.(*Bits))
		y.typ = yb
	case Identical(yb, zb):
		y.typ, z.typ = yb, zb
	default:
		return false
	}
	return true
}

// convertInt converts a constant of type int.
func (c *Checker) convertInt(x *operand, t *Bits) {
	x.typ = t
	if v, ok := x.val.(IntValue); ok {
		// -1 to -2^(W-1) as bit<W> are common and clear.
		twos := v.Sign() < 0 && !t.Signed && new(big.Int).Not(v.Int).BitLen() < max(t.Width, 1)
		if !Fits(v.Int, t) && !twos {
			c.warnf(x.pos(), CodeOverflow, "%v does not fit %v", v.Int, t)
		}
		x.val = IntValue{Wrap(v.Int, t)}
	}
	c.record(x.expr, x.typ, x.val)
}

// arith handles + - * / % & | ^ |+| |-| and the ordering comparisons.
func (c *Checker) arith(x *operand, e *syntax.BinaryExpr, y, z *operand) {
	if !isNumeric(underlyingBits(y.typ)) || !isNumeric(underlyingBits(z.typ)) {
		c.badOperands(e, y, z, "")
		return
	}
	if e.Op == syntax.Slash || e.Op == syntax.Percent {
		for _, o := range []*operand{y, z} {
			if v, ok := o.val.(IntValue); ok && v.Sign() < 0 {
				c.errorf(e.Pos(), CodeOperand, "%v is not defined for negative numbers", e.Op)
				return
			}
		}
	}
	if !c.match(y, z) {
		c.badOperands(e, y, z, ": the types differ")
		return
	}
	t := underlyingBits(y.typ)
	compare := false
	switch e.Op {
	case syntax.Less, syntax.LessEqual, syntax.Greater, syntax.GreaterEqual:
		compare = true
	case syntax.PlusSat, syntax.MinusSat: // & | ^ of int are an extension that p4c has
		if t == Int {
			c.badOperands(e, y, z, ": give one of them a width")
			return
		}
	case syntax.Slash, syntax.Percent:
		if b, ok := t.(*Bits); ok && b.Signed {
			c.badOperands(e, y, z, ": only for numbers that are not negative")
			return
		}
		if r, ok := z.val.(IntValue); ok && r.Sign() == 0 {
			c.errorf(e.Pos(), CodeOperand, "division by zero")
			return
		}
	}
	m, v := value, Value(nil)
	if y.isConst() && z.isConst() {
		m = constant
		if y.val != nil && z.val != nil {
			v = c.foldArith(e, y.val.(IntValue).Int, z.val.(IntValue).Int, t)
			if v == nil {
				return
			}
		}
	}
	if compare {
		t = Bool
	}
	x.set(m, t, v)
}

// foldArith folds the operation of constants. It returns nil after reporting an
// error.
func (c *Checker) foldArith(e *syntax.BinaryExpr, a, b *big.Int, t Type) Value {
	v := Fold(e.Op, a, b, t)
	if i, ok := v.(IntValue); ok && i.BitLen() > maxIntBits {
		c.errorf(e.Pos(), CodeTooLarge, "the value of %v has more than %d bits", e.Op, maxIntBits)
		return nil
	}
	return v
}

// Fold computes a op b for two numbers of type t. op is any operator except
// division by zero, shift or concatenation.
func Fold(op syntax.Kind, a, b *big.Int, t Type) Value {
	r := new(big.Int)
	switch op {
	case syntax.Equal:
		return BoolValue(a.Cmp(b) == 0)
	case syntax.NotEqual:
		return BoolValue(a.Cmp(b) != 0)
	case syntax.Less:
		return BoolValue(a.Cmp(b) < 0)
	case syntax.LessEqual:
		return BoolValue(a.Cmp(b) <= 0)
	case syntax.Greater:
		return BoolValue(a.Cmp(b) > 0)
	case syntax.GreaterEqual:
		return BoolValue(a.Cmp(b) >= 0)
	case syntax.Plus, syntax.PlusSat:
		r.Add(a, b)
	case syntax.Minus, syntax.MinusSat:
		r.Sub(a, b)
	case syntax.Star:
		r.Mul(a, b)
	case syntax.Slash:
		r.Quo(a, b)
	case syntax.Percent:
		r.Rem(a, b)
	case syntax.And:
		r.And(a, b)
	case syntax.Or:
		r.Or(a, b)
	case syntax.Xor:
		r.Xor(a, b)
	default:
		panic("BUG: no such operator: " + op.String())
	}
	if bits, ok := t.(*Bits); ok {
		if op == syntax.PlusSat || op == syntax.MinusSat {
			return IntValue{saturate(r, bits)}
		}
		return IntValue{Wrap(r, bits)}
	}
	return IntValue{r}
}

func saturate(v *big.Int, t *Bits) *big.Int {
	low, high := new(big.Int), Mask(t.Width)
	if t.Signed {
		high = Mask(max(t.Width-1, 0))
		low = new(big.Int).Not(high)
	}
	if v.Cmp(low) < 0 {
		return low
	}
	if v.Cmp(high) > 0 {
		return high
	}
	return v
}

func (c *Checker) shift(x *operand, e *syntax.BinaryExpr, y, z *operand) {
	t, zt := underlyingBits(y.typ), underlyingBits(z.typ)
	if !isNumeric(t) || !isNumeric(zt) {
		c.badOperands(e, y, z, "")
		return
	}
	if b, ok := zt.(*Bits); ok && b.Signed && !z.isConst() {
		c.badOperands(e, y, z, ": the amount must not be signed")
		return
	}
	if zt == Int && !z.isConst() || t == Int && !z.isConst() {
		c.badOperands(e, y, z, ": the amount must be known at compile time")
		return
	}
	amount, known := z.val.(IntValue)
	if known && amount.Sign() < 0 {
		c.errorf(e.Pos(), CodeOperand, "shift by a negative amount")
		return
	}
	if b, ok := t.(*Bits); ok && known && amount.Cmp(big.NewInt(int64(b.Width))) >= 0 {
		c.warnf(e.Pos(), CodeOverflow, "%v is shifted by %v, which leaves nothing", b, amount)
	}
	m, v := value, Value(nil)
	if y.isConst() && z.isConst() {
		m = constant
		if a, ok := y.val.(IntValue); ok && known {
			if t == Int && e.Op == syntax.Shl && a.Sign() != 0 && (!amount.IsInt64() || int64(a.BitLen())+amount.Int64() > maxIntBits) {
				c.errorf(e.Pos(), CodeTooLarge, "the value of %v has more than %d bits", e.Op, maxIntBits)
				return
			}
			v = FoldShift(e.Op, a.Int, amount.Int, t)
		}
	}
	x.set(m, t, v)
}

// FoldShift computes a << n or a >> n for a of type t.
func FoldShift(op syntax.Kind, a, n *big.Int, t Type) Value {
	r := new(big.Int)
	limit := int64(maxIntBits)
	if b, ok := t.(*Bits); ok {
		limit = int64(b.Width)
	}
	shift := uint(limit)
	if n.IsInt64() && n.Int64() < limit {
		shift = uint(n.Int64())
	}
	switch {
	case op == syntax.Shl && int64(shift) < limit:
		r.Lsh(a, shift)
	case op == syntax.Shr:
		r.Rsh(a, shift)
	}
	if b, ok := t.(*Bits); ok {
		r = Wrap(r, b)
	}
	return IntValue{r}
}

func (c *Checker) concat(x *operand, e *syntax.BinaryExpr, y, z *operand) {
	m := value
	if y.isConst() && z.isConst() {
		m = constant
	}
	if y.typ == String && z.typ == String {
		if m != constant {
			c.errorf(e.Pos(), CodeNotConstant, "strings are joined at compile time only")
			return
		}
		x.set(m, String, nil)
		a, aok := y.val.(StringValue)
		b, bok := z.val.(StringValue)
		if aok && bok {
			x.val = a + b
			if len(a)+len(b) > maxIntBits {
				c.errorf(e.Pos(), CodeTooLarge, "the string has more than %d bytes", maxIntBits)
				x.invalidate()
			}
		}
		return
	}
	a, aok := underlyingBits(y.typ).(*Bits)
	b, bok := underlyingBits(z.typ).(*Bits)
	if !aok || !bok {
		why := ""
		if y.typ == Int || z.typ == Int {
			why = ": a number without width has none to concatenate"
		}
		c.badOperands(e, y, z, why)
		return
	}
	t := c.bits(e, a.Width+b.Width, a.Signed)
	if t == Invalid {
		return
	}
	x.set(m, t, nil)
	if y.val != nil && z.val != nil {
		x.val = FoldConcat(y.val.(IntValue).Int, z.val.(IntValue).Int, t.(*Bits), b.Width)
	}
}

// FoldConcat computes a ++ b, where b has the given width and the result is
// of type t.
func FoldConcat(a, b *big.Int, t *Bits, width int) Value {
	r := new(big.Int).Lsh(a, uint(width))
	low := new(big.Int).And(b, Mask(width))
	return IntValue{Wrap(r.Or(r, low), t)}
}

// cond sets x to cond ? y : z.
func (c *Checker) cond(x *operand, e *syntax.CondExpr, want Type) {
	var cond, y, z operand
	c.exprOf(&cond, e.Cond, Bool, "the condition")
	c.expr(&y, e.X, want)
	c.expr(&z, e.Y, want)
	if cond.mode == invalid || y.mode == invalid || z.mode == invalid {
		return
	}
	if y.typ == Int && z.typ == Int && !cond.isConst() {
		b, ok := want.(*Bits)
		if !ok {
			c.errorf(e.Pos(), CodeOperand, "give one of the two numbers a width: only a condition known at compile time can choose between numbers without")
			return
		}
		c.errorf(e.Pos(), CodeOperand, "give one of the two numbers a width, as in %dw%s: the condition is not known at compile time", b.Width, syntax.Text(e.X))
		return
	}
	t := y.typ
	switch {
	case c.match(&y, &z):
		t = y.typ
	case c.convertible(&y, z.typ):
		t = z.typ
	case c.convertible(&z, y.typ):
	default:
		c.errorf(e.Pos(), CodeMismatch, "the two values of ?: have different types, %s and %s", typeText(y.typ), typeText(z.typ))
		return
	}
	switch t := t.(type) {
	case *Extern, *Block:
		c.errorf(e.Pos(), CodeOperand, "%s cannot be chosen by ?:", typeText(t))
		return
	}
	x.set(value, t, nil)
	if y.isConst() && z.isConst() && cond.isConst() {
		x.mode = constant
	}
	if v, ok := cond.val.(BoolValue); ok {
		pick := &z
		if v {
			pick = &y
		}
		if pick.isConst() {
			x.set(constant, t, pick.val)
		}
	}
}

// equality sets x to y == z or y != z.
func (c *Checker) equality(x *operand, e *syntax.BinaryExpr) {
	var y, z operand
	// A literal takes the type of the other operand.
	if isLiteral(e.X) && !isLiteral(e.Y) {
		c.expr(&z, e.Y, nil)
		c.expr(&y, e.X, z.typ)
	} else {
		c.expr(&y, e.X, nil)
		c.expr(&z, e.Y, y.typ)
	}
	if y.mode == invalid || z.mode == invalid {
		return
	}
	if !c.match(&y, &z) {
		switch {
		case c.convertible(&z, y.typ):
			z.typ = y.typ
		case c.convertible(&y, z.typ):
			y.typ = z.typ
		default:
			c.errorf(e.Pos(), CodeOperand, "%s and %s cannot be compared: the types differ", y.describe(), z.describe())
			return
		}
	}
	if !comparable(y.typ) {
		c.errorf(e.Pos(), CodeOperand, "values of %s cannot be compared", typeText(y.typ))
		return
	}
	x.set(value, Bool, nil)
	if y.isConst() && z.isConst() {
		x.mode = constant
		if y.val != nil && z.val != nil && !isInvalid(y.typ) {
			x.val = BoolValue(equalValues(y.val, z.val) == (e.Op == syntax.Equal))
		}
	}
}

// isLiteral reports whether the context determines the type of e.
func isLiteral(e syntax.Expr) bool {
	switch e.(type) {
	case *syntax.ListExpr, *syntax.StructExpr, *syntax.InvalidExpr, *syntax.DotsExpr:
		return true
	}
	return false
}

// comparable reports whether values of type t can be compared by == and !=.
func comparable(t Type) bool {
	switch t := t.(type) {
	case *Basic:
		return t == Bool || t == Int || t == Error || t == MatchKind || t == Invalid || t == NoHeader || t == String
	case *Bits, *Varbit, *Enum:
		return true
	case *NewType:
		return comparable(t.Base)
	case *Array:
		return comparable(t.Elem)
	case *Tuple:
		for _, e := range t.Elems {
			if !comparable(e) {
				return false
			}
		}
		return true
	case *Struct:
		for _, f := range t.Fields {
			if !comparable(f.Type) {
				return false
			}
		}
		return true
	}
	return false
}

// set sets x to y &&& z or y .. z.
func (c *Checker) set(x *operand, e *syntax.BinaryExpr) {
	var y, z operand
	c.expr(&y, e.X, nil)
	c.expr(&z, e.Y, nil)
	if y.mode == invalid || z.mode == invalid {
		return
	}
	left, yt, zt := y.typ, underlyingBits(y.typ), underlyingBits(z.typ)
	if n, ok := y.typ.(*NewType); ok && Identical(y.typ, z.typ) {
		yt, zt = n.Base, n.Base
	}
	if !isNumeric(yt) || !isNumeric(zt) || !c.match(&y, &z) {
		c.badOperands(e, &y, &z, "")
		return
	}
	if b, ok := yt.(*Bits); ok && b.Signed && e.Op == syntax.Mask {
		c.badOperands(e, &y, &z, ": a mask is of bit<W>")
		return
	}
	m, v := value, Value(nil)
	if y.isConst() && z.isConst() {
		m = constant
		if y.val != nil && z.val != nil {
			v = ListValue{y.val, z.val}
		}
		a, aok := y.val.(IntValue)
		b, bok := z.val.(IntValue)
		if e.Op == syntax.Range && aok && bok && a.Cmp(b.Int) > 0 {
			c.warnf(e.Pos(), CodeEmptySet, "the range %s is empty", syntax.Text(e))
		}
	}
	if left == Int {
		left = y.typ
	}
	x.set(m, &Set{left}, v)
}
