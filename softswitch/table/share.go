// SPDX-License-Identifier: Apache-2.0

package table

import "slices"

// A sharable is an index whose lookups change nothing, so that several goroutines can look
// up at once while none changes it.
type sharable interface {
	Index
	clone() Index
}

var (
	_ sharable = (*Exact)(nil)
	_ sharable = (*Exact32)(nil)
	_ sharable = (*LPM32)(nil)
)

// CanShare reports whether several goroutines can look up in an index at once while none
// changes it. The others have scratch memory.
func CanShare(x Index) bool {
	_, ok := x.(sharable)
	return ok
}

// Clone returns a copy of an index that CanShare.
func Clone(x Index) Index { return x.(sharable).clone() }

func (t *Exact) clone() Index { return t.Clone() }

// Clone returns a copy.
func (t *Exact) Clone() *Exact {
	c := *t
	c.slots = slices.Clone(t.slots)
	return &c
}

func (t *Exact32) clone() Index {
	c := *t
	c.slots = slices.Clone(t.slots)
	return &c
}

func (t *LPM32) clone() Index {
	c := *t
	c.wide, c.length, c.routes = slices.Clone(t.wide), slices.Clone(t.length), t.routes.Clone()
	c.nodes.words, c.nodes.free = slices.Clone(t.nodes.words), slices.Clone(t.nodes.free)
	for i, list := range c.nodes.free {
		c.nodes.free[i] = slices.Clone(list)
	}
	return &c
}
