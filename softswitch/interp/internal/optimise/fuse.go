// SPDX-License-Identifier: Apache-2.0

package optimise

import "github.com/pauseless/pauseless/softswitch/interp/internal/ops"

// Fuse merges a run of instructions into the first one, so that the
// interpreter's loop iterates once for all. The others stay in place as jump
// targets.
//
// Runs are fields of one header, after its extraction or not; moves; constants;
// branches on one kind of condition; and reads of registers with one index, which
// may be joined from two values.
func Fuse(p *ops.Program) {
	for i := len(p.Code) - 1; i >= 0; i-- {
		in, next := &p.Code[i], &ops.Instr{}
		if i+1 < len(p.Code) {
			next = &p.Code[i+1]
		}
		switch {
		case in.Op == ops.Field:
			n, last := 1, int(in.B)
			if (next.Op == ops.Field || next.Op == ops.Fields) && next.A == in.A && in.D != in.A && next.Run() < 255 {
				in.Op = ops.Fields
				n += next.Run()
				last = max(last, next.LastByte())
			}
			in.Imm = in.Imm&0xffff | uint64(n)<<16 | uint64(last)<<24
		case in.Op == ops.Take && (next.Op == ops.Field || next.Op == ops.Fields) && next.A == in.D+ops.RelOffset:
			in.Op = ops.TakeFields
		case in.Op == ops.Mov && next.Op == ops.Mov:
			in.Op, in.B = ops.Movs, 2
		case in.Op == ops.Mov && next.Op == ops.Movs && next.B < ops.FirstConst:
			in.Op, in.B = ops.Movs, next.B+1
		case in.Op == ops.RegRead && next.Op == ops.RegRead && next.A == in.A && next.A != in.D:
			in.B |= ops.SameIndex
		case in.Op == ops.MovI && next.Op == ops.MovI:
			in.A = 1
		case in.Op == next.Op && (in.Op == ops.JZ || in.Op == ops.JEq || in.Op == ops.JLeU):
			in.D = 1
		case in.Op == ops.ShlOr && next.Op == ops.RegRead && next.A == in.D:
			in.Op = ops.ShlOrRead
		}
	}
	if in := &p.Code[p.Finish[ops.Out]]; in.Op == ops.JZ && in.D == 0 && p.Code[in.Imm].Op == ops.End {
		p.Finishes = in.A
	}
}
