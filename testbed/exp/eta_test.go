// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// At half time, and later, the estimate is within a factor of 1.5: cases whose times
// differ by a factor of four, and runs of a case by a third.
func TestTimeLeftAtHalfTime(t *testing.T) {
	p := tinyPlan(t, "seeds: [3, 1]", "seeds: [1, 2, 3, 4, 5, 6, 7, 8]")
	for try := range uint64(20) {
		rng := rand.New(rand.NewPCG(try, 7))
		jobs, took, whole := p.Jobs(), make(map[Job]float64), 0.0
		for _, j := range jobs {
			took[j] = 20 * float64(1+j.Case) * math.Exp(0.33*rng.NormFloat64())
			whole += took[j]
		}
		seconds, done := make(pace), 0.0
		for i, j := range jobs {
			seconds.add(p.keys(j), took[j])
			if done += took[j]; done < whole/2 || i >= len(jobs)-3 {
				continue
			}
			l := seconds.left(p, jobs[i+1:], nil, nil, 1)
			if ratio := l.Left().Seconds() / (whole - done); ratio < 1/1.5 || ratio > 1.5 {
				t.Errorf("try %d: after %d of %d runs the estimate is %v, the time left %.0f s", try, i+1, len(jobs), l, whole-done)
			}
		}
	}
}

func TestTimeLeftIsUnknownAtFirst(t *testing.T) {
	p := tinyPlan(t)
	seconds := make(pace)
	for i, j := range p.Jobs()[:fewest] {
		if l := seconds.left(p, p.Jobs()[i:], nil, nil, 2); l.Known() || l.String() != "" {
			t.Errorf("after %d runs: %v", i, l)
		}
		seconds.add(p.keys(j), 60)
	}
	missing := p.Jobs()[fewest:]
	if l := seconds.left(p, missing, nil, nil, 2); l.Left() != time.Duration(len(missing))*30*time.Second {
		t.Errorf("%d runs of a minute, two at a time: %v", len(missing), l)
	}
	if l := seconds.left(p, missing[:1], map[Job]float64{missing[0]: 45}, nil, 2); l.String() != "about 15s" {
		t.Errorf("a run that has taken 45 of 60 s: %v", l)
	}
	sweep := Sweep{seconds: 180, runs: 3}
	if l := sweep.all(Estimate{time.Minute, true}, 300, 2); l.String() != "about 2h30m" {
		t.Errorf("300 further runs: %v", l)
	}
	for d, want := range map[time.Duration]string{5 * time.Second: "about 5s", 200 * time.Second: "about 3m", 100 * time.Minute: "about 1h40m"} {
		if l := (Estimate{d, true}); l.String() != want {
			t.Errorf("%v is %q, want %q", d, l, want)
		}
	}
}

// Claims that are not precise are expected to need more seeds.
func TestTimeLeftCountsExpectedSeeds(t *testing.T) {
	p := tinyPlan(t, "seeds: [3, 1]", "seeds: [3, 1]\nmax_seeds: 10")
	o, err := Run(t.Context(), p, newStore(t), Options{Budget: 1})
	if err != nil {
		t.Fatal(err)
	}
	seconds := make(pace)
	for _, j := range p.Jobs() {
		seconds.add(p.keys(j), 10)
	}
	if l := seconds.left(p, p.Jobs(), nil, o, 1); l.Left() < time.Duration(len(p.Jobs()))*10*time.Second {
		t.Errorf("with seeds to come: %v", l)
	}
}
