// SPDX-License-Identifier: Apache-2.0

//go:build linux

package interp

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/softswitch/interp/internal/native"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// TestTranslatedDeparser deparses the same headers with and without translated code,
// for every insertion, removal, change or copy of headers. Up to 64 bytes are moved
// by the code, others by Go.
func TestTranslatedDeparser(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	results := map[int]int{}
	byCode := 0           // packets whose bytes the code moved
	byGo := map[int]int{} // the others by the number of bytes, 65 for more than 64
	find := func(p *ops.Program, m *Machine) int {
		enter(p.Native.Deparse[ops.Out].Find, m)
		return m.found
	}
	for range 20000 {
		h := randomHeaders(rng)
		p := h.prog
		if p.Native = native.Translate(p, &fromCode, false); p.Native == nil {
			t.Skip("SKIP: programs are translated to machine code on x86-64 Linux only")
		}
		if p.Native.Deparse[ops.Out].Find == 0 {
			continue
		}
		capacity := len(h.data) + rng.IntN(400)
		got := h.machine(capacity)
		m := h.machine(capacity)
		result := find(p, m)
		results[result]++
		switch {
		case result == ops.ToMove:
			byGo[min(len(h.data)-m.gap.from, 65)]++
		case len(m.data) != len(h.data):
			byCode++
		}
		if rng.IntN(50) == 0 { // a packet without all of its headers in memory
			short := h.machine(capacity)
			n := rng.IntN(h.payload + 1)
			short.data = short.data[:n]
			if r := find(p, short); r != ops.ToRewrite && n < h.payload {
				t.Fatalf("code finds %d for headers of %d bytes in %d", r, h.payload, n)
			}
		}
		got.deparse(ops.Out)
		p.Native = nil
		want := h.machine(capacity)
		want.deparse(ops.Out)
		if len(got.data) > cap(got.data) || cap(got.data) != cap(got.frame.Data) {
			t.Fatalf("%d bytes in a frame with room for %d", len(got.data), cap(got.data))
		}
		if !bytes.Equal(got.frame.Data, want.frame.Data) || !bytes.Equal(got.data, want.data) {
			t.Fatalf("translated\n%x\nnot translated\n%x\nfrom\n%x\nslots %v", got.frame.Data, want.frame.Data, h.data, h.f)
		}
	}
	if few, many := byGo[0]+byGo[15], byGo[65]; byCode < 500 || few == 0 || many < 500 {
		t.Errorf("the code moves the bytes of %d packets; Go moves 0 or 15 bytes of %d and more than 64 of %d", byCode, few, many)
	}
	for _, result := range []int{0, ops.ToMove, ops.ToRewrite} {
		if results[result] < 500 {
			t.Errorf("the code finds %d for %d packets", result, results[result])
		}
	}
}
