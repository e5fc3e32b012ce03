// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

const leafSpine = `
name: demo
leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}
`

// All entities of a leaf and a spine, as text.
func TestLeafAndSpineOfTheDemo(t *testing.T) {
	for _, profile := range programs {
		m, info := program(t, profile)
		net := network(t, leafSpine)
		var out bytes.Buffer
		for _, name := range []string{"l1", "s1"} {
			out.WriteString("# " + name + "\n" + text(t, net, name, m, info))
		}
		golden.Check(t, filepath.Join("testdata", profile+".golden"), out.Bytes())
	}
}

func TestEveryEntityIsAcceptedBackFromItsText(t *testing.T) {
	for _, profile := range programs {
		m, info := program(t, profile)
		s, err := schema.New(info)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text(t, network(t, leafSpine), "l1", m, info)) {
			if _, err := s.ParseEntity(strings.TrimSpace(line)); err != nil {
				t.Errorf("%s: %s: %v", profile, line, err)
			}
		}
	}
}

// In three tiers a leaf's warning is relayed up to the cores and down again,
// and no switch receives it twice.
func TestWarningsFollowPacketsBackToTheirSources(t *testing.T) {
	m, info := program(t, "rlb-drill")
	net := network(t, "fat_tree: {k: 4, rate: 40Gbps, delay: 2us}")
	var out bytes.Buffer
	for _, name := range []string{"t1", "a1", "c1"} {
		out.WriteString("# " + name + "\n" + text(t, net, name, m, info))
	}
	golden.Check(t, filepath.Join("testdata", "fat_tree.golden"), out.Bytes())
}

// A host with fewer paths has its own route at other leaves.
func TestPathsToAHostCanBeLimited(t *testing.T) {
	m, info := program(t, "drill")
	net := network(t, `leaf_spine: {leaves: 2, spines: 3, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}`)
	s, err := schema.New(info)
	if err != nil {
		t.Fatal(err)
	}
	routes := func(name string) (list []string) {
		entities, err := Build(net, net.NodeByName(name).ID, m, info, Options{Paths: map[string]int{"h3": 2, "h4": 1, "h1": 3}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entities {
			if line := s.FormatEntity(e); strings.Contains(line, "/32") {
				list = append(list, line)
			}
		}
		return list
	}
	got := strings.Join(routes("l1"), "\n")
	for _, want := range []string{"/32 -> to_leaf(leaf=1, first_port=3, last_path=1)", "/32 -> to_port(port=3)"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("l1 should have one route %q:\n%s", want, got)
		}
	}
	// All paths are no limit, and spines have only one.
	if n := len(routes("l2")); n != 2 {
		t.Errorf("l2 has %d host routes, want those of its own hosts", n)
	}
	if n := len(routes("s1")); n != 0 {
		t.Errorf("s1 has %d host routes, want none", n)
	}
}

func TestTooSmallAProgramIsRefused(t *testing.T) {
	m, info := program(t, "rlb-drill")
	for _, c := range []struct{ network, want string }{
		{`leaf_spine: {leaves: 2, spines: 9, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}`, "9 equal-cost paths to l2, but the program has 8 paths"},
		{`leaf_spine: {leaves: 65, spines: 2, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}`, "65 leaves"},
		{`leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 62, rate: 40Gbps, delay: 2us}`, "65 ports"},
	} {
		net := network(t, c.network)
		_, err := Build(net, net.NodeByName("l1").ID, m, info, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.network, err, c.want)
		}
	}
}

func TestAHostIsNoSwitch(t *testing.T) {
	m, info := program(t, "ecmp")
	net := network(t, leafSpine)
	if _, err := Build(net, net.NodeByName("h1").ID, m, info, Options{}); err == nil {
		t.Error("entries for a host")
	}
}

// programs are the profiles whose entities are in testdata. Together they have
// every block with entries.
var programs = []string{
	"clb", "conga", "drill", "ecmp", "hermes", "hpcc-pbfs", "pcn", "plb", "qcn",
	"rlb-adaptive-presto", "rlb-drill", "rlb-drill-bmv2",
}

