// SPDX-License-Identifier: Apache-2.0

package table

import "math/bits"

// Exact32 is Exact for keys of up to 32 bits: key and entry share a word, and
// the table grows by half, so that 100,000 entries take little more than a
// megabyte and fit into a core's cache.
type Exact32 struct {
	slots []uint64 // entry plus one, key; 0 is free
	n     int
}

func newExact32() *Exact32 { return &Exact32{slots: make([]uint64, minSlots)} }

// home returns the slot at which the search for a key begins.
func (t *Exact32) home(key uint32) uint64 {
	hi, _ := bits.Mul64(uint64(key)*0x9e3779b97f4a7c15, uint64(len(t.slots)))
	return hi
}

// Lookup1 returns the entry of a key.
func (t *Exact32) Lookup1(key uint64) (uint32, bool) {
	slots := t.slots
	hi, _ := bits.Mul64(key*0x9e3779b97f4a7c15, uint64(len(slots)))
	for i := int(hi); ; i++ {
		if i >= len(slots) {
			i = 0
		}
		x := slots[i]
		if uint32(x) == uint32(key) || x == 0 {
			return uint32(x>>32) - 1, x != 0
		}
	}
}

// find returns the slot of a key, or −1.
func (t *Exact32) find(key uint32) int {
	for i := int(t.home(key)); ; i++ {
		if i >= len(t.slots) {
			i = 0
		}
		switch x := t.slots[i]; {
		case x == 0:
			return -1
		case uint32(x) == key:
			return i
		}
	}
}

// Lookup implements Index.
func (t *Exact32) Lookup(key []uint64) (uint32, bool) { return t.Lookup1(key[0]) }

// Find implements Index.
func (t *Exact32) Find(m *Match) (uint32, bool) { return t.Lookup1(m.Value[0]) }

// Insert implements Index.
func (t *Exact32) Insert(m *Match, entry uint32) {
	t.n++
	if t.n*4 > len(t.slots)*3 {
		old := t.slots
		t.slots = make([]uint64, len(old)+len(old)/2)
		for _, x := range old {
			if x != 0 {
				t.place(x)
			}
		}
	}
	t.place(uint64(entry+1)<<32 | m.Value[0])
}

func (t *Exact32) place(x uint64) {
	i := int(t.home(uint32(x)))
	for t.slots[i] != 0 {
		if i++; i == len(t.slots) {
			i = 0
		}
	}
	t.slots[i] = x
}

// Delete implements Index.
func (t *Exact32) Delete(m *Match) {
	hole := t.find(uint32(m.Value[0]))
	if hole < 0 {
		return
	}
	t.n--
	// Move keys back that the deleted one had displaced.
	for i := hole; ; {
		if i++; i == len(t.slots) {
			i = 0
		}
		x := t.slots[i]
		if x == 0 {
			break
		}
		if t.distance(int(t.home(uint32(x))), i) >= t.distance(hole, i) {
			t.slots[hole] = x
			hole = i
		}
	}
	t.slots[hole] = 0
}

// distance returns the number of slots from i to j.
func (t *Exact32) distance(i, j int) int {
	if j < i {
		return j - i + len(t.slots)
	}
	return j - i
}

// Len implements Index.
func (t *Exact32) Len() int { return t.n }
