// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"math/big"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// gen emits code for a number and returns the slots with its low 64·n bits in
// two's complement: those of a field, or temporaries.
func (c *compiler) gen(e *expr, n int) int {
	switch {
	case e.op == opConst:
		return c.constSlot(e.value, n)
	case e.op == opField && e.slot >= 0 && (e.limbs >= n || n == 1):
		return e.slot
	}
	t := c.temp(n)
	c.genTo(e, n, t, ops.AllBits)
	return t
}

// genTo emits code that assigns the low 64·n bits of a number to dst. With one
// limb, the result is masked.
func (c *compiler) genTo(e *expr, n, dst int, mask uint64) {
	if e.isVarbit() {
		c.errorf(e.pos, "a variable-length field can only be assigned to or compared with another")
		return
	}
	if n > 1 {
		c.genWide(e, n, dst)
		return
	}
	switch e.op {
	case opConst:
		c.emit(ops.MovI, dst, 0, 0, low(e.value)&mask)
	case opField:
		c.emit(ops.Mov, dst, e.slot, 0, mask)
	case "&":
		// p4c truncates every sum with a constant mask: the addition can apply it.
		if e.r.op == opConst {
			c.genTo(e.l, 1, dst, mask&low(e.r.value))
			return
		}
		c.binary(ops.And, e, dst, mask)
	case "|":
		c.binary(ops.Or, e, dst, mask)
	case "^":
		c.binary(ops.Xor, e, dst, mask)
	case "+":
		c.binary(ops.Add, e, dst, mask)
	case "-":
		c.binary(ops.Sub, e, dst, mask)
	case "*":
		c.binary(ops.Mul, e, dst, mask)
	case "<<":
		a := c.gen(e.l, 1)
		c.emit(ops.Shl, dst, a, c.shiftAmount(e.r), mask)
	case ">>", "/", "%":
		c.exactBinary(e, 1, dst, mask)
	case "~":
		c.emit(ops.Not, dst, c.gen(e.r, 1), 0, mask)
	case "two_comp_mod":
		if e.width > 64 {
			c.genTo(e.l, 1, dst, mask)
			return
		}
		c.emit(ops.Sext, dst, c.gen(e.l, 1), 0, uint64(e.width))
		c.cut(dst, mask)
	case "usat_cast", "sat_cast":
		c.saturate(e, 1, dst)
		c.cut(dst, mask)
	case "b2d":
		c.genBool(e.r, dst)
		c.cut(dst, mask)
	case "?":
		c.choose(e, func(arm *expr) { c.genTo(arm, 1, dst, mask) })
	case "access_field":
		c.emit(ops.Load, dst, c.block(e.l), 0, uint64(e.rel()))
		c.cut(dst, mask)
	case opRegister:
		t := c.temp(e.limbs)
		c.emit(ops.MovI, t, 0, 0, 0)
		c.emit(ops.RegRead, t, c.index(e.l), 0, uint64(e.reg))
		c.emit(ops.Mov, dst, t, 0, mask)
	case "last_stack_index":
		c.emit(ops.Sub, dst, c.counter(e.r), c.constSlot(bigOne, 1), mask)
	case "size_stack":
		c.emit(ops.Mov, dst, c.counter(e.r), 0, mask)
	case opLook:
		limbs := bitvec.Limbs(e.width)
		if limbs == 1 {
			c.emit(ops.Look, dst, 0, 0, ops.Pack(e.width, e.slot, 0, false))
		} else {
			t := c.temp(limbs)
			c.emit(ops.Look, t, 0, 0, ops.Pack(e.width, e.slot, 0, false))
			c.emit(ops.Mov, dst, t, 0, mask)
			return
		}
		c.cut(dst, mask)
	default:
		panic("BUG: no code for " + e.op)
	}
}

func (c *compiler) cut(dst int, mask uint64) {
	if mask != ops.AllBits {
		c.emit(ops.Mov, dst, dst, 0, mask)
	}
}

// low returns the low 64 bits in two's complement.
func low(v *big.Int) uint64 {
	if v.Sign() >= 0 {
		return new(big.Int).And(v, maxUint64).Uint64()
	}
	return -new(big.Int).And(new(big.Int).Neg(v), maxUint64).Uint64()
}

var maxUint64 = new(big.Int).SetUint64(ops.AllBits)

func (c *compiler) binary(op ops.Opcode, e *expr, dst int, mask uint64) {
	a := c.gen(e.l, 1)
	c.emit(op, dst, a, c.gen(e.r, 1), mask)
}

