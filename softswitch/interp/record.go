// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"slices"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"github.com/pauseless/pauseless/softswitch/table"
)

// records are the parts of entries that packets use: the first instruction of
// the action, and its arguments. Entries with equal content share a record, so
// that a large table of routes to few next hops occupies little of the cache.
type records struct {
	data   []uint64 // stride words each
	stride int
	uses   []uint32
	free   []uint32
	index  *table.Exact // content → number
	key    []uint64     // scratch
}

func newRecords(args int) records {
	n := args + 1
	return records{stride: n, index: table.NewExact(64 * n), key: make([]uint64, n)}
}

// clone returns a copy, with scratch memory of its own.
func (r *records) clone() records {
	c := *r
	c.data, c.uses, c.free = slices.Clone(r.data), slices.Clone(r.uses), slices.Clone(r.free)
	c.index, c.key = r.index.Clone(), make([]uint64, r.stride)
	return c
}

// get returns the number of the record with this content. It makes the record
// if necessary.
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

// put releases a reference to a record.
func (r *records) put(n uint32) {
	if r.uses[n]--; r.uses[n] > 0 {
		return
	}
	r.index.Delete(&table.Match{Value: r.data[int(n)*r.stride : (int(n)+1)*r.stride]})
	r.free = append(r.free, n)
}

// none marks an entry without a record.
const none = ^uint32(0)

// setRecord sets the record of an entry to that of its action.
func (t *Table) setRecord(id uint32, pc int32, args []uint64) {
	if t.heavy { // applying needs the entry itself
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

// recentKeys caches the records of recent keys of up to RecentWidth bits, because
// the packets of a flow are often adjacent.
type recentKeys struct {
	// slots have the key in the upper half, and in the lower one the record plus two,
	// or one if there is none. 0 is free.
	slots [ops.RecentSlots]uint64
	used  bool
}

// slot returns the cache slot of a key of so many bits. Short keys have a slot each.
func (r *recentKeys) slot(key uint64, width int) *uint64 {
	if width > ops.RecentBits {
		key = key * ops.RecentFactor >> (64 - ops.RecentBits)
	}
	return &r.slots[key%ops.RecentSlots]
}

// forget invalidates the cache after a change of entries.
func (r *recentKeys) forget() {
	if r != nil && r.used {
		*r = recentKeys{}
	}
}
