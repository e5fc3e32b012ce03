// SPDX-License-Identifier: Apache-2.0

// Package plb models PLB: load balancing in PFC-enabled datacenter networks.
package plb

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "plb", EveryPacket: true, AllPorts: true,
		Base:   &model.Base{Choose: choose, Rerouted: model.FollowFlowlet, Draws: 1, Early: true, Always: true},
		Header: "dst_leaf:16 probe:8 load:8 echo_load:8 tolerable:32",
		Fill: func(g *model.Drawer, h model.Fields) {
			h["dst_leaf"], h["probe"], h["tolerable"] = g.R.Int64N(int64(g.Leaves)), model.Pick[int64](g, 0, 0, 0, 1), g.Duration(0)
			h["load"], h["echo_load"] = g.UpTo(255), g.UpTo(255)
		},
		Local:  map[byte]string{kindKickOut: "kind:8 path:8 leaf:16 host:32"},
		Frames: 6,
		Draw: func(g *model.Drawer, leaf int64) model.Fields {
			if g.Config.Leaf >= 0 {
				leaf = g.Config.Leaf
			}
			return model.Fields{"kind": kindKickOut, "path": g.R.Int64N(int64(g.PathCells)), "leaf": g.R.Int64N(int64(g.Leaves) + 1), "host": model.Host(leaf, 1+g.UpTo(2))}
		},
		Registers: map[string]model.Register{
			"path_rank":  pathRank(),
			"probe_path": {Draw: func(g *model.Drawer, i int) int64 { return g.R.Int64N(int64(g.PathsTo(int64(i)))) }},

			// On a Tofino.
			"path_best.rank":   {Init: func(*model.Switch, int) int64 { return KickedOut }, Draw: drawRank},
			"path_best.path":   {Draw: func(g *model.Drawer, _ int) int64 { return known + g.R.Int64N(int64(g.PathCells)) }},
			"silence.slots":    {Draw: func(g *model.Drawer, _ int) int64 { return g.UpTo(2 * Silent) }},
			"other_rtt.window": {Draw: func(g *model.Drawer, _ int) int64 { return model.Mod32(g.Now) >> g.R.IntN(20) }},
		},
		V1model: model.Stages{model.Learn: learn, model.Routed: hearKickOut, model.Write: write, model.Meet: meetPause, model.Leave: probe, model.Rewrite: message, model.Depart: depart},
		Tofino: model.Stages{model.Hear: hearOnTofino, model.Routed: kickedOutOnTofino, model.Learn: learnOnTofino, model.Leave: leaveOnTofino,
			model.Begin: beginOnTofino, model.Rewrite: messageOnTofino, model.Read: readOnTofino, model.Write: writeOnTofino, model.Depart: departOnTofino}})
}

const kindKickOut = 2

// Kinds of the messages that a switch makes.
const (
	kickOutMessage = iota
	probeMessage
)

// kickedOut is the negation of p_active: 1 for a path that is not active.
func kickedOut(s *model.Switch, i int) *int64 { return s.Cell("plb: kicked out", i) }

func putOut(s *model.Switch, p *model.Packet, i int) {
	*kickedOut(s, i), *s.Cell("kicked_at", i) = 1, p.Now
}

// A PathState is the state of a path (section 3.2).
type PathState int

// Path states.
const (
	NonCongested PathState = iota
	Congested
	Undetermined // PFC pauses it
)

// A Path is the source leaf's state of a path.
type Path struct {
	RTT    model.Time // t_RTT
	Util   int64
	Active bool // p_active
}

// State classifies a path: "small RTT (i.e., less than RTT_low)" is not
// congested; "large RTT and the link utilization is equal to 1" is; with a
// large RTT and utilisation below 1, PFC pauses it.
//
// Readings: RTT = RTT_low is large. A measured utilisation of 95 % is 1: full
// is the value of Util from which a link counts as fully used.
func (p Path) State(rttLow model.Time, full int64) PathState {
	switch {
	case p.RTT < rttLow:
		return NonCongested
	case p.Util >= full:
		return Congested
	default:
		return Undetermined
	}
}

