// SPDX-License-Identifier: Apache-2.0

// Package clb models CLB: coflow load balancing based on PFC prediction.
package clb

import (
	"cmp"
	"slices"

	"github.com/pauseless/pauseless/internal/model"
)

func init() {
	model.Add(model.Scheme{Name: "clb",
		Base:   &model.Base{Choose: choose, Rerouted: model.FollowFlowlet, Draws: 1},
		Limits: map[string]int64{"clb.part": 1024},
		Registers: map[string]model.Register{
			"clb_coflow": {Draw: func(g *model.Drawer, i int) int64 { return int64(g.R.IntN(3)*g.Coflows + i) }},
			// No flow has a path that does not exist.
			"clb_flows": {Draw: func(g *model.Drawer, i int) int64 {
				if i%g.PathCells >= g.Paths {
					return 0
				}
				return g.UpTo(3)
			}},
			// On a Tofino, egress reports the queues.
			"clb_best.path": {Draw: func(g *model.Drawer, i int) int64 { return g.UpTo(int64(i / 8)) }},
		},
		Tofino: model.Stages{model.Hear: hearOnTofino, model.Depart: func(s *model.Switch, p *model.Packet) {
			p.Report(false, "clb_last:8", model.Fields{"clb_last": int64(p.Paths - 1)})
		}}})
}

// A PathType is what Algorithm 1 makes of a port (table T4).
type PathType int

// Path types, best first.
const (
	PathA PathType = iota
	PathB
	PathC
	PathD
)

// A Port is a row of tables T1 and T2.
type Port struct {
	Q   model.Bytes // T1: queue size of the egress port
	QDt model.Bytes // T2: its change over the last Δt
}

// DefaultQthr is section 3.2.3: "two-thirds of the PFC pausing threshold".
func DefaultQthr(qPFC model.Bytes) model.Bytes { return qPFC * 2 / 3 }

// Classify is Algorithm 1.
//
// Reading: line 8 says Q > Q_thr, which leaves Q = Q_thr growing without a
// class; the prose of section 3.2.1 ("has reached the preset threshold") has
// it in D.
func Classify(p Port, qThr model.Bytes) PathType {
	switch {
	case p.Q < qThr && p.QDt <= 0: // line 2
		return PathA // line 3
	case p.Q < qThr && p.QDt > 0: // line 4
		return PathB // line 5
	case p.Q >= qThr && p.QDt <= 0: // line 6
		return PathC // line 7
	default: // line 8
		return PathD // line 9
	}
}

// Forward is Algorithm 2: it picks the port for a packet. classes is T4, tr
// gives T3: how many flows of the packet's coflow a port carries. mtu is how
// much two ports may differ and still count as equal.
//
// Readings: line 14 tests p³ again and means p⁴. Queues to a byte are hardly
// ever equal, so ports within one MTU of the minimum are candidates of line 16.
// Of candidates with as few flows the first in turn from a given one is taken.
func Forward(ports []Port, classes []PathType, tr func(port int) int64, mtu model.Bytes, from model.Path) int {
	best := slices.Min(classes) // lines 8, 10, 12, 14: the best class that has a port
	key := func(i int) model.Bytes {
		if best == PathA || best == PathC { // lines 9, 13
			return ports[i].Q
		}
		return ports[i].QDt // lines 11, 15
	}
	var list []int
	for i, c := range classes {
		if c == best {
			list = append(list, i)
		}
	}
	least := key(slices.MinFunc(list, func(a, b int) int { return cmp.Compare(key(a), key(b)) }))
	list = slices.DeleteFunc(list, func(i int) bool { return key(i)-least >= max(mtu, 1) })
	turn := func(i int) int { return (i - from + len(ports)) % len(ports) }
	return slices.MinFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(tr(a), tr(b)), cmp.Compare(turn(a), turn(b))) }) // lines 16 to 18
}

// Sample ends an interval with a queue of q bytes. T2 has the queue at the start of
// the interval, and the change over the last whole one.
func Sample(start, qDt *model.Bytes, q model.Bytes) { *start, *qDt = q, q-*start }

// qThr is Q_thr: the configured value, or the same part of Q_PFC as it is now where
// Q_PFC follows the free part of the buffer.
func qThr(s *model.Switch, p *model.Packet) model.Bytes {
	if !s.Is("shared_buffer") {
		return s.Setting("clb", "queue_threshold")
	}
	return model.Ratio{Num: s.Setting("clb", "part"), Den: 1024}.Times(s.Threshold(p, s.Setting("shared_buffer", "size"), s.Setting("clb", "alpha_shift")))
}

func choose(s *model.Switch, p *model.Packet) model.Path {
	if s.Tofino {
		return chooseOnTofino(s, p)
	}
	queue := func(path int) int { return s.QueueCell(p.First+path, p.Class) }

	// T2: the change over the last whole interval. All ports of a choice are
	// sampled together, at the time of the first.
	if since := s.Cell("clb_time", queue(0)); p.Now-*since >= s.Setting("clb", "interval") {
		for i := range p.Paths {
			Sample(s.Cell("clb_qlen", queue(i)), s.Cell("clb_growth", queue(i)), s.EgressQueue(p, i))
		}
		*since = p.Now
	}

	f, known := s.Flowlet(p), s.Flowlet(p).Valid
	if f.Active(p.Now, s.Setting("flowlet", "gap")) {
		return s.SetFlowlet(p, f.Path)
	}

	// T4.
	ports := make([]Port, p.Paths)
	classes := make([]PathType, p.Paths)
	for i := range ports {
		ports[i] = Port{Q: s.EgressQueue(p, i), QDt: *s.Cell("clb_growth", queue(i))}
		classes[i] = Classify(ports[i], qThr(s, p))
	}
	s.Note("class " + string('A'+rune(classes[0])))

	// T3. A row belongs to one coflow at a time.
	id := int64(0)
	if p.Tag != nil {
		id = p.Tag["coflow"]
	}
	row := int(id) & (s.Coflows - 1)
	tr := func(path int) *int64 { return s.Cell("clb_flows", row*s.PathCells+path) }
	if owner := s.Cell("clb_coflow", row); *owner != id {
		*owner = id
		for i := range s.PathCells {
			*tr(i) = 0
		}
	}
	from := model.Path(0)
	if s.Is("random_ties") {
		from = model.Path(s.Below(int64(p.Paths)))
	}
	path := Forward(ports, classes, func(i int) int64 { return *tr(i) }, s.Setting("clb", "tie_bytes"), from)
	if !known || f.Path != path {
		*tr(path)++
		if known {
			*tr(f.Path) = max(0, *tr(f.Path)-1)
		}
	}
	return s.SetFlowlet(p, path)
}
