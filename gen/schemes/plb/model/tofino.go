// SPDX-License-Identifier: Apache-2.0

package plb

import (
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/model"
)

// PLB on a Tofino (docs/tofino.md): the best path is updated with each measurement of
// a path, the second best is the fastest of the others in a window of time, a port
// from which no packet leaves counts as paused, and a wait is compared with what
// egress last reported. A packet that moves to another path is resubmitted.

// A port counts as paused if packets have arrived for it in Silent slots of time, and
// egress reported no departure.
const (
	Slot   = 1024 // ns
	Silent = 4
)

// slot is the start of the slot of a time.
func slot(now model.Time) int64 { return model.Mod32(now) &^ (Slot - 1) }

// othersWindow is a time in which all paths are measured: a probe interval for each
// path, rounded up to a power of two.
func othersWindow(s *model.Switch) uint32 {
	window, interval := uint32(1), uint32(s.Parameter("plb.probe_interval"))
	for window < interval*uint32(s.Paths) {
		window *= 2
	}
	return window
}

// news updates the rank of a path and reports whether it is the best path.
func news(s *model.Switch, leaf int64, path model.Path, rank int64) (best bool) {
	s.SetWord("path_rank", s.PathCell(leaf, path), uint32(rank))
	return s.UpdateBest("path_best.rank", "path_best.path", int(leaf)&(s.Leaves-1), path+known, uint32(rank)) == path+known
}

func hearOnTofino(s *model.Switch, p *model.Packet) {
	switch {
	case p.Reported == nil:
	case p.Reported["kick"] == 1:
		kickOut(s, p.Reported)
	default: // a packet left the port
		i := int(p.Reported["port"])*8 + p.Class
		*s.Cell("silence.slots", i), *s.Cell("silence.last", i), *s.Cell("expected", i) = 0, slot(p.Now), p.Reported["expected"]
	}
}

// kickOut makes a path inactive until there is an echo of it.
func kickOut(s *model.Switch, k model.Fields) {
	s.Note("path kicked out")
	path, leaf := model.Path(k["path"]), int(k["leaf"])&(s.Leaves-1)
	s.SetWord("path_rank", s.PathCell(k["leaf"], path), KickedOut)
	if s.Word("path_best.path", leaf) == uint32(path)+known { // the next free path that is measured
		s.SetWord("path_best.rank", leaf, free)
		s.SetWord("path_best.path", leaf, 0)
	}
}

func kickedOutOnTofino(s *model.Switch, p *model.Packet) {
	switch {
	case p.Local == nil:
	case p.Hop == model.ToHost:
		kickOut(s, p.Local)
		p.Ends = true
	default:
		p.Class = 7
	}
}

// learnOnTofino processes the echo of a stamp.
func learnOnTofino(s *model.Switch, p *model.Packet) {
	h := p.Fabric
	if h["echoed"] == 0 {
		return
	}
	s.Note("round-trip time")
	path := model.Path(h["echo_path"])
	i, leaf := s.PathCell(h["src_leaf"], path), int(h["src_leaf"])&(s.Leaves-1)
	rtt := model.Mod32(p.Now - h["echo"])
	*s.Cell("path_rtt", i), *s.Cell("path_load", i) = rtt, h["echo_load"]
	if !news(s, h["src_leaf"], path, rankOnTofino(s, Path{RTT: rtt, Util: h["echo_load"], Active: true})) {
		other, window := s.Cell("other_rtt.rtt", leaf), s.Cell("other_rtt.window", leaf)
		if now := int64(uint32(p.Now) / othersWindow(s)); *window != now || rtt < *other {
			*other, *window = rtt, now
		}
	}
}

// rankOnTofino is rank with round-trip times in 1/64 ns.
func rankOnTofino(s *model.Switch, p Path) int64 {
	switch p.State(s.Setting("path_class", "rtt_low"), s.Setting("path_class", "full")) {
	case NonCongested:
		return model.Mod32(p.RTT << 6)
	case Undetermined:
		return 1<<30 | (255 - p.Util)
	default:
		return model.Mod32(p.RTT<<6) | 2<<30
	}
}

// atSource reports whether a packet is at its source leaf: it has no header yet.
func atSource(p *model.Packet) bool {
	return p.Hop == model.ToChoice && p.Fabric == nil && p.Local == nil
}

const (
	known = 128        // is added to the number of a best path
	free  = 0x3fff0000 // a rank above those of free paths
)

