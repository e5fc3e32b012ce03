// SPDX-License-Identifier: Apache-2.0

// Package rlb models RLB: a switch that predicts a pause warns the switches
// upstream, and source leaves reroute packets from warned paths without reordering
// them.
package rlb

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "rlb",
		Local:  map[byte]string{kindWarning: "kind:8 priority:8 active:8 hops:8 origin:16 port:16 scope:16 hold:32"},
		Frames: 8,
		Draw: func(g *model.Drawer, leaf int64) model.Fields {
			return model.Fields{"kind": kindWarning, "priority": g.UpTo(7), "active": model.Pick[int64](g, 0, 1, 1), "hops": g.UpTo(3), "origin": g.UpTo(100),
				"port": g.UpTo(50), "scope": model.Pick(g, ScopeAll, leaf, leaf, int64(g.Leaves)), "hold": model.Pick(g, 0, g.UpTo(10*g.Pace))}
		},
		Limits: map[string]int64{"predict.calm_part": 1024, "cnm_out.hold_byte": 1024}, Registers: registers,
		Special: map[string]int64{"Compath.fresh": 0}, // measurements do not age
		LastSample: func(s *model.Switch, i int) (model.Time, bool) {
			_, watched := s.Config.Tables["Readqlen"][i]
			return *s.Cell("sampled_at", i), watched
		},
		V1model: model.Stages{model.Hear: hear, model.Count: predict, model.Rethink: reroute, model.Rewrite: message, model.Last: calm},
		Tofino: model.Stages{model.Hear: hearOnTofino, model.Learn: learnOnTofino, model.Count: countOnTofino, model.Rethink: rerouteOnTofino,
			model.Begin: beginOnTofino, model.Rewrite: messageOnTofino, model.Read: readOnTofino, model.Write: writeOnTofino, model.Depart: departOnTofino}})
	model.Add(model.Scheme{Name: "rlb_adaptive", Settle: settle, Registers: windowRegisters, V1model: model.Stages{model.Rethink: avoidFaulty}})
}

const kindWarning = 1

// Kinds of the messages that a switch makes: a warning, and the end of one.
const (
	warnMessage = iota
	calmMessage
)

// warner is the state of an ingress queue in the registers.
func warner(s *model.Switch, i int) *Warner {
	return &Warner{Slope{*s.Cell("sampled_qlen", i), *s.Cell("sampled_at", i)}, *s.Cell("warning_on", i) == 1}
}

func setWarner(s *model.Switch, i int, w *Warner) {
	*s.Cell("sampled_qlen", i), *s.Cell("sampled_at", i), *s.Cell("warning_on", i) = w.Q, w.T, model.Bit(w.Warned)
}

// predict sends a warning to the previous switch, if one is due. Where the program
// itself sends PAUSE frames, one may be due between two samples.
func predict(s *model.Switch, p *model.Packet) {
	if s.Is("shared_buffer") {
		predictMoving(s, p)
		return
	}
	i := s.In(p)
	watch, watched := s.Config.Tables["Readqlen"][i]
	p.Keep["calm"] = watch["calm"]
	if !watched {
		return
	}
	x, warns := s.Config.Tables["predict"][i]
	pred := Predictor{Derivative: true, DC: x["floor"], Qth: x["warn_at"], QPFC: x["xoff"], Horizon: x["horizon"], Dt: watch["interval"]}
	if !warns {
		pred.Qth, pred.Derivative = 1<<62, false
	}
	w := warner(s, i)
	before := w.Warned
	warn := w.Arrive(&pred, p.QueueIn, p.Now)
	if s.Is("pfc_emulated") && warns && w.Rises(&pred, p.QueueIn-p.Length, p.QueueIn) && !warn {
		s.Note("warning between looks")
		warn = true
	}
	if warn {
		if p.Request(&model.Message{Of: "rlb", Kind: warnMessage, Session: p.InPort, V: model.Fields{"class": int64(p.Class)}}) {
			*s.Cell("warnings_sent", p.InPort)++
			s.Note("warning")
		} else {
			w.Warned = before
		}
	}
	setWarner(s, i, w)
}

