// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"slices"
	"strings"
)

// Print returns the program's instructions as text, one per line, under headings that
// say from where they are reached: parsers, pipelines, the start of deparsers, and the
// actions of tables. ">" marks the target of a jump. Slots have the names of their fields
// if the program was compiled with Options.Names; a field of several limbs has their
// numbers behind its name, and t0, t1, … are temporaries.
func (p *Program) Print() string {
	var b strings.Builder
	heads, leader := p.headings(), p.leaders()
	for i := range p.code {
		for _, h := range heads[i] {
			fmt.Fprintf(&b, "%s:\n", h)
		}
		mark := ' '
		if leader[i] {
			mark = '>'
		}
		fmt.Fprintf(&b, "%c %4d  %s\n", mark, i, p.text(i))
	}
	return b.String()
}

// headings returns what begins at an instruction.
func (p *Program) headings() map[int][]string {
	heads := map[int][]string{}
	add := func(at int32, format string, args ...any) {
		heads[int(at)] = append(heads[int(at)], fmt.Sprintf(format, args...))
	}
	for g, gress := range [gresses]string{"ingress", "egress"} {
		if p.arch.parsers[g] != "-" {
			add(p.parse[g], "%s parser", gress)
			add(p.parseEnd[g], "end of the %s parser", gress)
		}
		add(p.pipeline[g], "%s", gress)
		if p.arch.deparsers[g] != "-" {
			add(p.finish[g], "%s, before the deparser", gress)
		}
	}
	for _, t := range p.Tables {
		if t.inline {
			continue
		}
		for i, pc := range t.pcs {
			switch result := [2]string{"hit", "miss"}[i%2]; {
			case i == len(t.pcs)-1:
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

// name returns a slot as text: a constant, a field, or its number.
func (p *Program) name(s slot) string {
	switch n := int(s); {
	case n >= p.constBase && n < p.constBase+len(p.consts):
		return constantText(p.consts[n-p.constBase])
	case n < len(p.names) && p.names[n] != "":
		return p.names[n]
	case n >= p.params:
		return fmt.Sprintf("t%d", n-p.params)
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
var infix = map[opcode]string{
	iAdd: "+", iSub: "-", iMul: "*", iAnd: "&", iOr: "|", iXor: "^", iShl: "<<", iShr: ">>", iSar: ">>", iDiv: "/", iMod: "%",
	iEq: "==", iNe: "!=", iLtU: "<", iLeU: "<=", iLtS: "<", iLeS: "<=",
	iJEq: "==", iJNe: "!=", iJLtU: "<", iJLeU: "<=", iJLtS: "<", iJLeS: "<=",
}

// text returns instruction i as text, which begins with the name of its opcode.
func (p *Program) text(i int) string {
	in := &p.code[i]
	return strings.TrimRight(fmt.Sprintf("%-12s %s", in.op, p.operands(in)), " ")
}

func (p *Program) operands(in *instr) string {
	d, a, b := p.name(in.d), p.name(in.a), p.name(in.b)
	masked := func(expr string) string {
		if in.imm == allBits {
			return fmt.Sprintf("%s = %s", d, expr)
		}
		return fmt.Sprintf("%s = (%s) & %#x", d, expr, in.imm)
	}
	switch in.op {
	case iEnd, iState:
		return ""
	case iMov, iMovs:
		if in.imm == allBits {
			return fmt.Sprintf("%s = %s", d, a)
		}
		return fmt.Sprintf("%s = %s & %#x", d, a, in.imm)
	case iMovI:
		return fmt.Sprintf("%s = %s", d, constantText(in.imm))
	case iAdd, iSub, iMul, iAnd, iOr, iXor, iShl, iShr, iSar, iDiv, iMod:
		return masked(a + " " + infix[in.op] + " " + b)
	case iNot:
		return masked("^" + a)
	case iEq, iNe, iLtU, iLeU, iLtS, iLeS:
		return fmt.Sprintf("%s = %s %s %s", d, a, infix[in.op], b)
	case iShlOr, iShlOrRead:
		return fmt.Sprintf("%s = %s << %d | %s", d, a, in.imm&63, b)
	case iOrI:
		return fmt.Sprintf("%s |= %#x", d, in.imm)
	case iSext:
		return fmt.Sprintf("%s = %s, signed of %d bits", d, a, in.imm)
	case iUSat, iSSat:
		return fmt.Sprintf("%s = %s, at most %#x", d, a, in.imm)

	case iJmp, iBack:
		return fmt.Sprintf("goto %d", in.imm)
	case iJZ:
		return fmt.Sprintf("if %s == 0 goto %d", a, in.imm)
	case iJNZ:
		return fmt.Sprintf("if %s != 0 goto %d", a, in.imm)
	case iJEq, iJNe, iJLtU, iJLeU, iJLtS, iJLeS:
		return fmt.Sprintf("if %s %s %s goto %d", a, infix[in.op], b, in.imm)
	case iJBytes:
		var parts []string
		w := &p.byteMatches[in.b]
		for k := range w.at {
			if w.mask[k] != 0 {
				parts = append(parts, fmt.Sprintf("bytes at %s + %d & %#x == %#x", a, w.at[k], w.mask[k], w.value[k]&w.mask[k]))
			}
		}
		return fmt.Sprintf("if %s goto %d", strings.Join(parts, " and "), in.imm)
	case iJMatch:
		w := &p.matches[in.imm]
		return fmt.Sprintf("if %s, %d limbs, & %#x == %#x goto %d", a, len(w.value), w.mask, w.value, w.to)
	case iVSet:
		return fmt.Sprintf("if %s is in %s goto %d", a, p.VSets[p.vsetJumps[in.imm].vset].Name, p.vsetJumps[in.imm].to)
	case iSwitch:
		return fmt.Sprintf("on %s goto one of %d", a, p.switches[in.imm].to)

	case iField, iFields:
		return fmt.Sprintf("%s = %d bits at %s + %d bits", d, 64-int(in.imm>>8&63), a, 8*int(in.b)+int(in.imm&63))
	case iPeek:
		return fmt.Sprintf("%s = %d bits ahead by %d bits", d, 64-int(in.imm>>8&63), 8*int(in.b)+int(in.imm&63))
	case iLook:
		return fmt.Sprintf("%s = %d bits ahead by %d bits", d, in.n(), in.m())
	case iTake, iTakeFields, iExtract:
		return p.extracts[in.imm].name
	case iAdvance:
		return fmt.Sprintf("by %s bits", a)
	case iFail:
		if in.a != 0 && int(in.a) >= p.constBase {
			if name := p.errorNames[int(p.consts[int(in.a)-p.constBase])]; name != "" {
				return "with error." + name
			}
		}
		return "with error " + a

	case iElem:
		return fmt.Sprintf("%s = element %s of %d", d, a, in.k())
	case iLoad:
		return fmt.Sprintf("%s = field %d of the block at %s", d, in.imm, a)
	case iStore:
		return fmt.Sprintf("field %d of the block at %s = %s", in.imm, a, b)
	case iAddHeader, iAddValid, iRemoveHeader:
		return fmt.Sprintf("%s (%s)", p.blockName(in.a), p.headerOps[in.imm].typ.name)
	case iCopyHeader:
		return fmt.Sprintf("%s = %s", p.blockName(in.a), p.blockName(in.b))
	case iHeaderEq:
		return fmt.Sprintf("%s = %s == %s", d, p.blockName(in.a), p.blockName(in.b))

	case iRegRead:
		return fmt.Sprintf("%s = %s[%s]", d, p.Registers[in.imm].Name, a)
	case iRegWrite:
		return fmt.Sprintf("%s[%s] = %s", p.Registers[in.imm].Name, a, b)
	case iRandom:
		return fmt.Sprintf("%s = random from %s to %s", d, a, b)
	case iHash:
		return fmt.Sprintf("%s = %s + %s mod %s", d, a, p.calcs[in.imm].name, b)
	case iWhole:
		return fmt.Sprintf("%s = %s", d, p.calcs[in.imm].name)
	case iMath:
		return fmt.Sprintf("%s = math unit %d of %s", d, in.imm, a)
	case iCount:
		return fmt.Sprintf("%s[%s]", p.Counters[in.imm].Name, a)
	case iMeter:
		return fmt.Sprintf("%s = %s[%s]", d, p.Meters[in.imm].Name, a)
	case iApply:
		return p.Tables[in.imm].Name
	case iVerify, iUpdate:
		return p.checksums[in.imm].name
	case iClone, iMirror:
		return fmt.Sprintf("session %s, fields %s", a, b)
	case iResubmit, iRecirc, iDigest:
		return "fields " + a
	case iTruncate:
		return fmt.Sprintf("to %s bytes", a)
	case iDrop:
		return ""
	case iDropPort:
		return d
	case iLog, iTrace:
		return fmt.Sprintf("%q", p.messages[in.imm].text)
	case iAssert:
		return fmt.Sprintf("%s, %q", a, p.messages[in.imm].text)
	}
	return fmt.Sprintf("%s, %s, %s, %#x", d, a, b, in.imm)
}

// blockName returns the name of the header whose block begins at the slot with a
// constant.
func (p *Program) blockName(s slot) string {
	if at := int(s) - p.constBase; at >= 0 && at < len(p.consts) {
		base := p.consts[at]
		if base == nowhere {
			return "no header"
		}
		if base < uint64(len(p.names)) {
			return strings.TrimSuffix(p.names[base], "."+validField)
		}
	}
	return "the block at " + p.name(s)
}

// nameSlots records the names of the slots for Print.
func (c *compiler) nameSlots() {
	names := make([]string, c.temps)
	field := func(at int, name string, limbs int) {
		if limbs == 1 {
			names[at] = name
			return
		}
		for i := range limbs {
			names[at+i] = fmt.Sprintf("%s.%d", name, i)
		}
	}
	for i, name := range [sysSlots]string{sysPayload: "$payload", sysTruncate: "$truncate", sysLength: "$length", sysIngressLen: "$arrived", sysExit: "$exit"} {
		names[c.prog.sys+i] = name
	}
	for _, h := range c.order {
		if h.slots == nil {
			names[h.base+relValid], names[h.base+relOffset], names[h.base+relDirty] = h.name+"."+validField, h.name, h.name+".$changed"
			if h.typ.varbit >= 0 {
				names[h.base+relVarLen], names[h.base+relVarOff] = h.name+".$bits", h.name+".$at"
			}
		}
		for i, f := range h.typ.fields {
			if at := h.field(i); at != noSlot && f.width > 0 {
				field(at, h.name+"."+f.name, limbsOf(f.width))
			}
		}
	}
	for _, s := range c.stackOrder {
		names[s.next] = s.name + ".$next"
	}
	for _, s := range c.unionStackOrder {
		names[s.next] = s.name + ".$next"
	}
	for i := range c.paramSlots {
		names[c.params+i] = fmt.Sprintf("arg%d", i)
	}
	c.prog.names = names
}

// leaders returns the instructions that are not only reached from the one before.
func (p *Program) leaders() []bool {
	leader := make([]bool, len(p.code))
	for i := range p.code {
		if in := &p.code[i]; in.op.isJump() {
			leader[in.imm] = true
		}
	}
	for _, starts := range [][gresses]int32{p.parse, p.pipeline, p.finish, p.parseEnd} {
		leader[starts[in]], leader[starts[out]] = true, true
	}
	for _, t := range p.Tables {
		for _, pc := range t.pcs {
			leader[pc] = true
		}
	}
	for _, w := range p.matches {
		leader[w.to] = true
	}
	for _, j := range p.vsetJumps {
		leader[j.to] = true
	}
	for _, s := range p.switches {
		for _, to := range s.to {
			leader[to] = true
		}
	}
	return leader
}
