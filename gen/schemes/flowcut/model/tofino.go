// SPDX-License-Identifier: Apache-2.0

package flowcut

import "github.com/pauseless/pauseless/internal/model"

// Flowcut on a Tofino (docs/tofino.md): egress reports queues to ingress, and a row has
// the number of the packet that its flow sent last, or that nothing is in flight.

// word is a sequence number in the upper bits of a word.
func word(number int64) uint32 { return uint32(number) << 8 }

// reached reports whether number a, in a word, is b or comes after it.
func reached(a, b uint32) bool { return int32(a-b) >= 0 }

// better compares the queue of a path with that of the best path for a number of paths,
// which it returns.
func better(s *model.Switch, p *model.Packet, last, path model.Path, queue int64) model.Path {
	return s.UpdateBest("cut_best.qlen", "cut_best.path", last*8+p.Class, path, uint32(queue))
}

// hear processes the report of a queue.
func hear(s *model.Switch, p *model.Packet) {
	if path, queue, ok := p.ReportedQueue(); ok {
		better(s, p, model.Path(p.Reported["cut_last"]), path, queue)
	}
}

// acknowledgedOnTofino is acknowledged, on a Tofino.
func acknowledgedOnTofino(s *model.Switch, p *model.Packet) {
	if !manages(s) || p.Hop != model.ToHost || p.Syndrome() < 0 {
		return
	}
	flow := p.Backward()
	i := int(flow) & (s.Flows - 1)
	if s.Word("cut_flow.flow", i) != flow {
		return
	}
	acked := p.PSN()
	if p.Syndrome()>>5&3 == 3 {
		acked--
	}
	if int32(s.Word("cut_flow.sent", i)-word(acked)) <= 1 {
		s.SetWord("cut_flow.sent", i, 0)
	}
	if !reached(word(acked), s.Word("cut_timed.number", i)) {
		return
	}
	since := s.Word("cut_timed.since", i)
	s.SetWord("cut_timed.since", i, 0)
	if since != 0 && uint32(p.Now)-since > uint32(s.Setting("flowcut", "rtt")) {
		s.Note("drain")
		p.BTH["congestion"] |= drain
		*s.Cell("drains", p.OutPort)++
	}
}

func chooseOnTofino(s *model.Switch, p *model.Packet) model.Path {
	drawn := model.Share(p.Drawn[0], p.Paths)
	path := better(s, p, p.Paths-1, drawn, s.EgressQueue(p, drawn))
	byHash := s.HashPath(p)
	if !manages(s) || !p.IsData() {
		return byHash
	}
	i, wanted := s.Flow(p), s.Cell("cut_wanted", s.Flow(p))
	mine, free := s.Word("cut_flow.flow", i) == p.Hash, s.Word("cut_flow.sent", i) == 0
	if !mine && !free {
		s.Note("another flow's row")
		*wanted = 1
		return byHash
	}
	s.SetWord("cut_flow.flow", i, p.Hash)
	s.SetWord("cut_flow.sent", i, word(p.PSN())+1)
	if !mine {
		if *wanted == 1 {
			path = byHash
		}
		*wanted = 0
	}
	if kept := s.Cell("cut_path", i); free || *kept >= int64(p.Paths) {
		s.Note("a new flowcut")
		*kept = int64(path)
	}
	if !mine || s.Word("cut_timed.since", i) == 0 {
		s.SetWord("cut_timed.since", i, uint32(p.Now))
		s.SetWord("cut_timed.number", i, word(p.PSN()))
	}
	return model.Path(*s.Cell("cut_path", i))
}