// chooseOnTofino is Algorithm 2 for a packet. If all paths are kicked out, or the
// packet's route does not have the best one, a new flow takes a random path and others
// stay. t_td is stored when a flow takes a path.
func chooseOnTofino(s *model.Switch, p *model.Packet) model.Path {
	takes := s.BeginsFlowlet(p) || p.Resubmitted
	leaf, flow := int(p.Leaf), s.Flow(p)
	best := model.Path(s.Word("path_best.path", leaf)) - known
	hasBest := 0 <= best && best < p.Paths
	if !hasBest {
		const worse = 1
		s.SetWord("path_best.rank", leaf, uint32(min(int64(s.Word("path_best.rank", leaf))+worse, 1<<32-1)))
	}
	takenPath := best
	switch {
	case hasBest:
	case takes:
		takenPath = model.Share(p.Drawn[0], p.Paths)
	default:
		takenPath = p.Paths - 1 // if the flow's path does not exist any more
	}
	path := s.FollowOrTake(p, takes, takenPath)
	i := s.PathCell(p.Leaf, path)
	if atSource(p) {
		if takes {
			other, rtt := s.Word("other_rtt.rtt", leaf), s.Word("path_rtt", i)
			s.SetWord("flow_tolerable", flow, other-min(other, rtt))
		}
		p.Keep["tolerable"] = *s.Cell("flow_tolerable", flow)
	}
	// Line 3 but for new flows: the path is congested or kicked out.
	p.Resubmit = s.Word("path_rank", i) >= 2<<30 && hasBest && best != path && !p.Resubmitted
	if p.Resubmit {
		s.Note("flow moved")
	}
	return path
}

func leaveOnTofino(s *model.Switch, p *model.Packet) {
	source := atSource(p)
	switch {
	case !source && p.Hop != model.ToHost && p.Fabric != nil:
		p.Keep["tolerable"] = p.Fabric["tolerable"]
	case !source:
		p.Keep["tolerable"] = 0
	}
	probe := source && probeDue(s, p)
	meetPauseOnTofino(s, p, source)
	if !probe || p.Message != nil {
		return
	}
	s.Note("probe")
	path := int(*s.Cell("probe_path", int(p.Leaf)))
	c := *p
	c.OutPort, c.Path, c.Probe, c.Keep = p.First+path, path, true, model.Fields{"tolerable": p.Keep["tolerable"]}
	p.Request(&model.Message{Session: 256 + p.First + path, Head: bridge(s, &c), Packet: &c})
}

// bridge is the header that ingress adds to a probe for egress.
func bridge(s *model.Switch, p *model.Packet) []byte {
	list := "kind:8 class:8 port:16 "
	if s.NotifiesSenders() {
		list += "in:16 "
	}
	return model.Fields{"kind": 5, "class": int64(p.Class), "port": int64(p.OutPort), "in": int64(p.InPort), "path": int64(p.Path), "leaf": p.Leaf,
		"to_host": model.Bit(p.Hop == model.ToHost), "to_choice": model.Bit(p.Hop == model.ToChoice), "tolerable": p.Keep["tolerable"],
		"came": model.Mod32(p.Now),
	}.Append(nil, list+"to_host:8 to_choice:8 path:8 leaf:16 tolerable:32 came:32")
}

// probeDue reports whether a path to a leaf must be probed: the next one in turn.
func probeDue(s *model.Switch, p *model.Packet) bool {
	last, path := s.Cell("probed_at", int(p.Leaf)), s.Cell("probe_path", int(p.Leaf))
	if !model.Since(uint32(*last), uint32(p.Now), uint32(s.Setting("probe", "interval"))) {
		return false
	}
	*last = model.Mod32(p.Now)
	if *path++; *path >= int64(p.Paths) {
		*path = 0
	}
	return true
}

// meetPauseOnTofino is lines 3 to 5 and 10 of Algorithm 1. byte_time is the time of
// 1024 bytes: packets that arrive after egress's report count as 1024 bytes each.
func meetPauseOnTofino(s *model.Switch, p *model.Packet, source bool) {
	i, now := p.OutPort*8+p.Class, uint32(p.Now)
	cost, priced := s.Config.Tables["pause_cost"][p.OutPort]
	if !priced || p.Resubmit { // a packet that comes back counts then
		return
	}
	slots, last := s.Cell("silence.slots", i), s.Cell("silence.last", i)
	paused := uint16(*slots) >= Silent
	if slot(p.Now) != *last {
		*slots = model.Mod32(*slots + 1)
	}
	*last = slot(p.Now)
	expected := s.Word("expected", i)
	waits := uint32(p.Keep["tolerable"]) >= expected
	s.SetWord("expected", i, expected+uint32(cost["byte_time"]))
	if !paused || waits || p.Hop == model.ToHost {
		if paused && waits {
			s.Note("wait")
		}
		return
	}
	kick := model.Fields{"kick": 1}
	from := int64(0)
	switch h := p.Fabric; {
	case source:
		kick["path"], kick["leaf"] = int64(p.Path), p.Leaf
	case h != nil && p.IP != nil: // the message goes to its source address
		kick["path"], kick["leaf"], from = h["path"], h["dst_leaf"], h["src_leaf"]
	default:
		return
	}
	if p.IP != nil {
		kick["host"] = p.IP["src"]
	}
	told := s.Cell("told_at", messageCell(from, kick["leaf"], kick["path"]))
	if !model.Since(uint32(*told), now, uint32(cost["tell_again"])) {
		return
	}
	*told = int64(now)
	const head = "class:8 in:16 path:8 leaf:16 host:32"
	kick["class"], kick["in"] = int64(p.Class), int64(p.InPort)
	if source {
		s.Note("kick-out")
		p.Request(&model.Message{Session: manifest.FeedbackSession, Head: kick.Append([]byte{2, 6}, head),
			Packet: &model.Packet{Reported: kick, Class: p.Class}})
	} else {
		s.Note("kick-out told")
		p.Request(&model.Message{Of: "plb", Session: p.InPort, Head: kick.Append([]byte{2, 5}, head), V: kick})
	}
}

