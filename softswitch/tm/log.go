// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"iter"
	"math/bits"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Item is a packet of a Log, in 16 bytes: the less it takes, the more of what the run
// itself needs stays in the processor's cache.
type Item struct {
	Came vtime.Time // to the queue
	what uint64     // the flow in 24 bits, the size in 20, and what In returns plus one in 20
}

// Flow returns the number of the packet's flow: see packet.Frame.
func (k *Item) Flow() uint32 { return uint32(k.what & 0xffffff) }

// Size returns the bytes that the packet takes in the buffer.
func (k *Item) Size() int64 { return int64(k.what >> 24 & 0xfffff) }

// In returns the port by which the packet came if it is charged to the class of the queue;
// otherwise -1.
func (k *Item) In() int { return int(k.what>>44) - 1 }

// Log has the packets that came to a queue, in order, for a reader that often asks what
// the queue holds: packets that wait are not in the processor's cache.
type Log struct {
	items       []Item // a ring, whose length is a power of two
	first, next uint32 // numbers of the first packet and of that which comes next, modulo 2^32
}

// leastRoom is the least number of packets that come before a log is full.
const leastRoom = 64

// Follow begins the log of a queue, with the packets in it. Watcher.Full must be set.
func (m *Manager) Follow(port, q int) {
	m.use(bit(q))
	qu := &m.class(port, q).queue
	m.logs = append(m.logs, Log{items: make([]Item, room(qu.depth.Packets))})
	qu.log = uint32(len(m.logs))
	l := m.Log(port, q)
	for p := qu.head; p != nil; p = p.Behind() {
		l.add(p)
	}
}

// Log returns the log of a queue, nil if there is none. Follow makes it invalid.
func (m *Manager) Log(port, q int) *Log {
	if k := m.class(port, q).log; k > 0 {
		return &m.logs[k-1]
	}
	return nil
}

// note adds a packet that has come to a queue that is followed.
func (m *Manager) note(qu *queue, p *Packet) {
	l := &m.logs[qu.log-1]
	if l.Len() == len(l.items) {
		m.watch.Full(int(p.Out), int(p.Queue))
		l.fit()
	}
	l.add(p)
}

// add adds a packet. There is room.
func (l *Log) add(p *Packet) {
	k := &l.items[l.next&uint32(len(l.items)-1)]
	k.Came, k.what = p.Enqueued, uint64(p.Frame.Flow())|uint64(p.size)<<24
	if p.flags&isCharged != 0 && p.class == p.Queue {
		k.what |= uint64(p.In+1) << 44
	}
	l.next++
}

// room returns the length of a ring for n packets and leastRoom more.
func room(n int) int { return 1 << bits.Len(uint(n+leastRoom-1)) }

// fit makes room for leastRoom packets. A ring that is much longer than the queue becomes
// shorter, as all of it goes through the processor's cache.
func (l *Log) fit() {
	n := room(l.Len())
	if n <= len(l.items) && len(l.items) < 4*n {
		return
	}
	other := Log{items: make([]Item, n), first: l.first, next: l.first}
	for k := range l.Items(0, l.Len()) {
		other.items[other.next&uint32(n-1)] = *k
		other.next++
	}
	*l = other
}

// Gone returns how many packets of the log of a queue have left it: the first ones. In
// Watcher.Full it may be one less, as the packet that comes is in the queue already.
func (m *Manager) Gone(port, q int) int {
	return max(m.Log(port, q).Len()-m.class(port, q).depth.Packets, 0)
}

// Len returns the number of packets in a log.
func (l *Log) Len() int { return int(l.next - l.first) }

// Drop removes the first packets of a log.
func (l *Log) Drop(n int) { l.first += uint32(n) }

// Items returns the packets of a log from one, from 0, to another, which is not among them.
func (l *Log) Items(from, to int) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for i := from; i < to; i++ {
			if !yield(&l.items[(l.first+uint32(i))&uint32(len(l.items)-1)]) {
				return
			}
		}
	}
}
