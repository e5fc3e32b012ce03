// SPDX-License-Identifier: Apache-2.0

//go:build linux

package interp

import asm "github.com/pauseless/pauseless/internal/amd64"

// arriving emits the code that begins a packet and continues with the parser.
func (t *translator) arriving() asm.Label {
	at := t.Here()
	t.clear()
	f := t.prog.arrivalFields()
	t.Load(8, asm.AX, ofMachine(t.at.arrivalLength))
	t.Store(8, mem(slot(t.prog.sys+sysLength)), asm.AX)
	t.Store(8, mem(slot(t.prog.sys+sysIngressLen)), asm.AX)
	if f.length.Max != 0 {
		t.mask(asm.AX, f.length.Max)
		t.Store(8, mem(slot(f.length.slot)), asm.AX)
	}
	for _, c := range []struct {
		to   Field
		from int32
	}{{f.port, t.at.arrivalPort}, {f.time, t.at.arrivalTime}} {
		if c.to.Max != 0 {
			t.Load(8, asm.AX, ofMachine(c.from))
			t.Store(8, mem(slot(c.to.slot)), asm.AX)
		}
	}
	t.Jump(t.labels[t.prog.parse[in]])
	return at
}

// end translates an iEnd. Code of a v1model program continues with the next phase if
// Go asks for it by Machine.chain, and has nothing to do before.
func (t *translator) end(i int) {
	p := t.prog
	nothing := p.code[p.finish[out]].op == iEnd // no checksum to update
	parser, egress := inPhase(p, i, p.parse[in]), inPhase(p, i, p.pipeline[out]) && t.deparses[out] && (p.finishes != noValid || nothing)
	if p.arch != &v1Model || p.errNone != 0 || !parser && !egress { // parser_error is zero, unless Go sets it
		t.give(-1)
		return
	}
	back := t.stub(func() { t.give(-1) })
	t.MemImm(asm.Cmp, ofMachine(t.at.chain), 0)
	t.JumpIf(asm.Equal, back)
	if parser {
		t.MemImm(asm.Cmp, ofMachine(t.at.parserError), 0)
		t.JumpIf(asm.NotEqual, back)
		t.Load(1, asm.CX, ofMachine(t.at.checksumError))
		t.Test(asm.CX)
		t.JumpIf(asm.NotEqual, back)
		t.Load(8, asm.CX, ofMachine(t.at.cur))
		t.Store(8, mem(slot(p.sys+sysPayload)), asm.CX)
		t.StoreImm(ofMachine(t.at.chain), 0)
		t.Jump(t.labels[p.pipeline[in]])
		return
	}
	t.Load(1, asm.CX, ofMachine(t.at.anyRequest))
	t.Test(asm.CX)
	t.JumpIf(asm.NotEqual, back)
	f := p.arrivalFields()
	t.Load(8, asm.CX, mem(slot(f.egressSpec.slot)))
	t.mask(asm.CX, f.egressSpec.Max)
	t.OpMem(asm.Cmp, asm.CX, ofMachine(t.at.dropPort))
	t.JumpIf(asm.Equal, back)
	if !nothing {
		t.MemImm(asm.Cmp, mem(p.finishes), 0)
		t.JumpIf(asm.NotEqual, back)
	}
	t.StoreImm(ofMachine(t.at.chain), 0)
	t.Jump(t.finds[out])
}

// inPhase reports whether an instruction is in the phase with this start.
func inPhase(p *Program, i int, start int32) bool {
	if i < int(start) {
		return false
	}
	for _, starts := range [][gresses]int32{p.parse, p.pipeline, p.finish} {
		for _, s := range starts {
			if s > start && i >= int(s) {
				return false
			}
		}
	}
	return true
}