var wideOps = map[string]ops.Opcode{"+": ops.WAdd, "-": ops.WSub, "*": ops.WMul, "&": ops.WAnd, "|": ops.WOr, "^": ops.WXor, "/": ops.WDiv, "%": ops.WMod}

// genWide is genTo for more than one limb.
func (c *compiler) genWide(e *expr, n, dst int) {
	switch e.op {
	case opConst:
		c.emit(ops.WExt, dst, c.constSlot(e.value, n), 0, ops.Pack(n, n, 0, false))
	case opField:
		c.emit(ops.WExt, dst, e.slot, 0, ops.Pack(n, e.limbs, 0, e.signed()))
	case "+", "-", "*", "&", "|", "^":
		// If the result is known to be short, the computation is short as well.
		if k := e.need(); k < n && !e.signed() {
			t := c.gen(e, k)
			c.emit(ops.WExt, dst, t, 0, ops.Pack(n, k, 0, false))
			return
		}
		a, b := c.gen(e.l, n), c.gen(e.r, n)
		t := c.temp(n)
		c.emit(wideOps[e.op], t, a, b, ops.Pack(n, 0, 0, false))
		c.emit(ops.WExt, dst, t, 0, ops.Pack(n, n, 0, false))
	case "<<":
		a := c.gen(e.l, n)
		c.emit(ops.WShl, dst, a, c.shiftAmount(e.r), ops.Pack(n, 0, 0, false))
	case ">>", "/", "%":
		c.exactBinary(e, n, dst, ops.AllBits)
	case "~":
		c.emit(ops.WNot, dst, c.gen(e.r, n), 0, ops.Pack(n, 0, 0, false))
	case "two_comp_mod":
		k := min(n, bitvec.Limbs(e.width))
		c.emit(ops.WExt, dst, c.gen(e.l, k), 0, ops.Pack(n, k, 0, false))
		c.emit(ops.WSext, dst, 0, 0, ops.Pack(n, e.width, 0, false))
	case "usat_cast", "sat_cast":
		c.saturate(e, n, dst)
	case "?":
		c.choose(e, func(arm *expr) { c.genWide(arm, n, dst) })
	case "access_field":
		limbs := min(n, e.limbs)
		base := c.block(e.l)
		for i := range limbs {
			c.emit(ops.Load, dst+i, base, 0, uint64(e.rel()+i))
		}
		c.emit(ops.WExt, dst, dst, 0, ops.Pack(n, limbs, 0, e.signed()))
	case opRegister:
		t := c.temp(e.limbs)
		c.emit(ops.WExt, t, c.constSlot(bigZero, 1), 0, ops.Pack(e.limbs, 1, 0, false))
		c.emit(ops.RegRead, t, c.index(e.l), 0, uint64(e.reg))
		c.emit(ops.WExt, dst, t, 0, ops.Pack(n, e.limbs, 0, false))
	case opLook:
		limbs := bitvec.Limbs(e.width)
		t := c.temp(limbs)
		c.emit(ops.Look, t, 0, 0, ops.Pack(e.width, e.slot, 0, false))
		c.emit(ops.WExt, dst, t, 0, ops.Pack(n, limbs, 0, false))
	default: // always short
		t := c.temp(1)
		c.genTo(e, 1, t, ops.AllBits)
		c.emit(ops.WExt, dst, t, 0, ops.Pack(n, 1, 0, e.signed()))
	}
}

// exactBinary computes operations that need all bits of their operands.
func (c *compiler) exactBinary(e *expr, n, dst int, mask uint64) {
	k := e.l.need()
	if e.op != ">>" {
		k = compareLimbs(e.l, e.r)
	}
	if k == 1 && n == 1 {
		a := c.gen(e.l, 1)
		switch e.op {
		case ">>":
			op := ops.Shr
			if e.l.signed() {
				op = ops.Sar
			}
			c.emit(op, dst, a, c.shiftAmount(e.r), mask)
		case "/":
			c.emit(ops.Div, dst, a, c.gen(e.r, 1), mask)
		case "%":
			c.emit(ops.Mod, dst, a, c.gen(e.r, 1), mask)
		}
		return
	}
	a := c.gen(e.l, k)
	t := c.temp(k)
	if e.op == ">>" {
		c.emit(ops.WShr, t, a, c.shiftAmount(e.r), ops.Pack(k, 0, 0, e.l.signed()))
	} else {
		c.emit(wideOps[e.op], t, a, c.gen(e.r, k), ops.Pack(k, 0, 0, false))
	}
	if n == 1 {
		c.emit(ops.Mov, dst, t, 0, mask)
		return
	}
	c.emit(ops.WExt, dst, t, 0, ops.Pack(n, k, 0, e.l.signed()))
}