// Reroutes reports line 3 of Algorithm 2: "a new flow ∥ p is congested or
// kicked out".
func Reroutes(newFlow bool, p Path, rttLow model.Time, full int64) bool {
	return newFlow || p.State(rttLow, full) == Congested || !p.Active
}

// Reroute is Algorithm 2, lines 4 to 14.
//
// Readings: of equal paths, the first in turn from a given one is taken. If all
// paths are kicked out, they are equal.
func Reroute(paths []Path, from model.Path, rttLow model.Time, full int64) model.Path {
	choose := func(in func(Path) bool, better func(a, b Path) bool) model.Path {
		c := -1
		for i := range paths {
			i := (from + i) % len(paths)
			if in(paths[i]) && (c < 0 || better(paths[i], paths[c])) {
				c = i
			}
		}
		return c
	}
	active := func(state PathState) func(Path) bool {
		return func(p Path) bool { return p.Active && p.State(rttLow, full) == state }
	}
	lowRTT := func(a, b Path) bool { return a.RTT < b.RTT }
	highUtil := func(a, b Path) bool { return a.Util > b.Util }
	if p := choose(active(NonCongested), lowRTT); p >= 0 { // lines 4, 5
		return p // line 6
	}
	if p := choose(active(Undetermined), highUtil); p >= 0 { // lines 8, 9
		return p // line 10
	}
	if p := choose(active(Congested), lowRTT); p >= 0 { // line 12
		return p // line 13
	}
	return from
}

// Tolerable is t_td as the source leaf writes it: "the delay difference
// between the optimal and sub-optimal paths".
//
// Reading: the sub-optimal path is the fastest of the others that are active.
// If it is faster than the chosen one there is nothing to tolerate.
func Tolerable(paths []Path, chosen model.Path) model.Time {
	t, found := model.Time(0), false
	for i, p := range paths {
		if i != chosen && p.Active && (!found || p.RTT < t) {
			t, found = p.RTT, true
		}
	}
	return max(0, t-paths[chosen].RTT)
}

// A Sojourn is the state of a switch for Algorithm 1.
type Sojourn struct {
	Avg *model.Time // t_avgST
}

// TPD is the minimum queueing delay: what is queued at the egress port, at
// the link's rate.
func TPD(queue model.Bytes, byteTime model.Ratio) model.Time { return byteTime.Times(queue) }

// Waits is line 5 of Algorithm 1, for a packet whose egress port is paused.
//
// Reading: the line says t_td < max(t_avgST, t_pd), the prose of section 3.3
// (tolerate a pause that is short against other paths) and of the lines after
// it the opposite. The prose is right: with the line as printed, a packet that
// can tolerate nothing would wait and one that can tolerate anything would not.
func (s Sojourn) Waits(ttd, tpd model.Time) bool { return ttd >= max(*s.Avg, tpd) }

// Dequeued is lines 7 and 8, for a packet that waited: it returns the new
// t_td.
//
// Readings: t'_avgST in line 8 is the sojourn of this packet, because otherwise
// nothing would be measured. t_td does not become negative.
func (s Sojourn) Dequeued(ttd, tEnqueue, tDequeue model.Time, alphaShift uint) model.Time {
	sojourn := tDequeue - tEnqueue
	*s.Avg += sojourn>>alphaShift - *s.Avg>>alphaShift // line 8
	return max(0, ttd-sojourn)                         // line 7
}

// sojournShift is the weight of a sample in the average as a power of two: an
// eighth.
const sojournShift = 3

// path is the state of a path in the registers.
func path(s *model.Switch, i int) Path {
	return Path{RTT: *s.Cell("path_rtt", i), Util: *s.Cell("path_load", i), Active: *kickedOut(s, i) == 0}
}

// rank is Algorithm 2's order of the paths in one number: the state in the upper
// two bits, then the round-trip time, or the unused part of the load.
func rank(s *model.Switch, p Path) int64 {
	switch state := p.State(s.Setting("path_class", "rtt_low"), s.Setting("path_class", "full")); {
	case !p.Active:
		return 3 << 30
	case state == NonCongested:
		return p.RTT
	case state == Undetermined:
		return 1<<30 | (255 - p.Util)
	default:
		return 2<<30 | p.RTT
	}
}

