// SPDX-License-Identifier: Apache-2.0

package table

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/gaissmai/bart"
	"github.com/pauseless/pauseless/internal/bitvec"
)

// LPM finds the entry with the longest prefix. The exact fields of a P4 key
// come first in the packed key and count as part of every prefix, so that one
// trie does for all.
//
// Keys of up to 128 bits are looked up in gaissmai/bart's trie, as IPv6
// addresses; wider ones in a hash table for each prefix length, longest first.
// For up to 32 bits NewIndex takes LPM32.
type LPM struct {
	width, limbs int
	trie         bart.Fast[uint32]
	n            int
	byLength     []lengthTable // width > 128, longest prefix first
	masked       []uint64      // scratch
}

type lengthTable struct {
	prefix int
	table  *Exact
}

// NewLPM returns an empty table for keys of width bits.
func NewLPM(width int) *LPM {
	limbs := bitvec.Limbs(width)
	return &LPM{width: width, limbs: limbs, masked: make([]uint64, limbs)}
}

func (t *LPM) addr(key []uint64) netip.Addr {
	// The key goes to the top of 128 bits.
	hi, lo := uint64(0), key[0]
	if len(key) > 1 {
		hi = key[1]
	}
	up := 128 - t.width
	if up >= 64 {
		hi, lo = lo<<(up-64), 0
	} else if up > 0 {
		hi, lo = hi<<up|lo>>(64-up), lo<<up
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	return netip.AddrFrom16(b)
}

// Lookup returns the entry with the longest prefix that the key has.
func (t *LPM) Lookup(key []uint64) (uint32, bool) {
	if t.width <= 128 {
		return t.trie.Lookup(t.addr(key))
	}
	for _, l := range t.byLength {
		if e, ok := l.table.Lookup(t.top(key, l.prefix)); ok {
			return e, true
		}
	}
	return 0, false
}

// top returns the key with all but its first n bits cleared, in scratch.
func (t *LPM) top(key []uint64, n int) []uint64 {
	bitvec.Shr(t.masked, key, uint64(t.width-n), false)
	bitvec.Shl(t.masked, t.masked, uint64(t.width-n))
	return t.masked
}

func (t *LPM) prefix(m *Match) netip.Prefix {
	return netip.PrefixFrom(t.addr(m.Value), m.Prefix).Masked()
}

// length returns where the table for a prefix length is, or would be.
func (t *LPM) length(n int) (int, bool) {
	return slices.BinarySearchFunc(t.byLength, n, func(l lengthTable, n int) int { return n - l.prefix })
}

// Find returns the entry of a prefix.
func (t *LPM) Find(m *Match) (uint32, bool) {
	if t.width <= 128 {
		return t.trie.Get(t.prefix(m))
	}
	if i, ok := t.length(m.Prefix); ok {
		return t.byLength[i].table.Lookup(t.top(m.Value, m.Prefix))
	}
	return 0, false
}

// Insert adds an entry for a prefix that is not there.
func (t *LPM) Insert(m *Match, entry uint32) {
	t.n++
	if t.width <= 128 {
		t.trie.Insert(t.prefix(m), entry)
		return
	}
	i, ok := t.length(m.Prefix)
	if !ok {
		t.byLength = slices.Insert(t.byLength, i, lengthTable{m.Prefix, NewExact(t.width)})
	}
	t.byLength[i].table.set(t.top(m.Value, m.Prefix), entry)
}

// Delete removes the entry of a prefix.
func (t *LPM) Delete(m *Match) {
	if _, ok := t.Find(m); !ok {
		return
	}
	t.n--
	if t.width <= 128 {
		t.trie.Delete(t.prefix(m))
		return
	}
	i, _ := t.length(m.Prefix)
	t.byLength[i].table.remove(t.top(m.Value, m.Prefix))
	if t.byLength[i].table.Len() == 0 {
		t.byLength = slices.Delete(t.byLength, i, i+1)
	}
}

// Len returns the number of entries.
func (t *LPM) Len() int { return t.n }
