// SPDX-License-Identifier: Apache-2.0

//go:build linux

package interp

import (
	"slices"
	"unsafe"

	asm "github.com/pauseless/pauseless/internal/amd64"
	"github.com/pauseless/pauseless/internal/packet"
)

// conclude sets Machine.found and returns to Go.
func (t *translator) conclude(found int32) {
	t.StoreImm(ofMachine(t.at.found), found)
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
func emits(list []emitted) bool {
	return !slices.ContainsFunc(list, func(e emitted) bool {
		slow := func(m move) bool { return m.kind == moveSlow }
		return !e.h.simple || e.h.typ.varbit >= 0 || len(e.h.typ.stores) > 31 || slices.ContainsFunc(e.h.typ.stores, slow)
	})
}

// deparsing emits the code of a deparser, if it can have any: that at find, and that at
// place, whose label it returns.
func (t *translator) deparsing(g int) (place asm.Label) {
	list := t.prog.deparse[g]
	if !t.deparses[g] {
		return 0
	}
	store, rewrite := t.Label(), t.Label()
	t.Place(t.finds[g])
	t.find(list, store, rewrite)
	t.Place(rewrite)
	t.conclude(toRewrite)

	place = t.Here()
	t.Load(8, made, ofMachine(t.at.gapStay))
	t.Op(asm.Add, made, data)
	t.Load(8, moved, ofMachine(t.at.gapFrom))
	t.Load(8, by, ofMachine(t.at.gapBy))
	t.Place(store)
	for i := range list {
		t.store(list[i].h)
	}
	t.conclude(0)
	return place
}

// find emits code that goes through the headers in three states, each of which has
// code of its own: all valid ones so far are where they were parsed, the last one is
// new, or the last one moves. See shift.
func (t *translator) find(list []emitted, store, rewrite asm.Label) {
	payload := mem(slot(t.prog.sys + sysPayload))
	block := func(i, rel int) asm.Mem { return mem(slot(int(list[i].base) + rel)) }
	var elsewhere, isNew, moves []asm.Label
	for range len(list) + 1 {
		elsewhere, isNew, moves = append(elsewhere, t.Label()), append(isNew, t.Label()), append(moves, t.Label())
	}
	t.Imm(offset, 1)
	for i := range list {
		next := t.Label()
		t.MemImm(asm.Cmp, block(i, relValid), 0)
		t.JumpIf(asm.Equal, next)
		t.OpMem(asm.Cmp, offset, block(i, relOffset))
		t.JumpIf(asm.NotEqual, elsewhere[i])
		t.OpImm(asm.Add, offset, list[i].bytes)
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
		t.MemImm(asm.Cmp, block(i, relValid), 0)
		t.JumpIf(asm.Equal, isNew[i+1])
		t.Load(8, moved, block(i, relOffset))
		t.OpImm(asm.Sub, moved, 1)
		t.JumpIf(asm.Below, fresh)
		t.Lea(offset, asm.At(moved, list[i].bytes))
		t.Jump(moves[i+1])
		t.Place(fresh)
		if list[i].h.typ.words == nil {
			t.Jump(rewrite)
		}
		t.OpImm(asm.Add, made, list[i].bytes)
	}
	t.Place(isNew[len(list)])
	t.Load(8, moved, payload)
	t.Move(offset, moved)

	for i := range list {
		if i == 0 {
			t.Jump(moves[len(list)])
		}
		t.Place(moves[i])
		t.MemImm(asm.Cmp, block(i, relValid), 0)
		t.JumpIf(asm.Equal, moves[i+1])
		t.Load(8, content, block(i, relOffset))
		t.OpImm(asm.Sub, content, 1)
		t.Op(asm.Cmp, content, offset)
		t.JumpIf(asm.NotEqual, rewrite)
		t.OpImm(asm.Add, offset, list[i].bytes)
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
	t.Store(8, ofMachine(t.at.gapStay), stayed)
	t.Store(8, ofMachine(t.at.gapFrom), moved)
	t.Store(8, ofMachine(t.at.gapBy), by)
	t.conclude(toMove)
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
	t.OpMem(asm.Cmp, end, ofMachine(t.at.data+capacityOf))
	t.JumpIf(asm.Above, byGo)
	t.Store(8, ofMachine(t.at.data+lengthOf), end)
	t.Load(8, frame, ofMachine(t.at.frame))
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
func (t *translator) store(h *header) {
	block := func(rel int) asm.Mem { return mem(slot(h.base + rel)) }
	fresh, next := t.Label(), t.Label()
	t.MemImm(asm.Cmp, block(relValid), 0)
	t.JumpIf(asm.Equal, next)
	t.Load(8, offset, block(relOffset))
	t.OpImm(asm.Sub, offset, 1)
	t.JumpIf(asm.Below, fresh)
	if n := len(h.typ.stores); n > 0 {
		stays := t.Label()
		t.Load(8, marked, block(relDirty))
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
	if h.typ.words != nil {
		t.build(h)
		t.OpImm(asm.Add, made, int32(h.typ.bits/8))
	}
	t.Place(next)
}

// storeFields emits code for the stores first…end−1 of a header. It halves them until
// it has found the marked ones.
func (t *translator) storeFields(h *header, first, end int) {
	if end-first > 1 {
		for _, part := range [][2]int{{first, (first + end) / 2}, {(first + end) / 2, end}} {
			none := t.Label()
			t.TestImm(marked, int32(maskOf(part[1]-part[0])<<part[0]))
			t.JumpIf(asm.Equal, none)
			t.storeFields(h, part[0], part[1])
			t.Place(none)
		}
		return
	}
	m := &h.typ.stores[first]
	bytes := 1 << m.kind
	at := asm.Mem{Base: data, Index: offset, Disp: int32(m.off)}
	swap := func(r asm.Reg) {
		switch bytes {
		case 2:
			t.Swap(4, r)
			t.Shift(asm.Shr, r, 16)
		case 4, 8:
			t.Swap(bytes, r)
		}
	}
	t.Load(8, content, mem(slot(h.base)+slot(m.rel)))
	t.mask(content, m.mask)
	t.Shift(asm.Shl, content, m.shift)
	swap(content)
	if bits := m.mask << m.shift; bits != maskOf(8*bytes) { // others of these bytes stay
		t.Load(bytes, window, at)
		swap(window)
		t.opConst(asm.And, window, ^bits)
		swap(window)
		t.Op(asm.Or, content, window)
	}
	t.Store(bytes, at, content)
}

// build emits code that makes the bytes of a new header.
func (t *translator) build(h *header) {
	for i := range h.typ.words {
		w := &h.typ.words[i]
		t.Imm(asm.CX, 0)
		for j := range w.parts {
			p := &w.parts[j]
			t.Load(8, content, mem(slot(h.base)+slot(p.rel)))
			if p.right != 0 {
				t.Shift(asm.Shr, content, p.right)
			}
			t.mask(content, p.mask)
			if p.left != 0 {
				t.Shift(asm.Shl, content, p.left)
			}
			t.Op(asm.Or, asm.CX, content)
		}
		t.Swap(8, asm.CX)
		t.Store(8, asm.At(made, int32(w.at)), asm.CX)
	}
}
