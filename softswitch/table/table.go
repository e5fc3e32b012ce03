// SPDX-License-Identifier: Apache-2.0

// Package table finds table entries by key: exact, longest-prefix, ternary and
// range matches. Keys are numbers of a fixed width, the concatenated fields of
// a P4 key as little-endian limbs. Entries are small numbers that the caller
// assigns. A lookup allocates nothing.
//
// Nothing here is safe for concurrent use, and nothing depends on the order of
// a Go map: the same updates give the same results.
package table

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/bitvec"
)

// A Match is an entry's condition on a key. Bits of Value outside the mask are
// zero.
type Match struct {
	Value []uint64
	// Mask has the bits that are compared in a ternary match; nil elsewhere.
	Mask []uint64
	// Prefix is the number of most significant bits that are compared, in an LPM
	// table.
	Prefix int
	// Ranges has an element for each range field, in the order given to NewTernary.
	// The mask excludes these fields.
	Ranges []Range
	// Priority orders matching entries: the largest has precedence, and of equal
	// ones the first inserted. Ternary and range tables only.
	Priority int32
}

// Range is an interval, bounds included.
type Range struct{ Low, High []uint64 }

// A Field is the position of a range field in the key.
type Field struct{ Bit, Width int }

// An Index finds entries by key.
type Index interface {
	// Lookup returns the matching entry with the highest precedence. If there is
	// none, ok is false and entry is undefined.
	Lookup(key []uint64) (entry uint32, ok bool)
	// Find returns the entry with exactly this match.
	Find(m *Match) (entry uint32, ok bool)
	// Insert adds an entry. There must be none with the same match.
	Insert(m *Match, entry uint32)
	// Delete removes the entry with exactly this match, if any.
	Delete(m *Match)
	// Len returns the number of entries.
	Len() int
}

var (
	_ Index = (*Exact)(nil)
	_ Index = (*Exact32)(nil)
	_ Index = (*LPM)(nil)
	_ Index = (*LPM32)(nil)
	_ Index = (*Ternary)(nil)
)

// NewIndex returns an empty index for keys of width bits. kind is one of
// BMv2's: exact, lpm, ternary, range. fields are the range fields or, for lpm,
// the field with prefixes, which is in the low bits.
func NewIndex(kind string, width int, fields []Field) (Index, error) {
	switch kind {
	case "exact":
		if width <= 32 {
			return newExact32(), nil
		}
		return NewExact(width), nil
	case "lpm":
		if width <= 32 {
			return newLPM32(width), nil
		}
		low := width
		if len(fields) > 0 {
			low = fields[0].Width
		}
		return NewLPM(width, low), nil
	case "ternary", "range":
		return NewTernary(width, fields), nil
	}
	return nil, fmt.Errorf("match kind %q: use exact, lpm, ternary or range", kind)
}

// extract copies a field of a key.
func extract(d, key []uint64, f Field) {
	for i := range d {
		bit := f.Bit + 64*i
		word, shift := bit/64, bit%64
		x := key[word] >> shift
		if shift != 0 && word+1 < len(key) {
			x |= key[word+1] << (64 - shift)
		}
		d[i] = x
	}
	bitvec.Mask(d, f.Width)
}
