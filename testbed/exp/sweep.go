// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// A Sweep is several experiments, one after the other. It tells how long it takes
// until all are over, as far as earlier runs tell what those take that have not
// begun.
type Sweep struct {
	mu sync.Mutex
	// took and before are the seconds of the runs that were made, and what
	// they were before, in the order in which they ended.
	took, before []float64
}

// add takes note of what a run took, and what it took before.
func (s *Sweep) add(took, before float64) {
	if s == nil || took <= 0 || before <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took, s.before = append(s.took, took), append(s.before, before)
}

const (
	recent   = 400  // runs that tell what the machine is like
	blocks   = 4    // parts of those, which tell how steady it is
	atOnce   = 0.96 // share of the time in which as many runs are under way as can be
	paceLike = 0.05 // how far experiments are from what they were before, at least
)

// all returns what is left of an experiment and of those after it, whose runs
// took so many seconds before.
func (s *Sweep) all(one Left, after float64, parallel int) (l Left) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.took)
	from := max(n-recent, 0)
	took, before := s.took[from:], s.before[from:]
	if !one.Known() || len(took) < 2*blocks || math.IsNaN(after) {
		return l
	}
	pace := func(from, to int) float64 {
		var a, b float64
		for i := from; i < to; i++ {
			a, b = a+took[i], b+before[i]
		}
		return math.Log(a / b)
	}
	middle := pace(0, len(took))
	var squares float64
	for i := range blocks {
		d := pace(i*len(took)/blocks, (i+1)*len(took)/blocks) - middle
		squares += d * d / blocks
	}
	spread := math.Hypot(paceLike, math.Sqrt(squares)/2)
	rng := rand.New(rand.NewPCG(2, uint64(n)))
	for _, i := range rng.Perm(len(one.draws)) {
		l.draws = append(l.draws, one.draws[i]+after*math.Exp(middle+spread*rng.NormFloat64())/float64(max(parallel, 1))/atOnce)
	}
	slices.Sort(l.draws)
	return l
}

// ahead returns the seconds that runs took before which a plan has and a store
// has not, or not a number if that is not known. Seen are runs that count already:
// experiments may have runs in common.
func (p *Plan) ahead(st *Store, seen map[string]bool) (sum float64) {
	before := p.before(st)
	for i := range p.Scenario.Cases() {
		list := before[p.caseName(i)]
		if len(list) == 0 {
			return math.NaN()
		}
		most := p.seeds()
		for n, seconds := range list {
			if j := p.Job(i, p.seed(n)); n < most && !seen[j.Key] && !st.Has(j.Key) {
				seen[j.Key] = true
				sum += seconds
			}
		}
	}
	return sum
}
