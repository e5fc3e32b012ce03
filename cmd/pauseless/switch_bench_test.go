// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/pauseless/pauseless/softswitch/bench"
)

// What issue 4 asks for: 1.5 million packets a second for the router, half a
// million for rlb-drill, no allocation.
func BenchmarkSwitch(b *testing.B) {
	for _, c := range bench.Cases() {
		b.Run(c.Name, func(b *testing.B) {
			s := readyBench(b, c)
			b.ReportAllocs()
			b.ResetTimer()
			s.Packets(b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
		})
	}
}

func readyBench(t testing.TB, c bench.Case) *bench.Bench {
	t.Helper()
	p, err := benchProgram(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := bench.New(c, p)
	if err != nil {
		t.Fatal(err)
	}
	s.Packets(5000) // pools fill
	return s
}

// The rates depend on the machine, this does not.
func TestPacketsAllocateNothing(t *testing.T) {
	for _, c := range bench.Cases() {
		s := readyBench(t, c)
		if n := testing.AllocsPerRun(100, func() { s.Packets(100) }); n > 0 {
			t.Errorf("%s: %g allocations for 100 packets", c.Name, n)
		}
		if err := s.Lost(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}
