// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"fmt"
	"slices"
	"strings"
)

// Print returns the program's instructions as text: see Program.Print of package interp.
func (p *Program) Print() string {
	var b strings.Builder
	heads, leader := p.Headings(), p.Leaders()
	for i := range p.Code {
		for _, h := range heads[i] {
			fmt.Fprintf(&b, "%s:\n", h)
		}
		mark := ' '
		if leader[i] {
			mark = '>'
		}
		fmt.Fprintf(&b, "%c %4d  %s\n", mark, i, p.Text(i))
	}
	return b.String()
}

// Headings returns what begins at an instruction.
func (p *Program) Headings() map[int][]string {
	heads := map[int][]string{}
	add := func(at int32, format string, args ...any) {
		heads[int(at)] = append(heads[int(at)], fmt.Sprintf(format, args...))
	}
	for g, gress := range [Gresses]string{"ingress", "egress"} {
		if p.Arch.Parsers[g] != "-" {
			add(p.Parse[g], "%s parser", gress)
			add(p.ParseEnd[g], "end of the %s parser", gress)
		}
		add(p.Pipeline[g], "%s", gress)
		if p.Arch.Deparsers[g] != "-" {
			add(p.Finish[g], "%s, before the deparser", gress)
		}
	}
	for _, t := range p.Tables {
		if t.Inline {
			continue
		}
		for i, pc := range t.PCs {
			switch result := [2]string{"hit", "miss"}[i%2]; {
			case i == len(t.PCs)-1:
				add(pc, "table %s, miss without an action", t.Name)
			default:
				add(pc, "table %s, %s, %s", t.Name, result, p.Actions[t.Actions[i/2]].Name)
			}
		}
	}
	for at, list := range heads {
		heads[at] = slices.Compact(list)
	}
	return heads
}

// SlotName returns a slot as text: a constant, a field, or its number.
func (p *Program) SlotName(s Slot) string {
	switch n := int(s); {
	case n >= p.ConstBase && n < p.ConstBase+len(p.Consts):
		return constantText(p.Consts[n-p.ConstBase])
	case n < len(p.Names) && p.Names[n] != "":
		return p.Names[n]
	case n >= p.Params:
		return fmt.Sprintf("t%d", n-p.Params)
	}
	return fmt.Sprintf("s%d", s)
}

func constantText(x uint64) string {
	if x < 10 {
		return fmt.Sprint(x)
	}
	return fmt.Sprintf("%#x", x)
}

// infix are the instructions of the form f[d] = f[a] op f[b].
var infix = map[Opcode]string{
	Add: "+", Sub: "-", Mul: "*", And: "&", Or: "|", Xor: "^", Shl: "<<", Shr: ">>", Sar: ">>", Div: "/", Mod: "%",
	Eq: "==", Ne: "!=", LtU: "<", LeU: "<=", LtS: "<", LeS: "<=",
	JEq: "==", JNe: "!=", JLtU: "<", JLeU: "<=", JLtS: "<", JLeS: "<=",
}

// Text returns instruction i as text, which begins with the name of its opcode.
func (p *Program) Text(i int) string {
	in := &p.Code[i]
	return strings.TrimRight(fmt.Sprintf("%-12s %s", in.Op, p.operands(in)), " ")
}

