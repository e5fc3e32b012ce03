// SPDX-License-Identifier: Apache-2.0

// Package rps models random packet spraying: "for each packet, the switch
// chooses one of the equal-cost next hops at random" (Dixit et al., On the
// Impact of Packet Spraying in Data Center Networks, INFOCOM 2013, section II).
package rps

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "rps", Base: &model.Base{Choose: choose, Next: next, Draws: 1}})
}

// choose draws a path for each packet: on a Tofino, one of 256 parts.
func choose(s *model.Switch, p *model.Packet) model.Path {
	if s.Tofino {
		return model.Share(p.Drawn[0], p.Paths)
	}
	return model.Path(s.Below(int64(p.Paths)))
}

// next is another draw; if that is not free, the first free path in turn.
func next(s *model.Switch, p *model.Packet, free func(model.Path) bool) (model.Path, bool) {
	if q := model.Path(s.Below(int64(p.Paths))); free(q) {
		return q, true
	}
	return model.FirstFree(p, free)
}
