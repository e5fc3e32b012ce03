// SPDX-License-Identifier: Apache-2.0

// Package ar models adaptive routing as switches for AI fabrics have it: each
// packet takes the least loaded of all paths, where loads count in a few bands
// of queue length, and a flow stays on its path while that is in no worse band
// than any other.
package ar

import (
	"math"

	"github.com/pauseless/pauseless/internal/model"
)

func init() {
	pathOfLast := func(g *model.Drawer, i int) int64 { return 1 + g.UpTo(int64(i/8)) }
	model.Add(model.Scheme{Name: "ar", Base: &model.Base{Choose: choose, Next: next, Rerouted: rerouted, Draws: 1},
		Limits: map[string]int64{"ar.bands": factor(64)},
		Registers: map[string]model.Register{
			"ar_band":        {Most: highest},
			"ar_best.band":   {Most: highest},
			"ar_best.path":   {Draw: pathOfLast, Init: func(*model.Switch, int) int64 { return 1 }},
			"ar_worst.above": {Most: highest},
			"ar_worst.path":  {Draw: pathOfLast},
		},
		Tofino: model.Stages{model.Hear: hear, model.Depart: func(s *model.Switch, p *model.Packet) {
			p.Report(false, "ar_last:8", model.Fields{"ar_last": int64(max(p.Paths-1, 0))})
		}}})
}

// highest is the last band, of the longest queues.
const highest = 7

// Band is the band of a queue, where a band is width bytes wide.
func Band(queue, width model.Bytes) int64 { return min(queue/width, highest) }

// Choose is the whole decision: the path of the flow, own, if no path is in a lower
// band, or else the first path in the lowest band, in turn from a random one. own is
// −1 for a new flow.
func Choose(own, from model.Path, n int, band func(model.Path) int64) model.Path {
	least := model.Least(n, from, band)
	if own >= 0 && own < n && band(own) == band(least) {
		return own
	}
	return least
}

// factor is the argument of the program's table for the width of a band: 2^32 divided
// by it, rounded up.
func factor(width model.Bytes) int64 { return (1<<32 + width - 1) / width }

// bandOf returns the band of a path's queue.
func bandOf(s *model.Switch, p *model.Packet) func(model.Path) int64 {
	bands := uint64(s.Setting("ar", "bands"))
	return func(q model.Path) int64 { return int64(min(uint32(uint64(s.EgressQueue(p, q))*bands>>32), highest)) }
}

func choose(s *model.Switch, p *model.Packet) model.Path {
	flow := s.Cell("ar_path", s.Flow(p))
	if s.Tofino {
		return chooseOnTofino(s, p, flow)
	}
	from := model.Path(s.Below(int64(p.Paths)))
	path := Choose(model.Path(*flow)-1, from, p.Paths, bandOf(s, p))
	*flow = int64(path) + 1
	return path
}

// next is the first free path in turn of those in the lowest band.
func next(s *model.Switch, p *model.Packet, free func(model.Path) bool) (model.Path, bool) {
	return model.LeastFree(p, free, bandOf(s, p))
}

func rerouted(s *model.Switch, p *model.Packet) { *s.Cell("ar_path", s.Flow(p)) = int64(p.Path) + 1 }

// On a Tofino, reports of queues update the best and the worst path. Each packet
// compares a random path with the best one. A flow leaves its path only if that is
// the worst, in a higher band than the best.

// chooseOnTofino decides for a packet. Paths in registers are plus one.
func chooseOnTofino(s *model.Switch, p *model.Packet, flow *int64) model.Path {
	i, drawn := (p.Paths-1)*8+p.Class, model.Share(p.Drawn[0], p.Paths)
	best, worst := int64(news(s, i, drawn, *s.Cell("ar_band", drawn*8+p.Class))), int64(0)
	if *s.Cell("ar_worst.above", i) != 0 {
		worst = *s.Cell("ar_worst.path", i) & 255
	}
	if *flow == worst {
		*flow = best
	}
	path := *flow
	if path == 0 { // still unknown
		path = best
	}
	if path > int64(p.Paths) { // it does not exist any more
		return p.Path
	}
	return model.Path(path) - 1
}

// news compares the band of a path with that of the best path of a row, which it
// returns plus one.
func news(s *model.Switch, i int, path model.Path, band int64) model.Path {
	return s.UpdateBest("ar_best.band", "ar_best.path", i, path+1, uint32(band))
}

// hear processes the report of a queue.
func hear(s *model.Switch, p *model.Packet) {
	path, queue, ok := p.ReportedQueue()
	if !ok {
		return
	}
	i, known := int(p.Reported["ar_last"])*8+p.Class, int64(path)+1
	band := min(queue>>int64(math.Round(math.Log2(s.Parameter("ar.band")))), highest)
	*s.Cell("ar_band", path*8+p.Class) = band
	news(s, i, path, band)
	above := max(band-*s.Cell("ar_best.band", i), 0)
	if a, of := s.Cell("ar_worst.above", i), s.Cell("ar_worst.path", i); above >= *a || *of == known {
		*a, *of = above, known
	}
}
