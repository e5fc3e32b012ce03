// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/bmv2tests/model"
)

// tofinoTimes are constants of a program with RLB: the time between two looks
// at an ingress queue, the window in which warnings run out together, and how
// long they hold from its start on. With section IV also what Eq. 6 takes a
// recirculation to cost, and the power of two of bytes that a packet has.
type tofinoTimes struct {
	look, window, hold uint32
	pass               uint32
	mtu                uint
}

// tofinoRLB is what RLB remembers in a Tofino. Times run on a clock of 32
// bits.
type tofinoRLB struct {
	queue     []model.TofinoQueue    // by port and class
	departed  []model.TofinoDeparted // by port and class
	warned    []model.TofinoHeard    // by leaf
	warnedAll []model.TofinoHeard    // one
	echoAge   []uint32               // by leaf

	faulty  []uint32              // one: paths
	back    []model.TofinoWindow  // one
	suspect []model.TofinoSuspect // one
}

func newTofinoRLB(f *Features) tofinoRLB {
	return tofinoRLB{
		queue: make([]model.TofinoQueue, 8*f.Ports), departed: make([]model.TofinoDeparted, 8*f.Ports),
		warned: make([]model.TofinoHeard, f.Leaves), warnedAll: make([]model.TofinoHeard, 1),
		echoAge: make([]uint32, f.Leaves),
		faulty:  make([]uint32, 1), back: make([]model.TofinoWindow, 1), suspect: make([]model.TofinoSuspect, 1),
	}
}

// classBits are the bits of slow paths: above those of warned ones, with
// section IV a part for each class, the longest at the left.
func (s *tofinoSwitch) classBits(classes model.TofinoSlow) (bits uint32) {
	for i, paths := range classes {
		bits |= paths << ((i + 1) * s.PathCells)
	}
	return bits
}

// slowOf are the slow paths in what is heard.
func (s *tofinoSwitch) slowOf(heard uint32) (slow model.TofinoSlow) {
	for i := range slow {
		if i == 0 || s.Adaptive {
			slow[i] = heard >> ((i + 1) * s.PathCells) & (1<<s.PathCells - 1)
		}
	}
	return slow
}

// tofinoHop is where a packet goes next.
type tofinoHop int

const (
	elsewhere tofinoHop = iota
	toHost
	toChoice
	toSwitch
)

// tofinoRoute is what RLB keeps with a packet.
type tofinoRoute struct {
	length uint32 // as counted
	hop    tofinoHop
	leaf   int64 // it goes to, or comes from if it goes to a host
	path   model.Path
	passes int    // recirculations so far
	since  uint32 // when it came for the first time
	by     int    // port that it came by then
	queued uint32 // its ingress queue
	again  bool
}

// tofinoMessage is what a copy becomes a warning by.
type tofinoMessage struct{ class, port int }

// bytes is the copy's header.
func (m *tofinoMessage) bytes() []byte {
	const message, warn = 2, 1
	return binary.BigEndian.AppendUint16([]byte{message, warn, byte(m.class)}, uint16(m.port))
}

// bitOf is the bit of a path, the first at the left; none for a path that the
// program does not have.
func (s *tofinoSwitch) bitOf(path model.Path) uint32 {
	if path&(s.PathCells-1) >= s.Paths {
		return 0
	}
	return 1 << (s.PathCells - 1 - path&(s.PathCells-1))
}

