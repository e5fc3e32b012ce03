// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/bmv2tests/model"
)

// tofinoRLB is what RLB remembers in a Tofino. Times run on a clock of 32
// bits.
type tofinoRLB struct {
	// By port and class.
	queue                   []model.TofinoQueue
	departed                []model.TofinoDeparted
	sampledAt, sampledQueue []uint32
	warningOn               []uint32
	// By port.
	sent, reroutes, recirculations, ignored []uint32
	// By leaf and path, or by path for all leaves; masks by leaf.
	until, untilAll   []uint32
	warned, warnedAll []uint32
	rtt               []model.TofinoTime
	stampedAt         []uint32
	echoPath, echoAge []uint32
	trc               []model.TofinoTime // one
}

func newTofinoRLB(f *Features) tofinoRLB {
	queues, paths := 8*f.Ports, f.Leaves*f.PathCells
	list := func(n int) []uint32 { return make([]uint32, n) }
	return tofinoRLB{
		queue: make([]model.TofinoQueue, queues), departed: make([]model.TofinoDeparted, queues),
		sampledAt: list(queues), sampledQueue: list(queues), warningOn: list(queues),
		sent: list(f.Ports), reroutes: list(f.Ports), recirculations: list(f.Ports), ignored: list(f.Ports),
		until: list(paths), untilAll: list(f.PathCells), warned: list(f.Leaves), warnedAll: list(1),
		rtt: make([]model.TofinoTime, paths), stampedAt: list(paths), echoPath: list(f.Leaves), echoAge: list(f.Leaves),
		trc: make([]model.TofinoTime, 1),
	}
}

// tofinoRoute is what RLB keeps with a packet.
type tofinoRoute struct {
	length  uint32 // as counted
	deliver bool
	choice  bool
	leaf    int64
	path    model.Path
	again   *tofinoAgain
}

// tofinoAgain is what a packet takes along on its way through the pipeline
// again.
type tofinoAgain struct {
	path   model.Path
	passes int
	sentAt uint32
}

// tofinoMessage is what a copy becomes a message by.
type tofinoMessage struct {
	warn  bool
	class int
	port  int
}

// bytes is the copy's header.
func (m *tofinoMessage) bytes() []byte {
	const message, warn, calm = 2, 1, 2
	kind := byte(calm)
	if m.warn {
		kind = warn
	}
	return binary.BigEndian.AppendUint16([]byte{message, kind, byte(m.class)}, uint16(m.port))
}

// ingressRLB is ingress of a program with RLB.
func (s *tofinoSwitch) ingressRLB(p *tofinoPkt) (o Outcome) {
	now := uint32(p.now)
	ask := func() uint8 { return uint8(s.rng.below(256)) } // which path's warning is looked at
	if p.told != nil {
		ask()
		return s.hearDeparted(p)
	}
	port := s.numbered(p.inPort)
	neighbour, known := s.cfg.Neighbours[port]
	stranger := !known && (p.cnm != nil || p.fabric != nil)
	if stranger {
		p.cnm, p.fabric = nil, nil // and dropped, but its bytes are counted
		s.note("stranger")
	}
	dst := int64(0)
	p.length = 60
	switch {
	case p.ip != nil:
		dst, p.class, p.length = p.ip.dst(), p.ip.dscp()>>3, uint32(be.Uint16(p.ip.b[2:])+14)
	case p.arp != nil:
		dst = int64(be.Uint32(p.arp[24:]))
	}
	if p.cnm != nil {
		ask()
		return s.hearWarning(p, neighbour)
	}
	r, routed := s.cfg.lookup(dst)
	p.choice, p.leaf, p.deliver, p.way = routed && r.paths > 1, r.leaf, r.host, -1
	if p.choice && s.Base == "drill" {
		p.path = s.choose(p, r) // for each pass, though only the first choice counts
	}
	if routed && p.again == nil {
		o = s.count(p, port, now)
	}
	part := ask()
	if !routed {
		o.Drop = true
		return o
	}
	p.outPort = r.first
	if p.choice {
		s.route(p, r, model.Share(part, r.paths), now)
	} else if h := p.fabric; p.deliver && h != nil && h.echoed {
		s.note("round-trip time")
		s.rlb.rtt[s.wrapped(h.srcLeaf, h.echoPath)] = model.TofinoTime{Value: now - uint32(h.echo), At: now}
	}
	if stranger || !s.cfg.Forward[p.outPort] {
		o.Drop = true
		return o
	}
	o.Port, o.Class = p.outPort, p.class
	if p.outPort == s.RecircPort {
		o.Port = recirculation
	}
	return o
}

