// SPDX-License-Identifier: Apache-2.0

// Package caver models CAVER: Deng et al., "CAVER: Enhancing RDMA Load Balancing by
// Hunting Less-Congested Paths", poster at SIGCOMM 2024, with the authors' programs for
// Tofino (CAVER-LB/CAVER-P4).
//
// Readings: paths are kept for each leaf, where the programs keep them for each host; a
// spine has one link to a leaf, so that it has nothing to choose; the load of a link is
// that of all its packets, where the programs count data.
package caver

import "github.com/pauseless/pauseless/internal/model"

// slots is the size of the ring of a leaf's paths.
const slots = 32

func init() {
	port := model.Register{Draw: func(g *model.Drawer, _ int) int64 { return g.UpTo(int64(g.Ports)) }}
	model.Add(model.Scheme{Name: "caver", EveryPacket: true,
		BTH:       func(f *model.Frame, port int) bool { return port == model.PortRoCE || f.Marked() },
		Transport: (*model.Drawer).RoCE,
		Base:      &model.Base{Choose: choose},
		Header:    "congestion:8",
		Fill: func(g *model.Drawer, h model.Fields) {
			h["congestion"] = model.Pick(g, g.UpTo(full), min(g.Arg("caver", "accept"), full), g.UpTo(parts-1)*full/parts) // on the limit, beside a load of 100; steps of a Tofino
		},
		Limits:  map[string]int64{"caver.accept": 1000, "caver.depth": slots},
		Special: map[string]int64{"caver.accept": 120}, // other draws are so low that only the best path is good enough
		Registers: map[string]model.Register{
			"caver_best":      port,
			"caver_paths":     port,
			"caver_best_load": {Draw: func(g *model.Drawer, _ int) int64 { return model.Pick(g, g.UpTo(full), 100) }},
			"caver_next":      {Draw: func(g *model.Drawer, _ int) int64 { return g.UpTo(slots - 1) }},
			"caver_count":     {Draw: func(g *model.Drawer, _ int) int64 { return g.UpTo(slots) }},
			// On a Tofino.
			"caver_best.load":   {Draw: func(g *model.Drawer, _ int) int64 { return model.Pick(g, g.UpTo(full), 100) }},
			"caver_best.port":   {Draw: func(g *model.Drawer, _ int) int64 { return g.UpTo(int64(g.Ports) - 1) }},
			"caver_limit":       {Draw: func(g *model.Drawer, _ int) int64 { return model.Pick(g, g.UpTo(full), 120, g.UpTo(parts)*full/parts) }},
			"caver_stack.count": {Draw: func(g *model.Drawer, _ int) int64 { return g.UpTo(slots) }},
			"caver_stack.next":  {Draw: func(g *model.Drawer, _ int) int64 { return g.UpTo(2 * slots) }},
		},
		V1model: model.Stages{model.Learn: learn, model.Routed: func(s *model.Switch, p *model.Packet) {
			if p.Fabric != nil && p.Syndrome() >= 0 {
				raise(s, p)
			}
		}},
		Tofino: model.Stages{model.Read: tell, model.Depart: report, model.Hear: hear}})
}

// full is the load of a full link in a header.
const full = 255

// raise puts the load of the link that an acknowledgement came by, in the other
// direction, into its header, if it is higher.
func raise(s *model.Switch, p *model.Packet) {
	p.Fabric["congestion"] = max(p.Fabric["congestion"], min(s.LinkLoad(p.InPort, p.Now)>>8, full))
}

// A stack has the ports of paths that were found and that no flowlet has taken.
type stack struct {
	next, count *int64
	paths       func(slot int64) *int64
}

func stackOf(s *model.Switch, leaf int64) stack {
	return stack{s.Cell("caver_next", int(leaf)), s.Cell("caver_count", int(leaf)), func(slot int64) *int64 {
		return s.Cell("caver_paths", int(leaf*slots+slot))
	}}
}

// push adds a path. Of more than depth, the oldest ones are lost.
func (t stack) push(port, depth int64) {
	*t.paths(*t.next) = port
	*t.next, *t.count = (*t.next+1)%slots, min(*t.count+1, depth)
}

// pop takes the newest path.
func (t stack) pop() (port int64, ok bool) {
	if *t.count == 0 {
		return 0, false
	}
	*t.count--
	*t.next = (*t.next + slots - 1) % slots
	return *t.paths(*t.next), true
}

// Acceptable reports whether a path with a load is good enough beside the best one: its
// load is below a share of the best one's, in per cent.
func Acceptable(load, best, percent int64) bool { return load*100 < best*percent }

// learn is the sender's leaf, for an acknowledgement. A path is good if its load is at
// most that of the best one; the best one's own load is taken as it is.
func learn(s *model.Switch, p *model.Packet) {
	leaf := p.Fabric["src_leaf"]
	if p.Syndrome() < 0 || leaf >= int64(s.Leaves) {
		return
	}
	raise(s, p)
	load, port := p.Fabric["congestion"], int64(p.InPort)+1
	best, least := s.Cell("caver_best", int(leaf)), s.Cell("caver_best_load", int(leaf))
	if *best == 0 || *best == port || load <= *least {
		*best, *least = port, load
	}
	if !Acceptable(load, *least, s.Setting("caver", "accept")) {
		port = *best
	}
	stackOf(s, leaf).push(port, s.Setting("caver", "depth"))
}

// choose is the sender's leaf, for data.
func choose(s *model.Switch, p *model.Packet) model.Path {
	if s.Tofino {
		return chooseOnTofino(s, p)
	}
	byHash := s.HashPath(p)
	f := s.Flowlet(p)
	active := f.Active(p.Now, s.Setting("flowlet", "gap"))
	*s.Cell("flowlet_time", s.Flow(p)) = p.Now
	switch {
	case !p.IsData():
		return byHash
	case active:
		return f.Path
	}
	path := byHash
	if port, ok := stackOf(s, p.Leaf).pop(); ok {
		if q := port - 1 - int64(p.First); port != 0 && q >= 0 && q < int64(p.Paths) {
			s.Note("a path that was found")
			path = model.Path(q)
		}
	}
	return s.SetFlowlet(p, path)
}
