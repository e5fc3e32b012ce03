// SPDX-License-Identifier: Apache-2.0

// Package hermes models the switch's part of Hermes: hosts choose the path with a
// tag.
package hermes

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "hermes", Base: &model.Base{Choose: choose, Next: next}})
}

// choose takes the path in the tag: at a leaf its first, above leaves its second.
// Without a path in the tag, the hash decides.
func choose(s *model.Switch, p *model.Packet) model.Path {
	if p.Tag != nil {
		path := p.Tag["path"]
		if p.Shift != 0 {
			path = p.Tag["upper_path"]
		}
		if path < int64(p.Paths) {
			s.Note("path of a tag")
			return model.Path(path)
		}
	}
	return s.HashPath(p)
}

// next is the fastest measured path; if none is free, the first free path in turn.
func next(s *model.Switch, p *model.Packet, free func(model.Path) bool) (model.Path, bool) {
	rtt := func(q model.Path) model.Time { return *s.Cell("path_rtt", s.PathCell(p.Leaf, q)) }
	if q, ok := model.LeastFree(p, func(q model.Path) bool { return free(q) && rtt(q) != 0 }, rtt); ok {
		return q, true
	}
	return model.FirstFree(p, free)
}
