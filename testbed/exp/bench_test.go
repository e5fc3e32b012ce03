// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/pauseless/pauseless/testbed/scenario"
)

// sweep returns an experiment of 200 short runs, of some tenths of a second each.
func sweep(t testing.TB) *Plan {
	p := tinyPlan(t, "values: [20KB, 40KB]", "values: [200KB, 400KB]", "degree: 2, size: 20KB, to: h1", "degree: 2, size: 20KB, to: h1, times: 200, interval: 200us")
	p.Scenario.Reseed(50)
	return p
}

// processor returns the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRunnerOverhead measures the runner's share of processor time. It
// alternates runs with and without the runner, so that load of the machine
// affects both.
func BenchmarkRunnerOverhead(b *testing.B) {
	p := sweep(b)
	var bare, run time.Duration
	for b.Loop() {
		begun := processor()
		for _, j := range p.Jobs() {
			if _, err := p.Make(context.Background(), j, scenario.Options{}); err != nil {
				b.Fatal(err)
			}
		}
		bare += processor() - begun
		begun = processor()
		if _, err := Run(context.Background(), p, newStore(b), Options{}); err != nil {
			b.Fatal(err)
		}
		run += processor() - begun
	}
	b.ReportMetric(100*(float64(run)/float64(bare)-1), "%overhead")
	b.ReportMetric(bare.Seconds()/float64(b.N)/200*1000, "ms/run")
}

// BenchmarkTwoCores measures the share of two cores that a sweep with two runs at
// a time uses.
func BenchmarkTwoCores(b *testing.B) {
	p := sweep(b)
	st := newStore(b)
	var used, took time.Duration
	for b.Loop() {
		cpu, begun := processor(), time.Now()
		if _, err := Run(context.Background(), p, st, Options{Parallel: 2}); err != nil {
			b.Fatal(err)
		}
		used, took = used+processor()-cpu, took+time.Since(begun)
		b.StopTimer()
		st = newStore(b)
		b.StartTimer()
	}
	b.ReportMetric(100*used.Seconds()/took.Seconds()/2, "%busy")
}
