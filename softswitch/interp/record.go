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

// recordMap has the record of each entry, by number. While there are few
// different records, as with routes to few next hops, a byte each is enough,
// and that of 100,000 entries stays in a core's cache.
type recordMap struct {
	few  []uint8 // unless many is used
	many []uint32
}

// none is the record of an entry that has none, noneOfFew in recordMap.few.
const (
	none      = ^uint32(0)
	noneOfFew = ^uint8(0)
)

// get returns the record of an entry, or none.
func (m *recordMap) get(id uint32) uint32 {
	switch {
	case int(id) < len(m.many):
		return m.many[id]
	case int(id) < len(m.few) && m.few[id] != noneOfFew:
		return uint32(m.few[id])
	}
	return none
}

func (m *recordMap) set(id, record uint32) {
	if m.many == nil && record != none && record >= uint32(noneOfFew) {
		m.many = make([]uint32, len(m.few))
		for i := range m.many {
			m.many[i] = none
			if x := m.few[i]; x != noneOfFew {
				m.many[i] = uint32(x)
			}
		}
		m.few = nil
	}
	if m.many != nil {
		for int(id) >= len(m.many) {
			m.many = append(m.many, none)
		}
		m.many[id] = record
		return
	}
	for int(id) >= len(m.few) {
		m.few = append(m.few, noneOfFew)
	}
	m.few[id] = uint8(record) // none becomes noneOfFew
}

// setRecord gives an entry the record of its action.
func (t *Table) setRecord(id uint32, pc int32, args []uint64) {
	if t.heavy { // it needs the entry itself
		return
	}
	old := t.recordOf.get(id)
	t.recordOf.set(id, t.records.get(pc, args))
	if old != none {
		t.records.put(old)
	}
	switch {
	case t.lpm32 == nil || t.extras: // those count by entry
	case t.recordOf.few != nil:
		m := t.Match(&t.entries[id])
		t.lpm32.SetLabel(&m, id, t.recordOf.few[id])
	case t.lpm32.Labelled():
		t.lpm32.DropLabels()
	}
}

func (t *Table) dropRecord(id uint32) {
	if t.heavy {
		return
	}
	t.records.put(t.recordOf.get(id))
	t.recordOf.set(id, none)
}
