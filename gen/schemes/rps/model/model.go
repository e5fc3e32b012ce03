// SPDX-License-Identifier: Apache-2.0

// Package rps models random packet spraying: "for each packet, the switch
// chooses one of the equal-cost next hops at random" (Dixit et al., On the
// Impact of Packet Spraying in Data Center Networks, INFOCOM 2013, section II).
package rps

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "rps", Base: &model.Base{Choose: choose, Next: model.AnotherDraw, Draws: 1}})
}

// choose draws a path for each packet: on a Tofino, one of 256 parts.
func choose(s *model.Switch, p *model.Packet) model.Path {
	if s.Tofino {
		return model.Share(p.Drawn[0], p.Paths)
	}
	return model.Path(s.Below(int64(p.Paths)))
}
