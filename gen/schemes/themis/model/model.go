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
	anyNumber := func(g *model.Drawer, _ int) int64 { return near(g) }
	model.Add(model.Scheme{Name: "themis", FewFlows: true,
		BTH:       func(f *model.Frame, port int) bool { return port == model.PortRoCE || f.Marked() },
		Transport: transport,
		Base:      &model.Base{Choose: choose},
		Limits:    map[string]int64{"themis.filter": 1},
		Registers: map[string]model.Register{
			"passed_flow":   {Draw: func(g *model.Drawer, i int) int64 { return g.FlowOf(i / g.PathCells) }},
			"passed_number": {Draw: anyNumber}, "missing_from": {Draw: anyNumber}, "missing_until": {Draw: anyNumber},
		},
		V1model: model.Stages{model.Routed: filter}})
}

const (
	acknowledge  = 0x11 // opcode; data has lower ones
	missing      = 0x60 // syndrome of a NAK: "PSN sequence error"
	numbers      = 1 << 24
	halfOfThem   = numbers / 2
	hashesOfPath = 1<<16 - 1
)

// near draws a number: often one of a few, around the end of all numbers.
func near(g *model.Drawer) int64 {
	return model.Pick(g, g.UpTo(3), numbers-1-g.UpTo(3), g.UpTo(numbers-1))
}

// transport draws the headers of data, and of acknowledgements of which half are NAKs.
func transport(g *model.Drawer) []byte {
	h := model.Fields{"opcode": model.Pick(g, 0x04, 0x0a, 0x10, acknowledge, acknowledge, acknowledge, 0x81, g.UpTo(255)),
		"number": g.UpTo(1)<<31 | near(g), "pair": g.UpTo(numbers - 1)}
	return append(model.BTH.Append(nil, h), byte(model.Pick(g, missing, missing, 0x61, g.UpTo(255))), 0, 0, 0)
}

// Path is the path of packet n of a flow, of a number of paths: all in turn.
func Path(start, n int64, paths int) model.Path { return model.Path((start + n) % int64(paths)) }

// Passed reports whether number a is b or comes after it, in numbers of 24 bits.
func Passed(a, b int64) bool { return (a-b)&(numbers-1) < halfOfThem }

func isData(p *model.Packet) bool { return p.BTH != nil && p.BTH["opcode"] < acknowledge }

func number(p *model.Packet) int64 { return p.BTH["number"] & (numbers - 1) }

// pathOf is the path of a packet of a flow with this hash, on the packet's route.
func pathOf(p *model.Packet, hash uint32, n int64) model.Path {
	return Path(int64(hash>>p.Shift)&hashesOfPath, n, p.Paths)
}

// choose is the sender's leaf, and any other switch with several paths.
func choose(s *model.Switch, p *model.Packet) model.Path {
	if isData(p) {
		return pathOf(p, p.Hash, number(p))
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
	return (n-*r.from)&(numbers-1) < (*r.until-*r.from)&(numbers-1)
}

// pass notes that a packet has passed, where the leaf has a number of paths.
func (r row) pass(s *model.Switch, hash uint32, n, paths int64) {
	switch {
	case !r.of(hash):
		*r.flow, *r.number, *r.from, *r.until = int64(hash), n, (n-paths)&(numbers-1), n
	case !Passed(n, *r.number):
		s.Note("a retransmission")
		if r.lost(n) {
			*r.from = (n + paths) & (numbers - 1)
		}
	default:
		if paths > 0 && (n-*r.number)&(numbers-1) > paths {
			s.Note("a gap")
			if *r.from == *r.until {
				*r.from = (*r.number + paths) & (numbers - 1)
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
	case isData(p) && p.Hop == model.ToHost:
		flow := p.FiveTuple()
		rowOf(s, flow, p.InPort).pass(s, flow, number(p), set("ways_up"))
	case p.BTH != nil && p.BTH["opcode"] == acknowledge && len(p.Rest) >= 4 && p.Rest[0] == missing && p.Hop == model.ToChoice:
		if set("filter") == 0 {
			return
		}
		forward := model.Frame{IP: model.Fields{"ihl": p.IP["ihl"], "protocol": p.IP["protocol"], "src": p.IP["dst"], "dst": p.IP["src"]}, UDP: p.UDP}
		flow, n := forward.FiveTuple(), number(p)
		uplink := p.First + pathOf(p, flow, n)
		switch r := rowOf(s, flow, uplink); {
		case r.of(flow) && r.lost(n):
			s.Note("NAK for a lost packet")
			return
		case r.of(flow) && Passed(*r.number-set("ahead"), n):
			s.Note("NAK for a packet far back")
			return
		}
		s.Note("NAK dropped")
		*s.Cell("dropped_naks", uplink)++
		p.Ends = true
	}
}
