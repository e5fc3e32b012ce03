// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"slices"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// side is a set of switches without links among them, together with their
// hosts. In most networks there are two sides: leaves and spines or, in a fat
// tree, aggregation switches and all others. While one side has stopped at some
// time, the other may run until a link's delay after it, and vice versa, so
// each runs for two delays at a time. Hosts have a link only to their own
// switch: they run after it, until a delay later, while its frames are still in
// the processor's cache.
//
// If switches cannot be divided like this, all nodes are on one side and run
// for one delay at a time.
type side struct {
	id     int
	groups []*group
	// All events before these times were handled.
	switches, hosts vtime.Time
	// Lower bounds of the times of the next events.
	nextSwitch, nextHost vtime.Time
}

// begin prepares for a run from now on, without events before next.
func (s *side) begin(now, next vtime.Time) {
	s.switches, s.hosts, s.nextSwitch, s.nextHost = now, now, next, next
}

func (s *side) next() vtime.Time { return min(s.nextSwitch, s.nextHost) }

// plan returns the next window, if there are events before limit.
func (e *engine) plan(limit vtime.Time) (window, bool) {
	d := e.lookahead
	a := e.crew.sides[0]
	if len(e.crew.sides) == 1 {
		end := min(limit, later(a.next(), d))
		return window{a, end, end}, a.next() < limit
	}
	b := e.crew.sides[1]
	if b.switches < a.switches {
		a, b = b, a
	}
	// No frame that the switches of side a have not received can reach them before
	// end: none from the other side or its hosts, none from their own hosts, and no
	// answer to their next frames.
	first := min(b.nextSwitch, later(b.nextHost, d), a.nextHost, later(a.nextSwitch, d))
	end := min(limit, later(first, d))
	return window{a, end, min(limit, later(end, d))}, min(a.next(), b.next()) < limit
}

// run runs a window.
func (e *engine) run(w window) {
	a := w.side
	if len(e.crew.sides) == 1 {
		// Frames sent in a window are read in the next one: both ends of a link may run
		// concurrently.
		e.fill, e.drain = e.window&1, (e.window-1)&1
		d := e.crew.run(w)
		next := min(d.switches, d.hosts, d.across)
		a.switches, a.hosts, a.nextSwitch, a.nextHost = w.end, w.end, next, next
		e.now = w.end
		return
	}
	b := e.crew.sides[1-a.id]
	d := e.crew.run(w)
	a.switches, a.hosts = w.end, w.hosts
	a.nextSwitch, a.nextHost = max(d.switches, w.end), max(d.hosts, w.hosts)
	b.nextSwitch = max(b.switches, min(b.nextSwitch, d.across))
	e.now = min(a.switches, b.switches)
}

// later returns t + d, or Never.
func later(t, d vtime.Time) vtime.Time {
	if t > vtime.Never-d {
		return vtime.Never
	}
	return t + d
}

// groupsPerThread is the minimum number of groups of a side per thread: threads
// share one side at a time.
const groupsPerThread = 4

// sides divides the nodes into two sides, or returns one side.
func (f *Fabric) sides() []*side {
	two := f.twoSides()
	if n := f.engine.crew.size; two == nil || n > 1 && min(len(two[0].groups), len(two[1].groups)) < groupsPerThread*n {
		return f.oneSide()
	}
	return two
}

func (f *Fabric) oneSide() []*side { return []*side{{groups: f.groups()}} }

// twoSides returns nil if the nodes cannot be divided, or a host belongs to several
// switches.
func (f *Fabric) twoSides() []*side {
	of := f.divide()
	if of == nil || slices.ContainsFunc(f.topo.Nodes, func(n topo.Node) bool { return n.Host != n.ID }) {
		return nil
	}
	two := []*side{{id: 0}, {id: 1}}
	for _, g := range f.groups() {
		s := two[of[g.nodes[0].id]]
		s.groups = append(s.groups, g)
	}
	return two
}

// groups returns each switch with its hosts. A host of several is with its first.
func (f *Fabric) groups() []*group {
	groups := make([]*group, len(f.topo.Nodes))
	for i, n := range f.engine.nodes {
		n.weight = uint64(len(n.in))
		if f.topo.Nodes[i].Kind == topo.Switch {
			groups[i] = &group{nodes: []*node{n}}
		}
	}
	for i, n := range f.engine.nodes {
		if tn := &f.topo.Nodes[i]; tn.Kind == topo.Host && f.isNode(i) {
			g := groups[tn.Ports[0].Peer]
			g.nodes = append(g.nodes, n)
		}
	}
	return slices.DeleteFunc(groups, func(g *group) bool { return g == nil })
}

// divide assigns each switch one of two sides, 0 and 1, such that neighbours
// differ. It returns nil if this is impossible.
func (f *Fabric) divide() []int {
	nodes := f.topo.Nodes
	const unknown = -1
	of := slices.Repeat([]int{unknown}, len(nodes))
	for i := range nodes {
		if nodes[i].Kind != topo.Switch || of[i] != unknown {
			continue
		}
		of[i] = 0
		for todo := []int{i}; len(todo) > 0; {
			n := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for _, p := range nodes[n].Ports {
				switch {
				case nodes[p.Peer].Kind != topo.Switch:
				case of[p.Peer] == unknown:
					of[p.Peer] = 1 - of[n]
					todo = append(todo, p.Peer)
				case of[p.Peer] == of[n]:
					return nil
				}
			}
		}
	}
	return of
}
