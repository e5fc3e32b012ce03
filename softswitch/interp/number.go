// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"math/bits"
	"slices"
)

// numbering performs value numbering: equal numbers are equal values. It covers
// a whole program: the result of a computation depends only on its operands,
// and a header's fields on the packet's bytes, which do not change before the
// deparser.
type numbering struct {
	*optimiser
	home   []slot   // by value: a slot that had the value; it may have changed
	most   []uint64 // the maximum of the value
	is     []bool   // the value is a constant, most
	fixed  map[uint64]value
	result map[computation]value
	widest map[slot]uint64
}

// value is the number of a value; zero is no value.
type value int32

// known has the values of the slots before an instruction.
type known []value

// meet keeps the values that are also known on another path.
func (k known) meet(other known) {
	for s, v := range other {
		if k[s] != v {
			k[s] = 0
		}
	}
}

// computation is an operation with its operands.
type computation struct {
	op   opcode
	n    slot // b if it is not a slot
	a, b value
	imm  uint64
}

// number removes instructions that compute a value which a slot already has,
// copies, masks without effect and branches with a known outcome. It reports
// whether there were any.
func (o *optimiser) number() bool {
	from := make([]int, len(o.code)+1) // number of paths to an instruction that were not visited yet
	var list []int
	for i := range o.code {
		list, _ = o.successors(i, list)
		for _, to := range list {
			from[to]++
		}
	}
	for _, s := range o.sections {
		from[s.start] += 2
	}
	ways := slices.Clone(from)
	n := &numbering{optimiser: o, home: make([]slot, 1), most: make([]uint64, 1), is: make([]bool, 1),
		fixed: map[uint64]value{}, result: map[computation]value{}, widest: o.widestFields()}
	at := make([]known, len(o.code)+1)
	marks := map[int]int{} // first iOrI of a run without a branch, by slot
	gone := make([]bool, len(o.code))
	alone := false // the previous instruction continues here, and no other does
	changed := false
	for i := range o.code {
		k := at[i]
		at[i] = nil
		if k == nil || from[i] > 0 { // from an earlier or a later instruction, too
			k = make(known, o.n)
		}
		if !alone {
			clear(marks)
		}
		in := &o.code[i]
		before := *in
		gone[i] = n.use(k, in)
		if !gone[i] {
			gone[i] = n.define(k, i) || o.mark(marks, i)
		}
		changed = changed || gone[i] || *in != before
		if gone[i] {
			list = append(list[:0], i+1)
		} else {
			list, _ = o.successors(i, list)
		}
		alone = len(list) == 1 && list[0] == i+1 && ways[i+1] == 1
		for j, to := range list {
			if to <= i {
				continue
			}
			next := k
			if len(list) > 1 {
				next = slices.Clone(k)
				n.learn(next, in, j == 1)
			}
			from[to]--
			if at[to] == nil {
				at[to] = next
			} else {
				at[to].meet(next)
			}
		}
	}
	if !changed {
		return false
	}
	o.remove(gone)
	return true
}

// widestFields returns the maximum values of the fields' slots.
func (o *optimiser) widestFields() map[slot]uint64 {
	most := map[slot]uint64{}
	for _, h := range o.order {
		for i := range h.typ.fields {
			f := &h.typ.fields[i]
			if at := h.field(i); at != noSlot && !f.signed && f.width > 0 && f.width <= 64 {
				most[slot(at)] = maskOf(f.width)
			}
		}
		if h.slots == nil {
			most[slot(h.base+relValid)] = 1
		}
	}
	return most
}

// fresh returns a new value.
func (n *numbering) fresh(home slot, most uint64) value {
	n.home, n.most, n.is = append(n.home, home), append(n.most, most), append(n.is, false)
	return value(len(n.home) - 1)
}

// literal returns the value of a number.
func (n *numbering) literal(x uint64) value {
	v, ok := n.fixed[x]
	if !ok {
		v = n.fresh(0, x)
		n.is[v] = true
		n.fixed[x] = v
	}
	return v
}

// of returns the value of a slot.
func (n *numbering) of(k known, s slot) value {
	if s >= firstConst {
		v := n.literal(n.constList[s-firstConst])
		n.home[v] = s
		return v
	}
	if k[s] == 0 {
		most, ok := n.widest[s]
		if !ok {
			most = allBits
		}
		k[s] = n.fresh(s, most)
	}
	return k[s]
}

