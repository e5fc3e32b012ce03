// SPDX-License-Identifier: Apache-2.0

// Package telemetry models in-band telemetry as HPCC's switches write it (HPCC,
// section 4.1): each hop adds a record when the packet leaves.
package telemetry

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/model"
)

func init() {
	model.Add(model.Scheme{Name: "int", INT: true,
		Registers: map[string]model.Register{"tx_bytes": {Most: 1<<32 - 1}},
		V1model:   model.Stages{model.Depart: addRecord}, Tofino: model.Stages{model.Depart: addRecord}})
}

// A Hop is the record of one switch: its egress link.
type Hop struct {
	B       int64       // speed of the link
	TS      model.Time  // when the packet left
	TxBytes model.Bytes // bytes sent so far, this packet included
	QLen    model.Bytes // queue behind it
}

// A Port is the state of an egress port.
type Port struct {
	B       int64
	TxBytes model.Bytes
}

// Transmit gives the record for a packet of length bytes that leaves now.
func (p *Port) Transmit(now model.Time, length, queue model.Bytes) Hop {
	p.TxBytes += length
	return Hop{B: p.B, TS: now, TxBytes: p.TxBytes, QLen: queue}
}

// hops is how many records there is room for.
const hops = 5

// addRecord adds a record in HPCC's format: rate code, 24 bits of nanoseconds,
// 20 bits of units of 128 bytes, 16 bits of units of 80 bytes.
func addRecord(s *model.Switch, p *model.Packet) {
	t, known := s.Config.Tables["telemetry"][p.Link]
	sent := s.Cell("tx_bytes", p.Link)
	port := Port{t["rate"], *sent}
	h := port.Transmit(p.Left, p.FrameLen, p.Behind)
	*sent = port.TxBytes
	x := p.Telemetry
	if x == nil || x["hops"] >= hops || !known {
		return
	}
	if s.Microseconds {
		h.TS *= 1000
	}
	if s.DepthBytes {
		h.QLen = (h.QLen + 79) / 80
	}
	s.Note("telemetry")
	x[fmt.Sprint("hop", x["hops"])] = h.B<<60 | h.TS&(1<<24-1)<<36 | h.TxBytes>>7&(1<<20-1)<<16 | min(h.QLen, 0xffff)
	x["hops"]++
	x["path"] ^= t["switch_id"]
}
