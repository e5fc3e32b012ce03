// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"math/bits"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// uecSender is the sending end of a flow of transport uec. The sender has the numbers of
// its packets: una is the first one that is not acknowledged cumulatively.
type uecSender struct {
	s     *sender
	paths *entropies
	port  uint16 // UDP source port of entropy zero
	peer  uint16 // number of the receiver's end
	lost  int    // packets that must be sent again
	first int64  // none below this one
	after uint32 // that the receiver got so far, modulo 2^24, in bytes on the link

	inFlight int64 // bytes on the link
	asked    int64 // the packet that asked last for an answer

	// By number modulo their length: when packets were sent, and what became of them.
	times []vtime.Time
	state []uint8
	// order has the numbers of packets in the order in which they were sent. One that was
	// sent again is there twice.
	order     []uint32
	orderHead int
	timer     bool // an event is scheduled

	credit      int64  // bytes that the receiver has granted
	granted24   uint32 // its last count of that
	speculative bool   // nothing has been heard of the receiver
	begged      vtime.Time
}

// What became of a packet: it has arrived, must be sent again, was sent again once, and
// more than once.
const (
	pktArrived = 1 << iota
	pktLost
	pktAgain
	pktOften
)

func newUECSender(h *Host, s *sender, to Address, f *Flow, remote uint32) *uecSender {
	u := &uecSender{
		s: s, paths: newEntropies(h.cfg.UEC.Spraying, h.cfg.UEC.Paths, s.Seed),
		port: f.Port, peer: uint16(remote),
	}
	behind := packet.UETRequestLen + packet.UETSemanticLen
	s.head = h.uetHeaders(s.nic.self, to, f.Port, f.Class, packet.ECT0, behind+h.cfg.MTU)
	s.full = uetHeaderLen + behind + h.cfg.MTU + h.cfg.Overhead
	s.Packet = s.full
	return u
}

// The entropies of a flow are source ports that differ by multiples of portStep: with
// ports that differ in a few bits only, a hash that is linear in its input, as CRC is,
// would lead to few of the paths. portBack is its inverse modulo 2^16.
const (
	portStep = 40503
	portBack = 30599
)

// begin prepares the state of packets.
func (u *uecSender) begin() {
	n := min(64, u.s.h.cfg.UEC.Bitmap)
	u.times, u.state = make([]vtime.Time, n), make([]uint8, n)
	u.order = make([]uint32, 0, n)
	if u.s.h.kit.Credit {
		u.credit = u.maxCredit()
		u.speculative = true
	}
}

// end frees it.
func (u *uecSender) end() { u.times, u.state, u.order, u.orderHead, u.paths = nil, nil, nil, 0, nil }

func (u *uecSender) maxCredit() int64 { return maxCredit(u.s.Line, u.s.BaseRTT) }

// size returns the bytes on the link of packet n.
func (u *uecSender) size(n int64) int64 {
	return int64(u.s.full - u.s.MTU + u.s.payload(n))
}

func (u *uecSender) cell(n int64) *uint8 { return &u.state[n&int64(len(u.state)-1)] }

// hasData reports whether a packet may be sent, apart from pacing.
func (u *uecSender) hasData() bool {
	s := u.s
	var n int64
	switch {
	case u.lost > 0:
		n = u.nextLost()
	case s.next < s.total && s.next-s.una < int64(s.h.cfg.UEC.Bitmap):
		n = s.next
	default:
		return false
	}
	if s.h.kit.Credit && u.credit <= 0 {
		return false
	}
	return s.Window == 0 || u.inFlight <= 0 || u.inFlight+u.size(n) <= s.Window || u.unanswered()
}

// unanswered reports whether the receiver may have no reason to answer what is in flight:
// it is too little, and none of it asks for an answer, since the window has shrunk after
// it was sent. One more packet is sent then, which asks; the specification has probes.
func (u *uecSender) unanswered() bool {
	return u.inFlight < int64(u.s.h.cfg.UEC.AckBytes) && (u.asked < u.s.una || *u.cell(u.asked)&pktArrived != 0)
}

// nextLost returns the first packet that must be sent again. There is one.
func (u *uecSender) nextLost() int64 {
	for u.first = max(u.first, u.s.una); *u.cell(u.first)&pktLost == 0; {
		u.first++
	}
	return u.first
}

// backlog is the number of bytes on the link that new packets will take.
func (u *uecSender) backlog() int64 {
	s := u.s
	left := s.total - s.next
	if left == 0 {
		return 0
	}
	return s.size - s.next*int64(s.MTU) + left*int64(s.full-s.MTU)
}