// calm ends a warning when the queue has become short.
func calm(s *model.Switch, p *model.Packet) {
	switch {
	case p.Counted == 0:
		return
	case s.Is("shared_buffer"):
		calmMoving(s, p)
		return
	}
	i := s.In(p)
	w := warner(s, i)
	if w.Depart(p.Keep["calm"], p.QueueIn+p.Counted, p.QueueIn) &&
		p.Request(&model.Message{Of: "rlb", Kind: calmMessage, Session: p.InPort, V: model.Fields{"class": int64(p.Class), "calm": p.Keep["calm"]}}) {
		s.Note("warning taken back")
		setWarner(s, i, w)
	}
}

// reroute is Algorithm 1 for a packet that has a choice.
func reroute(s *model.Switch, p *model.Packet) {
	trc := TRC(model.Mod32(*s.Cell("recirc_sent", 0)-*s.Cell("recirc_returned", 0)), model.Ratio{Num: s.Setting("Compath", "byte_time"), Den: 1024}, s.Setting("Compath", "pass_time"))
	warned := func(q model.Path) bool { return warned(s, q, p.Leaf) }
	faulty := model.Unmask(*s.Cell("faulty", 0), s.PathCells)
	free := func(q model.Path) bool { return !warned(q) && !faulty[q] }
	rtt := func(q model.Path) model.Time { return *s.Cell("path_rtt", s.PathCell(p.Leaf, q)) }
	next := func(free func(model.Path) bool) func() (model.Path, bool) {
		return func() (model.Path, bool) {
			if s.Base.Next != nil {
				return s.Base.Next(s, p, free)
			}
			return model.FirstFree(p, free)
		}
	}
	to := func(q model.Path) { p.Path, p.OutPort = q, p.First+q }
	initial := p.Path
	a := Alg1{
		// A packet may not take a faulty path.
		Warned: func(q model.Path) bool { return warned(q) || q != initial && faulty[q] },
		RTT:    rtt,
		Known: func(q model.Path) bool {
			fresh := s.Setting("Compath", "fresh")
			return rtt(q) != 0 && (fresh == 0 || p.Now-*s.Cell("path_rtt_time", s.PathCell(p.Leaf, q)) <= fresh)
		},
		Next: next(func(q model.Path) bool { return q != initial }),
		Free: next(free),
		TRC:  trc,
		MayRecirculate: func(q model.Path, _ model.Time) bool {
			to(q)
			return int64(p.Passes) < s.Setting("Stoprecir", "most")
		},
	}
	if s.Is("rlb_adaptive") {
		a.MayRecirculate = func(q model.Path, diff model.Time) bool {
			to(q)
			return mayRecirculate(s, p, trc, diff)
		}
	}
	switch d := a.Route(p.Path); {
	case d.Flag == Recirculated:
		s.Note("recirculation")
		if p.Passes > 0 {
			s.Note("second recirculation")
		}
		if d.Path != initial {
			s.Note("recirculation for the next choice")
		}
		*s.Cell("recirculations", p.OutPort)++
		p.Again = true
	case d.Flag == Rerouted:
		s.Note("reroute")
		*s.Cell("reroutes", p.OutPort)++
		to(d.Path)
		if s.Base.Rerouted != nil {
			s.Base.Rerouted(s, p)
		}
	case d.Warned:
		s.Note("warned path taken")
		*s.Cell("forwarded_warned", p.OutPort)++
	}
}

// message makes a copy into a warning, or into the end of one. Where the program
// itself sends PAUSE frames, the end is sent only if the queue is still short.
func message(s *model.Switch, p *model.Packet) {
	m, port := p.Message, p.Queue.Port
	if i := s.QueueCell(port, int(m.V["class"])); m.Kind == calmMessage && s.Is("pfc_emulated") {
		w := warner(s, i)
		over := w.Over(m.V["calm"], *s.Cell("ingress_qlen", i))
		setWarner(s, i, w)
		if !over {
			s.Note("warning stands")
			p.Ends = true
			return
		}
	}
	warning(s, p, port, m.V["class"], m.Kind == warnMessage, p.Rest)
}

func warning(s *model.Switch, p *model.Packet, port int, class int64, on bool, rest []byte) {
	c, ok := s.Config.Tables["cnm_out"][port]
	if !ok {
		p.Ends = true
		return
	}
	p.ToNeighbour(uint64(c["mac"]), model.Fields{"kind": kindWarning, "priority": class, "active": model.Bit(on), "hops": c["hops"],
		"origin": c["switch_id"], "port": int64(port), "scope": c["scope"], "hold": holdOf(s, p.Message, c)}, rest)
	if s.Tofino {
		s.Counted["warnings_sent"]++
	} else {
		p.Limit = 60
	}
}
