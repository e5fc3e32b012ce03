// SPDX-License-Identifier: Apache-2.0

// Package qcn models the congestion point of IEEE 802.1Qau (802.1Q clause 32.8).
package qcn

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/pauseless/pauseless/internal/model"
)

func init() {
	model.Add(model.Scheme{Name: "qcn", AllPorts: true,
		// Behind telemetry, the parser reads it in packets with a mark only.
		BTH: func(f *model.Frame, port int) bool { return port == model.PortRoCE || f.Marked() },
		Registers: map[string]model.Register{
			// There is no port 0. Copies without a queue are counted there.
			"qcn_seen.qlen":   {SkipFirst: true},
			"qcn_seen.growth": {SkipFirst: true},
		},
		V1model: model.Stages{model.Leave: sample, model.Rewrite: message},
		Tofino:  model.Stages{model.Begin: beginOnTofino, model.Depart: sampleOnTofino, model.Rewrite: messageOnTofino}})
}

// QCN is the configuration of a congestion point of IEEE 802.1Qau (802.1Q
// clause 32.8).
type QCN struct {
	Qeq  model.Bytes // cpQSp: the queue that senders are to keep
	W    int64       // cpW
	Base model.Bytes // cpSampleBase
}

// A CongestionPoint is the state of one queue.
type CongestionPoint struct {
	Left *model.Bytes // cpEnqued: bytes until the next sample
	Old  *model.Bytes // cpQLenOld: the queue at the last sample
}

// Fb is the feedback of a queue of q bytes that was old bytes long at the last
// sample (clause 30.2.1): Fb = −(Qoff + w·Qδ), Qoff = q − Qeq, Qδ = q − old.
// Negative feedback is congestion.
func (c QCN) Fb(q, old model.Bytes) int64 {
	qOff, qDelta := q-c.Qeq, q-old
	return -(qOff + c.W*qDelta)
}

// Quantize converts a feedback to six bits (clause 32.8.9): 0 without congestion,
// 63 from −Qeq·(2w+1) on.
func (c QCN) Quantize(fb int64) int64 {
	switch most := c.Qeq * (2*c.W + 1); {
	case fb >= 0:
		return 0
	case fb < -most:
		return 63
	default:
		return -fb * 63 / most
	}
}

// Period is the number of bytes until the next sample (clause 32.9.2): the base,
// divided by 1 to 8 depending on congestion, with a jitter of 15 %.
//
// Reading: the jitter is applied first, so that both divisions round down once.
func (c QCN) Period(level int64, jitter model.Ratio) model.Bytes {
	return jitter.Times(c.Base) / (level/8 + 1)
}

// Due reports whether a packet that will be queued is a sample (clause 32.9.3), and
// counts it otherwise.
func (p CongestionPoint) Due(length model.Bytes) bool {
	if *p.Left > length {
		*p.Left -= length
		return false
	}
	return true
}

// Sample takes a sample: the queue is q bytes long, with the packet. It returns
// the feedback for the sender; 0 for none.
func (p CongestionPoint) Sample(c QCN, q model.Bytes, jitter model.Ratio) int64 {
	level := c.Quantize(c.Fb(q, *p.Old))
	*p.Old, *p.Left = q, c.Period(level, jitter)
	return level
}

// config returns the configuration in the table, point the registers of a queue.
func config(s *model.Switch) QCN {
	return QCN{s.Setting("qcn", "equilibrium"), s.Setting("qcn", "weight"), s.Setting("qcn", "interval")}
}

func point(s *model.Switch, i int) CongestionPoint {
	return CongestionPoint{s.Cell("qcn_left", i), s.Cell("qcn_qlen", i)}
}

// isData reports whether a packet is data, by its opcode.
func isData(bth model.Fields) bool { const ack = 0x11; return bth != nil && bth["opcode"] < ack }

// sample is the congestion point for a packet that has its port. A packet that is
// copied already is not sampled, the next one is.
func sample(s *model.Switch, p *model.Packet) {
	i := s.Out(p)
	c := point(s, i)
	if c.Due(p.Length) && p.Message == nil {
		jitter := model.Ratio{Num: 55706 + s.Below(75366-55706+1), Den: 1 << 16} // 0.85 to 1.15
		level := c.Sample(config(s), *s.Cell("egress_qlen", i)+p.Length, jitter)
		if level > 0 && isData(p.BTH) {
			s.Note("feedback")
			p.Request(&model.Message{Of: "qcn", Session: p.InPort, V: model.Fields{"level": level}})
		}
	}
}

// message makes a copy into a congestion notification packet of RoCEv2 (annex
// A17.9.3) to the sender of the packet.
func message(s *model.Switch, p *model.Packet) {
	bth := model.Fields{"opcode": 0x81, "key": p.BTH["key"], "congestion": 0x40, "pair": p.BTH["pair"]}
	v := model.Fields{"level": p.Message.V["level"]}
	s.ToSender(p, 48, v.Append(model.BTH.Append(nil, bth), "rate:32 level:8 reserved:24 reserved:64 crc:32"))
	const crc = 12 + 16
	binary.LittleEndian.PutUint32(p.Rest[crc:], icrc(model.IPv4.Append(nil, p.IP), model.UDP.Append(nil, p.UDP), slices.Clone(p.Rest[:crc])))
}

// icrc is the invariant CRC of a RoCEv2 packet (annex A17.3.3): fields that switches
// may change count as ones, and so do eight bytes before it.
func icrc(ip, udp, rest []byte) uint32 {
	for _, masked := range []*byte{&ip[1], &ip[8], &ip[10], &ip[11], &udp[6], &udp[7], &rest[4]} {
		*masked = 0xff
	}
	return crc32.ChecksumIEEE(slices.Concat([]byte{255, 255, 255, 255, 255, 255, 255, 255}, ip, udp, rest))
}
