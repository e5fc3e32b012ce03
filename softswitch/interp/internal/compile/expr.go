// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"math/big"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// An expr is an expression with resolved names. BMv2 computes with integers of
// any size and truncates a result only when it stores it. Every expression
// therefore has the bounds of its values, and the code generator uses the
// smallest number of bits that gives the same result.
type expr struct {
	op   string
	kind exprKind
	pos  diag.Pos

	l, r, cond *expr

	lo, hi *big.Int // bounds of a number

	slot  int // of a field or action parameter
	limbs int
	width int // of a field; 0 for other data

	value *big.Int // of a constant; of a bool, 0 or 1

	hdr    *ops.Header // of a header known at compile time
	typ    *ops.HeaderType
	stk    *ops.Stack
	uni    *ops.Union
	ustk   *ops.UnionStack
	member int // index of a union's member or of a field
	reg    int // number of a register array
}

type exprKind uint8

const (
	kData exprKind = iota
	kBool
	kHeader
	kStack
	kUnion
	kUnionStack
)

func (k exprKind) String() string {
	return [...]string{"number", "boolean", "header", "header stack", "header union", "header union stack"}[k]
}

// Operations of exprs that the file does not have.
const (
	opConst    = "const"
	opField    = "field"
	opHeader   = "header"
	opStack    = "stack"
	opLastOf   = "last field" // of the last header in a stack
	opRegister = "register"
	opLook     = "lookahead" // slot holds the bit offset
)

var (
	bigZero = big.NewInt(0)
	bigOne  = big.NewInt(1)
)

func pow2(n int) *big.Int { return new(big.Int).Lsh(bigOne, uint(n)) }

// maxShift limits left shifts. Bits beyond are lost, which is invisible to a
// program that stores its results in fields.
const maxShift = 4096

// rangeOf sets the bounds of a value of width bits.
func (e *expr) rangeOf(width int, signed bool) *expr {
	if signed {
		e.lo, e.hi = new(big.Int).Neg(pow2(width-1)), new(big.Int).Sub(pow2(width-1), bigOne)
	} else {
		e.lo, e.hi = bigZero, new(big.Int).Sub(pow2(width), bigOne)
	}
	return e
}

// signed reports whether the value may be negative.
func (e *expr) signed() bool { return e.lo.Sign() < 0 }

// need returns the number of limbs for every value of e, in two's complement if
// it may be negative.
func (e *expr) need() int {
	n := max(e.lo.BitLen(), e.hi.BitLen())
	if e.signed() {
		n = max(new(big.Int).Not(e.lo).BitLen(), e.hi.BitLen()) + 1
	}
	return bitvec.Limbs(n)
}

// fits reports whether a field can hold every value of e.
func (e *expr) fits(width int, signed bool) bool {
	f := (&expr{}).rangeOf(width, signed)
	return e.lo.Cmp(f.lo) >= 0 && e.hi.Cmp(f.hi) <= 0
}

func constant(v *big.Int, pos diag.Pos) *expr {
	return &expr{op: opConst, value: v, lo: v, hi: v, pos: pos}
}

func (c *compiler) bad(pos diag.Pos, kind exprKind) *expr {
	return &expr{op: opConst, kind: kind, value: bigZero, lo: bigZero, hi: bigZero, pos: pos}
}

// hex parses a constant of the file.
func (c *compiler) hex(text string, pos diag.Pos) *big.Int {
	limbs, neg, err := bitvec.ParseHex(text)
	if err != nil {
		c.errorf(pos, "%v", err)
		return bigZero
	}
	v := new(big.Int).SetBytes(bitvec.AppendBytes(nil, limbs, 8*len(limbs)))
	if neg {
		v.Neg(v)
	}
	return v
}

// data builds an expression that must be a number.
func (c *compiler) data(v *bmv2json.Value) *expr { return c.want(c.expr(v), kData) }

// boolean builds an expression that must be a boolean.
func (c *compiler) boolean(v *bmv2json.Value) *expr { return c.want(c.expr(v), kBool) }

func (c *compiler) want(e *expr, kind exprKind) *expr {
	if e.kind != kind {
		c.errorf(e.pos, "expression is a %v, expected a %v", e.kind, kind)
		return c.bad(e.pos, kind)
	}
	return e
}

