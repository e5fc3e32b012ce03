// SPDX-License-Identifier: Apache-2.0

package optimise

import (
	"math/bits"
	"slices"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// numbering performs value numbering: equal numbers are equal values. It covers
// a whole program: the result of a computation depends only on its operands,
// and a header's fields on the packet's bytes, which do not change before the
// deparser.
type numbering struct {
	*optimiser
	home   []ops.Slot // by value: a slot that had the value; it may have changed
	most   []uint64   // the maximum of the value
	is     []bool     // the value is a constant, most
	fixed  map[uint64]value
	result map[computation]value
	widest map[ops.Slot]uint64
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
	op   ops.Opcode
	n    ops.Slot // b if it is not a slot
	a, b value
	imm  uint64
}

// number removes instructions that compute a value which a slot already has,
// copies, masks without effect and branches with a known outcome. It reports
// whether there were any.
func (o *optimiser) number() bool {
	from := make([]int, len(o.Code)+1) // number of paths to an instruction that were not visited yet
	var list []int
	for i := range o.Code {
		list, _ = o.successors(i, list)
		for _, to := range list {
			from[to]++
		}
	}
	for _, s := range o.sections {
		from[s.Start] += 2
	}
	ways := slices.Clone(from)
	n := &numbering{optimiser: o, home: make([]ops.Slot, 1), most: make([]uint64, 1), is: make([]bool, 1),
		fixed: map[uint64]value{}, result: map[computation]value{}, widest: o.widestFields()}
	at := make([]known, len(o.Code)+1)
	marks := map[int]int{} // first OrI of a run without a branch, by slot
	gone := make([]bool, len(o.Code))
	alone := false // the previous instruction continues here, and no other does
	changed := false
	for i := range o.Code {
		k := at[i]
		at[i] = nil
		if k == nil || from[i] > 0 { // from an earlier or a later instruction, too
			k = make(known, o.n)
		}
		if !alone {
			clear(marks)
		}
		in := &o.Code[i]
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
func (o *optimiser) widestFields() map[ops.Slot]uint64 {
	most := map[ops.Slot]uint64{}
	for _, h := range o.Order {
		for i := range h.Type.Fields {
			f := &h.Type.Fields[i]
			if at := h.Field(i); at != ops.NoSlot && !f.Signed && f.Width > 0 && f.Width <= 64 {
				most[ops.Slot(at)] = ops.MaskOf(f.Width)
			}
		}
		if h.Slots == nil {
			most[ops.Slot(h.Base+ops.RelValid)] = 1
		}
	}
	return most
}

// fresh returns a new value.
func (n *numbering) fresh(home ops.Slot, most uint64) value {
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
func (n *numbering) of(k known, s ops.Slot) value {
	if s >= ops.FirstConst {
		v := n.literal(n.ConstList[s-ops.FirstConst])
		n.home[v] = s
		return v
	}
	if k[s] == 0 {
		most, ok := n.widest[s]
		if !ok {
			most = ops.AllBits
		}
		k[s] = n.fresh(s, most)
	}
	return k[s]
}

// holds reports whether a slot has a value.
func (n *numbering) holds(k known, s ops.Slot, v value) bool {
	if s >= ops.FirstConst {
		return n.literal(n.ConstList[s-ops.FirstConst]) == v
	}
	return k[s] == v
}

// set records that a slot has a value.
func (n *numbering) set(k known, s ops.Slot, v value) {
	k[s] = v
	if !n.holds(k, n.home[v], v) {
		n.home[v] = s
	}
}

// same returns the slot from which the value of s is read: a constant if it is
// one, or a slot that had the value before.
func (n *numbering) same(k known, s ops.Slot) ops.Slot {
	v := n.of(k, s)
	if h := n.home[v]; n.holds(k, h, v) {
		return h
	}
	n.home[v] = s
	return s
}

// operands reports whether a and b are slots that an instruction reads, one
// limb each.
func (o *optimiser) operands(in *ops.Instr) (a, b bool) {
	switch in.Op {
	case ops.Mov, ops.Not, ops.USat, ops.Sext, ops.SSat, ops.JZ, ops.JNZ, ops.Switch, ops.RegRead:
		return true, false
	case ops.Add, ops.Sub, ops.Mul, ops.And, ops.Or, ops.Xor, ops.Shl, ops.Shr, ops.Div, ops.Mod, ops.Sar, ops.Eq, ops.Ne, ops.LtU, ops.LeU, ops.LtS, ops.LeS, ops.ShlOr,
		ops.JEq, ops.JNe, ops.JLtU, ops.JLeU, ops.JLtS, ops.JLeS:
		return true, true
	case ops.RegWrite:
		return true, o.Prog.Registers[in.Imm].Width <= 64
	}
	return false, false
}

// use replaces an instruction's operands by the oldest slots with their values,
// and removes its mask if it has no effect. It reports whether the instruction
// is a branch that is never taken.
func (n *numbering) use(k known, in *ops.Instr) bool {
	a, b := n.operands(in)
	if a {
		in.A = n.same(k, in.A)
	}
	if b {
		in.B = n.same(k, in.B)
	}
	switch {
	case a && in.Op.IsJump():
		taken, known := n.outcome(k, in, b)
		if known && taken {
			*in = ops.Instr{Op: ops.Jmp, Imm: in.Imm}
		}
		return known && !taken
	case in.Op == ops.Mov:
		v := n.of(k, in.A)
		if n.is[v] {
			*in = ops.Instr{Op: ops.MovI, D: in.D, Imm: n.most[v] & in.Imm}
		} else if covers(in.Imm, n.most[v]) {
			in.Imm = ops.AllBits
		}
	case in.Op == ops.Shl:
		v, by := n.of(k, in.A), n.of(k, in.B)
		if shift := n.most[by]; n.is[by] && shift < 64 {
			if most := n.most[v]; most<<shift>>shift == most && covers(in.Imm, most<<shift) {
				in.Imm = ops.AllBits
			}
		}
	}
	return false
}

// outcome returns whether a conditional jump is taken, if this is known.
func (n *numbering) outcome(k known, in *ops.Instr, two bool) (taken, known bool) {
	v, w := n.of(k, in.A), n.literal(0)
	if two {
		w = n.of(k, in.B)
	}
	if v != w && (!n.is[v] || !n.is[w]) {
		return false, false
	}
	x, y := n.most[v], n.most[w]
	switch in.Op {
	case ops.JZ, ops.JEq:
		return x == y, true
	case ops.JNZ, ops.JNe:
		return x != y, true
	case ops.JLtU:
		return x < y, true
	case ops.JLeU:
		return x <= y, true
	case ops.JLtS:
		return int64(x) < int64(y), true
	}
	return int64(x) <= int64(y), true
}

// covers reports whether a mask does not change any number up to most.
func covers(mask, most uint64) bool {
	return mask&ops.MaskOf(bits.Len64(most)) == ops.MaskOf(bits.Len64(most))
}

// define records the slots that an instruction writes. An instruction that
// computes the value of another slot becomes a copy. define reports whether its
// own slot already has the value.
func (n *numbering) define(k known, i int) bool {
	in := &n.Code[i]
	if in.Op == ops.AddHeader || in.Op == ops.RemoveHeader {
		if base, ok := n.constant(in.A); ok && n.simple[n.atBase[base]] {
			clear(k[base : base+n.atBase[base].Type.Size])
			k[n.Prog.Sys+ops.SysLength] = 0
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
		most := uint64(ops.AllBits)
		if in.Op == ops.RegRead {
			most = ops.MaskOf(n.Prog.Registers[in.Imm].Width)
			if in.B == 0 { // beyond the end nothing is read
				most = max(most, n.most[n.of(k, in.D)])
			}
		}
		for _, s := range e.defs {
			k[s] = n.fresh(ops.Slot(s), most)
		}
		if in.Op == ops.Apply {
			if t := n.Prog.Tables[in.Imm]; t.MeterSlot >= 0 {
				k[t.MeterSlot] = 0
			}
		}
		return false
	}
	var v value
	switch {
	case in.Op == ops.MovI:
		v = n.literal(in.Imm)
	case in.Op == ops.Mov && in.Imm == ops.AllBits:
		v = c.a
	default:
		if v, ok = n.result[c]; !ok {
			v = n.fresh(in.D, most)
			n.result[c] = v
		} else if h := n.home[v]; in.Op != ops.Field && k[in.D] != v && n.holds(k, h, v) {
			*in = ops.Instr{Op: ops.Mov, D: in.D, A: h, Imm: ops.AllBits}
		}
	}
	if k[in.D] == v {
		return true
	}
	n.set(k, in.D, v)
	return false
}

// computed returns the computation of an instruction that depends only on its
// operands, and its maximum.
func (n *numbering) computed(k known, in *ops.Instr) (c computation, most uint64, ok bool) {
	c, most = computation{op: in.Op, imm: in.Imm}, ops.AllBits
	switch in.Op {
	case ops.MovI:
		return c, in.Imm, true
	case ops.Mov:
		c.a = n.of(k, in.A)
		return c, min(in.Imm, n.most[c.a]), true
	case ops.USat:
		c.a, c.n = n.of(k, in.A), in.B
		return c, in.Imm, true
	case ops.Field:
		c.a, c.n = n.of(k, in.A), in.B
		return c, ops.AllBits >> (in.Imm >> 8 & 63), true
	case ops.Not, ops.Sext, ops.SSat:
		c.a, c.n = n.of(k, in.A), in.B
		return c, ops.AllBits, true
	case ops.Add, ops.Mul, ops.And, ops.Or, ops.Xor, ops.Eq, ops.Ne:
		c.a, c.b = n.of(k, in.A), n.of(k, in.B)
		if c.a > c.b {
			c.a, c.b = c.b, c.a
		}
		most = in.Imm
		if in.Op == ops.And {
			most = min(most, n.most[c.a], n.most[c.b])
		}
	case ops.Sub, ops.Shl, ops.Shr:
		c.a, c.b = n.of(k, in.A), n.of(k, in.B)
		most = in.Imm
		if in.Op == ops.Shr && n.is[c.b] {
			most = min(most, n.most[c.a]>>n.most[c.b])
		}
	case ops.LtU, ops.LeU, ops.LtS, ops.LeS, ops.ShlOr:
		c.a, c.b = n.of(k, in.A), n.of(k, in.B)
	default:
		return c, 0, false
	}
	switch in.Op {
	case ops.Eq, ops.Ne, ops.LtU, ops.LeU, ops.LtS, ops.LeS:
		most = 1
	}
	return c, most, true
}

// learn records the values of operands that the outcome of a conditional jump
// implies.
func (n *numbering) learn(k known, in *ops.Instr, taken bool) {
	if in.A >= ops.FirstConst {
		return
	}
	v, w := value(0), value(0)
	switch {
	case in.Op == ops.JZ && taken, in.Op == ops.JNZ && !taken:
		v, w = n.of(k, in.A), n.literal(0)
	case in.Op == ops.JNZ && taken, in.Op == ops.JZ && !taken:
		if v, w = n.of(k, in.A), n.literal(1); n.most[v] != 1 {
			return
		}
	case in.Op == ops.JEq && taken, in.Op == ops.JNe && !taken:
		if v, w = n.of(k, in.A), n.of(k, in.B); !n.is[w] {
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
	in := &o.Code[i]
	if in.Op == ops.OrI {
		if first, ok := marks[int(in.D)]; ok {
			o.Code[first].Imm |= in.Imm
			return true
		}
		marks[int(in.D)] = i
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
