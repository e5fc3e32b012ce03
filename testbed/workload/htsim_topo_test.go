// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

const threeTiers = `# three tiers
Nodes 32
Tiers 3
Podsize 8

Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 0
Oversubscribed 1

Tier 1
Downlink_speed_Gbps 200
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 500
Tier 2
Downlink_speed_Gbps 400
Radix_Down 8
Downlink_Latency_ns 2000
Bundle 2
`

func TestTopologiesOfHtsim(t *testing.T) {
	sw := topo.SwitchConfig{Buffer: 9 * vtime.MB, PFC: topo.PFC{XOFF: 256 * vtime.KB}}
	net, err := readTopo("x.topo", strings.NewReader(threeTiers), sw)
	if err != nil {
		t.Fatal(err)
	}
	// 16 switches with two hosts each, 8 above them, and 4 on top, whose 8 ports lead to
	// one switch of each pod by two links.
	if n := len(net.Hosts()); n != 32 {
		t.Errorf("%d hosts", n)
	}
	if n := len(net.Switches()); n != 16+8+4 {
		t.Errorf("%d switches", n)
	}
	counts := make(map[string]int)
	for i := range net.Links {
		l := &net.Links[i]
		counts[fmt.Sprintf("%v %v", l.Rate, l.Delay)]++
	}
	for want, n := range map[string]int{"100Gbps 1us": 32, "200Gbps 500ns": 32, "400Gbps 2us": 32} {
		if counts[want] != n {
			t.Errorf("%d links of %s, want %d: %v", counts[want], want, n, counts)
		}
	}
	c := net.NodeByName("c1")
	peers := make(map[string]int)
	for _, p := range c.Ports {
		peers[net.Nodes[p.Peer].Name]++
	}
	for _, name := range []string{"a1", "a3", "a5", "a7"} {
		if peers[name] != 2 {
			t.Errorf("c1 has %d links to %s: %v", peers[name], name, peers)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{"Radix_Down 4", "Radix_Down 3", "x.topo:9: Radix_Up of tier 0 is 2"},
		{"Podsize 8", "Podsize 7", "Podsize is 7, must divide Nodes"},
		{"Switch_Latency_ns 0", "Switch_Latency_ns 5", "x.topo:11: a latency of switches is not supported"},
		{"Bundle 2", "Bundle 3", "x.topo:17: Radix_Up of tier 1"},
		{"Radix_Down 2", "Radix 2", `x.topo:8: "Radix" is unknown`},
		{"Radix_Down 2", "Radix_Down two", `x.topo:8: Radix_Down is "two", must be a whole number`},
		{"Tier 2", "Tier 1", "tier 1 is given twice"},
		{"Bundle 2", "Queue_Down 2", "is not supported: ports share the buffer"},
	} {
		if _, err := readTopo("x.topo", strings.NewReader(strings.Replace(threeTiers, c.old, c.new, 1)), sw); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.new, err, c.want)
		}
	}
}

func FuzzTopo(f *testing.F) {
	f.Add(threeTiers)
	f.Add("Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 1\nRadix_Down 2\nRadix_Up 1\nDownlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 1\nRadix_Down 2\nDownlink_Latency_ns 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		net, err := readTopo("x.topo", strings.NewReader(text), topo.SwitchConfig{Buffer: 9 * vtime.MB, PFC: topo.PFC{XOFF: 256 * vtime.KB}})
		if err == nil && len(net.Hosts()) < 2 {
			t.Error("neither an error nor hosts")
		}
	})
}
