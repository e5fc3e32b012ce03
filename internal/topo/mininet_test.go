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
		{"p4app.json", p4app, "h2 h1 s2 s-1",
			"h1.1-s-1.1 10Mbps 1us 0\ns-1.2-s2.1 20Mbps 20ms 0.01\nh2.1-s2.2 10Mbps 1us 0\ns-1.3-s2.3 10Mbps 1us 0\n"},
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
		if n.Switch.Buffer == 0 || n.Switch.PFC.XOFF == 0 {
			t.Errorf("%s: no buffer: %+v", c.name, n.Switch)
		}
	}
}

func TestErrorsInNetworksForMininet(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"h1", "s-1"`, `"h1", "s1"`, `p4app.json:4:20: no node is called "s1" [`},
		{`"port1": 3, "port2": 3`, `"port1": 4, "port2": 3`, "s-1 has a port 4, but no port 3: ports are numbered from 1 without gaps"},
		{`"port1": 3, "port2": 3`, `"port1": 2, "port2": 3`, "port 2 of s-1 has a link already"},
		{`"port1": 3`, `"port1": "x"`, `port1 is "x", must be a number from 1`},
		{`"weight": 1`, `"weight": 5`, "links have different weights, which are not supported: the shortest path is the one with the fewest links"},
		{`"weight": 1`, `"max_queue_size": 100`, "links have no queues here"},
		{`"weight": 1`, `"wieght": 1`, `unknown key "wieght" (did you mean "weight"?)`},
		{`"20ms"`, `20`, `delay is 20 without a unit: write "20ms"`},
		{`"20ms"`, `"soon"`, `delay is "soon": want a time, such as "2ms"`},
		{`"loss": 1`, `"loss": 101`, `loss is "101", must be from 0 to 100 (percent)`},
		{`"bw": 20`, `"bw": 0`, `bandwidth is "0", must be above 0 (Mbit/s)`},
		{`"hosts": {`, `"routers": {"r1": {}}, "hosts": {`, "r1 is a router that runs FRRouting"},
		{`"s2": {"cli_input"`, `"s9": {}, "s2": {"cli_input"`, "switch s9 has no links"},
		{`"hosts": {"h2": {}`, `"hosts": {"h3": {}, "h2": {}`, "host h3 needs exactly one link, to a switch"},
		{`"cli_input"`, `"cli_inputs"`, `unknown key "cli_inputs"`},
		{`"h2": {}`, `"h 2": {}`, "use up to 64 letters"},
		{`["h2", "s2"]`, `["h2"]`, "a link is [NODE, NODE]"},
		{`["h2", "s2"]`, `["h2", "s2"], ["s2", "s2"]`, "s2 is connected to itself"},
		{`"h1": {"def`, `"s2": {"def`, `two nodes are called "s2"`},
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
			lacks := []string{"FRRouting", "links have no queues here", "different weights", "needs exactly one link", "no hosts"}
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
