// SPDX-License-Identifier: Apache-2.0

package interp

// fuse merges a run of instructions into the first one, so that the
// interpreter's loop iterates once for all. The others stay in place as jump
// targets.
//
// Runs are fields of one header, after its extraction or not; moves; constants;
// branches on one kind of condition; and reads of registers with one index, which
// may be joined from two values.
func fuse(p *Program) {
	for i := len(p.code) - 1; i >= 0; i-- {
		in, next := &p.code[i], &instr{}
		if i+1 < len(p.code) {
			next = &p.code[i+1]
		}
		switch {
		case in.op == iField:
			n, last := 1, int(in.b)
			if (next.op == iField || next.op == iFields) && next.a == in.a && in.d != in.a && next.run() < 255 {
				in.op = iFields
				n += next.run()
				last = max(last, next.lastByte())
			}
			in.imm = in.imm&0xffff | uint64(n)<<16 | uint64(last)<<24
		case in.op == iTake && (next.op == iField || next.op == iFields) && next.a == in.d+relOffset:
			in.op = iTakeFields
		case in.op == iMov && next.op == iMov:
			in.op, in.b = iMovs, 2
		case in.op == iMov && next.op == iMovs && next.b < firstConst:
			in.op, in.b = iMovs, next.b+1
		case in.op == iRegRead && next.op == iRegRead && next.a == in.a && next.a != in.d:
			in.b |= sameIndex
		case in.op == iMovI && next.op == iMovI:
			in.a = 1
		case in.op == next.op && (in.op == iJZ || in.op == iJEq || in.op == iJLeU):
			in.d = 1
		case in.op == iShlOr && next.op == iRegRead && next.a == in.d:
			in.op = iShlOrRead
		}
	}
	if in := &p.code[p.finish[out]]; in.op == iJZ && in.d == 0 && p.code[in.imm].op == iEnd {
		p.finishes = in.a
	}
}
