// SPDX-License-Identifier: Apache-2.0

package interp

import "unsafe"

// assist executes instruction r, at which the code returned, and continues behind
// it until the next iEnd.
func (m *Machine) assist(r int32) {
	n := m.prog.native
	for r >= 0 {
		in := &m.prog.code[r&^leave]
		var pc int32
		if in.op == iApply {
			pc = m.applyTable(&m.tables[in.imm])
		} else {
			pc = int32(m.step(in, int(r&^leave)+1))
		}
		if pc < 0 {
			return
		}
		at := n.address[pc]
		if at == 0 || in.op != iApply && r&leave != 0 {
			m.interpret(pc)
			return
		}
		r = enter(at, m)
	}
}

// saveNative and restoreNative do the work of Save and restore if there is code
// for it.
func (m *Machine) saveNative(to unsafe.Pointer) bool {
	n := m.prog.native
	if n == nil || n.save < 0 {
		return false
	}
	enterWith(&n.code[n.save], m, to)
	return true
}

func (m *Machine) restoreNative(from unsafe.Pointer) bool {
	n := m.prog.native
	if n == nil || n.restore < 0 {
		return false
	}
	enterWith(&n.code[n.restore], m, from)
	return true
}

// deparseNative does the work of deparse if there is code for it.
func (m *Machine) deparseNative(gress int) bool {
	d := &m.phases.deparse[gress]
	if d.find == 0 {
		return false
	}
	enter(d.find, m)
	return m.place(gress)
}

// place does what is left to do after the code at find. It returns false if all
// headers have to be written again.
func (m *Machine) place(gress int) bool {
	if m.found == toMove {
		m.move(m.gap.from, m.gap.by)
		enter(m.phases.deparse[gress].place, m)
	}
	return m.found != toRewrite
}
