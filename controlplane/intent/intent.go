// SPDX-License-Identifier: Apache-2.0

// Package intent computes the entities of a switch in a network: table entries,
// clone sessions and multicast groups, from the topology, the program's P4Info
// and its manifest.
//
//	entities, err := intent.Build(network, l1.ID, manifest, p4info, intent.Options{})
//
// or, for several switches,
//
//	plan, err := intent.New(network, manifest, p4info, intent.Options{})
//	entities, err := plan.Switch(l1.ID)
//
// The manifest determines the entries of each table and their arguments,
// through the program's annotations. Only routes and port numbers have code
// here, so the same code serves every scheme, profile and target. All registers
// start at zero, because BMv2 accepts no register values over P4Runtime.
package intent

import (
	"errors"
	"fmt"
	"sync/atomic"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Options are limits of the target and of an experiment.
type Options struct {
	// Paths limits the number of equal-cost paths to a host, from the first on, by
	// the host's name. DRILL, which stores the best path to a leaf, respects only a
	// limit of one.
	Paths map[string]int
	// Partial leaves out the routes to leaves that no path leads to; otherwise these
	// are an error.
	Partial bool
	// Scale is the factor by which the network is slower than its topology; zero
	// means 1.
	Scale int64
	// NoCloneClass leaves the class of service of clone sessions at zero, as BMv2
	// requires.
	NoCloneClass bool
	// RTT is the measured base round-trip time between leaves; zero means that of the
	// program's network if it was measured there, or the computed one.
	RTT vtime.Time
	// Port returns the target's number of a port of the topology; nil if they are
	// equal. Only programs for Tofino have tables that translate.
	Port func(int) int
}

// Build returns the entities of one switch: see Switch.
func Build(t *topo.Topology, node int, m *manifest.Manifest, info *p4configv1.P4Info, o Options) ([]*p4v1.Entity, error) {
	p, err := New(t, m, info, o)
	if err != nil {
		return nil, err
	}
	return p.Switch(node)
}

// A Plan is what the entities of all switches of a network have in common.
type Plan struct {
	schema   *schema.Schema
	topo     *topo.Topology
	manifest *manifest.Manifest
	options  Options

	leaves  []int     // node IDs by number
	links   [][]int32 // by node and leaf: on the shortest path between them; -1: there is none
	longest int       // path between leaves, in links
	tiers   int       // of switches
	routes  *routes
}

// New returns the plan of a network whose switches have the same program.
func New(t *topo.Topology, m *manifest.Manifest, info *p4configv1.P4Info, o Options) (*Plan, error) {
	if t.Weighted && m.Own == "" {
		return nil, errors.New("links of the topology have different weights, which profiles do not support: their shortest path is the one with the fewest links")
	}
	s, err := schema.New(info)
	if err != nil {
		return nil, err
	}
	p := newPlan(t, m, o)
	p.schema = s
	return p, nil
}

// NetworkOf returns the quantities from which thresholds follow at a switch: those of
// its first link to another switch. What the topology does not say is that of base.
func NetworkOf(t *topo.Topology, node int, base manifest.Network, o Options) manifest.Network {
	p := newPlan(t, &manifest.Manifest{Network: base}, o)
	return p.builder(&t.Nodes[node]).uplink()
}

func newPlan(t *topo.Topology, m *manifest.Manifest, o Options) *Plan {
	p := &Plan{topo: t, manifest: m, options: o, leaves: leavesOf(t), longest: 1, tiers: 1, routes: &routes{by: map[hops][]atomic.Pointer[p4v1.Entity]{}}}
	for i := range t.Nodes {
		p.tiers = max(p.tiers, int(t.Nodes[i].Tier))
	}
	p.links = make([][]int32, len(t.Nodes))
	switches := t.Switches()
	for _, id := range switches {
		p.links[id] = make([]int32, len(p.leaves))
	}
	paths := t.Paths()
	for i, l := range p.leaves {
		d := paths.Distances(l)
		for _, id := range switches {
			p.links[id][i] = int32(d.From(id))
		}
		p.longest = max(p.longest, int(p.links[l][0]))
	}
	return p
}

// Switch returns the entities of switch node, an index into the topology's nodes.
// The order is deterministic: replication, entries that follow from formulas,
// routes, tables in the order of the manifest, digests. It may be called from
// several goroutines.
func (p *Plan) Switch(node int) ([]*p4v1.Entity, error) {
	t := p.topo
	if node < 0 || node >= len(t.Nodes) || t.Nodes[node].Kind != topo.Switch {
		return nil, fmt.Errorf("node %d is not a switch of topology %s", node, t.Name)
	}
	b := p.builder(&t.Nodes[node])
	if err := b.checkThresholds(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", b.node.Name, err)
	}
	if err := b.findNextHops(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", b.node.Name, err)
	}
	b.enumerations() // before the routes, whose packets need them
	b.route()
	b.forward()
	b.portNumbers()
	b.tables()
	b.mirrors()
	b.settings()
	b.digests()
	if b.err != nil {
		return nil, fmt.Errorf("switch %s: %w", b.node.Name, b.err)
	}
	return append(b.replication, b.entries...), nil
}

// checkThresholds returns an error if the program uses PFC thresholds that the
// network does not have, or that it cannot compute.
func (b *builder) checkThresholds() error {
	pfc := b.topo.Switch.PFC
	switch {
	case !b.manifest.Has("shared_buffer") || pfc.Off:
		return nil
	case pfc.Alpha == 0:
		return fmt.Errorf("program %s follows dynamic PFC thresholds, and those of the topology are static: give switch.pfc.alpha or switch.mmu, or generate the program with thresholds: static", b.manifest.Program)
	}
	for port := 1; port <= len(b.node.Ports); port++ {
		if err := b.port(port).Check(); err != nil {
			return fmt.Errorf("program %s follows dynamic PFC thresholds, and cannot do so by those of port %d: %w", b.manifest.Program, port, err)
		}
	}
	return nil
}

// builder collects the entities of one switch and records the first error.
type builder struct {
	*Plan
	node     *topo.Node
	nextHops []nextHops   // by leaf
	sessions map[int]bool // existing clone sessions
	ofPorts  map[portNetwork][]schema.Arg
	known    []atomic.Pointer[p4v1.Entity] // routes by the ports knownBy: see routesBy
	knownBy  nextHops

	replication, entries []*p4v1.Entity
	err                  error
}

func (p *Plan) builder(n *topo.Node) *builder {
	return &builder{Plan: p, node: n, ofPorts: map[portNetwork][]schema.Arg{}}
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// has reports whether the program has a table.
func (b *builder) has(table string) bool {
	_, err := b.schema.Table(table)
	return err == nil
}

// digests enables the program's digests, each sent immediately.
func (b *builder) digests() {
	for _, d := range b.schema.Digests {
		b.entries = append(b.entries, &p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{
			DigestId: d.ID, Config: &p4v1.DigestEntry_Config{MaxListSize: 1}}}})
	}
}

