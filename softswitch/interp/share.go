// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"slices"

	"github.com/pauseless/pauseless/softswitch/table"
)

// Contents are the entries of a table, for the tables of other switches with the same
// program that have the same ones. They are immutable: a table that uses them takes a
// copy before it changes.
type Contents struct {
	info     *TableInfo
	index    table.Index
	entries  []Entry
	recordOf []uint32
	free     []uint32
	records  records
	direct   []uint32
}

// Contents returns the table's entries, which from now on are shared. It returns nil if
// tables cannot share them: packets change parts of them, such as counters, or a lookup
// needs scratch memory.
func (t *Table) Contents() *Contents {
	if !t.Info.Simple() || len(t.registers) > 0 || !table.CanShare(t.index) || slices.ContainsFunc(t.entries, func(e Entry) bool { return e.Ext != nil }) {
		return nil
	}
	t.shared = true
	return &Contents{t.Info, t.index, slices.Clip(t.entries), slices.Clip(t.recordOf), slices.Clip(t.free), t.records, t.direct}
}

// Share replaces all entries of a table by contents, which are those of a table of the
// same program. The default entry remains.
func (t *Table) Share(c *Contents) {
	if c.info != t.Info {
		panic("BUG: table " + t.Info.Name + " shares entries of another program's table " + c.info.Name)
	}
	t.recent.forget()
	t.setIndex(c.index)
	t.entries, t.recordOf, t.free, t.direct, t.shared = c.entries, c.recordOf, c.free, c.direct, true
	key := t.records.key // scratch
	t.records = c.records
	t.records.key = key
}

// own makes the table's entries its own, before it changes them.
func (t *Table) own() {
	if !t.shared {
		return
	}
	t.shared = false
	t.setIndex(table.Clone(t.index))
	t.entries, t.recordOf, t.free, t.direct = slices.Clone(t.entries), slices.Clone(t.recordOf), slices.Clone(t.free), slices.Clone(t.direct)
	t.records = t.records.clone()
}

// setIndex sets the index of the table.
func (t *Table) setIndex(index table.Index) {
	t.index = index
	t.exact32, _ = index.(*table.Exact32)
	t.exact, _ = index.(*table.Exact)
	t.lpm32, _ = index.(*table.LPM32)
	t.lpm, _ = index.(*table.LPM)
}

// Reserve prepares the table for as many entries as it will have.
func (t *Table) Reserve(entries int) {
	if more := entries - len(t.entries); more > 0 && !t.shared {
		t.entries = slices.Grow(t.entries, more)
		if !t.heavy {
			t.recordOf = slices.Grow(t.recordOf, more)
		}
	}
}
