// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/pauseless/pauseless/bmv2tests/model"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/vtime"
)

// tofinoSwitch is the model of one switch with a Tofino, put together of
// model's transcriptions and their variants for Tofino.
type tofinoSwitch struct {
	*Features
	cfg *Config
	rng draws

	flows []model.TofinoFlow
	// queue is what ingress was told of the queues of a choice, by path and
	// class, and toldAt, by port and class, when egress did.
	queue, toldAt []uint32
	drill         []model.TofinoBest // by leaf and the last of the paths that there are
	rank          []uint32           // by path and class
	clb           []model.TofinoBest // by the last of the paths that there are, and class
	pbfs          []model.TofinoPBFS // by port
	postcards     []uint32
	qcn           []model.CongestionPoint // by port and class
	looked        []model.SeenQueue       // of QCN, the same
	generated     model.QCN               // for which the program was
	txBytes       []uint32                // by port
	rlb           tofinoRLB
	conga         tofinoCONGA
	plb           tofinoPLB
	times         tofinoTimes
	seen          map[string]int
	counted       map[string]uint64 // counters of tables
}

func newTofinoSwitch(f *Features, cfg *Config, seed uint64) *tofinoSwitch {
	s := &tofinoSwitch{Features: f, cfg: cfg, rng: draws{seed},
		flows: make([]model.TofinoFlow, f.Flows), queue: make([]uint32, 8*f.PathCells), toldAt: make([]uint32, 8*f.Ports),
		drill: make([]model.TofinoBest, f.Leaves*f.PathCells), rank: make([]uint32, 8*f.PathCells), clb: make([]model.TofinoBest, 8*f.PathCells),
		pbfs: make([]model.TofinoPBFS, f.Ports), postcards: make([]uint32, f.Ports),
		qcn: make([]model.CongestionPoint, 8*f.Ports), looked: make([]model.SeenQueue, 8*f.Ports), txBytes: make([]uint32, f.Ports)}
	s.counted = map[string]uint64{}
	for i := range s.flows {
		s.flows[i] = model.NewTofinoFlow()
	}
	s.rlb, s.conga, s.plb = newTofinoRLB(f), newTofinoCONGA(f), newTofinoPLB(f)
	return s
}

// Parts of a packet on its way through the model, beyond pkt.
type tofinoPkt struct {
	*frame
	inPort, outPort, class int
	now                    Time
	way                    int // the choice; −1 for none
	last                   int // of the paths that it is of
	// told is what a copy says of a queue, card what one becomes a postcard by,
	// warns and kicks what a message says. tells and probes are copies that
	// ingress makes.
	told   *told32
	card   *message
	warns  *tofinoMessage
	kicks  *tofinoKick
	tells  *tofinoKick
	probes *tofinoPkt

	sample    *tofinoSample // QCN: what a copy says of a sample
	probe     bool          // a copy that measures a path
	tolerable uint32        // PLB: delay that the path may cost
	tofinoRoute
}

// told32 is what a copy tells ingress of.
type told32 struct {
	way, class int
	queue      uint32
	hop        tofinoHop // RLB says by it whether there was a choice
	inPort     int       // that bytes came by
	departed   uint32    // which have left, below zero
	last       int       // path that there was
	wait       *toldWait // PLB
}

// bytes is the copy's header.
func (t *told32) bytes(f *Features) []byte {
	const feedback, noWay = 1, 0xff
	b := []byte{feedback, byte(t.class)}
	if f.QOut {
		switch {
		case f.RLB:
			b = append(b, byte(t.hop), byte(t.way))
		case t.way < 0:
			b = append(b, noWay)
		default:
			b = append(b, byte(t.way))
		}
		b = binary.BigEndian.AppendUint32(b, t.queue)
	}
	if f.RLB {
		b = binary.BigEndian.AppendUint16(b, uint16(t.inPort))
		b = binary.BigEndian.AppendUint32(b, t.departed)
	}
	if f.CLB {
		b = append(b, byte(t.last))
	}
	if f.PLB {
		b = append(b, t.wait.bytes()...)
	}
	return b
}

func (s *tofinoSwitch) note(what string) { s.seen[what]++ }