// add adds a table entry.
func (b *builder) add(e schema.Entry) {
	entity, err := b.schema.Entry(e)
	if err != nil {
		b.fail(err)
		return
	}
	b.entries = append(b.entries, entity)
}

// port returns the network at a port, from which thresholds follow.
func (b *builder) port(port int) manifest.Network {
	link := b.topo.Links[b.node.Ports[port-1].Link]
	n := b.network()
	n.Rate, n.Delay, n.Hops = link.Rate, link.Delay, b.longest
	if xoff := b.xoff(); xoff > 0 {
		n.XOFF = xoff
	}
	if p := b.topo.Switch.PFC; p.Alpha > 0 && !p.Off {
		n.Alpha, n.Shared, n.Reserve = b.topo.AlphaFor(&link), b.topo.Shared(b.node), p.Reserve
	}
	return n
}

// peer returns the node at the other end of a port.
func (b *builder) peer(port int) *topo.Node { return &b.topo.Nodes[b.node.Ports[port-1].Peer] }

// allPorts returns all ports that have a link of the network.
func (b *builder) allPorts() []int {
	ports := make([]int, 0, len(b.node.Ports))
	for i := range b.node.Ports {
		if b.peer(i+1).Stub == topo.NoStub {
			ports = append(ports, i+1)
		}
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

// uplink returns the network at the first port to another switch.
func (b *builder) uplink() manifest.Network {
	if ports := b.fabricPorts(); len(ports) > 0 {
		return b.port(ports[0])
	}
	return b.network()
}

func (b *builder) network() manifest.Network {
	n := b.manifest.Network
	n.Scale = b.options.Scale
	if b.options.RTT > 0 {
		n.Measured = b.options.RTT
	}
	return n
}
