// SPDX-License-Identifier: Apache-2.0

// Package packet has Ethernet frames and views of their headers. A view is a
// byte slice with accessors: reading or writing a field touches the bytes of
// the frame and allocates nothing. Views do not check lengths on access;
// the constructor-like functions (AsIPv4 and its kin) do, once.
package packet

// Frame is one Ethernet frame on its way, without preamble and frame check
// sequence. Whoever holds a *Frame owns it; passing it on passes ownership,
// and the last owner returns it to a Pool.
type Frame struct {
	// Data is the frame from the first byte of the destination address. It
	// may end early, like a capture cut at its snap length.
	Data []byte
	// Elided counts the payload bytes after Data that are on the wire but not
	// in memory. They are zero. A simulated host sends 60 bytes of headers
	// and 1000 elided ones; every rate, queue and counter uses Len.
	Elided int32
	// Stalled is true if the frame has waited in a queue which PFC had paused.
	// Traffic managers set it as a measurement; it is not on the wire.
	Stalled bool
}

// Len returns the length of the frame on the wire in bytes, elided bytes
// included, preamble and frame check sequence not.
func (f *Frame) Len() int { return len(f.Data) + int(f.Elided) }

// Truncate cuts the frame to at most n bytes on the wire.
func (f *Frame) Truncate(n int) {
	switch {
	case n >= f.Len():
	case n >= len(f.Data):
		f.Elided = int32(n - len(f.Data))
	default:
		f.Data, f.Elided = f.Data[:n], 0
	}
}

// Prepend puts bytes before the frame.
func (f *Frame) Prepend(b []byte) {
	n := len(f.Data)
	f.Data = append(f.Data, b...) // any bytes: for room
	copy(f.Data[len(b):], f.Data[:n])
	copy(f.Data, b)
}

// Strip takes n bytes off the start of the frame, which has them in memory.
func (f *Frame) Strip(n int) { f.Data = f.Data[:copy(f.Data, f.Data[n:])] }

// A Pool recycles frames for one goroutine. The zero value is ready. A frame
// may be put into another Pool than the one it came from.
type Pool struct {
	free []*Frame
	out  int64
	tall bool // a frame came back that had more than shortBytes
}

// Networks under load have many frames, so a frame has as much room as the
// frames that came back so far needed: that for the headers of a packet or an
// acknowledgement without any scheme's, or that for those of all schemes but
// telemetry. With the frame itself, each fills a size class of Go's allocator.
const (
	shortBytes = 64
	tallBytes  = 96
)

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
	if p.tall {
		b := new(tallBlock)
		b.frame.Data = b.data[:0]
		return &b.frame
	}
	b := new(shortBlock)
	b.frame.Data = b.data[:0]
	return &b.frame
}

// shortBlock and tallBlock are a frame and its bytes, side by side: a frame that
// comes to another processor's cache brings its headers along.
type shortBlock struct {
	frame Frame
	data  [shortBytes]byte
}

type tallBlock struct {
	frame Frame
	data  [tallBytes]byte
}

// Put takes f back. The caller must not use it again.
func (p *Pool) Put(f *Frame) {
	if cap(f.Data) > shortBytes {
		p.tall = true
	}
	f.Data, f.Elided, f.Stalled = f.Data[:0], 0, false
	p.out--
	p.free = append(p.free, f)
}

// Out returns how many more frames Get and Clone gave than Put took back.
func (p *Pool) Out() int64 { return p.out }

// Len returns how many frames are free.
func (p *Pool) Len() int { return len(p.free) }

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
