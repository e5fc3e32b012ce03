// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
)

// turn is an entry of the table that finds the next free path after Path, of
// those to Last: the paths of Mask are blocked where Value says so, and Other
// is free.
type turn struct {
	Last, Path, Other int
	Value, Mask       string
	Slow              []slower // where waiting for Path is better, slowest first
}

// slower is the same with Other being slow: of Either, it alone is in Slow. It
// is worth so many ns of waiting.
type slower struct {
	turn
	Slow, Either string
	Worth        int
}

func (g *generator) turns() []turn {
	width := g.MaskBits()
	bit := func(path int) uint64 { return 1 << (width - 1 - path) }
	hex := func(v uint64) string { return fmt.Sprintf("%#0*x", (width+3)/4+2, v) }
	n := len(g.Slownesses())
	var list []turn
	for last := 1; last < g.Sizes.Paths; last++ {
		for path := range last + 1 {
			blocked := bit(path)
			for k := 1; k <= last; k++ {
				other := (path + k) % (last + 1)
				t := turn{last, path, other, hex(blocked), hex(blocked | bit(other)), nil}
				for class := n - 1; class >= 0; class-- {
					is := bit(other) << (class * width)
					t.Slow = append(t.Slow, slower{t, hex(is), hex(is | bit(path)), g.worth(class)})
				}
				list = append(list, t)
				blocked |= bit(other)
			}
		}
	}
	return list
}

// Slownesses are suffixes of what is there once for each class of long round
// trips: one, and three where it matters how long they are.
func (g *generator) Slownesses() []string {
	if g.needs["rlb.limited"] {
		return []string{"", "_2", "_3"}
	}
	return []string{""}
}

// SlowBits is how many bits say which paths are in which classes.
func (g *generator) SlowBits() int { return len(g.Slownesses()) * g.MaskBits() }

// HeardBits is how many bits say what is heard of the paths to a leaf: in the
// lowest those that are warned of, then which are slow.
func (g *generator) HeardBits() int { return g.MaskBits() + g.SlowBits() }

// slowBit says that a path is in a class, the first in the lowest bits.
func (g *generator) slowBit(path, class int) uint64 {
	return 1 << ((class+2)*g.MaskBits() - 1 - path)
}

// worth is what a path of a class is slower by, less the pass that is yet to
// come.
func (g *generator) worth(class int) int {
	return g.span("rlb.pass_time") * (manifest.SlowTrips[class] - 1)
}

// slowEcho is an entry that says which classes a round trip is in; or, if it
// does not lengthen, in which it is not.
type slowEcho struct {
	Path, Lengthens int
	Late, Bits      string
}

func (g *generator) slowEchoes() []slowEcho {
	n := len(g.Slownesses())
	var list []slowEcho
	for path := range g.Sizes.Paths {
		for class := range n + 1 {
			var late []string
			var is, not uint64
			for c := range n {
				bit := g.slowBit(path, c)
				if c < class {
					late, is = append(late, "1"), is|bit
				} else {
					late, not = append(late, "0"), not|bit
				}
			}
			text := strings.Join(late, ", ")
			list = append(list, slowEcho{path, 1, text, fmt.Sprintf("%#x", is)}, slowEcho{path, 0, text, fmt.Sprintf("%#x", not)})
		}
	}
	return list
}

// LookInterval is rlb.interval.
func (g *generator) LookInterval() int { return g.span("rlb.interval") }

// WarningWindow is the window in which warnings run out together, a power of
// two not above rlb.hold; WarningHold is when they do, so that a warning
// counts for rlb.hold on average.
func (g *generator) WarningWindow() int { return 1 << (bits.Len(uint(g.span("rlb.hold"))) - 1) }
func (g *generator) WarningHold() int   { return g.span("rlb.hold") + g.WarningWindow()/2 }

// NoLeaf are the bits that no leaf's number has.
func (g *generator) NoLeaf() string { return fmt.Sprintf("%#x", 1<<16-1<<g.LeafBits()) }