// beginOnTofino stores the average wait when the report of it passes egress.
func beginOnTofino(s *model.Switch, p *model.Packet) {
	if p.Reported["held"] == 1 {
		s.Note("average wait")
		*s.Cell("sojourn", 0) = p.Reported["average"]
	}
}

// messageOnTofino makes a copy into a message that a path is kicked out. The copied
// packet follows, without Ethernet's header.
func messageOnTofino(_ *model.Switch, p *model.Packet) { kickOutFrame(p, p.Raw[14:]) }

// readOnTofino stores the values of a header at the destination leaf, which echoes
// them. A probe ends there.
func readOnTofino(s *model.Switch, p *model.Packet) {
	h := p.Fabric
	p.Meta["read"], p.Meta["probe"] = 1, h["probe"]
	if h["probe"] == 1 {
		p.Ends = true
	}
	if h["stamped"] == 1 {
		leaf := int(h["src_leaf"]) & (s.Leaves - 1)
		*s.Cell("echo_path", leaf), *s.Cell("echo_load", leaf) = (h["path"]+1)&255, h["load"]
		*s.Cell("echo_age", leaf) = int64(uint32(p.Now) - uint32(h["stamp"]))
	}
}

// writeOnTofino writes the header at the source leaf. A probe gets no echo: it may
// be dropped here.
func writeOnTofino(s *model.Switch, p *model.Packet) {
	if s.Config.Leaf < 0 {
		return
	}
	h, leaf, now := p.Fabric, int(p.Leaf), s.Clock(p)
	p.Meta["written"] = 1
	h["dst_leaf"], h["tolerable"] = p.Leaf, p.Keep["tolerable"]
	h["echo_load"] = *s.Cell("echo_load", leaf) // without an echo, that of the last one
	if last := s.Cell("stamped_at", s.PathCell(p.Leaf, p.Path)); model.Since(uint32(*last), now, uint32(s.Setting("leaf_role", "interval"))) {
		s.Note("stamp")
		h["stamped"], h["stamp"], *last = 1, model.Mod32(p.Now), int64(now)
	}
	if p.Probe {
		h["probe"], h["tolerable"] = 1, 1<<32-1
		return
	}
	s.Echo(p, model.Mod32(p.Now))
}

// departOnTofino reduces t_td of a packet by its wait, and reports the expected wait
// to ingress: the larger of t_avgST and t_pd, of the queue behind the packet.
func departOnTofino(s *model.Switch, p *model.Packet) {
	const parts = 20
	load := s.SentPart(p, parts) * 255 / parts
	h := p.Fabric
	if p.Probe { // a copy without a stamp is dropped
		if p.Meta["written"] == 0 && h != nil { // the packet came with a header
			h["probe"], h["tolerable"] = 1, 1<<32-1
		}
		if p.Meta["written"] == 0 || h["stamped"] == 0 {
			p.Ends = true
		}
	}
	p.Probe = p.Probe || p.Meta["probe"] == 1 || h != nil && h["probe"] == 1
	average, held := *s.Cell("sojourn", 0), false
	if h != nil {
		if held = s.DelayedByPause(p); held {
			s.Note("held up")
			h["tolerable"] = Sojourn{&average}.Dequeued(h["tolerable"], 0, model.Mod32(p.Left-p.Now), sojournShift)
		}
		h["load"] = max(h["load"], load)
	}
	if s.Config.Tables["link"][p.OutPort]["weight"] == 0 || !s.Due(p) {
		return
	}
	p.Report(true, "port:16 held:8 average:32 expected:32", model.Fields{"port": int64(p.OutPort), "held": model.Bit(held), "average": int64(uint32(average)),
		"expected": int64(max(uint32(average), uint32(p.Behind)*s.CellTime(p.OutPort)))})
}
