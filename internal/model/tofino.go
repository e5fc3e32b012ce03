// SPDX-License-Identifier: Apache-2.0

package model

import "github.com/pauseless/pauseless/internal/manifest"

// ingressTofino is ingress of a Tofino. It differs from v1model in its order. A
// packet that is dropped because of its sender or its port passes all stages. Where
// packets recirculate, random numbers of the base scheme are drawn for all packets.
func (s *Switch) ingressTofino(p *Packet) (to Queue, forwarded bool) {
	draw := func(early bool) {
		if s.Base.Draws > 0 && s.Base.Early == early && (s.RecirculationPort != 0 || s.Base.Always || p.Hop == ToChoice) {
			p.Drawn = nil
			for range s.Base.Draws {
				p.Drawn = append(p.Drawn, s.Below(256))
			}
		}
	}
	if p.Reported != nil {
		draw(true)
		s.run(Hear, p)
		draw(false)
		return Queue{}, false
	}

	// Only switches may send the header between leaves and messages. Such packets of
	// others are processed without them, and dropped.
	_, known := s.Entry("fabric_port", p.InPort)
	stranger := !known && (p.Local != nil || p.Fabric != nil)
	destination := p.destination()
	if stranger {
		p.Local, p.Fabric = nil, nil
		s.Note("stranger")
	}
	p.Route, p.Hop = s.Config.lookup(destination)
	p.Class, p.Length, p.OutPort = 0, 0, p.First
	switch {
	case p.IP != nil:
		p.Class, p.Length, p.Hash = int(p.IP["dscp"]>>3), p.IP["length"], p.FiveTuple()
	case p.ARP != nil:
		p.Length = 60
	}
	if p.Hop == ToHost {
		p.Tag = nil
	}

	draw(true)
	s.run(Count, p)
	draw(false)
	if p.Local != nil {
		if s.run(Hear, p); p.Ends {
			return Queue{}, false
		}
	}
	if p.Hop == Nowhere {
		return Queue{}, false
	}
	if s.run(Routed, p); p.Ends {
		return Queue{}, false
	}
	if p.Hop == ToHost && p.Fabric != nil {
		s.run(Learn, p)
	}
	if p.Hop == ToChoice {
		s.choose(p)
		s.run(Rethink, p)
	}
	s.run(Leave, p)
	if to = (Queue{p.OutPort, p.Class}); p.Again {
		to.Port = manifest.TofinoRecirculation
	}
	return to, !stranger && s.Config.Tables["Forward"][p.OutPort] != nil
}

// header reads the header between leaves in egress, or writes it.
func (s *Switch) header(p *Packet) {
	switch {
	case p.Hop == ToHost && p.Fabric != nil:
		s.run(Read, p)
		p.Fabric = nil
	case p.Hop == ToChoice && p.Fabric == nil && p.Local == nil && s.Is("fabric"):
		s.putOn(p)
	}
}
