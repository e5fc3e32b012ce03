// SPDX-License-Identifier: Apache-2.0

package model

// QCN as a Tofino has it (docs/tofino.md): samples are of what leaves a queue,
// as often as bytes come for it, and a period begins as the longest one, until
// a copy of the sample shortens it.

// SeenQueue is a queue as the packet saw it that last left it.
type SeenQueue struct {
	Length uint32
	Growth uint32 // since the packet before
}

// Came is what has come for a queue since: the packet, which leaves so many
// bytes behind, and what the queue is longer by.
func (s *SeenQueue) Came(length, behind Bytes) Bytes {
	s.Growth = uint32(max(0, behind-Bytes(s.Length)))
	s.Length = uint32(behind)
	return length + Bytes(s.Growth)
}

// Longest is the longest period there is: without congestion, and with all of
// the jitter.
func (c QCN) Longest() Bytes { return Ratio{115, 100}.Times(c.Base) }

// TofinoJitter is one of the 16 that are drawn from, spread from 0.85 to 1.15.
func TofinoJitter(draw int64) Ratio { return Ratio{275 + 6*draw, 320} }

// Leave counts what has come when a packet leaves, and reports whether that is
// a sample.
func (p *CongestionPoint) Leave(c QCN, came Bytes) bool {
	if !p.Due(came) {
		return false
	}
	p.Left = c.Longest()
	return true
}

// TofinoLevel is the feedback of a queue that a sample leaves behind, in six
// bits. The weight counts as the greatest power of two not above it and not
// above 8; steps are those of the configuration that the program was generated
// for, by the upper twelve bits of what makes 63 of them.
func (p *CongestionPoint) TofinoLevel(c, generated QCN, q Bytes) int64 {
	w := int64(0)
	for _, power := range []int64{1, 2, 4, 8} {
		if c.W >= power {
			w = power
		}
	}
	old := p.Old
	p.Old = q
	fb := QCN{Qeq: c.Qeq, W: w}.Fb(q, old)
	if fb >= 0 {
		return 0
	}
	unit := Bytes(1)
	for generated.Qeq*(2*generated.W+1) >= unit<<12 {
		unit *= 2
	}
	return generated.Quantize(fb / unit * unit)
}

// Shorten is what the copy of a sample does that gave a level: the period
// becomes what it should be, of what is left of it.
func (p *CongestionPoint) Shorten(c QCN, level int64, jitter Ratio) {
	p.Left = max(0, p.Left-(c.Longest()-c.Period(level, jitter)))
}
