// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestHeapGrowsWithHosts(t *testing.T) {
	for _, c := range []struct {
		live  uint64
		hosts int
		want  int
	}{
		{0, 2, 1200}, {0, 8192, 12800}, {5 << 20, 128, 860}, {16 << 20, 128, 200}, {40 << 20, 128, 120},
		{128 << 20, 8192, 500}, {1 << 30, 8192, 150}, {1 << 30, 65536, 200}, {16 << 30, 65536, 106},
	} {
		if got := running(c.hosts).of(c.live); got != c.want {
			t.Errorf("with %d bytes in use the heap of %d hosts may grow by %d %%, want %d %%", c.live, c.hosts, got, c.want)
		}
	}
	if got := starting.of(64 << 20); got != 400 {
		t.Errorf("until a network is open the heap may grow by %d %%, want 400 %%", got)
	}
}

func TestGOGCTakesPrecedence(t *testing.T) {
	t.Setenv("GOGC", "77")
	running(8192).use() // waits for a finalizer that has not seen the variable
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	running(8192).use()
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("the percentage is %d although GOGC is 77", got)
	}
	t.Setenv("GOGC", "")
	running(8192).use()
	if got := debug.SetGCPercent(77); got <= 77 {
		t.Errorf("the percentage is %d, want more", got)
	}
}

// A percentage of a small heap would let a large one grow without limit.
func TestGrowthIsAppliedAfterEachCollection(t *testing.T) {
	t.Setenv("GOGC", "")
	running(2).use()
	held := make([]byte, 256<<20)
	before := debug.SetGCPercent(150)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for read("/gc/gogc:percent") != 100 {
		runtime.GC()
		runtime.Gosched() // to the finalizer
	}
	runtime.KeepAlive(held)
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