// expr builds an expression. nil is the number zero.
func (c *compiler) expr(v *bmv2json.Value) *expr {
	if v == nil {
		return c.bad(c.json.Pos, kData)
	}
	switch v.Type {
	case bmv2json.TypeExpression:
		if v.Op != nil {
			return c.operation(v.Op)
		}
		return c.expr(v.Inner)
	case bmv2json.TypeHexStr:
		return constant(c.hex(v.Name, v.Pos), v.Pos)
	case bmv2json.TypeBool:
		e := &expr{op: opConst, kind: kBool, value: bigZero, pos: v.Pos}
		if v.Bool {
			e.value = bigOne
		}
		return e
	case bmv2json.TypeField:
		return c.fieldExpr(bmv2json.FieldRef{Header: v.Name, Field: v.Field}, v.Pos)
	case bmv2json.TypeRuntimeData, bmv2json.TypeLocal:
		return c.param(v)
	case bmv2json.TypeHeader:
		if h := c.headers[v.Name]; h != nil {
			return &expr{op: opHeader, kind: kHeader, hdr: h, typ: h.Type, pos: v.Pos}
		}
		c.errorf(v.Pos, "unknown header %s%s", v.Name, diag.DidYouMean(v.Name, keys(c.headers)))
		return c.bad(v.Pos, kHeader)
	case bmv2json.TypeHeaderStack:
		if s := c.stacks[v.Name]; s != nil {
			return &expr{op: opStack, kind: kStack, stk: s, typ: s.Type, pos: v.Pos}
		}
		c.errorf(v.Pos, "unknown header stack %s", v.Name)
		return c.bad(v.Pos, kStack)
	case bmv2json.TypeHeaderUnion:
		if u := c.unions[v.Name]; u != nil {
			return &expr{op: opStack, kind: kUnion, uni: u, pos: v.Pos}
		}
		c.errorf(v.Pos, "unknown header union %s", v.Name)
		return c.bad(v.Pos, kUnion)
	case bmv2json.TypeUnionStack:
		if s := c.unionStacks[v.Name]; s != nil {
			return &expr{op: opStack, kind: kUnionStack, ustk: s, uni: s.Elements[0], pos: v.Pos}
		}
		c.errorf(v.Pos, "unknown header union stack %s", v.Name)
		return c.bad(v.Pos, kUnionStack)
	case bmv2json.TypeStackField:
		s := c.stacks[v.Name]
		if s == nil {
			c.errorf(v.Pos, "unknown header stack %s", v.Name)
			return c.bad(v.Pos, kData)
		}
		i := s.Type.Index(v.Field)
		if i < 0 {
			c.errorf(v.Pos, "header type %s has no field %s", s.Type.Name, v.Field)
			return c.bad(v.Pos, kData)
		}
		last := &expr{op: "last", kind: kHeader, stk: s, typ: s.Type, pos: v.Pos}
		return c.accessField(last, i, v.Pos)
	case bmv2json.TypeUnionStackField:
		h := c.unionStackMember(v.Name, v.Member)
		if h == nil || h.Type.Index(v.Field) < 0 {
			c.errorf(v.Pos, "unknown field %s.last.%s.%s", v.Name, v.Member, v.Field)
			return c.bad(v.Pos, kData)
		}
		last := &expr{op: "last", kind: kHeader, ustk: c.unionStacks[v.Name], hdr: h, typ: h.Type, pos: v.Pos}
		return c.accessField(last, h.Type.Index(v.Field), v.Pos)
	case bmv2json.TypeRegister:
		r, ok := c.registers[v.Name]
		if !ok {
			c.errorf(v.Pos, "unknown register array %s", v.Name)
			return c.bad(v.Pos, kData)
		}
		width := c.Prog.Registers[r].Width
		return (&expr{op: opRegister, reg: r, l: c.data(v.Inner), pos: v.Pos, limbs: bitvec.Limbs(width)}).rangeOf(width, false)
	case bmv2json.TypeLookahead:
		if v.Width < 1 || v.Width > 1<<14 || v.Index < 0 || v.Index > 1<<20 {
			c.errorf(v.Pos, "lookahead of %d bits at bit %d", v.Width, v.Index)
			return c.bad(v.Pos, kData)
		}
		return (&expr{op: opLook, slot: v.Index, width: v.Width, pos: v.Pos}).rangeOf(v.Width, false)
	}
	c.errorf(v.Pos, "a value of type %q has no place in an expression", v.Type)
	return c.bad(v.Pos, kData)
}

