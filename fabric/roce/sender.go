// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// sender is the sending end of a flow. Packets are numbered from 0; frames have
// the low 24 bits of the number plus psn.
//
// A host with many flows has few of them in its cache: what usual packets and
// acknowledgements need is in the first six lines.
type sender struct {
	cc.Flow
	h     *Host
	nic   *nic       // of data
	ctl   cc.Control // nil before the flow starts and after it ends
	una   int64      // first unacknowledged packet
	next  int64      // next packet to send
	high  int64      // one past the last packet ever sent
	total int64

	avail   vtime.Time // earliest time of sending
	since   vtime.Time // start of the wait for an acknowledgement
	timerAt vtime.Time // time of the next event, or Never
	link    *sender    // next in nic.ready
	place   int        // index in nic.waiting, or one of those below
	last    int        // bytes on the link of the packet sent last
	psn     uint32     // of packet 0
	number  uint32     // of its frames
	task    int32      // that it belongs to, from 1; zero: none
	class   uint8
	many    bool // the queue pair has further messages
	drains  bool // sends nothing until all is acknowledged
	waiting bool // for an acknowledgement: packets are in flight

	gap       vtime.Time // between full packets at rate gapRate
	gapRate   vtime.Rate
	sent      int64
	u         *uecSender // transport uec; nil: RoCE
	paths     *paths     // Hermes; nil: no choice
	pbfs      *fastStart
	limitRate vtime.Rate // the most, if limits is set; zero: nothing is sent
	limits    bool       // there is a limit besides congestion control
	slowly    bool       // slow start or slow restart
	stalled   bool       // waited because of PFC at the NIC
	cause     Cause      // of the pending retransmissions
	timedOut  bool       // since a path was last chosen
	coflow    uint16

	head  layout // of a full packet
	full  int    // bytes of a full packet on the link
	track *track // nil: not needed
	sel   repeater

	slow   slowStart
	start  vtime.Time
	size   int64
	ended  vtime.Time // zero: not yet
	qp     uint32     // number among the host's senders; that of the first message in frames
	cnps   int64
	held   vtime.Time // since when it waits because of PFC, while it does
	resent [4]int64   // retransmissions by cause
}

// track is when packets in flight were sent, and on which path.
type track struct {
	times []vtime.Time // by number modulo its length
	vias  []uint16     // in the same way; nil: Hermes is off
	via   int          // path of the packet sent last; -1: none
	moved int64        // all packets from this one on used that path
}

// Positions of a flow outside of nic.waiting.
const (
	nowhere = -1
	inReady = -2
)

func newSender(h *Host, to Address, f *Flow, qp, remote uint32) *sender {
	s := &sender{
		h: h, nic: h.port(f.Data[0]), start: f.Start, size: f.Size, class: f.Class, qp: qp, psn: f.PSN, number: f.Number,
		total: h.cfg.Packets(f.Size),
		place: nowhere, timerAt: vtime.Never, coflow: f.Coflow, paths: h.pathsTo(f, to),
		Flow: cc.Flow{Rate: h.rate, Line: h.rate, BaseRTT: f.BaseRTT, MTU: h.cfg.MTU},
	}
	ip := s.nic.self.IP.As4()
	s.Seed = uint64(binary.BigEndian.Uint32(ip[:]))<<32 | uint64(qp)
	w := h.cfg.Window
	if w == 0 && (h.kit.Window && !h.cfg.NoWindow || h.cfg.Recovery == IRN) {
		w = 1
	}
	if w > 0 {
		s.Window = max(int64(w*float64(min(f.Path, h.rate).Bytes(f.BaseRTT))), int64(h.cfg.MTU))
	}
	if h.cfg.Transport == UET {
		s.u = newUECSender(h, s, to, f, remote)
		return s
	}
	s.head = h.headers(s.nic.self, to, f, f.Class, packet.ECT0, h.kit.Telemetry, h.cfg.MTU)
	packet.BTH(s.head.bytes[s.head.bth():]).Set(packet.OpSendMiddle, remote, 0, false)
	s.full = int(s.head.len) + h.kit.Telemetry.Len() + h.cfg.MTU + icrcLen + h.cfg.Overhead
	s.Packet = s.full
	return s
}

