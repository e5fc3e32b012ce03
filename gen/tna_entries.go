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

// LinkRates lists them in a sentence.
func (g *generator) LinkRates() string {
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

// SlotShift is the length of a slot as a power of two of nanoseconds,
// WindowShift that of N of them.
func (g *generator) SlotShift() int {
	rtt, err := g.manifest.Value("pbfs.rtt", g.Network)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	ns := int(rtt) / (2 * manifest.Slots)
	shift := bits.Len(uint(ns)) - 1
	if 3*1<<shift < 2*ns { // nearer to the next
		shift++
	}
	return shift
}

func (g *generator) WindowShift() int { return g.SlotShift() + bits.Len(uint(manifest.Slots-1)) }

// RTTWindowShift is the time in which PLB measures all paths as a power of two
// of nanoseconds, not below as many probe intervals as there may be paths.
func (g *generator) RTTWindowShift() int {
	interval, err := g.manifest.Value("plb.probe_interval", g.Network)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return min(31, bits.Len(uint(int(interval)*g.Sizes.Paths-1)))
}

// wish is an entry that says that a path is one of those up to the last.
type wish struct{ Last, Path int }

func (g *generator) wishes() []wish {
	var list []wish
	for last := 1; last < g.Sizes.Paths; last++ {
		for path := range last + 1 {
			list = append(list, wish{last, path})
		}
	}
	return list
}

// qcnEntries are the constants of QCN: sums and quotients that a Tofino cannot
// make.
type qcnEntries struct {
	Longest  int         // bytes between two samples
	Periods  []qcnPeriod // how much shorter other periods are
	Steps    []qcnStep   // of feedback, less the last
	Low, Top int         // bits of the queue from Low on decide the step, those from Top on that it is the last
}

// qcnPeriod is a period of a level of feedback, at random.
type qcnPeriod struct{ Level, Dice, Nearer int }

// qcnStep is a step of feedback, and what -Fb is then.
type qcnStep struct{ Low, High, Feedback int }

func (g *generator) qcn() qcnEntries {
	const (
		levels, steps, dice = 8, 63, 16
		spread              = 0.15 // of a period, to both sides (802.1Qau)
		width               = 12   // of a range
	)
	value := func(name string) float64 {
		v, err := g.manifest.Value(name, g.Network)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return v
	}
	interval := max(value("qcn.sample"), 1)
	limit := int((2*value("qcn.weight") + 1) * max(value("qcn.equilibrium"), 1))
	e := qcnEntries{Longest: int(interval * (1 + spread))}
	for level := range levels {
		for d := range dice {
			period := interval / float64(level+1) * (1 - spread + 2*spread*(float64(d)+0.5)/dice)
			e.Periods = append(e.Periods, qcnPeriod{level, d, e.Longest - int(period)})
		}
	}
	e.Low = max(bits.Len(uint(limit))-width, 0)
	e.Top = e.Low + width
	// The least of these that makes n steps.
	least := func(n int) int { return (n*limit + steps<<e.Low - 1) / (steps << e.Low) }
	for n := range steps {
		if low, high := least(n), least(n+1)-1; low <= high {
			e.Steps = append(e.Steps, qcnStep{low, high, n})
		}
	}
	return e
}
