// SPDX-License-Identifier: Apache-2.0

// Package drill models DRILL(2, 1): "chooses d random output ports out of N
// possible next-hop output ports for that packet, finds the one with the
// current minimum queue occupancy between these d samples and m least loaded
// samples from previous time slots, and sends the packet to that port. Finally,
// the engine updates the contents of its m memory units with the identities of
// the least loaded output ports" (DRILL, section 3.2).
package drill

import (
	"cmp"
	"slices"

	"github.com/pauseless/pauseless/internal/model"
)

func init() {
	model.Add(model.Scheme{Name: "drill",
		Base: &model.Base{Look: look, Choose: choose, Next: next, Second: second, Draws: 2, Early: true},
		Registers: map[string]model.Register{
			"drill_best":      {Draw: func(g *model.Drawer, _ int) int64 { return g.R.Int64N(int64(g.PathCells)) }},
			"drill_best.path": {Draw: func(g *model.Drawer, i int) int64 { return g.UpTo(int64(i % g.PathCells)) }},
		}})
}

// Shortest is the first of the candidates with the shortest queue: of the memory
// unit and the two samples, the new memory unit and the path of the packet. Among
// DRILL's candidates without the chosen one it is "the second shortest", which is
// RLB's suboptimal path.
//
// Reading: of equal queues the remembered port wins, then the first sample.
func Shortest(candidates []model.Path, queue func(model.Path) model.Bytes) model.Path {
	return slices.MinFunc(candidates, func(a, b model.Path) int { return cmp.Compare(queue(a), queue(b)) })
}

// shortest is Shortest of the queues of the packet's paths.
func shortest(s *model.Switch, p *model.Packet, candidates ...model.Path) model.Path {
	return Shortest(candidates, func(q model.Path) model.Bytes { return s.EgressQueue(p, q) })
}

// look draws two samples and updates the memory unit, for each arrival and for each
// packet that recirculated, since RLB needs a suboptimal path again.
func look(s *model.Switch, p *model.Packet) {
	if s.Tofino {
		return
	}
	a, b := s.Below(int64(p.Paths)), s.Below(int64(p.Paths))
	memory := s.Cell("drill_best", int(p.Leaf))
	best := *memory
	if best >= int64(p.Paths) { // there may be more paths to other hosts of the leaf
		best = a
	}
	p.Meta["best"], p.Meta["a"], p.Meta["b"] = best, a, b
	p.Meta["chosen"] = int64(shortest(s, p, candidates(p)...))
	if p.Passes == 0 || !s.Is("drill_once") {
		*memory = p.Meta["chosen"]
	}
}

// candidates are the memory unit as the packet found it, and the samples.
func candidates(p *model.Packet) []model.Path {
	return []model.Path{model.Path(p.Meta["best"]), model.Path(p.Meta["a"]), model.Path(p.Meta["b"])}
}

func choose(s *model.Switch, p *model.Packet) model.Path {
	if s.Tofino {
		return chooseOnTofino(s, p)
	}
	return model.Path(p.Meta["chosen"])
}

// chooseOnTofino compares the shorter sample with the queue that the remembered
// path had when it was last a sample: a register can be accessed once per packet.
func chooseOnTofino(s *model.Switch, p *model.Packet) model.Path {
	shorter := second(s, p)
	queue := uint32(s.EgressQueue(p, shorter))
	return s.WithBest("drill_best.qlen", "drill_best.path", s.PathCell(p.Leaf, p.Paths-1), func(best *model.Best) {
		if queue < best.Value || best.Path == uint32(shorter) {
			*best = model.Best{Value: queue, Path: uint32(shorter)}
		}
	})
}

// second is the shorter of the samples on a Tofino, drawn for each pass.
func second(s *model.Switch, p *model.Packet) model.Path {
	return shortest(s, p, model.Share(p.Drawn[0], p.Paths), model.Share(p.Drawn[1], p.Paths))
}

// next is the second shortest of the candidates; if none is free, the first
// free path in turn.
func next(s *model.Switch, p *model.Packet, free func(model.Path) bool) (model.Path, bool) {
	list := slices.DeleteFunc(candidates(p), func(q model.Path) bool { return !free(q) })
	if len(list) > 0 {
		return shortest(s, p, list...), true
	}
	return model.FirstFree(p, free)
}