// target is the credit that the sender asks for, in the receiver's count.
func (u *uecSender) target() uint32 {
	s := u.s
	if !s.h.kit.Credit {
		return 0
	}
	backlog := u.backlog()
	want := backlog + int64(u.lost*s.full)
	if s.Window > 0 {
		want = min(want, s.Window+int64(s.full))
	}
	want = min(want, u.maxCredit()) - u.credit
	if u.speculative && backlog > 0 {
		want = max(want, int64(s.full))
	}
	if n := s.nic.active; n > 1 {
		want /= int64(n)
	}
	if want <= 0 {
		return u.granted24
	}
	return (u.granted24 + uint32((want+packet.UETCreditUnit-1)/packet.UETCreditUnit)) & 0xffffff
}

// nextFrame makes the frame of the next packet.
func (u *uecSender) nextFrame(now vtime.Time) *packet.Frame {
	s := u.s
	s.sent++
	var n int64
	again := u.lost > 0
	if again {
		n = u.nextLost()
		u.lost--
		c := u.cell(n)
		if *c&pktAgain != 0 {
			*c |= pktOften
		}
		*c = *c&^pktLost | pktAgain
		s.resent[s.cause]++
	} else {
		n = s.next
		s.next++
		s.high = s.next
		if s.high-s.una > int64(len(u.times)) {
			u.times, u.state = spread(u.times, s.una, n), spread(u.state, s.una, n)
		}
		*u.cell(n) = 0
	}
	size := u.size(n)
	s.last = int(size)
	u.times[n&int64(len(u.times)-1)] = now
	u.remember(n)
	u.inFlight += size
	if s.h.kit.Credit {
		u.credit -= size
	}
	f := s.h.net.Frames().Get()
	f.Data = append(f.Data, s.head.header()...)
	setPort(f.Data, u.port+u.paths.next()*portStep)
	// The receiver answers at once if the sender has nothing more to send until then.
	ask := again || s.next == s.total || s.h.kit.Credit && u.credit <= 0 ||
		s.Window > 0 && u.inFlight+size >= s.Window || s.next-s.una >= int64(s.h.cfg.UEC.Bitmap)
	if ask {
		u.asked = n
	}
	var h [packet.UETRequestLen]byte
	packet.UET(h[:]).SetRequest(uint32(n), uint16(FirstQP+s.index()), u.peer, again, ask, u.target())
	f.Data = append(f.Data, h[:]...)
	payload := s.payload(n)
	if payload != s.MTU {
		setUETLen(f.Data, packet.UETRequestLen+packet.UETSemanticLen+payload)
	}
	if n == s.total-1 && !again && s.task != 0 {
		s.h.work.leaving(now+s.h.rate.TxTime(s.last), s.task)
	}
	f.Elided = int32(packet.UETSemanticLen + payload)
	f.SetFlow(s.number)
	if !u.timer {
		u.watch(now + s.h.cfg.UEC.RTO)
	}
	return f
}

// index is that of the sender among those of its host.
func (s *sender) index() uint32 { return s.qp - FirstQP }

// remember appends a packet to those in the order of sending.
func (u *uecSender) remember(n int64) {
	if u.orderHead > 64 && u.orderHead > len(u.order)/2 {
		u.order, u.orderHead = u.order[:copy(u.order, u.order[u.orderHead:])], 0
	}
	u.order = append(u.order, uint32(n))
}

func (u *uecSender) watch(at vtime.Time) {
	u.timer = true
	u.s.h.net.At(at, u, 0)
}

// Fire implements vtime.Event: the packet sent first may have got no answer for too long.
func (u *uecSender) Fire(now vtime.Time, _ uint64) {
	s := u.s
	u.timer = false
	if s.ctl == nil {
		return
	}
	for u.orderHead < len(u.order) {
		n := s.una + int64(int32(u.order[u.orderHead]-uint32(s.una)))
		if n < s.una || *u.cell(n)&(pktArrived|pktLost) != 0 {
			u.orderHead++
			continue
		}
		due := u.times[n&int64(len(u.times)-1)] + s.h.cfg.UEC.RTO
		if due > now {
			u.watch(due)
			return
		}
		u.orderHead++
		s.h.Stats.Timeouts++
		s.cause = Timeout
		u.lose(now, n, &cc.Loss{})
		u.paths.heard(now, 0, pathTimedOut)
		if s.h.kit.Credit && u.credit <= 0 {
			u.beg(now)
		}
	}
	s.resume(now)
}

// lose handles the loss of packet n, which is in flight.
func (u *uecSender) lose(now vtime.Time, n int64, l *cc.Loss) {
	*u.cell(n) |= pktLost
	u.first = min(u.first, n)
	u.lost++
	l.Bytes = u.size(n)
	l.InFlight = u.inFlight
	if c, ok := u.s.ctl.(cc.Loser); ok {
		c.Lost(now, l)
	}
	u.inFlight -= l.Bytes
}

