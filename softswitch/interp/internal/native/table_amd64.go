// SPDX-License-Identifier: Apache-2.0

//go:build linux

package native

import (
	asm "github.com/pauseless/pauseless/internal/amd64"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// apply translates a table application: what applyTable does if there is no key, or
// the key is an index or was looked up recently. Otherwise Go applies the table.
func (t *translator) apply(i int, info *ops.TableInfo, number int32) {
	direct, recent, keyless := info.IsDirect(), info.IsRecent(), info.IsKeyless()
	if !direct && !recent && !keyless {
		t.give(int32(i))
		return
	}
	key, tab, x := asm.CX, asm.AX, asm.DX
	t.key(key, info.Parts)
	t.forgetAll() // frees the pool
	t.Load(8, tab, ofMachine(t.at.Tables))
	field := func(offset int32) asm.Mem { return asm.At(tab, number*t.at.TableSize+offset) }
	act := t.Label() // x is where the action and its arguments are
	miss := func() {
		t.Inc(field(t.at.Lookups))
		t.Load(8, x, field(t.at.Missed))
	}
	var absent asm.Label
	if !keyless {
		absent = t.stub(func() {
			miss()
			t.Jump(act)
		})
	}
	switch {
	case keyless:
		miss()
	case direct:
		t.Load(8, x, field(t.at.Direct))
		t.Load(4, x, asm.Mem{Base: x, Index: key, Scale: 2})
	default:
		other := t.stub(func() { t.give(int32(i)) })
		slot := key
		if info.Width > ops.RecentBits {
			slot = scratch
			t.Imm(slot, ops.RecentFactor)
			t.Mul(slot, key)
			t.Shift(asm.Shr, slot, 64-ops.RecentBits)
		}
		t.Load(8, x, field(t.at.Recent))
		t.Load(8, x, asm.Mem{Base: x, Index: slot, Scale: 3, Disp: t.at.RecentSlots})
		t.Move(scratch, x)
		t.Shift(asm.Shr, scratch, 32)
		t.Op(asm.Cmp, scratch, key)
		t.JumpIf(asm.NotEqual, other)
		t.Low(4, x, x)
		t.OpImm(asm.Sub, x, 1)
		t.JumpIf(asm.Below, other)
	}
	args := t.prog.ArgsOf(info)
	if !keyless {
		t.OpImm(asm.Sub, x, 1)
		t.JumpIf(asm.Below, absent)
		t.Inc(field(t.at.Lookups))
		t.Inc(field(t.at.Hits))
		t.MulImm(x, x, int32(8*(args+1)))
		t.OpMem(asm.Add, x, field(t.at.Records))
	}
	t.Place(act)
	for k := range args {
		t.Load(8, key, asm.At(x, int32(8*(k+1))))
		t.Store(8, mem(ops.Slot(t.prog.Params+k)), key)
	}
	t.Load(8, x, asm.At(x, 0))
	t.memoryAt(scratch, t.address)
	t.JumpTo(asm.Mem{Base: scratch, Index: x, Scale: 3})
}

// key packs a key of one limb, as key1 does. The masks of several parts have less than
// RecentWidth bits, so that mask needs no register for them.
func (t *translator) key(key asm.Reg, parts []ops.KeyPart) {
	for k := range parts {
		part, r := &parts[k], scratch
		if k == 0 {
			r = key
		}
		t.copyTo(r, part.Slot)
		t.mask(r, part.Mask)
		if part.Valid != ops.NoValid {
			present := t.Label()
			t.MemImm(asm.Cmp, mem(part.Valid), 0)
			t.JumpIf(asm.NotEqual, present)
			t.Imm(r, 0)
			t.Place(present)
		}
		if part.Shift != 0 {
			t.Shift(asm.Shl, r, uint8(part.Shift))
		}
		if k > 0 {
			t.Op(asm.Or, key, r)
		}
	}
}