// shiftAmount returns the slot of a shift amount.
func (c *compiler) shiftAmount(e *expr) int {
	k := e.need()
	s := c.gen(e, k)
	if k == 1 {
		return s
	}
	t := c.temp(1)
	c.emit(ops.WShift, t, s, 0, ops.Pack(k, 0, 0, false))
	return t
}

// index returns the slot of an array index. An index beyond 64 bits becomes one
// that is out of range.
func (c *compiler) index(e *expr) int { return c.shiftAmount(e) }

func (c *compiler) saturate(e *expr, n, dst int) {
	k := max(e.l.need(), bitvec.Limbs(e.width))
	a := c.gen(e.l, k)
	flag := 0
	if e.l.signed() {
		flag = 1
	}
	if k == 1 {
		if e.op == "usat_cast" {
			c.emit(ops.USat, dst, a, flag, ops.MaskOf(e.width))
		} else {
			c.emit(ops.SSat, dst, a, flag, uint64(e.width))
		}
		if n > 1 {
			c.emit(ops.WExt, dst, dst, 0, ops.Pack(n, 1, 0, e.signed()))
		}
		return
	}
	op := ops.WUSat
	if e.op == "sat_cast" {
		op = ops.WSSat
	}
	t := c.temp(k)
	c.emit(ops.WExt, t, a, 0, ops.Pack(k, k, 0, false))
	c.emit(op, t, 0, 0, ops.Pack(k, e.width, 0, e.l.signed()))
	c.emit(ops.WExt, dst, t, 0, ops.Pack(n, k, 0, e.signed()))
}

// choose emits the two arms of a conditional expression.
func (c *compiler) choose(e *expr, arm func(*expr)) {
	no, end := c.label(), c.label()
	c.jumpUnless(e.cond, no)
	arm(e.l)
	c.jump(end)
	c.place(no)
	arm(e.r)
	c.place(end)
}

// compareLimbs returns the number of limbs for every value of both, signed if
// one may be negative.
func compareLimbs(a, b *expr) int {
	lo, hi := minBig(a.lo, b.lo), maxBig(a.hi, b.hi)
	return (&expr{lo: lo, hi: hi}).need()
}

// genBool emits code that assigns a boolean to dst.
func (c *compiler) genBool(e *expr, dst int) {
	switch e.op {
	case opConst:
		c.emit(ops.MovI, dst, 0, 0, e.value.Uint64())
	case "d2b":
		k := e.r.need()
		switch s := c.gen(e.r, k); {
		case k > 1:
			c.emit(ops.WNonZero, dst, s, 0, ops.Pack(k, 0, 0, false))
		case e.r.fits(1, false):
			c.emit(ops.Mov, dst, s, 0, 1)
		default:
			c.emit(ops.Ne, dst, s, c.constSlot(bigZero, 1), 0)
		}
	case "not":
		s := c.temp(1)
		c.genBool(e.r, s)
		c.emit(ops.Xor, dst, s, c.constSlot(bigOne, 1), 1)
	case "==", "!=", "<", "<=", ">", ">=":
		if e.l.kind == kData && !e.l.isVarbit() {
			c.compare(e, dst)
			return
		}
		fallthrough
	default:
		no, end := c.label(), c.label()
		c.jumpUnless(e, no)
		c.emit(ops.MovI, dst, 0, 0, 1)
		c.jump(end)
		c.place(no)
		c.emit(ops.MovI, dst, 0, 0, 0)
		c.place(end)
	}
}

// compare emits a comparison of numbers with the result in dst.
func (c *compiler) compare(e *expr, dst int) {
	k := compareLimbs(e.l, e.r)
	signed := e.l.signed() || e.r.signed()
	a, b := c.gen(e.l, k), c.gen(e.r, k)
	op := e.op
	if op == ">" || op == ">=" {
		a, b = b, a
		op = map[string]string{">": "<", ">=": "<="}[op]
	}
	if k == 1 {
		byOp := map[string]ops.Opcode{"==": ops.Eq, "!=": ops.Ne, "<": ops.LtU, "<=": ops.LeU}
		if signed {
			byOp["<"], byOp["<="] = ops.LtS, ops.LeS
		}
		c.emit(byOp[op], dst, a, b, 0)
		return
	}
	byOp := map[string]ops.Opcode{"==": ops.WEq, "!=": ops.WEq, "<": ops.WLt, "<=": ops.WLe}
	c.emit(byOp[op], dst, a, b, ops.Pack(k, 0, 0, signed))
	if op == "!=" {
		c.emit(ops.Xor, dst, dst, c.constSlot(bigOne, 1), 1)
	}
}

