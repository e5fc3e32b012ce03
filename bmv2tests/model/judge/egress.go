// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/pauseless/pauseless/bmv2tests/model"
)

// egress takes a packet from its queue to the link. depth is the queue it
// leaves behind in the target's units. clone is the message that it causes.
func (s *Switch) egress(p *pkt, q Queue, enqueued, now Time, depth int64) (o Departure, clone *pkt) {
	switch {
	case p.message != nil:
		o.Drop = !s.write(p, q, now)
		return s.finish(p, o), nil
	case s.Recirculates && q.Port == s.RecircPort:
		p.now = now
		o.Recirculate = true
		return o, nil
	}
	length := s.size(p.frame) // with what ingress put on or took off

	if p.charged != 0 {
		i := s.out(p)
		s.qOut[i] = max(0, s.qOut[i]-p.charged)
		if depth == 0 {
			s.qOut[i] = 0 // the target knows: nothing is queued
		}
	}
	if s.DRE {
		s.load(p, q.Port, now, length)
		if s.PLB && p.fabric != nil && p.waits {
			p.fabric.tolerable = s.sojourn[s.out(p)].Dequeued(p.fabric.tolerable, enqueued, now, sojournShift)
		}
	}
	clone = s.leaveIngressQueue(p, &o)
	s.mark(p, q, now, depth)
	if s.INT {
		s.addRecord(p, q.Port, now, length, depth)
	}
	return s.finish(p, o), clone
}

// finish puts the packet on the wire.
func (s *Switch) finish(p *pkt, o Departure) Departure {
	if o.Drop {
		return o
	}
	o.Data, o.Elided = s.bytes(p.frame), p.elided
	if over := len(o.Data) + o.Elided - p.limit; p.limit > 0 && over > 0 {
		less := min(over, o.Elided)
		o.Elided -= less
		o.Data = o.Data[:len(o.Data)-(over-less)]
	}
	return o
}

// load counts a packet on the link, and writes what it carries of loads.
func (s *Switch) load(p *pkt, port int, now Time, length Bytes) {
	x := int64(0)
	if weight, known := s.cfg.LinkWeight[port]; known {
		s.dre[port].Packet(now, s.tau(), length, weight)
		x = s.dre[port].X
	}
	if h := p.fabric; h != nil {
		if s.CONGA {
			h.congestion = max(h.congestion, model.Quantize(x, 3))
		} else {
			h.load = max(h.load, min(x>>8, 255))
		}
	}
}

// leaveIngressQueue ends what the packet's ingress port was told.
func (s *Switch) leaveIngressQueue(p *pkt, o *Departure) (clone *pkt) {
	if p.counted == 0 {
		return nil
	}
	i := s.in(p)
	s.qIn[i] = max(0, s.qIn[i]-p.counted)
	var m *message
	if s.Emulated {
		s.paused[i].XON = p.xon
		if s.paused[i].Depart(s.qIn[i]) == model.ResumeFrame {
			s.note("resume")
			m = &message{kind: resumeMessage, class: p.class}
		}
	}
	if s.RLB {
		before := s.warner[i].Warned
		if s.warner[i].Depart(p.calm, s.qIn[i]+p.counted, s.qIn[i]) {
			if m == nil {
				s.note("warning taken back")
				m = &message{kind: calmMessage, class: p.class, calm: p.calm}
			} else {
				s.warner[i].Warned = before // one clone a packet
			}
		}
	}
	if m == nil {
		return nil
	}
	o.Cloned, o.Session = true, p.inPort
	return &pkt{frame: s.parse(s.bytes(p.frame), p.elided), message: m}
}

// mark sets ECN's CE. Packets with IP options are left alone: the program
// cannot compute their checksum.
func (s *Switch) mark(p *pkt, q Queue, now Time, depth int64) {
	capable := p.ip != nil && p.ip.ecn() != 0 && p.ip.b[0]&0xf == 5
	ce := false
	switch {
	case s.PCN:
		s.expire(q.Port, now)
		ce = s.np[s.cell(q.Port, p.class)].Transmit(depth) && capable
	case s.RED && capable && depth > 0:
		r, ok := s.cfg.RED[q.Port]
		if !ok {
			r = s.cfg.REDDefault
		}
		draw := s.rng.below(1 << 32)
		ce = model.RED(r).Marks(depth, draw)
	}
	if ce {
		s.note("mark")
		p.ip.b[1] |= 3
		p.ip.update(p.rest)
	}
}

// addRecord is in-band telemetry in HPCC's format: rate code, 24 bits of
// nanoseconds, 20 bits of units of 128 bytes, 16 bits of units of 80 bytes.
func (s *Switch) addRecord(p *pkt, port int, now Time, length Bytes, depth int64) {
	x := model.INTPort{TxBytes: s.txBytes[port]}
	h := x.Transmit(now, length, depth)
	s.txBytes[port] = x.TxBytes
	t, known := s.cfg.Telemetry[port]
	if p.int == nil || p.int.hops >= 5 || !known {
		return
	}
	ns := h.TS
	if s.Microseconds {
		ns *= 1000
	}
	cells := h.QLen
	if s.DepthBytes {
		cells = (cells + 79) / 80
	}
	s.note("telemetry")
	p.int.add(t, ns, h.TxBytes, cells)
}

