// SPDX-License-Identifier: Apache-2.0

package model

import "github.com/pauseless/pauseless/internal/manifest"

// What all programs for Tofino have in common and differ from v1model in: the
// order of ingress, the header between leaves that egress handles, and the
// copies by which egress tells ingress.

// Port and mirror session by which egress tells ingress, and packets
// recirculate.
const (
	Recirculation   = manifest.TofinoRecirculation
	FeedbackSession = manifest.FeedbackSession
)

// ingressTofino is ingress of a Tofino. A packet that is dropped for its sender
// or for its port passes all stages until then. Where packets recirculate, the
// base scheme's random numbers are drawn for all that ingress gets.
func (s *Switch) ingressTofino(p *Packet, o *Outcome) {
	o.Drop = true
	draw := func(early bool) {
		if s.Base.Draws > 0 && s.Base.Early == early && (s.Recirculate != 0 || s.Base.Always || p.Hop == ToChoice) {
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
		return
	}

	// Only switches may send what only switches understand. Their packet is
	// dropped, and taken for one without that until then.
	_, known := s.Config.Neighbour(p.InPort)
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
		p.Class, p.Length, p.Hash = int(p.IP["dscp"]>>3), p.IP["length"], p.fiveTuple()
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
		if s.run(Hear, p); p.ends {
			return
		}
	}
	if p.Hop == Nowhere {
		return
	}
	if s.run(Routed, p); p.ends {
		return
	}
	if p.Hop == ToHost && p.Fabric != nil {
		s.run(Learn, p)
	}
	if p.Hop == ToChoice {
		s.choose(p)
		s.run(Rethink, p)
	}
	s.run(Leave, p)
	switch {
	case stranger || !s.Config.forwards(p.OutPort):
		return
	case p.Resubmit:
		o.Again = true
	case p.Again:
		o.Port, o.Class = Recirculation, p.Class
	default:
		o.Port, o.Class = p.OutPort, p.Class
	}
	o.Drop = false
}

// header is what egress does about the header between leaves.
func (s *Switch) header(p *Packet) {
	switch {
	case p.Hop == ToHost && p.Fabric != nil:
		s.run(Read, p)
		p.Fabric = nil
	case p.Hop == ToChoice && p.Fabric == nil && p.Local == nil && s.Is("fabric"):
		s.putOn(p)
	}
}

// Copied says what a copy of a packet is that waits in a queue.
func (s *Switch) Copied(p *Packet, data []byte, elided int) {
	p.Raw = data
	if p.Frame = (&Frame{Rest: data, Elided: elided}); p.Reported == nil {
		p.Frame = s.Parse(data, elided)
	}
}
