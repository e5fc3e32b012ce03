// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"iter"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// contents is what a queue holds. It is taken from the queue when somebody asks for the
// first time, and then follows the packets that come: a packet that has waited is no longer
// in the processor's cache, and many pauses ask for the same packets. A packet that comes
// costs a record in ring; all else is done when somebody asks again, or ring is full.
type contents struct {
	ring []item // of a power of two; nil: nobody has asked
	head uint32 // index of the first packet in ring
	n    uint32 // number of packets in ring
	left uint32 // packets that had left the queue before the first, modulo 2^32
	// from has, by ingress port, the bytes that the first counted packets are charged to the
	// class of the queue.
	from    []int64
	counted uint32
}

// item is a packet in a queue, in 16 bytes: the less it takes, the more of what the run
// itself needs stays in the processor's cache.
type item struct {
	came vtime.Time
	what uint64 // the flow in 24 bits, the size in 20, and what in returns plus one in 20
}

func (k *item) flow() uint32 { return uint32(k.what & 0xffffff) }
func (k *item) size() int64  { return int64(k.what >> 24 & 0xfffff) }

// in returns the port by which the packet came if it is charged to the class of the queue;
// otherwise -1.
func (k *item) in() int { return int(k.what>>44) - 1 }

// leastRing is the size of the first ring.
const leastRing = 64

// begin takes the packets that are in a queue.
func (c *contents) begin(m *tm.Manager, port, class int) {
	c.ring, c.left = make([]item, leastRing), m.Left(port, class)
	for p := m.First(port, class); p != nil; p = p.Behind() {
		c.room()
		c.add(p)
	}
}

// add adds a packet that has come to the queue. There is room.
func (c *contents) add(p *tm.Packet) {
	k := &c.ring[(c.head+c.n)&uint32(len(c.ring)-1)]
	c.n++
	k.came, k.what = p.Enqueued, uint64(p.Frame.Flow())|uint64(p.Size())<<24
	if p.Account() == int(p.Queue) {
		k.what |= uint64(p.In+1) << 44
	}
}

// trim removes the packets that have left, of which there are so many since the beginning,
// and notes in visits that their flows were here.
func (c *contents) trim(left uint32, v *visits) {
	gone := left - c.left
	for i := range min(gone, c.counted) {
		if k := c.at(i); k.in() >= 0 {
			c.from[k.in()] -= k.size()
		}
	}
	for i := uint32(0); v != nil && i < gone; i++ {
		// Of neighbours of the same flow, the last counts.
		if k := c.at(i); k.flow() != 0 && (i+1 == gone || c.at(i+1).flow() != k.flow()) {
			v.visit(k.flow(), k.came)
		}
	}
	c.head = (c.head + gone) & uint32(len(c.ring)-1)
	c.left, c.n, c.counted = left, c.n-gone, c.counted-min(gone, c.counted)
}

// at returns packet i of the queue, from 0.
func (c *contents) at(i uint32) *item { return &c.ring[(c.head+i)&uint32(len(c.ring)-1)] }

// bytes returns the bytes in the queue that came in by a port and are charged to its class.
func (c *contents) bytes(in, ports int) int64 {
	if c.from == nil {
		c.from = make([]int64, ports)
	}
	for ; c.counted < c.n; c.counted++ {
		if k := c.at(c.counted); k.in() >= 0 {
			c.from[k.in()] += k.size()
		}
	}
	return c.from[in]
}

// room makes room for a packet, and for as many as there are.
func (c *contents) room() {
	if 2*c.n < uint32(len(c.ring)) {
		return
	}
	ring := make([]item, 2*len(c.ring))
	n := copy(ring, c.ring[c.head:])
	copy(ring[n:], c.ring[:c.head])
	c.ring, c.head = ring, 0
}

// all returns the packets in order.
func (c *contents) all() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for i := range c.n {
			if !yield(c.at(i)) {
				return
			}
		}
	}
}
