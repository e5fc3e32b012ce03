// SPDX-License-Identifier: Apache-2.0

// Package hermes models what a switch does for Hermes: hosts choose the path,
// by a tag.
package hermes

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "hermes", Base: &model.Base{Choose: choose, Next: next}})
}

// choose obeys the tag; at a leaf its first path, above it the second. Without a
// path in it, the hash decides.
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

// next is the fastest measured path; if there is none, the first free path in
// turn.
func next(s *model.Switch, p *model.Packet, free func(model.Path) bool) (model.Path, bool) {
	const never = 1 << 40
	rtt := func(q model.Path) model.Time {
		if t := *s.Cell("path_rtt", s.PathCell(p.Leaf, q)); t != 0 && free(q) {
			return t
		}
		return never
	}
	if q := model.Least(p.Paths, p.Path, rtt); rtt(q) != never {
		return q, true
	}
	return model.FirstFree(p, free)
}
