// SPDX-License-Identifier: Apache-2.0

package amd64

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// GNU objdump disassembles the bytes to these texts.
func TestEncodings(t *testing.T) {
	for _, c := range []struct {
		text string
		emit func(a *Asm)
		want string
	}{
		{"movzbl 0x12(%r8,%rcx,1),%edx", func(a *Asm) { a.Load(1, DX, Mem{R8, CX, 0, 0x12}) }, "410fb6540812"},
		{"movzwl -1(%r8,%r12,1),%r13d", func(a *Asm) { a.Load(2, R13, Mem{R8, R12, 0, -1}) }, "470fb76c20ff"},
		{"mov 0x1234(%rdi),%eax", func(a *Asm) { a.Load(4, AX, At(DI, 0x1234)) }, "8b8734120000"},
		{"mov 0x8(%r11,%rcx,4),%r15", func(a *Asm) { a.Load(8, R15, Mem{R11, CX, 2, 8}) }, "4d8b7c8b08"},
		{"mov %r15,-8(%rsi)", func(a *Asm) { a.Store(8, At(SI, -8), R15) }, "4c897ef8"},
		{"mov %edx,0x80(%r10)", func(a *Asm) { a.Store(4, At(R10, 0x80), DX) }, "41899280000000"},
		{"mov %cl,0x5(%r8,%rax,1)", func(a *Asm) { a.Store(1, Mem{R8, AX, 0, 5}, CX) }, "41884c0005"},
		{"mov %sil,0x10(%rdi)", func(a *Asm) { a.Store(1, At(DI, 0x10), SI) }, "40887710"},
		{"mov %dx,0x5(%r8,%rax,1)", func(a *Asm) { a.Store(2, Mem{R8, AX, 0, 5}, DX) }, "664189540005"},
		{"movq $-2,0x7f(%rdi)", func(a *Asm) { a.StoreImm(At(DI, 0x7f), -2) }, "48c7477ffeffffff"},
		{"xorps %xmm0,%xmm0", func(a *Asm) { a.ZeroPair(0) }, "0f57c0"},
		{"movups %xmm0,0x1230(%rdi)", func(a *Asm) { a.StorePair(At(DI, 0x1230), 0) }, "0f118730120000"},
		{"xorps %xmm3,%xmm3", func(a *Asm) { a.ZeroPair(3) }, "0f57db"},
		{"movups -0x20(%rdx),%xmm2", func(a *Asm) { a.LoadPair(2, At(DX, -0x20)) }, "0f1052e0"},
		{"movups %xmm3,-0x10(%rdx,%r13,1)", func(a *Asm) { a.StorePair(Mem{Base: DX, Index: R13, Disp: -0x10}, 3) }, "420f115c2af0"},
		{"lea 0x1(%rcx),%r13", func(a *Asm) { a.Lea(R13, At(CX, 1)) }, "4c8d6901"},
		{"mov %r12,%rbx", func(a *Asm) { a.Move(BX, R12) }, "4c89e3"},
		{"movzbl %dl,%r12d", func(a *Asm) { a.Low(1, R12, DX) }, "440fb6e2"},
		{"movzbl %sil,%eax", func(a *Asm) { a.Low(1, AX, SI) }, "400fb6c6"},
		{"movzwl %r13w,%r13d", func(a *Asm) { a.Low(2, R13, R13) }, "450fb7ed"},
		{"mov %r15d,%eax", func(a *Asm) { a.Low(4, AX, R15) }, "4489f8"},
		{"mov $0xffffffff,%r11d", func(a *Asm) { a.Imm(R11, 0xffffffff) }, "41bbffffffff"},
		{"mov $-1,%rax", func(a *Asm) { a.Imm(AX, 1<<64-1) }, "48c7c0ffffffff"},
		{"movabs $0x123456789abcdef0,%r12", func(a *Asm) { a.Imm(R12, 0x123456789abcdef0) }, "49bcf0debc9a78563412"},
		{"movabs $0x12345678,%r11", func(a *Asm) { a.Address(R11, 0x12345678) }, "49bb7856341200000000"},
		{"add %r13,%rax", func(a *Asm) { a.Op(Add, AX, R13) }, "4903c5"},
		{"or %rax,%r15", func(a *Asm) { a.Op(Or, R15, AX) }, "4c0bf8"},
		{"and 0x10(%rdi),%rdx", func(a *Asm) { a.OpMem(And, DX, At(DI, 0x10)) }, "48235710"},
		{"sub 0x400(%rdi),%r12", func(a *Asm) { a.OpMem(Sub, R12, At(DI, 0x400)) }, "4c2ba700040000"},
		{"xor $0x7f,%rbx", func(a *Asm) { a.OpImm(Xor, BX, 0x7f) }, "4883f37f"},
		{"cmp $0x12345,%r13", func(a *Asm) { a.OpImm(Cmp, R13, 0x12345) }, "4981fd45230100"},
		{"cmpq $0x0,0x88(%rdi)", func(a *Asm) { a.MemImm(Cmp, At(DI, 0x88), 0) }, "4883bf8800000000"},
		{"addq $0x3e8,0x8(%rdi)", func(a *Asm) { a.MemImm(Add, At(DI, 8), 1000) }, "48814708e8030000"},
		{"cmp $0x1234,%ecx", func(a *Asm) { a.Cmp32(CX, 0x1234) }, "81f934120000"},
		{"imul %r11,%r12", func(a *Asm) { a.Mul(R12, R11) }, "4d0fafe3"},
		{"mul %rcx", func(a *Asm) { a.MulHigh(CX) }, "48f7e1"},
		{"imul $0x18,%rdx,%rdx", func(a *Asm) { a.MulImm(DX, DX, 24) }, "4869d218000000"},
		{"incq 0x10(%rax)", func(a *Asm) { a.Inc(At(AX, 16)) }, "48ff4010"},
		{"not %r15", func(a *Asm) { a.Not(R15) }, "49f7d7"},
		{"test %r12,%r12", func(a *Asm) { a.Test(R12) }, "4d85e4"},
		{"test $0x7f00,%ecx", func(a *Asm) { a.TestImm(CX, 0x7f00) }, "f7c1007f0000"},
		{"shl $0x5,%rax", func(a *Asm) { a.Shift(Shl, AX, 5) }, "48c1e005"},
		{"shr $0x3f,%r13", func(a *Asm) { a.Shift(Shr, R13, 63) }, "49c1ed3f"},
		{"sar $0x1f,%r12", func(a *Asm) { a.Shift(Sar, R12, 31) }, "49c1fc1f"},
		{"shl %cl,%r15", func(a *Asm) { a.ShiftCX(Shl, R15) }, "49d3e7"},
		{"sbb %r11,%r11", func(a *Asm) { a.Borrow(R11) }, "4d1bdb"},
		{"popcnt %r12,%r13", func(a *Asm) { a.Count(R13, R12) }, "f34d0fb8ec"},
		{"bswap %r12d", func(a *Asm) { a.Swap(4, R12) }, "410fcc"},
		{"bswap %rax", func(a *Asm) { a.Swap(8, AX) }, "480fc8"},
		{"sete %r13b; movzbl %r13b,%r13d", func(a *Asm) { a.Set(Equal, R13) }, "410f94c5450fb6ed"},
		{"cmova %r11,%rax", func(a *Asm) { a.MoveIf(Above, AX, R11) }, "490f47c3"},
		{"jmp *(%r11,%rdx,8)", func(a *Asm) { a.JumpTo(Mem{R11, DX, 3, 0}) }, "41ff64d300"},
		{"ret", func(a *Asm) { a.Return() }, "c3"},
	} {
		var a Asm
		c.emit(&a)
		if got := hex.EncodeToString(a.Code); got != c.want {
			t.Errorf("%s is %s, want %s", c.text, got, c.want)
		}
	}
}

