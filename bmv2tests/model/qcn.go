// SPDX-License-Identifier: Apache-2.0

package model

// QCN is the configuration of a congestion point of IEEE 802.1Qau (802.1Q
// clause 32.8).
type QCN struct {
	Qeq  Bytes // cpQSp: the queue that senders are to keep
	W    int64 // cpW
	Base Bytes // cpSampleBase
}

// A CongestionPoint is what one queue remembers.
type CongestionPoint struct {
	Left Bytes // cpEnqued: bytes to come before the next sample
	Old  Bytes // cpQLenOld: the queue at the last one
}

// Fb is the feedback of a queue of q bytes that was old bytes long at the last
// sample (clause 30.2.1): Fb = −(Qoff + w·Qδ), Qoff = q − Qeq, Qδ = q − old.
// Negative feedback is congestion.
func (c QCN) Fb(q, old Bytes) int64 {
	qOff, qDelta := q-c.Qeq, q-old
	return -(qOff + c.W*qDelta)
}

// Quantize makes six bits of a feedback (clause 32.8.9): 0 without congestion,
// 63 from −Qeq·(2w+1) on.
func (c QCN) Quantize(fb int64) int64 {
	switch most := c.Qeq * (2*c.W + 1); {
	case fb >= 0:
		return 0
	case fb < -most:
		return 63
	default:
		return -fb * 63 / most
	}
}

// Period is how many bytes come before the next sample (clause 32.9.2): the
// base, divided by 1 to 8 as congestion is worse, and jittered by 15 %.
//
// Reading: the jitter comes first, so that both divisions round down once.
func (c QCN) Period(level int64, jitter Ratio) Bytes {
	return jitter.Times(c.Base) / (level/8 + 1)
}

// Due reports whether a packet that is to be queued is a sample (clause
// 32.9.3), and counts it if not.
func (p *CongestionPoint) Due(length Bytes) bool {
	if p.Left > length {
		p.Left -= length
		return false
	}
	return true
}

// Sample takes one: the queue is q bytes long, with the packet. It returns the
// feedback for the sender; 0 for none.
func (p *CongestionPoint) Sample(c QCN, q Bytes, jitter Ratio) int64 {
	level := c.Quantize(c.Fb(q, p.Old))
	p.Old = q
	p.Left = c.Period(level, jitter)
	return level
}