func (p *Program) operands(in *Instr) string {
	d, a, b := p.SlotName(in.D), p.SlotName(in.A), p.SlotName(in.B)
	masked := func(expr string) string {
		if in.Imm == AllBits {
			return fmt.Sprintf("%s = %s", d, expr)
		}
		return fmt.Sprintf("%s = (%s) & %#x", d, expr, in.Imm)
	}
	switch in.Op {
	case End, State:
		return ""
	case Mov, Movs:
		if in.Imm == AllBits {
			return fmt.Sprintf("%s = %s", d, a)
		}
		return fmt.Sprintf("%s = %s & %#x", d, a, in.Imm)
	case MovI:
		return fmt.Sprintf("%s = %s", d, constantText(in.Imm))
	case Add, Sub, Mul, And, Or, Xor, Shl, Shr, Sar, Div, Mod:
		return masked(a + " " + infix[in.Op] + " " + b)
	case Not:
		return masked("^" + a)
	case Eq, Ne, LtU, LeU, LtS, LeS:
		return fmt.Sprintf("%s = %s %s %s", d, a, infix[in.Op], b)
	case ShlOr, ShlOrRead:
		return fmt.Sprintf("%s = %s << %d | %s", d, a, in.Imm&63, b)
	case OrI:
		return fmt.Sprintf("%s |= %#x", d, in.Imm)
	case Sext:
		return fmt.Sprintf("%s = %s, signed of %d bits", d, a, in.Imm)
	case USat, SSat:
		return fmt.Sprintf("%s = %s, at most %#x", d, a, in.Imm)

	case Jmp, Back:
		return fmt.Sprintf("goto %d", in.Imm)
	case JZ:
		return fmt.Sprintf("if %s == 0 goto %d", a, in.Imm)
	case JNZ:
		return fmt.Sprintf("if %s != 0 goto %d", a, in.Imm)
	case JEq, JNe, JLtU, JLeU, JLtS, JLeS:
		return fmt.Sprintf("if %s %s %s goto %d", a, infix[in.Op], b, in.Imm)
	case JBytes:
		var parts []string
		w := &p.ByteMatches[in.B]
		for k := range w.At {
			if w.Mask[k] != 0 {
				parts = append(parts, fmt.Sprintf("bytes at %s + %d & %#x == %#x", a, w.At[k], w.Mask[k], w.Value[k]&w.Mask[k]))
			}
		}
		return fmt.Sprintf("if %s goto %d", strings.Join(parts, " and "), in.Imm)
	case JMatch:
		w := &p.Matches[in.Imm]
		return fmt.Sprintf("if %s, %d limbs, & %#x == %#x goto %d", a, len(w.Value), w.Mask, w.Value, w.To)
	case VSet:
		return fmt.Sprintf("if %s is in %s goto %d", a, p.VSets[p.VSetJumps[in.Imm].VSet].Name, p.VSetJumps[in.Imm].To)
	case Switch:
		return fmt.Sprintf("on %s goto one of %d", a, p.Switches[in.Imm].To)

	case Field, Fields:
		return fmt.Sprintf("%s = %d bits at %s + %d bits", d, 64-int(in.Imm>>8&63), a, 8*int(in.B)+int(in.Imm&63))
	case Peek:
		return fmt.Sprintf("%s = %d bits ahead by %d bits", d, 64-int(in.Imm>>8&63), 8*int(in.B)+int(in.Imm&63))
	case Look:
		return fmt.Sprintf("%s = %d bits ahead by %d bits", d, in.N(), in.M())
	case Take, TakeFields, Extract:
		return p.Extracts[in.Imm].Name
	case Advance:
		return fmt.Sprintf("by %s bits", a)
	case Fail:
		if in.A != 0 && int(in.A) >= p.ConstBase {
			if name := p.ErrorNames[int(p.Consts[int(in.A)-p.ConstBase])]; name != "" {
				return "with error." + name
			}
		}
		return "with error " + a

	case Elem:
		return fmt.Sprintf("%s = element %s of %d", d, a, in.K())
	case Load:
		return fmt.Sprintf("%s = field %d of the block at %s", d, in.Imm, a)
	case Store:
		return fmt.Sprintf("field %d of the block at %s = %s", in.Imm, a, b)
	case AddHeader, AddValid, RemoveHeader:
		return fmt.Sprintf("%s (%s)", p.blockName(in.A), p.HeaderOps[in.Imm].Type.Name)
	case CopyHeader:
		return fmt.Sprintf("%s = %s", p.blockName(in.A), p.blockName(in.B))
	case HeaderEq:
		return fmt.Sprintf("%s = %s == %s", d, p.blockName(in.A), p.blockName(in.B))

	case RegRead:
		return fmt.Sprintf("%s = %s[%s]", d, p.Registers[in.Imm].Name, a)
	case RegWrite:
		return fmt.Sprintf("%s[%s] = %s", p.Registers[in.Imm].Name, a, b)
	case Random:
		return fmt.Sprintf("%s = random from %s to %s", d, a, b)
	case Hash:
		return fmt.Sprintf("%s = %s + %s mod %s", d, a, p.Calcs[in.Imm].Name, b)
	case Whole:
		return fmt.Sprintf("%s = %s", d, p.Calcs[in.Imm].Name)
	case Math:
		return fmt.Sprintf("%s = math unit %d of %s", d, in.Imm, a)
	case Count:
		return fmt.Sprintf("%s[%s]", p.Counters[in.Imm].Name, a)
	case Meter:
		return fmt.Sprintf("%s = %s[%s]", d, p.Meters[in.Imm].Name, a)
	case Apply:
		return p.Tables[in.Imm].Name
	case Verify, Update:
		return p.Checksums[in.Imm].Name
	case Clone, Mirror:
		return fmt.Sprintf("session %s, fields %s", a, b)
	case Resubmit, Recirc, Digest:
		return "fields " + a
	case Truncate:
		return fmt.Sprintf("to %s bytes", a)
	case Drop:
		return ""
	case DropPort:
		return d
	case Log, Trace:
		return fmt.Sprintf("%q", p.Messages[in.Imm].Text)
	case Assert:
		return fmt.Sprintf("%s, %q", a, p.Messages[in.Imm].Text)
	}
	return fmt.Sprintf("%s, %s, %s, %#x", d, a, b, in.Imm)
}

// blockName returns the name of the header whose block begins at the slot with a
// constant.
func (p *Program) blockName(s Slot) string {
	if at := int(s) - p.ConstBase; at >= 0 && at < len(p.Consts) {
		base := p.Consts[at]
		if base == Nowhere {
			return "no header"
		}
		if base < uint64(len(p.Names)) {
			return strings.TrimSuffix(p.Names[base], "."+ValidField)
		}
	}
	return "the block at " + p.SlotName(s)
}

// Leaders returns the instructions that are not only reached from the one before.
func (p *Program) Leaders() []bool {
	leader := make([]bool, len(p.Code))
	for i := range p.Code {
		if in := &p.Code[i]; in.Op.IsJump() {
			leader[in.Imm] = true
		}
	}
	for _, starts := range [][Gresses]int32{p.Parse, p.Pipeline, p.Finish, p.ParseEnd} {
		leader[starts[In]], leader[starts[Out]] = true, true
	}
	for _, t := range p.Tables {
		for _, pc := range t.PCs {
			leader[pc] = true
		}
	}
	for _, w := range p.Matches {
		leader[w.To] = true
	}
	for _, j := range p.VSetJumps {
		leader[j.To] = true
	}
	for _, s := range p.Switches {
		for _, to := range s.To {
			leader[to] = true
		}
	}
	return leader
}
