// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// resident returns how many pages of a slice are in memory, and how many it has.
func resident(t *testing.T, cells []uint64) (in, all int) {
	t.Helper()
	page := uintptr(syscall.Getpagesize())
	first := uintptr(unsafe.Pointer(&cells[0])) / page * page
	last := uintptr(unsafe.Pointer(&cells[len(cells)-1]))
	state := make([]byte, (last-first)/page+1)
	if _, _, err := syscall.Syscall(syscall.SYS_MINCORE, first, uintptr(len(state))*page, uintptr(unsafe.Pointer(&state[0]))); err != 0 {
		t.Skipf("SKIP: mincore says which pages are in memory: %v", err)
	}
	for _, s := range state {
		in += int(s & 1)
	}
	return in, len(state)
}

// The registers of a sparse state take memory when they are first written, and begin with
// their initial values.
func TestSparseRegistersTakeMemoryWhenWritten(t *testing.T) {
	p := &ops.Program{Registers: []RegisterInfo{{Name: "a", Size: 1 << 18, Width: 32, Step: 1}, {Name: "b", Size: 8, Width: 32, At: 1 << 18, Step: 1, Initial: []uint64{7}}}, Cells: 1<<18 + 8}
	s := NewSparseState(programOf(p), 1)
	in, all := resident(t, s.cells)
	if in == all {
		t.Skip("SKIP: the system does not say which pages are in memory")
	}
	if in > 3 { // the ends, and those with initial values
		t.Errorf("%d of %d pages are in memory before anything is written", in, all)
	}
	for i := range 10 {
		s.Registers[0].Cell(i * 20000)[0] = 5
	}
	if now, _ := resident(t, s.cells); now > in+10 {
		t.Errorf("ten writes took %d pages", now-in)
	}
	for i := range s.Registers[0].Info.Size {
		want := uint64(0)
		if i%20000 == 0 && i < 200000 {
			want = 5
		}
		if got := s.Registers[0].Cell(i)[0]; got != want {
			t.Fatalf("cell %d is %d, want %d", i, got, want)
		}
	}
	for i := range 8 {
		if got := s.Registers[1].Cell(i)[0]; got != 7 {
			t.Errorf("cell %d of a register with an initial value is %d", i, got)
		}
	}
	for _, cells := range []int{0, 3, 600} {
		if got := len(NewSparseState(programOf(&ops.Program{Cells: cells}), 1).cells); got != cells {
			t.Errorf("a program with %d cells has %d", cells, got)
		}
	}
	runtime.KeepAlive(s)
}