// jumpUnless emits a jump to label if the boolean is false.
func (c *compiler) jumpUnless(e *expr, to ops.Label) { c.jumpIf(e, false, to) }

// jumpIf emits a jump to label if the boolean equals want.
func (c *compiler) jumpIf(e *expr, want bool, to ops.Label) {
	defer c.releaseTemps(c.tempTop)
	onZero, onOne := ops.JZ, ops.JNZ // if the boolean is in a slot
	if !want {
		onZero, onOne = onOne, onZero
	}
	switch e.op {
	case opConst:
		if (e.value.Sign() != 0) == want {
			c.jump(to)
		}
	case "not":
		c.jumpIf(e.r, !want, to)
	case "and", "or":
		if (e.op == "or") == want {
			c.jumpIf(e.l, want, to)
			c.jumpIf(e.r, want, to)
			return
		}
		skip := c.label()
		c.jumpIf(e.l, !want, skip)
		c.jumpIf(e.r, want, to)
		c.place(skip)
	case "d2b":
		k := e.r.need()
		s := c.gen(e.r, k)
		if k > 1 {
			t := c.temp(1)
			c.emit(ops.WNonZero, t, s, 0, ops.Pack(k, 0, 0, false))
			s = t
		}
		c.branch(onOne, s, 0, to)
	case "valid":
		c.branch(onOne, c.validity(e.r), 0, to)
	case "valid_union":
		c.unionValid(e.r, want, to)
	case "?":
		no, end := c.label(), c.label()
		c.jumpUnless(e.cond, no)
		c.jumpIf(e.l, want, to)
		c.jump(end)
		c.place(no)
		c.jumpIf(e.r, want, to)
		c.place(end)
	case "==", "!=":
		yes := onOne
		if e.op == "!=" {
			yes = onZero
		}
		if e.l.isVarbit() || e.r.isVarbit() {
			t := c.temp(1)
			a, b := c.varbitBlock(e.l), c.varbitBlock(e.r)
			c.emit(ops.VarEq, t, a, b, 0)
			c.branch(yes, t, 0, to)
			return
		}
		switch e.l.kind {
		case kData:
			c.jumpCompare(e, want, to)
		case kBool:
			a, b := c.temp(1), c.temp(1)
			c.genBool(e.l, a)
			c.genBool(e.r, b)
			op := ops.JNe
			if (e.op == "==") == want {
				op = ops.JEq
			}
			c.branch(op, a, b, to)
		case kHeader, kUnion:
			t := c.temp(1)
			c.sameHeaders(t, e)
			c.branch(yes, t, 0, to)
		default:
			c.errorf(e.pos, "comparison of a %v", e.l.kind)
		}
	default:
		c.jumpCompare(e, want, to)
	}
}

// jumpCompare emits a comparison of numbers with a jump.
func (c *compiler) jumpCompare(e *expr, want bool, to ops.Label) {
	if compareLimbs(e.l, e.r) > 1 {
		t := c.temp(1)
		c.compare(e, t)
		if want {
			c.branch(ops.JNZ, t, 0, to)
		} else {
			c.branch(ops.JZ, t, 0, to)
		}
		return
	}
	a, b := c.gen(e.l, 1), c.gen(e.r, 1)
	op := e.op
	if !want {
		op = map[string]string{"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}[op]
	}
	if op == ">" || op == ">=" {
		a, b = b, a
		op = map[string]string{">": "<", ">=": "<="}[op]
	}
	signed := e.l.signed() || e.r.signed()
	zero := e.r.op == opConst && e.r.value.Sign() == 0
	switch {
	case op == "==" && zero:
		c.branch(ops.JZ, a, 0, to)
	case op == "!=" && zero:
		c.branch(ops.JNZ, a, 0, to)
	case op == "==":
		c.branch(ops.JEq, a, b, to)
	case op == "!=":
		c.branch(ops.JNe, a, b, to)
	case op == "<" && signed:
		c.branch(ops.JLtS, a, b, to)
	case op == "<":
		c.branch(ops.JLtU, a, b, to)
	case signed:
		c.branch(ops.JLeS, a, b, to)
	default:
		c.branch(ops.JLeU, a, b, to)
	}
}