func (c *compiler) fieldExpr(ref bmv2json.FieldRef, pos diag.Pos) *expr {
	if ref.Field == ops.ValidField {
		h := c.headers[ref.Header]
		if h == nil {
			c.errorf(pos, "unknown header %s%s", ref.Header, diag.DidYouMean(ref.Header, keys(c.headers)))
			return c.bad(pos, kData)
		}
		if h.Slots != nil {
			return constant(bigOne, pos)
		}
		return (&expr{op: opField, slot: h.Base + ops.RelValid, limbs: 1, width: 1, pos: pos}).rangeOf(1, false)
	}
	h, i, ok := c.field(ref, pos)
	if !ok {
		return c.bad(pos, kData)
	}
	f := &h.Type.Fields[i]
	if i == h.Type.Varbit {
		return &expr{op: opField, kind: kData, hdr: h, typ: h.Type, member: i, lo: bigZero, hi: bigZero, slot: ops.NoSlot, pos: pos}
	}
	s := h.Field(i)
	if s < 0 {
		panic("BUG: field " + ref.Header + "." + ref.Field + " is used but has no slot")
	}
	return (&expr{op: opField, slot: s, limbs: bitvec.Limbs(f.Width), width: f.Width, hdr: h, typ: h.Type, member: i, pos: pos}).rangeOf(f.Width, f.Signed)
}

// param returns the expression for a parameter of the current action: a
// constant if the table entry is known.
func (c *compiler) param(v *bmv2json.Value) *expr {
	a := c.action
	if a == nil || v.Index < 0 || v.Index >= len(a.params) {
		c.errorf(v.Pos, "no action parameter %d here", v.Index)
		return c.bad(v.Pos, kData)
	}
	if c.args != nil {
		return constant(c.args[v.Index], v.Pos)
	}
	p := a.params[v.Index]
	return (&expr{op: opField, slot: c.Params + p.slot, limbs: bitvec.Limbs(p.width), width: p.width, pos: v.Pos}).rangeOf(p.width, false)
}

// accessField returns field i of a header, which may be known only at run time.
func (c *compiler) accessField(h *expr, i int, pos diag.Pos) *expr {
	if i < 0 || i >= len(h.typ.Fields) {
		c.errorf(pos, "header type %s has no field number %d", h.typ.Name, i)
		return c.bad(pos, kData)
	}
	f := &h.typ.Fields[i]
	if h.op == opHeader {
		return c.fieldExpr(bmv2json.FieldRef{Header: h.hdr.Name, Field: f.Name}, pos)
	}
	return (&expr{op: "access_field", l: h, member: i, typ: h.typ, limbs: bitvec.Limbs(f.Width), width: f.Width, pos: pos}).rangeOf(f.Width, f.Signed)
}

