// SPDX-License-Identifier: Apache-2.0

package judge

import "github.com/pauseless/pauseless/bmv2tests/model"

// arrive counts a packet in its ingress queue and asks what follows: RLB may
// warn the sender, emulated PFC may pause it.
func (s *Switch) arrive(p *pkt) {
	i := s.in(p)
	watch, watched := s.cfg.Watch[i]
	last := s.warner[i].T
	forget := s.RLB && watched
	if !s.RLB {
		last, forget = s.arrivedAt[i], true
		s.arrivedAt[i] = p.now
	}
	// A queue without arrivals for long is empty, whatever was lost on the way.
	if forget && p.now-last > forgetTime(s.Features) {
		s.qIn[i] = 0
	}
	s.qIn[i] += p.length
	p.counted, p.q, p.calm = p.length, s.qIn[i], watch.Calm

	if s.RLB && watched {
		x, warns := s.cfg.Predict[i]
		pred := model.Predictor{Derivative: true, DC: x.DC, Qth: x.Qth, QPFC: x.QPFC, Horizon: x.Horizon, Dt: watch.Dt}
		if !warns {
			pred.Qth, pred.Derivative = 1<<62, false
		}
		w := s.warner[i]
		warn := w.Arrive(&pred, p.q, p.now)
		if s.Emulated && warns && w.Rises(&pred, p.q-p.length, p.q) && !warn {
			s.note("warning between looks")
			warn = true
		}
		if warn {
			if p.request(&message{kind: warnMessage, class: p.class}) {
				s.warningsSent[p.inPort]++
				s.note("warning")
			} else {
				w.Warned = s.warner[i].Warned
			}
		}
		s.warner[i] = w
	}
	if t, ok := s.cfg.PFCThreshold[i]; ok && s.Emulated {
		p.xon = t.XON
		paused := s.paused[i]
		paused.XOFF, paused.XON, paused.Refresh = t.XOFF, t.XON, t.Again
		if paused.Arrive(p.q, p.now) == model.PauseFrame {
			if !p.request(&message{kind: pauseMessage, class: p.class}) {
				return // the next packet asks again
			}
			s.note("pause")
		}
		s.paused[i] = paused
	}
}

// forgetTime is the time after which a queue without arrivals is empty: 10 ms, or
// 1 s where links are slow.
func forgetTime(f *Features) Time {
	if f.Microseconds {
		return 1_000_000
	}
	return 10_000_000
}

// hearWarning takes in a message of a neighbour, and passes it on.
func (s *Switch) hearWarning(p *pkt, n Neighbour) (o Outcome, clone *pkt) {
	c := model.CNM{Switch: int(p.cnm.sw), Port: int(p.cnm.port), Scope: int(p.cnm.scope), On: p.cnm.active == 1, Hold: p.cnm.hold, Hops: int(p.cnm.hops)}
	if c.Scope == model.ScopeAll || c.Scope < s.Leaves {
		s.warnings.Receive(c, n.Path, p.now)
	}
	r, ok := c.Relay()
	if !ok || n.Group == 0 {
		o.Drop = true
		return o, nil
	}
	s.note("warning passed on")
	p.cnm.hops = int64(r.Hops)
	o.Group = n.Group
	if s.Classes == 8 {
		o.Class = 7
	}
	return o, nil
}

// reroute is RLB for a packet that has a choice.
func (s *Switch) reroute(p *pkt, o *Outcome) {
	if s.Adaptive && s.faulty[p.path] {
		s.note("faulty path avoided")
		if q, ok := s.inTurn(p, func(q model.Path) bool { return !s.faulty[q] }); ok {
			p.path = q
			p.outPort = p.first + p.path
		}
	}
	trc := model.TRC(mod32(s.sent-s.returned), model.Ratio{Num: s.cfg.ByteTime, Den: 1024}, s.cfg.PassTime)
	warned := func(q model.Path) bool { return s.warnings.Warned(q, int(p.leaf), p.now) }
	free := func(q model.Path) bool { return !warned(q) && !s.faulty[q] }
	a := model.Alg1{
		Warned: warned,
		RTT:    func(q model.Path) Time { return s.rtt[s.at(p.leaf, q)].Latest },
		Known: func(q model.Path) bool {
			k := s.at(p.leaf, q)
			return s.rtt[k].Latest != 0 && p.now-s.rttAt[k] <= s.cfg.Fresh
		},
		Suboptimal:     func(model.Path) (model.Path, bool) { return s.next(p, free) },
		TRC:            trc,
		MayRecirculate: func(diff Time) bool { return p.passes < s.cfg.Most },
	}
	if s.Adaptive {
		a.MayRecirculate = func(diff Time) bool { return s.mayRecirculate(p, trc, diff, o) }
	}
	d := a.Route(p.path)
	switch {
	case d.Flag == model.Recirculated:
		s.note("recirculation")
		if p.passes > 0 {
			s.note("second recirculation")
		}
		s.recirculations[p.outPort]++
		p.again = true
	case d.Flag == model.Rerouted:
		s.note("reroute")
		s.reroutes[p.outPort]++
		p.path = d.Path
		p.outPort = p.first + p.path
		s.follow(p)
	case d.Warned:
		s.note("warned path taken")
		s.ignored[p.outPort]++
	}
}

