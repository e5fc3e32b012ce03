// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/testbed/result"
)

// sleeper is a Maker whose runs take the time that they are said to, and find
// nothing.
type sleeper func(Job) time.Duration

func (s sleeper) Make(ctx context.Context, p *Plan, j Job, begun func(string)) (*Record, error) {
	begun("sleeper")
	took := s(j)
	time.Sleep(took)
	return &Record{Key: j.Key, TookS: took.Seconds(), Run: &result.Run{Profile: "ecmp", Seed: j.Seed}}, nil
}

func (sleeper) Kept(context.Context, Job) {}

// Runs take times that differ by a factor of up to twenty from case to case,
// and by a fifth from seed to seed. From when each case has been made once until a
// quarter of the time is left, the time that is said to be left is at most a
// quarter off.
func TestTheTimeOfArrivalIsRightWithinAQuarter(t *testing.T) {
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
			type guess struct{ at, left time.Duration }
			var all []guess
			seen := make(map[int]bool)
			begun := time.Now()
			if _, err := Run(context.Background(), p, newStore(t), Options{Parallel: 4, Maker: sleeper(func(j Job) time.Duration { return takes[j] }), Tell: func(e Event) {
				if e.Kind == Over {
					seen[e.Job.Case] = true
				}
				if e.Kind == Over && len(seen) == len(cases) {
					all = append(all, guess{time.Since(begun), e.Left})
				}
			}}); err != nil {
				t.Fatal(err)
			}
			total := time.Since(begun)
			judged := 0
			for _, g := range all {
				if g.at > total*3/4 {
					continue
				}
				judged++
				if off := float64(g.left)/float64(total-g.at) - 1; math.Abs(off) > 0.25 {
					t.Errorf("seed %d: after %v of %v %v are said to be left, %+.0f %%", seed, g.at.Round(time.Second), total.Round(time.Second), g.left.Round(time.Second), 100*off)
				}
			}
			if judged < 30 {
				t.Errorf("seed %d: %d guesses of 160 runs", seed, judged)
			}
		})
	}
}
