// SPDX-License-Identifier: Apache-2.0

package themis

import "github.com/pauseless/pauseless/internal/model"

// Themis on a Tofino (docs/tofino.md): the remainder is that of a byte, and a range of
// lost numbers begins with the packet that was repeated last.

// turns is the number of values of the byte.
const turns = 256

// pathOnTofino is the path of a packet of a flow with this hash, on the packet's route.
func pathOnTofino(p *model.Packet, hash uint32, n int64) model.Path {
	start := int64(hash >> min(p.Shift+8, 24))
	return Path(0, (start+n)%turns, p.Paths)
}

// word is a sequence number in the upper bits of a word.
func word(number int64) uint32 { return uint32(number) << 8 }

// stale is how many numbers behind a gap counts as closed.
const stale = 1 << 20

// filterOnTofino is the receiver's leaf.
func filterOnTofino(s *model.Switch, p *model.Packet) {
	set := func(arg string) int64 {
		if s.Config.Leaf < 0 {
			return 0
		}
		return s.Setting("themis", arg)
	}
	if p.BTH == nil {
		return
	}
	n, row := word(p.PSN()), 0
	rowOf := func(hash uint32, port int) { row = (int(hash)&(s.Flows-1))*s.PathCells + port&(s.PathCells-1) }
	lost := func() bool {
		return int32(s.Word("missing_from.after", row)-n) < 0 && int32(s.Word("missing_from.before", row)-n) > 0
	}
	switch {
	case p.IsData() && p.Hop == model.ToHost:
		flow := p.FiveTuple()
		rowOf(flow, p.InPort)
		passed, paths := s.Word("passed_number.number", row), word(set("ways_up"))
		mine := s.Word("passed_number.flow", row) == flow
		s.SetWord("passed_number.flow", row, flow)
		if !mine || int32(passed-n) <= 1 {
			s.SetWord("passed_number.number", row, n+1)
		}
		switch {
		case !mine || passed == 0:
			s.SetWord("missing_from.after", row, n-2*paths)
			s.SetWord("missing_from.before", row, n)
		case int32(n-passed) < 0:
			s.Note("a retransmission")
			if lost() {
				s.SetWord("missing_from.after", row, n)
			}
		case paths != 0 && int32(paths-(n-passed)) < 0:
			s.Note("a gap")
			if int32(s.Word("missing_from.before", row)-n) < -stale<<8 {
				s.SetWord("missing_from.after", row, passed)
			}
			s.SetWord("missing_from.before", row, n)
		}
	case p.Syndrome() == model.SyndromeNAK && p.Hop == model.ToChoice && set("filter") == 1:
		flow := p.Backward()
		uplink := p.First + pathOnTofino(p, flow, p.PSN())
		rowOf(flow, uplink)
		if passed := s.Word("passed_number.number", row); s.Word("passed_number.flow", row) == flow && passed != 0 {
			if lost() {
				s.Note("NAK for a lost packet")
				return
			}
			if int32(n-passed+word(set("ahead"))) < 0 {
				s.Note("NAK for a packet far back")
				return
			}
		}
		s.Note("NAK dropped")
		*s.Cell("dropped_naks", uplink)++
		p.Ends = true
	}
}
