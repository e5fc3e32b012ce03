// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"math/bits"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/softswitch/table"
)

// FieldMatch is an entry's condition on one field of the key. The match kind
// determines which members are used. Values are little-endian limbs that fit
// the field.
type FieldMatch struct {
	Value     []uint64 // exact, lpm, ternary; the value of valid is 0 or 1
	Mask      []uint64 // ternary
	Prefix    int      // lpm
	Low, High []uint64 // range
}

// Match packs the matches of all fields, in the order of the key, into one of
// the whole key. It clears the bits of values that a mask excludes. The largest
// priority has precedence.
func (t *TableInfo) Match(fields []FieldMatch, priority int32) table.Match {
	n := bitvec.Limbs(t.Width)
	m := table.Match{Value: make([]uint64, n)}
	tcam := t.Kind == "ternary" || t.Kind == "range"
	if tcam {
		m.Mask, m.Priority = make([]uint64, n), priority
	}
	if t.Kind == "lpm" {
		m.Prefix = t.Width
	}
	for i, k := range t.Key {
		f := &fields[i]
		limbs := bitvec.Limbs(k.Width)
		mask := make([]uint64, limbs)
		for j := range mask {
			mask[j] = ^uint64(0)
		}
		bitvec.Mask(mask, k.Width)
		value := make([]uint64, limbs)
		copy(value, f.Value)
		switch k.Kind {
		case "lpm":
			bitvec.Shr(mask, mask, uint64(k.Width-f.Prefix), false)
			bitvec.Shl(mask, mask, uint64(k.Width-f.Prefix))
			m.Prefix -= k.Width - f.Prefix
		case "ternary":
			copy(mask, f.Mask)
		case "range":
			clear(mask)
			m.Ranges = append(m.Ranges, table.Range{Low: f.Low, High: f.High})
		}
		for j := range value {
			value[j] &= mask[j]
		}
		Place(m.Value, value, k.Bit)
		if tcam {
			Place(m.Mask, mask, k.Bit)
		}
	}
	return m
}

// Place combines a field into a packed number with or.
func Place(d, field []uint64, bit int) {
	for i, x := range field {
		word, shift := bit/64+i, bit%64
		if word < len(d) {
			d[word] |= x << shift
		}
		if shift != 0 && word+1 < len(d) {
			d[word+1] |= x >> (64 - shift)
		}
	}
}

// Fields is the inverse of Match.
func (t *TableInfo) Fields(m *table.Match) []FieldMatch {
	fields := make([]FieldMatch, len(t.Key))
	ranges := 0
	for i, k := range t.Key {
		f := &fields[i]
		f.Value = ExtractField(m.Value, k)
		switch k.Kind {
		case "lpm":
			if m.Mask != nil {
				f.Prefix = BitCount(ExtractField(m.Mask, k))
			} else {
				f.Prefix = m.Prefix - (t.Width - k.Width)
			}
		case "ternary":
			f.Mask = ExtractField(m.Mask, k)
		case "range":
			f.Low, f.High = m.Ranges[ranges].Low, m.Ranges[ranges].High
			ranges++
		}
	}
	return fields
}

// ExtractField returns a field of a packed key.
func ExtractField(packed []uint64, k KeyInfo) []uint64 {
	d := make([]uint64, len(packed))
	bitvec.Shr(d, packed, uint64(k.Bit), false)
	bitvec.Mask(d, k.Width)
	n := bitvec.Limbs(k.Width)
	if n > len(d) {
		n = len(d)
	}
	return d[:n]
}

// BitCount returns how many bits are set.
func BitCount(a []uint64) int {
	n := 0
	for _, x := range a {
		n += bits.OnesCount64(x)
	}
	return n
}
