// SPDX-License-Identifier: Apache-2.0

// Package intent computes what a switch needs to do its part in a network:
// table entries, clone sessions and multicast groups, from the topology, the
// program's P4Info and its manifest.
//
//	entities, err := intent.Build(network, l1.ID, manifest, p4info, intent.Options{})
//
// Each feature of a program has a file of its own and goes by the tables it
// finds in the P4Info, so the same code serves every profile and target. No
// register needs an initial value other than zero: BMv2 takes none over
// P4Runtime.
package intent

import (
	"fmt"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
)

// LosslessPriority is the class of data packets, DSCP 26: the one that is
// paused rather than dropped.
const LosslessPriority = 3

// Options says what the target cannot do, and what an experiment wants.
type Options struct {
	// Paths limits how many of the equal ways to a host are used, from the
	// first on, by the host's name. DRILL, which remembers the best way to a
	// leaf, keeps to a limit of one only.
	Paths map[string]int
	// NoCloneClass leaves the class of service of clone sessions at zero, as
	// BMv2 wants it.
	NoCloneClass bool
	// Port returns the target's number of a port of the topology; nil if they
	// are the same. Only programs for Tofino have tables that translate.
	Port func(int) int
}

// Build returns the entities of switch node (an index into t.Nodes), the same
// for the same arguments: replication first, then tables in the order of the
// features, digests.
func Build(t *topo.Topology, node int, m *manifest.Manifest, info *p4configv1.P4Info, o Options) ([]*p4v1.Entity, error) {
	if node < 0 || node >= len(t.Nodes) || t.Nodes[node].Kind != topo.Switch {
		return nil, fmt.Errorf("node %d is no switch of topology %s", node, t.Name)
	}
	s, err := schema.New(info)
	if err != nil {
		return nil, err
	}
	b := &builder{schema: s, topo: t, node: &t.Nodes[node], manifest: m, options: o}
	if err := b.findWays(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", b.node.Name, err)
	}
	for _, f := range features {
		if b.has(f.table) {
			f.build(b)
		}
	}
	b.mirrors()
	b.settings()
	b.digests()
	if b.err != nil {
		return nil, fmt.Errorf("switch %s: %w", b.node.Name, b.err)
	}
	return append(b.replication, b.tables...), nil
}

// features are what programs may have, each known by a table.
var features = []struct {
	table string
	build func(*builder)
}{
	{"route", (*builder).route},
	{"Forward", (*builder).forward},
	{"port_number", (*builder).portNumbers},
	{"leaf_role", (*builder).leafRole},
	{"fabric_port", (*builder).fabricPort},
	{"link", (*builder).load},
	{"pfc_port", (*builder).pauses},
	{"pfc_threshold", (*builder).emulatedPFC},
	{"cnm_out", (*builder).warnings},
	{"Readqlen", (*builder).predict},
	{"pause_cost", (*builder).plb},
	{"pbfs_port", (*builder).postcards},
	{"qcn", (*builder).feedback},
	{"red", (*builder).red},
	{"telemetry", (*builder).telemetry},
}

// builder collects the entities of one switch and keeps the first error.
type builder struct {
	schema   *schema.Schema
	topo     *topo.Topology
	node     *topo.Node
	manifest *manifest.Manifest
	options  Options

	ways     []way        // by leaf
	sessions map[int]bool // clone sessions there are

	replication, tables []*p4v1.Entity
	err                 error
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// has says that the program has a table.
func (b *builder) has(table string) bool {
	_, err := b.schema.Table(table)
	return err == nil
}

// settings sets the parameters that are one for the whole switch: the default
// entries of tables without a key.
func (b *builder) settings() {
	for _, doc := range b.manifest.Tables {
		t, err := b.schema.Table(doc.Name)
		if err != nil {
			b.fail(fmt.Errorf("the manifest names a table that the program does not have: %w", err))
			continue
		}
		s, ok := b.manifest.Setting(doc.Name)
		if doc.Kind == "settings" && ok && len(t.Fields) == 0 {
			b.entry(schema.Entry{Table: doc.Name, Default: true, Action: s.Action, Args: b.tuned(doc.Name, b.uplink())})
		}
	}
}

// digests asks for the alerts of the program, each as soon as it is there.
func (b *builder) digests() {
	for _, d := range b.schema.Digests {
		b.tables = append(b.tables, &p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{
			DigestId: d.ID, Config: &p4v1.DigestEntry_Config{MaxListSize: 1}}}})
	}
}

// perPort adds an entry for each of some ports: a table whose key is the port
// and whose action has parameters as arguments, after those that args returns.
func (b *builder) perPort(table, key string, ports []int, args func(port int) []schema.Arg) {
	s, ok := b.manifest.Setting(table)
	if !ok {
		b.fail(fmt.Errorf("table %s has no setting", table))
		return
	}
	for _, p := range ports {
		var first []schema.Arg
		if args != nil {
			first = args(p)
		}
		b.entry(schema.Entry{Table: table, Match: []schema.Match{schema.Eq(key, p)}, Action: s.Action, Args: b.tuned(table, b.port(p), first...)})
	}
}

// entry adds a table entry.
func (b *builder) entry(e schema.Entry) {
	entity, err := b.schema.Entry(e)
	if err != nil {
		b.fail(err)
		return
	}
	b.tables = append(b.tables, entity)
}

// tuned returns the arguments of a configuration table's action for a
// network, after those given.
func (b *builder) tuned(table string, n manifest.Network, args ...schema.Arg) []schema.Arg {
	list, err := b.manifest.Args(table, n)
	if err != nil {
		b.fail(err)
	}
	for _, a := range list {
		args = append(args, schema.Arg{Name: a.Name, Value: a.Value})
	}
	return args
}

// port describes the network at a port, which thresholds follow from.
func (b *builder) port(port int) manifest.Network {
	link := b.topo.Links[b.node.Ports[port-1].Link]
	n := b.manifest.Network
	n.Rate, n.Delay, n.Hops = link.Rate, link.Delay, b.hops()
	if xoff := b.xoff(); xoff > 0 {
		n.XOFF = xoff
	}
	return n
}

// peer returns the node at the other end of a port.
func (b *builder) peer(port int) *topo.Node { return &b.topo.Nodes[b.node.Ports[port-1].Peer] }

// allPorts returns all ports.
func (b *builder) allPorts() []int {
	ports := make([]int, len(b.node.Ports))
	for i := range ports {
		ports[i] = i + 1
	}
	return ports
}

// fabricPorts returns the ports that lead to other switches.
func (b *builder) fabricPorts() []int {
	var ports []int
	for p := 1; p <= len(b.node.Ports); p++ {
		if b.peer(p).Kind == topo.Switch {
			ports = append(ports, p)
		}
	}
	return ports
}

// uplink describes the network at the first port to another switch.
func (b *builder) uplink() manifest.Network {
	if ports := b.fabricPorts(); len(ports) > 0 {
		return b.port(ports[0])
	}
	return b.manifest.Network
}
