// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
)

// Frames returns the frames of a network whose switches run the program: those of its
// hosts or, if the network gives its links' MTU, of that length, with the headers that
// switches add. Hosts with the packets of papers are on links that carry Ethernet's
// standard frames. It returns an error if the hosts' frames exceed the links' MTU.
func (p *Program) Frames(t *topo.Topology, hosts *roce.Config) (topo.Frames, error) {
	frame, err := hosts.LargestFrame()
	if err != nil {
		return topo.Frames{}, err
	}
	if mtu := t.Switch.MTU; mtu > 0 {
		if over := frame - packet.EthernetLen - mtu; over > 0 {
			return topo.Frames{}, fmt.Errorf("hosts send packets of %d bytes, and switch.mtu of the network is %d: set hosts.mtu to at most %d, or raise switch.mtu", mtu+over, mtu, hosts.MTU-over)
		}
		frame = mtu + packet.EthernetLen
	}
	f := topo.Frames{Largest: frame + p.Growth.Sent, Added: p.Growth.Stored, Grows: p.Growth.Stored + p.Growth.Sent, Overhead: hosts.Overhead, Standard: hosts.MTU == roce.Papers.Defaults().MTU}
	if p.Growth.Copies {
		f.Copies = 1
	}
	return f, nil
}

// Growth is how a program makes frames longer and copies them.
type Growth struct {
	Stored int  // bytes of the headers that ingress adds, before a frame is stored
	Sent   int  // bytes of the headers that egress adds
	Copies bool // ingress clones frames to messages, which are charged to the frame's port
}

// growth reads what a program adds from its primitives: the sum of the headers that
// any of its actions makes valid. Those of messages count as well, though few frames
// have all of them.
func growth(p *bmv2json.Program) (g Growth) {
	length := make(map[string]int)
	types := make(map[string]int)
	for _, t := range p.HeaderTypes {
		bits := 8 * t.MaxLength
		if bits == 0 {
			for _, f := range t.Fields {
				bits += f.Width
			}
		}
		types[t.Name] = (bits + 7) / 8
	}
	for _, h := range p.Headers {
		length[h.Name] = types[h.Type]
	}
	for _, s := range p.HeaderStacks {
		length[s.Name] = types[s.Type] * s.Size
	}
	actions := make(map[int]*bmv2json.Action)
	for _, a := range p.Actions {
		actions[a.ID] = a
	}
	for _, pipe := range p.Pipelines {
		added := make(map[string]bool)
		visit := func(id int) {
			if actions[id] == nil {
				return
			}
			for _, op := range actions[id].Primitives {
				switch {
				case (op.Op == "add_header" || op.Op == "add_header_fast" || op.Op == "push") && len(op.Parameters) > 0:
					added[op.Parameters[0].Name] = true
				case strings.HasPrefix(op.Op, "clone_ingress"):
					g.Copies = true
				}
			}
		}
		for _, t := range pipe.Tables {
			for _, id := range t.ActionIDs {
				visit(id)
			}
		}
		for _, c := range pipe.ActionCalls {
			visit(c.ActionID)
		}
		sum := 0
		for name := range added {
			sum += length[name]
		}
		if pipe.Name == "ingress" {
			g.Stored += sum
		} else {
			g.Sent += sum
		}
	}
	return g
}
