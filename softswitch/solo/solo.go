// SPDX-License-Identifier: Apache-2.0

// Package solo runs a single switch in virtual time, for tests and
// measurements.
package solo

import (
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
)

// Net is the network around the switch. Time advances only during Run and
// RunUntil.
type Net struct {
	// Sent gets a port's sent frames, and returns them to the pool. Without it
	// frames are only counted.
	Sent func(port int, f *packet.Frame, end vtime.Time)
	// Count is the number of sent frames.
	Count int

	sw   *softswitch.Switch
	pool packet.Pool
	now  vtime.Time
	q    vtime.Queue
}

// New attaches a switch.
func New(sw *softswitch.Switch) *Net {
	n := &Net{sw: sw}
	sw.Attach(n)
	return n
}

// Now implements vtime.Scheduler.
func (n *Net) Now() vtime.Time { return n.now }

// At implements vtime.Scheduler.
func (n *Net) At(t vtime.Time, ev vtime.Event, arg uint64) {
	n.q.Push(t, ev, arg)
}

// Send implements softswitch.Network.
func (n *Net) Send(port int, f *packet.Frame, end vtime.Time) {
	n.Count++
	if n.Sent != nil {
		n.Sent(port, f, end)
	} else {
		n.pool.Put(f)
	}
}

// Frames implements softswitch.Network.
func (n *Net) Frames() *packet.Pool { return &n.pool }

// Inject makes a port receive a packet now: data, followed by zeros.
func (n *Net) Inject(port int, data []byte, zeros int) {
	f := n.pool.Get()
	f.Data = append(f.Data, data...)
	f.Elided = int32(zeros)
	n.sw.Receive(port, f)
}

// RunUntil advances time to t, which is before vtime.Never.
func (n *Net) RunUntil(t vtime.Time) {
	for n.q.Next() <= t {
		n.step()
	}
	n.now = max(n.now, t)
}

// Run advances time until there are no more events.
func (n *Net) Run() {
	for n.q.Next() < vtime.Never {
		n.step()
	}
}

func (n *Net) step() {
	at, ev, arg := n.q.Pop()
	n.now = at
	ev.Fire(at, arg)
}
