// SPDX-License-Identifier: Apache-2.0

package table

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/gaissmai/bart"
	"github.com/pauseless/pauseless/internal/bitvec"
)

// LPM finds the entry with the longest prefix. The exact fields of a P4 key are
// at the start of the packed key and part of every prefix, so that one trie
// suffices.
//
// Keys of up to 128 bits are looked up in gaissmai/bart's trie as IPv6
// addresses, wider ones in one hash table per prefix length, longest first.
// NewIndex uses LPM32 for keys of up to 32 bits. If exact fields precede such a
// field, each of their values with many prefixes gets an LPM32.
type LPM struct {
	width, limbs int
	split        split
	trie         bart.Fast[uint32]
	n            int
	byLength     []lengthTable // width > 128, longest prefix first
	masked       []uint64      // scratch
}

type lengthTable struct {
	prefix int
	table  *Exact
}

// NewLPM returns an empty table for keys of width bits. The low bits of the key
// are the field with prefixes.
func NewLPM(width, low int) *LPM {
	limbs := bitvec.Limbs(width)
	t := &LPM{width: width, limbs: limbs, masked: make([]uint64, limbs)}
	if width <= 64 && low > 0 && low <= 32 && low < width {
		t.split = split{low: low, tops: NewExact(64), counts: map[uint64]int{}}
	}
	return t
}

func (t *LPM) addr(key []uint64) netip.Addr {
	// The key is in the upper part of the 128 bits.
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

// Lookup returns the entry with the longest prefix of the key.
func (t *LPM) Lookup(key []uint64) (uint32, bool) {
	if s := &t.split; len(s.tries) > 0 {
		if i, ok := s.tops.Lookup1(key[0] >> s.low); ok {
			return s.tries[i].Lookup1(key[0] & (1<<s.low - 1))
		}
	}
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

// top returns the key with all bits but the first n cleared, in scratch.
func (t *LPM) top(key []uint64, n int) []uint64 {
	bitvec.Shr(t.masked, key, uint64(t.width-n), false)
	bitvec.Shl(t.masked, t.masked, uint64(t.width-n))
	return t.masked
}

func (t *LPM) prefix(m *Match) netip.Prefix {
	return netip.PrefixFrom(t.addr(m.Value), m.Prefix).Masked()
}

// length returns the position of the table for a prefix length.
func (t *LPM) length(n int) (int, bool) {
	return slices.BinarySearchFunc(t.byLength, n, func(l lengthTable, n int) int { return n - l.prefix })
}

// Find returns the entry of a prefix.
func (t *LPM) Find(m *Match) (uint32, bool) {
	if u, sub := t.split.of(t.width, m); u != nil {
		return u.Find(sub)
	}
	if t.width <= 128 {
		return t.trie.Get(t.prefix(m))
	}
	if i, ok := t.length(m.Prefix); ok {
		return t.byLength[i].table.Lookup(t.top(m.Value, m.Prefix))
	}
	return 0, false
}

// Insert adds an entry for a new prefix.
func (t *LPM) Insert(m *Match, entry uint32) {
	t.n++
	if u, sub := t.split.of(t.width, m); u != nil {
		u.Insert(sub, entry)
		return
	}
	if t.width <= 128 {
		t.trie.Insert(t.prefix(m), entry)
		t.grown(m)
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
	if u, sub := t.split.of(t.width, m); u != nil {
		u.Delete(sub)
		return
	}
	if t.width <= 128 {
		t.trie.Delete(t.prefix(m))
		if t.split.low != 0 {
			t.split.counts[m.Value[0]>>t.split.low]--
		}
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

// split is the part of a table whose keys are exact fields and, in the low
// bits, one with prefixes. The values of the exact fields, the tops, have a
// trie each.
type split struct {
	low    int // bits; 0 if the table is not of this kind
	tops   *Exact
	tries  []*LPM32
	counts map[uint64]int // number of prefixes of tops without a trie
}

// A trie takes a quarter of a megabyte. Therefore only tops with many prefixes
// have one, up to maxSplit.
const (
	minSplit = 256
	maxSplit = 64
)

// of returns the trie for a match and the rest of the match in it, or nil.
func (s *split) of(width int, m *Match) (*LPM32, *Match) {
	if len(s.tries) == 0 {
		return nil, nil
	}
	i, ok := s.tops.Lookup1(m.Value[0] >> s.low)
	if !ok {
		return nil, nil
	}
	return s.tries[i], &Match{Value: []uint64{m.Value[0] & (1<<s.low - 1)}, Prefix: m.Prefix - (width - s.low)}
}

// grown counts an inserted prefix. If its top has many, it moves them to a new
// trie.
func (t *LPM) grown(m *Match) {
	s := &t.split
	if s.low == 0 {
		return
	}
	top := m.Value[0] >> s.low
	s.counts[top]++
	if s.counts[top] < minSplit || len(s.tries) == maxSplit {
		return
	}
	u := newLPM32(s.low)
	all := netip.PrefixFrom(t.addr([]uint64{top << s.low}), t.width-s.low).Masked()
	var moved []netip.Prefix
	for p, entry := range t.trie.Subnets(all) {
		b := p.Addr().As16()
		value := binary.BigEndian.Uint64(b[:8]) >> (64 - t.width)
		u.Insert(&Match{Value: []uint64{value & (1<<s.low - 1)}, Prefix: p.Bits() - (t.width - s.low)}, entry)
		moved = append(moved, p)
	}
	for _, p := range moved {
		t.trie.Delete(p)
	}
	delete(s.counts, top)
	s.tops.set([]uint64{top}, uint32(len(s.tries)))
	s.tries = append(s.tries, u)
}
