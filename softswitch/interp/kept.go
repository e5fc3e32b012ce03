// SPDX-License-Identifier: Apache-2.0

package interp

// keptSet is slots that are saved together.
type keptSet struct {
	// valid is the validity slot of the header with these slots. They are not saved
	// for an invalid header.
	valid slot
	whole []slot // saved with 64 bits
	half  []slot // saved with 32 bits
	zero  []slot // set to zero
}

// add adds a slot whose values have up to bits bits.
func (k *keptSet) add(s, bits int) {
	if bits > 32 {
		k.whole = append(k.whole, slot(s))
	} else {
		k.half = append(k.half, slot(s))
	}
}

func (k *keptSet) slots() int { return len(k.whole) + len(k.half) }

func (k *keptSet) bytes() int { return 8*len(k.whole) + 4*len(k.half) }

// join adds the slots of another set.
func (k *keptSet) join(other *keptSet) {
	k.whole = append(k.whole, other.whole...)
	k.half = append(k.half, other.half...)
	k.zero = append(k.zero, other.zero...)
}

// cleared points to the first of clearedSlots slots that are cleared together.
// The number is so small that the compiler unrolls the stores.
type cleared = *[clearedSlots]uint64

const clearedSlots = 8
