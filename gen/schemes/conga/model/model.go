// SPDX-License-Identifier: Apache-2.0

// Package conga models CONGA, section 3: congestion-aware load balancing by
// flowlets.
package conga

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "conga", EveryPacket: true,
		Base:   &model.Base{Look: look, Choose: choose, Next: next, Second: second, Rerouted: model.FollowFlowlet, Draws: 1, Always: true},
		Header: "congestion:8 fed_path:8 fed_value:8",
		Fill: func(g *model.Drawer, h model.Fields) {
			h["congestion"], h["fed_path"], h["fed_value"] = g.UpTo(7), g.UpTo(int64(g.PathCells)), g.UpTo(7)
		},
		Registers: map[string]model.Register{
			"feedback_path":        {Draw: func(g *model.Drawer, i int) int64 { return g.R.Int64N(int64(g.PathsTo(int64(i)))) }},
			"feedback_due":         {Draw: func(g *model.Drawer, i int) int64 { return g.PathMask(g.PathsTo(int64(i))) }},
			"congestion_best.path": {Draw: func(g *model.Drawer, i int) int64 { return g.UpTo(int64(i % g.PathCells)) }},
		},
		V1model: model.Stages{model.Learn: learn, model.Write: feedBack, model.Depart: func(s *model.Switch, p *model.Packet) {
			if p.Fabric != nil {
				p.Fabric["congestion"] = max(p.Fabric["congestion"], Quantize(p.Meta["load"], 3))
			}
		}},
		Tofino: model.Stages{model.Learn: learnOnTofino, model.Read: readOnTofino, model.Write: feedBackOnTofino, model.Depart: raiseOnTofino}})
}

// Quantize returns X/Cτ in q bits: ⌊X·2^q / Cτ⌋, at most 2^q − 1.
func Quantize(x int64, q uint) int64 { return min(x>>(16-q), 1<<q-1) }

// A CongestionEntry is the metric of a path to a leaf, which that leaf fed back: a row
// of the Congestion-To-Leaf table.
type CongestionEntry struct {
	Metric int64
	At     model.Time // when it was received
}

// PathMetric is the congestion of a path: the larger of the local link's and that of
// the rest, which the other leaf reported. An old metric counts as zero (section 3.3,
// "Metric aging").
func PathMetric(local int64, remote CongestionEntry, now, aging model.Time) int64 {
	if now-remote.At > aging {
		return local
	}
	return max(local, remote.Metric)
}

// Decide is CONGA's decision for a packet (section 3.5): the first packet of a
// flowlet goes where the metric is smallest; "if multiple uplinks are equally
// good, one is chosen at random with preference given to the port cached in the
// (invalid) entry in the Flowlet Table".
//
// Reading: a random choice among equals is the first of them in turn, from a
// path drawn at random.
func Decide(f *model.Flowlet, now, gap model.Time, metric []int64, draw func() model.Path) model.Path {
	if !f.Active(now, gap) {
		least := model.Least(len(metric), draw(), func(p model.Path) int64 { return metric[p] })
		if !f.Valid || metric[f.Path] != metric[least] {
			f.Path = least
		}
	}
	f.Valid, f.Last = true, now
	return f.Path
}

// Feedback returns the path whose metric a leaf feeds back to another one, after
// last (section 3.3): round robin, "while favoring those metrics whose values
// have changed since the last time they were fed back". The paths are those of the
// other leaf, which may have more than the n of this one.
func Feedback(last model.Path, changed []bool, n int) model.Path {
	p := last
	for range changed {
		if p = model.InTurn(p, len(changed)); changed[p] {
			return p
		}
	}
	return model.InTurn(min(last, n-1), n)
}

// congestion is the metric of a path, in three bits.
func congestion(s *model.Switch, p *model.Packet, path model.Path) int64 {
	local, i := Quantize(s.LinkLoad(p.First+path, p.Now), 3), s.PathCell(p.Leaf, path)
	remote := CongestionEntry{*s.Cell("congestion_to", i), *s.Cell("congestion_time", i)}
	return PathMetric(local, remote, p.Now, s.Setting("flowlet", "age"))
}

func choose(s *model.Switch, p *model.Packet) model.Path {
	if s.Tofino {
		return s.FollowOrTake(p, s.BeginsFlowlet(p), model.Path(p.Meta["least"]))
	}
	metric := make([]int64, p.Paths)
	for i := range metric {
		metric[i] = congestion(s, p, i)
	}
	path := Decide(s.Flowlet(p), p.Now, s.Setting("flowlet", "gap"), metric, func() model.Path { return int(s.Below(int64(p.Paths))) })
	return s.SetFlowlet(p, path)
}

// next is the least congested of the free paths.
func next(s *model.Switch, p *model.Packet, free func(model.Path) bool) (model.Path, bool) {
	return model.LeastFree(p, free, func(q model.Path) int64 { return congestion(s, p, q) })
}

// learn reads the header at the destination leaf.
func learn(s *model.Switch, p *model.Packet) {
	h := p.Fabric
	src := h["src_leaf"]
	if src >= int64(s.Leaves) {
		return
	}
	if from, due := s.Cell("congestion_from", s.PathCell(src, int(h["path"]))), s.Cell("feedback_due", int(src)); *from != h["congestion"] {
		changed := model.Unmask(*due, s.PathCells)
		*from, changed[int(h["path"])&(s.PathCells-1)] = h["congestion"], true
		*due = model.Mask(changed)
	}
	if h["fed_path"] != 0 {
		i := s.PathCell(src, int(h["fed_path"]-1))
		*s.Cell("congestion_to", i), *s.Cell("congestion_time", i) = h["fed_value"], p.Now
	}
}

// feedBack writes the header at the source leaf.
func feedBack(s *model.Switch, p *model.Packet) {
	last, due := s.Cell("feedback_path", int(p.Leaf)), s.Cell("feedback_due", int(p.Leaf))
	changed := model.Unmask(*due, s.PathCells)
	fed := Feedback(model.Path(*last), changed, p.Paths)
	changed[fed] = false
	*last, *due = int64(fed), model.Mask(changed)
	p.Fabric["fed_path"], p.Fabric["fed_value"] = int64(fed+1), *s.Cell("congestion_from", s.PathCell(p.Leaf, fed))
}
