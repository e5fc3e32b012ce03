// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pauseless/pauseless/testbed/result"
)

// Status is the progress of an experiment.
type Status struct {
	Done, Failed, Left int
	Running            []Mark
	// Asked is how many runs wait for a worker.
	Asked int
	// Further is how many further runs claims may need at most.
	Further int
	// Until is the remaining time with the present number of runs at a time.
	Until Estimate

	costs    *costModel
	parallel int
	// Failures are the errors of failed runs, by name.
	Failures map[string]string
	Outcome  *result.Outcome // of what is done
}

// Status returns the progress of the experiment in a store. It changes nothing.
func (p *Plan) Status(st *Store, parallel int) (*Status, error) {
	s := &Status{Failures: make(map[string]string)}
	done := make(map[Job]result.RunNote)
	c := newCostModel(p, st)
	jobs := p.Jobs()
	var left []pending
	type over struct {
		job Job
		rec *Record
		at  time.Time
	}
	var overs []over
	for len(jobs) > 0 {
		known := len(done)
		for _, j := range jobs {
			rec, err := st.Get(j.Key)
			if err != nil {
				return nil, err
			}
			switch m, alive := st.running(j.Key); {
			case rec != nil:
				done[j] = note(j, rec.Run)
				overs = append(overs, over{j, rec, st.since(j.Key)})
			case alive && m != nil && m.Asked && m.Worker == "":
				s.Asked++
				left = append(left, pending{job: j})
			case alive && m != nil:
				s.Running = append(s.Running, *m)
				left = append(left, pending{j, max(time.Since(m.Since), 1).Seconds()})
			case st.Failed(j.Key) != "":
				s.Failed++
				s.Failures[p.Name(j)] = st.Failed(j.Key)
				left = append(left, pending{job: j})
			default:
				s.Left++
				left = append(left, pending{job: j})
			}
		}
		s.Outcome = p.Outcome(done, nil)
		// Seeds that were added already count as well.
		if jobs = nil; len(left) == 0 && len(done) > known {
			for _, j := range p.MoreSeeds(s.Outcome) {
				if _, ok := done[j]; !ok {
					jobs = append(jobs, j)
				}
			}
		}
	}
	s.Done = len(done)
	if len(left) > 0 { // otherwise the claims are settled, or at the limit of seeds
		usual := max(len(p.Scenario.Seeds), p.Scenario.MaxSeeds)
		most := usual * len(p.Scenario.Cases())
		for _, n := range s.Outcome.Wanting(p.seeds(), p.seeds()) {
			most += n - usual
		}
		s.Further = max(most-s.Done-len(left), 0)
	}
	if n := len(s.Running); n > 0 {
		parallel = n
	}
	if len(left) > 0 {
		slices.SortStableFunc(overs, func(a, b over) int { return a.at.Compare(b.at) })
		for _, o := range overs {
			n := done[o.job]
			c.add(o.job, &n, o.rec.TookS, float64(o.rec.Run.Summary.Hops))
		}
		s.Until = c.left(left, parallel)
	}
	s.costs, s.parallel = c, parallel
	return s, nil
}

// AllLeft returns the remaining time of several experiments, given the status of
// each. It is unknown if one has not begun and was never run before.
func AllLeft(st *Store, plans []*Plan, all []*Status) (l Estimate) {
	var batch Batch
	var after float64
	seen := make(map[string]bool)
	one, parallel := Estimate{draws: make([]float64, 200)}, 1
	for i, p := range plans {
		s := all[i]
		for _, m := range s.costs.made {
			batch.add(m.seconds, s.costs.lastSeconds(m.job))
		}
		switch left := s.Left + s.Failed + s.Asked + len(s.Running); {
		case left == 0:
		case s.Done == 0 || !s.Until.Known():
			after += p.ahead(st, seen)
		default: // under way: draws are sorted, so they must be shuffled before they are added
			rng := rand.New(rand.NewPCG(3, uint64(i)))
			for k := range one.draws {
				one.draws[k] += s.Until.draws[rng.IntN(len(s.Until.draws))]
			}
		}
		parallel = max(parallel, s.parallel)
	}
	return batch.all(one, after, parallel)
}

// work is an advance measure of a run's work: the bytes of its flows. They differ
// much between seeds if few flows are large. Arms of a point have the same traffic,
// or differ by a factor, which does not matter here.
func (p *Plan) work(j Job) float64 {
	at := traffic{p.point(j), j.Seed}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := p.volume[at]; ok {
		return n
	}
	n, err := p.Case(j).Volume(j.Seed)
	if err != nil || n <= 0 {
		n = 1
	}
	if p.volume == nil {
		p.volume = make(map[traffic]float64)
	}
	p.volume[at] = n
	return n
}

// traffic identifies the traffic of a run.
type traffic struct {
	point string
	seed  uint64
}

func (p *Plan) point(j Job) string { return strings.Join(p.Case(j).Point, ", ") }