func text(t *testing.T, net *topo.Topology, name string, m *manifest.Manifest, info *p4configv1.P4Info) string {
	t.Helper()
	entities, err := Build(net, net.NodeByName(name).ID, m, info, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.New(info)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entities {
		b.WriteString(s.FormatEntity(e) + "\n")
	}
	return b.String()
}

func network(t *testing.T, text string) *topo.Topology {
	t.Helper()
	net, err := topo.Parse("topology.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// A program with dynamic PFC thresholds gets those of its ports, and is
// rejected if it cannot compute them.
func TestDynamicThresholds(t *testing.T) {
	m := &manifest.Manifest{Program: "p", Features: []string{"shared_buffer"}, Tables: []manifest.Table{
		{Name: "predict", Action: "x", Args: []manifest.Argument{{Name: "alpha_shift", Value: "alpha_shift"}}},
		{Name: "shared_buffer", Action: "x", Args: []manifest.Argument{{Name: "size", Value: "shared"}, {Name: "reserve", Value: "reserve"}}},
	}}
	m.Network = manifest.Network{Rate: 1, FanIn: 3, XOFF: 1, MTU: 1100}
	for pfc, want := range map[string]string{
		"{alpha: 0.3}": "alpha is 0.3, must be a power of two from 1/128 to 8",
		"{xoff: 60KB}": "follows dynamic PFC thresholds, and those of the topology are static",
	} {
		net := network(t, leafSpine+"switch: {buffer: 2MB, pfc: "+pfc+"}")
		b := builderOf(t, net, "l1", m, &p4configv1.P4Info{})
		if err := b.checkThresholds(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", pfc, err, want)
		}
	}
	net := network(t, "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, uplink_rate: 100Gbps, delay: 2us}\nswitch: {buffer: 2MB, mmu: hpcc, pfc: {headroom: 30KB}}")
	b := builderOf(t, net, "l1", m, &p4configv1.P4Info{})
	for port, shift := range map[int]uint64{1: 6, 5: 4} { // 1/8 for hosts, for 2.5 times the rate 1/2
		args, err := m.Args("predict", b.port(port), nil)
		if err != nil {
			t.Fatal(err)
		}
		if args[0].Value != shift {
			t.Errorf("port %d: %v, want an alpha_shift of %d", port, args, shift)
		}
	}
	args, err := m.Args("shared_buffer", b.uplink(), nil)
	if want := uint64(2_000_000 - 6*(30_000+4096)); err != nil || args[0].Value != want || args[1].Value != 4096 {
		t.Errorf("shared_buffer has %v, %v, want %d of the buffer and a reserve of 4096", args, err, want)
	}
}

// Arguments that are computed once for several ports are those of each port's link.
func TestPortsHaveTheArgumentsOfTheirLinks(t *testing.T) {
	for _, profile := range programs {
		m, info := program(t, profile)
		net := network(t, "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, uplink_rate: 100Gbps, delay: 2us}")
		b := builderOf(t, net, "l1", m, info)
		if err := b.findNextHops(); err != nil {
			t.Fatal(err)
		}
		differ := false
		for i := range m.Tables {
			table := &m.Tables[i]
			if table.Entries == "" || table.Entries == "switch" || table.Entries == "leaf" {
				continue
			}
			var first []schema.Arg
			for _, port := range b.portsOf(table.Name, table.Entries) {
				values := b.nodeValues()
				values["port.path"], values["port.relay"] = float64(b.path(port)), float64(b.relay(port))
				got, want := b.portArguments(table, port), b.arguments(table, b.port(port), values)
				if !slices.Equal(got, want) {
					t.Errorf("%s: table %s, port %d has %v, want %v", profile, table.Name, port, got, want)
				}
				if first == nil {
					first = got
				}
				differ = differ || !slices.Equal(got, first)
			}
		}
		if strings.HasPrefix(profile, "rlb") && !differ {
			t.Errorf("%s: ports to hosts and uplinks have the same arguments", profile)
		}
	}
}

// A plan gives each switch the entities that Build gives it alone, also if they are
// asked for at the same time.
func TestPlanMatchesBuild(t *testing.T) {
	net := network(t, "fat_tree: {k: 4, rate: 40Gbps, delay: 2us}")
	for _, profile := range programs {
		m, info := program(t, profile)
		plan, err := New(net, m, info, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range net.Nodes {
			if net.Nodes[i].Kind != topo.Switch {
				continue
			}
			all.Go(func() {
				got, err := plan.Switch(i)
				want, err2 := Build(net, i, m, info, Options{})
				same := func(a, b *p4v1.Entity) bool { return proto.Equal(a, b) }
				if err != nil || err2 != nil || len(got) == 0 || !slices.EqualFunc(got, want, same) {
					t.Errorf("%s, %s: %d entities (%v), want %d (%v)", profile, net.Nodes[i].Name, len(got), err, len(want), err2)
				}
			})
		}
		all.Wait()
	}
}

func builderOf(t *testing.T, net *topo.Topology, node string, m *manifest.Manifest, info *p4configv1.P4Info) *builder {
	t.Helper()
	p, err := New(net, m, info, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p.builder(net.NodeByName(node))
}

func program(t *testing.T, profile string) (*manifest.Manifest, *p4configv1.P4Info) {
	t.Helper()
	file := "../../p4src/v1model/" + profile + ".manifest.json"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Read(file, data)
	if err != nil {
		t.Fatal(err)
	}
	data, err = os.ReadFile("../../p4src/v1model/p4info.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	var objects strings.Builder // those after a line that names the program
	has := false
	for line := range strings.Lines(string(data)) {
		if names, ok := strings.CutPrefix(line, "# "); ok {
			has = names == "all\n" || slices.Contains(strings.Fields(names), profile)
		} else if has {
			objects.WriteString(line)
		}
	}
	info := new(p4configv1.P4Info)
	if err := prototext.Unmarshal([]byte(objects.String()), info); err != nil {
		t.Fatal(err)
	}
	return m, info
}