// ingressRLB is ingress of a program with RLB.
func (s *tofinoSwitch) ingressRLB(p *tofinoPkt) (o Outcome) {
	now, port := uint32(p.now), s.numbered(p.inPort)
	if p.told != nil {
		t := p.told
		s.drawTwo()
		o = s.count(p, t.inPort, t.class, t.departed, now)
		s.drawOne()
		o.Drop = true
		return o
	}
	// Only switches may send what only switches understand.
	neighbour, known := s.cfg.Neighbours[port]
	stranger := !known && (p.cnm != nil || p.fabric != nil)
	from := int64(0)
	if p.fabric != nil {
		from = p.fabric.srcLeaf
	}
	if stranger {
		p.cnm, p.fabric = nil, nil // and dropped, but its bytes are counted
		s.note("stranger")
	}
	dst := int64(0)
	p.length, p.hop, p.leaf = 0, elsewhere, from
	switch {
	case p.ip != nil:
		dst, p.class, p.length = p.ip.dst(), p.ip.dscp()>>3, uint32(be.Uint16(p.ip.b[2:]))
	case p.arp != nil:
		dst, p.length = int64(be.Uint32(p.arp[24:])), 60
	}
	r, routed := s.cfg.lookup(dst)
	switch {
	case routed && r.paths > 1:
		p.hop, p.leaf, p.last = toChoice, r.leaf, r.paths-1
	case routed && r.host:
		p.hop, p.tag = toHost, nil
	case routed:
		p.hop = toSwitch
	}
	first := p.passes == 0
	if p.hop == toChoice && first && s.Base == "drill" {
		p.path = s.choose(p, r)
	} else {
		s.drawTwo()
	}
	if first {
		p.since, p.by = now, port
	}
	switch {
	case first && routed: // what has no way is dropped, and not counted
		o = s.count(p, p.by, p.class, p.length, now)
	case s.Adaptive:
		o = s.count(p, p.by, p.class, 0, now)
	}
	if p.cnm != nil {
		s.drawOne()
		group, class := s.hearWarning(p, neighbour, now)
		o.Group, o.Class, o.Drop = group, class, group == 0
		return o
	}
	if h := p.fabric; p.hop == toHost && h != nil {
		if h.echoed {
			s.learnEcho(h, now)
		}
		if s.CONGA {
			s.learnFeedback(h, now)
		}
	}
	switch {
	case p.hop == toChoice && first && s.Base != "drill":
		p.path = s.choose(p, r)
	case p.hop == toChoice && s.CONGA: // looks again, though it has its path
		s.leastCongested(r, model.Share(uint8(s.rng.below(256)), r.paths), now)
	default:
		s.drawOne()
	}
	p.outPort = r.first
	if p.hop == toChoice {
		s.route(p, r, now, &o)
	}
	if !routed || stranger || !s.cfg.Forward[p.outPort] {
		o.Drop = true
		return o
	}
	o.Port, o.Class = p.outPort, p.class
	if p.again {
		o.Port = recirculation
	}
	return o
}

// drawTwo and drawOne are the numbers that DRILL and LetFlow draw for a packet
// that has no choice, or not again: the former before the ingress queue is
// looked at, the latter behind.
func (s *tofinoSwitch) drawTwo() {
	if s.Base == "drill" {
		s.rng.below(256)
		s.rng.below(256)
	}
}

func (s *tofinoSwitch) drawOne() {
	if s.Base == "letflow" || s.Base == "conga" {
		s.rng.below(256)
	}
}

// count counts bytes in an ingress queue, and warns if that is watched. With
// section IV all are counted, and one in eight packets that find the queue
// beyond the threshold warns.
func (s *tofinoSwitch) count(p *tofinoPkt, port, class int, bytes, now uint32) (o Outcome) {
	i := port*8 + class
	_, watched := s.cfg.Watch[i]
	switch {
	case s.Adaptive:
		p.queued = s.rlb.queue[i].Arrive(now, bytes)
		watched = s.rng.below(8) == 0 && watched
	case watched:
		p.queued = s.rlb.queue[i].Count(now, bytes, s.times.look)
	}
	x, ok := s.cfg.Predict[i]
	// A warning that is heard is no packet to warn by.
	if ok && watched && p.cnm == nil && model.TofinoWarns(p.queued, uint32(x.Qth)) {
		s.note("warning")
		o.Cloned, o.Session = true, port
		p.warns = &tofinoMessage{class, port} // of the copy: the judge takes it off
	}
	return o
}

// hearWarning takes in a message of a neighbour, and passes it on to a group.
func (s *tofinoSwitch) hearWarning(p *tofinoPkt, n Neighbour, now uint32) (group, class int) {
	c := p.cnm
	if c.active == 1 {
		switch {
		case c.scope == model.ScopeAll:
			s.rlb.warnedAll[0].Warn(now, s.times.window, s.bitOf(n.Path))
		case c.scope < int64(s.Leaves):
			s.rlb.warned[c.scope].Warn(now, s.times.window, s.bitOf(n.Path))
		}
	}
	if n.Group == 0 || c.hops == 0 {
		return 0, 0
	}
	s.note("warning passed on")
	c.hops--
	p.leaf = c.scope
	return n.Group, 7
}

// learnEcho is what a leaf takes from the echo of its stamp: whether the path
// in its lowest bits is slow.
func (s *tofinoSwitch) learnEcho(h *fabric, now uint32) {
	s.note("round-trip time")
	heard := &s.rlb.warned[int(h.srcLeaf)&(s.Leaves-1)]
	bit := s.bitOf(int(h.echo))
	late := [model.SlowClasses]bool{}
	for i, t := range s.cfg.Slow {
		late[i] = int32(uint32(h.echo)+uint32(t)-now) < 0
	}
	classes, lengthens := model.TofinoSlow{bit}, late[0]
	if s.Adaptive {
		classes, lengthens = model.TofinoTrip(now, bit, late)
	}
	switch {
	case !lengthens:
		heard.Short(s.classBits(classes))
	case late[0]:
		heard.Long(now, s.times.hold, s.classBits(classes))
	}
}