// wrapped is the place of a path, of whose numbers the lower bits count.
func (s *tofinoSwitch) wrapped(leaf, path int64) int {
	return int(leaf)&(s.Leaves-1)*s.PathCells + int(path)&(s.PathCells-1)
}

// count counts a packet in its ingress queue, and warns.
func (s *tofinoSwitch) count(p *tofinoPkt, port int, now uint32) (o Outcome) {
	i, m := port*8+p.class, &s.rlb
	q := m.queue[i].Arrive(now, p.length)
	watch, ok := s.cfg.Watch[i]
	if !ok || !model.TofinoDue(&m.sampledAt[i], now, uint32(watch.Dt)) {
		return o
	}
	before := m.sampledQueue[i]
	m.sampledQueue[i] = q
	x, predicts := s.cfg.Predict[i]
	if predicts && (model.TofinoPredictor{Floor: uint32(x.DC), WarnAt: uint32(x.Qth), XOFF: uint32(x.QPFC)}).Warns(before, q) {
		s.note("warning")
		m.sent[port]++
		m.warningOn[i] = 1
		o.Cloned, o.Session = true, port
		p.warns = &tofinoMessage{true, p.class, port} // of the copy: the judge takes it off
	}
	return o
}

// hearDeparted takes in what egress tells of departures. If the queue is calm
// then, the copy goes on as a message.
func (s *tofinoSwitch) hearDeparted(p *tofinoPkt) Outcome {
	t, m := p.told, &s.rlb
	if t.departed == 0 {
		return Outcome{Drop: true}
	}
	i := t.inPort*8 + t.class
	q := m.queue[i].Depart(t.departed)
	watch, ok := s.cfg.Watch[i]
	if !ok || q >= uint32(watch.Calm) {
		return Outcome{Drop: true}
	}
	on := m.warningOn[i]&1 == 1
	m.warningOn[i] = 0
	if !on || !s.cfg.Forward[t.inPort] {
		return Outcome{Drop: true}
	}
	s.note("warning taken back")
	p.warns = &tofinoMessage{false, t.class, t.inPort}
	return Outcome{Port: t.inPort, Class: 7}
}

// hearWarning takes in a message of a neighbour, and passes it on.
func (s *tofinoSwitch) hearWarning(p *tofinoPkt, n Neighbour) (o Outcome) {
	c, m := p.cnm, &s.rlb
	path := n.Path & (s.PathCells - 1)
	bit := uint32(1) << (s.PathCells - 1 - path)
	mark := func(mask *uint32) {
		if *mask &^= bit; c.active == 1 {
			*mask |= bit
		}
	}
	deadline := uint32(p.now) + uint32(c.hold)
	switch {
	case c.scope == model.ScopeAll:
		m.untilAll[path] = deadline
		mark(&m.warnedAll[0])
	case c.scope < int64(s.Leaves):
		m.until[int(c.scope)*s.PathCells+path] = deadline
		mark(&m.warned[c.scope])
	}
	if n.Group == 0 || c.hops == 0 {
		return Outcome{Drop: true}
	}
	s.note("warning passed on")
	c.hops--
	p.class, p.way = 7, -1
	return Outcome{Group: n.Group, Class: 7}
}

