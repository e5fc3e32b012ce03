// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/tm"
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
	VictimPaused  vtime.Time
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
			out.VictimPaused += e.withVictim(atRoot)
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
		for i := range w.queues {
			c, port, class := w.queues[i].holds, i/tm.Queues, i%tm.Queues
			if c == nil {
				continue
			}
			type key struct {
				flow uint32
				in   int
			}
			stays := make(map[key]tm.Stay)
			for k := range c.Stays() {
				stays[key{k.Flow(), k.In()}] = *k
			}
			for p := w.m.First(port, class); p != nil; p = p.Behind() {
				at := key{p.Frame.Flow(), int(p.In)}
				k, ok := stays[at]
				if !ok {
					at.in = -1
					k = stays[at]
				}
				if k.Bytes -= p.Size(); k.Bytes < 0 || p.Enqueued < k.First || p.Enqueued > k.Last {
					return packets, fmt.Errorf("node %d port %d class %d: %+v is in the queue, and %+v", id, port, class, p, k)
				}
				stays[at] = k
				packets++
			}
			for _, k := range stays {
				if k.Bytes != 0 {
					return packets, fmt.Errorf("node %d port %d class %d: %+v is not in the queue", id, port, class, k)
				}
			}
			for in := range w.m.Ports() {
				if got, want := c.From(in), w.m.Waiting(in, port, class); got != want {
					return packets, fmt.Errorf("node %d port %d class %d: %d bytes came by port %d, want %d", id, port, class, got, in, want)
				}
			}
		}
	}
	return packets, nil
}
