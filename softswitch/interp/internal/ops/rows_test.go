// SPDX-License-Identifier: Apache-2.0

package ops

import "testing"

// Arrays far from one another are in different rows, each in one only.
func TestRowReach(t *testing.T) {
	p := &Program{}
	for i := range 3 * rowReach {
		p.Registers = append(p.Registers, RegisterInfo{Name: "r", Size: 2 + i%rowReach, Width: 8})
	}
	p.PlaceRegisters()
	seen := map[int]bool{}
	for _, r := range p.Registers {
		if r.Step != 1 || r.Narrow != r.Size || seen[r.At] || r.At+r.Size > p.Cells {
			t.Fatalf("%+v of %d limbs", r, p.Cells)
		}
		seen[r.At] = true
	}
}
