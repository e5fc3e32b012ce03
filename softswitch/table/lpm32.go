// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"unsafe"
)

// LPM32 is an LPM table for keys of up to 32 bits, which are the first bits of
// 32. The first eight bits are the index of a slot. A slot is an entry, nothing, or
// a node of 256 slots for the next eight bits. Nodes for the second eight bits have
// all their slots. Others store a run of equal slots once and find runs by counting
// bits, so that a node with few routes takes one cache line.
//
// With 100,000 routes spread over the address space and random keys, a lookup
// takes a fifth of the time of gaissmai/bart's Fast (whose nodes then have 8
// KiB) and of its Table.
type LPM32 struct {
	width  int
	first  [256]uint32
	wide   []uint32 // nodes for the second eight bits
	nodes  nodes
	routes *Exact  // prefix and length → entry
	length []uint8 // of entries' prefixes
	lens   [33]int // number of routes of each length
}

// A slot is 0 for nothing, an entry plus one, or isNode and the number of a
// node.
const isNode = 1 << 31

// A node has a bit for each slot that differs from the previous one, the sums
// of these bits before each of their eight words, and the runs.
const (
	nodeUnit = 16 // words: a cache line
	nodeSums = 8
	nodeRuns = 10
)

// nodes is the memory of nodes.
type nodes struct {
	words []uint32
	sizes []int      // available sizes, in units
	free  [][]uint32 // unused nodes by size
}

func newNodes(sizes ...int) nodes { return nodes{sizes: sizes, free: make([][]uint32, len(sizes))} }

// of returns the words of a node and all that follow.
func (s *nodes) of(slot uint32) []uint32 { return s.words[slot&^isNode*nodeUnit:] }

// class returns the size for a number of words.
func (s *nodes) class(words int) int {
	c := 0
	for words > s.sizes[c]*nodeUnit {
		c++
	}
	return c
}

func (s *nodes) alloc(words int) uint32 {
	c := s.class(words)
	if n := len(s.free[c]); n > 0 {
		number := s.free[c][n-1]
		s.free[c] = s.free[c][:n-1]
		return number
	}
	number := uint32(len(s.words) / nodeUnit)
	s.words = append(s.words, make([]uint32, s.sizes[c]*nodeUnit)...)
	return number
}

func (s *nodes) release(slot uint32, words int) {
	c := s.class(words)
	s.free[c] = append(s.free[c], slot&^isNode)
}

// runs returns the number of runs of a node.
func runs(n []uint32) int { return int(n[nodeSums+1]>>24) + bits.OnesCount32(n[7]) }

// run returns the run, counted from one, that contains a slot of a node.
func run(n []uint32, i uint32) uint32 {
	w := i >> 5
	return n[nodeSums+w>>2]>>(w&3*8)&0xff + uint32(bits.OnesCount32(n[w]<<(31-i&31)))
}

// LPM32Offsets is where machine code finds the fields of an LPM32 that Lookup1 reads, in
// bytes.
var LPM32Offsets = struct{ First, Wide, Words int32 }{
	int32(unsafe.Offsetof(LPM32{}.first)), int32(unsafe.Offsetof(LPM32{}.wide)),
	int32(unsafe.Offsetof(LPM32{}.nodes) + unsafe.Offsetof(nodes{}.words)),
}

// A node in bytes, for machine code: NodeShift is the logarithm of the unit of its number,
// and Sums and Runs are where its sums and its first run are.
const (
	NodeShift = 6
	NodeSums  = 4 * nodeSums
	NodeRuns  = 4 * nodeRuns
)

func newLPM32(width int) *LPM32 {
	return &LPM32{
		width: width, routes: NewExact(64),
		nodes: newNodes(1, 2, 4, 8, 17),
	}
}

// Lookup1 returns the entry with the longest prefix of the key.
func (t *LPM32) Lookup1(key uint64) (uint32, bool) {
	k := uint32(key) << (32 - t.width)
	slot := t.second(k)
	if slot&isNode != 0 {
		slot = t.child(slot, k>>8&0xff)
		if slot&isNode != 0 {
			slot = t.child(slot, k&0xff)
		}
	}
	return slot - 1, slot != 0
}

// second returns the slot for the first 16 bits of 32.
func (t *LPM32) second(k uint32) uint32 {
	slot := t.first[k>>24]
	if slot&isNode != 0 {
		slot = t.wide[slot<<8|k>>16&0xff]
	}
	return slot
}

// seconds returns the slots for the second eight bits. It makes a node of them if
// there is none.
func (t *LPM32) seconds(first uint32) []uint32 {
	slot := t.first[first]
	if slot&isNode == 0 {
		t.first[first] = isNode | uint32(len(t.wide)>>8)
		t.wide = append(t.wide, make([]uint32, 256)...)
		if slot != 0 {
			s := t.wide[len(t.wide)-256:]
			for i := range s {
				s[i] = slot
			}
		}
	}
	return t.wide[t.first[first]<<8:][:256]
}

// child returns a slot of a node.
func (t *LPM32) child(node, i uint32) uint32 {
	n := t.nodes.of(node)
	return n[nodeRuns-1+run(n, i)]
}

