// SPDX-License-Identifier: Apache-2.0

// Package presto models Presto: flowcells of 64 KB take the paths in turn.
package presto

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "presto",
		Base: &model.Base{Choose: choose, Rerouted: func(s *model.Switch, p *model.Packet) {
			*s.Cell("flowcell_path", s.Flow(p)) = int64(p.Path) + 1
		}},
		Registers: map[string]model.Register{
			"flowcell_bytes": {Draw: func(g *model.Drawer, _ int) int64 { return g.UpTo(g.Arg("flowcell", "size")) }},
			"flowcell_path":  model.FlowPath(),
		}})
}

// A Flowcell is the state of one flow.
type Flowcell struct {
	Known bool // the flow has sent before
	Bytes model.Bytes
	Path  model.Path
}

// Packet is Presto's algorithm 1 (flowcell creation, section 3.1): a packet
// that would make the flowcell larger than the threshold starts the next one,
// on the next path. The path of the first flowcell is start.
func (f *Flowcell) Packet(length, threshold model.Bytes, start model.Path, n int) model.Path {
	full := f.Bytes+length > threshold // line 1
	if full {
		f.Bytes = length // line 2
	} else {
		f.Bytes += length // line 6
	}
	switch {
	case !f.Known:
		f.Known, f.Path = true, start
	case full || f.Path >= n: // or the path does not exist any more
		f.Path = model.InTurn(min(f.Path, n-1), n) // line 3
	}
	return f.Path
}

func choose(s *model.Switch, p *model.Packet) model.Path {
	bytes, path := s.Cell("flowcell_bytes", s.Flow(p)), s.Cell("flowcell_path", s.Flow(p))
	size := s.Setting("flowcell", "size")
	if s.Tofino {
		return chooseOnTofino(s, p, bytes, path, size)
	}
	f := Flowcell{*path != 0, *bytes, model.Path(max(0, *path-1))}
	f.Packet(p.Length, size, s.HashPath(p), p.Paths)
	*bytes, *path = f.Bytes, int64(f.Path)+1
	return f.Path
}

// chooseOnTofino is algorithm 1, but a flowcell ends with the packet that makes it
// longer than the threshold: the register compares before it adds. An unknown flow
// whose first flowcell is full takes path 0.
func chooseOnTofino(s *model.Switch, p *model.Packet, bytes, path *int64, size model.Bytes) model.Path {
	length := p.Length // without Ethernet
	if p.IP != nil && s.RecirculationPort == 0 {
		length += 14
	}
	switch full := *bytes > size; {
	case full && *path >= int64(p.Paths)-1:
		*bytes, *path = length, 0
	case full:
		*bytes, *path = length, *path+1
	default:
		*bytes += length
		if *path >= int64(p.Paths) {
			*path = int64(s.HashPath(p))
		}
	}
	return model.Path(*path)
}
