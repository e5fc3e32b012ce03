// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// searched is the first link of the path from each node to a host, and the number of
// links on it, by a search through all nodes.
func searched(t *Topology, host int) (next, hops []int) {
	next, hops = slices.Repeat([]int{-1}, len(t.Nodes)), make([]int, len(t.Nodes))
	for queue := []int{host}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		for _, p := range t.Nodes[n].Ports {
			if p.Peer == host || next[p.Peer] >= 0 || t.Links[p.Link].Unused {
				continue
			}
			next[p.Peer], hops[p.Peer] = p.Link, hops[n]+1
			if t.Nodes[p.Peer].Kind == Switch {
				queue = append(queue, p.Peer)
			}
		}
	}
	return next, hops
}

// The hosts of a switch share a tree. Their paths are those of a search of their own, in
// random networks with parallel and unused links.
func TestPathsAreThoseOfASearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var b Builder
		switches := 1 + rng.IntN(8)
		for i := range switches {
			b.AddSwitch(fmt.Sprintf("s%d", i), 0)
		}
		for i := range 1 + rng.IntN(10) {
			b.Connect(b.AddHost(fmt.Sprintf("h%d", i)), rng.IntN(switches), vtime.Gbps, vtime.Microsecond)
		}
		for range rng.IntN(20) {
			if x, y := rng.IntN(switches), rng.IntN(switches); x != y {
				b.Connect(x, y, vtime.Gbps, vtime.Microsecond)
			}
		}
		net, err := b.Build("random", SwitchConfig{})
		if err != nil {
			continue // a switch is too far from all hosts, or a host's switch is no leaf
		}
		for i := range net.Links {
			net.Links[i].Unused = rng.IntN(6) == 0
		}
		paths := net.Paths()
		for _, host := range net.Hosts() {
			next, hops := searched(net, host)
			tree := paths.To(host)
			for i := range net.Nodes {
				var want, got []int
				for n := i; next[n] >= 0; {
					l := &net.Links[next[n]]
					want, n = append(want, l.ID), l.A.Node^l.B.Node^n
				}
				for _, l := range tree.From(i) {
					got = append(got, l.ID)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("path from node %d to host %d: links %v, want %v", i, host, got, want)
				}
				var ports []int
				for k, p := range net.Nodes[i].Ports {
					through := net.Nodes[p.Peer].Kind == Switch && next[p.Peer] >= 0
					if (p.Peer == host || through) && hops[p.Peer] == hops[i]-1 && !net.Links[p.Link].Unused {
						ports = append(ports, k+1)
					}
				}
				if got := tree.Closer(i); !slices.Equal(got, ports) || tree.NextHops(i) != len(ports) {
					t.Fatalf("next hops of node %d to host %d: %v (%d), want %v", i, host, got, tree.NextHops(i), ports)
				}
			}
		}
	}
}
