// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// uecReceiver is the receiving end of a flow of transport uec.
type uecReceiver struct {
	r    *receiver
	peer uint16 // number of the sender's end
	own  uint16 // its own number

	got      uint32 // bytes on the link so far, modulo 2^24
	unacked  int64  // bytes on the link since the last acknowledgement
	asked    bool   // the sender has asked for an answer, and packets are missing
	anything bool   // a packet has arrived

	// Credit granted, and that which the sender wants, in UETCreditUnit. The counts start
	// above zero, so that a target below what was granted is not negative.
	credit, wants int64
	most          int64 // without demand, in bytes
	queue         pullQueue
	port          uint16 // UDP source port of grants
}

// pullQueue is where a receiver waits for its turn to grant credit.
type pullQueue uint8

const (
	notQueued pullQueue = iota
	active
	idle
)

func newUECReceiver(h *Host, r *receiver, from Address, f *Flow, sender uint32) *uecReceiver {
	r.class = h.cfg.controlClass()
	r.head = h.uetHeaders(r.nic.self, from, f.Port, r.class, packet.NotECT, packet.UETAckLen)
	return &uecReceiver{r: r, peer: uint16(sender), own: uint16(h.NextReceiver()), port: f.Port, most: maxCredit(h.rate, f.BaseRTT)}
}

// data handles a data packet, whole or trimmed.
func (u *uecReceiver) data(now vtime.Time, f *packet.Frame, ip packet.IPv4, port uint16, h packet.UET) {
	r := u.r
	n := r.expected + int64(int32(h.PSN()-uint32(r.expected)))
	if n < 0 || n >= r.total || n-r.expected >= int64(r.h.cfg.UEC.Bitmap) {
		r.h.Stats.Misdelivered++
		return
	}
	if !r.started {
		r.started, r.first = true, now
	}
	r.stalled = r.stalled || f.Stalled
	marked := ip.ECN() == packet.CE
	short := ip.TotalLen() > f.Len()-packet.EthernetLen
	if marked && !short {
		r.marked++
	}
	known := n < r.expected || r.early.has(n, r.expected)
	if known || !short {
		u.wants = max(u.wants, u.wanted24(h.CreditTarget()))
	}
	if known {
		r.duplicates++
		u.ack(now, port, n, marked && !short, h.Retransmitted())
		return
	}
	if short {
		r.h.Stats.Trimmed++
		code := uint8(packet.UETTrimmed)
		if t := r.h.cfg.Trimming; ip.DSCP() == t.LastHop {
			code = packet.UETTrimmedLastHop
		}
		u.wants = max(u.wants, u.wanted24(h.CreditTarget()))
		nack := u.frame(port, packet.UETNackLen)
		packet.UET(nack.Data[uetHeaderLen:]).SetNack(uint32(n), u.own, u.peer, code, marked)
		r.nic.send(now, r.class, nack)
		u.pull(now)
		return
	}
	size := int64(f.Len() + r.h.cfg.Overhead)
	u.got = (u.got + uint32(size)) & 0xffffff
	u.unacked += size
	answer := marked || h.AckRequest() || !u.anything || u.unacked >= int64(r.h.cfg.UEC.AckBytes)
	u.asked = u.asked || h.AckRequest()
	u.anything = true
	if d := n - r.expected; d > 0 {
		r.outOfOrder++
		r.degreeSum += d
		r.degree = max(r.degree, int32(d))
		r.h.Stats.OutOfOrder++
		r.h.Stats.Degree.Add(d)
		r.early.set(n, r.expected)
		r.held++
	} else {
		r.expected++
		for r.early.has(r.expected, r.expected) {
			r.early.clear(r.expected)
			r.held--
			r.expected++
		}
		if r.held == 0 && u.asked {
			answer, u.asked = true, false
		}
		if r.expected == r.total {
			r.ended, answer = now, true
		}
	}
	if u.wants > u.credit {
		u.pull(now)
	}
	if answer {
		u.ack(now, port, n, marked, h.Retransmitted())
	}
	if r.task != 0 && r.expected == r.total && r.ended == now {
		r.h.work.arrived(now, r.task)
	}
}

