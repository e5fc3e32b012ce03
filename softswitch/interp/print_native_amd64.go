// SPDX-License-Identifier: Apache-2.0

//go:build linux

package interp

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// printNative returns the program's machine code as text: see interp.PrintNative.
func printNative(p *Program) (text string, ok bool) {
	if p.native == nil {
		return "", false
	}
	var b strings.Builder
	heads, n := p.headings(), p.native
	at := 0
	emit := func(end int) {
		for at < end {
			inst, err := x86asm.Decode(n.code[at:end], 64)
			if err != nil {
				fmt.Fprintf(&b, "        [%05x]  db %#x\n", at, n.code[at])
				at++
				continue
			}
			fmt.Fprintf(&b, "        [%05x]  %s\n", at, processorText(p, inst, at))
			at += inst.Len
		}
	}
	for i := range p.code {
		emit(n.starts[i])
		for _, h := range heads[i] {
			fmt.Fprintf(&b, "%s:\n", h)
		}
		fmt.Fprintf(&b, "  %4d  %s\n", i, p.text(i))
	}
	emit(n.starts[len(p.code)])
	b.WriteString("rare cases, the start of a packet, what a queued packet keeps, deparsers:\n")
	emit(len(n.code))
	return b.String(), true
}

// processorText returns an instruction of the processor as text.
func processorText(p *Program, inst x86asm.Inst, at int) string {
	for i, arg := range inst.Args {
		switch arg := arg.(type) {
		case x86asm.Rel:
			inst.Args[i] = nil
			return fmt.Sprintf("%s [%05x]", strings.ToLower(inst.Op.String()), at+inst.Len+int(arg))
		case x86asm.Imm:
			if slices.Contains(p.native.memory, uint64(arg)) {
				inst.Args[i] = nil
				return x86asm.IntelSyntax(inst, uint64(at), nil) + ", memory"
			}
		}
	}
	return x86asm.IntelSyntax(inst, uint64(at), nil)
}
