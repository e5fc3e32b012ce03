// SPDX-License-Identifier: Apache-2.0

package interp

import "github.com/pauseless/pauseless/softswitch/interp/internal/ops"

// assist executes instruction r, at which the code returned, and continues behind
// it until the next End.
func (m *Machine) assist(r int32) {
	n := m.prog.Native
	for r >= 0 {
		in := &m.prog.Code[r&^ops.Leave]
		var pc int32
		if in.Op == ops.Apply {
			pc = m.applyTable(&m.tables[in.Imm])
		} else {
			pc = int32(m.step(in, int(r&^ops.Leave)+1))
		}
		if pc < 0 {
			return
		}
		at := n.Address[pc]
		if at == 0 || in.Op != ops.Apply && r&ops.Leave != 0 {
			m.interpret(pc)
			return
		}
		r = enter(at, m)
	}
}

// deparseNative does the work of deparse if there is code for it.
func (m *Machine) deparseNative(gress int) bool {
	d := &m.phases.deparse[gress]
	if d.Find == 0 {
		return false
	}
	enter(d.Find, m)
	return m.place(gress)
}

// place does what is left to do after the code at find. It returns false if all
// headers have to be written again.
func (m *Machine) place(gress int) bool {
	if m.found == ops.ToMove {
		m.move(m.gap.from, m.gap.by)
		enter(m.phases.deparse[gress].Place, m)
	}
	return m.found != ops.ToRewrite
}
