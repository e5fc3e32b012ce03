// SPDX-License-Identifier: Apache-2.0

package scenario

import "testing"

// Flowcut keeps the order. Flows that share a link are drained and move, before the link
// is paused; without draining they have no gap in which they could.
func TestFlowcutDrainsFlowsAndKeepsTheOrder(t *testing.T) {
	r := permuted(t, 4e6, uneven,
		"{name: flowcut, profile: flowcut}",
		"{name: every fourth, profile: flowcut, hosts: {ack_every: 4}}",
		"{name: no drain, profile: flowcut, set: {flowcut.rtt: 100ms}}",
		"{name: tofino, profile: flowcut, target: tna}")
	for name, run := range r {
		if s := run.Summary; s.OutOfOrder != 0 || s.Resent != 0 {
			t.Errorf("%s: %d packets out of order, %d retransmissions", name, s.OutOfOrder, s.Resent)
		}
	}
	still := r["no drain"]
	for _, name := range []string{"flowcut", "every fourth", "tofino"} {
		if a, b := r[name].Summary, still.Summary; 2*a.PauseFrames > b.PauseFrames || a.AvgFCTUS > b.AvgFCTUS {
			t.Errorf("%s: %d PAUSE frames and %.1f us on average, without draining %d and %.1f us", name, a.PauseFrames, a.AvgFCTUS, b.PauseFrames, b.AvgFCTUS)
		}
	}
}

// A flow whose packets are lost while it drains goes on.
func TestFlowcutRepeatsWhatWasLostWhileDraining(t *testing.T) {
	r := permuted(t, 4e6, ", change: [{loss: 0.0005}]",
		"{name: go-back-n, profile: flowcut, hosts: {recovery: go-back-n, rto: 200us}}",
		"{name: out-of-order, profile: flowcut, hosts: {recovery: out-of-order, reorder_wait: 50us, rto: 200us}}",
		"{name: tofino, profile: flowcut, target: tna, hosts: {recovery: go-back-n, rto: 200us}}")
	for name, run := range r {
		if run.Summary.Resent == 0 {
			t.Errorf("%s: nothing was lost", name)
		}
	}
}

// Messages of a queue pair are one flow for a switch: in a ring nothing is out of order,
// so that NICs that discard early packets repeat none.
func TestFlowcutKeepsTheOrderFromMessageToMessage(t *testing.T) {
	r := ring(t, "go-back-n", "{name: flowcut, profile: flowcut}", "{name: every fourth, profile: flowcut, hosts: {ack_every: 4}}", "{name: tofino, profile: flowcut, target: tna}")
	for name, run := range r {
		if s := run.Summary; s.OutOfOrder != 0 || s.Resent != 0 {
			t.Errorf("%s: %d packets out of order, %d retransmissions", name, s.OutOfOrder, s.Resent)
		}
	}
}
