// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// Pipelines is a switch whose caller replaces the traffic manager, the clock
// and the links: it determines which packet leaves a queue, when, and the queue
// metadata that the program reads. Tests use it to compare programs with
// models.
type Pipelines struct {
	*Switch
	stopped *stopped
	queued  []queuePlace
}

// queuePlace is a queue of a port. port is an index in the traffic manager.
type queuePlace struct{ port, queue int }

// stopped is a network with a settable time, which sends nothing.
type stopped struct {
	Network
	now  vtime.Time
	pool packet.Pool
}

func (n *stopped) Now() vtime.Time      { return n.now }
func (n *stopped) Frames() *packet.Pool { return &n.pool }

// NewPipelines returns a switch with a program.
func NewPipelines(cfg Config, p *Program) (*Pipelines, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	x := &Pipelines{Switch: s, stopped: &stopped{}}
	s.Attach(x.stopped)
	s.Load(p)
	s.tm.Watch(tm.Watcher{Queue: func(port, queue int, _ tm.Depth) { x.queued = append(x.queued, queuePlace{port, queue}) }})
	return x, nil
}

// SetNow sets the time.
func (x *Pipelines) SetNow(t vtime.Time) { x.stopped.now = t }

// Ingress processes a frame from a port through ingress. It returns the queued
// packets in order, which the caller then owns.
func (x *Pipelines) Ingress(port int, f *packet.Frame) []*tm.Packet {
	p := x.tm.Get()
	p.Frame, p.In = f, int32(x.place(port))
	x.arch.arrive(p)
	return x.take()
}

// Egress processes a packet through egress, and also returns the copies that
// egress queues. ahead and behind are the depths of its queue at enqueueing and
// at dequeueing. If it recirculates, the caller calls Reenter next.
func (x *Pipelines) Egress(p *tm.Packet, ahead, behind tm.Depth) (tm.Verdict, []*tm.Packet) {
	x.tm.SetDepths(p, ahead, behind)
	v := x.arch.Egress(p, x.net.Now())
	return v, x.take()
}

// Reenter is Ingress for a packet that egress recirculated.
func (x *Pipelines) Reenter(p *tm.Packet) []*tm.Packet {
	x.arch.reenter(p)
	return x.take()
}

// take empties the queues and returns their packets.
func (x *Pipelines) take() (packets []*tm.Packet) {
	for _, q := range x.queued {
		packets = append(packets, x.tm.Take(q.port, q.queue))
	}
	x.queued = x.queued[:0]
	return packets
}
