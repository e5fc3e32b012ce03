// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// architecture is what stands between a program and the rest of the switch.
type architecture interface {
	machine() *interp.Machine
	// arrive takes a packet that came in by a port, from the parser to the
	// queues.
	arrive(p *tm.Packet)
	// reenter takes one that egress sent back.
	reenter(p *tm.Packet)
	// egress takes a packet from its queue to the deparser.
	egress(p *tm.Packet) tm.Verdict
}

// newArchitecture returns the architecture that the state's program is for.
func newArchitecture(s *Switch, st *interp.State) architecture {
	if st.Program.Architecture() == bmv2json.TNA {
		return newTNA(s, st)
	}
	return newV1Model(s, st)
}

// copyOf returns a packet with a copy of the frame of p, on the account of
// the same port.
func (s *Switch) copyOf(p *tm.Packet) *tm.Packet {
	c := s.tm.Get()
	c.Frame = s.net.Frames().Clone(p.Frame)
	c.In, c.Class, c.Passes = p.In, p.Class, p.Passes
	return c
}

// internal reports whether a port, by its place, has no link.
func (s *Switch) internal(place int) bool {
	return s.inside[place]
}

// watchPort takes members that watch a port in or out of the choice of their
// groups.
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
} = (*Switch)(nil) // what a fabric wants of a node
