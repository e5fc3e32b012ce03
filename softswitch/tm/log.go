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
	coming      int32  // packets among Manager.arrivals, while these are added
	port        int32
	queue       int8
}

// arrivals are the latest packets that came to queues that are followed, in order. They are
// added to the logs together, as those of many queues are not in the cache.
type arrivals struct {
	n    int
	list [64]struct {
		Item
		log uint32 // index in Manager.logs plus one
	}
}

// leastRoom is the least number of packets that come before a log is full.
const leastRoom = 64

// Follow begins the log of a queue, with the packets in it. Watcher.Full must be set.
func (m *Manager) Follow(port, q int) {
	m.use(bit(q))
	qu := &m.class(port, q).queue
	m.logs = append(m.logs, Log{items: make([]Item, room(qu.depth.Packets)), port: int32(port), queue: int8(q)})
	if m.arrivals == nil {
		m.arrivals = new(arrivals)
	}
	qu.log = uint32(len(m.logs))
	l := &m.logs[qu.log-1]
	for p := qu.head; p != nil; p = p.Behind() {
		l.add(itemOf(p))
	}
}

// Log returns the log of a queue, nil if there is none. Follow makes it invalid.
func (m *Manager) Log(port, q int) *Log {
	if k := m.class(port, q).log; k > 0 {
		if m.arrivals.n > 0 {
			m.enlog()
		}
		return &m.logs[k-1]
	}
	return nil
}

// note notes a packet that has come to a queue that is followed.
func (m *Manager) note(qu *queue, p *Packet) {
	a := m.arrivals
	k := &a.list[a.n%len(a.list)]
	k.Item, k.log = itemOf(p), qu.log
	if a.n++; a.n == len(a.list) {
		m.enlog()
	}
}

// enlog adds the arrivals to the logs.
func (m *Manager) enlog() {
	list := m.arrivals.list[:m.arrivals.n]
	m.arrivals.n = 0
	for i := range list {
		m.logs[list[i].log-1].coming++
	}
	for i := range list {
		l := &m.logs[list[i].log-1]
		if l.coming > 0 {
			if l.Len()+int(l.coming) > len(l.items) {
				m.watch.Full(int(l.port), int(l.queue))
				l.fit()
			}
			l.coming = 0
		}
		l.add(list[i].Item)
	}
}

// itemOf returns what a log has of a packet.
func itemOf(p *Packet) Item {
	k := Item{p.Enqueued, uint64(p.Frame.Flow()) | uint64(p.size)<<24}
	if p.flags&isCharged != 0 && p.class == p.Queue {
		k.what |= uint64(p.In+1) << 44
	}
	return k
}

// add adds a packet. There is room.
func (l *Log) add(k Item) {
	l.items[l.next&uint32(len(l.items)-1)] = k
	l.next++
}

// room returns the length of a ring for n packets and leastRoom more.
func room(n int) int { return 1 << bits.Len(uint(n+leastRoom-1)) }

// fit makes room for the packets that come and leastRoom more. A ring that is much longer than the queue becomes
// shorter, as all of it goes through the processor's cache.
func (l *Log) fit() {
	n := room(l.Len() + int(l.coming))
	if n <= len(l.items) && len(l.items) < 4*n {
		return
	}
	other := *l
	other.items, other.next = make([]Item, n), l.first
	for k := range l.Items(0, l.Len()) {
		other.add(*k)
	}
	*l = other
}

// Gone returns how many packets of the log of a queue have left it: the first ones.
func (m *Manager) Gone(port, q int) int {
	l := m.Log(port, q)
	return min(max(l.Len()+int(l.coming)-m.class(port, q).depth.Packets, 0), l.Len())
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
