// SPDX-License-Identifier: Apache-2.0

// Package packet has Ethernet frames and views of their headers. A view is a
// byte slice with accessors: reading or writing a field accesses the bytes of
// the frame and allocates nothing. The functions AsIPv4, AsUDP and so on check
// the length once; accessors do not.
package packet

// Frame is one Ethernet frame without preamble and frame check sequence. The
// holder of a *Frame owns it. Passing it on passes the ownership, and the last
// owner returns it to a Pool.
type Frame struct {
	// Data is the frame from the first byte of the destination address. It may be
	// truncated, like a capture at its snap length.
	Data []byte
	// Elided counts the payload bytes after Data that are on the link but not in
	// memory. They are zero. A simulated host sends 60 bytes of headers and 1000
	// elided ones. Every rate, queue and counter uses Len.
	Elided int32
	// Stalled is true if the frame has waited in a queue paused by PFC. Traffic
	// managers set it as a measurement; it is not transmitted.
	Stalled bool
	// flow is the number of the flow that the frame is data of: see Flow. Frame is 32
	// bytes, of which three were free.
	flow [3]byte
}

// MaxFlow is the largest number of a flow that a frame can have.
const MaxFlow = 1<<24 - 1

// Flow returns the number of the flow that the frame carries data of, from 1, for
// measurement: hosts of the fabric set it, and it is not transmitted. Zero: another
// frame, a copy, or a flow without a number.
func (f *Frame) Flow() uint32 {
	return uint32(f.flow[0]) | uint32(f.flow[1])<<8 | uint32(f.flow[2])<<16
}

// SetFlow sets the number of the flow, at most MaxFlow.
func (f *Frame) SetFlow(n uint32) { f.flow = [3]byte{byte(n), byte(n >> 8), byte(n >> 16)} }

// Len returns the length of the frame on the link in bytes, including elided
// bytes, without preamble and frame check sequence.
func (f *Frame) Len() int { return len(f.Data) + int(f.Elided) }

// Truncate limits the frame to n bytes on the link.
func (f *Frame) Truncate(n int) {
	switch {
	case n >= f.Len():
	case n >= len(f.Data):
		f.Elided = int32(n - len(f.Data))
	default:
		f.Data, f.Elided = f.Data[:n], 0
	}
}

// Prepend inserts bytes before the frame.
func (f *Frame) Prepend(b []byte) {
	n := len(f.Data)
	f.Data = append(f.Data, b...) // any bytes, only for their room
	copy(f.Data[len(b):], f.Data[:n])
	copy(f.Data, b)
}

// Strip removes n bytes, which must be in memory, from the start of the frame.
func (f *Frame) Strip(n int) { f.Data = f.Data[:copy(f.Data, f.Data[n:])] }

// A Pool recycles frames for one goroutine. The zero value is ready. A frame
// may be put into another Pool than the one it came from.
type Pool struct {
	free []*Frame
	out  int64
	tall bool // new frames have tallBytes: one with more than shortBytes was put back
	long bool // they have longBytes
}

// Loaded networks have many frames, so the capacity of a new frame depends on
// what is expected and on the frames put back so far: for the headers of a packet or
// acknowledgement without schemes, for those of all schemes except telemetry, or with
// telemetry. Together with the frame itself, each fills a size class of Go's allocator.
const (
	shortBytes = 64
	tallBytes  = 96
	longBytes  = 128
)

// Expect prepares for frames of which so many bytes are in memory at first, to which
// switches may add some: a frame that has to grow takes memory twice.
func (p *Pool) Expect(bytes, added int) {
	p.tall = p.tall || bytes+added > shortBytes
	p.long = p.long || bytes > tallBytes
}

// NewPool returns a pool with room for n frames.
func NewPool(n int) Pool { return Pool{free: make([]*Frame, 0, n)} }

// Get returns an empty frame, with capacity for the usual headers.
func (p *Pool) Get() *Frame {
	p.out++
	if n := len(p.free); n > 0 {
		f := p.free[n-1]
		p.free = p.free[:n-1]
		return f
	}
	if p.long {
		b := new(longBlock)
		b.frame.Data = b.data[:0]
		return &b.frame
	}
	if p.tall {
		b := new(tallBlock)
		b.frame.Data = b.data[:0]
		return &b.frame
	}
	b := new(shortBlock)
	b.frame.Data = b.data[:0]
	return &b.frame
}

// shortBlock, tallBlock and longBlock are a frame followed by its bytes, so that both
// get into a processor's cache together.
type shortBlock struct {
	frame Frame
	data  [shortBytes]byte
}

type tallBlock struct {
	frame Frame
	data  [tallBytes]byte
}

type longBlock struct {
	frame Frame
	data  [longBytes]byte
}

// Put returns f to the pool. The caller must not use it again.
func (p *Pool) Put(f *Frame) {
	if cap(f.Data) > shortBytes {
		p.tall = true
	}
	f.Data, f.Elided, f.Stalled, f.flow = f.Data[:0], 0, false, [3]byte{}
	p.out--
	p.free = append(p.free, f)
}

// Out returns the number of frames from Get and Clone, minus those put back.
func (p *Pool) Out() int64 { return p.out }

// Len returns the number of free frames.
func (p *Pool) Len() int { return len(p.free) }

// Trim frees the memory of the free frames.
func (p *Pool) Trim() { p.free = nil }

// Take moves up to n free frames from another pool into this one.
func (p *Pool) Take(from *Pool, n int) {
	n = min(n, len(from.free))
	rest := len(from.free) - n
	p.free = append(p.free, from.free[rest:]...)
	clear(from.free[rest:])
	from.free = from.free[:rest]
}

// Clone returns a copy of f that shares nothing with it.
func (p *Pool) Clone(f *Frame) *Frame {
	c := p.Get()
	c.Data = append(c.Data, f.Data...)
	c.Elided = f.Elided
	return c
}
