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

// and keeps what is in both and reports whether that is a change.
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

// or adds what is in c and reports whether that is a change.
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

// spans are ranges of slots that are cleared together.
type spans []struct{ from, to int }

// add adds a slot behind all others. Clearing a few more costs less than
// another range.
func (l *spans) add(s int) {
	if n := len(*l) - 1; n >= 0 && s <= (*l)[n].to+8 {
		(*l)[n].to = s + 1
		return
	}
	*l = append(*l, struct{ from, to int }{s, s + 1})
}

func (l spans) clear(f []uint64) {
	for i := range l {
		clear(f[l[i].from:l[i].to])
	}
}
