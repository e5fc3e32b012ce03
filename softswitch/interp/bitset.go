// SPDX-License-Identifier: Apache-2.0

package interp

import "math/bits"

// A bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) remove(i int)   { b[i/64] &^= 1 << (i % 64) }
func (b bitset) fill() {
	for i := range b {
		b[i] = allBits
	}
}

// and keeps the common elements and reports whether the set changed.
func (b bitset) and(c bitset) bool {
	changed := false
	for i, x := range c {
		if b[i]&^x != 0 {
			b[i] &= x
			changed = true
		}
	}
	return changed
}

// or adds the elements of c and reports whether the set changed.
func (b bitset) or(c bitset) bool {
	changed := false
	for i, x := range c {
		if x&^b[i] != 0 {
			b[i] |= x
			changed = true
		}
	}
	return changed
}

func (b bitset) each(f func(i int)) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			f(64*i + bits.TrailingZeros64(w))
		}
	}
}

// clears sets the slots that are cleared before a packet is parsed.
func clears(p *Program, set bitset) {
	p.fresh, p.pairs = set.clearing(p.fieldsEnd, clearedSlots), set.clearing(p.fieldsEnd, 2)
}

// clearing returns the positions of runs of n slots to clear, which cover all in
// the set before end. A run may contain other slots.
func (b bitset) clearing(end, n int) (at []slot) {
	next := 0
	b.each(func(s int) {
		if s < next || s >= end {
			return
		}
		at = append(at, slot(s))
		next = s + n
	})
	return at
}
