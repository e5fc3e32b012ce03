// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// architecture connects a program to the rest of the switch.
type architecture interface {
	machine() *interp.Machine
	// fetch has the processor fetch the architecture itself.
	fetch()
	// arrive processes a received packet, from the parser to the queues.
	arrive(p *tm.Packet)
	// reenter processes a packet that egress recirculated.
	reenter(p *tm.Packet)
	// Egress processes a packet that leaves its queue now, up to the deparser.
	tm.Egress
}

// newArchitecture returns the architecture of the state's program.
func newArchitecture(s *Switch, st *interp.State) architecture {
	if st.Program.Architecture() == bmv2json.TNA {
		return newTNA(s, st)
	}
	return newV1Model(s, st)
}

// copyOf returns a packet with a copy of p's frame, charged to the same port. Its
// work is part of p's.
func (s *Switch) copyOf(p *tm.Packet) *tm.Packet {
	c := s.tm.Get()
	c.Frame = s.net.Frames().Clone(p.Frame)
	c.In, c.Class = p.In, p.Class
	c.MarkCopy(p)
	s.tm.Share(p, c)
	if s.followCopies {
		c.Frame.SetFlow(p.Frame.Flow())
	}
	if s.following(p.Frame) {
		s.tracer.before[c.Frame] = s.tracer.before[p.Frame]
		s.tracer.Copy(p.Frame, c.Frame)
	}
	return c
}

// internal reports whether the port with this index has no link.
func (s *Switch) internal(place int) bool {
	return s.inside[place]
}

// watchPort excludes members with this watch port from their groups, or
// includes them again.
func (s *Switch) watchPort(port int, up bool) {
	for _, p := range s.State().Profiles {
		p.EachGroup(func(g *interp.Group) {
			changed := false
			for i := range g.Members {
				if g.Members[i].Watch == port {
					g.Members[i].Down = !up
					changed = true
				}
			}
			if changed {
				g.Choose()
			}
		})
	}
}

var _ interface {
	Receive(port int, f *packet.Frame)
	Lock()
	Unlock()
	LinkChanged(port int, up bool)
	LosslessDrops() uint64
	Overflows() uint64
} = (*Switch)(nil) // methods that a fabric's node needs
