// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"iter"
	"math/bits"
	"unsafe"

	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/internal/vtime"
)

// WatchQueued sets or, with nil, removes Watcher.Queued and leaves the rest of the
// watcher. Watcher.Pause may call it: Queued is then called with the packet for which a
// PAUSE is sent.
func (m *Manager) WatchQueued(f func(p *Packet)) { m.watch.Queued = f }

// Ports returns the number of ports.
func (m *Manager) Ports() int { return len(m.ports) }

// Now returns the time of the manager's clock.
func (m *Manager) Now() vtime.Time { return m.sched.Now() }

// First returns the first packet in a queue, or nil.
func (m *Manager) First(port, q int) *Packet { return m.class(port, q).head }

// Behind returns the next packet of the queue that the packet is in, or nil.
func (p *Packet) Behind() *Packet {
	n := p.next
	if n != nil {
		cache.Fetch(unsafe.Pointer(n.Frame), unsafe.Pointer(n.next))
	}
	return n
}

// Size returns the bytes that the packet takes in the buffer.
func (p *Packet) Size() int64 { return int64(p.size) }

// Pausing returns since when the sender at an ingress port is paused, if it is, and the
// number of bytes of the class in the buffer at which it would be now.
func (m *Manager) Pausing(port, class int) (since vtime.Time, on bool, threshold int64) {
	o := &m.ports[port]
	return o.rarely(class).pause.pausing, o.class(class).pausing, o.Reserve + m.threshold(o)
}

// Pressed reports whether the buffer is so full that this, rather than the bytes from the
// port itself, decides when its sender is paused: a dynamic threshold has fallen to less
// than a quarter, or the shared part is full.
func (m *Manager) Pressed(port int) bool {
	in := &m.ports[port]
	if m.cfg.Size <= 0 {
		return false
	}
	free := m.cfg.Size - m.apart
	return m.exhausted(in, 1) || in.Alpha > 0 && (in.XOFF == 0 || m.threshold(in) < in.XOFF) && 4*(free-m.shared) < free
}

// PausedSince returns since when the peer has paused each of the classes of a port that it
// pauses now.
func (m *Manager) PausedSince(port int) iter.Seq2[int, vtime.Time] {
	return func(yield func(int, vtime.Time) bool) {
		o := &m.ports[port]
		for c := o.paused; c != 0; c &= c - 1 {
			if k := bits.TrailingZeros8(c); !yield(k, o.rarely(k).pause.since) {
				return
			}
		}
	}
}
