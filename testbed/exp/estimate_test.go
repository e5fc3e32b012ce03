// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/testbed/result"
)

// tookText has the durations and switch traversals of the runs of an `exp run all
// --scale small`, as SECONDS/TRAVERSALS by experiment and case, in the order of
// the seeds. It made two runs at a time on two cores with other load at times.
//
//go:embed testdata/took.txt
var tookText string

// player is a Maker that replays the durations and metrics of earlier runs.
type player struct {
	took    map[string]string // by name of the job
	outcome *result.Outcome
}

func (m player) Make(_ context.Context, p *Plan, j Job, begun func(string)) (*Record, error) {
	begun("player")
	c := p.Case(j)
	seconds, hops, _ := strings.Cut(m.took[p.Name(j)], "/")
	s, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name(j), err)
	}
	run := &result.Run{Arm: c.Arm, Point: c.Point, Seed: j.Seed, Metrics: make(map[string]float64)}
	if run.Summary.Hops, err = strconv.ParseUint(hops, 10, 64); err != nil {
		return nil, err
	}
	for i := range m.outcome.Cells {
		cell := &m.outcome.Cells[i]
		if k := slices.Index(cell.Seeds, j.Seed); k >= 0 && cell.Arm == c.Arm && slices.Equal(cell.Point, c.Point) {
			for name, v := range cell.Values {
				if !math.IsNaN(float64(v[k])) {
					run.Metrics[name] = float64(v[k])
				}
			}
		}
	}
	for i := range m.outcome.Runs {
		if n := &m.outcome.Runs[i]; n.Seed == j.Seed && n.Arm == c.Arm && slices.Equal(n.Point, c.Point) {
			run.Stuck = n.Stuck
		}
	}
	s *= slower
	time.Sleep(time.Duration(s * float64(time.Second)))
	return &Record{Key: j.Key, TookS: s, Run: run}, nil
}

func (player) Kept(context.Context, Job) {}

// slower is the factor that makes minutes of the seconds of small runs, since
// there is at most one estimate per estimateEvery.
const slower = 60

// sample is an estimate at a time, and the duration of the experiment.
type sample struct {
	at, total time.Duration
	left      Estimate
}

func (s sample) right() bool {
	d, ok := s.left.About()
	left := s.total - s.at
	return ok && math.Abs(float64(d-left)) <= tolerance*float64(left)
}

// play runs an experiment in a bubble and returns the estimates after a fifth of
// its time.
func play(t *testing.T, name string, known bool) (all []sample) {
	t.Helper()
	s, err := LoadAt(name, "small")
	if err != nil {
		t.Fatal(err)
	}
	if !known {
		s.Name = "mine" // without known times
	}
	p, err := NewPlan(s, "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join("..", "..", "docs", "results", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := player{took: make(map[string]string)}
	if m.outcome, err = result.ReadOutcome(f); err != nil {
		t.Fatal(err)
	}
	in, seeds := false, 0
	last := name + " small\n" // times of the sweep before, for the same seeds
	for line := range strings.Lines(tookText) {
		line = strings.TrimSpace(line)
		at := strings.LastIndex(line, ": ")
		if at < 0 {
			in = line == name+" small"
			continue
		}
		if in {
			words := strings.Fields(line[at+2:])
			for n, word := range words {
				m.took[fmt.Sprintf("%s, seed %d", line[:at], p.seed(n))] = word
			}
			seeds = max(seeds, len(words))
			if before := timesKnown()[name+" small"][line[:at]]; len(before) > 0 {
				last += line[:at] + ":"
				for _, v := range before[:min(len(before), len(words))] {
					last += fmt.Sprint(" ", v)
				}
				last += "\n"
			}
		}
	}
	s.MaxSeeds, s.MaxSeedsOpen = min(s.MaxSeeds, seeds), min(s.MaxSeedsOpen, seeds) // the sweep may be of a time when the file had fewer
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		if known {
			if err := os.MkdirAll(filepath.Dir(p.timesFile(st)), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p.timesFile(st), []byte(last), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		if _, err := Run(context.Background(), p, st, Options{Parallel: 2, Maker: m, OnEvent: func(e Event) {
			if e.Kind == Finished {
				all = append(all, sample{at: time.Since(begun), left: e.Left})
			}
		}}); err != nil {
			t.Fatal(err)
		}
		for i := range all {
			all[i].total = time.Since(begun)
		}
	})
	return slices.DeleteFunc(all, func(s sample) bool { return s.at < s.total/5 || s.at == s.total })
}

var played = []string{"clb-fig9-mixed", "pbfs-fig8", "pcn-fig14-websearch", "pcn-fig19b", "plb-fig2-victims", "rlb-fig14", "spraying", "tofino-rlb"}

// Experiments that differ in arms, points, seeds and added seeds are replayed with
// the times of a real sweep. Single times are right within a quarter, except for
// those before the machine's load changed: during the first and the last quarter
// of plb-fig2-victims, for example, runs took 1.7 times as long.
func TestEstimatesOfARealSweepAreRightWithinAQuarter(t *testing.T) {
	for _, c := range []struct {
		known        bool
		given, share float64 // least share of estimates with a single time, and of right ones among those
	}{{true, 0.75, 0.9}, {false, 0.3, 0.88}} {
		var n, given, right int
		for _, name := range played {
			all := play(t, name, c.known)
			var g, r int
			for _, x := range all {
				if _, ok := x.left.About(); ok {
					g++
				}
				if x.right() {
					r++
				}
			}
			t.Logf("known %v: %s: of %d estimates %d are single times, %d of them right", c.known, name, len(all), g, r)
			n, given, right = n+len(all), given+g, right+r
		}
		if a, b := float64(given)/float64(n), float64(right)/float64(given); a < c.given || b < c.share {
			t.Errorf("known %v: %d of %d estimates are single times (%.0f %%), %d of them right (%.0f %%); want %.0f and %.0f %%", c.known, given, n, 100*a, right, 100*b, 100*c.given, 100*c.share)
		}
	}
}

// The estimate of another process, from the store, agrees with that of the process
// that makes the runs.
func TestStatusAgreesWithTheRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, st := tinyPlan(t, "seeds: [3, 1]", "seeds: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"), newStore(t)
		var last Estimate
		begun := 0
		if _, err := Run(context.Background(), p, st, Options{Parallel: 2, Maker: sleeper(func(j Job) time.Duration {
			return time.Duration(60+10*j.Case+int(j.Seed)) * time.Second
		}), OnEvent: func(e Event) {
			if e.Kind == Finished {
				last = e.Left
			}
			if e.Kind != Started {
				return
			}
			if begun++; begun%10 != 0 {
				return
			}
			s, err := p.Status(st, 2)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := s.Until.quantile(0.5), last.quantile(0.5); math.Abs(a-b) > 0.1*b {
				t.Errorf("when run %d begins: %.0f s left by the store, %.0f s by the runner", begun, a, b)
			}
		}}); err != nil {
			t.Fatal(err)
		}
		if begun != 40 {
			t.Errorf("%d runs, want 40", begun)
		}
	})
}
