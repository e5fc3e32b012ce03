// SPDX-License-Identifier: Apache-2.0

package rlb

import "github.com/pauseless/pauseless/internal/model"

// RLB where Q_PFC is not a number, but follows what is free of the shared
// buffer.
//
// Ours: the paper's switches pause at 256 KB. All it says of Q_PFC is taken to
// be about Q_PFC as it is when a packet comes. Other queues take of the buffer
// between two looks, so that Q_PFC comes towards the queue: the time that
// remains is what the queue lacks to Q_PFC by how fast that goes.

// A MovingPredictor decides whether an ingress port is about to trigger PFC.
type MovingPredictor struct {
	Margin   model.Bytes // Q_PFC less Q_th: what Eq. 3 leaves, d·C·(n−1)
	DC       model.Bytes // d·C
	CalmPart model.Ratio // of Q_th, below which a warning is over
	Horizon  model.Time
}

// Qth is the warning threshold.
//
// Reading: the upper end of Eq. 3, but not below the lower end. That may be
// above Q_PFC when the buffer is nearly full, which would warn after the pause:
// then half of Q_PFC is the lower end.
func (p *MovingPredictor) Qth(qPFC model.Bytes) model.Bytes {
	return max(qPFC-p.Margin, min(p.DC, qPFC/2))
}

// Predicts reports whether a queue of q bytes is about to trigger PFC, given
// what it lacked to Q_PFC when it was last looked at, and how long ago that was.
func (p *MovingPredictor) Predicts(before, q, qPFC model.Bytes, since model.Time) bool {
	room := max(0, qPFC-q)
	switch {
	case q >= p.Qth(qPFC):
		return true
	case q < p.DC || room >= before:
		return false
	}
	return model.FractionAtMost(room, before-room, p.Horizon, since)
}

// predictMoving asks whether a packet is to warn its sender: with the first
// packet after each interval, or at once if the queue is long and nobody was
// warned of it.
func predictMoving(s *model.Switch, p *model.Packet) {
	i := s.In(p)
	watch, watched := s.Config.Tables["Readqlen"][i]
	if !watched {
		return
	}
	at, room := s.Cell("sampled_at", i), s.Cell("sampled_room", i)
	since, lacks := p.Now-*at, model.Bytes(0)
	look := since >= watch["interval"]
	if x, warns := s.Config.Tables["predict"][i]; warns {
		pred := MovingPredictor{Margin: x["margin"], DC: x["floor"], CalmPart: model.Ratio{Num: x["calm_part"], Den: 1024}, Horizon: x["horizon"]}
		qPFC := s.Threshold(p, s.Setting("shared_buffer", "size"), x["alpha_shift"])
		qth := pred.Qth(qPFC)
		lacks = max(0, qPFC-p.QueueIn)
		calm, on := s.Cell("calm_qlen", i), s.Cell("warning_on", i)
		*calm = pred.CalmPart.Times(qth)
		warn := look && pred.Predicts(*room, p.QueueIn, qPFC, since)
		if p.QueueIn >= qth && *on == 0 && !warn {
			s.Note("warning between looks")
			warn = true
		}
		p.Keep["xoff"] = qPFC
		if warn && p.Request(&model.Message{Of: "rlb", Kind: warnMessage, Session: p.InPort, V: model.Fields{"class": int64(p.Class), "xoff": qPFC}}) {
			*s.Cell("warnings_sent", p.InPort)++
			s.Note("warning")
			if p.QueueIn >= *calm { // a queue that is short already runs out instead
				*on = 1
			}
		}
	}
	if look {
		*at, *room = p.Now, lacks
	}
}

// calmMoving takes a warning back when the queue is short for Q_PFC as the last
// packet found it.
func calmMoving(s *model.Switch, p *model.Packet) {
	i := s.In(p)
	on := s.Cell("warning_on", i)
	if p.QueueIn < *s.Cell("calm_qlen", i) && *on == 1 &&
		p.Request(&model.Message{Of: "rlb", Kind: calmMessage, Session: p.InPort, V: model.Fields{"class": int64(p.Class), "xoff": p.Keep["xoff"]}}) {
		s.Note("warning taken back")
		*on = 0
	}
}

// holdOf is how long a warning counts: the time to drain half of Q_PFC.
func holdOf(s *model.Switch, m *model.Message, entry model.Args) model.Time {
	if !s.Is("shared_buffer") {
		return entry["hold"]
	}
	return model.Ratio{Num: entry["hold_byte"], Den: 1024}.Times(m.V["xoff"])
}
