// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
)

// unevenness is the largest ratio of the bytes that two uplinks of a leaf have sent.
func unevenness(r *result.Run) float64 {
	up := map[[2]int]bool{} // ports of leaves to switches
	for _, l := range r.Network.Links {
		if a, b := r.Network.Nodes[l.A].Tier, r.Network.Nodes[l.B].Tier; a == 1 && b == 2 {
			up[[2]int{l.A, l.AP}] = true
		} else if a == 2 && b == 1 {
			up[[2]int{l.B, l.BP}] = true
		}
	}
	least, most := map[int]uint64{}, map[int]uint64{}
	for _, p := range r.Raw.Ports {
		if up[[2]int{p.Node, p.Port}] {
			if least[p.Node] == 0 || p.Sent.Bytes < least[p.Node] {
				least[p.Node] = p.Sent.Bytes
			}
			most[p.Node] = max(most[p.Node], p.Sent.Bytes)
		}
	}
	ratio := 0.0
	for leaf := range most {
		ratio = max(ratio, float64(most[leaf])/float64(least[leaf]))
	}
	return ratio
}

// Ofan loads the uplinks of each leaf alike, so that less is queued, and less is out of
// order, than with random spraying.
func TestOfanLoadsLinksAlike(t *testing.T) {
	r := permuted(t, 1e6, "",
		"{name: rps, profile: rps, hosts: {recovery: out-of-order}}",
		"{name: ofan, profile: ofan, hosts: {recovery: out-of-order}}",
		"{name: rlb-ofan, profile: rlb-ofan, hosts: {recovery: out-of-order}}")
	for name, u := range map[string]float64{"rps": unevenness(r["rps"]), "ofan": unevenness(r["ofan"])} {
		t.Logf("%s: the uplink with most bytes has %.3f times those of the one with least", name, u)
	}
	if a, b := unevenness(r["ofan"]), unevenness(r["rps"]); a > 1.02 || b < 1.1 {
		t.Errorf("uplinks differ by a factor of %.3f, and of %.3f with random spraying, want at most 1.02, and at least 1.1", a, b)
	}
	for _, name := range []string{"ofan", "rlb-ofan"} {
		a, b := r[name].Summary, r["rps"].Summary
		if 2*a.MaxQueue > b.MaxQueue || 4*a.OutOfOrder > b.OutOfOrder {
			t.Errorf("%s: a queue of %d bytes and %d packets out of order, with random spraying %d and %d", name, a.MaxQueue, a.OutOfOrder, b.MaxQueue, b.OutOfOrder)
		}
	}
}
