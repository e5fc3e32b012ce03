// SPDX-License-Identifier: Apache-2.0

// Package letflow models LetFlow: each flowlet takes a random path.
package letflow

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "letflow", Base: &model.Base{Choose: choose, Next: model.AnotherDraw, Rerouted: model.FollowFlowlet, Draws: 1}})
}

// Decide is LetFlow's whole decision: a new flowlet goes to a random path.
func Decide(f *model.Flowlet, now, gap model.Time, draw func() model.Path) model.Path {
	if !f.Active(now, gap) {
		f.Path = draw()
	}
	f.Valid, f.Last = true, now
	return f.Path
}

// choose decides for a packet. On a Tofino a path is drawn for every one.
func choose(s *model.Switch, p *model.Packet) model.Path {
	if s.Tofino {
		return s.FollowOrTake(p, s.BeginsFlowlet(p), model.Share(p.Drawn[0], p.Paths))
	}
	return s.SetFlowlet(p, Decide(s.Flowlet(p), p.Now, s.Setting("flowlet", "gap"), func() model.Path { return int(s.Below(int64(p.Paths))) }))
}
