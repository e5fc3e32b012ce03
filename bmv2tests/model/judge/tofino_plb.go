// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/bmv2tests/model"
)

// tofinoPLB is what PLB remembers in a Tofino: ingress the first three lists of
// each kind, egress the others. Times run on a clock of 32 bits.
type tofinoPLB struct {
	// By leaf and path: what its news say.
	rank, rtt, load []uint32
	stampedAt       []uint32

	// By leaf.
	best              []model.TofinoBest
	other             []model.TofinoOther
	probedAt, probed  []uint32
	echoPath          []uint32 // plus one; 0 for none
	echoAge, echoLoad []uint32
	tolerable         []uint32 // by flow
	silence           []model.TofinoSilence
	expected          []model.TofinoExpected // by port and class, as the one before
	sojourn           []model.Sojourn        // and this one
	told              []uint32               // by message
	others            uint32                 // length of a window of the other paths
}

func newTofinoPLB(f *Features) tofinoPLB {
	paths, cells := f.Leaves*f.PathCells, 8*f.Ports
	m := tofinoPLB{
		rank: make([]uint32, paths), rtt: make([]uint32, paths), load: make([]uint32, paths), stampedAt: make([]uint32, paths),
		best: make([]model.TofinoBest, f.Leaves), other: make([]model.TofinoOther, f.Leaves),
		probedAt: make([]uint32, f.Leaves), probed: make([]uint32, f.Leaves),
		echoPath: make([]uint32, f.Leaves), echoAge: make([]uint32, f.Leaves), echoLoad: make([]uint32, f.Leaves),
		tolerable: make([]uint32, f.Flows), silence: make([]model.TofinoSilence, cells), expected: make([]model.TofinoExpected, cells),
		sojourn: make([]model.Sojourn, cells), told: make([]uint32, 1024),
	}
	for i := range m.best {
		m.best[i].Value = model.TofinoKickedOut
	}
	return m
}

// tofinoKick is what a copy tells a leaf: to leave a path. The leaf may be
// this one.
type tofinoKick struct {
	here        bool
	class, port int // of the packet
	kick
}

// bytes is the copy's header.
func (k *tofinoKick) bytes() []byte {
	const message, kickOut, kickOutHere = 2, 5, 6
	b := []byte{message, kickOut, byte(k.class)}
	if k.here {
		b[1] = kickOutHere
	}
	b = binary.BigEndian.AppendUint16(b, uint16(k.port))
	b = append(b, byte(k.path))
	b = binary.BigEndian.AppendUint16(b, uint16(k.leaf))
	return binary.BigEndian.AppendUint32(b, uint32(k.host))
}

// toldWait is what a copy tells ingress of how long packets wait.
type toldWait struct {
	port              int
	held              bool
	average, expected uint32
}

// bytes is what the copy's header has of it.
func (t *toldWait) bytes() []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(t.port))
	b = append(b, byte(bit(t.held)))
	b = binary.BigEndian.AppendUint32(b, t.average)
	return binary.BigEndian.AppendUint32(b, t.expected)
}

// bridge is what ingress puts before a packet for egress.
func (s *tofinoSwitch) bridge(p *tofinoPkt) []byte {
	const isPacket, isProbe = 0, 5
	b := []byte{isPacket, byte(p.class)}
	if p.probe {
		b[0] = isProbe
	}
	u16 := func(v int) { b = binary.BigEndian.AppendUint16(b, uint16(v)) }
	u16(p.outPort)
	if s.PBFS {
		u16(s.numbered(p.inPort))
	}
	b = append(b, byte(bit(p.hop == toHost)), byte(bit(p.hop == toChoice)), byte(p.way))
	u16(int(p.leaf))
	return binary.BigEndian.AppendUint32(b, p.tolerable)
}