// begin starts the flow.
func (s *sender) begin(now vtime.Time) {
	s.Repace = s.repace
	s.ctl = s.h.kit.New(&s.Flow, s.h.net)
	if s.h.kit.RTT || s.paths != nil {
		s.track = &track{times: make([]vtime.Time, 64), via: -1}
	}
	if s.paths != nil {
		s.track.vias = make([]uint16, 64)
		s.paths.join(now)
	}
	switch {
	case s.u != nil:
		s.u.begin()
	case s.h.cfg.Recovery.keeps():
		s.sel.on = true
	}
	if ss := &s.h.cfg.SlowStart; ss.On {
		s.slowStart(now, ss.Packets)
	}
	if s.h.cfg.Coflows.Scheduler != "" && !s.limits {
		s.limits = true // until the coordinator has scheduled it
	}
	s.avail = now
	s.nic.add(now, s)
}

// hasData reports whether a packet may be sent, apart from pacing.
func (s *sender) hasData() bool {
	if s.u != nil {
		return s.u.hasData()
	}
	if s.limits && s.limitRate == 0 || s.drains && s.next%int64(s.h.cfg.AckEvery) == 0 {
		return false
	}
	if s.sel.recovering && s.sel.lost(s.una) >= 0 {
		return true
	}
	return s.next < s.total && (s.Window == 0 || (s.next-s.una)*int64(s.MTU) < s.window())
}

func (s *sender) window() int64 {
	if s.h.cfg.WindowFollowsRate || s.h.kit.Window && !s.h.cfg.FixedWindow {
		return max(int64(float64(s.Window)*float64(s.Rate)/float64(s.Line)), 1)
	}
	return s.Window
}

// payload returns the payload bytes of packet n.
func (s *sender) payload(n int64) int {
	if n == s.total-1 {
		return int(s.size - n*int64(s.MTU))
	}
	return s.MTU
}

// take returns the number of the packet to send now.
func (s *sender) take() int64 {
	if s.sel.recovering {
		if n := s.sel.lost(s.una); n >= 0 {
			s.sel.repeat++
			return n
		}
	}
	n := s.next
	s.next++
	s.high = max(s.high, s.next)
	return n
}

// nextFrame makes the frame of the next packet.
func (s *sender) nextFrame(now vtime.Time) *packet.Frame {
	if s.u != nil {
		return s.u.nextFrame(now)
	}
	high := s.high
	n := s.take()
	s.sent++
	if n < high {
		s.resent[s.cause]++
	}
	s.last = s.full - s.MTU + s.payload(n)
	f := s.h.net.Frames().Get()
	telemetry := s.h.kit.Telemetry.Len()
	f.Data = s.head.appendTo(f.Data, telemetry)
	if s.paths != nil {
		t := s.track
		if via := s.paths.choose(now, s); via != t.via {
			t.via, t.moved = via, n
		}
		s.paths.setTag(f.Data, t.via, s.tagCoflow())
		s.paths.sending(now, t.via, s.last)
	}
	if s.track != nil {
		s.stamp(n, now)
	}
	payload := s.MTU
	op, request := packet.OpSendMiddle, false
	switch {
	case n == s.total-1:
		payload, op, request = s.payload(n), packet.OpSendLast, true
		if n == 0 {
			op = packet.OpSendOnly
		}
		if payload != s.MTU {
			s.head.resize(f.Data, telemetry+payload)
		}
		if s.task != 0 && n == high {
			s.h.work.leaving(now+s.h.rate.TxTime(s.last), s.task)
		}
	case n == 0:
		op = packet.OpSendFirst
	}
	every := int64(s.h.cfg.AckEvery)
	bth := f.Data[s.head.bth()+telemetry:]
	bth[0] = byte(op)
	psn := (s.psn + uint32(n)) & 0xffffff
	// The receiver may already have all packets after a single retransmission.
	if request || every == 1 || n%every == every-1 || s.sel.on && n < high {
		psn |= 1 << 31
	}
	binary.BigEndian.PutUint32(bth[8:], psn)
	f.Elided = int32(payload + icrcLen)
	f.SetFlow(s.number)
	if s.pbfs != nil {
		s.pbfs.mark(packet.IPv4(f.Data[s.head.ip:]))
	}
	return f
}

// sentAt records that the last packet is on the link from now until end.
func (s *sender) sentAt(now, end vtime.Time) {
	s.avail = now + s.spacing()
	if s.h.kit.Counts {
		s.ctl.Sent(now, s.last)
	}
	if !s.waiting && s.u == nil {
		s.arm(end)
	}
}

// spacing returns the time from the start of the last packet until the flow may
// send another.
func (s *sender) spacing() vtime.Time {
	rate := s.limited(s.Rate)
	if s.last != s.full {
		return rate.TxTime(s.last)
	}
	if s.gapRate != rate {
		s.gap, s.gapRate = rate.TxTime(s.full), rate
	}
	return s.gap
}

