// SPDX-License-Identifier: Apache-2.0

package model

// Priority-based flow control, IEEE 802.1Qbb.

// A Pauser is the receiving side of a link: it pauses its peer when the
// ingress queue exceeds XOFF and resumes it when the queue is at or below XON.
type Pauser struct {
	XOFF, XON Bytes
	Paused    bool // the peer is paused
	Renewed   Time // when the last PAUSE was sent
	Refresh   Time // a pause that lasts is renewed after this time; 0: never
}

// A Frame of PFC.
type PFCFrame int

// PFC frames.
const (
	NoFrame PFCFrame = iota
	PauseFrame
	ResumeFrame
)

// Arrive is called for each packet that arrives, with the queue that it makes.
func (p *Pauser) Arrive(q Bytes, now Time) PFCFrame {
	if q <= p.XOFF || p.Paused && now-p.Renewed < p.Refresh {
		return NoFrame
	}
	p.Paused, p.Renewed = true, now
	return PauseFrame
}

// Depart is called for each packet that leaves, with the queue after it.
func (p *Pauser) Depart(q Bytes) PFCFrame {
	if !p.Paused || q > p.XON {
		return NoFrame
	}
	p.Paused = false
	return ResumeFrame
}

// A PausedPort is the sending side: one class of one egress port.
type PausedPort struct {
	Until Time
}

// Receive takes a PFC frame for the class in: it pauses for so many quanta of
// 512 bit times, or resumes if that is zero.
func (p *PausedPort) Receive(quanta int64, quantum Ratio, now Time) {
	p.Until = now + quantum.Times(quanta)
}

// Paused reports whether the class may not send.
func (p *PausedPort) Paused(now Time) bool { return now < p.Until }
