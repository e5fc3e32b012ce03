// SPDX-License-Identifier: Apache-2.0

package rlb

import "github.com/pauseless/pauseless/internal/model"

// RLB where Q_PFC follows the free part of the shared buffer (dynamic thresholds).
//
// Ours: the paper's switches pause at 256 KB. Q_PFC in its text is taken as the
// threshold at the time when a packet arrives. Other queues may fill the buffer
// between two samples, so that the threshold falls. The predicted time is that in
// which the distance between queue and threshold becomes zero at its present rate.

// MovingQth is the warning threshold for Q_PFC as it is now. margin is
// d·C·(n−1) of Eq. 3.
//
// Reading: the upper end of Eq. 3, but not below the lower end. If the buffer is
// nearly full, the lower end may be above Q_PFC, and a warning would come after
// the pause: then half of Q_PFC is the lower end.
func MovingQth(qPFC, margin, dC model.Bytes) model.Bytes {
	return max(qPFC-margin, min(dC, qPFC/2))
}

// predictMoving sends a warning to the previous switch, if one is due: with the
// first packet after each interval, or at once if the queue is long and no warning
// is active.
func predictMoving(s *model.Switch, p *model.Packet) {
	i := s.In(p)
	watch, watched := s.Config.Tables["Readqlen"][i]
	if !watched {
		return
	}
	at, room, lacks := s.Cell("sampled_at", i), s.Cell("sampled_room", i), model.Bytes(0)
	look := p.Now-*at >= watch["interval"]
	if x, warns := s.Config.Tables["predict"][i]; warns {
		qPFC := s.Threshold(p, s.Setting("shared_buffer", "size"), x["alpha_shift"])
		pred := Predictor{Derivative: true, QPFC: qPFC, Qth: MovingQth(qPFC, x["margin"], x["floor"]), DC: x["floor"], Horizon: x["horizon"]}
		lacks = max(0, qPFC-p.QueueIn)
		calm, on := s.Cell("calm_qlen", i), s.Cell("warning_on", i)
		*calm = model.Ratio{Num: x["calm_part"], Den: 1024}.Times(pred.Qth)
		warn := look && pred.Predicts(Slope{Q: qPFC - *room, T: *at}, p.QueueIn, p.Now)
		if p.QueueIn >= pred.Qth && *on == 0 && !warn {
			s.Note("warning between looks")
			warn = true
		}
		p.Keep["xoff"] = qPFC
		if warn && p.Request(&model.Message{Of: "rlb", Kind: warnMessage, Session: p.InPort, V: model.Fields{"class": int64(p.Class), "xoff": qPFC}}) {
			*s.Cell("warnings_sent", p.InPort)++
			s.Note("warning")
			if p.QueueIn >= *calm { // otherwise the warning expires
				*on = 1
			}
		}
	}
	if look {
		*at, *room = p.Now, lacks
	}
}

// calmMoving ends a warning when the queue is short, for Q_PFC as it was at the
// last arrival.
func calmMoving(s *model.Switch, p *model.Packet) {
	i := s.In(p)
	on := s.Cell("warning_on", i)
	if p.QueueIn < *s.Cell("calm_qlen", i) && *on == 1 &&
		p.Request(&model.Message{Of: "rlb", Kind: calmMessage, Session: p.InPort, V: model.Fields{"class": int64(p.Class), "xoff": p.Keep["xoff"]}}) {
		s.Note("warning taken back")
		*on = 0
	}
}

// holdOf is the duration of a warning: the time to drain half of Q_PFC.
func holdOf(s *model.Switch, m *model.Message, entry model.Args) model.Time {
	if !s.Is("shared_buffer") {
		return entry["hold"]
	}
	return model.Ratio{Num: entry["hold_byte"], Den: 1024}.Times(m.V["xoff"])
}
