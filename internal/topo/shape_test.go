// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

func parse(t *testing.T, text string) *Topology {
	t.Helper()
	net, err := Parse("t.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// summary describes the tiers, the links, and the hops between the first host
// and the last.
func summary(t *Topology) string {
	var tiers [4]int
	for _, n := range t.Nodes {
		tiers[n.Tier]++
	}
	hosts := t.Hosts()
	hops := len(t.TreeTo(hosts[len(hosts)-1]).From(hosts[0]))
	return fmt.Sprintf("hosts %d tiers %v links %d hops %d", len(hosts), tiers[1:], len(t.Links), hops)
}

func TestShapesHaveTheirNodesAndLinks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"leaf-spine with parallel links",
			"leaf_spine: {leaves: 3, spines: 2, hosts_per_leaf: 4, rate: 10Gbps, uplink_rate: 40Gbps, delay: 1us, parallel: 2}",
			"hosts 12 tiers [3 2 0] links 24 hops 4"},
		{"fat tree of 4-port switches", "fat_tree: {k: 4, rate: 40Gbps, delay: 1us}",
			"hosts 16 tiers [8 8 4] links 48 hops 6"},
		{"PCN's Clos, 1:1 at every layer",
			"clos: {pods: 8, tors: 4, aggs: 2, cores: 8, hosts_per_tor: 16, parallel: 2, rate: 10Gbps, uplink_rate: 40Gbps, delay: 5us}",
			"hosts 512 tiers [32 16 8] links 768 hops 6"},
		{"PB-FS's fat tree",
			"clos: {pods: 5, tors: 4, aggs: 4, cores: 16, cores_per_agg: 4, hosts_per_tor: 16, rate: 25Gbps, uplink_rate: 100Gbps, delay: 2us}",
			"hosts 320 tiers [20 20 16] links 480 hops 6"},
		{"dumbbell", "dumbbell: {left: 2, right: 16, rate: 40Gbps, delay: 5us}", "hosts 18 tiers [2 0 0] links 19 hops 3"},
		{"parking lot", "parking_lot: {bottlenecks: 4, hosts_per_switch: 2, rate: 40Gbps, delay: 5us}", "hosts 10 tiers [5 0 0] links 14 hops 6"},
		{"graph with tiers left out",
			"graph: {rate: 40Gbps, delay: 1us, switches: [{name: a}, {name: b}, {name: top}], hosts: [{name: h, count: 3, on: a}, {name: r, on: b, rate: 10Gbps}], links: [{a: a, b: top, count: 2}, {a: top, b: b}]}",
			"hosts 4 tiers [2 1 0] links 7 hops 4"},
	} {
		if got := summary(parse(t, c.text)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestNextHopsAreCloser(t *testing.T) {
	net := parse(t, "clos: {pods: 2, tors: 2, aggs: 3, cores: 6, cores_per_agg: 2, hosts_per_tor: 2, parallel: 2, rate: 10Gbps, delay: 1us}")
	tree := net.TreeTo(net.NodeByName("h8").ID)
	for name, want := range map[string]int{"h1": 1, "t1": 6, "a1": 2, "c1": 1, "a4": 2, "t4": 1, "t3": 6} {
		if got := tree.NextHops(net.NodeByName(name).ID); got != want {
			t.Errorf("%s has %d ways to h8, want %d", name, got, want)
		}
	}
}

func TestRatesOfTheLayers(t *testing.T) {
	net := parse(t, "clos: {pods: 2, tors: 2, aggs: 2, cores: 4, cores_per_agg: 2, hosts_per_tor: 2, rate: 10Gbps, uplink_rate: 40Gbps, core_rate: 100Gbps, delay: 1us}")
	a2 := net.NodeByName("a2")
	var got []string
	for _, p := range a2.Ports {
		got = append(got, fmt.Sprintf("%s:%v", net.Nodes[p.Peer].Name, net.Links[p.Link].Rate))
	}
	// The second aggregation switch of a pod has the second group of cores.
	if want := "t1:40Gbps t2:40Gbps c3:100Gbps c4:100Gbps"; strings.Join(got, " ") != want {
		t.Errorf("ports of a2 are %v, want %s", got, want)
	}
}

func TestChangesOfLinks(t *testing.T) {
	const base = "leaf_spine: {leaves: 12, spines: 12, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}\n"
	slow := func(n *Topology) (count int) {
		for _, l := range n.Links {
			if l.Rate == 10*vtime.Gbps {
				count++
				if n.Nodes[l.A.Node].Kind == Host || n.Nodes[l.B.Node].Kind == Host {
					t.Error("a host's link has changed")
				}
			}
		}
		return count
	}
	net := parse(t, base+"change: [{share: 0.2, rate: 10Gbps, seed: 7}]")
	if n := slow(net); n != 29 {
		t.Errorf("%d of 144 links are slow, want a fifth", n)
	}
	again := parse(t, base+"change: [{share: 0.2, rate: 10Gbps, seed: 7}]")
	for i := range net.Links {
		if net.Links[i] != again.Links[i] {
			t.Fatal("the same seed draws other links")
		}
	}
	net = parse(t, base+"change: [{link: l3-s4, remove: true}, {link: s1-l1, delay: 9us, loss: 0.5}]")
	if l3 := net.NodeByName("l3"); len(l3.Ports) != 13 || len(net.Links) != 24+143 {
		t.Errorf("l3 has %d ports, there are %d links", len(l3.Ports), len(net.Links))
	}
	for i, l := range net.Links {
		if l.ID != i || net.Nodes[l.A.Node].Ports[l.A.Port-1].Link != i || net.Nodes[l.B.Node].Ports[l.B.Port-1].Link != i {
			t.Fatalf("link %d is %+v", i, l)
		}
	}
	if l := net.Links[net.NodeByName("l1").Ports[2].Link]; l.Delay != 9*vtime.Microsecond || l.Loss != 0.5 || l.Rate != 40*vtime.Gbps {
		t.Errorf("l1–s1 is %+v", l)
	}
}

func TestMistakesInShapes(t *testing.T) {
	for in, want := range map[string]string{
		"leaf_spine: {leaves: 1024, spines: 256, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us, parallel: 9}":                                    "2360320 links",
		"fat_tree: {k: 3, rate: 1Gbps, delay: 1us}":                                                                                           "t.yaml:1:15: k is 3",
		"clos: {pods: 1, tors: 1, aggs: 2, cores: 3, cores_per_agg: 2, hosts_per_tor: 1, rate: 1Gbps, delay: 1us}":                            "do not divide 3 cores evenly",
		"dumbbell: {left: 1, right: 1, rate: 1Gbps, delay: 1us}\nparking_lot: {bottlenecks: 1, hosts_per_switch: 1, rate: 1Gbps, delay: 1us}": "t.yaml:2:14: parking_lot: the network is described already, as dumbbell",
		"graph: {switches: [{name: a}], hosts: [{name: h, on: b}]}":                                                                           `t.yaml:1:54: no switch is called "b"`,
		"graph: {switches: [{name: a}], hosts: [{name: h, on: a}]}":                                                                           "neither the link nor the graph has a rate",
		"graph: {rate: 1Gbps, delay: 1us, switches: [{name: a}], hosts: [{name: h, on: a}, {name: h, on: a}]}":                                `are called "h"`,
		"graph: {rate: 1Gbps, delay: 1us, switches: [{name: a, tier: 2}], hosts: [{name: h, on: a}]}":                                         "not a tier-1 switch",
		"leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}\nchange: [{link: l1-s2, remove: true}]":               `t.yaml:2:10: no link between two switches is called "l1-s2"`,
		"leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}\nchange: [{link: l1-s1}]":                             "the change is empty",
		"leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}\nchange: [{share: 2, loss: 0.1}]":                     "share is 2",
	} {
		if _, err := Parse("t.yaml", []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", in, err, want)
		}
	}
}

func TestNetworkInsideAnotherFile(t *testing.T) {
	var scenario struct {
		Name    string `yaml:"name"`
		Network *Spec  `yaml:"network"`
	}
	scenario.Network = NewSpec()
	read := func(text string) (*Topology, error) {
		f, err := yamlfile.Parse("s.yaml", []byte(text), &scenario)
		if err != nil {
			t.Fatal(err)
		}
		return scenario.Network.Build(f, "network"), f.Err()
	}
	net, err := read("name: x\nnetwork:\n  dumbbell: {left: 1, right: 1, rate: 40Gbps, delay: 1us}\n")
	if err != nil || len(net.Hosts()) != 2 || net.Switch.Buffer != 9*vtime.MB {
		t.Fatalf("got %v, %v", net, err)
	}
	scenario.Network = NewSpec()
	net, err = read("name: x\nnetwork:\n  dumbbell: {left: 0, right: 1, rate: 40Gbps, delay: 1us}\n")
	if net != nil || err == nil || !strings.Contains(err.Error(), "s.yaml:3:20: left is 0") {
		t.Errorf("got %v, %v", net, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(demo)
	f.Add("fat_tree: {k: 4, rate: 40Gbps, delay: 1us}")
	f.Add("graph: {rate: 40Gbps, delay: 1us, switches: [{name: a}, {name: b}], hosts: [{name: h, count: 3, on: a}], links: [{a: a, b: b, count: 2}]}\nchange: [{link: a-b, remove: true}]")
	f.Fuzz(func(t *testing.T, text string) {
		net, err := Parse("t.yaml", []byte(text))
		if (net == nil) == (err == nil) {
			t.Fatalf("got %v and error %v", net, err)
		}
	})
}