// repace moves the next packet after a change of the rate, as if the new rate
// had applied since the last packet was sent.
func (s *sender) repace(old vtime.Rate) { s.respace(s.limited(old), s.limited(s.Rate)) }

func (s *sender) respace(old, rate vtime.Rate) {
	// A stopped flow has waited long enough. One that stops has no next packet.
	if s.last == 0 || old == rate || old == 0 || rate == 0 {
		return
	}
	s.avail += rate.TxTime(s.last) - old.TxTime(s.last)
	if s.place >= 0 {
		n := s.nic
		n.fix(s)
		if s.place == 0 {
			n.wakeAt(max(s.avail, n.free, s.h.net.Now()))
		}
	}
}

// tagCoflow returns the coflow for the tag.
func (s *sender) tagCoflow() uint16 {
	if s.h.cfg.Tag {
		return s.coflow
	}
	return 0
}

// stamp stores the sending time and path of a packet.
func (s *sender) stamp(n int64, now vtime.Time) {
	t := s.track
	if inFlight := s.high - s.una; inFlight > int64(len(t.times)) {
		t.times = spread(t.times, s.una, s.high)
		if t.vias != nil {
			t.vias = spread(t.vias, s.una, s.high)
		}
	}
	t.times[n&int64(len(t.times)-1)] = now
	if t.vias != nil {
		t.vias[n&int64(len(t.vias)-1)] = uint16(t.via)
	}
}

// spread returns a ring of twice the size with the same values from first to
// end.
func spread[T any](ring []T, first, end int64) []T {
	bigger := make([]T, 2*len(ring))
	for i := first; i < end; i++ {
		bigger[i&int64(len(bigger)-1)] = ring[i&int64(len(ring)-1)]
	}
	return bigger
}

// went returns the path of a packet in flight.
func (s *sender) went(n int64) int { return int(s.track.vias[n&int64(len(s.track.vias)-1)]) }

// acked handles an acknowledgement, positive or negative.
func (s *sender) acked(now vtime.Time, bth packet.BTH, aeth packet.AETH) {
	if s.ctl == nil {
		return // late, the flow has ended; or invalid, it has not started
	}
	psn, nak := bth.PSN()-s.psn, aeth.IsNAK()
	// The sequence number is that of the last packet received in order or, in a
	// NAK, of the next one.
	una := s.una + ahead(psn, s.una)
	if !nak {
		una++
	}
	if una < s.una || una > s.high {
		return
	}
	a := &s.h.ack // of the host, to avoid an allocation per acknowledgement
	*a = cc.Ack{Marked: bth.BECN() && s.h.kit.Receiver == cc.Echo && !s.stale()}
	behind := aeth[packet.AETHLen:]
	if s.sel.on && len(behind) >= sackLen {
		behind = behind[sackLen:]
	}
	switch s.h.kit.Telemetry {
	case cc.INT:
		a.INT = packet.AsINT(behind)
	case cc.Digest:
		a.PINT = packet.AsPINT(behind)
	}
	if una > s.una {
		if t := s.track; t != nil {
			a.RTT = now - t.times[(una-1)&int64(len(t.times)-1)]
		}
		if s.paths != nil {
			s.paths.sense(s.went(una-1), a.RTT, bth.BECN())
		}
		if s.sel.on {
			s.sel.advance(s.una, una)
		}
		s.una = una
		s.next = max(s.next, una)
		if s.waiting = s.una < s.high; s.waiting {
			s.arm(now)
		}
	}
	if s.una == s.total {
		s.finish(now)
		return
	}
	// What was lost has to be sent again before anything else can be acknowledged.
	s.drains = s.una < s.high && !nak && (s.drains || s.h.cfg.Drain && bth.Drain())
	// A gap that a change of path may have caused does not indicate a loss.
	if nak && s.paths != nil && s.una < s.high && s.una >= s.track.moved {
		s.paths.repeat(now, s.went(s.una))
	}
	switch {
	case s.sel.on:
		s.selective(now, nak, aeth[packet.AETHLen:])
	case nak:
		s.cause = NAK
		s.rewind(now)
	}
	mtu := int64(s.MTU)
	a.Acked, a.Sent = s.una*mtu, s.next*mtu
	if s.next == s.total {
		a.Sent = s.size
	}
	rate := s.Rate
	s.ctl.Ack(now, a)
	if s.slowly {
		s.slowAcked(now, rate, a.Marked)
	}
	if s.pbfs != nil {
		s.pbfs.updated(rate, a.Marked)
	}
	s.resume(now)
}

