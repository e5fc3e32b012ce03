// SPDX-License-Identifier: Apache-2.0

//go:build linux

package interp

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestTranslatedDeparser deparses the same headers with and without translated code,
// for every insertion, removal, change or copy of headers. Up to 64 bytes are moved
// by the code, others by Go.
func TestTranslatedDeparser(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	results := map[int]int{}
	find := func(p *Program, m *Machine) int {
		enter(p.native.deparse[out].find, m)
		return m.found
	}
	for range 20000 {
		h := randomHeaders(rng)
		p := h.prog
		if p.native = p.translate(); p.native == nil {
			t.Skip("SKIP: programs are translated to machine code on x86-64 Linux only")
		}
		if p.native.deparse[out].find == 0 {
			continue
		}
		capacity := len(h.data) + rng.IntN(400)
		got := h.machine(capacity)
		results[find(p, h.machine(capacity))]++
		if rng.IntN(50) == 0 { // a packet without all of its headers in memory
			short := h.machine(capacity)
			n := rng.IntN(h.payload + 1)
			short.data = short.data[:n]
			if r := find(p, short); r != toRewrite && n < h.payload {
				t.Fatalf("code finds %d for headers of %d bytes in %d", r, h.payload, n)
			}
		}
		got.deparse(out)
		p.native = nil
		want := h.machine(capacity)
		want.deparse(out)
		if !bytes.Equal(got.frame.Data, want.frame.Data) || !bytes.Equal(got.data, want.data) {
			t.Fatalf("translated\n%x\nnot translated\n%x\nfrom\n%x\nslots %v", got.frame.Data, want.frame.Data, h.data, h.f)
		}
	}
	for _, result := range []int{0, toMove, toRewrite} {
		if results[result] < 500 {
			t.Errorf("the code finds %d for %d packets", result, results[result])
		}
	}
}
