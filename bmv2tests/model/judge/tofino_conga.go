// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"github.com/pauseless/pauseless/bmv2tests/model"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/vtime"
)

// tofinoCONGA is what CONGA remembers in a Tofino.
type tofinoCONGA struct {
	links  []model.TofinoLoad   // by port
	toLeaf []model.TofinoMetric // by leaf and path
	best   []model.TofinoBest   // by leaf and the last of the paths that there are
	from   []uint32             // by leaf and path
	fed    []uint32             // by leaf: path
}

func newTofinoCONGA(f *Features) tofinoCONGA {
	paths := f.Leaves * f.PathCells
	return tofinoCONGA{links: make([]model.TofinoLoad, f.Ports), toLeaf: make([]model.TofinoMetric, paths), best: make([]model.TofinoBest, paths),
		from: make([]uint32, paths), fed: make([]uint32, f.Leaves)}
}

// wayOf is the place of a path to a leaf; numbers on the wire count by their
// low bits.
func (s *tofinoSwitch) wayOf(leaf int64, path int) int {
	return int(leaf)&(s.Leaves-1)*s.PathCells + path&(s.PathCells-1)
}

// usualRates are those of links whose products a Tofino can look up.
var usualRates = []vtime.Rate{vtime.Gbps, 10 * vtime.Gbps, 25 * vtime.Gbps, 40 * vtime.Gbps, 50 * vtime.Gbps, 100 * vtime.Gbps}

var tofinoUnits = manifest.Units{Time: manifest.Nanoseconds, Depth: manifest.Cells80}

// learnFeedback is what ingress of the destination leaf takes from the header.
func (s *tofinoSwitch) learnFeedback(h *fabric, now uint32) {
	if h.fedPath == 0 {
		return
	}
	s.note("feedback")
	s.conga.toLeaf[s.wayOf(h.srcLeaf, int(h.fedPath-1))] = model.TofinoMetric{Congestion: uint32(h.fedValue), At: now}
}

// leastCongested draws a path and compares it with the best so far.
func (s *tofinoSwitch) leastCongested(r route, drawn model.Path, now uint32) model.Path {
	congestion := s.conga.toLeaf[s.wayOf(r.leaf, drawn)].Aged(now, uint32(s.cfg.MetricAge))
	if congestion != 0 {
		s.note("congested path drawn")
	}
	return s.conga.best[s.wayOf(r.leaf, r.paths-1)].CONGA(drawn, congestion)
}

// carry is egress of a packet with CONGA's header: the destination leaf takes
// it off, the source leaf puts it on.
func (s *tofinoSwitch) carry(p *tofinoPkt) {
	switch {
	case p.hop == toHost && p.fabric != nil:
		s.noteCongestion(p.fabric)
		p.fabric = nil
	case p.hop == toChoice && s.cfg.Leaf >= 0:
		p.fabric = &fabric{srcLeaf: s.cfg.Leaf, path: int64(p.way)}
		s.feedBack(p)
	}
}

// noteCongestion is what egress of the destination leaf takes from the header.
func (s *tofinoSwitch) noteCongestion(h *fabric) {
	s.conga.from[s.wayOf(h.srcLeaf, int(h.path))] = uint32(h.congestion)
}

// feedBack is what the source leaf writes into a new header.
func (s *tofinoSwitch) feedBack(p *tofinoPkt) {
	m := &s.conga
	fed := model.TofinoFeedback(int(m.fed[p.leaf]), p.last+1)
	m.fed[p.leaf] = uint32(fed)
	p.fabric.fedPath, p.fabric.fedValue = int64(fed+1), int64(m.from[s.wayOf(p.leaf, fed)])
}

// raise counts a packet on its link, whose load it writes into the header if
// that is more.
func (s *tofinoSwitch) raise(p *tofinoPkt, length int, now uint32) {
	level := int64(0)
	if weight := s.cfg.LinkWeight[p.outPort]; weight != 0 {
		sent := s.conga.links[p.outPort].Packet(now, uint32(length))
		for _, r := range usualRates {
			if tofinoWeightOf(r) == weight {
				level = int64(model.TofinoLevel(sent, uint32(r.Bytes(tofinoUnits.LoadTime()))))
			}
		}
	}
	if h := p.fabric; h != nil && h.congestion < level {
		s.note("congestion raised")
		h.congestion = level
	}
}

// tofinoWeight draws the weight of a link: of a usual rate, or another.
func (g *drawer) tofinoWeight() int64 {
	if g.r.IntN(8) == 0 {
		return 1 + g.upTo(1<<20)
	}
	return tofinoWeightOf(pick(g, usualRates...))
}

func tofinoWeightOf(r vtime.Rate) int64 { return int64(manifest.LoadWeight(tofinoUnits, r)) }

// tofinoWindow draws bytes of a link in a window that runs, or is over: near
// where its level changes.
func tofinoWindow(g *drawer, _ int) uint64 {
	return tofinoSent(g)<<32 | uint64(uint32(g.now)>>17-uint32(g.r.IntN(3)))
}

func tofinoSent(g *drawer) uint64 {
	full := int64(pick(g, usualRates...).Bytes(tofinoUnits.LoadTime()))
	return uint64(g.near(full, full*g.upTo(8)/8, full*g.upTo(8)/8/4096*4096))
}

var tofinoCONGARows = map[string]tofinoRow{
	"link_load": couple("bytes of a link in a window", func(s *tofinoSwitch) []model.TofinoLoad { return s.conga.links },
		func(l *model.TofinoLoad) (x, y *uint32) { return ofSum(&l.Window) }, tofinoWindow),
	"link_last": member("bytes of the last full window", func(s *tofinoSwitch) []model.TofinoLoad { return s.conga.links },
		func(l *model.TofinoLoad) *uint32 { return &l.Last }, func(g *drawer, _ int) uint64 { return tofinoSent(g) }),
	"congestion_to": couple("Congestion-To-Leaf", func(s *tofinoSwitch) []model.TofinoMetric { return s.conga.toLeaf },
		func(m *model.TofinoMetric) (x, y *uint32) { return &m.Congestion, &m.At },
		func(g *drawer, i int) uint64 { return uint64(g.upTo(7))<<32 | tofinoPast(g, i) }),
	"congestion_best": couple("best path so far", func(s *tofinoSwitch) []model.TofinoBest { return s.conga.best }, ofBest,
		func(g *drawer, i int) uint64 { return uint64(g.upTo(7))<<32 | uint64(g.r.IntN(i%g.f.PathCells+1)) }),
	"congestion_from": single("Congestion-From-Leaf", func(s *tofinoSwitch) []uint32 { return s.conga.from },
		func(g *drawer, _ int) uint64 { return uint64(g.upTo(7)) }),
	"feedback_path": single("path fed back last", func(s *tofinoSwitch) []uint32 { return s.conga.fed },
		func(g *drawer, _ int) uint64 { return uint64(g.r.IntN(g.f.PathCells)) }),
}