// ingress decides where a packet goes, which may have come again.
func (s *tofinoSwitch) ingress(p *tofinoPkt, again bool) (o Outcome) {
	if p.told != nil && s.QOut && (!s.RLB && p.told.way >= 0 || p.told.hop == toChoice) {
		s.hear(p.told)
	}
	if s.RLB {
		return s.ingressRLB(p)
	}
	if s.PLB {
		return s.ingressPLB(p, again)
	}
	if p.told != nil {
		return Outcome{Drop: true}
	}
	dst := int64(0)
	switch {
	case p.ip != nil:
		dst, p.class = p.ip.dst(), p.ip.dscp()>>3
	case p.arp != nil:
		dst = int64(be.Uint32(p.arp[24:]))
	}
	r, ok := s.cfg.lookup(dst)
	if s.CONGA && r.paths < 2 {
		s.rng.below(256) // a path is drawn for each packet
	}
	if !ok {
		return Outcome{Drop: true}
	}
	if r.host && p.tag != nil {
		p.tag = nil
	}
	stranger := false // only switches may send what only switches understand
	if p.fabric != nil {
		_, known := s.cfg.Neighbours[s.numbered(p.inPort)]
		stranger = !known
	}
	if r.host {
		p.hop = toHost
		if s.CONGA && p.fabric != nil && !stranger {
			s.learnFeedback(p.fabric, uint32(p.now))
		}
	}
	p.outPort, p.way = r.first, -1
	if r.paths > 1 {
		p.hop, p.leaf = toChoice, r.leaf
		p.way, p.last = s.choose(p, r), r.paths-1
		if p.way > p.last {
			panic(fmt.Sprintf("BUG: path %d, the last is %d", p.way, p.last))
		}
		p.outPort = r.first + p.way
	}
	if stranger || !s.cfg.Forward[p.outPort] {
		return Outcome{Drop: true}
	}
	return Outcome{Port: p.outPort, Class: p.class}
}

// hear takes in what egress says of a queue.
func (s *tofinoSwitch) hear(t *told32) {
	i := t.way*8 + t.class
	if s.CLB {
		s.note("rank")
		s.rank[i] = model.TofinoRank(t.queue, s.queue[i], uint32(s.cfg.CLBThreshold))
		s.clb[t.last*8+t.class].CLB(t.way, s.rank[i])
	}
	s.queue[i] = t.queue
}

// hash is the flow's: zero for what is not IPv4. Ports count where they are
// surely there.
func (p *tofinoPkt) hash() uint32 {
	if p.ip == nil {
		return 0
	}
	ports := []byte{0, 0, 0, 0}
	if proto := p.ip.protocol(); p.ip.b[0]&0xf == 5 && be.Uint16(p.ip.b[6:])&0x1fff == 0 && (proto == 6 || proto == 17) {
		copy(ports, append(clone(p.udp), p.rest...))
	}
	return crc32.ChecksumIEEE(append(append(clone(p.ip.b[12:20]), p.ip.protocol()), ports...))
}

// choose picks a path.
func (s *tofinoSwitch) choose(p *tofinoPkt, r route) model.Path {
	hash := p.hash()
	flow := &s.flows[int(hash)&(s.Flows-1)]
	now := uint32(p.now)
	part := func() uint8 { // of the hash, others in each tier
		switch r.shift {
		case 0:
			return uint8(hash >> 8)
		case 8:
			return uint8(hash >> 16)
		}
		return uint8(hash >> 24)
	}
	draw := func() model.Path { return model.Share(uint8(s.rng.below(256)), r.paths) }
	switch s.Base {
	case "presto":
		length := uint32(60)
		switch {
		case p.ip != nil && s.RLB:
			length = uint32(be.Uint16(p.ip.b[2:]))
		case p.ip != nil:
			length = uint32(be.Uint16(p.ip.b[2:]) + 14)
		}
		return flow.Presto(length, uint32(s.cfg.FlowcellBytes), model.Share(part(), r.paths), r.paths)
	case "letflow":
		begins := flow.Ended(now, uint32(s.cfg.FlowletGap))
		return flow.Follow(begins, draw(), r.paths)
	case "drill":
		a, b := uint8(s.rng.below(256)), uint8(s.rng.below(256))
		x, y := model.Share(a, r.paths), model.Share(b, r.paths)
		return s.drill[int(r.leaf)*s.PathCells+r.paths-1].DRILL(x, y, s.queue[x*8+p.class], s.queue[y*8+p.class])
	case "hermes":
		if wish := p.wish(r); wish < r.paths {
			s.note("wish")
			return wish
		}
	case "conga":
		begins := flow.Ended(now, uint32(s.cfg.FlowletGap))
		return flow.Follow(begins, s.leastCongested(r, draw(), now), r.paths)
	case "clb":
		begins := flow.Ended(now, uint32(s.cfg.FlowletGap))
		x := draw()
		best := s.clb[(r.paths-1)*8+p.class].CLB(x, s.rank[x*8+p.class])
		return flow.Follow(begins, best, r.paths)
	}
	return model.Share(part(), r.paths)
}

// wish is the path in a host's tag: at a leaf the first one, above it the
// second; 255 without a tag.
func (p *tofinoPkt) wish(r route) model.Path {
	switch {
	case p.tag == nil:
		return 255
	case r.shift != 0:
		return model.Path(p.tag.upper)
	}
	return model.Path(p.tag.path)
}

