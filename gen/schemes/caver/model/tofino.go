// SPDX-License-Identifier: Apache-2.0

package caver

import "github.com/pauseless/pauseless/internal/model"

// CAVER on a Tofino (docs/tofino.md): the load of a link is that of the last full window
// of time, and egress reports acknowledgements to ingress, where the stacks are.

// parts of a full link in which loads are known.
const parts = 20

// found is what a switch does in egress with an acknowledgement from another leaf, or a
// packet that its link counts.
func found(s *model.Switch, p *model.Packet) {
	if p.BTH == nil || p.BTH["opcode"] != model.OpcodeACK {
		s.SentPart(p, parts)
		return
	}
	if p.Fabric != nil {
		p.Fabric["congestion"] = max(p.Fabric["congestion"], s.LastPart(p.InPort, parts)*full/parts)
	}
}

// tell is the sender's leaf, in egress.
func tell(s *model.Switch, p *model.Packet) {
	load := max(p.Fabric["congestion"], 0)
	due := p.BTH != nil && p.BTH["opcode"] == model.OpcodeACK
	if due {
		found(s, p)
		load = p.Fabric["congestion"]
		last := s.Cell("caver_told_at", p.InPort)
		if now := int64(s.Clock(p)); model.Mod32(now-*last) > model.ReportAgain {
			*last = now
		} else {
			due = false
		}
	}
	p.Meta["far_due"] = 0
	if due {
		p.Meta["far_due"] = 1
	}
	p.Meta["far_leaf"], p.Meta["far_port"], p.Meta["far_load"] = p.Fabric["src_leaf"], int64(p.InPort), load
}

// report is for all packets that leave.
func report(s *model.Switch, p *model.Packet) {
	found(s, p)
	p.Report(p.Meta["far_due"] == 1, "far_leaf:16 far_port:8 far_load:8",
		model.Fields{"far_leaf": p.Meta["far_leaf"], "far_port": p.Meta["far_port"], "far_load": p.Meta["far_load"]})
}

// hear is the sender's leaf, for a report.
func hear(s *model.Switch, p *model.Packet) {
	leaf, port, load := int(p.Reported["far_leaf"])&(s.Leaves-1), p.Reported["far_port"], p.Reported["far_load"]
	best := int64(s.UpdateBest("caver_best.load", "caver_best.port", leaf, model.Path(port), uint32(load)))
	limit := s.Cell("caver_limit", leaf)
	if best == port {
		*limit = Limit(load, int64(s.Parameter("caver.accept")))
	} else if load >= *limit {
		s.Note("not good enough")
		port = best
	}
	count, next := s.Cell("caver_stack.count", leaf), s.Cell("caver_stack.next", leaf)
	if *count < s.Setting("caver", "depth") {
		*count++
	}
	*next = model.Mod32(*next + 1)
	*s.Cell("caver_paths", leaf*slots+int(*next%slots)) = port
}

// Limit is the load below which a path is good enough beside one with the given load.
//
// Readings: of a limit above a full link, any load but the highest is below it; no path is
// good enough beside a load that no link of a Tofino has.
func Limit(best, percent int64) int64 {
	for n := int64(1); n < parts; n++ {
		if best == n*full/parts {
			return min((best*percent+99)/100, full)
		}
	}
	return 0
}

// take is the sender's leaf, for data that begins a flowlet.
func take(s *model.Switch, p *model.Packet) (path model.Path, ok bool) {
	count, next := s.Cell("caver_stack.count", int(p.Leaf)), s.Cell("caver_stack.next", int(p.Leaf))
	if *count == 0 {
		return 0, false
	}
	slot := *next
	*count, *next = *count-1, model.Mod32(*next-1)
	if slot == 0 { // after 2^32 paths
		return 0, false
	}
	path = model.Path(*s.Cell("caver_paths", int(p.Leaf)*slots+int(slot%slots))) - p.First
	return path, path >= 0 && path < p.Paths
}

func chooseOnTofino(s *model.Switch, p *model.Packet) model.Path {
	path := s.HashPath(p)
	begins := s.BeginsFlowlet(p)
	if !p.IsData() {
		return path
	}
	if begins {
		if q, ok := take(s, p); ok {
			s.Note("a path that was found")
			path = q
		}
	}
	return s.FollowOrTake(p, begins, path)
}
