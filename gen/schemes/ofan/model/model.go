// SPDX-License-Identifier: Apache-2.0

// Package ofan models Ofan, "a switch-based implementation" of "a destination-based
// rotation (DR) discipline": McClure et al., "Load Balancing for AI Training Workloads",
// arXiv 2507.21372.
//
// Readings: a destination is a leaf, its rotation takes the paths in their order, and
// begins with a random one. Short packets have a rotation of their own.
package ofan

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "ofan", Base: &model.Base{Choose: choose},
		Limits: map[string]int64{"ofan.longest": 1<<16 - 1}, // a Tofino's argument has 16 bits
		Registers: map[string]model.Register{"ofan_next": {
			Draw: func(g *model.Drawer, _ int) int64 { return g.R.Int64N(int64(g.PathCells) + 1) },
			Init: func(s *model.Switch, _ int) int64 {
				if s.Tofino {
					return model.NoPath
				}
				return 0
			},
		}}})
}

func choose(s *model.Switch, p *model.Packet) model.Path {
	kind := 0
	length := p.Length
	if s.Tofino { // it computes the length from the IP header
		length = 60
		if p.IP != nil {
			length = p.IP["length"] + 14
		}
	}
	if length > s.Setting("ofan", "longest") {
		kind = 1
	}
	cell := s.Cell("ofan_next", int(p.Leaf)*2+kind)
	if s.Tofino { // the path of the last packet
		if *cell >= int64(p.Paths)-1 {
			*cell = 0
		} else {
			*cell++
		}
		return model.Path(*cell)
	}
	return turn(cell, p.Paths, func() model.Path { return model.Path(s.Below(int64(p.Paths))) })
}

// turn returns the next path, and keeps the one after it, plus one. A rotation begins with
// a path that is drawn.
func turn(next *int64, paths int, draw func() model.Path) model.Path {
	path := model.Path(*next - 1)
	if *next == 0 || path >= paths {
		path = draw()
	}
	*next = int64(model.InTurn(path, paths)) + 1
	return path
}