// add adds a record.
func (x *telemetry) add(t TelemetryParams, ns Time, sent Bytes, cells int64) {
	x.hop[x.hops] = uint64(t.Rate)<<60 | uint64(ns&(1<<24-1))<<36 | uint64(sent>>7&(1<<20-1))<<16 | uint64(min(cells, 0xffff))
	x.hops++
	x.path ^= uint16(t.Switch)
}

// write makes a clone into its message, or reports that there is none for the
// port. What follows Ethernet is replaced; what the switch had not understood
// stays behind the message, as far as its length goes.
func (s *Switch) write(p *pkt, q Queue, now Time) bool {
	f, m := p.frame, p.message
	n := &frame{src: f.src, rest: f.rest, elided: f.elided}
	p.limit = 60
	switch m.kind {
	case warnMessage, calmMessage:
		if i := s.cell(q.Port, m.class); m.kind == calmMessage && s.Emulated && !s.warner[i].Tell(m.calm, s.qIn[i]) {
			s.note("warning stands")
			return false
		}
		c, ok := s.cfg.CNMOut[q.Port]
		if !ok {
			return false
		}
		n.dst, n.src, n.kind = 0x0180c200000e, c.MAC, typeLocal
		n.cnm = &cnm{int64(m.class), bit(m.kind == warnMessage), c.Hops, c.Switch, int64(q.Port), c.Scope, c.Hold}
	case pauseMessage, resumeMessage:
		n.dst, n.kind = 0x0180c2000001, typePFC
		n.pfc = &pfc{opcode: 0x0101, classes: 1 << m.class}
		if m.kind == pauseMessage {
			n.pfc.pause[m.class] = 0xffff
		}
	case kickMessage:
		n.dst, n.kind = 0x0180c200000e, typeLocal
		n.kick = &kick{path: int64(m.path), leaf: m.to, host: f.ip.src()}
	case probeMessage:
		n, p.limit = f, 64
		n.fabric = &fabric{srcLeaf: m.from, path: int64(m.path), stamped: true, stamp: mod32(now), dstLeaf: m.to, probe: 1, tolerable: 1<<32 - 1}
	case postcardMessage:
		n, p.limit = s.postcard(f, m), 14+20+8+28
	case feedbackMessage:
		n, p.limit = s.feedback(f, m), 14+20+8+32
	}
	p.frame = n
	return true
}

// postcard is PB-FS's message to the sender of a packet: it looks as if the
// receiver had sent it.
func (s *Switch) postcard(f *frame, m *message) *frame {
	n := &frame{dst: f.src, src: f.dst, kind: typeIPv4, ip: &ipv4{clone(f.ip.b)}, udp: clone(f.udp), rest: f.rest, elided: f.elided}
	copy(n.ip.b[12:16], f.ip.b[16:20])
	copy(n.ip.b[16:20], f.ip.b[12:16])
	n.ip.b[1] = 56 << 2
	be.PutUint16(n.ip.b[2:], 20+8+28)
	n.ip.update(nil)
	be.PutUint16(n.udp[2:], 54792)
	be.PutUint16(n.udp[4:], 8+28)
	be.PutUint16(n.udp[6:], 0)
	b := make([]byte, 28)
	b[0] = 1
	be.PutUint16(b[2:], uint16(s.cfg.PostcardID))
	copy(b[5:8], f.bth[5:8])
	for i, v := range []int64{m.postcard.Ip, m.postcard.Q1, m.mbps, m.postcard.RecentBytes, m.postcard.RecentMarkedBytes} {
		be.PutUint32(b[8+4*i:], uint32(v))
	}
	n.postcard = b
	return n
}

// feedback is QCN's message to the sender of a packet: a congestion
// notification packet of RoCEv2 (annex A17.9.3), as if from the receiver.
func (s *Switch) feedback(f *frame, m *message) *frame {
	n := &frame{dst: f.src, src: f.dst, kind: typeIPv4, ip: &ipv4{clone(f.ip.b)}, udp: clone(f.udp), bth: clone(f.bth), rest: f.rest, elided: f.elided}
	copy(n.ip.b[12:16], f.ip.b[16:20])
	copy(n.ip.b[16:20], f.ip.b[12:16])
	n.ip.b[1] = 48 << 2
	be.PutUint16(n.ip.b[2:], 20+8+32)
	n.ip.update(nil)
	be.PutUint16(n.udp[4:], 8+32)
	be.PutUint16(n.udp[6:], 0)
	n.bth[0], n.bth[1], n.bth[4] = 0x81, 0, 0x40
	clear(n.bth[8:])
	n.cnp = make([]byte, 20)
	n.cnp[4] = byte(m.feedback)
	binary.LittleEndian.PutUint32(n.cnp[16:], icrc(n.ip.b, n.udp, slices.Concat(n.bth, n.cnp[:16])))
	return n
}

// icrc is the invariant CRC of a RoCEv2 packet (annex A17.3.3): what switches
// may change counts as ones, and so do eight bytes before it.
func icrc(ip, udp, rest []byte) uint32 {
	ip, udp, rest = clone(ip), clone(udp), clone(rest)
	for _, masked := range []*byte{&ip[1], &ip[8], &ip[10], &ip[11], &udp[6], &udp[7], &rest[4]} {
		*masked = 0xff
	}
	return crc32.ChecksumIEEE(slices.Concat([]byte{255, 255, 255, 255, 255, 255, 255, 255}, ip, udp, rest))
}
