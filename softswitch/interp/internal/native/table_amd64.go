// SPDX-License-Identifier: Apache-2.0

//go:build linux

package native

import (
	"math"

	"golang.org/x/sys/cpu"

	asm "github.com/pauseless/pauseless/internal/amd64"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"github.com/pauseless/pauseless/softswitch/table"
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
		found := t.Label() // x is what the slot has, less one
		other := t.stub(func() {
			if info.Kind != "lpm" || !cpu.X86.HasPOPCNT {
				t.give(int32(i))
				return
			}
			t.route(info, field)
			t.Jump(found)
		})
		slot := t.recentSlot(info)
		t.Load(8, x, field(t.at.Recent))
		t.Load(8, x, asm.Mem{Base: x, Index: slot, Scale: 3, Disp: t.at.RecentSlots})
		t.Move(scratch, x)
		t.Shift(asm.Shr, scratch, 32)
		t.Op(asm.Cmp, scratch, key)
		t.JumpIf(asm.NotEqual, other)
		t.Low(4, x, x)
		t.OpImm(asm.Sub, x, 1)
		t.JumpIf(asm.Below, other)
		t.Place(found)
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

// recentSlot returns the register with the slot of the key in CX: that or scratch.
func (t *translator) recentSlot(info *ops.TableInfo) asm.Reg {
	if info.Width <= ops.RecentBits {
		return asm.CX
	}
	t.Imm(scratch, ops.RecentFactor)
	t.Mul(scratch, asm.CX)
	t.Shift(asm.Shr, scratch, 64-ops.RecentBits)
	return scratch
}

// route looks the key in CX up in the LPM32 of the table whose fields are those of AX, as
// its Lookup1 does, and puts the record into the key's slot of recent. DX is then what the
// slot has, less one.
func (t *translator) route(info *ops.TableInfo, field func(offset int32) asm.Mem) {
	const slot, key, lpm, node, word = asm.DX, asm.BX, asm.R15, asm.R13, asm.R12
	shift := uint8(32 - info.Width)
	at := func(base asm.Reg, scale uint8, disp int32) asm.Mem {
		return asm.Mem{Base: base, Index: slot, Scale: scale, Disp: disp}
	}
	leaf, known := t.Label(), t.Label()
	unlessNode := func() {
		t.TestImm(slot, math.MinInt32)
		t.JumpIf(asm.Equal, leaf)
	}
	part := func(from uint8) { // eight bits of the key, into scratch
		t.Move(scratch, key)
		if from > 0 {
			t.Shift(asm.Shr, scratch, from)
		}
		t.Low(1, scratch, scratch)
	}
	t.Move(key, asm.CX)
	if shift > 0 {
		t.Shift(asm.Shl, key, shift)
	}
	t.Load(8, lpm, field(t.at.LPM32))
	part(24)
	t.Load(4, slot, asm.Mem{Base: lpm, Index: scratch, Scale: 2, Disp: t.at.First})
	unlessNode()
	part(16)
	t.Shift(asm.Shl, slot, 8)
	t.Low(4, slot, slot)
	t.Op(asm.Or, slot, scratch)
	t.Load(8, node, asm.At(lpm, t.at.Wide))
	t.Load(4, slot, at(node, 2, 0))
	for _, from := range []uint8{8, 0} {
		unlessNode()
		t.Shift(asm.Shl, slot, 33)
		t.Shift(asm.Shr, slot, 33-table.NodeShift)
		t.Load(8, node, asm.At(lpm, t.at.Words))
		t.Op(asm.Add, node, slot)
		part(from)
		t.Move(slot, scratch)
		t.Shift(asm.Shr, slot, 5)
		t.Load(4, word, at(node, 2, 0))
		t.Move(asm.CX, scratch) // the bits up to that of the slot count
		t.Not(asm.CX)
		t.OpImm(asm.And, asm.CX, 31)
		t.ShiftCX(asm.Shl, word)
		t.Low(4, word, word)
		t.Count(word, word)
		t.Load(1, slot, at(node, 0, table.NodeSums))
		t.Op(asm.Add, slot, word)
		t.Load(4, slot, at(node, 2, table.NodeRuns-4))
	}
	t.Place(leaf)
	t.Move(asm.CX, key)
	if shift > 0 {
		t.Shift(asm.Shr, asm.CX, shift)
	}
	t.OpImm(asm.Sub, slot, 1)
	t.Lea(word, asm.At(slot, 2)) // 1: no entry
	t.JumpIf(asm.Below, known)
	t.Load(8, node, field(t.at.RecordOf))
	t.Load(4, word, at(node, 2, 0))
	t.OpImm(asm.Add, word, 2)
	t.Place(known)
	index := t.recentSlot(info)
	t.Load(8, node, field(t.at.Recent))
	t.Move(slot, asm.CX)
	t.Shift(asm.Shl, slot, 32)
	t.Op(asm.Or, slot, word)
	t.Store(8, asm.Mem{Base: node, Index: index, Scale: 3, Disp: t.at.RecentSlots}, slot)
	t.Imm(scratch, 1)
	t.Store(1, asm.At(node, t.at.RecentUsed), scratch)
	t.Move(slot, word)
	t.OpImm(asm.Sub, slot, 1)
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
