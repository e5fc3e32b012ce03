// SPDX-License-Identifier: Apache-2.0

package exp

import (
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

	pace     pace
	parallel int
	// Failures are the errors of failed runs, by name.
	Failures map[string]string
	Outcome  *result.Outcome // of what is done
}

// Status returns the progress of the experiment in a store. It changes nothing.
func (p *Plan) Status(st *Store, parallel int) (*Status, error) {
	s := &Status{Failures: make(map[string]string)}
	done := make(map[Job]result.RunNote)
	paces := make(pace)
	jobs := p.Jobs()
	var left []Job
	elapsed := make(map[Job]float64)
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
				paces.add(p.keys(j), rec.TookS)
			case alive && m != nil && m.Asked && m.Worker == "":
				s.Asked++
				left = append(left, j)
			case alive && m != nil:
				s.Running = append(s.Running, *m)
				left, elapsed[j] = append(left, j), time.Since(m.Since).Seconds()
			case st.Failed(j.Key) != "":
				s.Failed++
				s.Failures[p.Name(j)] = st.Failed(j.Key)
				left = append(left, j)
			default:
				s.Left++
				left = append(left, j)
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
		s.Until = paces.left(p, left, elapsed, s.Outcome, parallel)
	}
	s.pace, s.parallel = paces, parallel
	return s, nil
}

// AllLeft returns the remaining time of several experiments, given the status of
// each.
func AllLeft(all []*Status) Estimate {
	var sweep Sweep
	further, parallel := 0, 1
	one := Estimate{known: true}
	for _, s := range all {
		for _, seconds := range s.pace[""] {
			sweep.seconds, sweep.runs = sweep.seconds+seconds, sweep.runs+1
		}
		if s.Until.Known() {
			one.left += s.Until.left
		} else {
			further += s.Left + s.Failed + s.Asked + len(s.Running)
		}
		parallel = max(parallel, s.parallel)
	}
	return sweep.all(one, further, parallel)
}