// holds reports whether a slot has a value.
func (n *numbering) holds(k known, s slot, v value) bool {
	if s >= firstConst {
		return n.literal(n.constList[s-firstConst]) == v
	}
	return k[s] == v
}

// set records that a slot has a value.
func (n *numbering) set(k known, s slot, v value) {
	k[s] = v
	if !n.holds(k, n.home[v], v) {
		n.home[v] = s
	}
}

// same returns the slot from which the value of s is read: a constant if it is
// one, or a slot that had the value before.
func (n *numbering) same(k known, s slot) slot {
	v := n.of(k, s)
	if h := n.home[v]; n.holds(k, h, v) {
		return h
	}
	n.home[v] = s
	return s
}

// operands reports whether a and b are slots that an instruction reads, one
// limb each.
func (o *optimiser) operands(in *instr) (a, b bool) {
	switch in.op {
	case iMov, iNot, iUSat, iSext, iSSat, iJZ, iJNZ, iSwitch, iRegRead:
		return true, false
	case iAdd, iSub, iMul, iAnd, iOr, iXor, iShl, iShr, iDiv, iMod, iSar, iEq, iNe, iLtU, iLeU, iLtS, iLeS, iShlOr,
		iJEq, iJNe, iJLtU, iJLeU, iJLtS, iJLeS:
		return true, true
	case iRegWrite:
		return true, o.prog.Registers[in.imm].Width <= 64
	}
	return false, false
}

// use replaces an instruction's operands by the oldest slots with their values,
// and removes its mask if it has no effect. It reports whether the instruction
// is a branch that is never taken.
func (n *numbering) use(k known, in *instr) bool {
	a, b := n.operands(in)
	if a {
		in.a = n.same(k, in.a)
	}
	if b {
		in.b = n.same(k, in.b)
	}
	switch {
	case a && in.op.isJump():
		taken, known := n.outcome(k, in, b)
		if known && taken {
			*in = instr{op: iJmp, imm: in.imm}
		}
		return known && !taken
	case in.op == iMov:
		v := n.of(k, in.a)
		if n.is[v] {
			*in = instr{op: iMovI, d: in.d, imm: n.most[v] & in.imm}
		} else if covers(in.imm, n.most[v]) {
			in.imm = allBits
		}
	case in.op == iShl:
		v, by := n.of(k, in.a), n.of(k, in.b)
		if shift := n.most[by]; n.is[by] && shift < 64 {
			if most := n.most[v]; most<<shift>>shift == most && covers(in.imm, most<<shift) {
				in.imm = allBits
			}
		}
	}
	return false
}

// outcome returns whether a conditional jump is taken, if this is known.
func (n *numbering) outcome(k known, in *instr, two bool) (taken, known bool) {
	v, w := n.of(k, in.a), n.literal(0)
	if two {
		w = n.of(k, in.b)
	}
	if v != w && (!n.is[v] || !n.is[w]) {
		return false, false
	}
	x, y := n.most[v], n.most[w]
	switch in.op {
	case iJZ, iJEq:
		return x == y, true
	case iJNZ, iJNe:
		return x != y, true
	case iJLtU:
		return x < y, true
	case iJLeU:
		return x <= y, true
	case iJLtS:
		return int64(x) < int64(y), true
	}
	return int64(x) <= int64(y), true
}

// covers reports whether a mask does not change any number up to most.
func covers(mask, most uint64) bool { return mask&maskOf(bits.Len64(most)) == maskOf(bits.Len64(most)) }