// KickedOut is the rank of a path that is kicked out on a Tofino: the last.
const KickedOut = 1<<32 - 1

func pathRank() model.Register {
	return model.Register{
		Draw: func(g *model.Drawer, i int) int64 {
			if g.Tofino {
				return drawRank(g, i)
			}
			return g.UpTo(3)
		},
		Get: func(s *model.Switch, i int) (int64, bool) {
			if s.Tofino {
				return *s.Cell("path_rank", i), true
			}
			return rank(s, path(s, i)), true
		},
		Set: func(s *model.Switch, i int, v int64) {
			*s.Cell("path_rank", i), *kickedOut(s, i) = v, model.Bit(v == 0 || v == 1)
		},
	}
}

func drawRank(g *model.Drawer, i int) int64 {
	return model.Pick(g, model.Mod32(g.Duration(i)<<6), model.Mod32(g.Duration(i)<<6), 1<<30|g.UpTo(255), 2<<30|model.Mod32(g.Duration(i)<<6), KickedOut)
}

// choose is Algorithm 2 for a packet at its source leaf.
func choose(s *model.Switch, p *model.Packet) model.Path {
	if s.Tofino {
		return chooseOnTofino(s, p)
	}
	paths := make([]Path, p.Paths)
	for q := range paths {
		paths[q] = path(s, s.PathCell(p.Leaf, q))
	}
	rttLow, full := s.Setting("path_class", "rtt_low"), s.Setting("path_class", "full")
	f := s.Flowlet(p)
	newFlow := !f.Active(p.Now, s.Setting("flowlet", "gap"))
	if newFlow || Reroutes(false, paths[f.Path], rttLow, full) {
		from := model.Path(s.Below(int64(p.Paths)))
		if !newFlow {
			s.Note("flow moved")
		}
		f.Path = Reroute(paths, from, rttLow, full)
	}
	p.Keep["tolerable"] = Tolerable(paths, f.Path) // as of now
	return s.SetFlowlet(p, f.Path)
}

// learn reads the header at the destination leaf. A probe ends here.
func learn(s *model.Switch, p *model.Packet) {
	h := p.Fabric
	if src := h["src_leaf"]; src < int64(s.Leaves) {
		if h["stamped"] == 1 {
			*s.Cell("echo_load", int(src)) = h["load"]
		}
		if h["echoed"] == 1 {
			i := s.PathCell(src, int(h["echo_path"]))
			*s.Cell("path_load", i) = h["echo_load"]
			if !s.Is("kick_newer") || int32(h["echo"]-*s.Cell("kicked_at", i)) > 0 {
				*kickedOut(s, i) = 0
			}
		}
	}
	if h["probe"] == 1 {
		p.Ends = true
	}
}

// hearKickOut processes a message of another switch, if it is for this leaf.
func hearKickOut(s *model.Switch, p *model.Packet) {
	if p.Local == nil {
		return
	}
	if s.Classes == 8 {
		p.Class = 7
	}
	if p.Hop == model.ToHost {
		p.Ends = true
		if p.Local["leaf"] < int64(s.Leaves) {
			putOut(s, p, s.PathCell(p.Local["leaf"], int(p.Local["path"])))
		}
	}
}

func write(s *model.Switch, p *model.Packet) {
	h := p.Fabric
	h["dst_leaf"], h["tolerable"] = p.Leaf, p.Keep["tolerable"]
	if h["echoed"] == 1 {
		h["echo_load"] = *s.Cell("echo_load", int(p.Leaf))
	}
}

