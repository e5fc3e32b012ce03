// SPDX-License-Identifier: Apache-2.0

package rlb

import "github.com/pauseless/pauseless/internal/model"

// How registers are drawn, and compared with the model.

var registers = map[string]model.Register{
	"warned_until": {
		Init: func(*model.Switch, int) int64 { return 0 },
		Same: func(*model.Switch, int, func(string, int) int64) bool { return true }}, // see warned
	"warned":     warnedRow("warned", func(_ *model.Switch, i int) int { return i }),
	"warned_all": warnedRow("warned_all", func(s *model.Switch, _ int) int { return s.Leaves }),

	"departed.bytes":   {Draw: func(g *model.Drawer, _ int) int64 { return model.Mod32(-g.UpTo(5000)) }},
	"warned.paths":     {Draw: drawHeard},
	"warned.since":     {Draw: drawSince},
	"warned_all.paths": {Draw: drawHeard},
	"warned_all.since": {Draw: drawSince},
}

// warnedRow is a register of the warned paths in a row of warned_until. The program
// removes an expired warning at its next access.
func warnedRow(register string, row func(s *model.Switch, i int) int) model.Register {
	return model.Register{
		Draw: func(*model.Drawer, int) int64 { return 0 },
		Get: func(s *model.Switch, i int) (int64, bool) {
			paths := make([]bool, s.PathCells)
			for p := range paths {
				paths[p] = *s.Cell("warned_until", row(s, i)*s.PathCells+p) != 0
			}
			return model.Mask(paths), true
		},
		Same: func(s *model.Switch, i int, cell func(string, int) int64) bool {
			for p, on := range model.Unmask(cell(register, i), s.PathCells) {
				k := row(s, i)*s.PathCells + p
				until := *s.Cell("warned_until", k)
				if on = on && int32(cell("warned_until", k)-s.Now) > 0; on != (s.Now < until) || on && model.Mod32(until) != cell("warned_until", k) {
					return false
				}
			}
			return true
		}}
}

// drawHeard draws the warned paths on a Tofino, and slow ones of up to three classes.
// drawSince draws the start of their window.
func drawHeard(g *model.Drawer, _ int) int64 {
	v := int64(0)
	for part := range 1 + SlowClasses {
		v |= int64(g.R.IntN(1<<g.PathCells)&g.R.IntN(1<<g.PathCells)) << (part * g.PathCells)
	}
	return v
}

func drawSince(g *model.Drawer, _ int) int64 {
	return g.Now - g.UpTo(model.Pick[int64](g, 18_000, 60_000))
}
