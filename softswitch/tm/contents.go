// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"iter"
	"math"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Contents counts what a queue holds of each flow, for a reader that often asks: packets
// that wait are not in the processor's cache.
type Contents struct {
	// stays has the flows in the queue, and some that were there. One keeps its place
	// while the queue holds some of it. Place zero has none.
	stays []Stay
	// index has the places of keys, zero for none: open addressing. Its length is a power
	// of two.
	index  []uint32
	used   int      // of index
	empty  []uint32 // places without a flow
	latest uint32   // place of the last packet that came
	gone   func(Stay)
}

// Stay is the packets in a queue of a flow that came by the same port.
type Stay struct {
	key   uint64 // zero: none
	Bytes int64
	// First is when the first packet came to the queue while it held none of these, Last
	// when the last one did.
	First, Last vtime.Time
}

// key returns the key of the stay of a packet.
func (p *Packet) key() uint64 {
	in := uint64(0)
	if p.flags&isCharged != 0 && p.class == p.Queue {
		in = uint64(p.In + 1)
	}
	return uint64(p.Frame.Flow()+1)<<32 | in
}

// Flow returns the number of the flow: see packet.Frame.
func (k *Stay) Flow() uint32 { return uint32(k.key>>32) - 1 }

// In returns the port by which the packets came if they are charged to the class of the
// queue; otherwise -1.
func (k *Stay) In() int { return int(uint32(k.key)) - 1 }

// leastIndex is the least length of Contents.index.
const leastIndex = 16

// Follow returns the contents of a queue, which are counted from now on. Flows that have
// left the queue are passed to gone, some time later.
func (m *Manager) Follow(port, q int, gone func(Stay)) *Contents {
	m.use(bit(q))
	c := &Contents{stays: make([]Stay, 1), index: make([]uint32, leastIndex), gone: gone}
	m.contents = append(m.contents, c)
	qu := &m.class(port, q).queue
	qu.followed = uint32(len(m.contents))
	for p := qu.head; p != nil; p = p.Behind() {
		c.add(p)
	}
	return c
}

// elsewhere is Packet.stay of packets whose place does not fit there.
const elsewhere = math.MaxUint8

// add counts a packet that comes to the queue.
func (c *Contents) add(p *Packet) {
	key := p.key()
	i := c.latest
	if c.stays[i].key != key {
		if i = c.index[hash(key)&uint32(len(c.index)-1)]; c.stays[i].key != key {
			i = c.enter(key)
		}
		c.latest = i
	}
	p.stay = uint8(min(i, elsewhere))
	k := &c.stays[i]
	if k.Bytes == 0 {
		k.First = p.Enqueued
	}
	k.Bytes += int64(p.size)
	k.Last = p.Enqueued
}

// remove counts a packet that leaves the queue.
func (c *Contents) remove(p *Packet) {
	i := int(p.stay)
	if i == elsewhere {
		i = int(c.index[c.find(p.key())])
	}
	c.stays[i].Bytes -= int64(p.size)
}

func hash(key uint64) uint32 { return uint32((key>>32 + key<<5) * 0x9e3779b97f4a7c15 >> 40) }

// find returns where in index a key is, or would be.
//
//go:noinline
func (c *Contents) find(key uint64) uint32 {
	mask := uint32(len(c.index) - 1)
	for h := hash(key) & mask; ; h = (h + 1) & mask {
		if i := c.index[h]; i == 0 || c.stays[i].key == key {
			return h
		}
	}
}

// enter returns the place of a key, to which it gives one if it has none.
//
//go:noinline
func (c *Contents) enter(key uint64) uint32 {
	h := c.find(key)
	if i := c.index[h]; i > 0 {
		return i
	}
	if 2*c.used >= len(c.index) {
		c.Tidy()
		h = c.find(key)
	}
	if len(c.empty) == 0 {
		c.empty = append(c.empty, uint32(len(c.stays)))
		c.stays = append(c.stays, Stay{})
	}
	last := len(c.empty) - 1
	i := c.empty[last]
	c.empty = c.empty[:last]
	c.stays[i] = Stay{key: key}
	c.index[h] = i
	c.used++
	return i
}

// Tidy forgets the flows that have left the queue, and passes them to the function that
// Follow was given.
func (c *Contents) Tidy() {
	c.used = 0
	for i := range c.stays {
		switch k := &c.stays[i]; {
		case k.Bytes > 0:
			c.used++
		case k.key > 0:
			c.gone(*k)
			*k = Stay{}
			c.empty = append(c.empty, uint32(i))
		}
	}
	n := leastIndex
	for n < 4*(c.used+1) {
		n *= 2
	}
	c.index = make([]uint32, n)
	for i := range c.stays {
		if k := &c.stays[i]; k.key > 0 {
			c.index[c.find(k.key)] = uint32(i)
		}
	}
}

// Stays returns what is in the queue.
func (c *Contents) Stays() iter.Seq[*Stay] {
	return func(yield func(*Stay) bool) {
		for i := range c.stays {
			if k := &c.stays[i]; k.Bytes > 0 && !yield(k) {
				return
			}
		}
	}
}

// From returns the bytes in the queue that came by a port and are charged to its class.
func (c *Contents) From(port int) (n int64) {
	for k := range c.Stays() {
		if k.In() == port {
			n += k.Bytes
		}
	}
	return n
}