// ingressPLB is ingress of a program with PLB. A packet comes again to take
// another path. Random numbers are drawn for everything.
func (s *tofinoSwitch) ingressPLB(p *tofinoPkt, again bool) (o Outcome) {
	m, now := &s.plb, uint32(p.now)
	share := uint8(s.rng.below(256))
	switch {
	case p.told != nil:
		i := p.told.wait.port*8 + p.told.class
		m.silence[i].Heard(now)
		m.expected[i] = model.TofinoExpected(p.told.wait.expected)
		return Outcome{Drop: true}
	case p.kicks != nil:
		s.kickedOut(&p.kicks.kick)
		return Outcome{Drop: true}
	}
	dst := int64(0)
	p.class, p.hop, p.leaf, p.way, p.tolerable = 0, elsewhere, 0, 0, 0
	switch {
	case p.ip != nil:
		dst, p.class = p.ip.dst(), p.ip.dscp()>>3
	case p.arp != nil:
		dst = int64(be.Uint32(p.arp[24:]))
	case p.kick != nil:
		dst = p.kick.host
	}
	r, routed := s.cfg.lookup(dst)
	if !routed {
		return Outcome{Drop: true}
	}
	// Only switches may send what only switches understand. A stranger's packet
	// is dropped, and taken for one without that until then.
	_, known := s.cfg.Neighbours[s.numbered(p.inPort)]
	stranger := !known && (p.fabric != nil || p.kick != nil)
	if stranger {
		p.fabric, p.kick = nil, nil
		s.note("stranger")
	}
	switch {
	case p.kick != nil && r.host:
		s.kickedOut(p.kick)
		return Outcome{Drop: true}
	case p.kick != nil:
		p.class = 7
	case r.host && p.fabric != nil && p.fabric.echoed:
		s.learnPath(p.fabric, now)
	}
	p.outPort, p.hop = r.first, toSwitch
	// A packet that comes without the header is at its source leaf.
	source, probe, move := false, false, false
	switch {
	case r.host:
		p.hop = toHost
	case r.paths > 1:
		p.hop, p.leaf = toChoice, r.leaf
		if source = p.fabric == nil && p.kick == nil; source {
			probe = s.probeTurn(r, now)
		}
		move = s.choosePLB(p, r, share, source, again, now)
		p.outPort = r.first + p.way
	}
	if p.hop != toHost && p.fabric != nil {
		p.tolerable = uint32(p.fabric.tolerable)
	}
	switch tells := s.meetPauseOnTofino(p, source, now); {
	case tells && source:
		s.note("kick-out")
		o.Cloned, o.Session = true, feedbackSession
	case tells:
		s.note("kick-out told")
		o.Cloned, o.Session = true, s.numbered(p.inPort)
	case probe:
		s.note("probe")
		path := int(m.probed[r.leaf])
		o.Cloned, o.Session = true, 256+r.first+path
		p.probes = &tofinoPkt{inPort: p.inPort, outPort: r.first + path, class: p.class, way: path, probe: true, tolerable: p.tolerable,
			tofinoRoute: tofinoRoute{hop: toChoice, leaf: r.leaf}}
	}
	switch {
	case stranger || !s.cfg.Forward[p.outPort]:
		o.Drop = true
	case move:
		s.note("flow moved")
		o.Again = true
	default:
		o.Port, o.Class = p.outPort, p.class
	}
	return o
}

// kickedOut takes a path out of use until there is an echo of it.
func (s *tofinoSwitch) kickedOut(k *kick) {
	s.note("path kicked out")
	s.plb.rank[s.wayOf(k.leaf, int(k.path))] = model.TofinoKickedOut
	s.plb.best[int(k.leaf)&(s.Leaves-1)].News(int(k.path), model.TofinoKickedOut)
}

// learnPath takes in the echo of a stamp.
func (s *tofinoSwitch) learnPath(h *fabric, now uint32) {
	s.note("round-trip time")
	m, i, leaf := &s.plb, s.wayOf(h.srcLeaf, int(h.echoPath)), int(h.srcLeaf)&(s.Leaves-1)
	m.rtt[i], m.load[i] = now-uint32(h.echo), uint32(h.echoLoad)
	m.rank[i] = model.TofinoPLBRank(model.PLBPath{RTT: Time(m.rtt[i]), Util: h.echoLoad, Active: true}, s.cfg.RTTLow, s.cfg.Full)
	if !m.best[leaf].News(int(h.echoPath), m.rank[i]) {
		m.other[leaf].Measured(m.rtt[i], now/m.others)
	}
}

