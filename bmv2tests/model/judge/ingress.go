// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"hash/crc32"

	"github.com/pauseless/pauseless/bmv2tests/model"
)

// ingress takes a packet from a link or from the recirculation port to its
// queue. clone is the message that it causes, if any.
func (s *Switch) ingress(p *pkt) (o Outcome, clone *pkt) {
	if p.passes > 0 {
		s.returned = p.mark
	}
	if s.Recirculates && p.inPort >= s.Ports {
		p.inPort = 0 // the controller's packets count at none of the ports
	}
	drop := func() (Outcome, *pkt) { o.Drop = true; return o, s.cloneOf(p, &o) }

	// What neighbours say.
	if p.pfc != nil {
		s.hearPFC(p)
		return drop()
	}
	neighbour, known := s.cfg.Neighbours[p.inPort]
	if (p.cnm != nil || p.kick != nil || p.fabric != nil) && !known {
		return drop()
	}
	if p.cnm != nil {
		return s.hearWarning(p, neighbour)
	}

	// Where to.
	r, ok := s.cfg.lookup(p.destination())
	if !ok {
		return drop()
	}
	p.route, p.deliver, p.outPort = r, r.host, r.first
	if p.ip != nil && s.Classes == 8 {
		p.class = p.ip.dscp() >> 3
	}
	if p.deliver && p.fabric != nil && !s.learn(p) {
		return drop()
	}
	if p.deliver {
		p.fabric, p.tag = nil, nil
	}
	if p.kick != nil {
		if s.Classes == 8 {
			p.class = 7
		}
		if p.deliver {
			if p.kick.leaf < int64(s.Leaves) {
				s.active[s.at(p.kick.leaf, int(p.kick.path))] = false
			}
			return drop()
		}
	}

	// The ingress queue.
	if s.QIn && p.passes == 0 {
		s.arrive(p)
	}

	// Which way.
	if p.paths > 1 {
		if s.Hash {
			p.hash = p.fiveTuple()
		}
		s.choose(p)
		p.outPort = p.first + p.path
		if s.RLB {
			s.reroute(p, &o)
		}
	}
	if s.Emulated && !p.again {
		s.hold(p)
	}
	if p.again {
		s.passAgain(p)
	} else {
		s.settle(p)
	}
	clone = s.cloneOf(p, &o)
	if !s.cfg.Forward[p.outPort] {
		o.Drop = true
		return o, clone
	}
	o.Port, o.Class = p.outPort, p.class
	return o, clone
}

// destination is the address that a packet is routed by.
func (p *pkt) destination() int64 {
	switch {
	case p.ip != nil:
		return p.ip.dst()
	case p.arp != nil:
		return int64(be.Uint32(p.arp[24:]))
	case p.kick != nil:
		return p.kick.host
	}
	return 0
}

// fiveTuple is the hash that tells flows apart: CRC32 of addresses, protocol
// and ports.
func (p *pkt) fiveTuple() uint32 {
	if p.ip == nil {
		return 0
	}
	key := append(clone(p.ip.b[12:20]), p.ip.protocol())
	ports := []byte{0, 0, 0, 0}
	whole := p.ip.b[0]&0xf == 5 && be.Uint16(p.ip.b[6:])&0x1fff == 0
	if behind := append(clone(p.udp), p.rest...); whole && (p.ip.protocol() == 17 || p.ip.protocol() == 6) && len(behind) >= 4 {
		ports = behind[:4]
	}
	return crc32.ChecksumIEEE(append(key, ports...))
}

// at is the place of a path to a leaf; the number of a path on the wire counts
// by its low bits.
func (s *Switch) at(leaf int64, path int) int { return s.Features.path(leaf, path&(s.PathCells-1)) }

// q is the place of the packet's egress queue, of its ingress queue.
func (s *Switch) out(p *pkt) int { return s.cell(p.outPort, p.class) }
func (s *Switch) in(p *pkt) int  { return s.cell(p.inPort, p.class) }

// choose is line 2 of RLB's Algorithm 1, or all there is: the base scheme.
func (s *Switch) choose(p *pkt) {
	if s.Base == "drill" {
		s.drillSample(p)
	}
	if p.passes > 0 {
		s.note("second pass")
		return // it has its path
	}
	switch s.Base {
	case "ecmp":
		p.path = s.hashed(p)
	case "hermes":
		p.path = s.hermes(p)
	case "presto":
		p.path = s.flowcell[s.flow(p)].Packet(p.length, s.cfg.FlowcellBytes, s.hashed(p), p.paths)
	case "letflow":
		f := s.flowletOf(p)
		draw := 0
		if !f.Active(p.now, s.cfg.FlowletGap) {
			draw = int(s.rng.below(int64(p.paths)))
		}
		p.path = f.LetFlow(p.now, s.cfg.FlowletGap, draw)
	case "drill":
		d := &s.drill[p.leaf]
		p.path = d.Best
	case "conga":
		metric := make([]int64, p.paths)
		for i := range metric {
			metric[i] = s.congestion(p, i)
		}
		f := s.flowletOf(p)
		p.path = f.CONGA(p.now, s.cfg.FlowletGap, metric, func() model.Path { return int(s.rng.below(int64(p.paths))) })
	case "clb":
		p.path = s.clb(p)
	case "plb":
		p.path = s.plb(p)
	}
}

// flow is the place of the packet's flow.
func (s *Switch) flow(p *pkt) int { return int(p.hash) & (s.Flows - 1) }

