// SPDX-License-Identifier: Apache-2.0

//go:build linux

package native

import (
	asm "github.com/pauseless/pauseless/internal/amd64"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// clearing emits the code that clears slots for a new packet.
func (t *translator) clearing() asm.Label {
	at := t.Here()
	t.clear()
	t.Return()
	return at
}

func (t *translator) clear() {
	t.ZeroPair(0)
	for _, s := range t.prog.Pairs {
		t.StorePair(mem(s), 0)
	}
}

// fewSlots is the number of slots up to which Go copies them as fast as code that
// has to be entered.
const fewSlots = 8

// saving emits the code that copies slots to scratch.
func (t *translator) saving() asm.Label {
	return t.keeping(func(k *ops.KeptSet) {
		n := int32(0)
		for _, s := range k.Whole {
			t.Load(8, asm.CX, mem(s))
			t.Store(8, asm.At(scratch, n), asm.CX)
			n += 8
		}
		for _, s := range k.Half {
			t.Load(4, asm.CX, mem(s))
			t.Store(4, asm.At(scratch, n), asm.CX)
			n += 4
		}
	})
}

// restoring emits the inverse of saving.
func (t *translator) restoring() asm.Label {
	return t.keeping(func(k *ops.KeptSet) {
		for _, s := range k.Zero {
			t.StoreImm(mem(s), 0)
		}
		n := int32(0)
		for _, s := range k.Whole {
			t.Load(8, asm.CX, asm.At(scratch, n))
			t.Store(8, mem(s), asm.CX)
			n += 8
		}
		for _, s := range k.Half {
			t.Load(4, asm.CX, asm.At(scratch, n))
			t.Store(8, mem(s), asm.CX)
			n += 4
		}
	})
}

// keeping emits code for the slots that are kept of the packet and of each of its
// valid headers. If they are few it emits none, and returns a label without a position.
func (t *translator) keeping(each func(*ops.KeptSet)) asm.Label {
	slots := t.prog.Kept.Slots()
	for i := range t.prog.KeptOf {
		slots += t.prog.KeptOf[i].Slots()
	}
	if slots <= fewSlots {
		return t.Label()
	}
	at := t.Here()
	each(&t.prog.Kept)
	t.OpImm(asm.Add, scratch, int32(t.prog.Kept.Bytes()))
	for i := range t.prog.KeptOf {
		k := &t.prog.KeptOf[i]
		invalid := t.Label()
		t.MemImm(asm.Cmp, mem(k.Valid), 0)
		t.JumpIf(asm.Equal, invalid)
		each(k)
		t.OpImm(asm.Add, scratch, int32(k.Bytes()))
		t.Place(invalid)
	}
	t.Return()
	return at
}
