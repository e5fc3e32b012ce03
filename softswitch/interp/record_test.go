// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"math/rand/v2"
	"testing"
)

// Entries with equal content share a record, and records without entries are
// reused.
func TestRecordsOfEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	r := newRecords(1)
	type entry struct {
		record uint32
		arg    uint64
	}
	entries := map[uint32]entry{}
	for range 20_000 {
		id := uint32(rng.IntN(2000))
		old, there := entries[id]
		if rng.IntN(3) == 0 && there {
			delete(entries, id)
		} else {
			arg := rng.Uint64N(1500)
			entries[id] = entry{r.get(int32(arg%7), []uint64{arg}), arg}
		}
		if there {
			r.put(old.record)
		}
	}
	for id, e := range entries {
		at := int(e.record) * r.stride
		if r.data[at] != e.arg%7 || r.data[at+1] != e.arg {
			t.Errorf("entry %d has %v, want %d", id, r.data[at:at+2], e.arg)
		}
	}
	if r.index.Len() > len(entries) || len(r.uses) > 1500 {
		t.Errorf("%d records, %d in use, for %d entries that do 1500 different things", len(r.uses), r.index.Len(), len(entries))
	}
}
