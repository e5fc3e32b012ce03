// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"

	"github.com/pauseless/pauseless/internal/manifest"
)

// Ingress processes a packet from a link or from the recirculation port. It
// returns what is put into queues: a copy that becomes a message, if there is one,
// and the packet, or one for each port of a multicast group.
func (s *Switch) Ingress(p *Packet) (queued []*Packet) {
	s.Now, p.Digests = p.Now, nil
	ingress := s.ingress
	if s.Tofino {
		ingress = s.ingressTofino
	}
	for {
		p.Ends, p.Again, p.Resubmit, p.Meta, p.Queue, p.Group = false, false, false, map[string]int64{}, Queue{}, 0
		to, forwarded := ingress(p)
		queued = append(queued, s.copyOf(p, p.asCame)...)
		switch {
		case p.Group != 0:
			for _, port := range s.Config.Groups[p.Group] {
				each := *p
				each.Frame, each.OutPort, each.Queue.Port = s.Parse(s.Bytes(p.Frame)), 0, port
				queued = append(queued, &each)
			}
			return queued
		case !forwarded:
			return queued
		case !p.Resubmit:
			p.Queue = to
			return append(queued, p)
		}
		p.Frame, p.Resubmitted = s.Parse(p.asCame), true
	}
}

// run runs a stage of all features.
func (s *Switch) run(at Stage, p *Packet) {
	for _, x := range s.Schemes {
		if f := s.Stages(x)[at]; f != nil {
			f(s, p)
		}
	}
}

// destination is the address that a packet is routed by.
func (p *Packet) destination() int64 {
	switch {
	case p.IP != nil:
		return p.IP["dst"]
	case p.ARP != nil:
		return p.ARP["target"]
	case p.Local != nil:
		return p.Local["host"]
	}
	return 0
}

// ingress is that of v1model. It returns the queue of a packet that is not
// dropped.
func (s *Switch) ingress(p *Packet) (to Queue, forwarded bool) {
	recirculates := s.Is("recirculation")
	if p.Passes > 0 {
		*s.Cell("recirc_returned", 0) = p.mark
	}
	if (recirculates || s.Is("shared_buffer")) && p.InPort >= s.Ports {
		p.InPort = 0 // the controller's packets count at none of the ports
	}

	// Messages of neighbours.
	if p.PFC != nil {
		s.hearPFC(p)
		return Queue{}, false
	}
	if _, known := s.Entry("fabric_port", p.InPort); !known && (p.Local != nil || p.Fabric != nil) {
		return Queue{}, false
	}
	if s.run(Hear, p); p.Ends {
		return Queue{}, false
	}

	// The route.
	p.Route, p.Hop = s.Config.lookup(p.destination())
	if p.Hop == Nowhere {
		return Queue{}, false
	}
	p.OutPort = p.First
	if p.IP != nil && s.Classes == 8 {
		p.Class = int(p.IP["dscp"] >> 3)
	}
	if p.Hop == ToHost {
		if p.Fabric != nil {
			s.run(Learn, p)
		}
		p.Fabric, p.Tag = nil, nil
	}
	if s.run(Routed, p); p.Ends {
		return Queue{}, false
	}

	// The ingress queue.
	if s.Is("ingress_qlen") && p.Passes == 0 {
		s.count(p)
	}

	// The path.
	if p.Hop == ToChoice {
		if s.Is("hash") {
			p.Hash = p.FiveTuple()
		}
		s.choose(p)
		s.run(Rethink, p)
	}
	if !p.Again {
		if s.Is("pfc_emulated") {
			s.run(Meet, p)
		}
		s.run(Hold, p)
	}
	if p.Again { // to the recirculation port
		sent := s.Cell("recirc_sent", 0)
		*sent = Mod32(*sent + p.Length)
		p.mark = *sent
		p.Passes++
		p.OutPort = s.RecirculationPort
	} else {
		s.settle(p)
	}
	return Queue{p.OutPort, p.Class}, s.Config.Tables["Forward"][p.OutPort] != nil
}

// choose is line 2 of RLB's Algorithm 1, or all there is: the base scheme.
func (s *Switch) choose(p *Packet) {
	if s.Base.Look != nil {
		s.Base.Look(s, p)
	}
	if p.Passes == 0 {
		p.Path = s.Base.Choose(s, p)
	} else {
		s.Note("second pass") // it has its path
	}
	p.OutPort = p.First + p.Path
}

