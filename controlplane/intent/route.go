// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"net/netip"
	"sync"
	"sync/atomic"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/topo"
)

// route fills the first table of every program: own hosts by address, other
// leaves by the network of their hosts.
func (b *builder) route() {
	if !b.has("route") {
		return
	}
	toHost := "to_port"
	if _, err := b.schema.Action("to_host"); err == nil {
		toHost = "to_host"
	}
	for _, p := range b.allPorts() {
		if host := b.peer(p); host.Kind == topo.Host {
			b.add(schema.Entry{Table: "route",
				Match:  []schema.Match{schema.Prefix("dst_addr", host.IP, 32)},
				Action: toHost, Args: []schema.Arg{{Name: "port", Value: p}}})
		}
	}
	for leaf, w := range b.nextHops {
		b.toLeaf(topo.LeafPrefix(leaf), leaf, w)
	}
	if len(b.options.Paths) == 0 {
		return
	}
	for _, id := range b.topo.Hosts() {
		host := &b.topo.Nodes[id]
		if most := b.options.Paths[host.Name]; most > 0 && most < b.nextHops[host.Leaf].count {
			b.toLeaf(netip.PrefixFrom(host.IP, 32), host.Leaf, nextHops{b.nextHops[host.Leaf].first, most})
		}
	}
}

// toLeaf routes addresses at another leaf.
func (b *builder) toLeaf(net netip.Prefix, leaf int, w nextHops) {
	if w.count == 0 {
		return
	}
	if net != topo.LeafPrefix(leaf) {
		b.addRoute(net, leaf, w)
		return
	}
	known := &b.routesBy(w)[leaf]
	if e := known.Load(); e != nil {
		b.entries = append(b.entries, e)
		return
	}
	n := len(b.entries)
	if b.addRoute(net, leaf, w); len(b.entries) > n {
		known.Store(b.entries[n])
	}
}

// hops is what routes to leaves depend on, beside the leaf.
type hops struct {
	nextHops
	shift int
}

// routes are entries that several switches have: those to each leaf by the same ports.
type routes struct {
	sync.Mutex
	by map[hops][]atomic.Pointer[p4v1.Entity]
}

// routesBy returns the routes by the same ports as at this switch, by leaf.
func (b *builder) routesBy(w nextHops) []atomic.Pointer[p4v1.Entity] {
	if b.known != nil && b.knownBy == w {
		return b.known
	}
	key := hops{w, HashShift(b.node.Tier)}
	b.routes.Lock()
	defer b.routes.Unlock()
	if b.routes.by[key] == nil {
		b.routes.by[key] = make([]atomic.Pointer[p4v1.Entity], len(b.leaves))
	}
	b.known, b.knownBy = b.routes.by[key], w
	return b.known
}

// addRoute adds a route by equal-cost ports.
func (b *builder) addRoute(net netip.Prefix, leaf int, w nextHops) {
	e := schema.Entry{Table: "route", Match: []schema.Match{schema.Prefix("dst_addr", net.Addr(), net.Bits())}}
	if w.count == 1 {
		e.Action, e.Args = "to_port", []schema.Arg{{Name: "port", Value: w.first}}
	} else {
		e.Action = "to_leaf"
		args := [...]schema.Arg{
			{Name: "leaf", Value: leaf}, {Name: "first_port", Value: w.first}, {Name: "last_path", Value: w.count - 1},
			{Name: "hash_shift", Value: HashShift(b.node.Tier)},
		}
		e.Args = args[:0]
		action, err := b.schema.Action(e.Action)
		for _, arg := range args {
			if err == nil && action.Param(arg.Name) != nil {
				e.Args = append(e.Args, arg)
			}
		}
	}
	b.add(e)
}

// HashShift selects the 16 of a flow's 32 hash bits that choose a path. They
// differ between tiers: otherwise all flows at a switch would have the same
// next hop at the following one.
func HashShift(tier topo.Tier) int {
	switch tier {
	case 1:
		return 0
	case 2:
		return 16
	default:
		return 8
	}
}

// forward maps port numbers of the topology to those of the target, which
// differ only on Tofino. There, the number for recirculated packets stands for
// a recirculation port.
func (b *builder) forward() {
	if !b.has("Forward") {
		return
	}
	send := func(port, target int) {
		b.add(schema.Entry{Table: "Forward", Match: []schema.Match{schema.Eq("out_port", port)},
			Action: "send", Args: []schema.Arg{{Name: "port", Value: target}}})
	}
	for _, p := range b.allPorts() {
		send(p, b.target(p))
	}
	switch p := b.manifest.RecirculationPort; {
	case p > 0 && b.tofino():
		send(p, b.recirculation()[0])
	case p > 0:
		send(p, p)
	}
}
