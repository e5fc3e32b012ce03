// SPDX-License-Identifier: Apache-2.0

package result

import "slices"

// LinksKept is the number of links of each arm and point in a brief outcome.
const LinksKept = 10

// StuckKept is the number of stuck flows of each run in a brief outcome.
const StuckKept = 5

// Brief returns a copy of the outcome of a size that can be committed: with at
// most LinksKept links of each arm and point, and StuckKept stuck flows of each
// run. The copy counts what is left out; verdicts and tables do not depend on it.
func (o *Outcome) Brief() *Outcome {
	b := *o
	b.Links = nil
	n := 0
	for i, l := range o.Links {
		if n++; i == 0 || l.Arm != o.Links[i-1].Arm || !slices.Equal(l.Point, o.Links[i-1].Point) {
			n = 1
		}
		if n <= LinksKept {
			b.Links = append(b.Links, l)
		}
	}
	b.LinksLeftOut += len(o.Links) - len(b.Links)
	b.Runs = slices.Clone(o.Runs)
	for i := range b.Runs {
		r := &b.Runs[i]
		kept := min(len(r.Stuck), StuckKept)
		r.StuckLeftOut += len(r.Stuck) - kept
		r.Stuck = r.Stuck[:kept:kept]
	}
	return &b
}
