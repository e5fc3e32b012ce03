// SPDX-License-Identifier: Apache-2.0

package rlb

import "github.com/pauseless/pauseless/internal/model"

// Section IV for a packet: windows, the limit on recirculation, faults.

// window is the present window in the registers, and the result of the previous one.
// The registers of a port are about this window only if port_window is its start.
func window(s *model.Switch) (Window, FailureDetector) {
	w := Window{Start: *s.Cell("window_start", 0), Length: *s.Cell("window_length", 0), Budget: *s.Cell("window_budget", 0),
		Packets: *s.Cell("window_packets", 0), Passes: *s.Cell("window_passes", 0), PerPort: map[int]int64{}}
	for port := range s.Ports {
		if *s.Cell("port_window", port) == w.Start {
			w.PerPort[port] = *s.Cell("port_passes", port)
		}
	}
	return w, FailureDetector{s.Setting("Stoprecir", "average"), 256, int(*s.Cell("suspect_port", 0))}
}

func setWindow(s *model.Switch, w *Window, f *FailureDetector) {
	*s.Cell("window_start", 0), *s.Cell("window_length", 0), *s.Cell("window_budget", 0) = w.Start, w.Length, w.Budget
	*s.Cell("window_packets", 0), *s.Cell("window_passes", 0) = w.Packets, w.Passes
	for port, n := range w.PerPort {
		*s.Cell("port_window", port), *s.Cell("port_passes", port) = w.Start, n
	}
	top := w.Top()
	*s.Cell("top_port", 0), *s.Cell("top_passes", 0) = int64(top), w.PerPort[top]
	*s.Cell("suspect_port", 0) = int64(f.Potential)
}

// settle makes the counts of a window consistent: packets are those of the ports,
// and the average of their passes is 1 plus a quarter of what was drawn.
func settle(s *model.Switch) {
	if s.Tofino {
		return
	}
	w, f := window(s)
	w.Packets = 0
	for port := range s.Ports {
		if n := *s.Cell("port_passes", port); n > 0 {
			w.PerPort[port] = n
			w.Packets += n
		}
	}
	w.Passes = w.Packets * (4 + w.Passes) / 4
	setWindow(s, &w, &f)
}

// avoidFaulty takes the next path in turn that is not faulty.
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
	w, f := window(s)
	defer func() { setWindow(s, &w, &f) }()
	if since := model.Mod32(p.Now - w.Start); since >= w.Length {
		if port, found := f.Close(&w, since < 2*w.Length); found {
			if path := port - p.First; path >= 0 && path < p.Paths {
				faulty := s.Cell("faulty", 0)
				*faulty |= 1 << (s.PathCells - 1 - path)
			}
			s.Note("fault")
			p.Digest(int64(port), p.Leaf, w.Passes, w.Packets)
		}
		inflow := model.Ratio{Num: s.Setting("Stoprecir", "inflow"), Den: 1024}.Times(trc)
		w = Window{Start: p.Now, Length: trc, Budget: Eq5(qPFC(s, p), *s.Cell("ingress_qlen", s.In(p)), inflow, mtu(s))}
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

// mtu is the MTU of Eq. 5. The program has 2^32 divided by it, rounded up.
func mtu(s *model.Switch) model.Bytes {
	per := s.Setting("Stoprecir", "per_mtu")
	return (1<<32 + per - 1) / per
}

// qPFC is Q_PFC of Eq. 5: as configured, or as it is now.
func qPFC(s *model.Switch, p *model.Packet) model.Bytes {
	if !s.Is("shared_buffer") {
		return s.Setting("Stoprecir", "xoff")
	}
	return s.Threshold(p, s.Setting("Stoprecir", "shared"), s.Setting("Stoprecir", "alpha_shift"))
}

var windowRegisters = map[string]model.Register{
	"faulty": {Draw: func(g *model.Drawer, _ int) int64 {
		paths := g.MinPaths()
		if g.Tofino {
			paths = g.PathCells
		}
		return g.PathMask(paths)
	}},
	// No window begins now: its length may be zero.
	"window_start":  {Draw: func(g *model.Drawer, i int) int64 { return min(g.Past(i), g.Now-1) }},
	"window_budget": {Most: 5},
	"window_passes": {Most: 40},
	"port_passes": {Draw: func(g *model.Drawer, i int) int64 {
		if n := g.Config.Routes[0]; i < n.First || i >= n.First+n.Paths {
			return 0
		}
		return g.UpTo(3)
	}},
	// Without a packet in the window, it does not matter.
	"top_port": {Get: func(s *model.Switch, _ int) (int64, bool) {
		return *s.Cell("top_port", 0), *s.Cell("top_passes", 0) > 0
	}},
	"suspect_port": {Draw: func(g *model.Drawer, _ int) int64 {
		n := g.Config.Routes[0]
		return model.Pick(g, 0, int64(n.First)+g.UpTo(int64(max(n.Paths, 1)-1)))
	}},

	// On a Tofino.
	"window_packets.packets": {Most: 8},
	"window_packets.number":  {Period: 10},
	"suspect_port.port":      {Most: 8},
	"suspect_port.window":    {Period: 16},
}
