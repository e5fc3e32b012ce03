// SPDX-License-Identifier: Apache-2.0

package optimise

import (
	"math/bits"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// A bitset is a set of small numbers.
type bitset []uint64

// newBitset returns an empty set of numbers below n.
func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) remove(i int)   { b[i/64] &^= 1 << (i % 64) }
func (b bitset) fill() {
	for i := range b {
		b[i] = ops.AllBits
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
func clears(p *ops.Program, set bitset) {
	p.Fresh, p.Pairs = set.clearing(p.FieldsEnd, ops.ClearedSlots), set.clearing(p.FieldsEnd, 2)
}

// clearing returns the positions of runs of n slots to clear, which cover all in
// the set before end. A run may contain other slots.
func (b bitset) clearing(end, n int) (at []ops.Slot) {
	next := 0
	b.each(func(s int) {
		if s < next || s >= end {
			return
		}
		at = append(at, ops.Slot(s))
		next = s + n
	})
	return at
}