// settle is for a packet that has its port and does not recirculate.
func (s *Switch) settle(p *Packet) {
	if p.Hop == ToChoice && s.Is("fabric") && s.Config.Leaf >= 0 && p.Fabric == nil {
		s.putOn(p)
	}
	if !s.Is("pfc_emulated") {
		s.run(Meet, p)
	}
	s.run(Leave, p)
	if s.Is("egress_qlen") && (p.Hop == ToChoice || s.any(func(x *Scheme) bool { return x.AllPorts })) {
		p.charged = p.Length
		*s.Cell("egress_qlen", s.Out(p)) += p.Length
	}
}

// putOn writes the header to another leaf. Unless every packet has the header, it is
// omitted if it has no measurement.
func (s *Switch) putOn(p *Packet) {
	p.Fabric = Fields{"src_leaf": s.Config.Leaf, "path": int64(p.Path)}
	s.run(Write, p)
	every := s.any(func(x *Scheme) bool { return x.EveryPacket })
	if !every && p.Fabric["stamped"] == 0 && p.Fabric["echoed"] == 0 || s.Config.Leaf < 0 {
		p.Fabric = nil
	}
}

// copyOf returns the copy of a packet that becomes a message, if there is one and
// its session exists. On a Tofino, a header is before it, and it is truncated.
func (s *Switch) copyOf(p *Packet, data []byte) []*Packet {
	m := p.Message
	p.Message = nil
	if m == nil || s.Sessions[m.Session] == (Queue{}) {
		return nil
	}
	c := m.Packet
	if c == nil {
		c = &Packet{Message: m, InPort: p.InPort, Keep: map[string]int64{}}
	}
	if c.Queue, c.Raw = s.Sessions[m.Session], data; s.Tofino {
		c.Copy = slices.Concat(m.Head, data)
		c.Copy = c.Copy[:min(len(c.Copy), s.MirrorBytes)]
		c.Raw = c.Copy[len(m.Head):]
	}
	if c.Frame = (&Frame{Rest: c.Raw}); c.Reported == nil {
		c.Frame = s.Parse(c.Raw)
	}
	return []*Packet{c}
}

// Egress processes a packet that leaves its queue. It also returns a copy that
// becomes a message, if there is one.
func (s *Switch) Egress(p *Packet) (o Departure, copied []*Packet) {
	s.Now = p.Left
	p.Ends, p.Meta, p.reports, p.report = false, map[string]int64{}, false, nil
	if !s.Tofino {
		p.OutPort = p.Queue.Port
	}
	recirculates := s.RecirculationPort != 0 && p.Queue.Port == s.RecirculationPort || s.Tofino && p.Queue.Port == manifest.TofinoRecirculation
	s.run(Begin, p)
	switch {
	case recirculates:
		p.Now, o.Recirculate = p.Left, true
		return o, nil
	case p.Message != nil:
		s.Stages(Registered(p.Message.Of))[Rewrite](s, p)
		o.Drop = p.Ends
		return s.finish(p, o), nil
	}
	came := s.Bytes(p.Frame)
	p.FrameLen = Bytes(len(came))
	if !s.Tofino {
		p.Whole = p.FrameLen
		s.uncharge(p)
	} else {
		s.header(p)
	}
	s.run(Depart, p)
	if p.Counted != 0 {
		s.uncount(p)
	}
	if p.reports {
		s.Note("queue told")
		p.Request(&Message{Session: manifest.FeedbackSession, Head: append([]byte{1, byte(p.Class)}, p.report...),
			Packet: &Packet{Reported: p.Meta, Class: p.Class}})
	}
	s.run(Last, p)
	o.Drop = p.Ends
	o = s.finish(p, o)
	if s.Tofino {
		return o, s.copyOf(p, o.Data)
	}
	return o, s.copyOf(p, came)
}

// finish makes the bytes of the packet.
func (s *Switch) finish(p *Packet, o Departure) Departure {
	if o.Drop && !s.Tofino || p.Frame == nil { // a Tofino copies what it drops
		return o
	}
	o.Data = s.Bytes(p.Frame)
	if p.Limit > 0 {
		o.Data = o.Data[:min(len(o.Data), p.Limit)]
	}
	return o
}

// Idle sets the time.
func (s *Switch) Idle(now Time) {
	s.Now = now
	s.run(Idle, nil)
}
