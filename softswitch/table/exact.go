// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"slices"

	"github.com/pauseless/pauseless/internal/bitvec"
)

// Exact is a hash table with open addressing and linear probing, at most two
// thirds full. Each slot has an entry number followed by the limbs of its key,
// so that a lookup accesses one cache line. Go's own map was slower when
// measured (one-limb keys: 8 to 9 ns against 4 to 7), and has no keys of
// variable width.
type Exact struct {
	limbs  int
	stride int
	mask   uint64 // number of slots less one
	n      int
	slots  []uint64 // stride each: entry number plus one (0: free), key
}

const minSlots = 8

// NewExact returns an empty table for keys of width bits.
func NewExact(width int) *Exact {
	t := &Exact{limbs: bitvec.Limbs(width)}
	t.stride = t.limbs + 1
	t.resize(minSlots)
	return t
}

func (t *Exact) resize(slots int) {
	old := t.slots
	t.slots = make([]uint64, slots*t.stride)
	t.mask = uint64(slots - 1)
	for i := 0; i < len(old); i += t.stride {
		if old[i] != 0 {
			t.place(old[i+1:i+t.stride], old[i])
		}
	}
}

// place stores a new key.
func (t *Exact) place(key []uint64, value uint64) {
	i := hash(key) & t.mask
	for t.slots[int(i)*t.stride] != 0 {
		i = (i + 1) & t.mask
	}
	at := int(i) * t.stride
	t.slots[at] = value
	copy(t.slots[at+1:at+t.stride], key)
}

// hash mixes the limbs of a key.
func hash(key []uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, x := range key {
		hi, lo := bits.Mul64(x^h, 0xd6e8feb86659fd93)
		h = hi ^ lo
	}
	return h ^ h>>29
}

// Lookup1 is Lookup for keys of one limb.
func (t *Exact) Lookup1(key uint64) (uint32, bool) {
	hi, lo := bits.Mul64(key^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	h := hi ^ lo
	i := (h ^ h>>29) & t.mask
	slots := t.slots
	for {
		at := 2 * i
		if at+1 >= uint64(len(slots)) {
			return 0, false
		}
		v := slots[at]
		if v == 0 {
			return 0, false
		}
		if slots[at+1] == key {
			return uint32(v - 1), true
		}
		i = (i + 1) & t.mask
	}
}

// Lookup returns the entry of a key.
func (t *Exact) Lookup(key []uint64) (uint32, bool) {
	if t.limbs == 1 {
		return t.Lookup1(key[0])
	}
	at := t.find(key)
	if at < 0 {
		return 0, false
	}
	return uint32(t.slots[at] - 1), true
}

// find returns the offset of the slot that holds key, or −1.
func (t *Exact) find(key []uint64) int {
	i := hash(key) & t.mask
	for {
		at := int(i) * t.stride
		if t.slots[at] == 0 {
			return -1
		}
		if slices.Equal(t.slots[at+1:at+t.stride], key) {
			return at
		}
		i = (i + 1) & t.mask
	}
}

// Find returns the entry of a key.
func (t *Exact) Find(m *Match) (uint32, bool) { return t.Lookup(m.Value) }

// Insert adds an entry for a new key.
func (t *Exact) Insert(m *Match, entry uint32) { t.set(m.Value, entry) }

// set adds or replaces the entry of a key.
func (t *Exact) set(key []uint64, entry uint32) {
	if at := t.find(key); at >= 0 {
		t.slots[at] = uint64(entry) + 1
		return
	}
	if slots := int(t.mask) + 1; (t.n+1)*3 > slots*2 {
		t.resize(2 * slots)
	}
	t.place(key, uint64(entry)+1)
	t.n++
}

// Delete removes a key.
func (t *Exact) Delete(m *Match) { t.remove(m.Value) }

func (t *Exact) remove(key []uint64) {
	at := t.find(key)
	if at < 0 {
		return
	}
	t.n--
	// Move keys back that the deleted one had displaced.
	hole := uint64(at / t.stride)
	for i := (hole + 1) & t.mask; ; i = (i + 1) & t.mask {
		slot := t.slots[int(i)*t.stride : int(i)*t.stride+t.stride]
		if slot[0] == 0 {
			break
		}
		home := hash(slot[1:]) & t.mask
		if (i-home)&t.mask >= (i-hole)&t.mask {
			copy(t.slots[int(hole)*t.stride:], slot)
			hole = i
		}
	}
	clear(t.slots[int(hole)*t.stride : int(hole)*t.stride+t.stride])
}

// Len returns the number of entries.
func (t *Exact) Len() int { return t.n }

// each calls f with all keys and their entries.
func (t *Exact) each(f func(key []uint64, entry uint32)) {
	for i := 0; i < len(t.slots); i += t.stride {
		if t.slots[i] != 0 {
			f(slices.Clone(t.slots[i+1:i+t.stride]), uint32(t.slots[i]-1))
		}
	}
}
