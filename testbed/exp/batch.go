// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// A Batch is several experiments that run one after the other. It estimates the
// time of all from the durations of earlier runs.
type Batch struct {
	mu sync.Mutex
	// took and before are the seconds of finished runs, now and last time, in the
	// order in which they ended.
	took, before []float64
}

// add notes the seconds of a run, now and last time.
func (s *Batch) add(took, before float64) {
	if s == nil || took <= 0 || before <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took, s.before = append(s.took, took), append(s.before, before)
}

const (
	recent      = 400  // latest runs that the machine's speed is taken from
	blocks      = 4    // parts of those; their spread shows how steady the speed is
	utilisation = 0.96 // share of the time in which all cores are busy
	leastSpread = 0.05 // least standard deviation of an experiment's time from last time's
)

// all returns the remaining time of an experiment and of those after it, whose
// runs took so many seconds last time.
func (s *Batch) all(one Estimate, after float64, parallel int) (l Estimate) {
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
	spread := math.Hypot(leastSpread, math.Sqrt(squares)/2)
	rng := rand.New(rand.NewPCG(2, uint64(n)))
	for _, i := range rng.Perm(len(one.draws)) {
		l.draws = append(l.draws, one.draws[i]+after*math.Exp(middle+spread*rng.NormFloat64())/float64(max(parallel, 1))/utilisation)
	}
	slices.Sort(l.draws)
	return l
}

// ahead returns the seconds that the missing runs of a plan took last time, or NaN
// if they are not known. Seen has the runs counted before: experiments may share
// runs.
func (p *Plan) ahead(st *Store, seen map[string]bool) (sum float64) {
	before := p.lastTimes(st)
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
