// SPDX-License-Identifier: Apache-2.0

// Package flowcut models Flowcut: Bonato et al., "Flowcut Switching: High-Performance
// Adaptive Routing with In-Order Delivery Guarantees", IEEE Transactions on Networking
// 2025, arXiv 2506.21406, with the authors' simulator (tommasobo/sc24-flowcut).
//
// Readings: packets in flight are counted by RoCE's sequence numbers, since its
// acknowledgements are cumulative, not by bytes. Only leaves, which see both directions
// of a flow, keep it on a path. The round trip of one packet at a time is measured.
package flowcut

import "github.com/pauseless/pauseless/internal/model"

func init() {
	number := model.Register{Draw: (*model.Drawer).PSN}
	model.Add(model.Scheme{Name: "flowcut", FewFlows: true,
		BTH:       func(f *model.Frame, port int) bool { return port == model.PortRoCE || f.Marked() },
		Transport: (*model.Drawer).RoCE,
		Base:      &model.Base{Choose: choose, Draws: 1},
		Registers: map[string]model.Register{
			"cut_flow":     {Draw: func(g *model.Drawer, i int) int64 { return g.FlowOf(i) }},
			"cut_sent":     number,
			"cut_acked":    number,
			"cut_timed":    number,
			"cut_timed_at": {Draw: func(g *model.Drawer, i int) int64 { return model.Mod32(g.Past(i)) }},
			// On a Tofino.
			"cut_best.path": {Draw: func(g *model.Drawer, i int) int64 { return g.UpTo(int64(i / 8)) }},
			"cut_flow.flow": {Draw: func(g *model.Drawer, i int) int64 { return g.FlowOf(i) }},
			"cut_flow.sent": {Draw: func(g *model.Drawer, i int) int64 {
				return model.Pick(g, 0, int64(word(g.PSN(i)))+1, int64(word(g.PSN(i)))+1)
			}},
			"cut_timed.since":  {Draw: func(g *model.Drawer, i int) int64 { return model.Pick(g, 0, model.Mod32(g.Past(i))) }},
			"cut_timed.number": {Draw: func(g *model.Drawer, i int) int64 { return int64(word(g.PSN(i))) }},
		},
		V1model: model.Stages{model.Routed: acknowledged},
		Tofino: model.Stages{model.Hear: hear, model.Routed: acknowledgedOnTofino, model.Depart: func(s *model.Switch, p *model.Packet) {
			p.Report(false, "cut_last:8", model.Fields{"cut_last": int64(max(p.Paths-1, 0))})
		}}})
}

// drain is the bit in the byte of the base transport header for congestion.
const drain = 1

// An entry is that of a flow in the flowcut table.
type entry struct {
	flow, path, sent, acked *int64
	wanted                  *int64 // another flow would use the row
	timed, timedAt          *int64
}

func at(s *model.Switch, hash uint32) entry {
	cell := func(name string) *int64 { return s.Cell(name, int(hash)&(s.Flows-1)) }
	return entry{cell("cut_flow"), cell("cut_path"), cell("cut_sent"), cell("cut_acked"), cell("cut_wanted"), cell("cut_timed"), cell("cut_timed_at")}
}

// flying reports whether packets of the row's flow are in flight.
func (e entry) flying() bool { return uint32(*e.flow) != 0 && *e.sent != *e.acked }

// manages reports whether the switch keeps flows on their paths: a leaf does, unless the
// round trip that it allows is zero.
func manages(s *model.Switch) bool { return s.Config.Leaf >= 0 && s.Setting("flowcut", "rtt") > 0 }

// acknowledged is the sender's leaf, for an acknowledgement. An entry ends when nothing
// is in flight. A long round trip begins to drain the flow.
func acknowledged(s *model.Switch, p *model.Packet) {
	if !manages(s) || p.Hop != model.ToHost || p.Syndrome() < 0 {
		return
	}
	flow := p.Backward()
	e := at(s, flow)
	if uint32(*e.flow) != flow {
		return
	}
	acked := p.PSN()
	if p.Syndrome()>>5&3 == 3 { // a NAK: the packets before it are acknowledged
		acked = (acked - 1) & (model.PSNs - 1)
	}
	if model.Reached(acked, *e.acked) {
		*e.acked = acked
	}
	if *e.timedAt != 0 && model.Reached(acked, *e.timed) {
		if model.Mod32(p.Now-*e.timedAt) > s.Setting("flowcut", "rtt") {
			s.Note("drain")
			p.BTH["congestion"] |= drain
			*s.Cell("drains", p.OutPort)++
		}
		*e.timedAt = 0
	}
}

// choose is "route all packets of a flowcut on one path".
func choose(s *model.Switch, p *model.Packet) model.Path {
	if s.Tofino {
		return chooseOnTofino(s, p)
	}
	byHash := s.HashPath(p)
	if !manages(s) || !p.IsData() {
		return byHash
	}
	e, n := at(s, p.Hash), p.PSN()
	mine := uint32(*e.flow) == p.Hash
	if !mine && e.flying() {
		s.Note("another flow's row")
		*e.wanted = 1
		return byHash
	}
	path := byHash
	switch {
	case mine && e.flying() && *e.path != 0 && *e.path <= int64(p.Paths):
		path = model.Path(*e.path - 1)
	case mine || *e.wanted == 0:
		s.Note("a new flowcut")
		path = model.Least(p.Paths, model.Path(s.Below(int64(p.Paths))), func(q model.Path) int64 { return s.EgressQueue(p, q) })
	}
	if !mine {
		*e.flow, *e.acked, *e.wanted, *e.timedAt = int64(p.Hash), (n-1)&(model.PSNs-1), 0, 0
	}
	if !mine || model.Reached(n, *e.sent) {
		*e.sent = n
	}
	*e.path = int64(path) + 1
	if *e.timedAt == 0 {
		*e.timed, *e.timedAt = n, p.Now
	}
	return path
}
