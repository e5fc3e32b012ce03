// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"testing"
	"unsafe"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// TestRegisterRows checks that every cell has limbs of its own, and that cells of
// arrays of one size with the same index are adjacent.
func TestRegisterRows(t *testing.T) {
	p := &ops.Program{Registers: []RegisterInfo{
		{Name: "flow a", Size: 100, Width: 48}, {Name: "one", Size: 1, Width: 32}, {Name: "wide", Size: 7, Width: 200, Initial: []uint64{1, 2, 3, 4}},
		{Name: "flow b", Size: 100, Width: 1, Initial: []uint64{1}}, {Name: "none", Size: 0, Width: 8}, {Name: "flow c", Size: 100, Width: 64},
	}}
	for range 9 {
		p.Registers = append(p.Registers, RegisterInfo{Name: "path", Size: 30, Width: 16})
	}
	p.PlaceRegisters()
	s := NewState(programOf(p), 1)
	for _, r := range s.Registers {
		for i := range r.Info.Size {
			for k, x := range r.Cell(i) {
				if want := append(append([]uint64(nil), r.Info.Initial...), 0)[min(k, len(r.Info.Initial))]; x != want {
					t.Fatalf("cell %d of %s starts with limb %d %d, want %d", i, r.Info.Name, k, x, want)
				}
			}
		}
	}
	owner := map[*uint64]string{}
	for _, r := range s.Registers {
		if r.Info.Size > 0 && len(r.Cell(0)) != ops.LimbsOf(r.Info.Width) {
			t.Errorf("a cell of %s has %d limbs", r.Info.Name, len(r.Cell(0)))
		}
		for i := range r.Info.Size {
			cell := r.Cell(i)
			for k := range cell {
				if was := owner[&cell[k]]; was != "" {
					t.Fatalf("cell %d of %s is also one of %s", i, r.Info.Name, was)
				}
				owner[&cell[k]] = r.Info.Name
			}
		}
	}
	const rowLimbs = 8 // of a cache line
	line := func(register, i int) int {
		return int(uintptr(unsafe.Pointer(&s.Registers[register].Cell(i)[0]))-uintptr(unsafe.Pointer(&s.cells[0]))) / (8 * rowLimbs)
	}
	for i := range 100 {
		if a := line(0, i); max(line(3, i), line(5, i)) > a+1 {
			t.Errorf("row %d of flows is in lines %d, %d, %d", i, a, line(3, i), line(5, i))
		}
	}
	for i := range 30 {
		for k := 7; k < 14; k++ {
			if line(k, i) != line(6, i) {
				t.Errorf("row %d of paths is in lines %d and %d", i, line(6, i), line(k, i))
			}
		}
	}
	if n := 100*3 + 30*9 + 1 + 7*4; len(s.cells) < n || len(s.cells) > n+6*rowLimbs {
		t.Errorf("%d limbs, want %d and at most a line more for each kind of row", len(s.cells), n)
	}
	a, b, c, wide := s.Registers[0].Cell(4), s.Registers[3].Cell(4), s.Registers[5].Cell(4), s.Registers[2].Cell(3)
	a[0], b[0], c[0], wide[2] = 7, 0, 8, 9
	for _, i := range []int{2, 3, 5} {
		s.Registers[i].Reset()
	}
	if a[0] != 7 || b[0] != 1 || c[0] != 0 || wide[2] != 3 {
		t.Errorf("after three arrays are reset: %d, %d, %d, and %d of another one", b[0], c[0], wide[2], a[0])
	}
}

// TestTableLines checks what Fetch and translated code assume about Table.
func TestTableLines(t *testing.T) {
	var x Table
	const line = 64
	if n := unsafe.Sizeof(x); n%line != 0 {
		t.Errorf("a Table has %d bytes, want a multiple of %d: add padding", n, line)
	}
	pointer := unsafe.Sizeof(uintptr(0))
	// An allocation may begin with eight bytes of the allocator.
	for name, end := range map[string]uintptr{"Hits": unsafe.Offsetof(x.Hits), "recent": unsafe.Offsetof(x.recent), "direct": unsafe.Offsetof(x.direct),
		"records": unsafe.Offsetof(x.records) + unsafe.Offsetof(x.records.data)} {
		if end+pointer+8 > line {
			t.Errorf("%s is not in the first line", name)
		}
	}
	for name, end := range map[string]uintptr{"quick": unsafe.Offsetof(x.quick), "key": unsafe.Offsetof(x.key), "entries": unsafe.Offsetof(x.entries), "recordOf": unsafe.Offsetof(x.recordOf)} {
		if end+pointer > tableLines*line {
			t.Errorf("%s is not in the first %d lines", name, tableLines)
		}
	}
}
