// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"
	"strings"
	"testing"
)

const demo = `
name: demo
leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}
switch: {buffer: 9MB, pfc: {xoff: 256KB}}
addresses: {l1: "127.0.0.1:50001"}
`

func TestLeafSpinePortsAndAddresses(t *testing.T) {
	net, err := Parse("demo.yaml", []byte(demo))
	if err != nil {
		t.Fatal(err)
	}
	if len(net.Hosts()) != 8 || len(net.Switches()) != 4 || len(net.Links) != 12 {
		t.Fatalf("got %d hosts, %d switches, %d links", len(net.Hosts()), len(net.Switches()), len(net.Links))
	}
	h6, l2, s1 := net.NodeByName("h6"), net.NodeByName("l2"), net.NodeByName("s1")
	if h6.IP.String() != "10.0.1.2" || h6.Leaf != 1 {
		t.Errorf("h6 has %v on leaf %d", h6.IP, h6.Leaf)
	}
	if p := l2.Ports[4]; p.Peer != s1.ID || p.PeerPort != 2 {
		t.Errorf("port 5 of l2 leads to node %d port %d, want s1 port 2", p.Peer, p.PeerPort)
	}
	if p := s1.Ports[1]; p.Peer != l2.ID || p.PeerPort != 5 {
		t.Errorf("port 2 of s1 leads to node %d port %d, want l2 port 5", p.Peer, p.PeerPort)
	}
	if net.NodeByName("l1").Address != "127.0.0.1:50001" || l2.DeviceID != 2 || l2.Leaf != 1 || s1.Leaf != -1 {
		t.Errorf("switches are %+v, %+v", l2, s1)
	}
	for _, n := range net.Nodes {
		for i, p := range n.Ports {
			back := net.Nodes[p.Peer].Ports[p.PeerPort-1]
			if back.Peer != n.ID || back.PeerPort != i+1 || back.Link != p.Link {
				t.Errorf("port %d of %s: its peer leads back to node %d port %d", i+1, n.Name, back.Peer, back.PeerPort)
			}
		}
	}
}

func TestMistakesInTheFile(t *testing.T) {
	for in, want := range map[string]string{
		"name: x": "t.yaml:1:1: no network",
		"leaf_spine: {leaves: 0, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}":                                                  "t.yaml:1:22: leaves is 0",
		"leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 1, delay: 1us}":                                                               "t.yaml:1:13: rate of the host links is missing",
		strings.Replace(demo, "l1:", "l9:", 1):                                                                                            `no switch is called "l9"`,
		"leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}\nswitch: {buffer: 1KB, pfc: {xoff: 2KB}}":         "t.yaml:2:35: xoff is 2KB",
		"leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}\nswitch: {pfc: {alpha: 0.125, hosts_only: true}}": "t.yaml:2:42: hosts_only needs a static threshold: set xoff",
	} {
		if _, err := Parse("t.yaml", []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", in, err, want)
		}
	}
}

// Names of a file become parts of commands, files and interfaces: those that a
// shell or a path reads as something else are refused, with their place.
func TestNamesThatMeanSomethingElsewhere(t *testing.T) {
	graph := func(sw, host string) string {
		return fmt.Sprintf("graph:\n  rate: 1Gbps\n  delay: 1us\n  switches: [{name: %q}]\n  hosts: [{name: %q, on: %q}, {name: z, on: %q}]\n", sw, host, sw, sw)
	}
	if _, err := Parse("t.yaml", []byte(graph("leaf-1.a_b", "H7"))); err != nil {
		t.Errorf("good names: %v", err)
	}
	for _, bad := range []string{"$(id>A)", "../../evil", "x;id>B;", "a b", "`id`", "-rf", ".", "..", "a/b", "a\nb", "a\x00", "ü", "", strings.Repeat("a", 65)} {
		for _, text := range []string{graph(bad, "h"), graph("s", bad)} {
			_, err := Parse("t.yaml", []byte(text))
			if err == nil || !strings.Contains(err.Error(), "t.yaml:") || !strings.Contains(err.Error(), "letters, digits") {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	for addr, good := range map[string]bool{"10.0.0.1:9559": true, "[2001:db8::1]:1": true, "leaf.example:80": true,
		"leaf": false, "10.0.0.1:": false, "$(id):1": false, ":9559": false, "a b:1": false, "a:70000": false} {
		_, err := Parse("t.yaml", []byte(graph("s", "h")+fmt.Sprintf("addresses: {s: %q}\n", addr)))
		if (err == nil) != good {
			t.Errorf("address %q: %v", addr, err)
		}
	}
}
