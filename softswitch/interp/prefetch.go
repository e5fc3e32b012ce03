// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"unsafe"

	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"github.com/pauseless/pauseless/softswitch/table"
)

// worthPrefetching is the number of entries above which a table does not fit
// into the nearest cache.
const worthPrefetching = 2000

// Prefetch warms the processor's cache with the table entries that a batch of
// frames will probably hit, of tables too large to stay in it. The memory
// accesses of all frames overlap, which they would not if the frames were
// processed one by one. It changes no state.
func (m *Machine) Prefetch(frames [][]byte) {
	for i := range m.prog.Guesses {
		g := &m.prog.Guesses[i]
		if t := m.state.Tables[g.Table]; t.Len() >= worthPrefetching {
			for at := 0; at < len(frames); at += table.Batch {
				m.touch(t, g, frames[at:min(len(frames), at+table.Batch)])
			}
		}
	}
}

// mostRecords is how many lines of a table's records Fetch fetches at most.
const mostRecords = 8

// tableLines is how many lines of a Table a lookup needs, unless it is found in
// direct or in recent.
const tableLines = 5

// Fetch has the processor fetch what any packet needs: slots, and of tables what
// is looked at first.
func (m *Machine) Fetch() {
	cache.Lines(unsafe.Pointer(m), 2)
	cache.Lines(unsafe.Pointer(unsafe.SliceData(m.f)), (len(m.f)+7)/8)
	for _, t := range m.state.Tables {
		switch {
		case t.recent != nil:
			cache.Lines(unsafe.Pointer(t), 1)
			cache.Lines(unsafe.Pointer(t.recent), ops.RecentSlots/8)
		case t.direct == nil:
			cache.Lines(unsafe.Pointer(t), tableLines)
		default:
			cache.Lines(unsafe.Pointer(t), 1)
			cache.Lines(unsafe.Pointer(unsafe.SliceData(t.direct)), 2)
			cache.Lines(unsafe.Pointer(unsafe.SliceData(t.records.data)), min(mostRecords, (len(t.records.data)+7)/8))
		}
	}
}

// prefetched is scratch memory for Prefetch.
type prefetched struct {
	keys    [table.Batch]uint64
	entries [table.Batch]uint32
	touched uint64 // so that the compiler removes nothing
}

func (m *Machine) touch(t *Table, g *ops.Guess, frames [][]byte) {
	a := &m.prefetched
	n := 0
	for _, data := range frames {
		if key, ok := g.Key(data); ok {
			a.keys[n&(table.Batch-1)] = key
			n++
		}
	}
	keys, entries := a.keys[:n], a.entries[:n]
	switch {
	case t.exact32 != nil:
		t.exact32.LookupAll(keys, entries)
	case t.lpm32 != nil:
		t.lpm32.LookupAll(keys, entries)
	case t.exact != nil:
		t.exact.LookupAll(keys, entries)
	case t.lpm != nil:
		t.lpm.LookupAll(keys, entries)
	default:
		return
	}
	for _, e := range entries {
		switch {
		case e == 0:
		case t.heavy:
			a.touched += uint64(t.entries[e-1].Ext.LastHit)
		case t.extras:
			a.touched += uint64(t.hotOf(e - 1).LastHit)
			fallthrough
		default:
			a.touched += t.records.data[int(t.recordOf[e-1])*t.records.stride]
		}
	}
}
