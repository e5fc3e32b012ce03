// SPDX-License-Identifier: Apache-2.0

package rlb

import "github.com/pauseless/pauseless/internal/model"

// Section IV for a packet: windows, the limit on recirculation, faults.

// windows is what section IV remembers beside the faulty paths.
type windows struct {
	Window
	FailureDetector
	share int64 // of window_passes, when a case begins: recirculations per packet, in quarters
}

func newWindows(s *model.Switch) any { return &windows{Window: Window{Start: s.Start()}} }

func windowsOf(s *model.Switch) *windows {
	w := model.Own[*windows](s, "rlb_adaptive")
	w.NRCNum, w.NRCDen = s.Setting("Stoprecir", "average"), 256
	return w
}

// avoidFaulty takes the next path in turn that is in use.
func avoidFaulty(s *model.Switch, p *model.Packet) {
	faulty := model.Unmask(*s.Cell("faulty", 0), s.PathCells)
	if !faulty[p.Path] {
		return
	}
	s.Note("faulty path avoided")
	if q, ok := model.FirstFree(p, func(q model.Path) bool { return !faulty[q] }); ok {
		p.Path, p.OutPort = q, p.First+q
	}
}

// mayRecirculate is section IV for a packet that would gain diff.
func mayRecirculate(s *model.Switch, p *model.Packet, trc, diff model.Time) bool {
	w := windowsOf(s)
	if since := model.Mod32(p.Now - w.Start); since >= w.Length {
		if port, found := w.Close(&w.Window, since < 2*w.Length); found {
			if path := port - p.First; path >= 0 && path < p.Paths {
				faulty := s.Cell("faulty", 0)
				*faulty |= 1 << (s.PathCells - 1 - path)
			}
			s.Note("fault")
			p.Digest(int64(port), p.Leaf, w.Passes, w.Packets)
		}
		inflow := model.Ratio{Num: s.Setting("Stoprecir", "inflow"), Den: 1024}.Times(trc)
		w.Window = Window{Start: p.Now, Length: trc, Budget: Eq5(qPFC(s, p), *s.Cell("ingress_qlen", s.In(p)), inflow, s.Setting("Stoprecir", "mtu"))}
	}
	switch {
	case w.Packets >= w.Budget:
		s.Note("denied by Eq. 5")
		return false
	case !Eq6(p.Keep["waited"], trc, diff):
		s.Note("denied by Eq. 6")
		return false
	case int64(p.Passes) >= s.Setting("Stoprecir", "most"):
		s.Note("denied by the limit")
		return false
	}
	p.Keep["waited"] += trc
	w.Recirculated(p.OutPort, int64(p.Passes)+1)
	return true
}

// qPFC is Q_PFC of Eq. 5: as it is set, or as it is now.
func qPFC(s *model.Switch, p *model.Packet) model.Bytes {
	if !s.Is("shared_buffer") {
		return s.Setting("Stoprecir", "xoff")
	}
	return s.Threshold(p, s.Setting("Stoprecir", "shared"), s.Setting("Stoprecir", "alpha_shift"))
}

// number is a register that is a number of the windows; the state has it. One
// without draw follows from others.
func number(at func(*windows) *int64, draw func(*model.Drawer, int) int64) model.Register {
	return model.Register{Draw: draw,
		Get: func(s *model.Switch, _ int) (int64, bool) { return *at(windowsOf(s)), true },
		Set: func(s *model.Switch, _ int, v int64) {
			if draw != nil {
				*at(windowsOf(s)) = v
			}
		}}
}

func follows(get func(w *windows, i int) (int64, bool)) model.Register {
	return model.Register{
		Draw: func(*model.Drawer, int) int64 { return 0 },
		Get:  func(s *model.Switch, i int) (int64, bool) { return get(windowsOf(s), i) }}
}

var windowRegisters = map[string]model.Register{
	"faulty": {Draw: func(g *model.Drawer, _ int) int64 {
		paths := g.MinPaths()
		if g.Tofino {
			paths = g.PathCells
		}
		return g.PathMask(paths)
	}},
	// A window that begins now would have to have ended: its length may be zero.
	"window_start":   number(func(w *windows) *int64 { return &w.Start }, func(g *model.Drawer, i int) int64 { return min(g.Past(i), g.Now-1) }),
	"window_length":  number(func(w *windows) *int64 { return &w.Length }, (*model.Drawer).Duration),
	"window_budget":  number(func(w *windows) *int64 { return &w.Budget }, func(g *model.Drawer, _ int) int64 { return g.R.Int64N(6) }),
	"window_packets": follows(func(w *windows, _ int) (int64, bool) { return w.Packets, true }),
	"window_passes": {Draw: func(g *model.Drawer, _ int) int64 { return 4 + g.R.Int64N(40) },
		Get: func(s *model.Switch, _ int) (int64, bool) { return windowsOf(s).Passes, true },
		Set: func(s *model.Switch, _ int, v int64) {
			w := windowsOf(s)
			w.share, w.Passes = v, w.Packets*v/4
		}},
	"port_passes": {
		Draw: func(g *model.Drawer, i int) int64 {
			if n := g.Config.Routes[0]; i < n.First || i >= n.First+n.Paths {
				return 0
			}
			return g.R.Int64N(4)
		},
		Get: func(s *model.Switch, i int) (int64, bool) { n := windowsOf(s).PerPort[i]; return n, n > 0 },
		Set: func(s *model.Switch, i int, v int64) {
			w := windowsOf(s)
			for range v {
				w.Recirculated(i, 1)
			}
			if w.share > 0 {
				w.Passes = w.Packets * w.share / 4
			}
		}},
	"port_window": follows(func(w *windows, i int) (int64, bool) { return w.Start, w.PerPort[i] > 0 }),
	"top_passes":  follows(func(w *windows, _ int) (int64, bool) { return w.PerPort[w.Top()], true }),
	"top_port":    follows(func(w *windows, _ int) (int64, bool) { return int64(w.Top()), w.Top() > 0 }),
	"suspect_port": {
		Draw: func(g *model.Drawer, _ int) int64 {
			if n := g.Config.Routes[0]; g.R.IntN(2) == 0 {
				return int64(n.First) + g.R.Int64N(int64(max(n.Paths, 1)))
			}
			return 0
		},
		Get: func(s *model.Switch, _ int) (int64, bool) { return int64(windowsOf(s).Potential), true },
		Set: func(s *model.Switch, _ int, v int64) { windowsOf(s).Potential = int(v) }},

	"window_packets.packets": {Draw: func(g *model.Drawer, _ int) int64 { return g.UpTo(8) }},
	"window_packets.number":  {Draw: func(g *model.Drawer, _ int) int64 { return model.Mod32(g.Now)>>10 - g.UpTo(1) }},
	"suspect_port.port":      {Draw: func(g *model.Drawer, _ int) int64 { return 3 + g.UpTo(5) }},
	"suspect_port.window":    {Draw: func(g *model.Drawer, _ int) int64 { return model.Mod32(g.Now)>>16 - g.UpTo(2) }},
}