// beg asks the receiver for credit, at most once in a round trip.
func (u *uecSender) beg(now vtime.Time) {
	s := u.s
	if u.begged > 0 && now-u.begged < s.BaseRTT {
		return
	}
	u.begged = now
	f := s.h.net.Frames().Get()
	f.Data = append(f.Data, s.head.header()...)
	ip := packet.IPv4(f.Data[offIP:])
	ip.SetDSCP(DSCP(s.h.cfg.controlClass()))
	ip.SetECN(packet.NotECT)
	setUETLen(f.Data, packet.UETNackLen)
	setPort(f.Data, u.port+u.paths.next()*portStep)
	var h [packet.UETNackLen]byte
	packet.UET(h[:]).SetControl(packet.UETCreditWanted, uint16(FirstQP+s.index()), u.peer, u.target())
	f.Data = append(f.Data, h[:]...)
	s.nic.send(now, s.h.cfg.controlClass(), f)
}

// acked handles an acknowledgement.
func (u *uecSender) acked(now vtime.Time, h packet.UET, port uint16) {
	s := u.s
	if s.ctl == nil {
		return // late, the flow has ended; or invalid, it has not started
	}
	expected := s.una + int64(int32(h.PSN()-uint32(s.una)))
	if expected > s.high || expected < 0 {
		return
	}
	a := &s.h.ack
	*a = cc.Ack{Marked: h.Marked()}
	if d := (h.Received() - u.after) & 0xffffff; d < 1<<23 {
		a.New, u.after = int64(d), h.Received()
	}
	u.inFlight -= a.New
	// The time of a packet that was sent again is known if the acknowledgement says which
	// one it is for.
	if n := expected + int64(h.Acked()); n >= s.una && n < s.high {
		if c := *u.cell(n); c&(pktArrived|pktLost|pktOften) == 0 && (c&pktAgain != 0) == h.Retransmitted() {
			a.RTT = now - u.times[n&int64(len(u.times)-1)]
		}
	}
	for s.una < expected {
		u.arrived(s.una)
		s.una++
	}
	base := expected + int64(h.SACKBase())
	for w := h.SACK(); w != 0; w &= w - 1 {
		if n := base + int64(bits.TrailingZeros64(w)); n >= s.una && n < s.high {
			u.arrived(n)
		}
	}
	what := pathGood
	if a.Marked {
		what = pathMarked
	}
	u.paths.heard(now, (port-u.port)*portBack, what)
	if s.una == s.total {
		s.finish(now)
		return
	}
	mtu := int64(s.MTU)
	a.Acked, a.Sent, a.InFlight = s.una*mtu, min(s.next*mtu, s.size), u.inFlight
	s.ctl.Ack(now, a)
	s.resume(now)
}

// arrived notes that packet n has arrived.
func (u *uecSender) arrived(n int64) {
	c := u.cell(n)
	if *c&pktLost != 0 {
		// It was not lost: it is among the bytes received, and was taken off already.
		u.lost--
		u.inFlight += u.size(n)
	}
	*c = *c&^pktLost | pktArrived
}

// nacked handles a negative acknowledgement: a packet was trimmed.
func (u *uecSender) nacked(now vtime.Time, h packet.UET, port uint16) {
	s := u.s
	if s.ctl == nil {
		return
	}
	n := s.una + int64(int32(h.PSN()-uint32(s.una)))
	if n < s.una || n >= s.high || *u.cell(n)&(pktArrived|pktLost) != 0 {
		return
	}
	u.heardOf()
	last := h.Code() == packet.UETTrimmedLastHop
	s.cause = Trimmed
	u.lose(now, n, &cc.Loss{Trimmed: true, LastHop: last, RTT: now - u.times[n&int64(len(u.times)-1)]})
	what := pathTrimmed
	if last { // no path avoids the receiver's own link
		if what = pathGood; h.Marked() {
			what = pathMarked
		}
	}
	u.paths.heard(now, (port-u.port)*portBack, what)
	s.resume(now)
}

// heardOf ends the use of credit that nobody has granted.
func (u *uecSender) heardOf() {
	if u.speculative {
		u.speculative = false
		u.credit = min(u.credit, 0)
	}
}

// granted handles credit.
func (u *uecSender) granted(now vtime.Time, h packet.UET) {
	s := u.s
	if s.ctl == nil {
		return
	}
	u.heardOf()
	if d := (h.CreditTarget() - u.granted24) & 0xffffff; d < 1<<23 {
		u.granted24 = h.CreditTarget()
		u.credit = min(u.credit+int64(d)*packet.UETCreditUnit, u.maxCredit())
	}
	s.resume(now)
}
