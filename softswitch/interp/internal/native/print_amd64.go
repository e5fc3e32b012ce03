// SPDX-License-Identifier: Apache-2.0

//go:build linux

package native

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"golang.org/x/arch/x86/x86asm"
)

// Print returns the program's machine code as text: see Program.PrintNative of package
// interp. at is what Translate got.
func Print(p *ops.Program, at *Offsets) (text string, ok bool) {
	if p.Native == nil {
		return "", false
	}
	var b strings.Builder
	heads, n := p.Headings(), p.Native
	pc := 0
	emit := func(end int) {
		for pc < end {
			inst, err := x86asm.Decode(n.Code[pc:end], 64)
			if err != nil {
				fmt.Fprintf(&b, "        [%05x]  db %#x\n", pc, n.Code[pc])
				pc++
				continue
			}
			fmt.Fprintf(&b, "        [%05x]  %s\n", pc, processorText(p, at, inst, pc))
			pc += inst.Len
		}
	}
	for i := range p.Code {
		emit(n.Starts[i])
		for _, h := range heads[i] {
			fmt.Fprintf(&b, "%s:\n", h)
		}
		fmt.Fprintf(&b, "  %4d  %s\n", i, p.Text(i))
	}
	for _, part := range parts(p) {
		emit(part.at)
		fmt.Fprintf(&b, "%s:\n", part.name)
	}
	emit(len(n.Code))
	return b.String(), true
}

// part is code that belongs to no single instruction, from a position on.
type part struct {
	at   int // in bytes
	name string
}

// parts returns those of a program in their order.
func parts(p *ops.Program) (list []part) {
	n := p.Native
	start := uintptr(unsafe.Pointer(unsafe.SliceData(n.Code)))
	list = append(list, part{int(n.Arrive - start), "the start of a packet, and rare cases of instructions"}, part{int(n.Clear - start), "clears slots"})
	for g, gress := range [ops.Gresses]string{"ingress", "egress"} {
		if d := n.Deparse[g]; d.Find != 0 && p.Arch.Deparsers[g] != "-" {
			list = append(list, part{int(d.Find - start), gress + " deparser"}, part{int(d.Place - start), gress + " deparser, after Go has moved bytes"})
		}
	}
	slices.SortFunc(list, func(a, b part) int { return a.at - b.at })
	return list
}

// processorText returns an instruction of the processor as text.
func processorText(p *ops.Program, at *Offsets, inst x86asm.Inst, pc int) string {
	shared := "" // with the machine
	for i, arg := range inst.Args {
		switch arg := arg.(type) {
		case x86asm.Rel:
			inst.Args[i] = nil
			return fmt.Sprintf("%s [%05x]", strings.ToLower(inst.Op.String()), pc+inst.Len+int(arg))
		case x86asm.Imm:
			if slices.Contains(p.Native.Memory, uint64(arg)) {
				inst.Args[i] = nil
				return x86asm.IntelSyntax(inst, uint64(pc), nil) + ", memory"
			}
		case x86asm.Mem:
			switch {
			case arg.Index != 0:
			case arg.Base == x86asm.RDI: // slots
				shared = p.SlotName(ops.Slot(arg.Disp / 8))
				if arg.Disp%8 != 0 {
					shared += fmt.Sprintf(" + %d", arg.Disp%8)
				}
			case arg.Base == x86asm.RSI: // machine
				shared = at.name(int32(arg.Disp))
			}
		}
	}
	text := x86asm.IntelSyntax(inst, uint64(pc), nil)
	if shared != "" {
		before, rest, _ := strings.Cut(text, "[")
		_, after, _ := strings.Cut(rest, "]")
		text = before + "[" + shared + "]" + after
	}
	return text
}

// name returns the name of a field of the Machine, "" for none.
func (at *Offsets) name(offset int32) string {
	const word = 8 // a slice is its address, its length and its capacity
	for _, f := range []struct {
		at   int32
		name string
	}{
		{at.Cur, "cur"}, {at.State, "state"}, {at.Tables, "tables"}, {at.Data, "data"}, {at.Data + word, "len(data)"}, {at.Data + 2*word, "cap(data)"},
		{at.Frame, "frame"}, {at.Found, "found"}, {at.Chain, "chain"}, {at.DropPort, "DropPort"},
		{at.GapStay, "gap.stay"}, {at.GapFrom, "gap.from"}, {at.GapBy, "gap.by"},
		{at.ArrivalLength, "arrival.length"}, {at.ArrivalPort, "arrival.port"}, {at.ArrivalTime, "arrival.time"},
		{at.ParserError, "Ask.ParserError"}, {at.ChecksumError, "Ask.ChecksumError"}, {at.AnyRequest, "Ask.Any"},
	} {
		if f.at == offset {
			return "machine." + f.name
		}
	}
	return ""
}
