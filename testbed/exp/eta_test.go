// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/testbed/result"
)

// sleeper is a Maker whose runs take the given time and have no metrics.
type sleeper func(Job) time.Duration

func (s sleeper) Make(ctx context.Context, p *Plan, j Job, begun func(string)) (*Record, error) {
	begun("sleeper")
	took := s(j)
	time.Sleep(took)
	return &Record{Key: j.Key, TookS: took.Seconds(), Run: &result.Run{Profile: "ecmp", Seed: j.Seed}}, nil
}

func (sleeper) Kept(context.Context, Job) {}

// Durations of runs differ by a factor of up to twenty between cases, and by a
// fifth between seeds. From the first run of each case until three quarters of the
// time, most estimates are single times, and they are right within a quarter.
func TestEstimatesAreRightWithinAQuarter(t *testing.T) {
	var sizes []string
	for i := range 10 {
		sizes = append(sizes, fmt.Sprintf("%dKB", 20+20*i))
	}
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			p := tinyPlan(t, "values: [20KB, 40KB]", "values: ["+strings.Join(sizes, ", ")+"]", "seeds: [3, 1]", "seeds: [1, 2, 3, 4, 5, 6, 7, 8]")
			rng := rand.New(rand.NewPCG(seed, 1))
			var cases [20]float64
			for i := range cases {
				cases[i] = 60 * math.Exp(0.8*rng.NormFloat64()) // seconds
			}
			takes := make(map[Job]time.Duration)
			for _, j := range p.Jobs() {
				takes[j] = time.Duration(cases[j.Case] * math.Exp(0.2*rng.NormFloat64()) * float64(time.Second))
			}
			type guess struct {
				at, left time.Duration
				ok       bool
			}
			var all []guess
			seen := make(map[int]bool)
			begun := time.Now()
			if _, err := Run(context.Background(), p, newStore(t), Options{Parallel: 4, Maker: sleeper(func(j Job) time.Duration { return takes[j] }), OnEvent: func(e Event) {
				if e.Kind == Finished {
					seen[e.Job.Case] = true
				}
				if e.Kind == Finished && len(seen) == len(cases) {
					d, ok := e.Left.About()
					all = append(all, guess{time.Since(begun), d, ok})
				}
			}}); err != nil {
				t.Fatal(err)
			}
			total := time.Since(begun)
			judged, silent := 0, 0
			for _, g := range all {
				if g.at > total*3/4 {
					continue
				}
				judged++
				if !g.ok {
					silent++
					continue
				}
				if off := float64(g.left)/float64(total-g.at) - 1; math.Abs(off) > 0.25 {
					t.Errorf("seed %d: after %v of %v the estimate is %v, %+.0f %%", seed, g.at.Round(time.Second), total.Round(time.Second), g.left.Round(time.Second), 100*off)
				}
			}
			if judged < 30 || silent > judged/4 {
				t.Errorf("seed %d: of %d estimates %d are not single times", seed, judged, silent)
			}
		})
	}
}

// One arm takes three times as long as the other, and points differ by a factor of
// seven. After a run of both arms and of each point, the durations of other cases
// are estimated right.
func TestEstimatesOfNewCasesFollowFromArmAndPoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tinyPlan(t, "values: [20KB, 40KB]", "values: [20KB, 40KB, 60KB, 80KB, 100KB, 120KB]", "seeds: [3, 1]", "seeds: [1, 2, 3]")
		arms, points := make(map[string]bool), make(map[string]bool)
		slow := p.Scenario.Cases()[0].Arm
		takes := func(j Job) time.Duration {
			c := p.Case(j)
			d := time.Minute
			if c.Arm == slow {
				d *= 3
			}
			if c.Point[0] == "80KB" {
				d *= 7
			}
			return d
		}
		var at, left time.Duration
		begun := time.Now()
		if _, err := Run(context.Background(), p, newStore(t), Options{Parallel: 1, Maker: sleeper(takes), OnEvent: func(e Event) {
			if e.Kind != Finished {
				return
			}
			arms[p.Case(e.Job).Arm], points[p.Case(e.Job).Point[0]] = true, true
			if left == 0 && len(arms) == 2 && len(points) == 6 {
				at = time.Since(begun)
				left, _ = e.Left.About()
			}
		}}); err != nil {
			t.Fatal(err)
		}
		if want := time.Since(begun) - at; math.Abs(float64(left-want)) > 0.25*float64(want) {
			t.Errorf("after %v the estimate is %v, want %v", at, left, want)
		}
	})
}

