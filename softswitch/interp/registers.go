// SPDX-License-Identifier: Apache-2.0

package interp

import "github.com/pauseless/pauseless/softswitch/interp/internal/ops"

// Register is an array of registers.
type Register struct {
	Info *RegisterInfo
	// cells are those of all arrays: see PlaceRegisters.
	cells []uint64
}

// Limbs returns the number of limbs of a cell.
func (r *Register) Limbs() int { return ops.LimbsOf(r.Info.Width) }

// Cell returns the limbs of a cell, low ones first, for reading or writing. A
// written value must fit the width.
func (r *Register) Cell(i int) []uint64 {
	at := r.Info.At + i*r.Info.Step
	return r.cells[at : at+r.Limbs()]
}

// Reset sets all cells to their initial value.
func (r *Register) Reset() {
	for i := range r.Info.Size {
		r.resetCell(i)
	}
}

// resetCell sets a cell to its initial value, if the array has it.
func (r *Register) resetCell(i int) {
	if i < r.Info.Size {
		cell := r.Cell(i)
		clear(cell)
		copy(cell, r.Info.Initial)
	}
}
