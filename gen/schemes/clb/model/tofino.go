// SPDX-License-Identifier: Apache-2.0

package clb

import "github.com/pauseless/pauseless/internal/model"

// CLB on a Tofino (docs/tofino.md): a path's queue is the one that egress last
// reported. Class and order in the class are one number, the rank. Algorithm 2
// compares one random path per packet with the best path.

// Rank is Algorithm 1's class in the upper two bits, and below it the number that
// decides in the class. A decrease of a queue counts as zero.
func Rank(queue, before, threshold model.Bytes) uint32 {
	port := Port{Q: queue, QDt: max(queue-before, 0)}
	class := Classify(port, threshold)
	key := queue
	if class == PathB || class == PathD {
		key = port.QDt
	}
	return uint32(class)<<30 | uint32(key)
}

func best(s *model.Switch, p *model.Packet, last, path model.Path) model.Path {
	return s.UpdateBest("clb_best.rank", "clb_best.path", last*8+p.Class, path, s.Word("clb_rank", path*8+p.Class))
}

func hearOnTofino(s *model.Switch, p *model.Packet) {
	if path, queue, ok := p.ReportedQueue(); ok {
		s.Note("rank")
		before := s.Cell("clb_qlen", path*8+p.Class)
		s.SetWord("clb_rank", path*8+p.Class, Rank(queue, *before, s.Setting("clb", "queue_threshold")))
		*before = queue
		best(s, p, model.Path(p.Reported["clb_last"]), path)
	}
}

func chooseOnTofino(s *model.Switch, p *model.Packet) model.Path {
	begins := s.BeginsFlowlet(p)
	return s.FollowOrTake(p, begins, best(s, p, p.Paths-1, model.Share(p.Drawn[0], p.Paths)))
}
