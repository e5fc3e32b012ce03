// SPDX-License-Identifier: Apache-2.0

package topo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/topo"
)

// links describes links, one per line, in order.
func links(t *topo.Topology) string {
	var b strings.Builder
	for _, l := range t.Links {
		fmt.Fprintf(&b, "%s.%d-%s.%d %v %v %g\n", t.Nodes[l.A.Node].Name, l.A.Port, t.Nodes[l.B.Node].Name, l.B.Port, l.Rate, l.Delay, l.Loss)
	}
	return b.String()
}

const (
	tutorial = `{
	"hosts": {"h1": {"ip": "10.0.1.1/24", "mac": "08:00:00:00:01:11", "commands": ["route add default gw 10.0.1.10 dev eth0"]},
		"h2": {"ip": "10.0.2.2/24", "mac": "08:00:00:00:02:22"}},
	"switches": {"s1": {"runtime_json": "s1-runtime.json", "cpu_port": "510"}, "s2": {"program": "other.json"}},
	"links": [["s1-p3", "s2-p1", "0", 0.5], ["h1", "s1-p2"], ["h2", "s2-p2", 2, 100], ["s2-p3", "s1-p1", "5us"]]
}`
	p4app = `{"p4_src": "x.p4", "cli": true, "exec_scripts": [], "switch_node": {"module_name": "p4utils"},
 "topology": {
  "assignment_strategy": "mixed", "default": {"bw": 10, "auto_arp_tables": false},
  "links": [["h1", "s-1"], ["s-1", "s2", {"bw": 20, "delay": "20ms", "loss": 1, "weight": 1, "intfName1": "x"}], ["h2", "s2"], ["s-1", "s2", {"port1": 3, "port2": 3}]],
  "hosts": {"h2": {}, "h1": {"defaultRoute": "via 10.0.0.1"}},
  "switches": {"s2": {"cli_input": "s2.txt"}, "s-1": {"cpu_port": true}}}}`
)

