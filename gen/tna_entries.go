// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"math/bits"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/vtime"
)

// linkRates are those that constant tables have entries for: products with
// the rate of a link are looked up, as a Tofino does not multiply.
var linkRates = []vtime.Rate{vtime.Gbps, 10 * vtime.Gbps, 25 * vtime.Gbps, 40 * vtime.Gbps, 50 * vtime.Gbps, 100 * vtime.Gbps}

// rateList lists them in a sentence.
func rateList() string {
	var list []string
	for _, r := range linkRates {
		list = append(list, r.String())
	}
	return strings.Join(list, ", ")
}

// level is an entry that says which part of a link's capacity some bytes are,
// in units of 4096.
type level struct {
	Weight    uint64
	Low, High int
	Level     int
}

// levels divides the capacity of each kind of link into parts. The last but one
// is below top, if that is given, in proportion.
func (g *generator) levels(parts, whole int) []level {
	const unit, top = 4096, 1<<12 - 1
	var list []level
	for _, r := range linkRates {
		full := float64(r.Bytes(g.Units.LoadTime()))
		last := -1
		for n := range parts {
			high := int(full*float64(n+1)/float64(parts)/unit) - 1
			if n == parts-1 {
				high = top
			}
			if n > 0 && high > last {
				level := level{manifest.LoadWeight(g.Units, r), last + 1, high, n}
				if whole > 0 {
					level.Level = n * whole / parts
				}
				list = append(list, level)
			}
			last = max(last, high)
		}
	}
	return list
}

// cellTime is an entry that says how long a cell takes on a link: the least
// power of two of nanoseconds not below it.
type cellTime struct {
	Unit  uint64
	Time  int
	Shift int
	Rate  vtime.Rate
}

func (g *generator) cellTimes() []cellTime {
	var list []cellTime
	for _, r := range linkRates {
		ns := (int(r.TxTime(manifest.CellBytes)) + int(vtime.Nanosecond) - 1) / int(vtime.Nanosecond)
		shift := bits.Len(uint(ns - 1))
		list = append(list, cellTime{manifest.Quantum(g.Units, r), 1 << shift, shift, r})
	}
	return list
}

// cellShifts are the different times, longest first.
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
