// SPDX-License-Identifier: Apache-2.0

package ops

import "fmt"

// Check verifies that all slots and instructions that run accesses are within
// bounds.
func (p *Program) Check() {
	in := func(n, limit int) {
		if n < 0 || n >= limit {
			panic(fmt.Sprintf("BUG: the program has %d slots and %d instructions; one goes to %d", p.Slots, len(p.Code), n))
		}
	}
	for i := range p.Code {
		x := &p.Code[i]
		in(int(x.D), p.Slots)
		in(int(x.A), p.Slots)
		switch x.Op {
		case Field, Peek: // b is a byte
		case Take:
			in(int(x.D)+RelDirty, p.Slots)
		case TakeFields:
			in(int(x.D)+RelDirty, p.Slots)
			in(i+1, len(p.Code))
		case Fields:
			in(i+x.Run()-1, len(p.Code))
		case Movs:
			in(i+int(x.B)-1, len(p.Code))
		case JBytes:
			in(int(x.B), len(p.ByteMatches))
		default:
			in(int(x.B), p.Slots)
		}
		if x.Op.IsJump() {
			in(int(x.Imm), len(p.Code))
		}
		if next := x.Op != End && x.Op != Jmp && x.Op != Back && x.Op != Apply; next {
			in(i+1, len(p.Code))
		}
	}
	for _, starts := range [][Gresses]int32{p.Parse, p.Pipeline, p.Finish, p.ParseEnd} {
		in(int(starts[0]), len(p.Code))
		in(int(starts[1]), len(p.Code))
	}
	for _, t := range p.Tables {
		for _, pc := range t.PCs {
			in(int(pc), len(p.Code))
		}
	}
}
