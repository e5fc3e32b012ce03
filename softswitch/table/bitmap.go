// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"slices"
)

// bitmap is a ternary table with many masks and few entries. Each entry is a
// bit, in order of precedence. For each byte of the key, a row of bits has the
// entries that match it. The first bit in all rows is the result. The time is
// independent of the masks, while a tuple space search needs one hash per mask.
type bitmap struct {
	links []link
	keys  []maskedKey
	rows  [][]uint64 // by byte of the key, a row for each value; nil if no entry uses the byte
	cares []int      // number of entries that use the byte
	words int        // of a row
}

type maskedKey struct{ value, mask []uint64 }

const (
	maxBitmapEntries = 2048
	maxBitmapBytes   = 32
	minBitmapTuples  = 4 // fewer are faster to search one by one
)

func newBitmap(limbs int) *bitmap {
	return &bitmap{rows: make([][]uint64, 8*limbs), cares: make([]int, 8*limbs), words: 1}
}

func byteOf(a []uint64, i int) byte { return byte(a[i/8] >> (i % 8 * 8)) }

func (b *bitmap) insert(l link, value, mask []uint64) {
	if len(b.links) == 64*b.words {
		b.widen()
	}
	at, _ := slices.BinarySearchFunc(b.links, l, compareLinks)
	for i := range b.rows {
		v, m := byteOf(value, i), byteOf(mask, i)
		if m != 0 {
			b.cares[i]++
		}
		if b.rows[i] == nil {
			if m == 0 {
				continue
			}
			b.rows[i] = b.allOnes()
		}
		for x := range 256 {
			insertBit(b.rows[i][x*b.words:(x+1)*b.words], at, byte(x)&m == v)
		}
	}
	b.links = slices.Insert(b.links, at, l)
	b.keys = slices.Insert(b.keys, at, maskedKey{value, mask})
}

// allOnes returns rows that match all entries.
func (b *bitmap) allOnes() []uint64 {
	rows := make([]uint64, 256*b.words)
	for x := range 256 {
		for i := range len(b.links) {
			rows[x*b.words+i/64] |= 1 << (i % 64)
		}
	}
	return rows
}

func (b *bitmap) widen() {
	wide := 2 * b.words
	for i, old := range b.rows {
		if old == nil {
			continue
		}
		b.rows[i] = make([]uint64, 256*wide)
		for x := range 256 {
			copy(b.rows[i][x*wide:], old[x*b.words:(x+1)*b.words])
		}
	}
	b.words = wide
}

func (b *bitmap) delete(l link) {
	at, ok := slices.BinarySearchFunc(b.links, l, compareLinks)
	if !ok {
		panic("BUG: the entry is not in the bitmap")
	}
	for i := range b.rows {
		if byteOf(b.keys[at].mask, i) != 0 {
			b.cares[i]--
		}
		if b.cares[i] == 0 {
			b.rows[i] = nil
		}
		if b.rows[i] == nil {
			continue
		}
		for x := range 256 {
			deleteBit(b.rows[i][x*b.words:(x+1)*b.words], at)
		}
	}
	b.links = slices.Delete(b.links, at, at+1)
	b.keys = slices.Delete(b.keys, at, at+1)
}

func insertBit(row []uint64, at int, set bool) {
	w, below := at/64, uint64(1)<<(at%64)-1
	for i := len(row) - 1; i > w; i-- {
		row[i] = row[i]<<1 | row[i-1]>>63
	}
	row[w] = row[w]&below | row[w]&^below<<1
	if set {
		row[w] |= below + 1
	}
}

func deleteBit(row []uint64, at int) {
	w, below := at/64, uint64(1)<<(at%64)-1
	row[w] = row[w]&below | row[w]>>1&^below
	for i := w + 1; i < len(row); i++ {
		row[i-1] |= row[i] << 63
		row[i] >>= 1
	}
}

// lookup returns the matching entry with the highest precedence.
func (b *bitmap) lookup(key []uint64, t *Ternary) (uint32, bool) {
	var rows [maxBitmapBytes][]uint64
	n := 0
	for i, r := range b.rows {
		if r != nil {
			at := int(byteOf(key, i)) * b.words
			rows[n] = r[at : at+b.words]
			n++
		}
	}
	for w := range (len(b.links) + 63) / 64 {
		x := ^uint64(0)
		if left := len(b.links) - 64*w; left < 64 {
			x = 1<<left - 1
		}
		for _, r := range rows[:n] {
			x &= r[w]
		}
		for ; x != 0; x &= x - 1 {
			l := &b.links[64*w+bits.TrailingZeros64(x)]
			if len(l.ranges) == 0 || t.inRanges(key, l.ranges) {
				return l.entry, true
			}
		}
	}
	return 0, false
}