// frame returns a frame of so many bytes behind UDP, to be filled in, with the source port of
// the packet that it answers.
func (u *uecReceiver) frame(port uint16, behind int) *packet.Frame {
	r := u.r
	f := r.h.net.Frames().Get()
	f.Data = append(f.Data, r.head.header()...)
	setPort(f.Data, port)
	if behind != packet.UETAckLen {
		setUETLen(f.Data, behind)
	}
	f.Data = append(f.Data, noUET[:behind]...)
	return f
}

var noUET [packet.UETAckLen]byte

// ack acknowledges, for packet n, which is the last one of the bitmap.
func (u *uecReceiver) ack(now vtime.Time, port uint16, n int64, marked, again bool) {
	r := u.r
	u.unacked = 0
	base := max(n-63, r.expected+1)
	f := u.frame(port, packet.UETAckLen)
	packet.UET(f.Data[uetHeaderLen:]).SetAck(uint32(r.expected), u.own, u.peer, marked, again,
		int16(max(n-r.expected, -1<<15)), int16(base-r.expected), r.early.window(base, r.expected), u.got, int(r.held))
	r.nic.send(now, r.class, f)
}

// Receivers grant credit (UEC specification 1.0, receiver credit congestion control): the
// host has a rate of credit a little below that of its link, which the flows that want
// some get in turn.

// wanted24 returns the whole count of a target, from its lowest 24 bits.
func (u *uecReceiver) wanted24(target uint32) int64 {
	return u.credit + int64(int32((target-uint32(u.credit))<<8)>>8)
}

// wanted handles a request for credit.
func (u *uecReceiver) wanted(now vtime.Time, h packet.UET) {
	u.wants = max(u.wants, u.wanted24(h.CreditTarget()))
	u.pull(now)
}

// pull queues the receiver for credit.
func (u *uecReceiver) pull(now vtime.Time) {
	p := &u.r.h.puller
	if !u.r.h.kit.Credit || u.queue == active {
		return
	}
	u.queue = active
	p.active = append(p.active, u)
	if !p.running {
		p.running = true
		u.r.h.net.At(now, p, 0)
	}
}

// puller grants the credit of a host.
type puller struct {
	h            *Host
	active, idle []*uecReceiver
	running      bool
}

// Parameters of the public simulator: credit is granted at 0.99 of the link's rate, for
// four packets at a time. A grant of nothing takes the time of 1 KB.
const (
	pullShare   = 0.99
	pullPackets = 4
	pullNothing = 1024 / packet.UETCreditUnit
)

// Fire implements vtime.Event: it grants credit to the next flow.
func (p *puller) Fire(now vtime.Time, _ uint64) {
	var u *uecReceiver
	grant := int64(pullPackets*p.h.cfg.MTU) / packet.UETCreditUnit
	switch {
	case len(p.active) > 0:
		u = p.active[0]
		p.active = p.active[:copy(p.active, p.active[1:])]
		grant = max(0, min(grant, u.wants-u.credit))
		u.credit += grant
		if u.wants > u.credit {
			p.active = append(p.active, u)
		} else {
			u.queue = idle
			p.idle = append(p.idle, u)
		}
	case len(p.idle) > 0:
		u = p.idle[0]
		p.idle = p.idle[:copy(p.idle, p.idle[1:])]
		if u.queue != idle { // it is active meanwhile
			p.h.net.At(now, p, 0)
			return
		}
		u.credit += grant
		// A flow without demand gets up to a window of credit for what it may want next.
		u.queue = notQueued
		if (u.credit-u.wants)*packet.UETCreditUnit < u.most && u.r.expected < u.r.total {
			u.queue = idle
			p.idle = append(p.idle, u)
		}
	default:
		p.running = false
		return
	}
	f := u.frame(u.port, packet.UETNackLen)
	packet.UET(f.Data[uetHeaderLen:]).SetControl(packet.UETCredit, u.own, u.peer, uint32(u.credit))
	u.r.nic.send(now, u.r.class, f)
	if grant == 0 {
		grant = pullNothing
	}
	rate := vtime.Rate(float64(p.h.rate) * pullShare * float64(1+len(p.h.more)))
	p.h.net.At(now+rate.TxTime(int(grant*packet.UETCreditUnit)), p, 0)
}

// maxCredit is the credit in bytes that a sender starts with and may have: one and a half
// bandwidth-delay products.
func maxCredit(rate vtime.Rate, rtt vtime.Time) int64 { return rate.Bytes(rtt) * 3 / 2 }
