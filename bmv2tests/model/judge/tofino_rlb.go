// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/bmv2tests/model"
)

// tofinoTimes are constants of a program with RLB: the time between two looks
// at an ingress queue, the window in which warnings run out together, and how
// long they hold from its start on.
type tofinoTimes struct{ look, window, hold uint32 }

// tofinoRLB is what RLB remembers in a Tofino. Times run on a clock of 32
// bits.
type tofinoRLB struct {
	queue     []model.TofinoQueue    // by port and class
	departed  []model.TofinoDeparted // by port and class
	warned    []model.TofinoWarnings // by leaf
	warnedAll []model.TofinoWarnings // one
	slow      []uint32               // paths to a leaf; upper bits mean nothing
	echoAge   []uint32               // by leaf
}

func newTofinoRLB(f *Features) tofinoRLB {
	return tofinoRLB{
		queue: make([]model.TofinoQueue, 8*f.Ports), departed: make([]model.TofinoDeparted, 8*f.Ports),
		warned: make([]model.TofinoWarnings, f.Leaves), warnedAll: make([]model.TofinoWarnings, 1),
		slow: make([]uint32, f.Leaves), echoAge: make([]uint32, f.Leaves),
	}
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
	passes int // recirculations so far
	again  bool
}

// tofinoMessage is what a copy becomes a warning by.
type tofinoMessage struct{ class, port int }

// bytes is the copy's header.
func (m *tofinoMessage) bytes() []byte {
	const message, warn = 2, 1
	return binary.BigEndian.AppendUint16([]byte{message, warn, byte(m.class)}, uint16(m.port))
}

// bitOf is the bit of a path, the first at the left.
func (s *tofinoSwitch) bitOf(path model.Path) uint32 {
	return 1 << (s.PathCells - 1 - path&(s.PathCells-1))
}

// ingressRLB is ingress of a program with RLB.
func (s *tofinoSwitch) ingressRLB(p *tofinoPkt) (o Outcome) {
	now, port := uint32(p.now), s.numbered(p.inPort)
	if p.told != nil {
		t := p.told
		o = s.count(p, t.inPort, t.class, t.departed, now)
		s.drawUnasked()
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
		p.hop, p.leaf = toChoice, r.leaf
	case routed && r.host:
		p.hop = toHost
	case routed:
		p.hop = toSwitch
	}
	first := p.passes == 0
	if p.hop == toChoice && s.Base == "drill" {
		s.chooseOnce(p, r, first)
	}
	if first && routed { // what has no way is dropped, and not counted
		o = s.count(p, port, p.class, p.length, now)
	}
	if p.cnm != nil {
		s.drawUnasked()
		group, class := s.hearWarning(p, neighbour, now)
		o.Group, o.Class, o.Drop = group, class, group == 0
		return o
	}
	if h := p.fabric; p.hop == toHost && h != nil && h.echoed {
		s.learnEcho(h, now)
	}
	switch {
	case p.hop == toChoice && s.Base != "drill":
		s.chooseOnce(p, r, first)
	case p.hop != toChoice:
		s.drawUnasked()
	}
	p.outPort = r.first
	if p.hop == toChoice {
		s.route(p, r, now)
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

// drawUnasked are the numbers that LetFlow and DRILL draw for a packet without
// a choice.
func (s *tofinoSwitch) drawUnasked() {
	switch s.Base {
	case "letflow":
		s.rng.below(256)
	case "drill":
		s.rng.below(256)
		s.rng.below(256)
	}
}

// chooseOnce has the base choose for a packet that comes for the first time;
// later its path is known, though numbers are drawn for it.
func (s *tofinoSwitch) chooseOnce(p *tofinoPkt, r route, first bool) {
	switch {
	case first:
		p.path = s.choose(p, r)
	default:
		s.drawUnasked()
	}
}

// count counts bytes in an ingress queue, if that is watched, and warns.
func (s *tofinoSwitch) count(p *tofinoPkt, port, class int, bytes, now uint32) (o Outcome) {
	i, seen := port*8+class, uint32(0)
	if _, ok := s.cfg.Watch[i]; ok {
		seen = s.rlb.queue[i].Count(now, bytes, s.times.look)
	}
	x, ok := s.cfg.Predict[i]
	if ok && model.TofinoWarns(seen, uint32(x.Qth)) {
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
	mark := now&^(s.times.window-1) | s.bitOf(int(h.echo))
	cell := &s.rlb.slow[int(h.srcLeaf)&(s.Leaves-1)]
	if late := int32(uint32(h.echo)+uint32(s.cfg.PassTime)-now) < 0; late {
		*cell |= mark
	} else {
		*cell &^= mark
	}
}

// route is RLB for a packet that has a choice.
func (s *tofinoSwitch) route(p *tofinoPkt, r route, now uint32) {
	mask := s.rlb.warned[r.leaf].Paths(now, s.times.hold) | s.rlb.warnedAll[0].Paths(now, s.times.hold)
	slow := s.rlb.slow[r.leaf]
	d := model.TofinoAlg1(p.path, r.paths, func(q model.Path) bool { return mask&s.bitOf(q) != 0 },
		func(q model.Path) bool { return slow&s.bitOf(q) != 0 }, p.passes < s.cfg.Most)
	p.again = d.Flag == model.Recirculated
	p.outPort = r.first + d.Path
	switch {
	case p.again:
		s.note("recirculation")
		p.passes++
		p.outPort = s.RecircPort
	case d.Flag == model.Rerouted:
		s.note("reroute")
	case d.Warned:
		s.note("warned path taken")
	}
	p.path = d.Path
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
		if h.stamped || h.echoed {
			p.fabric = h
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
	f := &frame{dst: 0x0180c200000e, src: c.MAC, kind: typeLocal, rest: p.frame.rest, elided: p.frame.elided,
		cnm: &cnm{int64(p.warns.class), 1, c.Hops, c.Switch, int64(p.warns.port), c.Scope, c.Hold}}
	o.Data, o.Elided = s.bytes(f), f.elided
	return o
}