// define records the slots that an instruction writes. An instruction that
// computes the value of another slot becomes a copy. define reports whether its
// own slot already has the value.
func (n *numbering) define(k known, i int) bool {
	in := &n.code[i]
	if in.op == iAddHeader || in.op == iRemoveHeader {
		if base, ok := n.constant(in.a); ok && n.simple[n.atBase[base]] {
			clear(k[base : base+n.atBase[base].typ.size])
			k[n.prog.sys+sysLength] = 0
			return false
		}
	}
	c, most, ok := n.computed(k, in)
	if !ok {
		e := n.effectsOf(i)
		if e.spreads {
			clear(k)
			return false
		}
		most := uint64(allBits)
		if in.op == iRegRead {
			most = maskOf(n.prog.Registers[in.imm].Width)
			if in.b == 0 { // beyond the end nothing is read
				most = max(most, n.most[n.of(k, in.d)])
			}
		}
		for _, s := range e.defs {
			k[s] = n.fresh(slot(s), most)
		}
		if in.op == iApply {
			if t := n.prog.Tables[in.imm]; t.meterSlot >= 0 {
				k[t.meterSlot] = 0
			}
		}
		return false
	}
	var v value
	switch {
	case in.op == iMovI:
		v = n.literal(in.imm)
	case in.op == iMov && in.imm == allBits:
		v = c.a
	default:
		if v, ok = n.result[c]; !ok {
			v = n.fresh(in.d, most)
			n.result[c] = v
		} else if h := n.home[v]; in.op != iField && k[in.d] != v && n.holds(k, h, v) {
			*in = instr{op: iMov, d: in.d, a: h, imm: allBits}
		}
	}
	if k[in.d] == v {
		return true
	}
	n.set(k, in.d, v)
	return false
}

// computed returns the computation of an instruction that depends only on its
// operands, and its maximum.
func (n *numbering) computed(k known, in *instr) (c computation, most uint64, ok bool) {
	c, most = computation{op: in.op, imm: in.imm}, allBits
	switch in.op {
	case iMovI:
		return c, in.imm, true
	case iMov:
		c.a = n.of(k, in.a)
		return c, min(in.imm, n.most[c.a]), true
	case iUSat:
		c.a, c.n = n.of(k, in.a), in.b
		return c, in.imm, true
	case iField:
		c.a, c.n = n.of(k, in.a), in.b
		return c, allBits >> (in.imm >> 8 & 63), true
	case iNot, iSext, iSSat:
		c.a, c.n = n.of(k, in.a), in.b
		return c, allBits, true
	case iAdd, iMul, iAnd, iOr, iXor, iEq, iNe:
		c.a, c.b = n.of(k, in.a), n.of(k, in.b)
		if c.a > c.b {
			c.a, c.b = c.b, c.a
		}
		most = in.imm
		if in.op == iAnd {
			most = min(most, n.most[c.a], n.most[c.b])
		}
	case iSub, iShl, iShr:
		c.a, c.b = n.of(k, in.a), n.of(k, in.b)
		most = in.imm
		if in.op == iShr && n.is[c.b] {
			most = min(most, n.most[c.a]>>n.most[c.b])
		}
	case iLtU, iLeU, iLtS, iLeS, iShlOr:
		c.a, c.b = n.of(k, in.a), n.of(k, in.b)
	default:
		return c, 0, false
	}
	switch in.op {
	case iEq, iNe, iLtU, iLeU, iLtS, iLeS:
		most = 1
	}
	return c, most, true
}

// learn records the values of operands that the outcome of a conditional jump
// implies.
func (n *numbering) learn(k known, in *instr, taken bool) {
	if in.a >= firstConst {
		return
	}
	v, w := value(0), value(0)
	switch {
	case in.op == iJZ && taken, in.op == iJNZ && !taken:
		v, w = n.of(k, in.a), n.literal(0)
	case in.op == iJNZ && taken, in.op == iJZ && !taken:
		if v, w = n.of(k, in.a), n.literal(1); n.most[v] != 1 {
			return
		}
	case in.op == iJEq && taken, in.op == iJNe && !taken:
		if v, w = n.of(k, in.a), n.of(k, in.b); !n.is[w] {
			return
		}
	default:
		return
	}
	for s, x := range k {
		if x == v {
			k[s] = w
		}
	}
}

// mark merges the assignment marks of a header into the first of several. It
// reports whether instruction i is redundant.
func (o *optimiser) mark(marks map[int]int, i int) bool {
	in := &o.code[i]
	if in.op == iOrI {
		if first, ok := marks[int(in.d)]; ok {
			o.code[first].imm |= in.imm
			return true
		}
		marks[int(in.d)] = i
		return false
	}
	e := o.effectsOf(i)
	if e.spreads {
		clear(marks)
		return false
	}
	for _, s := range e.uses {
		delete(marks, s)
	}
	for _, s := range e.defs {
		delete(marks, s)
	}
	return false
}
