// SPDX-License-Identifier: Apache-2.0

//go:build linux

package native

import (
	"slices"
	"unsafe"

	asm "github.com/pauseless/pauseless/internal/amd64"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// conclude sets Machine.found and returns to Go.
func (t *translator) conclude(found int32) {
	t.StoreImm(ofMachine(t.at.Found), found)
	t.give(-1)
}

// Registers of a deparser. Between find and the stores, stayed, moved and by are in
// Machine.gap if bytes move.
const (
	offset  = asm.AX  // find: where the next header is expected; store: where it is
	stayed  = asm.R12 // find: bytes of the headers that stay
	made    = asm.R15 // find: where the new headers end; store: address of the next one
	moved   = asm.BX  // the bytes from here move
	by      = asm.R13
	marked  = asm.CX // fields to store
	content = asm.DX
	window  = asm.R12
)

// emits reports whether there is code for a deparser of these headers.
func emits(list []ops.Emitted) bool {
	return !slices.ContainsFunc(list, func(e ops.Emitted) bool {
		slow := func(m ops.Move) bool { return m.Kind == ops.MoveSlow }
		return !e.Header.Simple || e.Header.Type.Varbit >= 0 || len(e.Header.Type.Stores) > 31 || slices.ContainsFunc(e.Header.Type.Stores, slow)
	})
}

// deparsing emits the code of a deparser, if it can have any: that at find, and that at
// place, whose label it returns.
func (t *translator) deparsing(g int) (place asm.Label) {
	list := t.prog.Deparse[g]
	if !t.deparses[g] {
		return 0
	}
	store, rewrite := t.Label(), t.Label()
	t.Place(t.finds[g])
	t.find(list, store, rewrite)
	t.Place(rewrite)
	t.conclude(ops.ToRewrite)

	place = t.Here()
	t.Load(8, made, ofMachine(t.at.GapStay))
	t.Op(asm.Add, made, data)
	t.Load(8, moved, ofMachine(t.at.GapFrom))
	t.Load(8, by, ofMachine(t.at.GapBy))
	t.Place(store)
	for i := range list {
		t.store(list[i].Header)
	}
	t.conclude(0)
	return place
}

// find emits code that goes through the headers in three states, each of which has
// code of its own: all valid ones so far are where they were parsed, the last one is
// new, or the last one moves. See shift.
func (t *translator) find(list []ops.Emitted, store, rewrite asm.Label) {
	payload := mem(ops.Slot(t.prog.Sys + ops.SysPayload))
	block := func(i, rel int) asm.Mem { return mem(ops.Slot(int(list[i].Base) + rel)) }
	var elsewhere, isNew, moves []asm.Label
	for range len(list) + 1 {
		elsewhere, isNew, moves = append(elsewhere, t.Label()), append(isNew, t.Label()), append(moves, t.Label())
	}
	t.Imm(offset, 1)
	for i := range list {
		next := t.Label()
		t.MemImm(asm.Cmp, block(i, ops.RelValid), 0)
		t.JumpIf(asm.Equal, next)
		t.OpMem(asm.Cmp, offset, block(i, ops.RelOffset))
		t.JumpIf(asm.NotEqual, elsewhere[i])
		t.OpImm(asm.Add, offset, list[i].Bytes)
		t.Place(next)
	}
	t.Load(8, moved, payload)
	t.Op(asm.Cmp, moved, length)
	t.JumpIf(asm.Greater, rewrite)
	t.Lea(made, asm.At(offset, -1))
	t.Op(asm.Cmp, made, moved)
	t.JumpIf(asm.Equal, store)
	for i := len(list); i >= 0; i-- {
		t.Place(elsewhere[i])
		t.Lea(made, asm.At(offset, -1))
		t.Move(stayed, made)
		t.Jump(isNew[i])
	}

	for i := range list {
		t.Place(isNew[i])
		fresh := t.Label()
		t.MemImm(asm.Cmp, block(i, ops.RelValid), 0)
		t.JumpIf(asm.Equal, isNew[i+1])
		t.Load(8, moved, block(i, ops.RelOffset))
		t.OpImm(asm.Sub, moved, 1)
		t.JumpIf(asm.Below, fresh)
		t.Lea(offset, asm.At(moved, list[i].Bytes))
		t.Jump(moves[i+1])
		t.Place(fresh)
		if list[i].Header.Type.Words == nil {
			t.Jump(rewrite)
		}
		t.OpImm(asm.Add, made, list[i].Bytes)
	}
	t.Place(isNew[len(list)])
	t.Load(8, moved, payload)
	t.Move(offset, moved)

	for i := range list {
		if i == 0 {
			t.Jump(moves[len(list)])
		}
		t.Place(moves[i])
		t.MemImm(asm.Cmp, block(i, ops.RelValid), 0)
		t.JumpIf(asm.Equal, moves[i+1])
		t.Load(8, content, block(i, ops.RelOffset))
		t.OpImm(asm.Sub, content, 1)
		t.Op(asm.Cmp, content, offset)
		t.JumpIf(asm.NotEqual, rewrite)
		t.OpImm(asm.Add, offset, list[i].Bytes)
	}
	t.Place(moves[len(list)])
	t.OpMem(asm.Cmp, offset, payload)
	t.JumpIf(asm.NotEqual, rewrite)
	t.Op(asm.Cmp, offset, length)
	t.JumpIf(asm.Greater, rewrite)
	t.Op(asm.Cmp, moved, stayed)
	t.JumpIf(asm.Less, rewrite)
	t.Move(by, made)
	t.Op(asm.Sub, by, moved)
	byGo := t.Label()
	t.move(byGo)
	t.Lea(made, asm.Mem{Base: data, Index: stayed})
	t.Jump(store)
	t.Place(byGo)
	t.Store(8, ofMachine(t.at.GapStay), stayed)
	t.Store(8, ofMachine(t.at.GapFrom), moved)
	t.Store(8, ofMachine(t.at.GapBy), by)
	t.conclude(ops.ToMove)
}

// move emits code that does the work of Machine.move for 16 to 64 bytes, usually the
// headers behind the gap: simulated frames have no payload in memory. It loads all of
// them before it stores any, as both ranges may overlap.
func (t *translator) move(byGo asm.Label) {
	const frame, from, size, end = asm.AX, asm.AX, asm.CX, asm.DX
	const ( // parts of a slice, behind its address
		lengthOf   = int32(unsafe.Sizeof(uintptr(0)))
		capacityOf = 2 * lengthOf
	)
	t.Move(size, length)
	t.Op(asm.Sub, size, moved)
	t.Lea(end, asm.At(size, -16))
	t.OpImm(asm.Cmp, end, 64-16)
	t.JumpIf(asm.Above, byGo)
	t.Lea(end, asm.Mem{Base: length, Index: by})
	t.OpMem(asm.Cmp, end, ofMachine(t.at.Data+capacityOf))
	t.JumpIf(asm.Above, byGo)
	t.Store(8, ofMachine(t.at.Data+lengthOf), end)
	t.Load(8, frame, ofMachine(t.at.Frame))
	t.Store(8, asm.At(frame, int32(unsafe.Offsetof(packet.Frame{}.Data))+lengthOf), end)

	t.Lea(from, asm.Mem{Base: data, Index: moved})
	t.Lea(end, asm.Mem{Base: from, Index: size})
	few, done := t.Label(), t.Label()
	t.OpImm(asm.Cmp, size, 32)
	t.JumpIf(asm.NotAbove, few)
	t.LoadPair(0, asm.At(from, 0))
	t.LoadPair(1, asm.At(from, 16))
	t.LoadPair(2, asm.At(end, -32))
	t.LoadPair(3, asm.At(end, -16))
	t.StorePair(asm.Mem{Base: from, Index: by}, 0)
	t.StorePair(asm.Mem{Base: from, Index: by, Disp: 16}, 1)
	t.StorePair(asm.Mem{Base: end, Index: by, Disp: -32}, 2)
	t.StorePair(asm.Mem{Base: end, Index: by, Disp: -16}, 3)
	t.Jump(done)
	t.Place(few)
	t.LoadPair(0, asm.At(from, 0))
	t.LoadPair(1, asm.At(end, -16))
	t.StorePair(asm.Mem{Base: from, Index: by}, 0)
	t.StorePair(asm.Mem{Base: end, Index: by, Disp: -16}, 1)
	t.Place(done)
}

// store emits code that makes a header if it is new, or writes its changed fields.
func (t *translator) store(h *ops.Header) {
	block := func(rel int) asm.Mem { return mem(ops.Slot(h.Base + rel)) }
	fresh, next := t.Label(), t.Label()
	t.MemImm(asm.Cmp, block(ops.RelValid), 0)
	t.JumpIf(asm.Equal, next)
	t.Load(8, offset, block(ops.RelOffset))
	t.OpImm(asm.Sub, offset, 1)
	t.JumpIf(asm.Below, fresh)
	if n := len(h.Type.Stores); n > 0 {
		stays := t.Label()
		t.Load(8, marked, block(ops.RelDirty))
		t.Test(marked)
		t.JumpIf(asm.Equal, next)
		t.Op(asm.Cmp, offset, moved)
		t.JumpIf(asm.Less, stays)
		t.Op(asm.Add, offset, by)
		t.Place(stays)
		t.storeFields(h, 0, n)
	}
	t.Jump(next)
	t.Place(fresh)
	if h.Type.Words != nil {
		t.build(h)
		t.OpImm(asm.Add, made, int32(h.Type.Bits/8))
	}
	t.Place(next)
}

// storeFields emits code for the stores first…end−1 of a header. It halves them until
// it has found the marked ones.
func (t *translator) storeFields(h *ops.Header, first, end int) {
	if end-first > 1 {
		for _, part := range [][2]int{{first, (first + end) / 2}, {(first + end) / 2, end}} {
			none := t.Label()
			t.TestImm(marked, int32(ops.MaskOf(part[1]-part[0])<<part[0]))
			t.JumpIf(asm.Equal, none)
			t.storeFields(h, part[0], part[1])
			t.Place(none)
		}
		return
	}
	m := &h.Type.Stores[first]
	bytes := 1 << m.Kind
	at := asm.Mem{Base: data, Index: offset, Disp: int32(m.Off)}
	swap := func(r asm.Reg) {
		switch bytes {
		case 2:
			t.Swap(4, r)
			t.Shift(asm.Shr, r, 16)
		case 4, 8:
			t.Swap(bytes, r)
		}
	}
	t.Load(8, content, mem(ops.Slot(h.Base)+ops.Slot(m.Rel)))
	t.mask(content, m.Mask)
	t.Shift(asm.Shl, content, m.Shift)
	swap(content)
	if bits := m.Mask << m.Shift; bits != ops.MaskOf(8*bytes) { // others of these bytes stay
		t.Load(bytes, window, at)
		swap(window)
		t.opConst(asm.And, window, ^bits)
		swap(window)
		t.Op(asm.Or, content, window)
	}
	t.Store(bytes, at, content)
}

// build emits code that makes the bytes of a new header.
func (t *translator) build(h *ops.Header) {
	for i := range h.Type.Words {
		w := &h.Type.Words[i]
		t.Imm(asm.CX, 0)
		for j := range w.Parts {
			p := &w.Parts[j]
			t.Load(8, content, mem(ops.Slot(h.Base)+ops.Slot(p.Rel)))
			if p.Right != 0 {
				t.Shift(asm.Shr, content, p.Right)
			}
			t.mask(content, p.Mask)
			if p.Left != 0 {
				t.Shift(asm.Shl, content, p.Left)
			}
			t.Op(asm.Or, asm.CX, content)
		}
		t.Swap(8, asm.CX)
		t.Store(8, asm.At(made, int32(w.At)), asm.CX)
	}
}
