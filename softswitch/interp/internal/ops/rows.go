// SPDX-License-Identifier: Apache-2.0

package ops

const (
	// rowLimbs is how many limbs a cache line has.
	rowLimbs = 8
	// rowReach limits how many arrays PlaceRegisters looks at for those of a row, which
	// keeps it linear in the number of arrays.
	rowReach = 256
)

// PlaceRegisters determines where in State.cells each cell is. Arrays of the same
// size often have the same index, for instance a flow or a path, and a packet needs
// the same cell of several of them. So cells of one limb with the same index are in
// one row, of one or two cache lines.
func (p *Program) PlaceRegisters() {
	end := 0
	for i := range p.Registers {
		first := &p.Registers[i]
		if first.Step != 0 {
			continue // it is in the row of one before
		}
		if n := LimbsOf(first.Width); n > 1 {
			first.At, first.Step = end, n
			end += first.Size * n
			continue
		}
		var row []*RegisterInfo
		for j := i; j < min(i+rowReach, len(p.Registers)) && len(row) < rowLimbs; j++ {
			if r := &p.Registers[j]; r.Size == first.Size && LimbsOf(r.Width) == 1 {
				row = append(row, r)
			}
		}
		end = (end + rowLimbs - 1) / rowLimbs * rowLimbs
		for k, r := range row {
			r.At, r.Step, r.Narrow = end+k, len(row), r.Size
		}
		end += first.Size * len(row)
	}
	p.Cells = end
}