// operation builds an operation.
func (c *compiler) operation(o *bmv2json.Op) *expr {
	e := &expr{op: o.Op, pos: o.Pos}
	switch o.Op {
	case "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "two_comp_mod", "sat_cast", "usat_cast":
		if o.Left == nil {
			e.l = constant(bigZero, o.Pos) // unary plus and minus
		} else {
			e.l = c.data(o.Left)
		}
		e.r = c.data(o.Right)
		c.arith(e)
	case "~":
		e.r = c.data(o.Right)
		e.lo, e.hi = new(big.Int).Not(e.r.hi), new(big.Int).Not(e.r.lo)
	case "<", "<=", ">", ">=":
		e.kind = kBool
		e.l, e.r = c.data(o.Left), c.data(o.Right)
	case "==", "!=":
		e.kind = kBool
		e.l, e.r = c.expr(o.Left), c.expr(o.Right)
		if e.l.kind != e.r.kind {
			c.errorf(o.Pos, "comparison of a %v with a %v", e.l.kind, e.r.kind)
			return c.bad(o.Pos, kBool)
		}
	case "and", "or":
		e.kind = kBool
		e.l, e.r = c.boolean(o.Left), c.boolean(o.Right)
	case "not":
		e.kind = kBool
		e.r = c.boolean(o.Right)
	case "d2b":
		e.kind = kBool
		e.r = c.data(o.Right)
	case "b2d":
		e.r = c.boolean(o.Right)
		e.lo, e.hi = bigZero, bigOne
	case "valid":
		e.kind = kBool
		e.r = c.want(c.expr(o.Right), kHeader)
	case "valid_union":
		e.kind = kBool
		e.r = c.want(c.expr(o.Right), kUnion)
	case "?":
		e.cond = c.boolean(o.Cond)
		e.l, e.r = c.expr(o.Left), c.expr(o.Right)
		if e.l.kind != e.r.kind || e.l.kind > kBool {
			c.errorf(o.Pos, "choice between a %v and a %v", e.l.kind, e.r.kind)
			return c.bad(o.Pos, kData)
		}
		e.kind = e.l.kind
		if e.kind == kData {
			e.lo, e.hi = minBig(e.l.lo, e.r.lo), maxBig(e.l.hi, e.r.hi)
		}
	case "dereference_header_stack":
		s := c.want(c.expr(o.Left), kStack)
		if s.stk == nil {
			return c.bad(o.Pos, kHeader)
		}
		e.kind, e.stk, e.typ = kHeader, s.stk, s.typ
		e.r = c.data(o.Right)
		if v, ok := e.r.small(len(s.stk.Elements)); ok {
			return &expr{op: opHeader, kind: kHeader, hdr: s.stk.Elements[v], typ: s.typ, pos: o.Pos}
		}
	case "dereference_union_stack":
		s := c.want(c.expr(o.Left), kUnionStack)
		if s.ustk == nil {
			return c.bad(o.Pos, kUnion)
		}
		e.kind, e.ustk, e.uni = kUnion, s.ustk, s.uni
		e.r = c.data(o.Right)
		if v, ok := e.r.small(len(s.ustk.Elements)); ok {
			return &expr{op: opStack, kind: kUnion, uni: s.ustk.Elements[v], pos: o.Pos}
		}
	case "last_stack_index", "size_stack":
		s := c.expr(o.Right)
		n := 0
		switch {
		case s.stk != nil && s.kind == kStack:
			n = len(s.stk.Elements)
		case s.ustk != nil && s.kind == kUnionStack:
			n = len(s.ustk.Elements)
		case s.kind == kStack || s.kind == kUnionStack: // unknown, which is reported
			return c.bad(o.Pos, kData)
		default:
			c.errorf(o.Pos, "%s of a %v", o.Op, s.kind)
			return c.bad(o.Pos, kData)
		}
		e.r = s
		e.lo, e.hi = big.NewInt(0), big.NewInt(int64(n))
		if o.Op == "last_stack_index" {
			e.lo = big.NewInt(-1)
		}
	case "access_field":
		h := c.want(c.expr(o.Left), kHeader)
		if h.typ == nil {
			return c.bad(o.Pos, kData)
		}
		return c.accessField(h, o.Offset, o.Pos)
	case "access_union_header":
		u := c.want(c.expr(o.Left), kUnion)
		if u.uni == nil || o.Offset < 0 || o.Offset >= len(u.uni.Members) {
			c.errorf(o.Pos, "no member number %d of a header union", o.Offset)
			return c.bad(o.Pos, kHeader)
		}
		h := u.uni.Members[o.Offset]
		if u.op == opStack {
			return &expr{op: opHeader, kind: kHeader, hdr: h, typ: h.Type, pos: o.Pos}
		}
		// h is the member of the stack's first element.
		return &expr{op: o.Op, kind: kHeader, l: u, hdr: h, typ: h.Type, ustk: u.ustk, pos: o.Pos}
	default:
		c.errorf(o.Pos, "unknown operation %q", o.Op)
		return c.bad(o.Pos, kData)
	}
	return e.fold()
}

