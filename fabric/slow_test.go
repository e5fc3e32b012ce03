// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// A slow receiver gets its flow at its rate, and pauses the switch only meanwhile.
func TestSlowReceiver(t *testing.T) {
	const pair = "leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 40Gbps, delay: 1us}"
	times := make(map[vtime.Rate]vtime.Time)
	for _, rate := range []vtime.Rate{0, 10 * vtime.Gbps} {
		var slow []Fault
		if rate > 0 {
			slow = []Fault{{Slow: "h2", Rate: rate}}
		}
		b := newBed(t, pair, faults(slow...))
		b.add(b.flow("h1", "h2", 2_000_000, 0))
		b.until(5 * vtime.Millisecond)
		r := b.Results()
		if !r.Flows[0].Finished {
			t.Fatalf("at %v the flow has not ended", rate)
		}
		times[rate] = r.Flows[0].FCT
		if pauses := len(r.Pauses); (pauses > 0) != (rate > 0) {
			t.Errorf("at %v there are %d PFC frames", rate, pauses)
		}
	}
	// Headers are 7 % of the bytes; what is in the buffer at the end takes no time.
	if fast, slow := times[0], times[10*vtime.Gbps]; slow < 37*fast/10 || slow > 4*fast {
		t.Errorf("a flow takes %v at 40 and %v at 10 Gb/s", fast, slow)
	}
	for _, f := range []Fault{{Slow: "h2"}, {Rate: vtime.Gbps, Link: "l1-s1", Down: true}, {Slow: "h7", Rate: vtime.Gbps}, {Slow: "h2", Rate: vtime.Gbps, Storm: "h1"}} {
		b := newBed(t, pair)
		if key, err := f.Check(b.net); err == nil {
			t.Errorf("%+v is accepted (%s)", f, key)
		}
	}
}
