// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Storm is a storm as tests compare it: the pauses of queues of switches, and the flows
// that waited in these.
type Storm struct {
	Loop, Unknown bool
	Node, Port    int // of the root
	Begun         vtime.Time
	Pauses        []Pause
	Waited        map[uint32]bool
	Victims       map[uint32]bool
}

// Pause is a pause of a queue.
type Pause struct {
	Node, Port   int
	Since, Until vtime.Time
}

// Storms returns the storms until now.
func (r *Recorder) Storms(now vtime.Time) (list []Storm) {
	events := r.events(now)
	for _, e := range events {
		r.resolve(e)
	}
	for _, s := range group(events) {
		out := Storm{
			Loop: s.root.kind == rootLoop, Unknown: s.root.kind == rootUnknown, Node: s.root.link.node, Port: s.root.link.port,
			Begun: s.begun, Waited: make(map[uint32]bool), Victims: make(map[uint32]bool),
		}
		atRoot := r.atRoot(s)
		for _, e := range s.events {
			if r.topo.Nodes[e.node].Kind != topo.Switch {
				continue
			}
			out.Pauses = append(out.Pauses, Pause{e.node, int(e.port), e.since, e.until})
			if e.until == now {
				continue
			}
			for _, w := range e.waits {
				out.Waited[w.flow] = true
				if !atRoot(w.flow) {
					out.Victims[w.flow] = true
				}
			}
		}
		list = append(list, out)
	}
	return list
}

// CheckContents compares what is followed of queues with the queues. It returns the number
// of packets compared.
func (r *Recorder) CheckContents() (packets int, err error) {
	for id, w := range r.switches {
		if w == nil {
			continue
		}
		for class, list := range w.holds {
			for port := range list {
				c := list[port]
				if c.items == nil {
					continue
				}
				c.from, c.counted = nil, 0 // the items are only read
				c.trim(w.m.Left(port, class), nil)
				p := w.m.First(port, class)
				for k := range c.all() {
					if p == nil || k.flow() != p.Frame.Flow() || k.came != p.Enqueued || k.size() != p.Size() {
						return packets, fmt.Errorf("node %d port %d class %d: packet %d of %d is %v in the queue, and %+v here", id, port, class, packets, len(c.items)-c.head, p, *k)
					}
					p = p.Behind()
					packets++
				}
				if p != nil {
					return packets, fmt.Errorf("node %d port %d class %d: the queue has more than %d packets", id, port, class, len(c.items)-c.head)
				}
				for in := range w.ports {
					if got, want := c.bytes(in, w.m.Ports()), w.m.Waiting(in, port, class); got != want {
						return packets, fmt.Errorf("node %d port %d class %d: %d bytes came by port %d, want %d", id, port, class, got, in, want)
					}
				}
			}
		}
	}
	return packets, nil
}
