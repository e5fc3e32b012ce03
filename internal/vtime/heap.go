// SPDX-License-Identifier: Apache-2.0

package vtime

import (
	"math/bits"

	"github.com/pauseless/pauseless/internal/cache"
)

// A Key is something that happens at a time, which is not negative. Order, at most
// 2^63 − 1, orders what happens at once.
type Key struct {
	At    Time
	Order uint64
}

// less is 1 if k is before o, otherwise 0. A processor cannot predict the comparisons of
// a heap, so there is no branch.
func (k *Key) less(o *Key) uint64 {
	_, borrow := bits.Sub64(k.Order, o.Order, 0)
	_, borrow = bits.Sub64(uint64(k.At), uint64(o.At), borrow)
	return borrow
}

// A Heap has its first key in front. Each has up to four below it.
type Heap []Key

const heapArity = 4

// Push adds a key.
func (h *Heap) Push(k Key) {
	s := append(*h, k)
	*h = s
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / heapArity
		if s[up].less(&k) != 0 {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = k
}

// Pop removes the first key.
func (h *Heap) Pop() {
	s := *h
	last := s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	if len(s) > 0 {
		s.Replace(last)
	}
}

// Replace replaces the first key.
func (h Heap) Replace(k Key) {
	i := uint(0)
	for {
		c := i*heapArity + 1
		if c+heapArity > uint(len(h)) {
			h.replaceLast(i, k)
			return
		}
		s := h[c : c+heapArity : c+heapArity]
		a, b := s[1].less(&s[0]), 2+s[3].less(&s[2])
		a += (b - a) & -s[b&3].less(&s[a&3])
		least := &s[a&3]
		if k.less(least) != 0 {
			break
		}
		h[i] = *least
		i = c + uint(a)
	}
	h[i] = k
}

// replaceLast replaces key i, below which are at most three.
func (h Heap) replaceLast(i uint, k Key) {
	c := i*heapArity + 1
	if c < uint(len(h)) {
		least := c
		for n := c + 1; n < uint(len(h)); n++ {
			least += (n - least) & -uint(h[n].less(&h[least]))
		}
		if k.less(&h[least]) == 0 {
			h[i] = h[least]
			i = least
		}
	}
	h[i] = k
}

// Fetch has the processor fetch the keys. It changes nothing.
func (h Heap) Fetch() { cache.Slice(h) }