// choosePLB is Algorithm 2 at the first choice of a packet's way, and at those
// after it; it reports whether the packet comes again to take another path.
// What the path may cost is written down when a flow takes it.
func (s *tofinoSwitch) choosePLB(p *tofinoPkt, r route, share uint8, source, again bool, now uint32) (move bool) {
	m, flow := &s.plb, int(p.hash())&(s.Flows-1)
	f := &s.flows[flow]
	takes := f.Ended(now, uint32(s.cfg.FlowletGap)) || again
	best := m.best[r.leaf].PLB(model.Share(share, r.paths), r.paths)
	p.way = f.Follow(takes, best, r.paths)
	i := s.wayOf(r.leaf, p.way)
	if source {
		if takes {
			m.tolerable[flow] = m.other[r.leaf].Tolerable(m.rtt[i])
		}
		p.tolerable = m.tolerable[flow]
	}
	return model.TofinoReroutes(m.rank[i]) && best != p.way && !again
}

// meetPauseOnTofino is lines 3 to 5 and 10 of Algorithm 1, and reports whether
// the source leaf is to hear of it.
func (s *tofinoSwitch) meetPauseOnTofino(p *tofinoPkt, source bool, now uint32) bool {
	m, i := &s.plb, p.outPort*8+p.class
	packetTime, priced := s.cfg.PauseByteTime[p.outPort] // of 1024 bytes, as a byte's is in 1/1024
	if !priced {
		return false
	}
	paused := m.silence[i].Sent(now)
	waits := m.expected[i].Waits(p.tolerable, uint32(packetTime))
	if !paused || waits || p.hop == toHost {
		if paused && waits {
			s.note("wait")
		}
		return false
	}
	k := tofinoKick{here: source, class: p.class, port: s.numbered(p.inPort)}
	about := make([]byte, 0, 5) // whose path, to where, which
	switch h := p.fabric; {
	case source:
		k.path, k.leaf = int64(p.way), p.leaf
		about = be.AppendUint16(about, 0)
	case h != nil && p.ip != nil: // the message goes to its source address
		k.path, k.leaf = h.path, h.dstLeaf
		about = be.AppendUint16(about, uint16(h.srcLeaf))
	default:
		return false
	}
	if p.ip != nil {
		k.host = p.ip.src()
	}
	last := &m.told[crc16(append(be.AppendUint16(about, uint16(k.leaf)), byte(k.path)))&1023]
	if int32(*last-(now-uint32(s.cfg.TellAgain))) > 0 {
		return false
	}
	*last = now
	p.tells = &k
	return true
}

// probeTurn reports whether a path to a leaf is to be probed, the next one in
// turn.
func (s *tofinoSwitch) probeTurn(r route, now uint32) bool {
	m := &s.plb
	if int32(m.probedAt[r.leaf]-(now-uint32(s.cfg.ProbeInterval))) > 0 {
		return false
	}
	m.probedAt[r.leaf] = now
	m.probed[r.leaf] = uint32(model.TofinoFeedback(int(m.probed[r.leaf]), r.paths))
	return true
}

// takeCopy is what ingress copies a packet into: its header, what the copy is,
// and its queue.
func (s *tofinoSwitch) takeCopy(p *tofinoPkt, session int) (header []byte, c *tofinoPkt, q Queue) {
	w, k, probe := p.warns, p.tells, p.probes
	p.warns, p.tells, p.probes = nil, nil, nil
	switch {
	case w != nil:
		return w.bytes(), &tofinoPkt{warns: w}, Queue{session, 7}
	case k != nil && k.here:
		return k.bytes(), &tofinoPkt{kicks: k}, Queue{recirculation, 7}
	case k != nil:
		return k.bytes(), &tofinoPkt{kicks: k}, Queue{session, 7}
	default:
		return s.bridge(probe), probe, cloneQueue(session)
	}
}

// passEgress is what egress takes from a copy on its way to ingress.
func (s *tofinoSwitch) passEgress(p *tofinoPkt) {
	if p.told != nil && s.PLB && p.told.wait.held {
		s.note("average wait")
		s.plb.sojourn[p.told.wait.port*8+p.told.class].Avg = Time(p.told.wait.average)
	}
}

// writeKick makes a copy into a message to leave a path. What it was a copy of
// follows, but for Ethernet's header.
func (s *tofinoSwitch) writeKick(p *tofinoPkt) (o Departure) {
	b := p.frame.rest
	f := &frame{dst: 0x0180c200000e, src: mac(b[6:]), kind: typeLocal, kick: &p.kicks.kick, rest: b[14:], elided: p.frame.elided}
	o.Data, o.Elided = s.bytes(f), f.elided
	return o
}

