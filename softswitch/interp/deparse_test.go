// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
)

// Moving the bytes after the headers gives the same packet as writing all
// headers, for every insertion, removal, change or copy of headers.
func TestShiftMatchesRewrite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	moved := 0
	for range 20000 {
		p := &Program{sys: 0, slots: sysSlots}
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
		data := make([]byte, 200)
		f := make([]uint64, p.slots)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		for i := range f {
			f[i] = rng.Uint64()
		}
		payload, size := 0, 0
		for i := range list {
			h := list[i].h
			block := f[h.base:]
			block[relValid], block[relOffset] = uint64(min(1, rng.IntN(6))), 0
			block[relDirty] &= uint64(1)<<len(h.typ.stores) - 1
			switch rng.IntN(8) {
			case 0, 1: // made by the program
			case 2: // a copy of another header's bytes
				block[relOffset] = uint64(1 + rng.IntN(payload+1))
			default:
				block[relOffset] = uint64(payload + 1)
				payload += int(list[i].bytes)
			}
			if block[relValid] != 0 {
				size += int(list[i].bytes)
			}
		}
		var got, want *Machine
		for _, m := range []**Machine{&got, &want} {
			frame := &packet.Frame{Data: append(make([]byte, 0, 60+rng.IntN(400)), data...), Elided: 7}
			*m = &Machine{prog: p, f: append([]uint64(nil), f...), frame: frame, data: frame.Data}
		}
		var valid []int32
		for i := range list {
			if f[list[i].base+relValid] != 0 {
				valid = append(valid, int32(i))
			}
		}
		if !got.shift(list, valid, payload) {
			continue
		}
		moved++
		want.rewrite(list, size, payload)
		if !bytes.Equal(got.frame.Data, want.frame.Data) || !bytes.Equal(got.data, want.data) {
			t.Fatalf("moved\n%x\nwritten anew\n%x\nfrom\n%x\nslots %v", got.frame.Data, want.frame.Data, data, f)
		}
	}
	if moved < 5000 {
		t.Errorf("only %d of 20000 packets were made by moving", moved)
	}
}
