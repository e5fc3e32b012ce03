// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"math/rand/v2"
	"testing"
)

// Entries keep their records while these become too many for a byte, and
// while entries come and go.
func TestRecordsOfEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	r := newRecords(1)
	var m recordMap
	want := map[uint32]uint64{}
	for step := range 20_000 {
		id := uint32(rng.IntN(2000))
		different := uint64(100)
		if step > 5000 {
			different = 1500
		}
		old := m.get(id)
		if _, there := want[id]; there != (old != none) {
			t.Fatalf("step %d: entry %d has record %d, it is there: %v", step, id, old, there)
		}
		if rng.IntN(3) == 0 && old != none {
			m.set(id, none)
			delete(want, id)
		} else {
			want[id] = rng.Uint64N(different)
			m.set(id, r.get(int32(want[id]%7), []uint64{want[id]}))
		}
		if old != none {
			r.put(old)
		}
	}
	if m.many == nil || m.few != nil {
		t.Error("a byte was enough for 1500 records")
	}
	for id, arg := range want {
		at := int(m.get(id)) * r.stride
		if r.data[at] != arg%7 || r.data[at+1] != arg {
			t.Errorf("entry %d has %v, want %d", id, r.data[at:at+2], arg)
		}
	}
	if r.index.Len() > len(want) {
		t.Errorf("%d records are kept for %d entries", r.index.Len(), len(want))
	}
}
