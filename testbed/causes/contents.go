// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"iter"
	"math/bits"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// contents is what a queue holds. It is taken from the queue when somebody asks for the
// first time, and then follows the packets that come: a packet that has waited is no longer
// in the processor's cache, and many pauses ask for the same packets. A packet that comes
// costs a record in items; all else is done when somebody asks again, or items is full: that
// is soon, so that it is still in the cache.
type contents struct {
	items []item // the beginning of buf; nil: nobody has asked
	head  int    // index in items of the first packet that is not removed
	buf   []item
	left  uint32 // packets that had left the queue before that one, modulo 2^32
	// from has, by ingress port, the bytes that the first counted packets are charged to the
	// class of the queue.
	from    []int64
	counted int
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

// leastItems is the least number of packets that come before items is full.
const leastItems = 64

// begin takes the packets that are in a queue.
func (c *contents) begin(m *tm.Manager, port, class int) {
	c.buf, c.left = make([]item, leastItems), m.Left(port, class)
	c.items = c.buf[:0]
	for p := m.First(port, class); p != nil; p = p.Behind() {
		if c.full() {
			c.room()
		}
		c.add(p)
	}
}

// full reports whether there is no room for another packet.
func (c *contents) full() bool { return len(c.items) == cap(c.items) }

// add adds a packet that has come to the queue. There is room.
func (c *contents) add(p *tm.Packet) {
	c.items = c.items[:len(c.items)+1]
	k := &c.items[len(c.items)-1]
	k.came, k.what = p.Enqueued, uint64(p.Frame.Flow())|uint64(p.Size())<<24
	if p.Account() == int(p.Queue) {
		k.what |= uint64(p.In+1) << 44
	}
}

// trim removes the packets that have left, of which there are so many since the beginning,
// and notes in visits that their flows were here.
func (c *contents) trim(left uint32, v *visits) {
	gone := c.items[c.head:][:left-c.left]
	for i := range gone[:min(len(gone), c.counted)] {
		if k := &gone[i]; k.in() >= 0 {
			c.from[k.in()] -= k.size()
		}
	}
	if v != nil {
		for i := range gone {
			// Of neighbours of the same flow, the last counts.
			if k := &gone[i]; k.flow() != 0 && (i+1 == len(gone) || gone[i+1].flow() != k.flow()) {
				v.visit(k.flow(), k.came)
			}
		}
	}
	c.head += len(gone)
	c.left, c.counted = left, c.counted-min(len(gone), c.counted)
}

// bytes returns the bytes in the queue that came in by a port and are charged to its class.
func (c *contents) bytes(in, ports int) int64 {
	if c.from == nil {
		c.from = make([]int64, ports)
	}
	list := c.items[c.head:]
	for ; c.counted < len(list); c.counted++ {
		if k := &list[c.counted]; k.in() >= 0 {
			c.from[k.in()] += k.size()
		}
	}
	return c.from[in]
}

// room makes room for as many packets as there are, and for leastItems at least.
func (c *contents) room() {
	rest := c.items[c.head:]
	need := len(rest) + max(len(rest), leastItems)
	if need > len(c.buf) {
		c.buf = make([]item, 1<<bits.Len(uint(need-1)))
	}
	c.items, c.head = c.buf[:copy(c.buf, rest):need], 0
}

// all returns the packets in order.
func (c *contents) all() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		list := c.items[c.head:]
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}
