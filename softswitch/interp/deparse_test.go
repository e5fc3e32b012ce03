// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// headers are a deparser's headers with random fields and values.
type headers struct {
	prog          *ops.Program
	f             []uint64
	data          []byte
	payload, size int // bytes of the parsed headers, and of the valid ones
}

func randomHeaders(rng *rand.Rand) *headers {
	p := &ops.Program{Sys: 0, Slots: ops.SysSlots, Arch: &ops.V1Model, Code: []ops.Instr{{Op: ops.End}}}
	var list []ops.Emitted
	for range 1 + rng.IntN(5) {
		typ := &ops.HeaderType{Varbit: -1}
		typ.Size = typ.RelFields()
		for left := 8 * (1 + rng.IntN(30)); left > 0; {
			w := min(left, 1+rng.IntN(64))
			f := ops.FieldType{Bit: typ.Bits, Width: w, Rel: -1, Use: ops.UseWrite}
			if rng.IntN(8) > 0 { // otherwise the program does not access it
				f.Rel = typ.Size
				typ.Size++
			}
			typ.Fields = append(typ.Fields, f)
			typ.Bits += w
			left -= w
		}
		typ.Plan()
		h := &ops.Header{Type: typ, Base: p.Slots, Simple: len(typ.Stores) <= 64}
		p.Slots += typ.Size
		list = append(list, ops.Emitted{Base: int32(h.Base), Bytes: int32(typ.Bits / 8), Stores: ops.AllBits, Header: h})
	}
	h := &headers{prog: p, data: make([]byte, 300), f: make([]uint64, p.Slots)}
	for i := range h.data {
		h.data[i] = byte(rng.Uint32())
	}
	for i := range h.f {
		h.f[i] = rng.Uint64()
	}
	behind := 0
	for i := range list {
		block := h.f[list[i].Base:]
		block[ops.RelValid], block[ops.RelOffset] = uint64(min(1, rng.IntN(6))), 0
		block[ops.RelDirty] &= uint64(1)<<len(list[i].Header.Type.Stores) - 1
		switch rng.IntN(8) {
		case 0, 1: // made by the program
		case 2: // a copy of another header's bytes
			block[ops.RelOffset] = uint64(1 + rng.IntN(h.payload+1))
			behind = 30
		default:
			block[ops.RelOffset] = uint64(h.payload + 1)
			h.payload += int(list[i].Bytes)
		}
		if block[ops.RelValid] != 0 {
			h.size += int(list[i].Bytes)
		}
	}
	h.f[ops.SysPayload] = uint64(h.payload)
	h.data = h.data[:h.payload+behind+rng.IntN(100)]
	p.Deparse[ops.Out] = list
	return h
}

// machine returns a machine that has parsed the packet.
func (h *headers) machine(capacity int) *Machine {
	frame := &packet.Frame{Data: append(make([]byte, 0, capacity), h.data...), Elided: 7}
	return &Machine{prog: h.prog, phases: newPhases(h.prog), f: append([]uint64(nil), h.f...), frame: frame, data: frame.Data, valid: make([]int32, len(h.prog.Deparse[ops.Out]))}
}

// Moving the bytes after the headers gives the same packet as writing all
// headers, for every insertion, removal, change or copy of headers.
func TestShiftMatchesRewrite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	moved := 0
	for range 20000 {
		h := randomHeaders(rng)
		list := h.prog.Deparse[ops.Out]
		capacity := 60 + rng.IntN(400)
		got, want := h.machine(capacity), h.machine(capacity)
		var valid []int32
		for i := range list {
			if h.f[list[i].Base+ops.RelValid] != 0 {
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
