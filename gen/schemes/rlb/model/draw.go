// SPDX-License-Identifier: Apache-2.0

package rlb

import "github.com/pauseless/pauseless/internal/model"

// What random cases have of RLB.

var arguments = map[string]func(*model.Drawer, model.Args) int64{
	"predict.floor":   func(g *model.Drawer, _ model.Args) int64 { return g.UpTo(g.Scale) },
	"predict.warn_at": func(g *model.Drawer, _ model.Args) int64 { return g.Scale/2 + g.UpTo(g.Scale) },
	"predict.xoff":    func(g *model.Drawer, _ model.Args) int64 { return g.Scale + g.UpTo(g.Scale) },
	"predict.margin":  func(g *model.Drawer, _ model.Args) int64 { return g.UpTo(g.Scale) },
	"predict.calm_part": func(g *model.Drawer, _ model.Args) int64 {
		return model.Pick(g, 512, 512, 1024, g.UpTo(1024))
	},
	"predict.alpha_shift":   model.AlphaShift,
	"Stoprecir.alpha_shift": model.AlphaShift,
	"Stoprecir.shared":      model.SharedSize,
	"cnm_out.hold_byte":     func(g *model.Drawer, _ model.Args) int64 { return model.Pick(g, 102, g.UpTo(1024)) },
	"Compath.pass_time": func(g *model.Drawer, _ model.Args) int64 {
		if g.Reroutes() {
			return 1 + g.UpTo(g.Pace/4)
		}
		return 1 + g.UpTo(2*g.Pace)
	},
	"Compath.byte_time": func(g *model.Drawer, _ model.Args) int64 {
		if g.Reroutes() {
			return g.UpTo(300)
		}
		return model.Pick(g, 82, 205, 8192, g.UpTo(10_000))
	},
	"Compath.fresh": func(g *model.Drawer, _ model.Args) int64 {
		if g.Reroutes() {
			return model.Pick(g, 1<<31, 1<<31, 2*g.Pace)
		}
		return model.Pick(g, 2*g.Pace, 1<<31, g.UpTo(4*g.Pace))
	},
	"Stoprecir.most": func(g *model.Drawer, _ model.Args) int64 {
		return model.Pick(g, 1, 3, 64, 64*model.Bit(g.Reroutes()))
	},
	"Stoprecir.xoff": func(g *model.Drawer, _ model.Args) int64 {
		if g.Theme == model.Waiting {
			return 4*g.Scale + g.UpTo(4*g.Scale)
		}
		return g.UpTo(2 * g.Scale)
	},
	"Stoprecir.inflow": func(g *model.Drawer, _ model.Args) int64 {
		if g.Theme == model.Waiting {
			return g.UpTo(2000)
		}
		return model.Pick(g, 71_680, g.UpTo(100_000))
	},
	"Stoprecir.per_mtu": func(g *model.Drawer, a model.Args) int64 {
		a["mtu"] = 64 + g.UpTo(1500) // the model divides
		return (1<<32 + a["mtu"] - 1) / a["mtu"]
	},
	"Stoprecir.average": func(g *model.Drawer, _ model.Args) int64 {
		return model.Pick(g, 0, 256, 512, g.UpTo(2048)) >> (8 * model.Bit(g.Tofino)) // a whole number there
	},
}

var registers = map[string]model.Register{
	"sampled_at": {Theme: model.Predicting}, "sampled_qlen": {Theme: model.Predicting}, "sampled_room": {Theme: model.Predicting}, "calm_qlen": {Theme: model.Predicting}, "warning_on": {Theme: model.Predicting},
	"warned_until": {Theme: model.Rerouting, Shares: []int{2, 2, 4}, // some paths shall be free
		Draw: func(g *model.Drawer, _ int) int64 {
			return g.Now + g.Near(20_000, 0, g.Pace) - model.Pick[model.Time](g, 0, 0, 3_000)
		},
		Same: func(*model.Switch, int, func(string, int) int64) bool { return true }}, // see warned
	"warned":     warnedRow("warned", func(_ *model.Switch, i int) int { return i }),
	"warned_all": warnedRow("warned_all", func(s *model.Switch, _ int) int { return s.Leaves }),

	"departed.bytes":   {Draw: func(g *model.Drawer, _ int) int64 { return model.Mod32(-g.UpTo(5000)) }},
	"warned.paths":     {Draw: drawHeard, Theme: model.Rerouting, Shares: []int{4, 8}},
	"warned.since":     {Draw: drawSince, Theme: model.Rerouting, Shares: []int{4, 8}},
	"warned_all.paths": {Draw: drawHeard},
	"warned_all.since": {Draw: drawSince},
}

// warnedRow is a register of the paths that were warned of, in a row of
// warned_until. The program forgets a warning that has run out when it next
// looks.
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

// drawHeard draws what is heard on a Tofino: warned paths, and slow ones of up
// to three classes; drawSince when its window began.
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

// scene is about one of the thresholds of the prediction.
func scene(g *model.Drawer, s *model.Scene) {
	if g.Is("shared_buffer") {
		movingScene(g, s)
		return
	}
	calm, q := int64(0), s.After
	p := model.Args{"floor": 1 << 30, "warn_at": 1 << 30, "xoff": q + g.UpTo(g.Scale), "horizon": g.Pace}
	s.Set("sampled_at", g.Now-g.Pace)
	switch g.R.IntN(7) {
	case 0: // Q_PFC is reached at the horizon
		p["floor"] = g.UpTo(1000)
		s.Set("sampled_qlen", g.Beside(2*q-p["xoff"]))
	case 1:
		p["warn_at"] = g.Beside(q)
	case 2:
		p["floor"], p["horizon"] = g.Beside(q), 1<<30
	case 3: // it grows, or does not
		p["floor"], p["xoff"] = 0, g.Beside(q)
		s.Set("sampled_qlen", g.Beside(q))
	case 4:
		calm = g.Beside(s.Before)
		s.Set("warning_on", 1)
	}
	g.Config.Tables["Readqlen"][s.Queue] = model.Args{"interval": model.Pick(g, g.Pace, g.Pace, g.Pace+1), "calm": calm}
	g.Config.Tables["predict"][s.Queue] = p
}
