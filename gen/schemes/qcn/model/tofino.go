// SPDX-License-Identifier: Apache-2.0

package qcn

import (
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/model"
)

// QCN on a Tofino (docs/tofino.md): packets that leave a queue are sampled, for bytes
// that arrived. A period begins with the greatest length, which the copy of the sample
// then reduces.

// longest is the longest period: without congestion, with the largest jitter.
func (c QCN) longest() model.Bytes { return model.Ratio{Num: 115, Den: 100}.Times(c.Base) }

// generated is the configuration for which the program was generated. Its tables are
// computed from it.
func generated(s *model.Switch) QCN {
	return QCN{int64(s.Parameter("qcn.equilibrium")), int64(s.Parameter("qcn.weight")), int64(s.Parameter("qcn.sample"))}
}

// levelOnTofino is the feedback for the queue behind a sample, in six bits. The weight
// is rounded down to a power of two, at most 8. Steps are those of the generated
// configuration; the twelve upper bits of its range decide.
func (p CongestionPoint) levelOnTofino(c, generated QCN, q model.Bytes) int64 {
	w := int64(0)
	for _, power := range []int64{1, 2, 4, 8} {
		if c.W >= power {
			w = power
		}
	}
	fb := QCN{Qeq: c.Qeq, W: w}.Fb(q, *p.Old)
	*p.Old = q
	unit := model.Bytes(1)
	for generated.Qeq*(2*generated.W+1) >= unit<<12 {
		unit *= 2
	}
	return generated.Quantize(fb / unit * unit)
}

func beginOnTofino(s *model.Switch, p *model.Packet) { p.Meta["jitter"] = s.Below(16) }

// sampleOnTofino is the congestion point for a packet that leaves. The bytes that
// arrived since the previous packet are this packet and the growth of the queue. A
// sample is copied.
func sampleOnTofino(s *model.Switch, p *model.Packet) {
	i, behind := p.OutPort*8+p.Class, p.Behind*manifest.CellBytes
	seen := s.Cell("qcn_seen.qlen", i)
	growth := max(0, behind-*seen)
	*seen, *s.Cell("qcn_seen.growth", i) = behind, growth
	c := point(s, i)
	if c.Due(p.FrameLen + growth) {
		s.Note("sample")
		*c.Left = generated(s).longest()
		level := c.levelOnTofino(config(s), generated(s), behind)
		v := model.Fields{"level": level, "class": int64(p.Class), "port": int64(p.OutPort), "queue": int64(i)}
		p.Request(&model.Message{Of: "qcn", Session: p.InPort, Head: v.Append([]byte{6}, "level:8 class:8 port:16"), V: v})
	}
}

// messageOnTofino reduces the rest of the period, and makes the copy of a sample into
// a notification to the sender, if it is data and the queue was congested. There are
// 16 jitters from 0.85 to 1.15.
func messageOnTofino(s *model.Switch, p *model.Packet) {
	v, c := p.Message.V, generated(s)
	left := s.Cell("qcn_left", int(v["queue"]))
	jitter := model.Ratio{Num: 275 + 6*p.Meta["jitter"], Den: 320}
	*left = max(0, *left-(c.longest()-c.Period(v["level"], jitter)))
	if v["level"] == 0 || !isData(p.BTH) {
		p.Ends = true
		return
	}
	s.Note("notification")
	message(s, p)
}
