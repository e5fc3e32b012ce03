// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/diff"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/testbed/program"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"
)

// openTree starts a fat tree, one switch after the other.
func openTree(t *testing.T, k int, profile string) (*topo.Topology, *Lab) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	net, err := topo.Parse("t.yaml", fmt.Appendf(nil, "fat_tree: {k: %d, rate: 100Gbps, delay: 1us}", k))
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Load(profile)
	if err != nil {
		t.Fatal(err)
	}
	program.Fit(p, net)
	prog, err := program.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), Config{Topology: net, Program: prog, Hosts: roce.Papers.Defaults()})
	if err != nil {
		t.Fatal(err)
	}
	return net, l
}

// tableOf returns a switch's table by the end of its name.
func tableOf(t *testing.T, l *Lab, node int, name string) *interp.Table {
	t.Helper()
	for _, table := range l.Switch(node).State().Tables {
		if strings.HasSuffix(table.Info.Name, name) {
			return table
		}
	}
	t.Fatalf("the program has no table %s", name)
	return nil
}

// What switches have in common exists once: an entry that several have, and the routes of
// all core switches and of the spines of a pod. Switches beyond the second of a kind take
// no memory for them.
func TestEntriesInCommonExistOnce(t *testing.T) {
	const k = 8
	net, l := openTree(t, k, "ecmp")
	defer l.Close()
	entries, bodies, different := 0, map[*interp.Body]bool{}, map[string]bool{}
	tables := map[topo.Tier]map[*interp.Entry]bool{1: {}, 2: {}, 3: {}}
	for _, id := range net.Switches() {
		table := tableOf(t, l, id, "route")
		tables[net.Nodes[id].Tier][table.Entry(0)] = true
		table.Each(func(_ uint32, e *interp.Entry) bool {
			entries++
			bodies[e.Body] = true
			m := table.Match(e)
			different[fmt.Sprint(m, e.Action(), table.Args(e))] = true
			return true
		})
	}
	if entries != k*k*5/4*(k*k/2)+k*k*k/4-k*k/2 { // a leaf has its hosts instead of itself
		t.Errorf("the switches have %d routes", entries)
	}
	// The first two switches that have an entry have their own.
	if most := 2 * len(different); len(bodies) > most || len(different) > entries/4 {
		t.Errorf("%d entries, of which %d are different, exist %d times", entries, len(different), len(bodies))
	}
	for tier, most := range map[topo.Tier]int{1: k * k / 2, 2: 2 * k, 3: 2} {
		if n := len(tables[tier]); n > most {
			t.Errorf("tier %d has %d tables of routes, want at most %d", tier, n, most)
		}
	}
}

// entriesOf is all entries of a table as text, with their numbers, and what a lookup of
// each finds.
func entriesOf(t *interp.Table) string {
	text := fmt.Sprintln(t.Len(), t.Default().Action(), t.Args(t.Default()))
	t.Each(func(id uint32, e *interp.Entry) bool {
		m := t.Match(e)
		found, ok := t.Find(&m)
		text += fmt.Sprintln(id, m, e.Action(), t.Args(e), e.Ext != nil, found, ok)
		return true
	})
	return text
}

// Switches that start together have the tables of switches that start alone.
func TestSwitchesStartTogetherAsAlone(t *testing.T) {
	for _, profile := range []string{"ecmp", "rlb-drill", "plb", "conweave", "pbfs"} {
		net, l := openTree(t, 4, profile)
		defer l.Close()
		entities, err := l.entities(net, false)
		if err != nil {
			t.Fatal(err)
		}
		p := l.cfg.Program.Pipeline()
		config := &p4v1.ForwardingPipelineConfig{P4Info: p.P4Info, P4DeviceConfig: p.Config}
		for _, id := range net.Switches() {
			alone, err := softswitch.New(l.Switch(id).Config())
			if err != nil {
				t.Fatal(err)
			}
			alone.Attach(still{})
			list, err := entities(id)
			if err != nil {
				t.Fatal(err)
			}
			if err := p4rtserver.New(alone, p4rtserver.Options{}).Preload(config, diff.First(list)); err != nil {
				t.Fatal(err)
			}
			for i, table := range alone.State().Tables {
				if got, want := entriesOf(l.Switch(id).State().Tables[i]), entriesOf(table); got != want {
					t.Errorf("%s, table %s of %s: started together it has\n%s\nalone\n%s", profile, table.Info.Name, net.Nodes[id].Name, got, want)
				}
			}
		}
	}
}

