// SPDX-License-Identifier: Apache-2.0

//go:build linux

package native

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"golang.org/x/arch/x86/x86asm"
)

// Print returns the program's machine code as text: see interp.PrintNative.
func Print(p *ops.Program) (text string, ok bool) {
	if p.Native == nil {
		return "", false
	}
	var b strings.Builder
	heads, n := p.Headings(), p.Native
	at := 0
	emit := func(end int) {
		for at < end {
			inst, err := x86asm.Decode(n.Code[at:end], 64)
			if err != nil {
				fmt.Fprintf(&b, "        [%05x]  db %#x\n", at, n.Code[at])
				at++
				continue
			}
			fmt.Fprintf(&b, "        [%05x]  %s\n", at, processorText(p, inst, at))
			at += inst.Len
		}
	}
	for i := range p.Code {
		emit(n.Starts[i])
		for _, h := range heads[i] {
			fmt.Fprintf(&b, "%s:\n", h)
		}
		fmt.Fprintf(&b, "  %4d  %s\n", i, p.Text(i))
	}
	emit(n.Starts[len(p.Code)])
	b.WriteString("rare cases, the start of a packet, what a queued packet keeps, deparsers:\n")
	emit(len(n.Code))
	return b.String(), true
}

// processorText returns an instruction of the processor as text.
func processorText(p *ops.Program, inst x86asm.Inst, at int) string {
	for i, arg := range inst.Args {
		switch arg := arg.(type) {
		case x86asm.Rel:
			inst.Args[i] = nil
			return fmt.Sprintf("%s [%05x]", strings.ToLower(inst.Op.String()), at+inst.Len+int(arg))
		case x86asm.Imm:
			if slices.Contains(p.Native.Memory, uint64(arg)) {
				inst.Args[i] = nil
				return x86asm.IntelSyntax(inst, uint64(at), nil) + ", memory"
			}
		}
	}
	return x86asm.IntelSyntax(inst, uint64(at), nil)
}
