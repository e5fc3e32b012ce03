// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"fmt"
	"slices"
	"time"

	"github.com/pauseless/pauseless/testbed/result"
)

// An Estimate is the time left, or nothing while too few runs are finished.
type Estimate struct {
	left  time.Duration
	known bool
}

// Known reports whether there is an estimate.
func (l Estimate) Known() bool { return l.known }

// Left returns the time left.
func (l Estimate) Left() time.Duration { return l.left }

// after returns an estimate as it is some time later.
func (l Estimate) after(d time.Duration) Estimate { return Estimate{max(l.left-d, l.left/10), l.known} }

// String returns "about 3m", or "" if it is not known.
func (l Estimate) String() string {
	switch d := l.left; {
	case !l.known:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("about %ds", int(d.Round(time.Second)/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("about %dm", int(d.Round(time.Minute)/time.Minute))
	default:
		d = d.Round(10 * time.Minute)
		return fmt.Sprintf("about %dh%02dm", int(d/time.Hour), int(d%time.Hour/time.Minute))
	}
}

// fewest is the number of finished runs from which time is estimated.
const fewest = 3

// pace has the seconds of finished runs, with those of the first key for a case, and
// then for an arm and for all.
type pace map[string][]float64

// keys are where the seconds of a job count, and are looked for, in this order.
func (p *Plan) keys(j Job) []string {
	c := p.Case(j)
	return []string{fmt.Sprint(j.Case), "arm " + c.Arm, ""}
}

func (a pace) add(keys []string, seconds float64) {
	if seconds <= 0 {
		return
	}
	for _, k := range keys {
		a[k] = append(a[k], seconds)
	}
}

// enough reports whether enough runs are finished for an estimate.
func (a pace) enough() bool { return len(a[""]) >= fewest }

// of returns the median of the seconds of the first key that has some.
func (a pace) of(keys []string) float64 {
	for _, k := range keys {
		if list := slices.Clone(a[k]); len(list) > 0 {
			slices.Sort(list)
			return (list[len(list)/2] + list[(len(list)-1)/2]) / 2
		}
	}
	return 0
}

// left estimates the time of missing runs, of which so many are made at a time, and of
// the seeds that claims are expected to need beyond these. Elapsed are the seconds of
// those under way.
func (a pace) left(p *Plan, missing []Job, elapsed map[Job]float64, so *result.Outcome, parallel int) Estimate {
	if !a.enough() {
		return Estimate{}
	}
	var sum, longest float64
	count := make(map[int]int) // missing runs by case
	for _, j := range missing {
		rest := a.of(p.keys(j))
		if took, ok := elapsed[j]; ok {
			rest = max(rest-took, rest/10)
		}
		sum, longest = sum+rest, max(longest, rest)
		count[j.Case]++
	}
	if so != nil {
		s := p.Scenario
		for i, seeds := range so.Expected(s.MaxSeeds, s.MaxSeedsOpen) {
			cell := &so.Cells[i]
			for k, c := range s.Cases() {
				if c.Arm == cell.Arm && slices.Equal(c.Point, cell.Point) {
					sum += float64(max(seeds-len(cell.Seeds)-count[k], 0)) * a.of(p.keys(Job{Case: k}))
				}
			}
		}
	}
	seconds := max(sum/float64(max(parallel, 1)), longest)
	return Estimate{time.Duration(seconds * float64(time.Second)), true}
}

// A Sweep is several experiments that run one after the other. It knows the seconds of
// all their finished runs.
type Sweep struct{ seconds, runs float64 }

// all adds the first runs of further plans, at the mean pace of those so far, to the
// time left of one.
func (s *Sweep) all(one Estimate, further, parallel int) Estimate {
	if s == nil || !one.known || s.runs == 0 {
		return Estimate{}
	}
	after := s.seconds / s.runs * float64(further) / float64(max(parallel, 1))
	return Estimate{one.left + time.Duration(after*float64(time.Second)), true}
}

// missing returns how many of the first runs of a plan the store lacks.
func (p *Plan) missing(st *Store) (n int) {
	for _, j := range p.Jobs() {
		if !st.Has(j.Key) {
			n++
		}
	}
	return n
}