// still is a network in which no time passes.
type still struct{ softswitch.Network }

func (still) Now() vtime.Time { return 0 }

// Changing an entry of one core switch leaves the others as they were.
func TestChangingOneSwitchLeavesTheOthers(t *testing.T) {
	net, l := openTree(t, 4, "ecmp")
	defer l.Close()
	var cores []int
	for _, id := range net.Switches() {
		if net.Nodes[id].Tier == 3 {
			cores = append(cores, id)
		}
	}
	list := func(id int) string { return entriesOf(tableOf(t, l, id, "route")) }
	before := list(cores[0])
	for _, id := range cores {
		if list(id) != before {
			t.Fatalf("the core switches have different routes:\n%s\n%s", before, list(id))
		}
	}
	if tableOf(t, l, cores[2], "route").Entry(0) != tableOf(t, l, cores[3], "route").Entry(0) {
		t.Fatal("the third and the fourth core switch do not share their routes")
	}
	control, err := l.Control(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := control.Session(net.Nodes[cores[2]].Name)
	sch, err := schema.New(l.cfg.Program.P4Info)
	if err != nil {
		t.Fatal(err)
	}
	change := func(typ p4v1.Update_Type, leaf, port int) {
		t.Helper()
		net := topo.LeafPrefix(leaf)
		e, err := sch.Entry(schema.Entry{Table: "route", Match: []schema.Match{schema.Prefix("dst_addr", net.Addr(), net.Bits())}, Action: "to_port", Args: []schema.Arg{{Name: "port", Value: port}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), []*p4v1.Update{{Type: typ, Entity: e}}); err != nil {
			t.Fatal(err)
		}
	}
	change(p4v1.Update_MODIFY, 0, 3)
	change(p4v1.Update_DELETE, 1, 1)
	if list(cores[2]) == before {
		t.Error("the switch has not changed")
	}
	for _, id := range []int{cores[0], cores[1], cores[3]} {
		if list(id) != before {
			t.Errorf("%s has changed, too:\n%s\nit had\n%s", net.Nodes[id].Name, list(id), before)
		}
	}
}

// Switches with random entries of a few have their own and no others': two entries of which
// the second switch was the first to share had the same number, so that a table with one
// was taken for a table with the other.
func TestSwitchesWithRandomEntries(t *testing.T) {
	net, l := openTree(t, 4, "ecmp")
	defer l.Close()
	sch, err := schema.New(l.cfg.Program.P4Info)
	if err != nil {
		t.Fatal(err)
	}
	var routes []*p4v1.Entity
	for leaf := range 8 {
		prefix := topo.LeafPrefix(leaf)
		e, err := sch.Entry(schema.Entry{Table: "route", Match: []schema.Match{schema.Prefix("dst_addr", prefix.Addr(), prefix.Bits())}, Action: "to_port", Args: []schema.Arg{{Name: "port", Value: 1 + leaf}}})
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, e)
	}
	p := l.cfg.Program.Pipeline()
	loader, err := p4rtserver.NewLoader(&p4v1.ForwardingPipelineConfig{P4Info: p.P4Info, P4DeviceConfig: p.Config}, interp.Options{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		sw, err := softswitch.New(l.Switch(net.Switches()[0]).Config())
		if err != nil {
			t.Fatal(err)
		}
		sw.Attach(still{})
		var updates []*p4v1.Update
		want := map[int]bool{}
		for _, leaf := range r.Perm(len(routes))[:1+r.IntN(3)] {
			updates = append(updates, &p4v1.Update{Type: p4v1.Update_INSERT, Entity: proto.CloneOf(routes[leaf])})
			want[leaf] = true
		}
		if err := loader.Load(p4rtserver.New(sw, p4rtserver.Options{}), updates); err != nil {
			t.Fatal(err)
		}
		for _, table := range sw.State().Tables {
			if !strings.HasSuffix(table.Info.Name, "route") {
				continue
			}
			got := map[int]bool{}
			table.Each(func(_ uint32, e *interp.Entry) bool {
				got[int(table.Args(e)[0])-1] = true
				return true
			})
			if !maps.Equal(got, want) {
				t.Fatalf("switch %d has routes to leaves %v, not %v", n, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			}
		}
	}
}
