// SPDX-License-Identifier: Apache-2.0

// Package themis models Themis: Liu et al., "Enabling Packet Spraying over Commodity
// RNICs with In-Network Support", EuroSys 2026. The leaf of the receiver drops NAKs
// that reordering causes.
//
// Readings, for we have not found the paper's text: packet n of a flow takes path n modulo
// the number of paths, counted from a path of the flow's hash. Packets of one path keep
// their order, so a gap in the numbers of a path is a loss. A NAK for a number in a gap is
// due, and so is one for a number from which the flow has come far.
package themis

import "github.com/pauseless/pauseless/internal/model"

func init() {
	number := model.Register{Draw: (*model.Drawer).PSN}
	words := model.Register{Draw: func(g *model.Drawer, i int) int64 { return int64(word(g.PSN(i))) }}
	model.Add(model.Scheme{Name: "themis", FewFlows: true,
		BTH:       func(f *model.Frame, port int) bool { return port == model.PortRoCE || f.Marked() },
		Transport: (*model.Drawer).RoCE,
		Base:      &model.Base{Choose: choose},
		Limits:    map[string]int64{"themis.filter": 1},
		Registers: map[string]model.Register{
			"passed_flow":   {Draw: func(g *model.Drawer, i int) int64 { return g.FlowOf(i / g.PathCells) }},
			"passed_number": number, "missing_from": number, "missing_until": number,
			// On a Tofino.
			"passed_number.flow": {Draw: func(g *model.Drawer, i int) int64 { return g.FlowOf(i / g.PathCells) }},
			"passed_number.number": {Draw: func(g *model.Drawer, i int) int64 {
				return model.Pick(g, 0, int64(word(g.PSN(i)))+1, int64(word(g.PSN(i)))+1, int64(word(g.PSN(i)))+1)
			}},
			"missing_from.after": words, "missing_from.before": words,
		},
		V1model: model.Stages{model.Routed: filter}, Tofino: model.Stages{model.Routed: filterOnTofino}})
}

// hashes is the number of values of the part of a hash that decides a flow's first path.
const hashes = 1 << 16

// Path is the path of packet n of a flow, of a number of paths: all in turn.
func Path(start, n int64, paths int) model.Path { return model.Path((start + n) % int64(paths)) }

// pathOf is the path of a packet of a flow with this hash, on the packet's route.
func pathOf(p *model.Packet, hash uint32, n int64) model.Path {
	return Path(int64(hash>>p.Shift)&(hashes-1), n, p.Paths)
}

// choose is the sender's leaf, and any other switch with several paths.
func choose(s *model.Switch, p *model.Packet) model.Path {
	if p.IsData() && s.Tofino {
		return pathOnTofino(p, p.Hash, p.PSN())
	} else if p.IsData() {
		return pathOf(p, p.Hash, p.PSN())
	}
	return s.HashPath(p)
}

// A row is what has passed of a flow by an uplink: the latest number, and the numbers
// that were lost, of which every one in turn is the path's.
type row struct{ flow, number, from, until *int64 }

func rowOf(s *model.Switch, hash uint32, port int) row {
	i := (int(hash)&(s.Flows-1))*s.PathCells + port&(s.PathCells-1)
	return row{s.Cell("passed_flow", i), s.Cell("passed_number", i), s.Cell("missing_from", i), s.Cell("missing_until", i)}
}

// of reports whether the row is the flow's.
func (r row) of(hash uint32) bool { return uint32(*r.flow) == hash }

// lost reports whether a number is among the lost ones.
func (r row) lost(n int64) bool {
	return (n-*r.from)&(model.PSNs-1) < (*r.until-*r.from)&(model.PSNs-1)
}

// pass notes that a packet has passed, where the leaf has a number of paths.
func (r row) pass(s *model.Switch, hash uint32, n, paths int64) {
	switch {
	case !r.of(hash):
		*r.flow, *r.number, *r.from, *r.until = int64(hash), n, (n-paths)&(model.PSNs-1), n
	case !model.Reached(n, *r.number):
		s.Note("a retransmission")
		if r.lost(n) {
			*r.from = (n + paths) & (model.PSNs - 1)
		}
	default:
		if paths > 0 && (n-*r.number)&(model.PSNs-1) > paths {
			s.Note("a gap")
			if *r.from == *r.until {
				*r.from = (*r.number + paths) & (model.PSNs - 1)
			}
			*r.until = n
		}
		*r.number = n
	}
}

// filter is the receiver's leaf.
func filter(s *model.Switch, p *model.Packet) {
	leaf := s.Config.Leaf >= 0
	set := func(arg string) int64 {
		if !leaf {
			return 0
		}
		return s.Setting("themis", arg)
	}
	switch {
	case p.IsData() && p.Hop == model.ToHost:
		flow := p.FiveTuple()
		rowOf(s, flow, p.InPort).pass(s, flow, p.PSN(), set("ways_up"))
	case p.Syndrome() == model.SyndromeNAK && p.Hop == model.ToChoice:
		if set("filter") == 0 {
			return
		}
		flow, n := p.Backward(), p.PSN()
		uplink := p.First + pathOf(p, flow, n)
		switch r := rowOf(s, flow, uplink); {
		case r.of(flow) && r.lost(n):
			s.Note("NAK for a lost packet")
			return
		case r.of(flow) && model.Reached(*r.number-set("ahead"), n):
			s.Note("NAK for a packet far back")
			return
		}
		s.Note("NAK dropped")
		*s.Cell("dropped_naks", uplink)++
		p.Ends = true
	}
}
