// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"math"
	"testing"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/vtime"
)

const star = "graph: {rate: 40Gbps, delay: 1us, switches: [{name: s}], hosts: [{name: h, count: 6, on: s}]}"

// scheduled runs coflows, given as source, destination, payload bytes and
// number, which start simultaneously. It returns the end of each coflow in
// seconds.
func scheduled(t *testing.T, scheduler string, flows ...[4]int) map[uint32]float64 {
	t.Helper()
	b := newBed(t, star, hosts(func(c *roce.Config) { c.Coflows.Scheduler = scheduler }))
	h := b.net.Hosts()
	for _, f := range flows {
		b.add(Flow{Src: h[f[0]], Dst: h[f[1]], Size: int64(f[2]), Class: 3, Coflow: uint32(f[3])})
	}
	ends := make(map[uint32]float64)
	for _, f := range b.finish().Flows {
		ends[f.Coflow] = max(ends[f.Coflow], f.FCT.Seconds())
	}
	return ends
}

// on returns the time for a payload on a link of 40 Gb/s.
func on(bytes float64) float64 { return bytes / 1000 * 1082 * 8 / 40e9 }

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	// With the delay of a schedule, a round trip and the last packets' queueing.
	if got < want*0.98 || got > want*1.02+30e-6 {
		t.Errorf("%s: %.1f us, want %.1f", what, got*1e6, want*1e6)
	}
}

// Two coflows to one host. Without a scheduler both end late. Varys serves the
// smaller one first, and the larger one does not end later.
func TestVarysServesTheSmallestBottleneckFirst(t *testing.T) {
	flows := [][4]int{{0, 4, 2e6, 1}, {1, 4, 2e6, 1}, {2, 4, 1e6, 2}}
	fair, varys := scheduled(t, "", flows...), scheduled(t, roce.Varys, flows...)
	near(t, "small coflow, fair", fair[2], on(3e6))
	near(t, "small coflow, Varys", varys[2], on(1e6))
	near(t, "large coflow, Varys", varys[1], on(5e6))
}

// All flows of a coflow end with its slowest (MADD): the rest of the link's
// capacity goes to another coflow, which ends earlier.
func TestVarysLimitsFlowsToTheNeededRate(t *testing.T) {
	// Coflow 1 needs on(4e6) at host 0 regardless of host 5, of which it uses a
	// quarter. Coflow 2 has the other three quarters.
	ends := scheduled(t, roce.Varys, [4]int{0, 4, 4e6, 1}, [4]int{1, 5, 1e6, 1}, [4]int{2, 5, 4.5e6, 2})
	near(t, "coflow 1", ends[1], on(4e6))
	near(t, "coflow 2", ends[2], on(5.5e6))
}

// Capacity that a coflow cannot use goes to the next one.
func TestVarysConservesWork(t *testing.T) {
	ends := scheduled(t, roce.Varys, [4]int{0, 4, 1e6, 1}, [4]int{1, 5, 3e6, 2}, [4]int{0, 5, 1e6, 2})
	near(t, "coflow 1", ends[1], on(1e6))
	near(t, "coflow 2", ends[2], on(4e6))
}

// Aalo does not use flow sizes: the first coflow has precedence until it has
// sent 10 MB. Then it waits for others.
func TestAaloPrefersCoflowsWithFewerBytesSent(t *testing.T) {
	b := newBed(t, star, hosts(func(c *roce.Config) { c.Coflows.Scheduler = roce.Aalo }))
	h := b.net.Hosts()
	b.add(
		Flow{Src: h[0], Dst: h[4], Size: 15e6, Class: 3, Coflow: 1},
		Flow{Src: h[1], Dst: h[4], Size: 2e6, Start: 100 * vtime.Microsecond, Class: 3, Coflow: 2},
		Flow{Src: h[2], Dst: h[4], Size: 1e6, Start: 200 * vtime.Microsecond, Class: 3, Coflow: 3},
	)
	r := b.finish()
	near(t, "coflow 2", r.Flows[1].FCT.Seconds()+100e-6, on(12e6))
	near(t, "coflow 3", r.Flows[2].FCT.Seconds()+200e-6, on(13e6))
	near(t, "coflow 1", r.Flows[0].FCT.Seconds(), on(18e6))
}

// Flows without a coflow are scheduled individually. Results do not depend on
// the slices of the run.
func TestSchedulesDoNotDependOnSlices(t *testing.T) {
	run := func(slice vtime.Time) (sum float64) {
		b := newBed(t, star, hosts(func(c *roce.Config) { c.Coflows.Scheduler = roce.Varys }))
		h := b.net.Hosts()
		for i := range 20 {
			b.add(Flow{Src: h[i%4], Dst: h[4+i%2], Size: int64(50_000 * (1 + i*7%11)), Start: vtime.Time(i) * 13 * vtime.Microsecond, Class: 3, Coflow: uint32(i % 5)})
		}
		for !b.Done() {
			b.until(b.Now() + slice)
		}
		for i, f := range b.Results().Flows {
			sum += f.FCT.Seconds() * float64(i+1)
		}
		return sum
	}
	if a, b := run(7*vtime.Microsecond), run(vtime.Millisecond); math.Abs(a-b) > 0 {
		t.Errorf("%g with short slices, %g with long ones", a, b)
	}
}
