// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"container/heap"
	"strings"
	"time"

	"github.com/pauseless/pauseless/testbed/result"
)

// Status says how far an experiment has got.
type Status struct {
	Done, Failed, Left int
	Running            []Mark
	// Asked is how many runs wait for a worker to begin them.
	Asked int
	// Further is up to how many runs claims may ask for beyond those.
	Further int
	// ETA is how long the runs take that are known to be left, if as many are
	// made at a time as now; negative if there is nothing to tell it by.
	ETA time.Duration
	// Failures are the errors of failed runs, by name.
	Failures map[string]string
	Outcome  *result.Outcome // of what is done
}

// Status looks at a store without touching it.
func (p *Plan) Status(st *Store, parallel int) (*Status, error) {
	s := &Status{Failures: make(map[string]string)}
	done := make(map[Job]result.RunNote)
	var c costs
	jobs := p.Jobs()
	var left []Job
	var elapsed []time.Duration
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
				c.add(p, j, rec.TookS)
			case alive && m != nil && m.Asked && m.Worker == "":
				s.Asked++
				left, elapsed = append(left, j), append(elapsed, 0)
			case alive && m != nil:
				s.Running = append(s.Running, *m)
				left, elapsed = append(left, j), append(elapsed, time.Since(m.Since))
			case st.Failed(j.Key) != "":
				s.Failed++
				s.Failures[p.Name(j)] = st.Failed(j.Key)
				left, elapsed = append(left, j), append(elapsed, 0)
			default:
				s.Left++
				left, elapsed = append(left, j), append(elapsed, 0)
			}
		}
		s.Outcome = p.Outcome(done)
		// Seeds that were added already count as well.
		if jobs = nil; len(left) == 0 && len(done) > known {
			for _, j := range p.More(s.Outcome) {
				if _, ok := done[j]; !ok {
					jobs = append(jobs, j)
				}
			}
		}
	}
	s.Done = len(done)
	if most := p.Scenario.MaxSeeds * len(p.Scenario.Cases()); most > 0 {
		s.Further = max(most-s.Done-len(left), 0)
	}
	if n := len(s.Running); n > 0 {
		parallel = n
	}
	s.ETA = c.left(p, left, elapsed, parallel)
	return s, nil
}

// costs estimates what runs take by what others took: seconds for a unit of
// work, which differ from arm to arm and from point to point.
type costs struct {
	all     rate
	byCase  map[int]rate
	byArm   map[string]rate
	byPoint map[string]rate
}

// rate is what some runs took, and the work that they had.
type rate struct{ seconds, work float64 }

func (r rate) plus(seconds, work float64) rate { return rate{r.seconds + seconds, r.work + work} }

// or returns the seconds for a unit of work, or another figure if no run has
// been made.
func (r rate) or(other float64) float64 {
	if r.work == 0 {
		return other
	}
	return r.seconds / r.work
}

// work is what a run has to do, as far as that is known before: bytes of its
// flows, which differ much from seed to seed where few are large. Arms of a
// point have the same traffic, or differ by a factor that does not matter here.
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

// traffic names the traffic of some runs.
type traffic struct {
	point string
	seed  uint64
}

func (p *Plan) point(j Job) string { return strings.Join(p.Case(j).Point, ", ") }

func (c *costs) add(p *Plan, j Job, seconds float64) {
	if c.byCase == nil {
		c.byCase, c.byArm, c.byPoint = make(map[int]rate), make(map[string]rate), make(map[string]rate)
	}
	arm, point, work := p.Case(j).Arm, p.point(j), p.work(j)
	c.all = c.all.plus(seconds, work)
	c.byCase[j.Case] = c.byCase[j.Case].plus(seconds, work)
	c.byArm[arm] = c.byArm[arm].plus(seconds, work)
	c.byPoint[point] = c.byPoint[point].plus(seconds, work)
}

// seconds returns what a run will take, or a negative number if nothing is
// known. A case that has not been run is taken to differ from the others as its
// arm and its point do.
func (c *costs) seconds(p *Plan, j Job) float64 {
	if c.all.work == 0 {
		return -1
	}
	all := c.all.or(0)
	if all == 0 {
		return 0
	}
	arm, point := c.byArm[p.Case(j).Arm].or(all), c.byPoint[p.point(j)].or(all)
	return c.byCase[j.Case].or(arm*point/all) * p.work(j)
}

// left returns how long some runs take, so many at a time, begun in this order
// as soon as there is room. Those that have been under way for some time come
// first.
func (c *costs) left(p *Plan, jobs []Job, elapsed []time.Duration, parallel int) time.Duration {
	free := make(ends, 0, max(parallel, 1)) // when each that makes runs has ended its last, in seconds from now
	var last float64
	for _, underWay := range []bool{true, false} {
		for i, j := range jobs {
			if elapsed[i] > 0 != underWay {
				continue
			}
			s := c.seconds(p, j)
			if s < 0 {
				return -1
			}
			var end float64
			switch {
			case underWay: // one that takes longer than was thought takes a little longer still
				end = max(s-elapsed[i].Seconds(), s/10)
				heap.Push(&free, end)
			case len(free) < parallel:
				end = s
				heap.Push(&free, end)
			default:
				end = free[0] + s
				free[0] = end
				heap.Fix(&free, 0)
			}
			last = max(last, end)
		}
	}
	return time.Duration(last * float64(time.Second))
}

// ends is a heap of times.
type ends []float64

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i] < e[j] }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *ends) Push(x any) { *e = append(*e, x.(float64)) }

// Pop implements heap.Interface.
func (e *ends) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}