// inTurn is the first path after the packet's that is free.
func (s *Switch) inTurn(p *pkt, free func(model.Path) bool) (model.Path, bool) {
	for q := model.InTurn(p.path, p.paths); q != p.path; q = model.InTurn(q, p.paths) {
		if free(q) {
			return q, true
		}
	}
	return 0, false
}

// next is the base scheme's next choice among the paths that are free: DRILL's
// second shortest of its candidates, another draw of LetFlow's, CONGA's least
// congested, the fastest measured one for Hermes. What it has no further
// choice for goes in turn, as Presto and ECMP do always.
func (s *Switch) next(p *pkt, free func(model.Path) bool) (model.Path, bool) {
	switch s.Base {
	case "drill":
		var list []model.Path
		for _, q := range p.drilled {
			if free(q) {
				list = append(list, q)
			}
		}
		if q := model.Shortest(list, func(q model.Path) Bytes { return s.qOut[s.cell(p.first+q, p.class)] }); q >= 0 {
			return q, true
		}
	case "letflow":
		if q := int(s.rng.below(int64(p.paths))); free(q) {
			return q, true
		}
	case "conga":
		const never = 1 << 40
		q := model.Least(p.paths, p.path, func(q model.Path) int64 {
			if !free(q) {
				return never
			}
			return s.congestion(p, q)
		})
		return q, free(q)
	case "hermes":
		const never = 1 << 40
		rtt := func(q model.Path) Time {
			if t := s.rtt[s.at(p.leaf, q)].Latest; t != 0 && free(q) {
				return t
			}
			return never
		}
		if q := model.Least(p.paths, p.path, rtt); rtt(q) != never {
			return q, true
		}
	}
	return s.inTurn(p, free)
}

// follow lets the rest of a flow follow a packet that was rerouted, where the
// base scheme remembers flows.
func (s *Switch) follow(p *pkt) {
	switch {
	case s.Base == "presto":
		s.flowcell[s.flow(p)].Path = p.path
	case s.Flowlets:
		s.flowlet[s.flow(p)].Path = p.path
	}
}

// mayRecirculate is section IV for a packet that would gain diff.
func (s *Switch) mayRecirculate(p *pkt, trc, diff Time, o *Outcome) bool {
	w := &s.window
	if since := mod32(p.now - w.Start); since >= w.Length {
		if port, found := s.detector.Close(w, since < 2*w.Length); found {
			if path := port - p.first; path >= 0 && path < p.paths {
				s.faulty[path] = true
			}
			s.note("fault")
			o.Digest = append(o.Digest, []int64{int64(port), p.leaf, w.Passes, w.Packets})
		}
		inflow := model.Ratio{Num: s.cfg.Inflow, Den: 1024}.Times(trc)
		*w = model.Window{Start: p.now, Length: trc, Budget: model.Eq5(s.cfg.XOFF, s.qIn[s.in(p)], inflow, s.cfg.MTU)}
	}
	switch {
	case w.Packets >= w.Budget:
		s.note("denied by Eq. 5")
		return false
	case !model.Eq6(p.waited, trc, diff):
		s.note("denied by Eq. 6")
		return false
	case p.passes >= s.cfg.Most:
		s.note("denied by the limit")
		return false
	}
	p.waited += trc
	w.Recirculated(p.outPort, int64(p.passes)+1)
	return true
}
