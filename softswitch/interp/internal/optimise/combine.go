// SPDX-License-Identifier: Apache-2.0

package optimise

import (
	"slices"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// combine merges two instructions if the second only moves, shifts or masks the
// result of the first. It reports whether it merged any.
func (o *optimiser) combine(live []bitset) bool {
	leader := o.leaders()
	gone := make([]bool, len(o.Code))
	for i := range o.Code {
		in := &o.Code[i]
		switch j := o.computes(i, live, leader, gone); {
		case j < 0:
		case in.Op == ops.Or:
			gone[j] = o.shiftOr(&o.Code[j], in)
		default:
			gone[i] = o.merge(&o.Code[j], in)
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
	leader := make([]bool, len(o.Code)+1)
	for _, s := range o.sections {
		leader[s.Start] = true
	}
	for _, at := range o.Labels {
		if at >= 0 {
			leader[at] = true
		}
	}
	return leader
}

// computes returns the instruction before i, in the same straight code, whose
// result only i uses and moves, or −1.
func (o *optimiser) computes(i int, live []bitset, leader, gone []bool) int {
	in := o.Code[i]
	from := in.A
	if in.Op != ops.Mov && in.Op != ops.Shr && in.Op != ops.Or || from == in.B {
		return -1
	}
	if int(from) >= o.n || from != in.D && live[i+1].has(int(from)) {
		return -1
	}
	target := int(in.D)
	var other []int // slots written in between
	for j := i - 1; j >= 0 && j >= i-8 && !leader[j+1]; j-- {
		if gone[j] {
			continue
		}
		e := o.effectsOf(j)
		if slices.Contains(e.defs, int(from)) {
			if len(e.defs) != 1 || in.Op == ops.Or && slices.Contains(other, int(o.Code[j].A)) {
				return -1
			}
			return j
		}
		if _, failing := o.successors(j, nil); failing || e.spreads || o.Code[j].Op.IsJump() {
			return -1
		}
		switch o.Code[j].Op {
		case ops.Apply, ops.End, ops.JMatch, ops.VSet, ops.Switch:
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
func (o *optimiser) merge(first, second *ops.Instr) bool {
	if second.Op == ops.Shr {
		k, ok := o.constant(second.B)
		if first.Op != ops.Field && first.Op != ops.Peek || !ok {
			return false
		}
		right := int(first.Imm >> 8)
		if width := 64 - right; k >= width || lowBits(second.Imm) < width-k {
			return false
		}
		first.Imm += uint64(k) << 8
		first.D = second.D
		return true
	}
	mask := second.Imm
	switch first.Op {
	case ops.Mov, ops.Add, ops.Sub, ops.Mul, ops.And, ops.Or, ops.Xor, ops.Shl, ops.Shr, ops.Div, ops.Mod, ops.Not, ops.Sar, ops.MovI:
		first.Imm &= mask
	case ops.Field, ops.Peek:
		left, right := int(first.Imm&0xff), int(first.Imm>>8)
		n := lowBits(mask)
		if n < 1 {
			return false
		}
		if width := 64 - right; n < width {
			left, right = left+width-n, 64-n
		}
		first.Imm = uint64(left | right<<8)
	case ops.Eq, ops.Ne, ops.LtU, ops.LeU, ops.LtS, ops.LeS:
		if mask&1 == 0 {
			return false
		}
	case ops.USat:
		if first.Imm&^mask != 0 {
			return false
		}
	case ops.Random:
		if most, _ := o.constant(first.B); !o.always(first) || uint64(most) > mask || lowBits(mask) < 0 {
			return false
		}
	case ops.Hash:
		a, ok1 := o.constant(first.A)
		n, ok2 := o.constant(first.B)
		if mask != ops.AllBits && (!ok1 || !ok2 || n <= 0 || a < 0 || uint64(a)+uint64(n)-1 > mask || lowBits(mask) < 0) {
			return false
		}
	case ops.Elem, ops.Sext, ops.SSat:
		if mask != ops.AllBits {
			return false
		}
	default:
		return false
	}
	first.D = second.D
	return true
}

// shiftOr merges a shift into the Or that uses its result.
func (o *optimiser) shiftOr(shift, or *ops.Instr) bool {
	k, ok := o.constant(shift.B)
	if shift.Op != ops.Shl || shift.Imm != ops.AllBits || or.Imm != ops.AllBits || !ok || k < 0 || k >= 64 {
		return false
	}
	*or = ops.Instr{Op: ops.ShlOr, D: or.D, A: shift.A, B: or.B, Imm: uint64(k)}
	return true
}

// always reports whether an instruction that draws a random number always
// writes one.
func (o *optimiser) always(in *ops.Instr) bool {
	lo, ok1 := o.constant(in.A)
	hi, ok2 := o.constant(in.B)
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
	at := slices.Repeat([]int{-1}, len(o.Code)+1) // new positions
	var code []ops.Instr
	starts := make([]int, len(o.sections))
	for i := range o.sections {
		s := &o.sections[i]
		starts[i] = len(code)
		if o.loops(s) {
			for p := s.Start; p < s.End; p++ {
				at[p] = len(code)
				code = append(code, o.Code[p])
			}
		} else {
			code = o.lay(s, code, at)
		}
		for p := s.Start; p < s.End; p++ { // labels of unreachable code
			if to := o.lead(p); at[p] < 0 && at[to] >= 0 {
				at[p] = at[to]
			}
		}
	}
	for l, p := range o.Labels {
		if p >= 0 {
			o.Labels[l] = max(at[p], 0)
		}
	}
	o.Code = code
	for i, s := range o.sections {
		*o.startOf(s.Kind, s.Gress) = int32(starts[i])
	}
	o.findSections()
}

func (o *optimiser) startOf(kind, gress int) *int32 {
	p := o.Prog
	return &[...]*[ops.Gresses]int32{&p.Parse, &p.Pipeline, &p.Finish}[kind][gress]
}

// lead returns the final target of a jump to p.
func (o *optimiser) lead(p int) int {
	for range 64 {
		if p >= len(o.Code) || o.Code[p].Op != ops.Jmp {
			break
		}
		p = o.Labels[o.Code[p].Imm]
	}
	return p
}

// lay appends the code of a section. Its only loops are those that the parser
// counts.
func (o *optimiser) lay(s *ops.Section, code []ops.Instr, at []int) []ops.Instr {
	var list []int
	for pending := []int{s.Start}; len(pending) > 0; {
		p := o.lead(pending[len(pending)-1])
		pending = pending[:len(pending)-1]
		if at[p] >= 0 {
			continue
		}
		for {
			if at[p] >= 0 {
				if o.Code[p].Op == ops.End {
					code = append(code, o.Code[p])
					break
				}
				o.Labels = append(o.Labels, p)
				code = append(code, ops.Instr{Op: ops.Jmp, Imm: uint64(len(o.Labels) - 1)})
				break
			}
			at[p] = len(code)
			code = append(code, o.Code[p])
			list, _ = o.successors(p, list)
			next, after := list, p+1
			if to := o.unlikely(s, p, at); to >= 0 {
				o.Labels = append(o.Labels, after)
				in := &code[len(code)-1]
				in.Op, in.Imm = ops.JEq, uint64(len(o.Labels)-1)
				next[1], after = after, to
			}
			ends := o.Code[p].Op == ops.End || o.Code[p].Op == ops.Apply
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
func (o *optimiser) unlikely(s *ops.Section, p int, at []int) int {
	in := &o.Code[p]
	if s.Kind != ops.SectionPipeline || in.Op != ops.JNe || in.A >= ops.FirstConst || in.B >= ops.FirstConst {
		return -1
	}
	to := o.lead(o.Labels[in.Imm])
	if at[to] >= 0 || at[o.lead(p+1)] >= 0 {
		return -1
	}
	return to
}

// known returns the successor of p. It differs from next if next is a branch
// whose condition p has just set.
func (o *optimiser) known(p, next int) int {
	set, branch := &o.Code[p], &o.Code[next]
	if set.Op != ops.MovI || branch.Op != ops.JZ && branch.Op != ops.JNZ || branch.A != set.D {
		return next
	}
	if (set.Imm == 0) == (branch.Op == ops.JZ) {
		return o.lead(o.Labels[branch.Imm])
	}
	return o.lead(next + 1)
}

// loops reports whether a pipeline has a loop, which actions can form. Loops of
// parsers are counted by State and are ignored here.
func (o *optimiser) loops(s *ops.Section) bool {
	if s.Kind == ops.SectionParse {
		return false
	}
	const open, closed = 1, 2
	colour := make([]uint8, s.End-s.Start)
	type visit struct {
		p    int
		next []int
	}
	push := func(p int) visit {
		colour[p-s.Start] = open
		next, _ := o.successors(p, nil)
		return visit{p, next}
	}
	for stack := []visit{push(s.Start)}; len(stack) > 0; {
		v := &stack[len(stack)-1]
		if len(v.next) == 0 {
			colour[v.p-s.Start] = closed
			stack = stack[:len(stack)-1]
			continue
		}
		to := v.next[0]
		v.next = v.next[1:]
		switch colour[to-s.Start] {
		case open:
			return true
		case 0:
			stack = append(stack, push(to))
		}
	}
	return false
}
