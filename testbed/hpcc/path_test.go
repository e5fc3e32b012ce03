// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"slices"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
)

// With the flows' source ports the programs' hash makes the simulator's choices at
// every leaf and aggregation switch, for data and acknowledgements.
func TestSamePaths(t *testing.T) {
	for name, spec := range map[string]string{
		"leaf-spine": "8 4 8\n4 5 6 7\n" +
			"0 4 1Gbps 1us 0\n1 4 1Gbps 1us 0\n2 5 1Gbps 1us 0\n3 5 1Gbps 1us 0\n4 6 1Gbps 1us 0\n4 7 1Gbps 1us 0\n5 6 1Gbps 1us 0\n5 7 1Gbps 1us 0\n",
		// Two pods of a leaf and two aggregation switches, each with two cores.
		"three tiers": "14 10 16\n4 5 6 7 8 9 10 11 12 13\n" +
			"0 4 1Gbps 1us 0\n1 4 1Gbps 1us 0\n2 5 1Gbps 1us 0\n3 5 1Gbps 1us 0\n" +
			"4 6 1Gbps 1us 0\n4 7 1Gbps 1us 0\n5 8 1Gbps 1us 0\n5 9 1Gbps 1us 0\n" +
			"6 10 1Gbps 1us 0\n6 11 1Gbps 1us 0\n7 12 1Gbps 1us 0\n7 13 1Gbps 1us 0\n" +
			"8 10 1Gbps 1us 0\n8 11 1Gbps 1us 0\n9 12 1Gbps 1us 0\n9 13 1Gbps 1us 0\n",
	} {
		n, err := ParseTopology(name, spec, topo.SwitchConfig{})
		if err != nil {
			t.Fatal(err)
		}
		var flows []fabric.Flow
		for i := range 200 {
			flows = append(flows, fabric.Flow{Src: i % 2, Dst: 2 + i/2%2, Port: uint16(10000 + i), Group: 100})
		}
		SamePaths(n, flows, cc.NoTelemetry)
		used := make(map[int]int)
		for _, f := range flows {
			key := [3]uint32{uint32(address(f.Src)), uint32(address(f.Dst)), uint32(f.Port) | uint32(f.Group)<<16}
			all := choices(n, nextHops(n, f.Dst), f.Src, f.Dst, key)
			if want := map[string]int{"leaf-spine": 1, "three tiers": 2}[name]; len(all) != want {
				t.Fatalf("%s: %d choices, want %d", name, len(all), want)
			}
			path := 0
			for _, c := range all {
				path = path*c.n + c.take
			}
			used[path]++
			if f.Wire[0] == 0 || f.Wire[1] == 0 || search(n, f.Src, f.Dst, f.Wire[0], packet.PortRoCEv2, all) != f.Wire[0] {
				t.Fatalf("%s: ports %v of flow %v do not take %v", name, f.Wire, f, all)
			}
		}
		for path, n := range used {
			if n < 100/len(used) {
				t.Errorf("%s: path %d is taken by %d of 200 flows", name, path, n)
			}
		}
		if len(used) != map[string]int{"leaf-spine": 2, "three tiers": 4}[name] {
			t.Errorf("%s: %d paths are taken", name, len(used))
		}
	}
}

// Next hops are in the order of the simulator's search.
func TestOrderOfNextHops(t *testing.T) {
	n, err := ParseTopology("t", "6 4 6\n2 3 4 5\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 5 1Gbps 1us 0\n2 4 1Gbps 1us 0\n3 5 1Gbps 1us 0\n3 4 1Gbps 1us 0\n", topo.SwitchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	next := nextHops(n, 1)
	if !slices.Equal(next[2], []int{4, 5}) || !slices.Equal(next[4], []int{3}) || !slices.Equal(next[3], []int{1}) || next[1] != nil {
		t.Errorf("next hops towards node 1: %v", next)
	}
}
