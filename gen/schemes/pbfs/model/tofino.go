// SPDX-License-Identifier: Apache-2.0

package pbfs

import (
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/model"
)

// PB-FS on a Tofino (docs/tofino.md): the last full slot and the last full window of
// eight slots count packets that leave. The growth of the queue is added to both, which
// gives the packets that arrived.

// A slot is 2^10 ns, a window 2^13 ns.
const (
	slotBits   = 10
	windowBits = 13
)

func fastStartOnTofino(s *model.Switch, p *model.Packet) {
	minus := func(a, b uint32) uint32 { return a - min(a, b) }
	marked := p.BTH != nil && p.Marked() && !p.Probe
	i, now, bytes, queue := p.OutPort, uint32(p.Left), uint32(p.Whole), uint32(p.Behind*manifest.CellBytes)
	sum := func(register string, bits int) uint32 {
		return s.AddSum(register+".bytes", register+".number", i, now>>bits, bytes)
	}
	slot, window := sum("slot_bytes", slotBits), sum("window_bytes", windowBits)
	if marked {
		if n := sum("slot_marked", slotBits); n != 0 {
			s.SetWord("slot_marked_last", i, n)
		}
	}
	if slot != 0 {
		s.SetWord("slot_bytes_last", i, slot+minus(queue, s.Word("slot_qlen", i)))
		s.SetWord("slot_qlen", i, queue)
	}
	first := s.Word("window_qlen", i)
	if window != 0 {
		s.SetWord("window_bytes_last", i, window)
		s.SetWord("window_qlen", i, queue)
	}
	const slots = 8
	last := s.Word("slot_bytes_last", i)
	arriving := s.Word("window_bytes_last", i) + minus(queue, first) + slots*last

	// More arrives than the port can send in a round trip, less the queue before.
	// A packet is copied once: a report to ingress has precedence.
	k := s.Config.Tables["pbfs_port"][i]
	if k["mbps"] != 0 && marked && p.Message == nil && arriving > minus(uint32(k["round_trip_bytes"]), first) {
		request(s, p, Postcard{Ip: model.Bytes(arriving), Q1: model.Bytes(first), RecentBytes: model.Bytes(last),
			RecentMarkedBytes: model.Bytes(s.Word("slot_marked_last", i))}, k["mbps"])
	}
}
