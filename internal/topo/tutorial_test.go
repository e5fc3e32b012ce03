// SPDX-License-Identifier: Apache-2.0

package topo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/topo"
)

// addresses describes the hosts, one per line.
func addresses(t *topo.Topology) string {
	var b strings.Builder
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Kind == topo.Host {
			fmt.Fprintf(&b, "%s %v %v %v\n", n.Name, n.Given.IP, n.Given.MAC, n.Given.Gateway)
		}
	}
	return b.String()
}

// Formats that the tutorials and p4-utils used before are read, with the ports and addresses
// that they had: entries name them.
func TestOldNetworksForMininet(t *testing.T) {
	const app = `{"program": "x.p4", "topo_module": {"object_name": %q}, "topology": {"assignment_strategy": "l2",
		"links": [["h1", "s1"], ["s1", "s2"], ["h9", "s2"], ["h2", "s2"]], "hosts": {"h1": {}, "h2": {}, "h9": {}}, "switches": {"s1": {}, "s2": {}}}}`
	for _, c := range []struct{ name, text, links, addresses, source string }{
		{"topology.json", `{"hosts": ["h2", "h1"], "switches": {"s1": {"runtime_json": "x"}, "s2": {}},
			"links": [["s2", "s1"], ["s2", "h2", "0ms", 1], ["h1", "s1"]]}`,
			"s2.2-s1.2 10Gbps 1us 0\ns2.1-h2.1 1Mbps 1us 0\nh1.1-s1.1 10Gbps 1us 0\n",
			"h2 10.0.2.2/24 00:00:00:00:02:02 00:01:0a:00:02:02\nh1 10.0.1.1/24 00:00:00:00:01:01 00:01:0a:00:01:01\n", ""},
		{"p4app.json", fmt.Sprintf(app, "AppTopo"),
			"h1.1-s1.1 10Gbps 1us 0\ns1.2-s2.1 10Gbps 1us 0\nh9.1-s2.2 10Gbps 1us 0\nh2.1-s2.3 10Gbps 1us 0\n",
			"h1 10.0.1.1/24 00:00:0a:00:01:01 00:01:0a:00:01:01\nh2 10.0.2.2/24 00:00:0a:00:02:02 00:01:0a:00:02:02\nh9 10.0.2.9/24 00:00:0a:00:02:09 00:01:0a:00:02:09\n", "x.p4"},
		{"p4app.json", fmt.Sprintf(app, "AppTopoStrategies"),
			"h1.1-s1.1 10Gbps 1us 0\ns1.2-s2.1 10Gbps 1us 0\nh9.1-s2.2 10Gbps 1us 0\nh2.1-s2.3 10Gbps 1us 0\n",
			"h1 10.0.0.1/16 00:00:0a:00:00:01 00:00:00:00:00:00\nh2 10.0.0.2/16 00:00:0a:00:00:02 00:00:00:00:00:00\nh9 10.0.0.9/16 00:00:0a:00:00:09 00:00:00:00:00:00\n", "x.p4"},
	} {
		n, err := topo.Parse(c.name, []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := links(n); got != c.links {
			t.Errorf("%s: links\n%swant\n%s", c.text, got, c.links)
		}
		if got := addresses(n); got != c.addresses {
			t.Errorf("%s: hosts\n%swant\n%s", c.text, got, c.addresses)
		}
		if got := n.NodeByName("s1").Given.Source; got != c.source {
			t.Errorf("%s: program %q, want %q", c.text, got, c.source)
		}
	}
	for text, want := range map[string]string{
		`{"hosts": ["h1", "server"], "switches": {"s1": {}}, "links": [["h1", "s1"], ["server", "s1"]]}`: "server is not made of h and a number up to 255",
		`{"hosts": ["h1", {"h2": 1}], "switches": {"s1": {}}, "links": [["h1", "s1"]]}`:                  "a key must be a plain word",
		`{"hosts": ["h1", "h2"], "switches": {"s1": {}}, "links": [["h1", "s1"]]}`:                       "host h2 needs exactly one link, to a switch",
	} {
		if _, err := topo.Parse("topology.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Keys that the tutorials' and p4-utils' own programs pass over are warnings, not errors;
// comments are not even that.
func TestKeysWithoutEffectAreWarnings(t *testing.T) {
	text := `{"_note": 1, "run_workload": true,
 "hosts": {"h1": {"ip": null, "gw": "10.0.0.1", "__comment__": "x"}, "h2": {}}, "switches": {"s1": {"commands": ["x"], "cpu_port": true}},
 "links": [["h1", "s1"], ["h2", "s1", {"queue_length": 100}]]}`
	n, err := topo.Parse("topology.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"topology.json:1:14: warning: run_workload has no effect here",
		"topology.json:3:56: warning: queue_length has no effect here",
		"topology.json:2:31: warning: gw has no effect here",
		"topology.json:2:101: warning: commands has no effect here",
	}
	if !slices.Equal(n.Ignored, want) {
		t.Errorf("warnings\n%s\nwant\n%s", strings.Join(n.Ignored, "\n"), strings.Join(want, "\n"))
	}
}

// A long link needs more headroom than the default buffer has: the buffer of a file for
// Mininet, which says nothing about buffers, is larger then.
func TestLongLinksOfMininetHaveTheirHeadroom(t *testing.T) {
	n, err := topo.Parse("topology.json", []byte(`{"hosts": {"h1": {}, "h2": {}}, "switches": {"s1": {}, "s2": {}, "s3": {}},
		"links": [["h1", "s1-p1", "10ms"], ["s1-p2", "s2-p1", "20ms"], ["s2-p2", "s3-p1"], ["h2", "s3-p2", "30ms"]]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s1", "s2", "s3"} {
		if err := n.CheckBuffer(); err != nil || n.Shared(n.NodeByName(name)) < 9_000_000 {
			t.Errorf("%s: %v, %v shared", name, err, n.Shared(n.NodeByName(name)))
		}
	}
}
