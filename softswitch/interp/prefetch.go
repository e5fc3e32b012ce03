// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"unsafe"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/softswitch/table"
)

// guess is the probable position of a table's key in an arriving packet: its
// fields are in headers that most packets have at the same offset.
type guess struct {
	table int
	parts []guessPart
}

// guessPart is a keyPart with the header from which its slot is loaded.
type guessPart struct {
	keyPart
	at, end int // of the header in the packet, bytes
	load    *move
}

// worthPrefetching is the number of entries above which a table does not fit
// into the nearest cache.
const worthPrefetching = 2000

// Prefetch warms the processor's cache with the table entries that a batch of
// frames will probably hit, of tables too large to stay in it. The memory
// accesses of all frames overlap, which they would not if the frames were
// processed one by one. It changes no state.
func (m *Machine) Prefetch(frames [][]byte) {
	for i := range m.prog.guesses {
		g := &m.prog.guesses[i]
		if t := m.state.Tables[g.table]; t.Len() >= worthPrefetching {
			for at := 0; at < len(frames); at += table.Batch {
				m.touch(t, g, frames[at:min(len(frames), at+table.Batch)])
			}
		}
	}
}

// mostRecords is how many lines of a table's records Fetch fetches at most.
const mostRecords = 8

// tableLines is how many lines of a Table a lookup needs, unless it is found in
// direct or in recent.
const tableLines = 5

// Fetch has the processor fetch what any packet needs: slots, and of tables what
// is looked at first.
func (m *Machine) Fetch() {
	cache.Lines(unsafe.Pointer(m), 2)
	cache.Lines(unsafe.Pointer(unsafe.SliceData(m.f)), (len(m.f)+7)/8)
	for _, t := range m.state.Tables {
		switch {
		case t.recent != nil:
			cache.Lines(unsafe.Pointer(t), 1)
			cache.Lines(unsafe.Pointer(t.recent), recentSlots/8)
		case t.direct == nil:
			cache.Lines(unsafe.Pointer(t), tableLines)
		default:
			cache.Lines(unsafe.Pointer(t), 1)
			cache.Lines(unsafe.Pointer(unsafe.SliceData(t.direct)), 2)
			cache.Lines(unsafe.Pointer(unsafe.SliceData(t.records.data)), min(mostRecords, (len(t.records.data)+7)/8))
		}
	}
}

// ahead is scratch memory for Prefetch.
type ahead struct {
	keys    [table.Batch]uint64
	entries [table.Batch]uint32
	touched uint64 // so that the compiler removes nothing
}

func (m *Machine) touch(t *Table, g *guess, frames [][]byte) {
	a := &m.ahead
	n := 0
	for _, data := range frames {
		if key, ok := g.key(data); ok {
			a.keys[n&(table.Batch-1)] = key
			n++
		}
	}
	keys, entries := a.keys[:n], a.entries[:n]
	switch {
	case t.exact32 != nil:
		t.exact32.LookupAll(keys, entries)
	case t.lpm32 != nil:
		t.lpm32.LookupAll(keys, entries)
	case t.exact != nil:
		t.exact.LookupAll(keys, entries)
	case t.lpm != nil:
		t.lpm.LookupAll(keys, entries)
	default:
		return
	}
	for _, e := range entries {
		switch {
		case e == 0:
		case t.heavy:
			a.touched += uint64(t.entries[e-1].Ext.LastHit)
		case t.extras:
			a.touched += uint64(t.hotOf(e - 1).LastHit)
			fallthrough
		default:
			a.touched += t.records.data[int(t.recordOf[e-1])*t.records.stride]
		}
	}
}

// key reads a key from its expected position. It returns false if the packet is
// too short.
func (g *guess) key(data []byte) (key uint64, ok bool) {
	for i := range g.parts {
		p := &g.parts[i]
		if p.end > len(data) {
			return 0, false
		}
		key |= p.load.load(data[p.at:p.end], 0) & p.mask << p.shift
	}
	return key, true
}

// guessKeys finds the tables whose keys can be guessed.
func (c *compiler) guessKeys() {
	places := c.headerPlaces()
	type origin struct {
		h    *header
		load *move
	}
	origins := map[slot]origin{}
	for h := range places {
		for i := range h.typ.loads {
			mv := &h.typ.loads[i]
			origins[slot(h.base+int(mv.rel))] = origin{h, mv}
		}
	}
	for n, t := range c.prog.Tables {
		if t.Width > 64 {
			continue
		}
		g := guess{table: n}
		for _, p := range t.parts {
			o, ok := origins[p.slot]
			if !ok {
				break
			}
			at := places[o.h]
			g.parts = append(g.parts, guessPart{p, at, at + o.h.typ.bits/8, o.load})
		}
		if len(g.parts) == len(t.parts) && len(t.parts) > 0 {
			c.prog.guesses = append(c.prog.guesses, g)
		}
	}
}

// headerPlaces returns the first offset, in bytes, at which the parser extracts
// each header, on the shortest path through its states.
func (c *compiler) headerPlaces() map[*header]int {
	places := map[*header]int{}
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
			case op.Op == "extract" && h != nil && h.typ.varbit < 0:
				if _, ok := places[h]; !ok {
					places[h] = v.at
				}
				v.at += h.typ.bits / 8
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
func (c *compiler) extracted(op *bmv2json.ParserOp) *header {
	if len(op.Parameters) == 0 {
		return nil
	}
	switch v := op.Parameters[0]; v.Type {
	case bmv2json.TypeRegular:
		return c.headers[v.Name]
	case bmv2json.TypeNext:
		if s := c.stacks[v.Name]; s != nil {
			return s.elements[0]
		}
	}
	return nil
}
