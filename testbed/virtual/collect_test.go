// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"runtime/debug"
	"testing"
)

func TestHeapGrowsWithHosts(t *testing.T) {
	for _, c := range []struct {
		live  uint64
		hosts int
		want  int
	}{{0, 2, 112}, {16 << 20, 128, 150}, {128 << 20, 8192, 500}, {1 << 30, 8192, 150}, {1 << 30, 65536, 200}, {16 << 30, 65536, 106}} {
		if got := gcPercent(c.live, c.hosts); got != c.want {
			t.Errorf("with %d bytes in use the heap of %d hosts may grow by %d %%, want %d %%", c.live, c.hosts, got, c.want)
		}
	}
}

func TestGOGCTakesPrecedence(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "77")
	collectLess(8192)
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("the percentage is %d although GOGC is 77", got)
	}
	t.Setenv("GOGC", "")
	collectLess(8192)
	if got := debug.SetGCPercent(77); got <= 77 {
		t.Errorf("the percentage is %d, want more", got)
	}
}

func TestManyFlowsAreWorthTrimming(t *testing.T) {
	for _, c := range []struct {
		hosts, flows int
		used         uint64
		want         bool
	}{{8192, 122880, 660 << 20, true}, {8192, 8192, 500 << 20, false}, {128, 122880, 100 << 20, false}, {65536, 65536, 3 << 30, false}} {
		if got := worthTrimming(c.hosts, c.flows, c.used); got != c.want {
			t.Errorf("%d hosts with %d flows and %d bytes in use: %v, want %v", c.hosts, c.flows, c.used, got, c.want)
		}
	}
}