// If few flows are large, a seed may have several times the bytes of another. The
// estimate follows from the bytes of the remaining seeds.
func TestEstimatesFollowFromBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tinyPlan(t, "values: [20KB, 40KB]", "values: [websearch, datamining]", "traffic.0.incast.size", "traffic.0.poisson.sizes",
			"- incast: {degree: 2, size: 20KB, to: h1, jitter: 1us}", "- poisson: {sizes: websearch, load: 0.5, duration: 1ms}", "seeds: [3, 1]", "seeds: [1, 2, 3, 4, 5, 6]")
		least, most := math.Inf(1), 0.0
		takes := func(j Job) time.Duration {
			bytes, err := p.Case(j).Volume(j.Seed)
			if err != nil {
				t.Error(err)
			}
			least, most = min(least, bytes), max(most, bytes)
			return time.Duration(bytes) * time.Microsecond
		}
		begun := time.Now()
		made := 0
		var at time.Duration
		var left float64
		if _, err := Run(context.Background(), p, newStore(t), Options{Parallel: 1, Maker: sleeper(takes), OnEvent: func(e Event) {
			if e.Kind != Finished {
				return
			}
			if made++; made == 2*len(p.Scenario.Cases()) {
				at, left = time.Since(begun), e.Left.quantile(0.5)
			}
		}}); err != nil {
			t.Fatal(err)
		}
		if most < 2*least {
			t.Errorf("runs have %.0f to %.0f bytes, want a factor of 2", least, most)
		}
		if want := (time.Since(begun) - at).Seconds(); math.Abs(left-want) > 0.1*want {
			t.Errorf("after %v the estimate is %.1f s, want %.1f s", at, left, want)
		}
	})
}

// stalled is a Maker whose workers begin the first runs and finish no run until
// released.
type stalled struct {
	begin    int
	mu       sync.Mutex
	calls    int
	released chan struct{}
	kept     int
}

func (a *stalled) Make(ctx context.Context, p *Plan, j Job, begun func(string)) (*Record, error) {
	a.mu.Lock()
	a.calls++
	first := a.calls <= a.begin
	a.mu.Unlock()
	if first {
		begun("worker 7")
	}
	<-a.released
	return &Record{Key: j.Key, TookS: 1, Run: &result.Run{Profile: "ecmp", Seed: j.Seed}}, nil
}

func (a *stalled) Kept(context.Context, Job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept++
}

// Runs that were offered to workers counted as running before a worker began them.
func TestRunsThatWaitForAWorkerDoNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, st, a := tinyPlan(t), newStore(t), &stalled{begin: 2, released: make(chan struct{})}
		done := make(chan error)
		go func() {
			_, err := Run(t.Context(), p, st, Options{Parallel: 5, Maker: a})
			done <- err
		}()
		synctest.Wait()
		s, err := p.Status(st, 1)
		if err != nil || len(s.Running) != 2 || s.Asked != 3 || s.Left != 3 || s.Running[0].Worker != "worker 7" {
			t.Errorf("error %v, status %+v; want 2 running, at worker 7, 3 waiting for workers, 3 left", err, s)
		}
		close(a.released)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if s, err := p.Status(st, 1); err != nil || s.Done != 8 || s.Asked != 0 || len(s.Running) != 0 || a.kept != 8 {
			t.Errorf("in the end: error %v, status %+v, %d calls of Kept; want 8 done", err, s, a.kept)
		}
	})
}