// route is RLB for a packet that has a choice. One warning is looked at,
// whether it is over.
func (s *tofinoSwitch) route(p *tofinoPkt, r route, asked model.Path, now uint32) {
	m := &s.rlb
	bit := func(q model.Path) uint32 { return 1 << (s.PathCells - 1 - q) }
	first := int(r.leaf) * s.PathCells
	if int32(m.until[first+asked]-now) <= 0 {
		m.warned[r.leaf] &^= bit(asked)
	}
	if int32(m.untilAll[asked]-now) <= 0 {
		m.warnedAll[0] &^= bit(asked)
	}
	mask := m.warned[r.leaf] | m.warnedAll[0]
	switch {
	case p.again != nil:
		p.path = p.again.path
		m.trc[0] = model.TofinoTime{Value: now - p.again.sentAt, At: now}
	case s.Base != "drill":
		p.path = s.choose(p, r)
	}
	fresh, passes := now-uint32(s.cfg.Fresh), 0
	trc := m.trc[0].Since(fresh)
	if p.again != nil {
		trc, passes = m.trc[0].Value, p.again.passes
	}
	rtt := m.rtt[first+p.path].Since(fresh)
	slower := func(q model.Path, than uint32) bool { return m.rtt[first+q].Value > than }
	d := model.TofinoAlg1(p.path, r.paths, func(q model.Path) bool { return mask&bit(q) != 0 }, rtt, max(trc, uint32(s.cfg.PassTime)), slower, passes < s.cfg.Most)
	chosen := r.first + p.path
	p.again = nil
	p.outPort = r.first + d.Path
	switch {
	case d.Flag == model.Recirculated:
		s.note("recirculation")
		m.recirculations[chosen]++
		p.again = &tofinoAgain{p.path, passes + 1, now}
		p.outPort = s.RecircPort
	case d.Flag == model.Rerouted:
		s.note("reroute")
		m.reroutes[chosen]++
	case d.Warned:
		s.note("warned path taken")
		m.ignored[chosen]++
	}
	p.path = d.Path
	if s.QOut {
		p.way = p.path
	}
}

// leave is egress of a packet: it takes leave of its ingress queue, and the
// header between leaves is taken off, or put on. What is told of departures
// is returned.
func (s *tofinoSwitch) leave(p *tofinoPkt, now uint32) (departed uint32) {
	m := &s.rlb
	departed = m.departed[s.numbered(p.inPort)*8+p.class].Depart(now, p.length)
	switch h := p.fabric; {
	case p.deliver && h != nil:
		if h.stamped {
			leaf := int(h.srcLeaf) & (s.Leaves - 1)
			m.echoPath[leaf], m.echoAge[leaf] = uint32(uint8(h.path+1)), now-uint32(h.stamp)
		}
		p.fabric = nil
	case p.choice && s.cfg.Leaf >= 0:
		h := &fabric{srcLeaf: s.cfg.Leaf, path: int64(p.path)}
		if model.TofinoDue(&m.stampedAt[int(p.leaf)*s.PathCells+p.path], now, uint32(s.cfg.RTTInterval)) {
			s.note("stamp")
			h.stamped, h.stamp = true, int64(now)
		}
		if w := m.echoPath[p.leaf]; w != 0 {
			h.echoed, h.echoPath, h.echo = true, int64(w-1), int64(now-m.echoAge[p.leaf])
			m.echoPath[p.leaf] = 0
		}
		if h.stamped || h.echoed {
			p.fabric = h
		}
	}
	return departed
}

// writeWarning makes a copy into a message. What it was a copy of follows.
func (s *tofinoSwitch) writeWarning(p *tofinoPkt) (o Departure) {
	c, ok := s.cfg.CNMOut[p.warns.port]
	if !ok {
		o.Drop = true
		return o
	}
	f := &frame{dst: 0x0180c200000e, src: c.MAC, kind: typeLocal, rest: p.frame.rest, elided: p.frame.elided,
		cnm: &cnm{int64(p.warns.class), bit(p.warns.warn), c.Hops, c.Switch, int64(p.warns.port), c.Scope, c.Hold}}
	o.Data, o.Elided = s.bytes(f), f.elided
	return o
}
