// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"encoding/binary"
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// genByteTransitions emits the selection of the next state by several fields of a
// header that the state extracts, as comparisons of the header's bytes. It reports
// whether it can: then neither fields nor their concatenation are computed.
func (c *compiler) genByteTransitions(s *bmv2json.ParseState, next func(diag.Pos, string) ops.Label) bool {
	h := c.keyHeader(s)
	if h == nil || c.opts.Plain || c.opts.Trace {
		return false
	}
	var cases []ops.ByteMatch
	for _, t := range s.Transitions {
		if t.Type == "default" {
			continue
		}
		w, ok := c.byteMatch(s, t, h)
		if !ok {
			return false
		}
		cases = append(cases, w)
	}
	if len(cases) == 0 || len(cases) >= minSwitch || len(c.Prog.ByteMatches)+len(cases) > ops.FirstConst {
		return false
	}
	last := c.parseEnd
	for _, t := range s.Transitions {
		if t.Type == "default" {
			last = next(t.Pos, t.Next)
			continue
		}
		c.Prog.ByteMatches = append(c.Prog.ByteMatches, cases[0])
		cases = cases[1:]
		c.emit(ops.JBytes, 0, h.Base+ops.RelOffset, len(c.Prog.ByteMatches)-1, uint64(next(t.Pos, t.Next)))
	}
	c.jump(last)
	return true
}

// keyHeader returns the header of which a state's key has several fields, if the
// state extracts it and then changes no header. Otherwise it returns nil.
func (c *compiler) keyHeader(s *bmv2json.ParseState) *ops.Header {
	if len(s.Key) < 2 {
		return nil
	}
	h := c.headers[s.Key[0].Name]
	if h == nil || h.Slots != nil || h.Stack != nil || h.Union != nil || h.Type.Varbit >= 0 {
		return nil
	}
	for _, v := range s.Key {
		if v.Type != bmv2json.TypeField || v.Name != h.Name {
			return nil
		}
		if i := h.Type.Index(v.Field); i < 0 || h.Type.Fields[i].Signed {
			return nil
		}
	}
	extracted := false
	for _, op := range s.Ops {
		switch {
		case len(op.Parameters) == 0:
			return nil
		case op.Op == "extract":
			extracted = extracted || op.Parameters[0].Type == bmv2json.TypeRegular && op.Parameters[0].Name == h.Name
		case op.Op == "set":
			if d := c.headers[op.Parameters[0].Name]; op.Parameters[0].Type != bmv2json.TypeField || d == nil || d.Slots == nil {
				return nil
			}
		default:
			return nil
		}
	}
	if !extracted {
		return nil
	}
	return h
}

// ByteMatch translates a case of a selection. It reports whether it is one value,
// perhaps with a mask, in two words of the header.
func (c *compiler) byteMatch(s *bmv2json.ParseState, t *bmv2json.Transition, h *ops.Header) (w ops.ByteMatch, ok bool) {
	if t.Type != "hexstr" {
		return w, false
	}
	bytes := 0
	for _, v := range s.Key {
		bytes += (h.Type.Fields[h.Type.Index(v.Field)].Width + 7) / 8
	}
	ones := pow2(8 * bytes)
	ones.Sub(ones, bigOne)
	value, mask := c.padded(t.Value, bytes, t.Pos), ones
	if t.Mask != "" {
		mask = c.padded(t.Mask, bytes, t.Pos)
	}
	value = new(big.Int).And(value, mask)
	// The header's bytes, with room for a word behind any of them.
	care, want := make([]byte, h.Type.Bits/8+8), make([]byte, h.Type.Bits/8+8)
	at := 8 * bytes // the lowest bit of a field in the key
	for _, v := range s.Key {
		f := &h.Type.Fields[h.Type.Index(v.Field)]
		room := (f.Width + 7) / 8 * 8
		at -= room
		for i := range room {
			switch {
			case mask.Bit(at+i) == 0:
			case i < f.Width:
				bit := f.Bit + f.Width - 1 - i
				care[bit/8] |= 0x80 >> (bit % 8)
				if value.Bit(at+i) != 0 {
					want[bit/8] |= 0x80 >> (bit % 8)
				}
			case value.Bit(at+i) != 0: // no field has this value
				return w, false
			}
		}
	}
	for i := range w.At {
		first := max(slices.IndexFunc(care, func(b byte) bool { return b != 0 }), 0)
		first = min(first, max(h.Type.Bits/8-8, 0))
		w.At[i] = uint64(first)
		w.Mask[i], w.Value[i] = binary.BigEndian.Uint64(care[first:]), binary.BigEndian.Uint64(want[first:])
		clear(care[first : first+8])
	}
	if w.At[1] < w.At[0] {
		w.At[1] = w.At[0]
	}
	return w, !slices.ContainsFunc(care, func(b byte) bool { return b != 0 })
}
