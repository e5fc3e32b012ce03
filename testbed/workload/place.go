// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"slices"

	"github.com/pauseless/pauseless/internal/topo"
)

// byRail returns slots ordered by their place: the number of the adapter in its host
// or, if hosts have one adapter, of the host at its leaf.
func byRail(t *topo.Topology, slots []slot) []slot {
	order := slices.Clone(slots)
	rail := func(s slot) int {
		if s.local > 0 || len(adapters(t, t.Nodes[s.node].Host)) > planes(t) {
			return s.local
		}
		p := t.Nodes[s.node].Ports[0]
		return p.PeerPort
	}
	places := make(map[slot]int)
	for _, s := range order {
		places[s] = rail(s)
	}
	slices.SortStableFunc(order, func(a, b slot) int { return cmp.Compare(places[a], places[b]) })
	return order
}

// shuffled returns slots with the hosts in a random order; the slots of a host stay
// together.
func shuffled(g *gen, slots []slot) []slot {
	var groups [][]slot
	for i, s := range slots {
		if i == 0 || g.t.Nodes[s.node].Host != g.t.Nodes[slots[i-1].node].Host {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], s)
	}
	g.rng.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	return slices.Concat(groups...)
}
