// SPDX-License-Identifier: Apache-2.0

package rlb

import "github.com/pauseless/pauseless/internal/model"

// RLB, section III-B.1 and III-B.3: predicting PFC and warning upstream.

// Eq3 gives the conservative range of the warning threshold Q_th:
// [d·C, Q_PFC − d·C·(n−1)], for a link delay whose bandwidth-delay product
// d·C is dC bytes, and an n:1 incast.
func Eq3(qPFC, dC model.Bytes, n int64) (low, high model.Bytes) {
	return dC, qPFC - dC*(n-1)
}

// WarningThreshold is the default of Q_th.
//
// Reading: the upper end of Eq. 3, but not below the lower end, which it is
// for large n.
func WarningThreshold(qPFC, dC model.Bytes, n int64) model.Bytes {
	low, high := Eq3(qPFC, dC, n)
	return max(low, high)
}

// A Predictor decides whether an ingress port is about to trigger PFC.
type Predictor struct {
	// Derivative is the paper's section III-B; without it only q ≥ Qth
	// warns, as in the paper's hardware (section V, table Readqlen).
	Derivative bool
	QPFC       model.Bytes // PFC threshold of the ingress port
	Qth        model.Bytes // warning threshold
	DC         model.Bytes // d·C: below it there is no congestion to predict from
	Dt         model.Time  // Δt
	Horizon    model.Time  // warn if Q_PFC would be reached within this time
}

// A Slope is the state of an ingress port between packets.
type Slope struct {
	Q model.Bytes // queue length when the interval began
	T model.Time  // when it began
}

// Predicts reports whether a queue of q bytes at time now is about to trigger
// PFC, given the start of the interval.
//
// "RLB first checks whether the ingress queue length exceeds a certain
// threshold at the current increasing rate": q ≥ d·C and Δq > 0. "At this
// rate, we can calculate the time required for reaching the PFC threshold. If
// the remaining time is smaller than a given threshold, RLB sends PFC
// warning": (Q_PFC − q) / (Δq/Δt) ≤ horizon.
func (p *Predictor) Predicts(s Slope, q model.Bytes, now model.Time) bool {
	if q >= p.Qth {
		return true
	}
	if !p.Derivative || q < p.DC {
		return false
	}
	dq, dt := q-s.Q, now-s.T
	if dq <= 0 || dt <= 0 {
		return false
	}
	if q >= p.QPFC {
		return true // nothing remains to be reached
	}
	// (QPFC − q) · dt / dq ≤ Horizon
	return model.FractionAtMost(p.QPFC-q, dq, p.Horizon, dt)
}

// A Warner is the sender of congestion notification messages of one ingress
// port.
type Warner struct {
	Slope
	Warned bool // the last message said that PFC is coming
}

// Arrive is called for each packet that arrives, with the queue that it makes.
// It reports whether a warning is to be sent.
//
// Reading: an interval ends with the first packet that arrives Δt or more after its
// start. Then the prediction is made, a warning is sent if need be, and the next
// interval starts.
func (w *Warner) Arrive(p *Predictor, q model.Bytes, now model.Time) bool {
	if now-w.T < p.Dt {
		return false
	}
	warn := p.Predicts(w.Slope, q, now)
	w.Slope = Slope{Q: q, T: now}
	w.Warned = w.Warned || warn
	return warn
}

// Rises is called for each packet that arrives where the program itself sends
// PAUSE frames. It reports whether a warning is due because this packet makes the
// queue as long as Q_th.
//
// Ours: in the paper, the traffic manager pauses, after the program has seen the
// queue. A program that may pause at any packet, but predicts once per interval,
// would pause before it warns.
func (w *Warner) Rises(p *Predictor, before, after model.Bytes) bool {
	if before >= p.Qth || after < p.Qth {
		return false
	}
	w.Warned = true
	return true
}

// Depart is called for each packet that leaves, with the queue before and
// after it. It reports whether a warning ends: when the queue falls below calm, half
// of Q_th.
//
// Reading: a warning that was sent for the slope of a queue already below calm is not
// ended, but expires.
func (w *Warner) Depart(calm, before, after model.Bytes) bool {
	if !w.Warned || before < calm || after >= calm {
		return false
	}
	w.Warned = false
	return true
}

// Over is called when the message that ends a warning is sent, with the present
// queue. It reports whether the queue is still short. Otherwise the warning stays.
//
// Ours, for BMv2: its ingress and egress are threads, and messages wait in a
// queue. A new warning may have been sent meanwhile.
func (w *Warner) Over(calm, q model.Bytes) bool {
	w.Warned = w.Warned || q >= calm
	return q < calm
}

// ScopeAll is the scope of a warning about packets to any leaf.
const ScopeAll = 0xffff

// warnedUntil is the end of a warning about a path of this switch for packets to a
// leaf, or to all; 0 without a warning.
func warnedUntil(s *model.Switch, path model.Path, scope int64) *model.Time {
	if scope == ScopeAll {
		scope = int64(s.Leaves)
	}
	return s.Cell("warned_until", int(scope)*s.PathCells+path)
}

// warned reports h_PFC of a path to a leaf. A warning is active for its hold time.
func warned(s *model.Switch, path model.Path, leaf int64) bool {
	return s.Now < *warnedUntil(s, path, ScopeAll) || s.Now < *warnedUntil(s, path, leaf)
}

// hear processes a message of a neighbour, and relays it. It arrives at the egress
// port that is connected to the ingress port of the prediction.
func hear(s *model.Switch, p *model.Packet) {
	m := p.Local
	if m == nil || m["kind"] != kindWarning {
		return
	}
	p.Ends = true
	n, _ := s.Entry("fabric_port", p.InPort)
	if scope := m["scope"]; scope == ScopeAll || scope < int64(s.Leaves) {
		*warnedUntil(s, model.Path(n["path"]), scope) = model.Bit(m["active"] == 1) * (s.Now + m["hold"])
	}
	relay(s, p, int(n["relay_group"]))
}

// relay is hop-by-hop propagation, while a message has hops left. A leaf warns of
// packets to itself, so its message keeps its scope when a spine relays it to the
// other leaves.
func relay(s *model.Switch, p *model.Packet, group int) {
	if group != 0 && p.Local["hops"] != 0 {
		s.Note("warning passed on")
		p.Local["hops"]--
		p.Multicast(s, group)
	}
}
