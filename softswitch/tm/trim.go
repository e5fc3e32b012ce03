// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Trim configures packet trimming, as SONiC does (switch-trimming: size, DSCP, queue). A
// packet of a lossy class for which its queue or the buffer has no room is cut to Size
// bytes and put into another queue of the same port. When it leaves, its DSCP is that of
// Port.TrimDSCP.
type Trim struct {
	Size  int // bytes of the frame that remain; zero: packets are dropped instead
	Queue int
}

// trims reports whether a packet that was refused for a cause is trimmed.
func (m *Manager) trims(p *Packet, q int, cause Cause, lossless bool) bool {
	return m.cfg.Trim.Size > 0 && (cause == QueueFull || cause == BufferFull) && !lossless &&
		q != m.cfg.Trim.Queue && p.flags&isTrimmed == 0 && p.Frame.Len() > m.cfg.Trim.Size
}

// trim cuts a packet and queues what is left of it.
func (m *Manager) trim(p *Packet, out, q int, now vtime.Time) Cause {
	k := &m.port(out).rarely(q).stats
	k.Trimmed++
	p.Frame.Truncate(m.cfg.Trim.Size)
	p.flags |= isTrimmed
	p.Class = int8(m.cfg.Trim.Queue)
	cause := m.Enqueue(p, out, m.cfg.Trim.Queue, now)
	if cause != Queued {
		k.TrimDrops++
	}
	return cause
}

// label sets the DSCP of a trimmed packet that leaves.
func (o *port) label(f *packet.Frame) {
	if ip := packet.FindIPv4(f.Data); ip != nil {
		ip.SetDSCP(o.cfg.TrimDSCP)
		ip.UpdateChecksum()
	}
}

// Trimmed returns the number of packets that were trimmed so far, and of those for whose
// rest there was no room either.
func (m *Manager) Trimmed() (trimmed, dropped uint64) {
	for i := range m.ports {
		for c := range Queues {
			if r := m.ports[i].rare[c]; r != nil {
				trimmed += r.stats.Trimmed
				dropped += r.stats.TrimDrops
			}
		}
	}
	return trimmed, dropped
}