func TestNetworksForMininetAreRead(t *testing.T) {
	for _, c := range []struct{ name, text, nodes, links string }{
		{"tutorial.json", tutorial, "h1 h2 s1 s2",
			"s1.3-s2.1 500Kbps 1us 0\nh1.1-s1.2 10Gbps 1us 0\nh2.1-s2.2 100Mbps 2ms 0\ns2.3-s1.1 10Gbps 5us 0\n"},
		{"p4app.json", p4app, "h2 h1 s2 s-1 s-1-cpu",
			"h1.1-s-1.1 10Mbps 1us 0\ns-1.2-s2.2 20Mbps 20ms 0.01\nh2.1-s2.1 10Mbps 1us 0\ns-1.3-s2.3 10Mbps 1us 0\ns-1.4-s-1-cpu.1 10Gbps 1us 0\n"},
	} {
		n, err := topo.Parse(c.name, []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var names []string
		for i := range n.Nodes {
			names = append(names, n.Nodes[i].Name)
			for p, port := range n.Nodes[i].Ports {
				if back := n.Nodes[port.Peer].Ports[port.PeerPort-1]; back.Peer != i || back.PeerPort != p+1 || back.Link != port.Link {
					t.Errorf("%s: port %d of %s leads to %+v, and back to %+v", c.name, p+1, n.Nodes[i].Name, port, back)
				}
			}
		}
		if got := strings.Join(names, " "); got != c.nodes {
			t.Errorf("%s: nodes %s, want %s", c.name, got, c.nodes)
		}
		if got := links(n); got != c.links {
			t.Errorf("%s: links\n%swant\n%s", c.name, got, c.links)
		}
		if c.name == "tutorial.json" && (n.NodeByName("s1").DeviceID != 0 || n.NodeByName("s2").DeviceID != 1) {
			t.Errorf("devices of a tutorial count from 0: %d, %d", n.NodeByName("s1").DeviceID, n.NodeByName("s2").DeviceID)
		}
		if n.Switch.Buffer == 0 || n.Switch.PFC.XOFF == 0 {
			t.Errorf("%s: no buffer: %+v", c.name, n.Switch)
		}
	}
}

func TestErrorsInNetworksForMininet(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"h1", "s-1"`, `"h1", "s1"`, `p4app.json:4:20: no node is called "s1" [`},
		{`"port1": 3`, `"port1": 511`, `port1 is "511", must be a number from 1 to 510`},
		{`{"cpu_port": true}`, `{"cpu_port": "yes"}`, `cpu_port is "yes": write true, or a number`},
		{`"weight": 1`, `"params1": {"ip": "10.0.0"}`, `ip is "10.0.0": write an IPv4 address`},
		{`"weight": 1`, `"addr1": "08:00"`, `mac is "08:00": write six bytes`},
		{`["h2", "s2"]`, `["h2", "s2", {"port2": 3}]`, "port 3 of s2 has a link already"},
		{`"port1": 3`, `"port1": "x"`, `port1 is "x", must be a number from 1`},
		{`"mixed"`, `"l4"`, `assignment_strategy is "l4", must be l2, mixed, l3`},
		{`"weight": 1`, `"wieght": 1`, `unknown key "wieght" (did you mean "weight"?)`},
		{`"20ms"`, `20`, `delay is 20 without a unit: write "20ms"`},
		{`"20ms"`, `"soon"`, `delay is "soon": write a time, such as "2ms"`},
		{`"loss": 1`, `"loss": 101`, `loss is "101", must be from 0 to 100 (percent)`},
		{`"bw": 20`, `"bw": 0`, `bandwidth is "0", must be above 0, up to 1e6 (Mbit/s)`},
		{`"bw": 20`, `"bw": "NaN"`, `bandwidth is "NaN", must be above 0`},
		{`"loss": 1`, `"loss": "NaN"`, `loss is "NaN", must be from 0 to 100`},
		{`"hosts": {`, `"routers": {"r1": {}}, "hosts": {`, "r1 is a router that runs FRRouting"},
		{`"s2": {"cli_input"`, `"s9": {}, "s2": {"cli_input"`, "switch s9 has no links"},
		{`"hosts": {"h2": {}`, `"hosts": {"h3": {}, "h2": {}`, "host h3 needs exactly one link, to a switch"},
		{`"cli_input"`, `"cli_inputs"`, `unknown key "cli_inputs"`},
		{`"h2": {}`, `"h 2": {}`, "use up to 64 letters"},
		{`["h2", "s2"]`, `["h2"]`, "a link is [NODE, NODE]"},
		{`["h2", "s2"]`, `["h2", "s2"], ["s2", "s2"]`, "s2 is connected to itself"},
		{`"h1": {"def`, `"s2": {"def`, `two nodes are called "s2"`},
		// Values of a wrong kind were taken as none.
		{`"h2": {}`, `"h2": {"commands": "ping"}`, `hosts.h2.commands: expected a list, not "ping"`},
		{`"h2": {}`, `"h2": {"commands": [[]]}`, `hosts.h2.commands.0: expected one value, not a list`},
		{`"h2": {}`, `"h2": {"ip": {}}`, `hosts.h2.ip: expected one value, not keys and values`},
		{`"h2": {}`, `"h2": {"mac": []}`, `hosts.h2.mac: expected one value, not a list`},
		{`"s2": {"cli_input"`, `"s2": {"program": [], "cli_input"`, `switches.s2.program: expected one value, not a list`},
		{`"topology"`, `"tasks_file": {}, "topology"`, `tasks_file: expected one value`},
		{`"exec_scripts": []`, `"exec_scripts": "a"`, `exec_scripts: expected a list`},
		{`"exec_scripts": []`, `"exec_scripts": [{"cdm": "a"}]`, `exec_scripts.0: unknown key "cdm"`},
	} {
		if strings.Count(p4app, c.old) != 1 {
			t.Errorf("%q is not once in the text", c.old)
		}
		_, err := topo.Parse("p4app.json", []byte(strings.Replace(p4app, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

// The topologies of p4lang/tutorials, p4-utils and p4-learning are read, except
// those that need unsupported features. PUBLIC_P4 lists checkouts of them.
func TestPublicNetworksForMininet(t *testing.T) {
	roots := filepath.SplitList(os.Getenv("PUBLIC_P4"))
	if len(roots) == 0 {
		need.No(t, errors.New("PUBLIC_P4 does not list checkouts of p4lang/tutorials, nsg-ethz/p4-utils or nsg-ethz/p4-learning"))
	}
	read, lacking := 0, 0
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() != "topology.json" && !(strings.HasPrefix(d.Name(), "p4app") && filepath.Ext(path) == ".json") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !json.Valid(text) { // p4-utils has a template there
				return err
			}
			_, err = topo.Read(path)
			lacks := []string{"FRRouting", "needs exactly one link", "no hosts"}
			switch {
			case err == nil:
				read++
			case slices.ContainsFunc(lacks, func(s string) bool { return strings.Contains(err.Error(), s) }):
				lacking++
				t.Log(err)
			default:
				t.Error(err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d networks are read, %d need what there is none of", read, lacking)
	if read == 0 {
		t.Error("no network was read")
	}
}

// Ports and addresses are those that p4-utils gives: ports in the order of the links' names,
// after those that the file gives; addresses by the strategies of NetworkAPI.
func TestPortsAndAddressesAreThoseOfP4Utils(t *testing.T) {
	const text = `{"p4_src": "a.p4", "topology": {"assignment_strategy": "STRATEGY",
 "links": [["s1", "s2"], ["h10", "s1"], ["h2", "s1"], ["s3", "s2", {"port1": 1, "port2": 1}], ["h3", "s2"], ["server", "s3"]],
 "hosts": {"h2": {}, "h10": {}, "h3": {}, "server": {}}, "switches": {"s2": {}, "s1": {"p4_src": "b.p4"}, "s3": {}}}}`
	for _, c := range []struct{ strategy, want string }{
		{"l2", "h2 10.0.0.2/16 00:00:0a:00:00:02 | h10 10.0.0.10/16 00:00:0a:00:00:0a | h3 10.0.0.3/16 00:00:0a:00:00:03 | server 10.0.0.1/16 00:00:0a:00:00:01"},
		{"mixed", "h2 10.0.1.2/24 00:00:0a:00:01:02 via 10.0.1.254 00:01:0a:00:01:02 | h10 10.0.1.10/24 00:00:0a:00:01:0a via 10.0.1.254 00:01:0a:00:01:0a" +
			" | h3 10.0.2.3/24 00:00:0a:00:02:03 via 10.0.2.254 00:01:0a:00:02:03 | server 10.0.3.1/24 00:00:0a:00:03:01 via 10.0.3.254 00:01:0a:00:03:01"},
		{"l3", "h2 10.1.2.2/24 00:00:0a:01:02:02 via 10.1.2.1 00:01:0a:01:02:02 | h10 10.1.10.2/24 00:00:0a:01:0a:02 via 10.1.10.1 00:01:0a:01:0a:02" +
			" | h3 10.2.3.2/24 00:00:0a:02:03:02 via 10.2.3.1 00:01:0a:02:03:02 | server 10.3.1.2/24 00:00:0a:03:01:02 via 10.3.1.1 00:01:0a:03:01:02"},
	} {
		n, err := topo.Parse("p4app.json", []byte(strings.Replace(text, "STRATEGY", c.strategy, 1)))
		if err != nil {
			t.Errorf("%s: %v", c.strategy, err)
			continue
		}
		var hosts []string
		for i := range n.Nodes {
			if h := &n.Nodes[i]; h.Kind == topo.Host {
				line := fmt.Sprintf("%s %v %v", h.Name, h.Given.IP, h.Given.MAC)
				if len(h.Given.Commands) > 0 {
					line += fmt.Sprintf(" via %s %v", strings.Fields(h.Given.Commands[0])[5], h.Given.Gateway)
				}
				hosts = append(hosts, line)
			}
		}
		if got := strings.Join(hosts, " | "); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.strategy, got, c.want)
		}
		if got, want := links(n), "s1.3-s2.3 10Gbps 1us 0\nh10.1-s1.2 10Gbps 1us 0\nh2.1-s1.1 10Gbps 1us 0\ns3.1-s2.1 10Gbps 1us 0\nh3.1-s2.2 10Gbps 1us 0\nserver.1-s3.2 10Gbps 1us 0\n"; got != want {
			t.Errorf("links\n%swant\n%s", got, want)
		}
		if a, b, c := n.NodeByName("s1").DeviceID, n.NodeByName("s2").DeviceID, n.NodeByName("s3").DeviceID; a != 1 || b != 2 || c != 3 {
			t.Errorf("devices %d, %d, %d", a, b, c)
		}
		if got := n.NodeByName("s1").Given.Program + n.NodeByName("s2").Given.Source; got != "b.p4a.p4" {
			t.Errorf("programs %q", got)
		}
	}
}

// What p4-utils and the tutorials allow beside hosts with one link and ports in a row: a port
// to the CPU, after the others in the order of p4-utils' link to sw-cpu, or as the number of
// the port of packet-ins; hosts with two links; numbers that nothing uses; further values
// of a link, which their scripts do not read.
func TestPortsThatAreNotInARow(t *testing.T) {
	for _, c := range []struct{ text, links, more string }{
		{`{"topology": {"assignment_strategy": "l2", "links": [["h1", "s1"], ["s1", "s2"], ["h2", "s2"], ["t2", "t1"], ["t1", "s2"]], "hosts": {"h1": {}, "h2": {}},
		  "switches": {"s1": {"cpu_port": true}, "s2": {"cpu_port": false}, "t1": {"cpu_port": true}, "t2": {}}}}`,
			"h1.1-s1.1 10Gbps 1us 0\ns1.2-s2.2 10Gbps 1us 0\nh2.1-s2.1 10Gbps 1us 0\nt2.1-t1.3 10Gbps 1us 0\nt1.1-s2.3 10Gbps 1us 0\ns1.3-s1-cpu.1 10Gbps 1us 0\nt1.2-t1-cpu.1 10Gbps 1us 0\n",
			"s1 CPU 3, t1 CPU 2, tiers 1 1 2 3"},
		{`{"links": [["h1", "s1-p3"], ["h2", "s1-p1", "5ms", 10, 1, 100]], "hosts": {"h1": {"ip": "10.0.1.1/24"}, "h2": {}}, "switches": {"s1": {"cpu_port": "255"}}}`,
			"h1.1-s1.3 10Gbps 1us 0\nh2.1-s1.1 10Mbps 5ms 0\ns1.2-s1-port2.1 10Gbps 1us 0\n",
			"s1 CPU 255, tiers 1, t.json:1:56: warning: value 5 of the link h2-s1-p1 has no effect here"},
		{`{"topology": {"links": [["h1", "s1", {"params1": {"ip": "10.0.1.1/24"}}], ["s2", "h1", {"params2": {"ip": "10.0.2.1/24"}, "addr2": "00:00:00:00:00:07"}], ["s1", "s2"]],
		  "hosts": {"h1": {}}, "switches": {"s1": {}, "s2": {}}}}`,
			"h1.1-s1.1 10Gbps 1us 0\ns2.1-h1.2.1 10Gbps 1us 0\ns1.2-s2.2 10Gbps 1us 0\n",
			"tiers 1 1, h1.2 of h1 is eth1, 10.0.2.1 00:00:00:00:00:07"},
		// Without a strategy, hosts have the next free address in the order of the links.
		{`{"topology": {"links": [["h3", "s2", {"bw": null, "delay": null}], ["h10", "s1"], ["h1", "s2"], ["s1", "s2"], ["h1", "s1"]], "hosts": {"h1": {}, "h3": {"ip": "10.0.0.2/8"}, "h10": {}},
		  "switches": {"s1": {}, "s2": {}}}}`,
			"h3.1-s2.2 10Gbps 1us 0\nh10.1-s1.2 10Gbps 1us 0\nh1.1-s2.1 10Gbps 1us 0\ns1.3-s2.3 10Gbps 1us 0\nh1.2.1-s1.1 10Gbps 1us 0\n",
			"tiers 1 1, h1.2 of h1 is eth1, 10.0.0.1 02:00:00:00:00:05"},
		{`{"topology": {"assignment_strategy": "mixed", "links": [["h1", "s1"], ["h1", "s2"]], "hosts": {"h1": {}}, "switches": {"s1": {}, "s2": {}}}}`,
			"h1.1-s1.1 10Gbps 1us 0\nh1.2.1-s2.1 10Gbps 1us 0\n", "tiers 1 1, h1.2 of h1 is eth1, 10.0.2.1 00:00:0a:00:02:01"},
		{`{"links": [["h1", "s1-p1"], ["h1", "s2-p1"]], "hosts": {"h1": {"ip": "10.0.1.1/24", "mac": "08:00:00:00:01:11"}}, "switches": {"s1": {}, "s2": {}}}`,
			"h1.1-s1.1 10Gbps 1us 0\nh1.2.1-s2.1 10Gbps 1us 0\n", "tiers 1 1, h1.2 of h1 is eth1, 10.0.1.1 02:00:00:00:00:03"},
	} {
		n, err := topo.Parse("t.json", []byte(c.text))
		if err != nil {
			t.Error(err)
			continue
		}
		n = n.Addressed()
		var more []string
		tiers := "tiers"
		for _, id := range n.Switches() {
			if cpu := n.Nodes[id].Given.CPU; cpu > 0 {
				more = append(more, fmt.Sprintf("%s CPU %d", n.Nodes[id].Name, cpu))
			}
			tiers += fmt.Sprint(" ", n.Nodes[id].Tier)
		}
		more = append(more, tiers)
		for _, id := range n.Hosts() {
			if h := &n.Nodes[id]; h.Host != id {
				more = append(more, fmt.Sprintf("%s of %s is %s, %v %v", h.Name, n.Nodes[h.Host].Name, n.Interface(id), h.IP, h.MAC))
			}
		}
		if got := strings.Join(append(more, n.Ignored...), ", "); got != c.more {
			t.Errorf("%s\n%s, want %s", c.text, got, c.more)
		}
		if got := links(n); got != c.links {
			t.Errorf("links\n%swant\n%s", got, c.links)
		}
	}
}

// Files of tutorials and p4-utils with any changes neither hang nor panic.
func FuzzNetworksForMininet(f *testing.F) {
	f.Add([]byte(tutorial))
	f.Add([]byte(p4app))
	for _, s := range []string{"l2", "mixed", "l3", "manual"} {
		f.Add([]byte(strings.Replace(p4app, "mixed", s, 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := topo.Parse("p4app.json", data)
		if err != nil {
			return
		}
		for i := range n.Nodes {
			for p, port := range n.Nodes[i].Ports {
				if back := n.Nodes[port.Peer].Ports[port.PeerPort-1]; back.Peer != i || back.PeerPort != p+1 {
					t.Fatalf("port %d of %s leads to %+v, and back to %+v", p+1, n.Nodes[i].Name, port, back)
				}
			}
		}
		n.Addressed()
	})
}
