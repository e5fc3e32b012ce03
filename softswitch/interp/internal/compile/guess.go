// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// guessKeys finds the tables whose keys can be guessed.
func (c *compiler) guessKeys() {
	places := c.headerPlaces()
	type origin struct {
		h    *ops.Header
		load *ops.Move
	}
	origins := map[ops.Slot]origin{}
	for h := range places {
		for i := range h.Type.Loads {
			mv := &h.Type.Loads[i]
			origins[ops.Slot(h.Base+int(mv.Rel))] = origin{h, mv}
		}
	}
	for n, t := range c.Prog.Tables {
		if t.Width > 64 {
			continue
		}
		g := ops.Guess{Table: n}
		for _, p := range t.Parts {
			o, ok := origins[p.Slot]
			if !ok {
				break
			}
			at := places[o.h]
			g.Parts = append(g.Parts, ops.GuessPart{KeyPart: p, At: at, End: at + o.h.Type.Bits/8, Load: o.load})
		}
		if len(g.Parts) == len(t.Parts) && len(t.Parts) > 0 {
			c.Prog.Guesses = append(c.Prog.Guesses, g)
		}
	}
}

// headerPlaces returns the first offset, in bytes, at which the parser extracts
// each header, on the shortest path through its states.
func (c *compiler) headerPlaces() map[*ops.Header]int {
	places := map[*ops.Header]int{}
	if len(c.json.Parsers) == 0 {
		return places
	}
	states := map[string]*bmv2json.ParseState{}
	for _, s := range c.json.Parsers[0].States {
		states[s.Name] = s
	}
	type visit struct {
		state string
		at    int
	}
	seen := map[string]bool{"": true}
	for queue := []visit{{c.json.Parsers[0].InitState, 0}}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		s := states[v.state]
		if s == nil || seen[v.state] {
			continue
		}
		seen[v.state] = true
		known := true
		for _, op := range s.Ops {
			h := c.extracted(op)
			switch {
			case op.Op == "extract" && h != nil && h.Type.Varbit < 0:
				if _, ok := places[h]; !ok {
					places[h] = v.at
				}
				v.at += h.Type.Bits / 8
			case op.Op == "extract", op.Op == "extract_VL", op.Op == "shift", op.Op == "advance":
				known = false
			}
			if !known {
				break
			}
		}
		for _, t := range s.Transitions {
			if known {
				queue = append(queue, visit{t.Next, v.at})
			}
		}
	}
	return places
}

// extracted returns the header that an operation extracts, the first element
// for a stack, or nil.
func (c *compiler) extracted(op *bmv2json.ParserOp) *ops.Header {
	if len(op.Parameters) == 0 {
		return nil
	}
	switch v := op.Parameters[0]; v.Type {
	case bmv2json.TypeRegular:
		return c.headers[v.Name]
	case bmv2json.TypeNext:
		if s := c.stacks[v.Name]; s != nil {
			return s.Elements[0]
		}
	}
	return nil
}