// meetPause is lines 3 to 5 and 9 to 11 of Algorithm 1. If the program holds packets, one
// gets its header after the pause.
func meetPause(s *model.Switch, p *model.Packet) {
	i := s.Out(p)
	cost, priced := s.Config.Tables["pause_cost"][p.OutPort]
	h, source := p.Fabric, p.Hop == model.ToChoice && s.Config.Leaf >= 0 // its source leaf is here
	if s.Is("pfc_emulated") {
		if p.Keep["met"] == 1 {
			return
		}
		p.Keep["met"] = 1
		if source = source && h == nil; source {
			h = model.Fields{"tolerable": p.Keep["tolerable"]}
		}
	}
	if h == nil || !priced || !s.Paused(i, p.Now) {
		return
	}
	tpd := TPD(*s.Cell("egress_qlen", i), model.Ratio{Num: cost["byte_time"], Den: 1024}) // line 3
	sojourn := Sojourn{s.Cell("sojourn", 0)}                                              // "maintained at each switch"
	switch {
	case s.Is("no_kick_out") || sojourn.Waits(h["tolerable"], tpd) != s.Is("kick_printed"): // line 5
		s.Note("wait")
		p.Keep["waits"], p.Keep["waits_from"] = 1, p.Now // line 6
	case source:
		s.Note("kick-out")
		putOut(s, p, s.PathCell(p.Leaf, p.Path)) // line 11
	case p.IP != nil: // the message goes to its source address
		// Notify the source leaf of a path, found by a hash, once in a time and not
		// for every packet.
		told := s.Cell("told_at", messageCell(h["src_leaf"], h["dst_leaf"], h["path"]))
		if model.Mod32(p.Now-*told) >= cost["tell_again"] &&
			p.Request(&model.Message{Of: "plb", Kind: kickOutMessage, Session: p.InPort, V: model.Fields{"path": h["path"], "leaf": h["dst_leaf"], "host": p.IP["src"]}}) {
			s.Note("kick-out told")
			*told = p.Now
		}
	}
}

// messageCell is the place of a path between two leaves in told_at.
func messageCell(from, to, path int64) int {
	return int(model.CRC16([]byte{byte(from >> 8), byte(from), byte(to >> 8), byte(to), byte(path)})) & 1023
}

// probe sends a probe on a path on which no packet was stamped for an interval: a
// path that was kicked out stays so "until its RTT and link utilization are
// updated". In each interval, it is the next path.
func probe(s *model.Switch, p *model.Packet) {
	leaf, interval := int(p.Leaf), s.Setting("probe", "interval")
	if p.Fabric == nil || p.Hop != model.ToChoice || s.Config.Leaf < 0 || model.Mod32(p.Now-*s.Cell("probed_at", leaf)) < interval {
		return
	}
	*s.Cell("probed_at", leaf) = p.Now
	path := model.InTurn(model.Path(*s.Cell("probe_path", leaf)), p.Paths)
	*s.Cell("probe_path", leaf) = int64(path)
	stamped := s.Cell("stamped_at", s.PathCell(p.Leaf, path))
	if model.Mod32(p.Now-*stamped) >= interval && p.Request(&model.Message{Of: "plb", Kind: probeMessage, Session: 256 + p.First + path,
		V: model.Fields{"path": int64(path), "from": s.Config.Leaf, "to": p.Leaf}}) {
		s.Note("probe")
		*stamped = p.Now
	}
}

func message(_ *model.Switch, p *model.Packet) {
	m := p.Message
	if m.Kind == probeMessage {
		p.Fabric = model.Fields{"src_leaf": m.V["from"], "path": m.V["path"], "stamped": 1, "stamp": model.Mod32(p.Left), "dst_leaf": m.V["to"], "probe": 1, "tolerable": 1<<32 - 1}
		p.Limit = 64
		return
	}
	kickOutFrame(p, p.Rest)
	p.Limit = 60
}

// kickOutFrame is the message that a path is kicked out.
func kickOutFrame(p *model.Packet, rest []byte) {
	v := p.Message.V
	p.ToNeighbour(p.Src, model.Fields{"kind": kindKickOut, "path": v["path"], "leaf": v["leaf"], "host": v["host"]}, rest)
}

// depart is lines 6 to 8 of Algorithm 1 for a packet that waited, and updates the
// largest load in the header.
func depart(s *model.Switch, p *model.Packet) {
	h := p.Fabric
	if h == nil {
		return
	}
	h["load"] = max(h["load"], min(p.Meta["load"]>>8, 255))
	if p.Keep["waits"] == 1 {
		from := p.Came
		if s.Is("pfc_emulated") {
			from = p.Keep["waits_from"] // it waits by recirculation, not in its queue
		}
		h["tolerable"] = Sojourn{s.Cell("sojourn", 0)}.Dequeued(h["tolerable"], from, p.Left, sojournShift)
	}
}
