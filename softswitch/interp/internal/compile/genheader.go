// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"math/big"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// headerOpFor returns the number of the HeaderOp of a header.
func (c *compiler) headerOpFor(e *expr) int {
	op := ops.HeaderOp{Type: e.typ, Bytes: e.typ.Bits / 8}
	h := e.hdr // of a union stack: the member of the first element, whose siblings have the same layout
	if h == nil && e.stk != nil {
		h = e.stk.Elements[0]
	}
	if h != nil && h.Union != nil {
		for i, m := range h.Union.Members {
			if m == h {
				op.Siblings = h.Union.Siblings(i)
			}
		}
	}
	c.Prog.HeaderOps = append(c.Prog.HeaderOps, op)
	return len(c.Prog.HeaderOps) - 1
}

// isVarbit reports whether e is a variable-length field.
func (e *expr) isVarbit() bool {
	return e.kind == kData && e.typ != nil && e.typ.Varbit >= 0 && e.member == e.typ.Varbit && (e.op == opField || e.op == "access_field")
}

// varbitBlock returns a slot with the first slot of the block of a
// variable-length field's header.
func (c *compiler) varbitBlock(e *expr) int {
	switch {
	case !e.isVarbit():
		c.errorf(e.pos, "a variable-length field can only be assigned to or compared with another")
		return c.constSlot(bigZero, 1)
	case e.op == opField:
		return c.constSlot(big.NewInt(int64(e.hdr.Base)), 1)
	}
	return c.block(e.l)
}

// rel returns the position of an access_field's field in its block.
func (e *expr) rel() int {
	rel := e.typ.Fields[e.member].Rel
	if rel < 0 {
		panic("BUG: field " + e.typ.Name + "." + e.typ.Fields[e.member].Name + " is used but has no slot")
	}
	return rel
}

// block returns a slot with the first slot of a header's block.
func (c *compiler) block(e *expr) int {
	switch e.op {
	case opHeader:
		return c.constSlot(big.NewInt(int64(e.hdr.Base)), 1)
	case "dereference_header_stack":
		t := c.temp(1)
		c.emit(ops.Elem, t, c.index(e.r), 0, ops.Pack(e.stk.Base, e.stk.Type.Size, len(e.stk.Elements), false))
		return t
	case "access_union_header": // l is a union in a stack, with an index found at run time
		t := c.temp(1)
		s := e.ustk
		c.emit(ops.Elem, t, c.index(e.l.r), 0, ops.Pack(e.hdr.Base, s.Stride(), len(s.Elements), false))
		return t
	case "last":
		t := c.temp(1)
		one := c.constSlot(bigOne, 1)
		if e.stk != nil {
			c.emit(ops.Sub, t, e.stk.Next, one, ops.AllBits)
			c.emit(ops.Elem, t, t, 0, ops.Pack(e.stk.Base, e.stk.Type.Size, len(e.stk.Elements), false))
		} else {
			s := e.ustk
			c.emit(ops.Sub, t, s.Next, one, ops.AllBits)
			c.emit(ops.Elem, t, t, 0, ops.Pack(e.hdr.Base, s.Stride(), len(s.Elements), false))
		}
		return t
	}
	c.errorf(e.pos, "%s is not a header", e.op)
	return c.constSlot(bigZero, 1)
}

// validity returns a slot that is 1 if the header is valid.
func (c *compiler) validity(e *expr) int {
	if e.op == opHeader {
		if e.hdr.Slots != nil {
			return c.constSlot(bigOne, 1)
		}
		return e.hdr.Base + ops.RelValid
	}
	t := c.temp(1)
	c.emit(ops.Load, t, c.block(e), 0, ops.RelValid)
	return t
}

// unionMembers returns the members of a union as headers.
func (c *compiler) unionMembers(u *expr) []*expr {
	if u.uni == nil {
		return nil
	}
	var list []*expr
	for _, h := range u.uni.Members {
		if u.op == opStack {
			list = append(list, &expr{op: opHeader, kind: kHeader, hdr: h, typ: h.Type, pos: u.pos})
		} else {
			list = append(list, &expr{op: "access_union_header", kind: kHeader, l: u, hdr: h, typ: h.Type, ustk: u.ustk, pos: u.pos})
		}
	}
	return list
}

func (c *compiler) unionValid(u *expr, want bool, to ops.Label) {
	end := c.label()
	for _, m := range c.unionMembers(u) {
		if want {
			c.branch(ops.JNZ, c.validity(m), 0, to)
		} else {
			c.branch(ops.JNZ, c.validity(m), 0, end)
		}
	}
	if !want {
		c.jump(to)
	}
	c.place(end)
}

// sameHeaders assigns to dst whether two headers, or two unions, are equal:
// both valid with the same fields.
func (c *compiler) sameHeaders(dst int, e *expr) {
	if e.l.kind == kHeader {
		if e.l.typ != e.r.typ {
			c.errorf(e.pos, "comparison of headers of different types")
			return
		}
		if e.l.typ == nil {
			return
		}
		c.emit(ops.HeaderEq, dst, c.block(e.l), c.block(e.r), uint64(c.headerOpFor(e.l)))
		return
	}
	ls, rs := c.unionMembers(e.l), c.unionMembers(e.r)
	if len(ls) != len(rs) {
		c.errorf(e.pos, "comparison of unions of different types")
		return
	}
	c.emit(ops.MovI, dst, 0, 0, 0)
	t := c.temp(1)
	for i := range ls {
		c.sameHeaders(t, &expr{op: "==", kind: kBool, l: ls[i], r: rs[i], pos: e.pos})
		c.emit(ops.Or, dst, dst, t, 1)
	}
}

// counter returns the slot with the number of headers in a stack.
func (c *compiler) counter(e *expr) int {
	switch {
	case e.stk != nil:
		return e.stk.Next
	case e.ustk != nil:
		return e.ustk.Next
	}
	return c.constSlot(bigZero, 1)
}

// copyHeader emits dst = src.
func (c *compiler) copyHeader(dst, src *expr) {
	if dst.typ == nil || src.typ == nil {
		return
	}
	if dst.typ != src.typ && !dst.typ.SameLayout(src.typ) {
		c.errorf(dst.pos, "assignment of a header of type %s to one of type %s", src.typ.Name, dst.typ.Name)
		return
	}
	a := c.block(dst)
	c.emit(ops.CopyHeader, 0, a, c.block(src), uint64(c.headerOpFor(dst)))
}

func (c *compiler) stackOpFor(e *expr) int {
	var op ops.StackOp
	switch {
	case e.stk != nil:
		op = ops.StackOp{Next: e.stk.Next, Base: e.stk.Base, Stride: e.stk.Type.Size, N: len(e.stk.Elements), Valid: []int{ops.RelValid}}
	case e.ustk != nil:
		first := e.ustk.Elements[0].Members
		op = ops.StackOp{Next: e.ustk.Next, Base: first[0].Base, N: len(e.ustk.Elements)}
		for _, h := range first {
			op.Valid = append(op.Valid, h.Base-op.Base+ops.RelValid)
			op.Stride += h.Type.Size
		}
	}
	c.Prog.StackOps = append(c.Prog.StackOps, op)
	return len(c.Prog.StackOps) - 1
}
