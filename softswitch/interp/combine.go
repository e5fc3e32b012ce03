// SPDX-License-Identifier: Apache-2.0

package interp

import "slices"

// combine merges two instructions if the second only moves, shifts or masks the
// result of the first. It reports whether it merged any.
func (o *optimiser) combine(live []bitset) bool {
	leader := o.leaders()
	gone := make([]bool, len(o.code))
	for i := range o.code {
		in := &o.code[i]
		switch j := o.computes(i, live, leader, gone); {
		case j < 0:
		case in.op == iOr:
			gone[j] = o.shiftOr(&o.code[j], in)
		default:
			gone[i] = o.merge(&o.code[j], in)
		}
	}
	if !slices.Contains(gone, true) {
		return false
	}
	o.remove(gone)
	return true
}

// leaders returns the instructions that are jump targets.
func (o *optimiser) leaders() []bool {
	leader := make([]bool, len(o.code)+1)
	for _, s := range o.sections {
		leader[s.start] = true
	}
	for _, at := range o.labels {
		if at >= 0 {
			leader[at] = true
		}
	}
	return leader
}

// computes returns the instruction before i, in the same straight code, whose
// result only i uses and moves, or −1.
func (o *optimiser) computes(i int, live []bitset, leader, gone []bool) int {
	in := o.code[i]
	from := in.a
	if in.op != iMov && in.op != iShr && in.op != iOr || from == in.b {
		return -1
	}
	if int(from) >= o.n || from != in.d && live[i+1].has(int(from)) {
		return -1
	}
	target := int(in.d)
	var other []int // slots written in between
	for j := i - 1; j >= 0 && j >= i-8 && !leader[j+1]; j-- {
		if gone[j] {
			continue
		}
		e := o.effectsOf(j)
		if slices.Contains(e.defs, int(from)) {
			if len(e.defs) != 1 || in.op == iOr && slices.Contains(other, int(o.code[j].a)) {
				return -1
			}
			return j
		}
		if _, failing := o.successors(j, nil); failing || e.spreads || o.code[j].op.isJump() {
			return -1
		}
		switch o.code[j].op {
		case iApply, iEnd, iJMatch, iVSet, iSwitch:
			return -1
		}
		if slices.Contains(e.uses, int(from)) || slices.Contains(e.uses, target) || slices.Contains(e.defs, target) {
			return -1
		}
		other = append(other, e.defs...)
	}
	return -1
}

// merge makes the first instruction include the move or shift of its result by
// the second, if it can.
func (o *optimiser) merge(first, second *instr) bool {
	if second.op == iShr {
		k, ok := o.constant(second.b)
		if first.op != iField && first.op != iPeek || !ok {
			return false
		}
		right := int(first.imm >> 8)
		if width := 64 - right; k >= width || lowBits(second.imm) < width-k {
			return false
		}
		first.imm += uint64(k) << 8
		first.d = second.d
		return true
	}
	mask := second.imm
	switch first.op {
	case iMov, iAdd, iSub, iMul, iAnd, iOr, iXor, iShl, iShr, iDiv, iMod, iNot, iSar, iMovI:
		first.imm &= mask
	case iField, iPeek:
		left, right := int(first.imm&0xff), int(first.imm>>8)
		n := lowBits(mask)
		if n < 1 {
			return false
		}
		if width := 64 - right; n < width {
			left, right = left+width-n, 64-n
		}
		first.imm = uint64(left | right<<8)
	case iEq, iNe, iLtU, iLeU, iLtS, iLeS:
		if mask&1 == 0 {
			return false
		}
	case iUSat:
		if first.imm&^mask != 0 {
			return false
		}
	case iRandom:
		if most, _ := o.constant(first.b); !o.always(first) || uint64(most) > mask || lowBits(mask) < 0 {
			return false
		}
	case iHash:
		a, ok1 := o.constant(first.a)
		n, ok2 := o.constant(first.b)
		if mask != allBits && (!ok1 || !ok2 || n <= 0 || a < 0 || uint64(a)+uint64(n)-1 > mask || lowBits(mask) < 0) {
			return false
		}
	case iElem, iSext, iSSat:
		if mask != allBits {
			return false
		}
	default:
		return false
	}
	first.d = second.d
	return true
}

// shiftOr merges a shift into the iOr that uses its result.
func (o *optimiser) shiftOr(shift, or *instr) bool {
	k, ok := o.constant(shift.b)
	if shift.op != iShl || shift.imm != allBits || or.imm != allBits || !ok || k < 0 || k >= 64 {
		return false
	}
	*or = instr{op: iShlOr, d: or.d, a: shift.a, b: or.b, imm: uint64(k)}
	return true
}

// always reports whether an instruction that draws a random number always
// writes one.
func (o *optimiser) always(in *instr) bool {
	lo, ok1 := o.constant(in.a)
	hi, ok2 := o.constant(in.b)
	return ok1 && ok2 && uint64(lo) <= uint64(hi)
}

