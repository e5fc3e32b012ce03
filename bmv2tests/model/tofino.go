// SPDX-License-Identifier: Apache-2.0

package model

// The algorithms as a Tofino has them: a register answers once per packet,
// compares with what the packet brings and remembers one or two numbers. These
// are the differences that docs/tofino.md lists, and nothing else; where it
// lists none, the transcriptions of the other files hold. Times are of 32 bits
// of nanoseconds, as registers keep them.

// Share is the path of a part of 256: of a hash, or of a random number.
func Share(part uint8, n int) Path { return Path(int(part) * n >> 8) }

// unknownPath is the path of a flow that was not seen before.
const unknownPath = 255

// NewTofinoFlow is a flow that was not seen before.
func NewTofinoFlow() TofinoFlow { return TofinoFlow{Path: unknownPath} }

// TofinoFlow is what Presto and flowlets keep of a flow.
type TofinoFlow struct {
	Bytes uint32 // of Presto's flowcell
	Last  uint32 // when the flowlet's last packet came
	Path  Path
}

// Presto is its algorithm 1, but that a flowcell ends with the packet that
// makes it longer than the threshold: the register compares before it adds.
func (f *TofinoFlow) Presto(length, threshold uint32, start Path, n int) Path {
	if f.Bytes > threshold {
		f.Bytes = length
		if f.Path >= n-1 { // 255 too: whose first flowcell is full goes to path 0
			f.Path = 0
		} else {
			f.Path++
		}
		return f.Path
	}
	f.Bytes += length
	if f.Path >= n {
		f.Path = start
	}
	return f.Path
}

// Ended reports whether a packet begins a flowlet: one that comes the timeout
// after the one before, or later, does.
func (f *TofinoFlow) Ended(now, gap uint32) bool {
	last := f.Last
	f.Last = now
	return int32(last-(now-gap)) <= 0
}

// Follow gives a flowlet that begins a path, and others theirs, unless that is
// not there any more.
func (f *TofinoFlow) Follow(begins bool, drawn Path, n int) Path {
	if begins || f.Path >= n {
		f.Path = drawn
	}
	return f.Path
}

// TofinoBest is the best path so far, with what it was judged by when it was
// last looked at.
type TofinoBest struct {
	Value uint32 // DRILL: queue; CLB: rank
	Path  uint32
}

// DRILL is DRILL(2, 1) with the queue that the remembered path had when it was
// last a sample.
func (b *TofinoBest) DRILL(sample1, sample2 Path, queue1, queue2 uint32) Path {
	candidate, shorter := sample1, queue1
	if queue1 > queue2 {
		candidate, shorter = sample2, queue2
	}
	if shorter < b.Value || b.Path == uint32(candidate) {
		*b = TofinoBest{shorter, uint32(candidate)}
	}
	return Path(b.Path)
}

// CLB is Algorithm 2, path by path: a path that is looked at becomes the best
// if it is no worse, or if it is the best and has a new rank.
func (b *TofinoBest) CLB(path Path, rank uint32) Path {
	if rank <= b.Value || b.Path == uint32(path) {
		*b = TofinoBest{rank, uint32(path)}
	}
	return Path(b.Path)
}

// TofinoRank is Algorithm 1's class in the upper two bits, and below it what
// counts in the class. A queue grows or does not: a decrease is a zero.
func TofinoRank(queue, before, threshold uint32) uint32 {
	port := CLBPort{Q: Bytes(queue), QDt: max(Bytes(queue)-Bytes(before), 0)}
	class := Classify(port, Bytes(threshold))
	key := queue
	if class == PathB || class == PathD {
		key = uint32(port.QDt)
	}
	return uint32(class)<<30 | key
}

// TofinoRED has a mask of random bits for a ramp.
type TofinoRED struct{ KMin, KMax, Ramp uint32 }

// Marks decides for one packet that leaves queue behind.
func (r TofinoRED) Marks(queue, draw uint32) bool {
	above := uint32(0)
	if queue > r.KMin {
		above = queue - r.KMin
	}
	return above > draw&r.Ramp || queue > r.KMax
}

// TofinoHeld is how much longer than the queue explains a packet must have
// waited for NP-ECN to take it for one that a pause held, in nanoseconds.
const TofinoHeld = 1000

// TofinoNPECN marks packets that leave a queue behind, unless a pause held
// them: they waited longer than the cells ahead of them take.
func TofinoNPECN(waited, ahead, cellTime, behind uint32) bool {
	return waited <= ahead*cellTime+TofinoHeld && behind > 0
}

// TofinoSum counts bytes in a slot, or a window of slots.
type TofinoSum struct{ Bytes, Number uint32 }

// Add counts a packet and returns what the slot before had, if that has ended
// with anything in it.
func (s *TofinoSum) Add(number, bytes uint32) (before uint32) {
	if s.Number == number {
		s.Bytes += bytes
		return 0
	}
	before = s.Bytes
	*s = TofinoSum{bytes, number}
	return before
}

// TofinoPBFS is PB-FS at a port: what the last full slot and the last full
// window of eight slots had, and the queues when those that run began.
type TofinoPBFS struct {
	Slot, Marked, Window             TofinoSum
	SlotLast, MarkedLast, WindowLast uint32
	SlotQueue, WindowQueue           uint32
}

// Packet counts a packet that leaves queue behind and returns I_p, Q¹ and the
// bytes of the last slot. Sent is not arrived: what a queue has grown by is
// added, to the slot and to the window.
func (p *TofinoPBFS) Packet(now, bytes, queue uint32, marked bool) (arriving, first, recent, recentMarked uint32) {
	const slotBits, windowBits, slots = 10, 13, 8
	minus := func(a, b uint32) uint32 { return a - min(a, b) }
	slot := p.Slot.Add(now>>slotBits, bytes)
	window := p.Window.Add(now>>windowBits, bytes)
	if marked {
		if n := p.Marked.Add(now>>slotBits, bytes); n != 0 {
			p.MarkedLast = n
		}
	}
	if slot != 0 {
		p.SlotLast = slot + minus(queue, p.SlotQueue)
		p.SlotQueue = queue
	}
	first = p.WindowQueue
	if window != 0 {
		p.WindowLast = window
		p.WindowQueue = queue
	}
	return p.WindowLast + minus(queue, first) + slots*p.SlotLast, first, p.SlotLast, p.MarkedLast
}

// Congested is PB-FS's condition: more arrives than the port can send in a
// round trip, less what was queued.
func (p *TofinoPBFS) Congested(arriving, first, capacity uint32) bool {
	return arriving > capacity-min(capacity, first)
}