// route is RLB for a packet that has a choice.
func (s *tofinoSwitch) route(p *tofinoPkt, r route, now uint32, o *Outcome) {
	m := &s.rlb
	heard := m.warned[r.leaf].Look(now, s.times.hold)
	blocked, slow := (heard|m.warnedAll[0].Look(now, s.times.hold))&(1<<s.PathCells-1), s.slowOf(heard)
	slower := func(q model.Path) bool {
		_, slower := slow.Worth(s.bitOf(p.path), s.bitOf(q), 0)
		return slower
	}
	mayPass := func(model.Path) bool { return p.passes < s.cfg.Most }
	if s.Adaptive {
		blocked |= s.findFault(p, r, now, o)
		budget := model.TofinoEq5(uint32(s.cfg.XOFF), p.queued, uint32(s.cfg.Inflow), s.times.mtu)
		full := m.back[0].Full(now, budget, p.passes > 0)
		mayPass = func(q model.Path) bool {
			worth, _ := slow.Worth(s.bitOf(p.path), s.bitOf(q), s.times.pass)
			switch {
			case full:
				s.note("denied by Eq. 5")
			case worth < int64(now-p.since):
				s.note("denied by Eq. 6")
			case p.passes >= s.cfg.Most:
				s.note("denied by the limit")
			default:
				return true
			}
			return false
		}
	}
	d := model.TofinoAlg1(p.path, r.paths, func(q model.Path) bool { return blocked&s.bitOf(q) != 0 }, slower, mayPass)
	p.again = d.Flag == model.Recirculated
	p.outPort = r.first + d.Path
	switch {
	case p.again:
		s.note("recirculation")
		s.counted["recirculations"]++
		p.passes++
		p.outPort = s.RecircPort
	case d.Flag == model.Rerouted:
		s.note("reroute")
		s.counted["reroutes"]++
	case d.Warned:
		s.note("warned path taken")
	}
	p.path = d.Path
}

// findFault is algorithm 2 for a packet; it returns the paths that are out of
// use.
func (s *tofinoSwitch) findFault(p *tofinoPkt, r route, now uint32, o *Outcome) uint32 {
	m := &s.rlb
	if int64(p.passes) > s.cfg.NRC {
		s.note("evidence")
		if port := r.first + p.path; m.suspect[0].Evidence(now, uint32(port)) {
			s.note("fault")
			m.faulty[0] |= s.bitOf(p.path)
			o.Digest = append(o.Digest, []int64{int64(port), r.leaf, int64(p.passes), 1})
		}
	}
	return m.faulty[0]
}

// drawChance is drawn for each packet in egress, which is stamped if it is
// zero.
func (s *tofinoSwitch) drawChance() int { return int(s.rng.below(8)) }

// drawForCopies is the same number, drawn for nothing: for what is no packet
// but a copy, or recirculates. With PB-FS there is a condition before.
func (s *tofinoSwitch) drawForCopies() {
	if s.RLB && !s.PBFS {
		s.drawChance()
	}
}

// leave is egress of a packet: it takes leave of its ingress queue, and the
// header between leaves is taken off, or put on. What is told of departures
// is returned.
func (s *tofinoSwitch) leave(p *tofinoPkt, now uint32) (departed uint32) {
	m := &s.rlb
	departed = m.departed[s.numbered(p.inPort)*8+p.class].Depart(now, p.length)
	chance := s.drawChance()
	switch h := p.fabric; {
	case p.hop == toHost && h != nil:
		if h.stamped {
			m.echoAge[int(h.srcLeaf)&(s.Leaves-1)] = now - uint32(h.stamp)
		}
		if s.CONGA {
			s.noteCongestion(h)
		}
		p.fabric = nil
	case p.hop == toChoice && h == nil:
		age := m.echoAge[p.leaf]
		m.echoAge[p.leaf] = 0
		if s.cfg.Leaf < 0 {
			break
		}
		// What is no stamp, or no echo, is not said to be one.
		h := &fabric{srcLeaf: s.cfg.Leaf, path: int64(p.path), stamp: int64(now | uint32(p.path)), echo: int64(now - age)}
		if chance == 0 {
			s.note("stamp")
			h.stamped = true
		}
		h.echoed = age != 0
		if h.stamped || h.echoed || s.EveryPacket {
			p.fabric = h
		}
		if s.CONGA {
			s.feedBack(p)
		}
	}
	return departed
}

// writeWarning makes a copy into a warning. What it was a copy of follows.
func (s *tofinoSwitch) writeWarning(p *tofinoPkt) (o Departure) {
	c, ok := s.cfg.CNMOut[p.warns.port]
	if !ok {
		o.Drop = true
		return o
	}
	s.counted["warnings_sent"]++
	f := &frame{dst: 0x0180c200000e, src: c.MAC, kind: typeLocal, rest: p.frame.rest, elided: p.frame.elided,
		cnm: &cnm{int64(p.warns.class), 1, c.Hops, c.Switch, int64(p.warns.port), c.Scope, c.Hold}}
	o.Data, o.Elided = s.bytes(f), f.elided
	return o
}