// flowletOf is the entry of the packet's flow. One on a path that is not there
// (any more) is not valid.
func (s *Switch) flowletOf(p *pkt) *model.Flowlet {
	f := &s.flowlet[s.flow(p)]
	f.Valid = f.Valid && f.Path < p.paths
	return f
}

// hashed is the path by the packet's hash.
func (s *Switch) hashed(p *pkt) model.Path { return model.ECMP(uint16(p.hash>>p.shift), p.paths) }

// hermes obeys the tag that the host chose a path by; at a leaf the first one,
// above it the second. Without a path in it, the hash decides.
func (s *Switch) hermes(p *pkt) model.Path {
	wish := byte(0xff)
	if p.tag != nil {
		if wish = p.tag.path; p.shift != 0 {
			wish = p.tag.upper
		}
	}
	if int(wish) < p.paths {
		return int(wish)
	}
	return s.hashed(p)
}

// drillSample draws two candidates and updates DRILL's memory: for each
// arrival, and for a packet that comes back too, since RLB asks again for a
// suboptimal path.
func (s *Switch) drillSample(p *pkt) {
	a, b := int(s.rng.below(int64(p.paths))), int(s.rng.below(int64(p.paths)))
	d := &s.drill[p.leaf]
	if d.Best >= p.paths { // to other hosts of the leaf there may be more
		d.Best = a
	}
	p.drilled = []model.Path{d.Best, a, b}
	d.Packet(a, b, func(i model.Path) Bytes { return s.qOut[s.cell(p.first+i, p.class)] })
}

// congestion is CONGA's metric of a path, in three bits.
func (s *Switch) congestion(p *pkt, path model.Path) int64 {
	local := model.Quantize(s.dre[p.first+path].At(p.now, s.tau()), 3)
	return model.PathMetric(local, s.toLeaf[s.at(p.leaf, path)], p.now, s.cfg.MetricAge)
}

// tau is the time constant of DRE as a power of two of ticks: 131 or 128 µs.
func (s *Switch) tau() uint {
	if s.Microseconds {
		return 7
	}
	return 17
}

// clb is CLB for a packet.
func (s *Switch) clb(p *pkt) model.Path {
	queue := func(i int) int { return s.cell(p.first+i, p.class) }

	// T2.
	if p.now-s.growthSince[queue(0)] >= s.cfg.CLBInterval {
		for i := range p.paths {
			s.growth[queue(i)].Sample(s.qOut[queue(i)])
		}
		s.growthSince[queue(0)] = p.now
	}

	f := s.flowletOf(p)
	known := f.Valid
	stays := f.Active(p.now, s.cfg.FlowletGap)
	f.Last = p.now
	if stays {
		return f.Path
	}

	// T4.
	ports := make([]model.CLBPort, p.paths)
	classes := make([]model.PathType, p.paths)
	for i := range ports {
		ports[i] = model.CLBPort{Q: s.qOut[queue(i)], QDt: s.growth[queue(i)].QDt}
		classes[i] = model.Classify(ports[i], s.cfg.CLBThreshold)
	}

	// T3. A row belongs to one coflow at a time.
	id := int64(0)
	if p.tag != nil {
		id = p.tag.coflow
	}
	row := int(id) & (s.Coflows - 1)
	tr := s.flows[row*s.PathCells : (row+1)*s.PathCells]
	if s.coflow[row] != id {
		s.coflow[row] = id
		clear(tr)
	}
	for _, c := range classes[:1] {
		s.note("class " + string('A'+rune(c)))
	}
	path := model.Forward(ports, classes, func(i int) int64 { return tr[i] }, s.cfg.CLBTie)
	if !known || f.Path != path {
		tr[path]++
		if known {
			tr[f.Path] = max(0, tr[f.Path]-1)
		}
	}
	f.Valid, f.Path = true, path
	return path
}

// settle is what is due to a packet that has its port and does not pass again.
func (s *Switch) settle(p *pkt) {
	if p.paths > 1 && s.Fabric && s.cfg.Leaf >= 0 && p.fabric == nil {
		s.encapsulate(p)
	}
	if s.PLB {
		s.meetPause(p)
	}
	if s.PLB {
		s.probe(p)
	}
	if s.PBFS {
		s.fastStart(p)
	}
	if s.QCN {
		s.sample(p)
	}
	if s.QOut && (p.paths > 1 || s.AllPorts) {
		p.charged = p.length
		s.qOut[s.out(p)] += p.length
	}
}

// passAgain sends a packet to the recirculation port.
func (s *Switch) passAgain(p *pkt) {
	s.sent = (s.sent + p.length) & (1<<32 - 1)
	p.mark = s.sent
	p.passes++
	p.outPort = s.RecircPort
}

// request has a clone of the packet sent as a message to where the packet came
// from. A packet can be cloned once: the first request counts.
func (p *pkt) request(m *message) bool {
	if p.message != nil {
		return false
	}
	p.message = m
	return true
}

// cloneOf makes the clone of an ingress packet that became a message.
func (s *Switch) cloneOf(p *pkt, o *Outcome) *pkt {
	if p.message == nil {
		return nil
	}
	o.Cloned, o.Session = true, p.inPort
	if p.message.kind == probeMessage {
		o.Session = 256 + p.first + p.message.path
	}
	m := p.message
	p.message = nil
	return &pkt{frame: s.parse(p.asCame, p.elided), message: m}
}
