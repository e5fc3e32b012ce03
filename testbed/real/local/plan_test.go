// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/real/local"
)

func parse(t *testing.T, text string) *topo.Topology {
	t.Helper()
	net, err := topo.Parse("t.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

const pair = `leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, uplink_rate: 80Gbps, delay: 2us}`

func TestEverythingIsScaledByOneNumber(t *testing.T) {
	net := parse(t, pair)
	p, err := local.New(net, local.Options{Kind: local.BMv2})
	if err != nil {
		t.Fatal(err)
	}
	if p.Scale != 5000 {
		t.Errorf("scale is %v", p.Scale)
	}
	for i, l := range p.Scaled.Links {
		given := net.Links[i]
		if l.Rate*5000 != given.Rate || l.Delay != given.Delay*5000 {
			t.Errorf("link %d: %v, %v", i, l.Rate, l.Delay)
		}
	}
	if want := "everything runs 5000 times slower than in the topology: 40Gbps are 8Mbps here (1000 packets/s of 1KB); a delay of 2us is 10ms"; p.ScaleText() != want {
		t.Errorf("got %s", p.ScaleText())
	}
	direct, err := local.New(net, local.Options{Kind: local.BMv2, Direct: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := "links have this machine's delays, and programs compute with 10ms for 2us"; !strings.HasSuffix(direct.ScaleText(), want) || direct.Cables != nil {
		t.Errorf("got %s", direct.ScaleText())
	}
}

// The relay carries every link of the topology, between its own interfaces.
func TestCables(t *testing.T) {
	net := parse(t, pair)
	p, err := local.New(net, local.Options{Kind: local.BMv2, Prefix: "x", Overhead: 24})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Cables) != len(net.Links) {
		t.Fatalf("%d cables for %d links", len(p.Cables), len(net.Links))
	}
	ends := make(map[string]bool)
	for i, c := range p.Cables {
		l := p.Scaled.Links[i]
		if c.Delay.Nanoseconds() != l.Delay.Nanoseconds() || c.Rate != int64(l.Rate) || c.Overhead != 24 {
			t.Errorf("cable %d is %+v, its link %+v", i, c, l)
		}
		ends[c.Interfaces[0]], ends[c.Interfaces[1]] = true, true
	}
	for _, s := range p.Switches {
		for _, port := range s.Ports {
			if port.Relay != port.Interface+"r" || !ends[port.Relay] {
				t.Errorf("no cable ends at %s", port.Relay)
			}
		}
	}
	for _, h := range p.Hosts {
		if h.Relay != h.Switch+"h" || !ends[h.Relay] {
			t.Errorf("no cable ends at %s", h.Relay)
		}
	}
	if want := 2 * len(net.Links); len(ends) != want {
		t.Errorf("cables have %d ends, want %d", len(ends), want)
	}
}

func TestPortsServersAndHosts(t *testing.T) {
	p, err := local.New(parse(t, pair), local.Options{Kind: local.BMv2, GRPC: 6000, Thrift: 7000, Prefix: "x"})
	if err != nil {
		t.Fatal(err)
	}
	l2 := p.Switches[1]
	if l2.Name != "l2" || l2.GRPC != "127.0.0.1:6001" || l2.Thrift != "127.0.0.1:7001" || p.Topology.NodeByName("l2").Address != l2.GRPC {
		t.Errorf("l2 is %+v", l2)
	}
	if up := l2.Ports[2]; up.Number != 3 || up.Interface != "xl2-eth3" || up.Peer != "xs1-eth2" || up.PPS != 2000 {
		t.Errorf("its first uplink is %+v", up)
	}
	if down := l2.Ports[0]; down.Peer != "" || down.PPS != 1000 {
		t.Errorf("its first downlink is %+v", down)
	}
	if h := p.Hosts[3]; h.Name != "h4" || h.Addr.String() != "10.0.1.2/8" || h.Switch != "xl2-eth2" {
		t.Errorf("h4 is %+v", h)
	}
}

func TestInvalidPlans(t *testing.T) {
	if _, err := local.New(parse(t, pair), local.Options{Kind: local.BMv2, PacketRate: -5}); err == nil || !strings.Contains(err.Error(), "-5 packets/s are too few") {
		t.Errorf("a negative rate: %v", err)
	}
	if _, err := local.New(parse(t, pair), local.Options{Kind: local.BMv2, PacketRate: 6_000_000}); err == nil || !strings.Contains(err.Error(), "there is nothing to scale") {
		t.Errorf("got %v", err)
	}
	if _, err := local.New(parse(t, pair), local.Options{Kind: local.BMv2, Prefix: "much-too-long-"}); err == nil || !strings.Contains(err.Error(), "more than the 15 letters") {
		t.Errorf("got %v", err)
	}
}

// Commands of hosts are split into words, and nothing in them reaches a shell.
func TestCommandsOfHostsAreWords(t *testing.T) {
	plan := func(commands string) (*local.Plan, error) {
		net, err := topo.Parse("topology.json", []byte(`{"hosts": {"h1": {"ip": "10.0.1.1/24", "mac": "08:00:00:00:01:11", "commands": [`+commands+`]}}, "switches": {"s1": {}}, "links": [["h1", "s1-p1"]]}`))
		if err != nil {
			t.Fatal(err)
		}
		return local.New(net.Addressed(), local.Options{Kind: local.SoftSwitch, Own: true})
	}
	p, err := plan(`"arp -i eth0  -s 10.0.1.10 08:00:00:00:01:00", "python3 -c 'print(1); $x' \"a b\" ''", "sleep 9 &"`)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%q", p.Hosts[0].Commands[1].Words)
	if want := `["python3" "-c" "print(1); $x" "a b" ""]`; got != want || len(p.Hosts[0].Commands[0].Words) != 6 || !p.Hosts[0].Commands[2].Background || p.Scale != 1 {
		t.Errorf("words %s, commands %v, scale %d", got, p.Hosts[0].Commands, p.Scale)
	}
	for _, bad := range []string{"a | b", "a; b", "a && b", "echo $HOME", "echo `id`", "a > /etc/passwd", "a\\nb", "echo 'x", "", "&", `echo \"$(id)\"`} {
		if p, err := plan(`"` + bad + `"`); err == nil {
			t.Errorf("%s: %q", bad, p.Hosts[0].Commands)
		}
	}
}
