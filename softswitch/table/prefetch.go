// SPDX-License-Identifier: Apache-2.0

package table

import "math/bits"

// Batch is the maximum number of keys of LookupAll.
const Batch = 64

// LookupAll looks up several keys of one limb in lockstep, so that their memory
// accesses overlap. It writes each entry plus one into entries; zero is none.
func (t *Exact) LookupAll(keys []uint64, entries []uint32) {
	var any uint64
	for _, key := range keys {
		hi, lo := bits.Mul64(key^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
		h := hi ^ lo
		any |= t.slots[2*((h^h>>29)&t.mask)]
	}
	if any == 0 {
		clear(entries)
		return
	}
	for i, key := range keys {
		entries[i] = 0
		if e, ok := t.Lookup1(key); ok {
			entries[i] = e + 1
		}
	}
}

// LookupAll is like Exact's.
func (t *Exact32) LookupAll(keys []uint64, entries []uint32) {
	var any uint64
	for _, key := range keys {
		any |= t.slots[t.home(uint32(key))]
	}
	if any == 0 {
		clear(entries)
		return
	}
	for i, key := range keys {
		entries[i] = 0
		if e, ok := t.Lookup1(key); ok {
			entries[i] = e + 1
		}
	}
}

// LookupAll is like Exact's.
func (t *LPM32) LookupAll(keys []uint64, entries []uint32) {
	for i, key := range keys {
		entries[i] = t.second(uint32(key) << (32 - t.width))
	}
	for shift := 8; shift >= 0; shift -= 8 {
		var at [Batch]uint32 // of runs in the memory of nodes
		more := false
		for i, slot := range entries[:len(keys)] {
			if slot&isNode != 0 {
				more = true
				first := slot &^ isNode * nodeUnit
				at[i&(Batch-1)] = first + nodeRuns - 1 + run(t.nodes.words[first:], uint32(keys[i])<<(32-t.width)>>shift&0xff)
			}
		}
		if !more {
			return
		}
		for i, slot := range entries[:len(keys)] {
			if slot&isNode != 0 {
				entries[i] = t.nodes.words[at[i&(Batch-1)]]
			}
		}
	}
}

// LookupAll is like Exact's for values of the exact fields with a trie. It
// finds nothing elsewhere.
func (t *LPM) LookupAll(keys []uint64, entries []uint32) {
	clear(entries)
	if len(t.split.tries) == 0 {
		return
	}
	for i := range keys {
		if e, ok := t.Lookup(keys[i : i+1]); ok {
			entries[i] = e + 1
		}
	}
}