func TestBranches(t *testing.T) {
	var a Asm
	back, forth := a.Label(), a.Label()
	a.Place(back)
	a.JumpIf(NotEqual, forth)
	a.Jump(back)
	a.Place(forth)
	a.Finish()
	// jne .+4; jmp .-4
	if got, want := hex.EncodeToString(a.Code), "7502"+"ebfc"; got != want {
		t.Errorf("branches are %s, want %s", got, want)
	}
	if got := a.Position(forth); got != 4 {
		t.Errorf("the label is at %d, want 4", got)
	}
}

// Branches of all distances around the limit of short ones reach their labels, also
// those that are near only because others became short.
func TestDistances(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	short, long := 0, 0
	for range 2000 {
		var a Asm
		labels := make([]Label, 40)
		for i := range labels {
			labels[i] = a.Label()
		}
		to := map[byte]byte{} // number of the label after this branch: of its target
		for i := range labels {
			a.Place(labels[i])
			a.bytes(0xcc, byte(i)) // int3 marks a label
			for range rng.IntN(12) {
				a.Return()
			}
			to[byte(i)] = byte(rng.IntN(len(labels)))
			a.bytes(0xf4) // hlt marks a branch
			if l := labels[to[byte(i)]]; rng.IntN(2) == 0 {
				a.Jump(l)
			} else {
				a.JumpIf(Less, l)
			}
		}
		a.Finish()
		for i := range labels {
			at := a.Position(labels[i])
			if a.Code[at] != 0xcc || a.Code[at+1] != byte(i) {
				t.Fatalf("label %d is at %d of % x", i, at, a.Code)
			}
			for at += 2; a.Code[at] == 0xc3; at++ {
			}
			b := a.Code[at+1:] // behind hlt
			end, d := 0, 0
			switch {
			case b[0] == 0xeb || b[0] == 0x7c:
				end, d = at+3, int(int8(b[1]))
				short++
			case b[0] == 0xe9:
				end, d = at+6, int(int32(binary.LittleEndian.Uint32(b[1:])))
			case b[0] == 0x0f && b[1] == 0x8c:
				end, d = at+7, int(int32(binary.LittleEndian.Uint32(b[2:])))
			default:
				t.Fatalf("no branch at %d of % x", at, a.Code)
			}
			if b[0] == 0xe9 || b[0] == 0x0f {
				long++
				if d == int(int8(d)) {
					t.Fatalf("a branch by %d is long", d)
				}
			}
			if want := a.Position(labels[to[byte(i)]]); end+d != want {
				t.Fatalf("the branch at %d leads to %d, want %d", at+1, end+d, want)
			}
		}
	}
	if short < 10000 || long < 10000 {
		t.Errorf("%d branches are short and %d long", short, long)
	}
}
