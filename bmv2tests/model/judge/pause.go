// SPDX-License-Identifier: Apache-2.0

package judge

import "github.com/pauseless/pauseless/bmv2tests/model"

// hearPFC takes in a PFC frame. Only the lossless class is of interest.
func (s *Switch) hearPFC(p *pkt) {
	quantum, known := s.cfg.Quantum[p.inPort]
	if !known || p.pfc.opcode != 0x0101 || p.pfc.classes>>s.Lossless&1 == 0 {
		return
	}
	i := s.cell(p.inPort, s.Lossless)
	quanta := p.pfc.pause[s.Lossless]
	s.pausedUntil[i].Receive(quanta, model.Ratio{Num: quantum, Den: 1024}, p.now)
	s.mayPause[i] = true
	if s.PCN {
		s.resumes[i] = s.pausedUntil[i].Until
		s.expire(p.inPort, p.now)
	}
}

// expire lets a port go on whose pause is over: a RESUME says so, or its time
// has passed.
func (s *Switch) expire(port int, now Time) {
	i := s.cell(port, s.Lossless)
	if t := s.resumes[i]; t != 0 && t <= now {
		s.np[i].Resume(int64(s.queued[Queue{port, s.Lossless}]))
		if s.np[i].PN > 0 {
			s.note("held up by a pause")
		}
		s.resumes[i] = 0
	}
}

// hold has a packet for a paused port wait by recirculation, where the target
// cannot pause: no more than so often.
func (s *Switch) hold(p *pkt) {
	i := s.out(p)
	if s.pausedUntil[i].Paused(p.now) && p.passes < s.cfg.MaxHolds {
		s.note("hold")
		p.again = true
	}
}

// fastStart is PB-FS for a packet that has its port.
func (s *Switch) fastStart(p *pkt) {
	slot := s.cfg.slot(p.now)
	marked := p.bth != nil && p.ip.dscp()&1 == 1
	ring := s.ring[p.outPort]
	ring.Packet(slot, p.length, s.qOut[s.out(p)], marked)
	in := &s.slotIn[16*p.outPort+int(slot&15)]
	if *in != slot { // a ring has room for 16
		delete(ring, *in)
	}
	*in = slot
	capacity, known := s.cfg.Capacity[p.outPort]
	if !marked || !known {
		return
	}
	c, congested := ring.Congested(model.PBFS{N: 8, Recent: 2, BDP: capacity.BDP}, slot)
	if congested && p.request(&message{kind: postcardMessage, postcard: c, mbps: capacity.Mbps}) {
		s.note("postcard")
		s.postcards[p.outPort]++
	}
}

// sample is QCN's congestion point for a packet that has its port. One that
// makes a message already is no sample: the next one is.
func (s *Switch) sample(p *pkt) {
	i := s.out(p)
	point := &s.qcn[i]
	if point.Due(p.length) && p.message == nil {
		jitter := model.Ratio{Num: 55706 + s.rng.below(75366-55706+1), Den: 1 << 16} // 0.85 to 1.15
		level := point.Sample(s.cfg.QCN, s.qOut[i]+p.length, jitter)
		if level > 0 && p.bth != nil && p.bth[0] < 0x11 {
			s.note("feedback")
			p.request(&message{kind: feedbackMessage, feedback: level})
		}
	}
}