// expand writes the slots of a node into d.
func (t *LPM32) expand(d *[256]uint32, node uint32) {
	n := t.nodes.of(node)
	at := uint32(nodeRuns - 1)
	for i := range uint32(256) {
		at += n[i>>5] >> (i & 31) & 1
		d[i] = n[at]
	}
}

// compress makes a node. If all slots are equal and not nodes, it returns that
// slot.
func (t *LPM32) compress(d *[256]uint32) uint32 {
	var head [nodeRuns]uint32
	var values [256]uint32 // of the runs
	runs := uint32(0)
	last := ^d[0]
	for w := range uint32(8) {
		head[nodeSums+w>>2] |= runs << (w & 3 * 8)
		starts := uint32(0)
		for i, x := range d[32*w : 32*w+32] {
			if x != last {
				starts |= 1 << (i & 31)
				values[runs&0xff] = x
				runs++
				last = x
			}
		}
		head[w] = starts
	}
	if runs == 1 && d[0]&isNode == 0 {
		return d[0]
	}
	number := t.nodes.alloc(nodeRuns + int(runs))
	n := t.nodes.of(number)
	copy(n, head[:])
	copy(n[nodeRuns:], values[:runs])
	return isNode | number
}

func (t *LPM32) release(node uint32) {
	t.nodes.release(node, nodeRuns+runs(t.nodes.of(node)))
}

// paint is a change of slots: to replaces from, or if from is 0, entries with
// prefixes shorter than length.
type paint struct {
	from, to uint32
	length   uint8
}

func (t *LPM32) paintSlot(slot uint32, p *paint) uint32 {
	switch {
	case p.from != 0 && slot == p.from, p.from == 0 && (slot == 0 || t.length[slot-1] < p.length):
		return p.to
	}
	return slot
}

// paintRange paints the slots for the keys from first to last below a slot with
// below remaining bits. It returns the new slot.
func (t *LPM32) paintRange(slot uint32, below int, first, last uint32, p *paint) uint32 {
	whole := first == 0 && last == 1<<below-1
	if slot&isNode == 0 && whole {
		return t.paintSlot(slot, p)
	}
	var d [256]uint32
	if slot&isNode != 0 {
		t.expand(&d, slot)
		t.release(slot)
	} else {
		for i := range d {
			d[i] = slot
		}
	}
	below -= 8
	low := uint32(1)<<below - 1
	for i := first >> below; i <= last>>below; i++ {
		from, to := uint32(0), low
		if i == first>>below {
			from = first & low
		}
		if i == last>>below {
			to = last & low
		}
		d[i] = t.paintRange(d[i], below, from, to, p)
	}
	return t.compress(&d)
}

// paintAll paints the slots for the keys of a prefix.
func (t *LPM32) paintAll(prefix uint32, length int, p *paint) {
	last := prefix | uint32(uint64(1)<<(32-length)-1)
	for i := prefix >> 24; i <= last>>24; i++ {
		if length <= 8 && t.first[i]&isNode == 0 {
			t.first[i] = t.paintSlot(t.first[i], p)
			continue
		}
		slots, from, to := t.seconds(i), uint32(0), uint32(0xffff)
		if length > 8 {
			slots = slots[prefix>>16&0xff : last>>16&0xff+1]
		}
		if length > 16 {
			from, to = prefix&0xffff, last&0xffff
		}
		for k, slot := range slots {
			slots[k] = t.paintRange(slot, 16, from, to, p)
		}
	}
}

func (t *LPM32) prefix(m *Match) uint32 {
	if m.Prefix == 0 {
		return 0
	}
	return uint32(m.Value[0]) << (32 - t.width) >> (32 - m.Prefix) << (32 - m.Prefix)
}

func route(prefix uint32, length int) uint64 { return uint64(prefix)<<8 | uint64(length) }

// Lookup implements Index.
func (t *LPM32) Lookup(key []uint64) (uint32, bool) { return t.Lookup1(key[0]) }

// Find implements Index.
func (t *LPM32) Find(m *Match) (uint32, bool) { return t.routes.Lookup1(route(t.prefix(m), m.Prefix)) }

// Insert implements Index.
func (t *LPM32) Insert(m *Match, entry uint32) {
	prefix := t.prefix(m)
	t.routes.set([]uint64{route(prefix, m.Prefix)}, entry)
	t.lens[m.Prefix]++
	for int(entry) >= len(t.length) {
		t.length = append(t.length, 0)
	}
	t.length[entry] = uint8(m.Prefix)
	t.paintAll(prefix, m.Prefix, &paint{to: entry + 1, length: uint8(m.Prefix)})
}

// Delete implements Index.
func (t *LPM32) Delete(m *Match) {
	prefix := t.prefix(m)
	entry, ok := t.routes.Lookup1(route(prefix, m.Prefix))
	if !ok {
		return
	}
	t.routes.remove([]uint64{route(prefix, m.Prefix)})
	t.lens[m.Prefix]--
	p := paint{from: entry + 1}
	for length := m.Prefix - 1; length >= 0 && p.to == 0; length-- { // the prefix that it hid
		if t.lens[length] == 0 {
			continue
		}
		if e, ok := t.routes.Lookup1(route(uint32(uint64(prefix)>>(32-length)<<(32-length)), length)); ok {
			p.to = e + 1
		}
	}
	t.paintAll(prefix, m.Prefix, &p)
}

// Len implements Index.
func (t *LPM32) Len() int { return t.routes.Len() }
