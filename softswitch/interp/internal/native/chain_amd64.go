// SPDX-License-Identifier: Apache-2.0

//go:build linux

package native

import (
	asm "github.com/pauseless/pauseless/internal/amd64"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// arriving emits the code that begins a packet and continues with the parser.
func (t *translator) arriving() asm.Label {
	at := t.Here()
	t.clear()
	f := t.prog.ArrivalFields()
	t.Load(8, asm.AX, ofMachine(t.at.ArrivalLength))
	t.Store(8, mem(ops.Slot(t.prog.Sys+ops.SysLength)), asm.AX)
	t.Store(8, mem(ops.Slot(t.prog.Sys+ops.SysIngressLen)), asm.AX)
	if f.Length.Max != 0 {
		t.mask(asm.AX, f.Length.Max)
		t.Store(8, mem(ops.Slot(f.Length.Slot)), asm.AX)
	}
	for _, c := range []struct {
		to   ops.ArchField
		from int32
	}{{f.Port, t.at.ArrivalPort}, {f.Time, t.at.ArrivalTime}} {
		if c.to.Max != 0 {
			t.Load(8, asm.AX, ofMachine(c.from))
			t.Store(8, mem(ops.Slot(c.to.Slot)), asm.AX)
		}
	}
	t.Jump(t.labels[t.prog.Parse[ops.In]])
	return at
}

// end translates an End. Code of a v1model program continues with the next phase if
// Go asks for it by Machine.chain, and has nothing to do before.
func (t *translator) end(i int) {
	p := t.prog
	nothing := p.Code[p.Finish[ops.Out]].Op == ops.End // no checksum to update
	parser, egress := inPhase(p, i, p.Parse[ops.In]), inPhase(p, i, p.Pipeline[ops.Out]) && t.deparses[ops.Out] && (p.Finishes != ops.NoValid || nothing)
	if p.Arch != &ops.V1Model || p.ErrNone != 0 || !parser && !egress { // parser_error is zero, unless Go sets it
		t.give(-1)
		return
	}
	back := t.stub(func() { t.give(-1) })
	t.MemImm(asm.Cmp, ofMachine(t.at.Chain), 0)
	t.JumpIf(asm.Equal, back)
	if parser {
		t.MemImm(asm.Cmp, ofMachine(t.at.ParserError), 0)
		t.JumpIf(asm.NotEqual, back)
		t.Load(1, asm.CX, ofMachine(t.at.ChecksumError))
		t.Test(asm.CX)
		t.JumpIf(asm.NotEqual, back)
		t.Load(8, asm.CX, ofMachine(t.at.Cur))
		t.Store(8, mem(ops.Slot(p.Sys+ops.SysPayload)), asm.CX)
		t.StoreImm(ofMachine(t.at.Chain), 0)
		t.Jump(t.labels[p.Pipeline[ops.In]])
		return
	}
	t.Load(1, asm.CX, ofMachine(t.at.AnyRequest))
	t.Test(asm.CX)
	t.JumpIf(asm.NotEqual, back)
	f := p.ArrivalFields()
	t.Load(8, asm.CX, mem(ops.Slot(f.EgressSpec.Slot)))
	t.mask(asm.CX, f.EgressSpec.Max)
	t.OpMem(asm.Cmp, asm.CX, ofMachine(t.at.DropPort))
	t.JumpIf(asm.Equal, back)
	if !nothing {
		t.MemImm(asm.Cmp, mem(p.Finishes), 0)
		t.JumpIf(asm.NotEqual, back)
	}
	t.StoreImm(ofMachine(t.at.Chain), 0)
	t.Jump(t.finds[ops.Out])
}

// inPhase reports whether an instruction is in the phase with this start.
func inPhase(p *ops.Program, i int, start int32) bool {
	if i < int(start) {
		return false
	}
	for _, starts := range [][ops.Gresses]int32{p.Parse, p.Pipeline, p.Finish} {
		for _, s := range starts {
			if s > start && i >= int(s) {
				return false
			}
		}
	}
	return true
}
