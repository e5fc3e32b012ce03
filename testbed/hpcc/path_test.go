// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"slices"
	"strings"
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
		n, err := parseTopology(name, spec, topo.SwitchConfig{})
		if err != nil {
			t.Fatal(err)
		}
		var flows []fabric.Flow
		for i := range 200 {
			flows = append(flows, fabric.Flow{Src: i % 2, Dst: 2 + i/2%2, Port: uint16(10000 + i), Group: 100})
		}
		SamePathsAround(n, nil, 0, flows, cc.NoTelemetry, HPCC)
		used := make(map[int]int) // by the choices on the way
		for _, f := range flows {
			key := [3]uint32{uint32(address(f.Src)), uint32(address(f.Dst)), uint32(f.Port) | uint32(f.Group)<<16}
			next := nextHops(n, []int{f.Dst}, HPCC)
			all := choices(n, next, path(n, next, f.Src, f.Dst, key)[1:])
			if want := map[string]int{"leaf-spine": 1, "three tiers": 2}[name]; len(all) != want {
				t.Fatalf("%s: %d choices, want %d", name, len(all), want)
			}
			way := 0
			for _, c := range all {
				way = way*c.n + c.take
			}
			used[way]++
			if f.Wire[0] == 0 || f.Wire[1] == 0 || search(n, f.Src, f.Dst, f.Wire[0], packet.PortRoCEv2, all) != f.Wire[0] {
				t.Fatalf("%s: ports %v of flow %v do not take %v", name, f.Wire, f, all)
			}
		}
		for way, n := range used {
			if n < 100/len(used) {
				t.Errorf("%s: path %d is taken by %d of 200 flows", name, way, n)
			}
		}
		if len(used) != map[string]int{"leaf-spine": 2, "three tiers": 4}[name] {
			t.Errorf("%s: %d paths are taken", name, len(used))
		}
	}
}

// Next hops are in the order of the simulator's search: the switches created last
// come first, as traces of HPCC's simulator show.
func TestOrderOfNextHops(t *testing.T) {
	n, err := parseTopology("t", "6 4 6\n2 3 4 5\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 5 1Gbps 1us 0\n2 4 1Gbps 1us 0\n3 5 1Gbps 1us 0\n3 4 1Gbps 1us 0\n", topo.SwitchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	next := nextHops(n, []int{1}, HPCC)
	if !slices.Equal(next[2], []int{5, 4}) || !slices.Equal(next[4], []int{3}) || !slices.Equal(next[3], []int{1}) || next[1] != nil {
		t.Errorf("next hops towards node 1: %v", next)
	}
}

// twoLinks has two hosts with a link to either switch of their rack.
const twoLinks = "8 6 12\n2 3 4 5 6 7\n" +
	"0 2 1Gbps 1us 0\n0 3 1Gbps 1us 0\n1 4 1Gbps 1us 0\n1 5 1Gbps 1us 0\n" +
	"2 6 1Gbps 1us 0\n2 7 1Gbps 1us 0\n3 6 1Gbps 1us 0\n3 7 1Gbps 1us 0\n" +
	"4 6 1Gbps 1us 0\n4 7 1Gbps 1us 0\n5 6 1Gbps 1us 0\n5 7 1Gbps 1us 0\n"

// A host's flows are spread over its links by the simulator's hash, and files name
// the host. The tables and the walk are written here as the simulator has them.
func TestHostsWithTwoLinks(t *testing.T) {
	n, err := parseTopology("two", twoLinks, topo.SwitchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Nodes) != 10 || n.Nodes[8].Name != "h0.2" || n.Nodes[9].Name != "h1.2" {
		t.Fatalf("the nodes are %v", n.Nodes)
	}
	table := map[int][]int{0: {3, 2}, 2: {7, 6}, 3: {7, 6}, 6: {5, 4}, 7: {5, 4}} // towards host 1
	var flows []fabric.Flow
	for i := range 64 {
		flows = append(flows, fabric.Flow{Src: 0, Dst: 1, Size: 1, Port: uint16(10000 + i), Group: 100})
	}
	SamePathsAround(n, nil, 0, flows, cc.NoTelemetry, HPCC)
	used := make(map[[2]int]int)
	for i, f := range flows {
		key := [3]uint32{0x0b000001, 0x0b000101, uint32(10000+i) | 100<<16}
		first := table[0][murmur(key, 0x8badf00d)%2]
		spine := table[first][murmur(key, uint32(first))%2]
		last := table[spine][murmur(key, uint32(spine))%2]
		src, dst := map[int]int{2: 0, 3: 8}[first], map[int]int{4: 1, 5: 9}[last]
		if f.Src != src || f.Dst != dst {
			t.Errorf("flow %d is from %s to %s, want %s and %s", i, n.Nodes[f.Src].Name, n.Nodes[f.Dst].Name, n.Nodes[src].Name, n.Nodes[dst].Name)
		}
		if f.Wire[0] == 0 || f.Wire[1] == 0 {
			t.Errorf("flow %d has no UDP source ports that lead along its path", i)
		}
		// Acknowledgements: towards host 0 the tables have the racks swapped.
		key = [3]uint32{key[1], key[0], 100 | uint32(10000+i)<<16}
		towards0 := map[int][]int{1: {5, 4}, 4: {7, 6}, 5: {7, 6}, 6: {3, 2}, 7: {3, 2}}
		first = towards0[1][murmur(key, 0x8badf00d)%2]
		spine = towards0[first][murmur(key, uint32(first))%2]
		last = towards0[spine][murmur(key, uint32(spine))%2]
		if back := [2]int{map[int]int{4: 1, 5: 9}[first], map[int]int{2: 0, 3: 8}[last]}; f.Back != back {
			t.Errorf("acknowledgements of flow %d go between %v, want %v", i, f.Back, back)
		}
		used[[2]int{src, dst}]++
	}
	if len(used) != 4 {
		t.Errorf("adapters are used as %v, want all four pairs", used)
	}
	var fct, pfc strings.Builder
	results := []fabric.FlowResult{{Flow: fabric.Flow{Src: 8, Dst: 9, Size: 1}, Finished: true, FCT: 1}}
	if err := WriteFCT(&fct, n, results, 1000, ConWeave); err != nil || !strings.HasPrefix(fct.String(), "0 1 ") {
		t.Errorf("the FCT file has %q: %v", &fct, err)
	}
	pauses := []fabric.PauseEvent{{Time: 5, Node: 8, Port: 1, Quanta: 1}, {Time: 5000, Node: 1, Port: 1, Quanta: 1}}
	if err := WritePFC(&pfc, n, pauses, ConWeave); err != nil || pfc.String() != "0 0 0 2 1\n5 1 0 1 1\n" {
		t.Errorf("the PFC file has %q: %v", &pfc, err)
	}
	if _, _, err := parseFlows("f", "1\n0 9 3 100 5 2\n", n); err == nil || !strings.Contains(err.Error(), "node 9, which the topology file does not have") {
		t.Errorf("a flow to an adapter: %v", err)
	}
	for _, l := range []LinkDown{{A: 0, B: 2}, {A: 5, B: 1}} {
		if _, err := l.Fault(n); err == nil || !strings.Contains(err.Error(), "has several links") {
			t.Errorf("%v: %v", l, err)
		}
	}
	if _, err := (&LinkDown{A: 2, B: 6}).Fault(n); err != nil {
		t.Error(err)
	}
}
