// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/internal/diag"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Set has the entities that files give a switch which begins without any. No two have the
// same key.
type Set struct {
	s       *Schema
	list    []*p4v1.Entity // nil: deleted
	at      []diag.Pos
	index   map[string]int // by key
	handles map[uint32]*handles
}

// handles are BMv2's for the entries of a table: the least free number, and above its low
// 32 bits how often it was freed.
type handles struct {
	slots []slot
	free  int // no smaller slot is free
}

type slot struct {
	version uint64
	entry   int // in Set.list; below 0 if the slot is free
}

// NewSet returns a set without entities.
func NewSet(s *Schema) *Set {
	return &Set{s: s, index: make(map[string]int), handles: make(map[uint32]*handles)}
}

// Read executes the updates of a file in any of the formats of ParseUpdates. An entity
// that always exists replaces an earlier one. Another one with the same key, and the
// deletion of what is not in the set, are errors. An error is a diag.List.
func (x *Set) Read(name string, text []byte) error {
	if isCommandFile(name, text) {
		return x.commands(name, text)
	}
	all, at, err := x.s.ParseUpdates(name, text)
	if err != nil {
		return err
	}
	var bad diag.List
	for i, u := range all {
		old, there := x.index[Key(u.Entity)]
		switch {
		case u.Type == p4v1.Update_DELETE && !there:
			bad.Errorf(at[i], CodeEntry, "the file deletes an entry, and switches begin without any: remove %s", x.s.FormatEntity(u.Entity))
		case u.Type == p4v1.Update_DELETE:
			x.remove(old)
		case u.Type == p4v1.Update_MODIFY && there:
			x.list[old], x.at[old] = u.Entity, at[i]
		default:
			if err := x.add(u.Entity, at[i]); err != nil {
				bad.Errorf(at[i], CodeEntry, "%v", err)
			}
		}
	}
	return bad.Err()
}

// Entities returns the entities in the order of the files.
func (x *Set) Entities() []*p4v1.Entity {
	return slices.DeleteFunc(slices.Clone(x.list), func(e *p4v1.Entity) bool { return e == nil })
}

// add adds an entity. It fails if there is one with the same key.
func (x *Set) add(e *p4v1.Entity, at diag.Pos) error {
	key := Key(e)
	if i, there := x.index[key]; there {
		if AlwaysThere(e) {
			x.list[i], x.at[i] = e, at
			return nil
		}
		return fmt.Errorf("%s has the same key: %s (remove one of the two)", place(x.at[i], at), x.s.FormatEntity(x.list[i]))
	}
	x.index[key] = len(x.list)
	if te := e.GetTableEntry(); te != nil && !te.IsDefaultAction {
		h := x.handles[te.TableId]
		if h == nil {
			h = &handles{}
			x.handles[te.TableId] = h
		}
		for h.free < len(h.slots) && h.slots[h.free].entry >= 0 {
			h.free++
		}
		if h.free == len(h.slots) {
			h.slots = append(h.slots, slot{})
		}
		h.slots[h.free].entry = len(x.list)
	}
	x.list, x.at = append(x.list, e), append(x.at, at)
	return nil
}

// place says where an entity is, as seen from another place.
func place(p, from diag.Pos) string {
	if p.File() == from.File() {
		return fmt.Sprintf("line %d", p.Line)
	}
	return p.String()
}

// remove removes an entity.
func (x *Set) remove(i int) {
	e := x.list[i]
	if te := e.GetTableEntry(); te != nil && !te.IsDefaultAction {
		h := x.handles[te.TableId]
		n := slices.IndexFunc(h.slots, func(s slot) bool { return s.entry == i })
		h.slots[n] = slot{h.slots[n].version + 1, -1}
		h.free = min(h.free, n)
	}
	delete(x.index, Key(e))
	x.list[i] = nil
}

// removeIf removes the entities for which a function returns true.
func (x *Set) removeIf(f func(e *p4v1.Entity) bool) {
	for i, e := range x.list {
		if e != nil && f(e) {
			x.remove(i)
		}
	}
}

// clear removes the entries of a table; handles count from 0 again.
func (x *Set) clear(t *Table) {
	for _, s := range x.handlesOf(t).slots {
		if s.entry >= 0 {
			x.remove(s.entry)
		}
	}
	delete(x.handles, t.ID)
}

func (x *Set) handlesOf(t *Table) *handles {
	if h := x.handles[t.ID]; h != nil {
		return h
	}
	return &handles{}
}

// entry returns the place in the list of a table's entry with a handle.
func (x *Set) entry(t *Table, handle uint64) (int, error) {
	slots := x.handlesOf(t).slots
	n := handle & (1<<32 - 1)
	switch {
	case t.Initial:
		return 0, fmt.Errorf("table %s has entries of the program, which take the first handles: write its entries as they are to be at the end, without a handle", t.Name)
	case n >= uint64(len(slots)) || slots[n].entry < 0:
		have := 0
		for _, s := range slots {
			if s.entry >= 0 {
				have++
			}
		}
		return 0, fmt.Errorf("table %s has no entry with handle %d here: it has %d, and handles count from 0 in each table", t.Name, handle, have)
	case slots[n].version != handle>>32:
		return 0, fmt.Errorf("the entry of table %s with handle %d was deleted: the one after it has handle %d", t.Name, handle, slots[n].version<<32|n)
	}
	return slots[n].entry, nil
}
