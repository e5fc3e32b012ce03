// SPDX-License-Identifier: Apache-2.0

package interp

import "math/big"

// A headerOp has the compile-time parameters of making a header valid, invalid
// or equal to another.
type headerOp struct {
	typ      *headerType
	bytes    int   // of the fixed-width fields
	siblings []int // validity slots of the union's other members, relative to the block
}

// headerOpFor returns the number of the headerOp of a header.
func (c *compiler) headerOpFor(e *expr) int {
	op := headerOp{typ: e.typ, bytes: e.typ.bits / 8}
	h := e.hdr // of a union stack: the member of the first element, whose siblings have the same layout
	if h == nil && e.stk != nil {
		h = e.stk.elements[0]
	}
	if h != nil && h.union != nil {
		for i, m := range h.union.members {
			if m == h {
				op.siblings = h.union.siblings(i)
			}
		}
	}
	c.prog.headerOps = append(c.prog.headerOps, op)
	return len(c.prog.headerOps) - 1
}

// isVarbit reports whether e is a variable-length field.
func (e *expr) isVarbit() bool {
	return e.kind == kData && e.typ != nil && e.typ.varbit >= 0 && e.member == e.typ.varbit && (e.op == opField || e.op == "access_field")
}

// varbitBlock returns a slot with the first slot of the block of a
// variable-length field's header.
func (c *compiler) varbitBlock(e *expr) int {
	switch {
	case !e.isVarbit():
		c.errorf(e.pos, "a variable-length field can only be assigned to or compared with another")
		return c.constSlot(bigZero, 1)
	case e.op == opField:
		return c.constSlot(big.NewInt(int64(e.hdr.base)), 1)
	}
	return c.block(e.l)
}

// rel returns the position of an access_field's field in its block.
func (e *expr) rel() int {
	rel := e.typ.fields[e.member].rel
	if rel < 0 {
		panic("BUG: field " + e.typ.name + "." + e.typ.fields[e.member].name + " is used but has no slot")
	}
	return rel
}

// nowhere is the block's base for an index outside of a stack.
const nowhere = ^uint64(0)

// block returns a slot with the first slot of a header's block.
func (c *compiler) block(e *expr) int {
	switch e.op {
	case opHeader:
		return c.constSlot(big.NewInt(int64(e.hdr.base)), 1)
	case "dereference_header_stack":
		t := c.temp(1)
		c.emit(iElem, t, c.index(e.r), 0, pack(e.stk.base, e.stk.typ.size, len(e.stk.elements), false))
		return t
	case "access_union_header": // l is a union in a stack, with an index found at run time
		t := c.temp(1)
		s := e.ustk
		c.emit(iElem, t, c.index(e.l.r), 0, pack(e.hdr.base, s.stride(), len(s.elements), false))
		return t
	case "last":
		t := c.temp(1)
		one := c.constSlot(bigOne, 1)
		if e.stk != nil {
			c.emit(iSub, t, e.stk.next, one, allBits)
			c.emit(iElem, t, t, 0, pack(e.stk.base, e.stk.typ.size, len(e.stk.elements), false))
		} else {
			s := e.ustk
			c.emit(iSub, t, s.next, one, allBits)
			c.emit(iElem, t, t, 0, pack(e.hdr.base, s.stride(), len(s.elements), false))
		}
		return t
	}
	c.errorf(e.pos, "%s is no header", e.op)
	return c.constSlot(bigZero, 1)
}

// validity returns a slot that is 1 if the header is valid.
func (c *compiler) validity(e *expr) int {
	if e.op == opHeader {
		if e.hdr.slots != nil {
			return c.constSlot(bigOne, 1)
		}
		return e.hdr.base + relValid
	}
	t := c.temp(1)
	c.emit(iLoad, t, c.block(e), 0, relValid)
	return t
}

// unionMembers returns the members of a union as headers.
func (c *compiler) unionMembers(u *expr) []*expr {
	if u.uni == nil {
		return nil
	}
	var list []*expr
	for _, h := range u.uni.members {
		if u.op == opStack {
			list = append(list, &expr{op: opHeader, kind: kHeader, hdr: h, typ: h.typ, pos: u.pos})
		} else {
			list = append(list, &expr{op: "access_union_header", kind: kHeader, l: u, hdr: h, typ: h.typ, ustk: u.ustk, pos: u.pos})
		}
	}
	return list
}

func (c *compiler) unionValid(u *expr, want bool, to label) {
	end := c.label()
	for _, m := range c.unionMembers(u) {
		if want {
			c.branch(iJNZ, c.validity(m), 0, to)
		} else {
			c.branch(iJNZ, c.validity(m), 0, end)
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
		c.emit(iHeaderEq, dst, c.block(e.l), c.block(e.r), uint64(c.headerOpFor(e.l)))
		return
	}
	ls, rs := c.unionMembers(e.l), c.unionMembers(e.r)
	if len(ls) != len(rs) {
		c.errorf(e.pos, "comparison of unions of different types")
		return
	}
	c.emit(iMovI, dst, 0, 0, 0)
	t := c.temp(1)
	for i := range ls {
		c.sameHeaders(t, &expr{op: "==", kind: kBool, l: ls[i], r: rs[i], pos: e.pos})
		c.emit(iOr, dst, dst, t, 1)
	}
}

// counter returns the slot with the number of headers in a stack.
func (c *compiler) counter(e *expr) int {
	switch {
	case e.stk != nil:
		return e.stk.next
	case e.ustk != nil:
		return e.ustk.next
	}
	return c.constSlot(bigZero, 1)
}

// copyHeader emits dst = src.
func (c *compiler) copyHeader(dst, src *expr) {
	if dst.typ == nil || src.typ == nil {
		return
	}
	if dst.typ != src.typ && !dst.typ.sameLayout(src.typ) {
		c.errorf(dst.pos, "assignment of a header of type %s to one of type %s", src.typ.name, dst.typ.name)
		return
	}
	a := c.block(dst)
	c.emit(iCopyHeader, 0, a, c.block(src), uint64(c.headerOpFor(dst)))
}

// sameLayout reports whether the blocks of both types have the same layout.
func (t *headerType) sameLayout(u *headerType) bool {
	if t.size != u.size || t.bits != u.bits || t.varbit != u.varbit || len(t.fields) != len(u.fields) {
		return false
	}
	for i := range t.fields {
		if t.fields[i].width != u.fields[i].width || t.fields[i].rel != u.fields[i].rel {
			return false
		}
	}
	return true
}

// A stackOp has the parameters of push, pop and copies of stacks. The blocks of
// the elements are adjacent.
type stackOp struct {
	next   int // slot of the counter
	base   int
	stride int
	n      int
	valid  []int // validity slots of the headers of an element, relative to its base
}

func (c *compiler) stackOpFor(e *expr) int {
	var op stackOp
	switch {
	case e.stk != nil:
		op = stackOp{next: e.stk.next, base: e.stk.base, stride: e.stk.typ.size, n: len(e.stk.elements), valid: []int{relValid}}
	case e.ustk != nil:
		first := e.ustk.elements[0].members
		op = stackOp{next: e.ustk.next, base: first[0].base, n: len(e.ustk.elements)}
		for _, h := range first {
			op.valid = append(op.valid, h.base-op.base+relValid)
			op.stride += h.typ.size
		}
	}
	c.prog.stackOps = append(c.prog.stackOps, op)
	return len(c.prog.stackOps) - 1
}