// egress takes a packet from its queue to the link; length is that with what
// ingress put before it.
func (s *tofinoSwitch) egress(p *tofinoPkt, length int, ahead, behind int64, waited, now Time) (o Departure, copied *tofinoPkt) {
	draw := int64(0)
	if s.QCN {
		draw = s.rng.below(16)
	}
	if p.sample != nil {
		return s.notify(p, draw), nil
	}
	if p.card != nil {
		f := (&Switch{Features: s.Features, cfg: s.cfg}).postcard(p.frame, p.card)
		o.Data, o.Elided = s.bytes(f), f.elided
		return o, nil
	}
	if p.warns != nil {
		s.drawForCopies()
		return s.writeWarning(p), nil
	}
	if p.kicks != nil {
		return s.writeKick(p), nil
	}
	queue := uint32(behind * manifest.CellBytes)
	if s.QCN {
		if copied = s.sampleQueue(p, s.size(p.frame), Bytes(queue)); copied != nil {
			o.Cloned, o.Session = true, s.numbered(p.inPort)
		}
	}
	if s.INT {
		s.record(p, s.size(p.frame), behind, now)
	}
	clock, departed := uint32(now), uint32(0)
	if s.RLB {
		clock &^= uint32(s.PathCells - 1) // the lowest bits are for paths
		p.way = p.path
	}
	due := s.QOut && (!s.RLB && p.way >= 0 || p.hop == toChoice) && s.tell(p, clock)
	if s.RLB {
		departed = s.leave(p, clock)
	}
	if copied == nil && due || departed != 0 { // a packet is copied once
		s.note("queue told")
		copied = &tofinoPkt{told: &told32{p.way, p.class, queue, p.hop, s.numbered(p.inPort), departed, p.last, nil}}
		o.Cloned, o.Session = true, feedbackSession
	}
	if s.CONGA && !s.RLB {
		s.carry(p)
	}
	if s.CONGA {
		s.raise(p, length, uint32(now))
	}
	if s.PLB {
		var wait *toldWait
		if o.Drop, wait = s.leavePLB(p, length, ahead, behind, waited, clock); wait != nil {
			s.note("queue told")
			copied = &tofinoPkt{told: &told32{class: p.class, wait: wait}}
			o.Cloned, o.Session = true, feedbackSession
		}
	}
	if s.PBFS {
		marked := p.bth != nil && p.ip.dscp()&1 == 1 && !p.probe // a probe is a copy
		count := &s.pbfs[p.outPort]
		arriving, first, recent, recentMarked := count.Packet(uint32(now), uint32(length), queue, marked)
		// A packet is copied once: what ingress is told goes first.
		if k := s.cfg.Capacity[p.outPort]; k.Mbps != 0 && marked && copied == nil && count.Congested(arriving, first, uint32(k.BDP)) {
			s.note("postcard")
			s.postcards[p.outPort]++
			o.Cloned, o.Session = true, s.numbered(p.inPort)
			copied = &tofinoPkt{card: &message{mbps: k.Mbps, postcard: model.Postcard{Ip: Bytes(arriving), Q1: Bytes(first),
				RecentBytes: Bytes(recent), RecentMarkedBytes: Bytes(recentMarked)}}}
		}
	}
	s.mark(p, ahead, behind, waited)
	o.Data, o.Elided = s.bytes(p.frame), p.elided
	return o, copied
}

// numbered is the number that the topology has for a port; 0 for one that it
// does not have.
func (s *tofinoSwitch) numbered(port int) int {
	if port < s.Ports {
		return port
	}
	return 0
}

// tell reports whether ingress is to hear of a queue again.
func (s *tofinoSwitch) tell(p *tofinoPkt, now uint32) bool {
	last := &s.toldAt[p.outPort*8+p.class]
	if now-*last <= model.TofinoTellAgain {
		return false
	}
	*last = now
	return true
}

// mark sets ECN's CE.
func (s *tofinoSwitch) mark(p *tofinoPkt, ahead, behind int64, waited Time) {
	capable := p.ip != nil && p.ip.ecn() != 0 && p.ip.b[0]&0xf == 5
	ce := false
	switch {
	case s.PCN:
		ce = model.TofinoNPECN(uint32(waited), uint32(ahead), s.cellTime(p.outPort), uint32(behind))
	case s.RED:
		r, ok := s.cfg.RED[p.outPort]
		if !ok {
			r = s.cfg.REDDefault
		}
		draw := uint32(s.rng.below(1 << 32))
		ce = model.TofinoRED{KMin: uint32(r.KMin), KMax: uint32(r.KMax), Ramp: uint32(r.Ramp)}.Marks(uint32(behind), draw)
	}
	if ce && capable {
		s.note("mark")
		p.ip.b[1] |= 3
		p.ip.update(nil)
	}
}

// cellTime is the least power of two of nanoseconds that a cell takes on a
// port's link, where that has one of the usual rates.
func (s *tofinoSwitch) cellTime(port int) uint32 {
	for _, rate := range usualRates {
		if int64(manifest.Quantum(tofinoUnits, rate)) == s.cfg.Quantum[port] {
			t := uint32(1)
			for vtime.Time(t)*vtime.Nanosecond < rate.TxTime(manifest.CellBytes) {
				t *= 2
			}
			return t
		}
	}
	return 0
}
