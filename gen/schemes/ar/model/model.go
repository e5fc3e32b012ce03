// SPDX-License-Identifier: Apache-2.0

// Package ar models adaptive routing as switches for AI fabrics have it: a packet, a
// flowlet or a flow takes the least loaded of all paths, by the length of their queues
// in bytes or in a few bands (SAI, saiars.h: per-packet quality, flowlet quality, fixed).
package ar

import (
	"math"

	"github.com/pauseless/pauseless/internal/model"
)

func init() {
	pathOfLast := func(g *model.Drawer, i int) int64 { return g.UpTo(int64(i / 8)) }
	model.Add(model.Scheme{Name: "ar", Base: &model.Base{Choose: choose, Next: next, Rerouted: rerouted, Draws: 1},
		Limits: map[string]int64{"ar.bands": factor(1), "ar.last_band": unlimited},
		// A width of zero, which is not drawn.
		Special: map[string]int64{"ar.bands": factor(1), "ar.last_band": unlimited},
		Registers: map[string]model.Register{
			"ar_band":      {Most: highest},
			"ar_best.band": {Most: highest},
			"ar_best.path": {Draw: pathOfLast},
		},
		Tofino: model.Stages{model.Hear: hear, model.Depart: func(s *model.Switch, p *model.Packet) {
			p.Report(false, "ar_last:8", model.Fields{"ar_last": int64(max(p.Paths-1, 0))})
		}}})
}

// highest is the last band, of the longest queues; unlimited is that of a program that
// compares bytes.
const (
	highest   = 7
	unlimited = 1<<32 - 2
)

// Band is the band of a queue, where a band is width bytes wide; the queue itself if it
// is zero.
func Band(queue, width model.Bytes) int64 {
	if width == 0 {
		return queue
	}
	return min(queue/width, highest)
}

// Choose is the whole decision: the first path in the lowest band, in turn from a random
// one.
func Choose(from model.Path, n int, band func(model.Path) int64) model.Path {
	return model.Least(n, from, band)
}

// factor is the argument of the program's table for the width of a band: 2^32 divided
// by it, rounded up.
func factor(width model.Bytes) int64 { return (1<<32 + width - 1) / width }

// bandOf returns the band of a path's queue.
func bandOf(s *model.Switch, p *model.Packet) func(model.Path) int64 {
	bands, last := uint64(s.Setting("ar", "bands")), s.Setting("ar", "last_band")
	return func(q model.Path) int64 {
		return min(int64(uint32(uint64(s.EgressQueue(p, q))*bands>>32)), last)
	}
}

func choose(s *model.Switch, p *model.Packet) model.Path {
	flowlets := s.Is("flowlet")
	if s.Tofino {
		begins := flowlets && s.BeginsFlowlet(p)
		best := chooseOnTofino(s, p)
		if flowlets {
			return s.FollowOrTake(p, begins, best)
		}
		return best
	}
	if flowlets {
		if f := s.Flowlet(p); f.Active(p.Now, s.Setting("flowlet", "gap")) {
			return s.SetFlowlet(p, f.Path)
		}
	}
	path := Choose(model.Path(s.Below(int64(p.Paths))), p.Paths, bandOf(s, p))
	if flowlets {
		s.SetFlowlet(p, path)
	}
	return path
}

// next is the first free path in turn of those in the lowest band.
func next(s *model.Switch, p *model.Packet, free func(model.Path) bool) (model.Path, bool) {
	return model.LeastFree(p, free, bandOf(s, p))
}

func rerouted(s *model.Switch, p *model.Packet) {
	if s.Is("flowlet") {
		model.FollowFlowlet(s, p)
	}
}

// On a Tofino, reports of queues update the best path, and each packet compares a random
// path with it.

func chooseOnTofino(s *model.Switch, p *model.Packet) model.Path {
	drawn := model.Share(p.Drawn[0], p.Paths)
	return better(s, p, p.Paths-1, drawn, *s.Cell("ar_band", drawn*8+p.Class))
}

// better compares the band of a path with that of the best path for a number of paths,
// which it returns.
func better(s *model.Switch, p *model.Packet, last, path model.Path, band int64) model.Path {
	return s.UpdateBest("ar_best.band", "ar_best.path", last*8+p.Class, path, uint32(band))
}

// hear processes the report of a queue.
func hear(s *model.Switch, p *model.Packet) {
	path, queue, ok := p.ReportedQueue()
	if !ok {
		return
	}
	band := queue
	if width := s.Parameter("ar.band"); width > 0 {
		band = min(queue>>int64(math.Round(math.Log2(width))), highest)
	}
	*s.Cell("ar_band", path*8+p.Class) = band
	better(s, p, model.Path(p.Reported["ar_last"]), path, band)
}
