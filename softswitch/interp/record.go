// SPDX-License-Identifier: Apache-2.0

package interp

import "github.com/pauseless/pauseless/softswitch/table"

// records is what packets need of entries: where the action starts, and its
// arguments. Entries that do the same share one, so that a large table of
// routes to few next hops does not push everything else out of the cache.
type records struct {
	stride int
	data   []uint64 // stride words each
	uses   []uint32
	free   []uint32
	index  *table.Exact // content → number
	key    []uint64     // scratch
}

func newRecords(args int) records {
	n := args + 1
	return records{stride: n, index: table.NewExact(64 * n), key: make([]uint64, n)}
}

// get returns the number of the record with this content, which it makes if
// there is none.
func (r *records) get(pc int32, args []uint64) uint32 {
	clear(r.key)
	r.key[0] = uint64(uint32(pc))
	copy(r.key[1:], args)
	m := table.Match{Value: r.key}
	n, ok := r.index.Find(&m)
	if ok {
		r.uses[n]++
		return n
	}
	if k := len(r.free); k > 0 {
		n, r.free = r.free[k-1], r.free[:k-1]
		copy(r.data[int(n)*r.stride:], r.key)
		r.uses[n] = 1
	} else {
		n = uint32(len(r.uses))
		r.data = append(r.data, r.key...)
		r.uses = append(r.uses, 1)
	}
	r.index.Insert(&m, n)
	return n
}

// put gives a record back.
func (r *records) put(n uint32) {
	if r.uses[n]--; r.uses[n] > 0 {
		return
	}
	r.index.Delete(&table.Match{Value: r.data[int(n)*r.stride : (int(n)+1)*r.stride]})
	r.free = append(r.free, n)
}

// none is the record of an entry that has none.
const none = ^uint32(0)

// setRecord gives an entry the record of its action.
func (t *Table) setRecord(id uint32, pc int32, args []uint64) {
	if t.heavy { // it needs the entry itself
		return
	}
	for int(id) >= len(t.recordOf) {
		t.recordOf = append(t.recordOf, none)
	}
	old := t.recordOf[id]
	t.recordOf[id] = t.records.get(pc, args)
	if old != none {
		t.records.put(old)
	}
}

func (t *Table) dropRecord(id uint32) {
	if t.heavy {
		return
	}
	t.records.put(t.recordOf[id])
	t.recordOf[id] = none
}

// recent has the records of keys of up to 32 bits that were looked up: packets
// of a flow follow one another.
type recent struct {
	slots [recentSlots]uint64 // key, record plus one; 0 is free
	used  bool
}

const recentSlots = 256

// slot is where a key has its place.
func (r *recent) slot(key uint64) *uint64 {
	return &r.slots[key*0x9e3779b97f4a7c15>>(64-8)%recentSlots]
}

// forget is called when entries change.
func (r *recent) forget() {
	if r != nil && r.used {
		*r = recent{}
	}
}
