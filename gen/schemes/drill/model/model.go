// SPDX-License-Identifier: Apache-2.0

// Package drill models DRILL(2, 1): "chooses d random output ports out of N
// possible next-hop output ports for that packet, finds the one with the
// current minimum queue occupancy between these d samples and m least loaded
// samples from previous time slots, and sends the packet to that port. Finally,
// the engine updates the contents of its m memory units with the identities of
// the least loaded output ports" (DRILL, section 3.2).
package drill

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "drill",
		Base: &model.Base{Look: look, Choose: choose, Next: next, Second: second, Draws: 2, Early: true},
		Registers: map[string]model.Register{
			"drill_best":      {Draw: func(g *model.Drawer, _ int) int64 { return g.R.Int64N(int64(g.PathCells)) }},
			"drill_best.path": {Draw: func(g *model.Drawer, i int) int64 { return g.UpTo(int64(i % g.PathCells)) }},
		}})
}

// DRILL is the one memory unit.
type DRILL struct {
	Best model.Path
}

// Packet chooses among two samples and the memory. queue is the occupancy of
// a path's egress port.
func (d *DRILL) Packet(sample1, sample2 model.Path, queue func(model.Path) model.Bytes) model.Path {
	d.Best = Shortest([]model.Path{d.Best, sample1, sample2}, queue)
	return d.Best
}

// Shortest is the first of the candidates that has the shortest queue, −1 if
// there are none. Among DRILL's candidates without the chosen one it is "the
// second shortest", which RLB takes for the suboptimal path.
//
// Reading: of equal queues the remembered port wins, then the first sample.
func Shortest(candidates []model.Path, queue func(model.Path) model.Bytes) model.Path {
	best := -1
	for _, c := range candidates {
		if best < 0 || queue(c) < queue(best) {
			best = c
		}
	}
	return best
}

// look draws two samples and updates the memory: for each arrival, and for a
// packet that comes back too, since RLB asks again for a suboptimal path.
func look(s *model.Switch, p *model.Packet) {
	if s.Tofino {
		return
	}
	a, b := s.Below(int64(p.Paths)), s.Below(int64(p.Paths))
	best := s.Cell("drill_best", int(p.Leaf))
	if *best >= int64(p.Paths) { // to other hosts of the leaf there may be more
		*best = a
	}
	p.Meta["best"], p.Meta["a"], p.Meta["b"] = *best, a, b
	d := DRILL{model.Path(*best)}
	*best = int64(d.Packet(int(a), int(b), func(q model.Path) model.Bytes { return s.EgressQueue(p, q) }))
}

func candidates(p *model.Packet) []model.Path {
	return []model.Path{model.Path(p.Meta["best"]), model.Path(p.Meta["a"]), model.Path(p.Meta["b"])}
}

func choose(s *model.Switch, p *model.Packet) model.Path {
	if s.Tofino {
		return chooseOnTofino(s, p)
	}
	return model.Path(*s.Cell("drill_best", int(p.Leaf)))
}

// chooseOnTofino goes by the queue that the remembered path had when it was last
// a sample: a register answers once per packet.
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
	a, b := model.Share(p.Drawn[0], p.Paths), model.Share(p.Drawn[1], p.Paths)
	return Shortest([]model.Path{a, b}, func(q model.Path) model.Bytes { return s.EgressQueue(p, q) })
}

// next is the second shortest of the candidates; if none is free, the first
// free path in turn.
func next(s *model.Switch, p *model.Packet, free func(model.Path) bool) (model.Path, bool) {
	var list []model.Path
	for _, q := range candidates(p) {
		if free(q) {
			list = append(list, q)
		}
	}
	if q := Shortest(list, func(q model.Path) model.Bytes { return s.EgressQueue(p, q) }); q >= 0 {
		return q, true
	}
	return model.FirstFree(p, free)
}
