// SPDX-License-Identifier: Apache-2.0

package local

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/program"
)

const app = `{
  "p4_src": "router.p4",
  "topology": {
    "assignment_strategy": "l3",
    "links": [["h1", "s1"], ["h2", "s2"], ["s1", "s2", {"bw": 10, "delay": "5ms"}]],
    "hosts": {"h1": {}, "h2": {}},
    "switches": {"s1": {}, "s2": {}}
  }
}`

const router = `#include <core.p4>
#include <v1model.p4>
struct headers {}
struct metadata {}
parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) { state start { transition accept; } }
control C(inout headers h, inout metadata m) { apply {} }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { s.egress_spec = 1; } }
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control D(packet_out b, in headers h) { apply {} }
V1Switch(P(), C(), I(), E(), C(), D()) main;
`

// written returns the folder of a p4app.json, and that of its network.
func written(t *testing.T, kind Kind) (beside, dir string) {
	t.Helper()
	beside, dir = t.TempDir(), t.TempDir()
	file := filepath.Join(beside, "p4app.json")
	need.No(t, errors.Join(os.WriteFile(file, []byte(app), 0o666), os.WriteFile(filepath.Join(beside, "router.p4"), []byte(router), 0o666)))
	net, err := topo.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	net = net.Addressed()
	prog, err := new(program.Spec).Build(net, program.Files{Resolve: func(name string) string { return name }, Read: os.ReadFile})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(net, Options{Kind: kind, Own: true})
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Plan: plan, Program: prog}
	if err := l.WriteP4Utils(dir); err != nil {
		t.Fatal(err)
	}
	if to, err := plan.BesideApp(); err != nil || to != filepath.Join(beside, TopologyFile) {
		t.Errorf("controllers look at %s, %v", to, err)
	}
	return beside, dir
}

// p4-utils' own functions read the file: those that the controllers of its exercises call.
func TestP4UtilsReadsTheTopology(t *testing.T) {
	_, dir := written(t, BMv2)
	python := need.Tool(t, "PYTHON3", "python3")
	out, err := exec.Command(python, "-c", "import p4utils.utils.helper").CombinedOutput()
	if err != nil {
		need.No(t, errors.New("python3 cannot import p4utils: install p4-utils with networkx and psutil, and give its folder with PYTHONPATH: "+lastLine(out)))
	}
	out, err = exec.Command(python, "-c", `
from p4utils.utils.helper import load_topo
t = load_topo("`+dir+`/topology.json")
print(sorted(t.get_p4switches()), sorted(t.get_p4rtswitches()), sorted(t.get_hosts()))
print(t.get_thrift_port("s2"), t.get_grpc_port("s1"), t.get_p4switch_id("s1"), t.get_cpu_port_index("s1", quiet=True))
print(t.get_host_ip("h1"), t.get_host_mac("h1"), t.get_host_gateway_name("h1"), t.get_host_name("10.2.2.2"))
print(t.node_to_node_port_num("s1", "s2"), t.node_to_node_mac("s1", "h1"), t.get_shortest_paths_between_nodes("s1", "h2"))
print(t.get_hosts_connected_to("s1"), t.get_switches_connected_to("s1"), sorted(t.get_node_intfs(fields=["port"])["s1"].items()))
print(t.node_to_node_interface_bw("s1", "s2"), t.interface_to_node("s1", "s1-eth2"), t.isHost("h2"), t.isHost("s1"))
`).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := `['s1', 's2'] ['s1', 's2'] ['h1', 'h2']
9091 9559 1 None
10.1.1.2 00:00:0a:01:01:02 s1 h2
2 00:01:0a:01:01:02 [('s1', 's2', 'h2')]
['h1'] ['s2'] [('s1-eth1', 1), ('s1-eth2', 2)]
10 s2 True False
`
	if string(out) != want {
		t.Errorf("p4-utils reads\n%s, want\n%s", out, want)
	}
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// The file has the switches' servers and compiled programs; pauseless switch has no Thrift
// server. A topology.json of p4lang's tutorials beside a p4app.json is not replaced.
func TestTopologyOfP4Utils(t *testing.T) {
	beside, dir := written(t, SoftSwitch)
	text, err := os.ReadFile(filepath.Join(dir, TopologyFile))
	if err != nil {
		t.Fatal(err)
	}
	var g struct{ Nodes, Links, Edges []map[string]any }
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Nodes) != 4 || len(g.Links) != 3 || len(g.Edges) != 3 {
		t.Fatalf("%s", text)
	}
	if s := g.Nodes[0]; s["id"] != "s1" || s["grpc_port"] != 9559.0 || s["thrift_port"] != nil {
		t.Errorf("switch %v", s)
	}
	for _, key := range []string{"json_path", "p4rt_path"} {
		if info, err := os.Stat(g.Nodes[0][key].(string)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", key, err)
		}
	}
	if k := g.Links[2]; k["delay"] != "5ms" || k["bw"] != 10.0 || k["intfName1"] != "s1-eth2" || k["port2"] != 2.0 {
		t.Errorf("link %v", k)
	}
	net, err := topo.Read(filepath.Join(beside, "p4app.json"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{Topology: net}
	file := filepath.Join(beside, TopologyFile)
	for content, want := range map[string]bool{string(text): true, `{"hosts": {}, "switches": {}, "links": []}`: false, "[]": false} {
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if to, err := p.BesideApp(); (err == nil) != want || (to != "") != want {
			t.Errorf("%.20s…: %q, %v", content, to, err)
		}
	}
	if to, err := (&Plan{Topology: &topo.Topology{}}).BesideApp(); to != "" || err != nil {
		t.Errorf("without a p4app.json: %q, %v", to, err)
	}
}
