// SPDX-License-Identifier: Apache-2.0

package interp

const (
	// rowLimbs is how many limbs a cache line has.
	rowLimbs = 8
	// rowReach limits how many arrays placeRegisters looks at for those of a row, which
	// keeps it linear in the number of arrays.
	rowReach = 256
)

// placeRegisters determines where in State.cells each cell is. Arrays of the same
// size often have the same index, for instance a flow or a path, and a packet needs
// the same cell of several of them. So cells of one limb with the same index are in
// one row, of one or two cache lines.
func (p *Program) placeRegisters() {
	end := 0
	for i := range p.Registers {
		first := &p.Registers[i]
		if first.step != 0 {
			continue // it is in the row of one before
		}
		if n := limbsOf(first.Width); n > 1 {
			first.at, first.step = end, n
			end += first.Size * n
			continue
		}
		var row []*RegisterInfo
		for j := i; j < min(i+rowReach, len(p.Registers)) && len(row) < rowLimbs; j++ {
			if r := &p.Registers[j]; r.Size == first.Size && limbsOf(r.Width) == 1 {
				row = append(row, r)
			}
		}
		end = (end + rowLimbs - 1) / rowLimbs * rowLimbs
		for k, r := range row {
			r.at, r.step, r.narrow = end+k, len(row), r.Size
		}
		end += first.Size * len(row)
	}
	p.cells = end
}
