// SPDX-License-Identifier: Apache-2.0

// Package telemetry models in-band telemetry as HPCC's switches write it (HPCC,
// section 4.1): each hop adds a record when the packet leaves.
package telemetry

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/model"
)

func init() {
	model.Add(model.Scheme{Name: "int", Telemetry: model.PortINT,
		Registers: map[string]model.Register{"tx_bytes": {Most: 1<<32 - 1}},
		V1model:   model.Stages{model.Depart: addRecord}, Tofino: model.Stages{model.Depart: addRecord}})
}

// hops is how many records there is room for.
const hops = 5

// Record is the record of a switch in HPCC's format: the code of the link's rate,
// 24 bits of the departure in ns, 20 bits of the bytes sent so far in units of 128,
// and the queue behind the packet in units of 80 bytes.
func Record(rate int64, left model.Time, sent model.Bytes, queue int64) int64 {
	return rate<<60 | left&(1<<24-1)<<36 | sent>>7&(1<<20-1)<<16 | min(queue, 0xffff)
}

// addRecord counts a packet as sent, and adds a record to it.
func addRecord(s *model.Switch, p *model.Packet) {
	t, known := s.Config.Tables["telemetry"][p.OutPort]
	sent := s.Cell("tx_bytes", p.OutPort)
	*sent += p.FrameLen
	x, left, queue := p.Telemetry, p.Left, p.Behind
	if x == nil || x["hops"] >= hops || !known {
		return
	}
	if s.Microseconds {
		left *= 1000
	}
	if s.DepthBytes {
		queue = (queue + 79) / 80
	}
	s.Note("telemetry")
	x[fmt.Sprint("hop", x["hops"])] = Record(t["rate"], left, *sent, queue)
	x["hops"]++
	x["path"] ^= t["switch_id"]
}
