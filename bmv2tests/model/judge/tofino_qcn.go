// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/bmv2tests/model"
)

// What a Tofino's egress observes of its ports: QCN, and HPCC's telemetry.

// tofinoSample is what a copy brings of a sample: the feedback, and the queue
// that it is about.
type tofinoSample struct {
	level       int64
	class, port int
}

// bytes is the copy's header.
func (m *tofinoSample) bytes() []byte {
	const sample = 6
	return binary.BigEndian.AppendUint16([]byte{sample, byte(m.level), byte(m.class)}, uint16(m.port))
}

// sampleQueue is QCN for a packet that leaves so many bytes behind. A sample
// is copied.
func (s *tofinoSwitch) sampleQueue(p *tofinoPkt, length, behind Bytes) *tofinoPkt {
	queue := p.outPort*8 + p.class
	point := &s.qcn[queue]
	if !point.Leave(s.generated, s.looked[queue].Came(length, behind)) {
		return nil
	}
	s.note("sample")
	return &tofinoPkt{sample: &tofinoSample{point.TofinoLevel(s.cfg.QCN, s.generated, behind), p.class, p.outPort}}
}

// notify makes the copy of a sample into a notification to the sender, if it
// is of data and its queue was congested.
func (s *tofinoSwitch) notify(p *tofinoPkt, draw int64) (o Departure) {
	m := p.sample
	s.qcn[m.port*8+m.class].Shorten(s.generated, m.level, model.TofinoJitter(draw))
	const ack = 0x11
	if m.level == 0 || p.bth == nil || p.bth[0] >= ack {
		o.Drop = true
		return o
	}
	s.note("notification")
	f := (&Switch{Features: s.Features, cfg: s.cfg}).feedback(p.frame, &message{feedback: m.level})
	o.Data, o.Elided = s.bytes(f), f.elided
	return o
}

// record is HPCC's telemetry for a packet that leaves; its length is that
// without what egress puts on.
func (s *tofinoSwitch) record(p *tofinoPkt, length, behind Bytes, now Time) {
	x := model.INTPort{TxBytes: Bytes(s.txBytes[p.outPort])}
	h := x.Transmit(now, length, behind)
	s.txBytes[p.outPort] = uint32(x.TxBytes)
	t, known := s.cfg.Telemetry[p.outPort]
	if p.int == nil || p.int.hops >= len(p.int.hop) || !known {
		return
	}
	s.note("telemetry")
	p.int.add(t, h.TS, int64(uint32(h.TxBytes)), h.QLen)
}

var tofinoObservedRows = map[string]tofinoRow{
	"qcn_left": point("cpEnqued", func(p *model.CongestionPoint) *Bytes { return &p.Left }, func(g *drawer, _ int) uint64 {
		return uint64(pick(g, 0, max(0, pick(g, lengths...)+g.upTo(2)-1), g.upTo(3_000), g.upTo(200_000)))
	}),
	"qcn_seen": butFirst(couple("queue when last left, and its growth", func(s *tofinoSwitch) []model.SeenQueue { return s.looked },
		func(q *model.SeenQueue) (a, b *uint32) { return &q.Length, &q.Growth },
		func(g *drawer, i int) uint64 { return tofinoQueue(g, i)<<32 | uint64(g.upTo(9000)) })),
	"qcn_qlen": point("cpQLenOld", func(p *model.CongestionPoint) *Bytes { return &p.Old }, tofinoQueue),
	"tx_bytes": single("txBytes", func(s *tofinoSwitch) []uint32 { return s.txBytes }, func(g *drawer, _ int) uint64 { return uint64(g.r.Uint32()) }),
}

// butFirst is a row without its first cell: there is no port 0, and copies that
// are about no queue are looked at as if they were of it.
func butFirst(r tofinoRow) tofinoRow {
	cell := r.cell
	r.cell = func(s *tofinoSwitch, i int) (uint64, bool) {
		v, ok := cell(s, i)
		return v, ok && i > 0
	}
	return r
}

// point is a row of a number of each queue.
func point(symbol string, number func(*model.CongestionPoint) *Bytes, draw func(g *drawer, i int) uint64) tofinoRow {
	return tofinoRow{symbol, func(s *tofinoSwitch, i int) (uint64, bool) { return uint64(uint32(*number(&s.qcn[i]))), true },
		func(s *tofinoSwitch, i int, v uint64) { *number(&s.qcn[i]) = Bytes(v) }, draw}
}
