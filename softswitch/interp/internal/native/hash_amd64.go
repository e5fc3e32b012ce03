// SPDX-License-Identifier: Apache-2.0

//go:build linux

package native

import (
	"math/bits"
	"unsafe"

	asm "github.com/pauseless/pauseless/internal/amd64"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// hash translates a CRC over fields of whole bytes: what quickCRC does. It reports
// whether Go executes the instruction, always or if a field's header is not valid.
func (t *translator) hash(i int, in *ops.Instr) (returned bool) {
	k := &t.prog.Calcs[in.Imm]
	size, constant := t.constant(in.B)
	if k.Words == nil || !constant || bits.OnesCount64(size) != 1 {
		t.give(int32(i))
		return true
	}
	crc, x, y := asm.AX, asm.CX, asm.DX
	t.forgetAll() // frees the pool
	for _, v := range k.Valid {
		t.MemImm(asm.Cmp, mem(v), 0)
		t.JumpIf(asm.Equal, t.stub(func() { t.give(int32(i)) }))
	}
	c := k.Algo.CRC
	const tableBytes = int32(unsafe.Sizeof(c.Tables[0]))
	// lookup loads what the low byte of r contributes if n bytes follow it.
	lookup := func(d, r asm.Reg, n int32) {
		t.Low(1, d, r)
		t.Load(4, d, asm.Mem{Base: scratch, Index: d, Scale: 2, Disp: n * tableBytes})
	}
	t.memoryAt(scratch, uint64(uintptr(unsafe.Pointer(&c.Tables)))) // a package's variable, which stays where it is
	t.Imm(crc, uint64(c.Invert))
	for _, w := range k.Words {
		// The bytes of a slot are in memory in the order of the processor, the lowest
		// first.
		at, n := 8*int32(w.Slot), int32(w.Bytes)
		for ; n >= 4; n -= 4 {
			t.Load(4, x, asm.At(slots, at+n-4))
			t.Swap(4, x)
			t.Op(asm.Xor, crc, x)
			lookup(y, crc, 3)
			for byte := range int32(3) {
				t.Shift(asm.Shr, crc, 8)
				lookup(x, crc, 2-byte)
				t.Op(asm.Xor, y, x)
			}
			t.Move(crc, y)
		}
		for ; n > 0; n-- {
			t.Load(1, x, asm.At(slots, at+n-1))
			t.Op(asm.Xor, x, crc)
			lookup(x, x, 0)
			t.Shift(asm.Shr, crc, 8)
			t.Op(asm.Xor, crc, x)
		}
	}
	if c.Invert != 0 {
		t.Not(crc)
		t.Low(4, crc, crc)
	}
	t.mask(crc, size-1)
	if a, ok := t.constant(in.A); !ok || a != 0 {
		t.op(asm.Add, crc, in.A)
	}
	t.set(in.D, crc)
	return len(k.Valid) != 0
}