// lowBits returns n if mask is the low n bits, or −1.
func lowBits(mask uint64) int {
	n := 0
	for n < 64 && mask>>n&1 != 0 {
		n++
	}
	if n < 64 && mask>>n != 0 {
		return -1
	}
	return n
}

// straighten reorders the code of each section: jumps go directly to their
// final target, a block follows its predecessor where possible, and unreachable
// code is removed.
func (o *optimiser) straighten() {
	at := slices.Repeat([]int{-1}, len(o.code)+1) // new positions
	var code []instr
	starts := make([]int, len(o.sections))
	for i := range o.sections {
		s := &o.sections[i]
		starts[i] = len(code)
		if o.loops(s) {
			for p := s.start; p < s.end; p++ {
				at[p] = len(code)
				code = append(code, o.code[p])
			}
		} else {
			code = o.lay(s, code, at)
		}
		for p := s.start; p < s.end; p++ { // labels of unreachable code
			if to := o.lead(p); at[p] < 0 && at[to] >= 0 {
				at[p] = at[to]
			}
		}
	}
	for l, p := range o.labels {
		if p >= 0 {
			o.labels[l] = max(at[p], 0)
		}
	}
	o.code = code
	for i, s := range o.sections {
		*o.startOf(s.kind, s.gress) = int32(starts[i])
	}
	o.findSections()
}

func (o *optimiser) startOf(kind, gress int) *int32 {
	p := o.prog
	return &[...]*[gresses]int32{&p.parse, &p.pipeline, &p.finish}[kind][gress]
}

// lead returns the final target of a jump to p.
func (o *optimiser) lead(p int) int {
	for range 64 {
		if p >= len(o.code) || o.code[p].op != iJmp {
			break
		}
		p = o.labels[o.code[p].imm]
	}
	return p
}

// lay appends the code of a section. Its only loops are those that the parser
// counts.
func (o *optimiser) lay(s *section, code []instr, at []int) []instr {
	var list []int
	for pending := []int{s.start}; len(pending) > 0; {
		p := o.lead(pending[len(pending)-1])
		pending = pending[:len(pending)-1]
		if at[p] >= 0 {
			continue
		}
		for {
			if at[p] >= 0 {
				if o.code[p].op == iEnd {
					code = append(code, o.code[p])
					break
				}
				o.labels = append(o.labels, p)
				code = append(code, instr{op: iJmp, imm: uint64(len(o.labels) - 1)})
				break
			}
			at[p] = len(code)
			code = append(code, o.code[p])
			list, _ = o.successors(p, list)
			next, after := list, p+1
			if to := o.unlikely(s, p, at); to >= 0 {
				o.labels = append(o.labels, after)
				in := &code[len(code)-1]
				in.op, in.imm = iJEq, uint64(len(o.labels)-1)
				next[1], after = after, to
			}
			ends := o.code[p].op == iEnd || o.code[p].op == iApply
			if !ends {
				next = next[1:]
			}
			for i := len(next) - 1; i >= 0; i-- {
				pending = append(pending, next[i])
			}
			if ends {
				break
			}
			p = o.known(p, o.lead(after))
		}
	}
	return code
}

// unlikely returns the target of p if it is a branch on the inequality of two
// variables in a pipeline, or −1. They are rarely equal, as the two ends of a ring
// or a path and the best one: so the code for equal ones need not follow.
func (o *optimiser) unlikely(s *section, p int, at []int) int {
	in := &o.code[p]
	if s.kind != sectionPipeline || in.op != iJNe || in.a >= firstConst || in.b >= firstConst {
		return -1
	}
	to := o.lead(o.labels[in.imm])
	if at[to] >= 0 || at[o.lead(p+1)] >= 0 {
		return -1
	}
	return to
}

// known returns the successor of p. It differs from next if next is a branch
// whose condition p has just set.
func (o *optimiser) known(p, next int) int {
	set, branch := &o.code[p], &o.code[next]
	if set.op != iMovI || branch.op != iJZ && branch.op != iJNZ || branch.a != set.d {
		return next
	}
	if (set.imm == 0) == (branch.op == iJZ) {
		return o.lead(o.labels[branch.imm])
	}
	return o.lead(next + 1)
}

// loops reports whether a pipeline has a loop, which actions can form. Loops of
// parsers are counted by iState and are ignored here.
func (o *optimiser) loops(s *section) bool {
	if s.kind == sectionParse {
		return false
	}
	const open, closed = 1, 2
	colour := make([]uint8, s.end-s.start)
	type visit struct {
		p    int
		next []int
	}
	push := func(p int) visit {
		colour[p-s.start] = open
		next, _ := o.successors(p, nil)
		return visit{p, next}
	}
	for stack := []visit{push(s.start)}; len(stack) > 0; {
		v := &stack[len(stack)-1]
		if len(v.next) == 0 {
			colour[v.p-s.start] = closed
			stack = stack[:len(stack)-1]
			continue
		}
		to := v.next[0]
		v.next = v.next[1:]
		switch colour[to-s.start] {
		case open:
			return true
		case 0:
			stack = append(stack, push(to))
		}
	}
	return false
}