// leavePLB is egress of a packet: the header between leaves is taken off or
// put on, and the packet pays for its wait. It reports whether the packet ends
// here, and what ingress is told, if anything.
func (s *tofinoSwitch) leavePLB(p *tofinoPkt, length int, ahead, behind int64, waited Time, now uint32) (ends bool, wait *toldWait) {
	weight := s.cfg.LinkWeight[p.outPort]
	load := uint8(0)
	if weight != 0 {
		load = s.loadOf255(p.outPort, length, now)
	}
	ends = p.probe // but for one that measures its path
	h := p.fabric
	p.probe = p.probe || h != nil && h.probe == 1
	switch {
	case p.hop == toHost && h != nil:
		s.keepStamp(h, now)
		p.fabric, ends = nil, h.probe == 1
	case p.hop == toChoice && h == nil && p.kick == nil && s.cfg.Leaf >= 0:
		ends = !s.putOn(p, now) && p.probe
	case ends && h != nil: // of a stranger's packet, with a header in it
		h.probe, h.tolerable = 1, 1<<32-1
	}
	i := p.outPort*8 + p.class
	cellTime := s.cellTime(p.outPort)
	average := s.plb.sojourn[i]
	w := &toldWait{port: p.outPort}
	if h = p.fabric; h != nil {
		if w.held = average.Held(uint32(waited), uint32(ahead), cellTime); w.held {
			s.note("held up")
			h.tolerable = average.Dequeued(h.tolerable, 0, waited, sojournShift)
		}
		h.load = max(h.load, int64(load))
	}
	if weight != 0 && s.tell(p, now) {
		w.average, w.expected = uint32(average.Avg), average.TofinoReport(uint32(behind), cellTime)
		return ends, w
	}
	return ends, nil
}

// loadOf255 counts a packet on a link and returns the link's load.
func (s *tofinoSwitch) loadOf255(port, length int, now uint32) uint8 {
	sent := s.conga.links[port].Packet(now, uint32(length))
	for _, r := range usualRates {
		if tofinoWeightOf(r) == s.cfg.LinkWeight[port] {
			return model.TofinoLoadOf255(sent, uint32(r.Bytes(tofinoUnits.LoadTime())))
		}
	}
	return 0
}

// keepStamp is what the destination leaf keeps of a header, to echo it.
func (s *tofinoSwitch) keepStamp(h *fabric, now uint32) {
	if !h.stamped {
		return
	}
	m, leaf := &s.plb, int(h.srcLeaf)&(s.Leaves-1)
	m.echoPath[leaf] = uint32(byte(h.path + 1))
	m.echoAge[leaf], m.echoLoad[leaf] = now-uint32(h.stamp), uint32(h.load)
}

// putOn is what the source leaf writes; it reports whether the packet measures
// the path. A probe takes no echo along: it may end here.
func (s *tofinoSwitch) putOn(p *tofinoPkt, now uint32) (stamped bool) {
	m := &s.plb
	h := &fabric{srcLeaf: s.cfg.Leaf, path: int64(p.way), dstLeaf: p.leaf, tolerable: int64(p.tolerable)}
	h.echoLoad = int64(m.echoLoad[p.leaf]) // of what was echoed last, if nothing is
	p.fabric = h
	last := &m.stampedAt[s.wayOf(p.leaf, p.way)]
	if int32(*last-(now-uint32(s.cfg.RTTInterval))) <= 0 {
		s.note("stamp")
		*last = now
		h.stamped, h.stamp = true, int64(now)
	}
	if p.probe {
		h.probe, h.tolerable = 1, 1<<32-1
		return h.stamped
	}
	if waiting := m.echoPath[p.leaf]; waiting != 0 {
		m.echoPath[p.leaf] = 0
		h.echoed, h.echoPath, h.echo = true, int64(waiting-1), int64(now-m.echoAge[p.leaf])
	}
	return h.stamped
}

func ofOther(o *model.TofinoOther) (x, y *uint32)     { return &o.RTT, &o.Window }
func ofSilence(q *model.TofinoSilence) (x, y *uint32) { return &q.Since, &q.Last }

