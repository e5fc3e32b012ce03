// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/p4src"
	"github.com/pauseless/pauseless/softswitch/interp"
)

func compileCase(t testing.TB, c Case) *compiler.Result {
	t.Helper()
	var src []byte
	var err error
	if c.Program == "router" {
		src, err = os.ReadFile("testdata/router.p4")
	} else {
		src, err = p4src.FS.ReadFile("v1model/" + c.Program + ".p4")
	}
	if err != nil {
		t.Fatal(err)
	}
	r, list := compiler.Compile(compiler.Options{File: c.Program + ".p4", Source: src, Defines: c.Defines})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// ready prepares a case and fills the pools of its switch.
func ready(t testing.TB, c Case) *Bench {
	t.Helper()
	p, err := interp.Compile(compileCase(t, c).Program, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBench(c, p)
	if err != nil {
		t.Fatal(err)
	}
	b.Packets(5000)
	return b
}

// Rates depend on the machine; allocations do not.
func TestPacketsAllocateNothing(t *testing.T) {
	for _, c := range cases() {
		s := ready(t, c)
		if n := testing.AllocsPerRun(100, func() { s.Packets(100) }); n > 0 {
			t.Errorf("%s: %g allocations for 100 packets", c.Name, n)
		}
		if err := s.Lost(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// BenchmarkSwitch forwards packets on one core, with ports in memory.
func BenchmarkSwitch(b *testing.B) {
	for _, c := range cases() {
		b.Run(c.Name, func(b *testing.B) {
			s := ready(b, c)
			b.ReportAllocs()
			b.ResetTimer()
			s.Packets(b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
			if err := s.Lost(); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkLargeTables compares large tables with smaller ones: 100,000 routes may
// be at most a quarter slower than 1,000. Both run alternately in many short
// rounds, so that other load of the machine affects both alike. It reports the
// packets per second with the larger table as a percentage of those with the
// smaller one: the median of the rounds, and the first and ninth decile.
func BenchmarkLargeTables(b *testing.B) {
	const turns, rounds, round, warm = 20, 50, 1000, 50_000
	// turn returns how long a round takes: the one that a quarter beats.
	turn := func(s *Bench) time.Duration {
		s.Packets(warm) // caches
		var took []time.Duration
		for range rounds {
			start := time.Now()
			s.Packets(round)
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		return took[len(took)/4]
	}
	all := cases()
	for _, c := range all {
		if c.Like == "" {
			continue
		}
		b.Run(c.Name, func(b *testing.B) {
			large := ready(b, c)
			small := ready(b, all[slices.IndexFunc(all, func(o Case) bool { return o.Name == c.Like })])
			var percent []float64
			for b.Loop() {
				for range turns {
					percent = append(percent, 100*float64(turn(small))/float64(turn(large)))
				}
			}
			slices.Sort(percent)
			n := len(percent)
			b.ReportMetric(percent[n/2], "%-of-smaller")
			b.ReportMetric(percent[n/10], "%-10th")
			b.ReportMetric(percent[n-1-n/10], "%-90th")
		})
	}
}