// small returns the value of a constant below n.
func (e *expr) small(n int) (int, bool) {
	if e.op == opConst && e.value.IsInt64() && e.value.Int64() >= 0 && e.value.Int64() < int64(n) {
		return int(e.value.Int64()), true
	}
	return 0, false
}

func minBig(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func maxBig(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

// arith sets the bounds of an arithmetic operation.
func (c *compiler) arith(e *expr) {
	l, r := e.l, e.r
	switch e.op {
	case "+":
		e.lo, e.hi = new(big.Int).Add(l.lo, r.lo), new(big.Int).Add(l.hi, r.hi)
	case "-":
		e.lo, e.hi = new(big.Int).Sub(l.lo, r.hi), new(big.Int).Sub(l.hi, r.lo)
	case "*":
		e.lo = new(big.Int).Mul(l.lo, r.lo)
		e.hi = e.lo
		for _, p := range []*big.Int{new(big.Int).Mul(l.lo, r.hi), new(big.Int).Mul(l.hi, r.lo), new(big.Int).Mul(l.hi, r.hi)} {
			e.lo, e.hi = minBig(e.lo, p), maxBig(e.hi, p)
		}
	case "/":
		e.lo, e.hi = bigZero, maxBig(bigZero, l.hi)
	case "%":
		e.lo, e.hi = bigZero, maxBig(bigZero, minBig(l.hi, r.hi))
	case "<<":
		n := maxShift
		if r.hi.IsInt64() {
			n = int(max(0, min(r.hi.Int64(), maxShift)))
		}
		e.lo, e.hi = new(big.Int).Lsh(l.lo, uint(n)), new(big.Int).Lsh(l.hi, uint(n))
		e.lo, e.hi = minBig(e.lo, l.lo), maxBig(e.hi, l.hi)
	case ">>":
		e.lo, e.hi = minBig(l.lo, bigZero), maxBig(l.hi, bigZero)
		if v, ok := r.small(maxShift); ok {
			e.lo, e.hi = new(big.Int).Rsh(l.lo, uint(v)), new(big.Int).Rsh(l.hi, uint(v))
		}
	case "&":
		switch {
		case !l.signed() && !r.signed():
			e.lo, e.hi = bigZero, minBig(l.hi, r.hi)
		case !l.signed():
			e.lo, e.hi = bigZero, l.hi
		case !r.signed():
			e.lo, e.hi = bigZero, r.hi
		default:
			bitRange(e)
		}
	case "|", "^":
		bitRange(e)
	case "two_comp_mod", "sat_cast", "usat_cast":
		w, ok := r.small(1 << 16)
		if !ok || w == 0 && e.op != "usat_cast" {
			c.errorf(e.pos, "the width of %s must be a constant, 1 to 65535", e.op)
			w = 1
		}
		e.width = w
		e.rangeOf(w, e.op != "usat_cast")
		if e.op == "two_comp_mod" && l.fits(w, true) {
			*e = *l
		}
	}
}

// bitRange derives the bounds of a bitwise operation from the bits of its
// operands.
func bitRange(e *expr) {
	n := max(e.l.lo.BitLen(), e.l.hi.BitLen(), e.r.lo.BitLen(), e.r.hi.BitLen())
	signed := e.l.signed() || e.r.signed()
	if signed {
		n++
	}
	e.rangeOf(n, signed)
}

// fold replaces an operation on constants by its result where real programs
// benefit.
func (e *expr) fold() *expr {
	if e.kind == kBool && e.op == "not" && e.r.op == opConst {
		e.r.value = new(big.Int).Sub(bigOne, e.r.value)
		return e.r
	}
	if e.kind != kData || e.l == nil || e.r == nil || e.l.op != opConst || e.r.op != opConst {
		return e
	}
	a, b, v := e.l.value, e.r.value, new(big.Int)
	switch e.op {
	case "+":
		v.Add(a, b)
	case "-":
		v.Sub(a, b)
	case "*":
		v.Mul(a, b)
	case "&":
		v.And(a, b)
	case "|":
		v.Or(a, b)
	case "^":
		v.Xor(a, b)
	default:
		return e
	}
	return constant(v, e.pos)
}
