// SPDX-License-Identifier: Apache-2.0

//go:build linux

package interp

import (
	"unsafe"

	asm "github.com/pauseless/pauseless/internal/amd64"
)

// enterWith executes code that has an address in scratch.
//
//go:noescape
func enterWith(code *byte, m *Machine, p unsafe.Pointer)

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

// buildNative does the work of build if there is code for it.
func (m *Machine) buildNative(h *emitted, b []byte) bool {
	if h.native == 0 {
		return false
	}
	enterWith(&m.prog.native.code[h.native], m, unsafe.Pointer(unsafe.SliceData(b)))
	return true
}

// fewSlots is the number of slots up to which Go copies them as fast as code that
// has to be entered.
const fewSlots = 30

// saving emits the code that copies slots to scratch.
func (t *translator) saving() int32 {
	return t.keeping(func(k *keptSet) {
		n := int32(0)
		for _, s := range k.whole {
			t.Load(8, asm.CX, mem(s))
			t.Store(8, asm.At(scratch, n), asm.CX)
			n += 8
		}
		for _, s := range k.half {
			t.Load(4, asm.CX, mem(s))
			t.Store(4, asm.At(scratch, n), asm.CX)
			n += 4
		}
	})
}

// restoring emits the inverse of saving.
func (t *translator) restoring() int32 {
	return t.keeping(func(k *keptSet) {
		for _, s := range k.zero {
			t.StoreImm(mem(s), 0)
		}
		n := int32(0)
		for _, s := range k.whole {
			t.Load(8, asm.CX, asm.At(scratch, n))
			t.Store(8, mem(s), asm.CX)
			n += 8
		}
		for _, s := range k.half {
			t.Load(4, asm.CX, asm.At(scratch, n))
			t.Store(8, mem(s), asm.CX)
			n += 4
		}
	})
}

// keeping emits code for the slots that are kept of the packet and of each of its
// valid headers.
func (t *translator) keeping(each func(*keptSet)) int32 {
	slots := t.prog.kept.slots()
	for i := range t.prog.keptOf {
		slots += t.prog.keptOf[i].slots()
	}
	if slots <= fewSlots {
		return -1
	}
	at := int32(len(t.Code))
	each(&t.prog.kept)
	t.OpImm(asm.Add, scratch, int32(t.prog.kept.bytes()))
	for i := range t.prog.keptOf {
		k := &t.prog.keptOf[i]
		invalid := t.Label()
		t.MemImm(asm.Cmp, mem(k.valid), 0)
		t.JumpIf(asm.Equal, invalid)
		each(k)
		t.OpImm(asm.Add, scratch, int32(k.bytes()))
		t.Place(invalid)
	}
	t.Return()
	return at
}

// building emits the code that makes the bytes of a header at scratch.
func (t *translator) building(h *header) int32 {
	if h.typ.words == nil {
		return 0
	}
	at := int32(len(t.Code))
	for i := range h.typ.words {
		w := &h.typ.words[i]
		t.Imm(asm.CX, 0)
		for j := range w.parts {
			p := &w.parts[j]
			t.Load(8, asm.AX, mem(slot(h.base)+slot(p.rel)))
			if p.right != 0 {
				t.Shift(asm.Shr, asm.AX, p.right)
			}
			switch {
			case p.mask > 1<<31-1 && p.mask != 1<<32-1:
				t.Imm(asm.DX, p.mask)
				t.Op(asm.And, asm.AX, asm.DX)
			default:
				t.mask(asm.AX, p.mask)
			}
			if p.left != 0 {
				t.Shift(asm.Shl, asm.AX, p.left)
			}
			t.Op(asm.Or, asm.CX, asm.AX)
		}
		t.Swap(8, asm.CX)
		t.Store(8, asm.At(scratch, int32(w.at)), asm.CX)
	}
	t.Return()
	return at
}