// resume queues the flow at the NIC if it can send again.
func (s *sender) resume(now vtime.Time) {
	if s.place == nowhere && s.hasData() {
		s.nic.add(now, s)
		s.nic.kick(now)
	}
}

// notified handles a congestion notification packet.
func (s *sender) notified(now vtime.Time, ip packet.IPv4, cnp packet.CNP) {
	if s.ctl == nil {
		return
	}
	s.cnps++
	if s.stale() {
		return
	}
	rate := s.Rate
	s.ctl.Notify(now, &cc.Notification{
		// Only PCN's reports may lack the mark, and they have a rate.
		CE:       ip.ECN() == packet.CE || s.h.kit.Receiver != cc.Report,
		Rate:     vtime.Rate(cnp.RecRate()) * vtime.Mbps,
		Feedback: int(cnp.Feedback()),
	})
	if s.slowly {
		s.slowAcked(now, rate, false)
	}
	if s.pbfs != nil {
		s.pbfs.updated(rate, false)
	}
}

func (s *sender) finish(now vtime.Time) {
	s.ended = now
	s.ctl.Stop()
	s.ctl, s.track, s.sel = nil, nil, repeater{}
	if s.paths != nil {
		s.paths.part()
	}
	if s.u != nil {
		s.u.end()
	}
	s.h.Stats.Finished++
	if s.task != 0 {
		s.h.work.end(now, int(s.task))
	}
}

// arm starts the wait for an acknowledgement: when some packets were
// acknowledged and more are in flight, or when the first packet is sent.
func (s *sender) arm(from vtime.Time) {
	s.waiting, s.since = true, from
	s.watch()
}

// watch schedules an event for the end of the wait. Packets in flight may
// change its length.
func (s *sender) watch() {
	if rto := s.timeout(); rto > 0 && s.since+rto < s.timerAt {
		s.timerAt = s.since + rto
		s.h.net.At(s.timerAt, s, uint64(s.timerAt))
	}
}

// Fire implements vtime.Event: the wait may have ended. arg is the scheduled
// time.
func (s *sender) Fire(now vtime.Time, arg uint64) {
	if vtime.Time(arg) != s.timerAt {
		return // an earlier event has replaced it
	}
	s.timerAt = vtime.Never
	if s.ctl == nil || !s.waiting {
		return
	}
	if rto := s.timeout(); rto == 0 || now < s.since+rto {
		s.watch()
		return
	}
	s.h.Stats.Timeouts++
	s.cause = Timeout
	s.drains = false
	if s.paths != nil {
		s.timedOut = true
		s.paths.timeout(now, s.went(s.una))
	}
	switch {
	case !s.sel.on:
		s.rewind(now)
	case s.h.cfg.Recovery == IRN:
		s.sel.again(s.una, s.high, max(s.sel.highest, s.una+1))
	default:
		s.sel.again(s.una, s.high, s.high)
		if s.h.cfg.Recovery == TCP {
			s.slowStart(now, 1)
		}
	}
	s.arm(now)
	s.resume(now)
}

// Outgoing is a flow at its sender.
type Outgoing sender

// Start returns the time at which the flow starts or has started; vtime.Never if
// its task has not begun it.
func (o *Outgoing) Start() vtime.Time { return o.start }

// Ended returns the time of the last acknowledgement, or zero.
func (o *Outgoing) Ended() vtime.Time { return o.ended }

// Packets returns the number of packets of the flow, and the number sent,
// including retransmissions.
func (o *Outgoing) Packets() (total, sent int64) { return o.total, o.sent }

// Resent returns the number of retransmissions.
func (o *Outgoing) Resent() int64 { return o.sent - o.high }

// A Cause is a reason for retransmissions.
type Cause uint8

// Causes.
const (
	NAK       Cause = iota // a negative acknowledgement: all from a packet on
	Timeout                // no acknowledgement was received
	Selective              // a packet is missing below others that were received
	Trimmed                // a switch has trimmed the packet
)

// ResentBy returns the number of retransmissions with a cause.
func (o *Outgoing) ResentBy(c Cause) int64 { return o.resent[c] }

// Acked returns the number of acknowledged payload bytes.
func (o *Outgoing) Acked() int64 { return min(o.una*int64(o.MTU), o.size) }

// Rate returns the rate that congestion control has set.
func (o *Outgoing) Rate() vtime.Rate { return o.Flow.Rate }

// Stalled reports whether PFC paused a packet of the flow at the NIC.
func (o *Outgoing) Stalled() bool { return o.stalled }

// CNPs returns the number of received congestion notification packets.
func (o *Outgoing) CNPs() int64 { return o.cnps }
