// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// A Waiter is a switch that can count its waiting bytes. With it, Deadlock
// follows only real dependencies. For other switches it assumes that every
// paused port waits for every other port.
type Waiter interface {
	// Waiting returns the bytes of a class that came in on one port and wait for
	// another.
	Waiting(in, out, class int) int64
}

// Deadlock is a cycle of switches in which each waits for the next,
// permanently.
type Deadlock struct {
	Class uint8
	// Ports are the paused ports. Each is on the switch to which the previous one
	// leads, and the last leads to the switch of the first.
	Ports []topo.End
	Since vtime.Time // time at which the last of them was paused
	names []string
}

// String returns the switches in order.
func (d *Deadlock) String() string {
	return fmt.Sprintf("deadlock in class %d since %v: %s", d.Class, d.Since, strings.Join(d.names, " → "))
}

// Deadlock returns the first cycle of ports that have been paused without
// interruption for at least the given time, or nil. A cycle that is only busy
// resumes some of its ports within the time its buffers take to drain, so a
// millisecond or two suffice to distinguish them.
func (f *Fabric) Deadlock(atLeast vtime.Time) *Deadlock {
	s := &search{f: f, before: f.engine.now - atLeast}
	var paused []int // the switches that have paused ports, usually none
	for id, n := range f.engine.nodes {
		if n.paused > f.engine.now && f.topo.Nodes[id].Kind == topo.Switch {
			paused = append(paused, id)
		}
	}
	for s.class = range packet.Classes {
		clear(s.state)
		for _, id := range paused {
			for p := range f.topo.Nodes[id].Ports {
				if e := (topo.End{Node: id, Port: p + 1}); s.open(e) && s.visit(e) {
					return s.report()
				}
			}
		}
	}
	return nil
}

// search is a depth-first search over paused ports.
type search struct {
	f      *Fabric
	class  int
	before vtime.Time // only pauses that began by then count
	state  map[topo.End]uint8
	path   []topo.End
}

const (
	onPath uint8 = 1 + iota
	seen
)

// open reports whether a port that leads to another switch has been paused for
// long enough, and visit has not returned false for it.
func (s *search) open(e topo.End) bool {
	k := s.f.engine.nodes[e.Node].in[e.Port-1].pause.class(s.class)
	return k.until > s.f.engine.now && k.since <= s.before &&
		s.f.topo.Nodes[s.peer(e).Node].Kind == topo.Switch && s.state[e] != seen
}

// peer returns the port at the other end.
func (s *search) peer(e topo.End) topo.End {
	p := s.f.topo.Nodes[e.Node].Ports[e.Port-1]
	return topo.End{Node: p.Peer, Port: p.PeerPort}
}

// visit follows the open ports for which an open port waits. It returns true
// with a cycle at the end of the path.
func (s *search) visit(e topo.End) bool {
	s.path = append(s.path, e)
	if s.state[e] == onPath {
		return true
	}
	if s.state == nil {
		s.state = make(map[topo.End]uint8)
	}
	s.state[e] = onPath
	in := s.peer(e)
	w, precise := s.f.engine.nodes[in.Node].impl.(Waiter)
	for p := range s.f.topo.Nodes[in.Node].Ports {
		out := topo.End{Node: in.Node, Port: p + 1}
		if out == in || !s.open(out) || precise && w.Waiting(in.Port, out.Port, s.class) == 0 {
			continue
		}
		if s.visit(out) {
			return true
		}
	}
	s.path = s.path[:len(s.path)-1]
	s.state[e] = seen
	return false
}

// report returns the cycle at the end of the path.
func (s *search) report() *Deadlock {
	last := len(s.path) - 1
	first := last - 1
	for s.path[first] != s.path[last] {
		first--
	}
	d := &Deadlock{Class: uint8(s.class), Ports: s.path[first:last]}
	for _, e := range d.Ports {
		d.Since = max(d.Since, s.f.engine.nodes[e.Node].in[e.Port-1].pause.class(s.class).since)
		d.names = append(d.names, s.f.topo.Nodes[e.Node].Name)
	}
	d.names = append(d.names, d.names[0])
	return d
}
