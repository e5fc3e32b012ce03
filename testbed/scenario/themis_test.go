// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
)

// permuted runs a permutation of 16 hosts below four leaves with arms: each host sends
// so many bytes to one of another leaf.
func permuted(t *testing.T, size int, more string, arms ...string) map[string]*result.Run {
	t.Helper()
	text := `name: permutation
network: {leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}, switch: {buffer: 32MB, pfc: {xoff: 1MB}}` + more + `}
hosts: {mtu: 4096, cc: {algorithm: none}}
arms: [` + strings.Join(arms, ", ") + `]
until: 100ms
traffic: [{job: {file: permutation.cm}}]
`
	var b strings.Builder
	fmt.Fprintf(&b, "Nodes 16\nConnections 16\n")
	for i := range 16 {
		fmt.Fprintf(&b, "%d->%d start 0 size %d\n", i, (5*i+6)%16, size)
	}
	s, err := ParseIn("permutation.yaml", []byte(text), "", Paper, openText(map[string]string{"permutation.cm": b.String()}))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := s.Run(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]*result.Run{}
	for _, r := range runs {
		named[r.Arm] = r
		t.Logf("%s: average FCT %.1f us, last %.1f us, %d resent, %d out of order, %d timeouts, %d PAUSE frames, %d bytes queued at most", r.Arm,
			r.Summary.AvgFCTUS, lastFlow(r), r.Summary.Resent, r.Summary.OutOfOrder, r.Summary.Timeouts, r.Summary.PauseFrames, r.Summary.MaxQueue)
		if r.Summary.Finished != r.Summary.Flows {
			t.Errorf("%s: %d of %d flows ended", r.Arm, r.Summary.Finished, r.Summary.Flows)
		}
	}
	return named
}

// Sprayed with Themis, NICs with selective repeat, which repeat what a NAK asks for,
// repeat nothing, and are as fast as NICs that wait for late packets. Without the filter
// they repeat one packet for each that arrives early.
func TestThemisDropsNAKsOfReordering(t *testing.T) {
	r := permuted(t, 1e6, uneven,
		"{name: no filter, profile: themis, hosts: {recovery: irn, window: 4}, set: {themis.filter: 0}}",
		"{name: themis, profile: themis, hosts: {recovery: irn, window: 4}}",
		"{name: tofino, profile: themis, target: tna, hosts: {recovery: irn, window: 4}}",
		"{name: out-of-order, profile: themis, hosts: {recovery: out-of-order}}")
	if n := r["no filter"].Summary; n.Resent < 100 || n.OutOfOrder < 100 {
		t.Errorf("without the filter, %d packets out of order cause %d retransmissions: too few to show anything", n.OutOfOrder, n.Resent)
	}
	for _, name := range []string{"themis", "tofino"} {
		if n := r[name].Summary; n.Resent != 0 || n.OutOfOrder < 100 {
			t.Errorf("%s: %d retransmissions, want none, with %d packets out of order", name, n.Resent, n.OutOfOrder)
		}
		if a, b := lastFlow(r[name]), lastFlow(r["out-of-order"]); a > 1.05*b {
			t.Errorf("%s: the last flow ends after %.1f us, with NICs that wait after %.1f us", name, a, b)
		}
	}
}

// A packet that is lost is repeated in a round trip, not after a timeout. That cannot hold
// for the last one of a flow on its path, whose loss no later packet shows. With 1 MB a flow
// has a timeout on Tofino, where other packets take the link; which packet that is has not
// been traced.
func TestThemisForwardsNAKsOfLosses(t *testing.T) {
	const v1model, tofino = "{name: themis, profile: themis, hosts: {recovery: irn, rto_low: 4ms}}", "{name: tofino, profile: themis, target: tna, hosts: {recovery: irn, rto_low: 4ms}}"
	for size, arms := range map[int][]string{1e6: {v1model}, 1.1e6: {v1model, tofino}} {
		for name, r := range permuted(t, size, ", change: [{link: l1-s1, loss: 0.01}]", arms...) {
			if s := r.Summary; s.Resent == 0 || s.Timeouts > 0 {
				t.Errorf("%s, %d bytes: %d retransmissions and %d timeouts, want some and none", name, size, s.Resent, s.Timeouts)
			}
		}
	}
}

// NICs that discard packets out of order repeat them with Themis too: it drops no NAK for
// a packet that has passed the leaf. Spraying by numbers reorders less than at random.
func TestThemisCannotHelpNICsThatDiscard(t *testing.T) {
	r := permuted(t, 1e6, uneven,
		"{name: go-back-n, profile: themis, hosts: {recovery: go-back-n}, set: {themis.slack: 0}}",
		"{name: tofino, profile: themis, target: tna, hosts: {recovery: go-back-n}, set: {themis.slack: 0}}",
		"{name: selective, profile: themis, hosts: {recovery: irn}}",
		"{name: go-back-n rps, profile: rps, hosts: {recovery: go-back-n}}")
	for _, name := range []string{"go-back-n", "tofino"} {
		if n := r[name].Summary.Resent; n < 100 || n <= r["selective"].Summary.Resent {
			t.Errorf("%s: go-back-n repeats %d packets, want more than selective repeat", name, n)
		}
	}
}

// uneven has one path with more delay, so that packets on the others overtake.
const uneven = ", change: [{link: l1-s1, delay: 3us}]"

// The second and later messages of a queue pair are sprayed like the first: no NAK that
// reordering causes reaches the sender.
func TestThemisDropsNAKsFromMessageToMessage(t *testing.T) {
	r := ring(t, "irn", "{name: themis, profile: themis, hosts: {window: 4}}", "{name: tofino, profile: themis, target: tna, hosts: {window: 4}}", "{name: no filter, profile: themis, hosts: {window: 4}, set: {themis.filter: 0}}")
	if s := r["no filter"].Summary; s.Resent < 100 {
		t.Errorf("without the filter, %d packets out of order cause %d retransmissions: too few to show anything", s.OutOfOrder, s.Resent)
	}
	for _, name := range []string{"themis", "tofino"} {
		if s := r[name].Summary; s.Resent != 0 || s.Timeouts != 0 || s.OutOfOrder < 100 {
			t.Errorf("%s: %d retransmissions and %d timeouts, want none, with %d packets out of order", name, s.Resent, s.Timeouts, s.OutOfOrder)
		}
	}
}

// ring runs a ring all-reduce of 16 ranks below four leaves, in which each queue pair
// has 30 messages of 32 packets, with arms.
func ring(t *testing.T, recovery string, arms ...string) map[string]*result.Run {
	t.Helper()
	named := map[string]*result.Run{}
	for _, r := range collectiveRuns(t, `name: ring
network: {leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}, switch: {buffer: 32MB, pfc: {xoff: 1MB}}, change: [{link: l1-s1, delay: 3us}]}
hosts: {mtu: 4096, recovery: `+recovery+`, cc: {algorithm: none}}
arms: [`+strings.Join(arms, ", ")+`]
until: 100ms
traffic: [{collective: {kind: all_reduce, size: 2MB, place: random}}]
`, 1) {
		if named[r.Arm] = r; r.Summary.Finished != r.Summary.Flows || r.Summary.Flows != 16*30 {
			t.Errorf("%s: %d of %d flows ended, want 480", r.Arm, r.Summary.Finished, r.Summary.Flows)
		}
	}
	return named
}
