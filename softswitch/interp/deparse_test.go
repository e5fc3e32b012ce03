// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
)

// headers are a deparser's headers with random fields and values.
type headers struct {
	prog          *Program
	f             []uint64
	data          []byte
	payload, size int // bytes of the parsed headers, and of the valid ones
}

func randomHeaders(rng *rand.Rand) *headers {
	p := &Program{sys: 0, slots: sysSlots, arch: &v1Model, code: []instr{{op: iEnd}}}
	var list []emitted
	for range 1 + rng.IntN(5) {
		typ := &headerType{varbit: -1}
		typ.size = typ.relFields()
		for left := 8 * (1 + rng.IntN(30)); left > 0; {
			w := min(left, 1+rng.IntN(64))
			f := fieldType{bit: typ.bits, width: w, rel: -1, use: useWrite}
			if rng.IntN(8) > 0 { // otherwise the program does not access it
				f.rel = typ.size
				typ.size++
			}
			typ.fields = append(typ.fields, f)
			typ.bits += w
			left -= w
		}
		typ.plan()
		h := &header{typ: typ, base: p.slots, simple: len(typ.stores) <= 64}
		p.slots += typ.size
		list = append(list, emitted{base: int32(h.base), bytes: int32(typ.bits / 8), stores: allBits, h: h})
	}
	h := &headers{prog: p, data: make([]byte, 300), f: make([]uint64, p.slots)}
	for i := range h.data {
		h.data[i] = byte(rng.Uint32())
	}
	for i := range h.f {
		h.f[i] = rng.Uint64()
	}
	behind := 0
	for i := range list {
		block := h.f[list[i].base:]
		block[relValid], block[relOffset] = uint64(min(1, rng.IntN(6))), 0
		block[relDirty] &= uint64(1)<<len(list[i].h.typ.stores) - 1
		switch rng.IntN(8) {
		case 0, 1: // made by the program
		case 2: // a copy of another header's bytes
			block[relOffset] = uint64(1 + rng.IntN(h.payload+1))
			behind = 30
		default:
			block[relOffset] = uint64(h.payload + 1)
			h.payload += int(list[i].bytes)
		}
		if block[relValid] != 0 {
			h.size += int(list[i].bytes)
		}
	}
	h.f[sysPayload] = uint64(h.payload)
	h.data = h.data[:h.payload+behind+rng.IntN(100)]
	p.deparse[out] = list
	return h
}

// machine returns a machine that has parsed the packet.
func (h *headers) machine(capacity int) *Machine {
	frame := &packet.Frame{Data: append(make([]byte, 0, capacity), h.data...), Elided: 7}
	return &Machine{prog: h.prog, phases: newPhases(h.prog), f: append([]uint64(nil), h.f...), frame: frame, data: frame.Data, valid: make([]int32, len(h.prog.deparse[out]))}
}

// Moving the bytes after the headers gives the same packet as writing all
// headers, for every insertion, removal, change or copy of headers.
func TestShiftMatchesRewrite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	moved := 0
	for range 20000 {
		h := randomHeaders(rng)
		list := h.prog.deparse[out]
		capacity := 60 + rng.IntN(400)
		got, want := h.machine(capacity), h.machine(capacity)
		var valid []int32
		for i := range list {
			if h.f[list[i].base+relValid] != 0 {
				valid = append(valid, int32(i))
			}
		}
		if !got.shift(list, valid, h.payload) {
			continue
		}
		moved++
		want.rewrite(list, h.size, h.payload)
		if !bytes.Equal(got.frame.Data, want.frame.Data) || !bytes.Equal(got.data, want.data) {
			t.Fatalf("moved\n%x\nwritten anew\n%x\nfrom\n%x\nslots %v", got.frame.Data, want.frame.Data, h.data, h.f)
		}
	}
	if moved < 5000 {
		t.Errorf("only %d of 20000 packets were made by moving", moved)
	}
}
