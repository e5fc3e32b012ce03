// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"math/bits"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/vtime"
)

// cellTime is an entry for the transmission time of a cell on a link: in
// nanoseconds, rounded up to a power of two.
type cellTime struct {
	Unit  uint64
	Time  int
	Shift int
	Rate  vtime.Rate
}

func (g *generator) cellTimes() []cellTime {
	var list []cellTime
	for _, r := range manifest.LinkRates {
		ns := (int(r.TxTime(manifest.CellBytes)) + int(vtime.Nanosecond) - 1) / int(vtime.Nanosecond)
		shift := bits.Len(uint(ns - 1))
		list = append(list, cellTime{manifest.Quantum(g.Units, r), 1 << shift, shift, r})
	}
	return list
}

// cellShifts returns the distinct times, longest first.
func (g *generator) cellShifts() []cellTime {
	var list []cellTime
	seen := make(map[int]bool)
	for _, c := range g.cellTimes() {
		if !seen[c.Shift] {
			seen[c.Shift] = true
			list = append(list, c)
		}
	}
	return list
}
