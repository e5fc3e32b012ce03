// SPDX-License-Identifier: Apache-2.0

package conga

import "github.com/pauseless/pauseless/internal/model"

// CONGA on a Tofino (docs/tofino.md): the load of a link is that of the last full
// window of time, the best known path is compared with one random path per packet, and
// paths are fed back in turn.

// look compares a random path with the best one, on each pass. Old metrics count as
// zero.
func look(s *model.Switch, p *model.Packet) {
	if !s.Tofino {
		return
	}
	drawn := model.Share(p.Drawn[0], p.Paths)
	i := s.PathCell(p.Leaf, drawn)
	metric, at := s.Word("congestion_to.congestion", i), s.Word("congestion_to.fed_at", i)
	if uint32(p.Now)-at > uint32(s.Setting("flowlet", "age")) {
		metric = 0
	}
	if metric != 0 {
		s.Note("congested path drawn")
	}
	p.Meta["least"] = int64(s.UpdateBest("congestion_best.congestion", "congestion_best.path", s.PathCell(p.Leaf, p.Paths-1), drawn, metric))
}

func learnOnTofino(s *model.Switch, p *model.Packet) {
	if h := p.Fabric; h["fed_path"] != 0 {
		s.Note("feedback")
		i := s.PathCell(h["src_leaf"], int(h["fed_path"]-1))
		s.SetWord("congestion_to.congestion", i, uint32(h["fed_value"]))
		s.SetWord("congestion_to.fed_at", i, uint32(p.Now))
	}
}

func readOnTofino(s *model.Switch, p *model.Packet) {
	*s.Cell("congestion_from", s.PathCell(p.Fabric["src_leaf"], int(p.Fabric["path"]))) = p.Fabric["congestion"]
}

func feedBackOnTofino(s *model.Switch, p *model.Packet) {
	if s.Config.Leaf < 0 {
		return
	}
	last := s.Cell("feedback_path", int(p.Leaf))
	if *last++; *last >= int64(p.Paths) {
		*last = 0
	}
	p.Fabric["fed_path"], p.Fabric["fed_value"] = *last+1, *s.Cell("congestion_from", s.PathCell(p.Leaf, int(*last)))
}

func raiseOnTofino(s *model.Switch, p *model.Packet) {
	level := s.SentPart(p, 8)
	if h := p.Fabric; h != nil && h["congestion"] < level {
		s.Note("congestion raised")
		h["congestion"] = level
	}
}

// second is the best path. A flowlet that continues may be on another.
func second(_ *model.Switch, p *model.Packet) model.Path { return model.Path(p.Meta["least"]) }