func tofinoRTT(g *drawer, i int) uint64 { return uint64(uint32(g.rtt(i))) }

// tofinoPLBRank draws the rank of a path.
func tofinoPLBRank(g *drawer, i int) uint64 {
	return pick(g, tofinoRTT(g, i), tofinoRTT(g, i), 1<<30|uint64(g.upTo(255)), 2<<30|tofinoRTT(g, i), model.TofinoKickedOut)
}

func tofinoByte(g *drawer, _ int) uint64 { return uint64(g.upTo(255)) }

// tofinoSilence draws since when a port is silent, and when a packet last came
// for it: near where it counts as paused.
func tofinoSilence(g *drawer, i int) uint64 {
	if g.r.IntN(3) == 0 {
		return tofinoPast(g, i)<<32 | tofinoPast(g, i)
	}
	since, last := g.near(12_000, model.TofinoSilent), g.near(2*model.TofinoRest, model.TofinoRest, 0)
	return uint64(uint32(g.now-since))<<32 | uint64(uint32(g.now-last))
}

var tofinoPLBRows = map[string]tofinoRow{
	"path_rank": single("order of a path", func(s *tofinoSwitch) []uint32 { return s.plb.rank }, tofinoPLBRank),
	"path_rtt":  single("p.t_RTT", func(s *tofinoSwitch) []uint32 { return s.plb.rtt }, tofinoRTT),
	"path_load": single("p.u_link", func(s *tofinoSwitch) []uint32 { return s.plb.load }, tofinoByte),
	"path_best": couple("best path", func(s *tofinoSwitch) []model.TofinoBest { return s.plb.best }, ofBest,
		func(g *drawer, i int) uint64 { return tofinoPLBRank(g, i)<<32 | uint64(g.r.IntN(g.f.PathCells)) }),
	"other_rtt": couple("fastest of the others", func(s *tofinoSwitch) []model.TofinoOther { return s.plb.other }, ofOther,
		func(g *drawer, i int) uint64 { return tofinoRTT(g, i)<<32 | uint64(uint32(g.now)>>g.r.IntN(20)) }),
	"flow_tolerable": single("t_td of a flow", func(s *tofinoSwitch) []uint32 { return s.plb.tolerable }, tofinoRTT),
	"silence":        couple("since when nothing leaves", func(s *tofinoSwitch) []model.TofinoSilence { return s.plb.silence }, ofSilence, tofinoSilence),
	"expected": member("max(t_avgST, t_pd) as told, and what has come since", func(s *tofinoSwitch) []model.TofinoExpected { return s.plb.expected },
		func(e *model.TofinoExpected) *uint32 { return (*uint32)(e) }, tofinoRTT),
	"told_at":    single("a leaf was told to leave a path", func(s *tofinoSwitch) []uint32 { return s.plb.told }, tofinoPast),
	"probed_at":  single("last probe", func(s *tofinoSwitch) []uint32 { return s.plb.probedAt }, tofinoPast),
	"probe_path": single("path probed last", func(s *tofinoSwitch) []uint32 { return s.plb.probed }, func(g *drawer, _ int) uint64 { return uint64(g.r.IntN(g.f.PathCells)) }),
	"stamped_at": single("last stamp on a path", func(s *tofinoSwitch) []uint32 { return s.plb.stampedAt }, tofinoPast),
	"echo_path":  single("path of the stamp to echo", func(s *tofinoSwitch) []uint32 { return s.plb.echoPath }, func(g *drawer, _ int) uint64 { return uint64(g.r.IntN(g.f.PathCells + 1)) }),
	"echo_age":   single("age of the stamp to echo", func(s *tofinoSwitch) []uint32 { return s.plb.echoAge }, tofinoRTT),
	"echo_load":  single("u_link to echo", func(s *tofinoSwitch) []uint32 { return s.plb.echoLoad }, tofinoByte),
	"sojourn": {symbol: "t_avgST", cell: func(s *tofinoSwitch, i int) (uint64, bool) { return uint64(uint32(s.plb.sojourn[i].Avg)), true },
		set:  func(s *tofinoSwitch, i int, v uint64) { s.plb.sojourn[i].Avg = Time(v) },
		draw: tofinoRTT},
}
