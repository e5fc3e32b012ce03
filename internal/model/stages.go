// SPDX-License-Identifier: Apache-2.0

package model

// Ingress takes a packet from a link or from the recirculation port to its
// queue. copied is the message that it causes, if any.
func (s *Switch) Ingress(p *Packet) (o Outcome, copied *Packet) {
	s.Now = p.Now
	p.ends, p.Again, p.Resubmit, p.Meta, p.Outcome = false, false, false, map[string]int64{}, &o
	if s.Tofino {
		s.ingressTofino(p, &o)
	} else {
		s.ingress(p, &o)
	}
	return o, s.copyOf(p)
}

// run has all features do what they do at a stage.
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

// ingress is that of v1model.
func (s *Switch) ingress(p *Packet, o *Outcome) {
	recirculates := s.Is("recirculation")
	if p.Passes > 0 {
		*s.Cell("recirc_returned", 0) = p.mark
	}
	if (recirculates || s.Is("shared_buffer")) && p.InPort >= s.Ports {
		p.InPort = 0 // the controller's packets count at none of the ports
	}
	o.Drop = true

	// What neighbours say.
	if p.PFC != nil {
		s.hearPFC(p)
		return
	}
	if _, known := s.Config.Neighbour(p.InPort); !known && (p.Local != nil || p.Fabric != nil) {
		return
	}
	if s.run(Hear, p); p.ends {
		return
	}

	// Where to.
	p.Route, p.Hop = s.Config.lookup(p.destination())
	if p.Hop == Nowhere {
		return
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
	if s.run(Routed, p); p.ends {
		return
	}

	// The ingress queue.
	if s.Is("ingress_qlen") && p.Passes == 0 {
		s.count(p)
	}

	// Which way.
	if p.Hop == ToChoice {
		if s.Is("hash") {
			p.Hash = p.fiveTuple()
		}
		s.choose(p)
		s.run(Rethink, p)
	}
	if !p.Again {
		s.run(Hold, p)
	}
	if p.Again { // to the recirculation port
		sent := s.Cell("recirc_sent", 0)
		*sent = Mod32(*sent + p.Length)
		p.mark = *sent
		p.Passes++
		p.OutPort = s.Recirculate
	} else {
		s.settle(p)
	}
	if s.Config.forwards(p.OutPort) {
		o.Drop, o.Port, o.Class = false, p.OutPort, p.Class
	}
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

// settle is what is due to a packet that has its port and does not pass again.
func (s *Switch) settle(p *Packet) {
	if p.Hop == ToChoice && s.Is("fabric") && s.Config.Leaf >= 0 && p.Fabric == nil {
		s.putOn(p)
	}
	s.run(Leave, p)
	if s.Is("egress_qlen") && (p.Hop == ToChoice || s.AllPorts) {
		p.charged = p.Length
		*s.Cell("egress_qlen", s.Out(p)) += p.Length
	}
}

// putOn writes the header to another leaf. Unless it carries something for
// every packet, a header with nothing to say is left out.
func (s *Switch) putOn(p *Packet) {
	p.Fabric = Fields{"src_leaf": s.Config.Leaf, "path": int64(p.Path)}
	s.run(Write, p)
	if !s.EveryPacket && p.Fabric["stamped"] == 0 && p.Fabric["echoed"] == 0 || s.Config.Leaf < 0 {
		p.Fabric = nil
	}
}

// copyOf makes the copy of a packet that became a message.
func (s *Switch) copyOf(p *Packet) *Packet {
	m := p.message
	if m == nil {
		return nil
	}
	p.message = nil
	c := m.Packet
	if c == nil {
		c = &Packet{message: m, InPort: p.InPort, Keep: map[string]int64{}}
	}
	if c.Session, c.Head = m.Session, m.Head; !s.Tofino {
		c.Frame = s.Parse(p.asCame, p.Elided)
	}
	return c
}

// Egress takes a packet from its queue to the link. copied is the message that
// it causes.
func (s *Switch) Egress(p *Packet) (o Departure, copied *Packet) {
	s.Now = p.Left
	p.ends, p.Meta, p.reports, p.report = false, map[string]int64{}, false, nil
	p.Link = p.Queue.Port
	if s.Tofino {
		p.Link = p.OutPort
	}
	recirculates := s.Recirculate != 0 && p.Queue.Port == s.Recirculate || s.Tofino && p.Queue.Port == Recirculation
	s.run(Begin, p)
	switch {
	case recirculates:
		p.Now, o.Recirculate = p.Left, true
		return o, nil
	case p.message != nil:
		s.Stages(Registered(p.message.Of))[Rewrite](s, p)
		o.Drop = p.ends
		return s.finish(p, o), nil
	}
	p.FrameLen = s.Size(p.Frame)
	if !s.Tofino {
		p.asCame, p.Whole = s.Bytes(p.Frame), p.FrameLen
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
		p.Request(&Message{Session: FeedbackSession, Head: append([]byte{1, byte(p.Class)}, p.report...),
			Packet: &Packet{Reported: p.Meta, Class: p.Class}})
	}
	s.run(Last, p)
	o.Drop = p.ends
	copied = s.copyOf(p)
	return s.finish(p, o), copied
}

// finish puts the packet on the wire.
func (s *Switch) finish(p *Packet, o Departure) Departure {
	if o.Drop && !s.Tofino || p.Frame == nil { // a Tofino copies what it drops
		return o
	}
	o.Data, o.Elided = s.Bytes(p.Frame), p.Elided
	if p.limit > 0 {
		o.Cut(p.limit)
	}
	return o
}

// Idle notes that time has passed.
func (s *Switch) Idle(now Time) {
	s.Now = now
	s.run(Idle, nil)
}
