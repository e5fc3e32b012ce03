// SPDX-License-Identifier: Apache-2.0

package table

import (
	"cmp"
	"math"
	"slices"

	"github.com/pauseless/pauseless/internal/bitvec"
)

// Ternary finds the matching entry with the largest priority by tuple space
// search: entries with the same mask share a hash table, the tables are
// searched in the order of their largest priority, and the search ends when no
// later table can have a larger one. With many masks and few entries, a bitmap
// is used instead. Range fields are compared entry by entry in the chain of
// entries that are otherwise equal.
type Ternary struct {
	limbs  int
	ranges []Field
	tuples []*tuple // in descending order of best
	masks  *Exact   // mask → index in byMask
	byMask []*tuple // nil for a removed tuple
	spare  []uint32 // indices of nil in byMask
	n      int
	order  uint64   // counts insertions, to break ties
	masked []uint64 // scratch
	field  []uint64 // scratch
	bitmap *bitmap  // nil while tuples are searched
}

// A tuple holds the entries of one mask.
type tuple struct {
	mask   []uint64
	place  int     // in tuples
	best   int32   // upper bound of the entries' priorities
	worn   int     // entries deleted since best was exact
	heads  *Exact  // masked key → chain
	chains []chain // chains[heads.Lookup(key)]
	free   []uint32
}

// A chain is the entries of one mask and value, in order of precedence.
type chain []link

type link struct {
	priority int32
	entry    uint32
	order    uint64
	ranges   []Range
}

// NewTernary returns an empty table for keys of width bits with the given
// range fields.
func NewTernary(width int, ranges []Field) *Ternary {
	t := &Ternary{limbs: bitvec.Limbs(width), ranges: ranges, masks: NewExact(width)}
	t.masked = make([]uint64, t.limbs)
	widest := 1
	for _, f := range ranges {
		widest = max(widest, bitvec.Limbs(f.Width))
	}
	t.field = make([]uint64, widest)
	return t
}

// Lookup returns the matching entry with the highest precedence.
func (t *Ternary) Lookup(key []uint64) (uint32, bool) {
	if t.bitmap != nil {
		return t.bitmap.lookup(key, t)
	}
	best, order, found := uint32(0), uint64(0), false
	priority := int32(math.MinInt32)
	for _, u := range t.tuples {
		if found && u.best < priority {
			break
		}
		var at uint32
		var ok bool
		if t.limbs == 1 {
			at, ok = u.heads.Lookup1(key[0] & u.mask[0])
		} else {
			for i, m := range u.mask {
				t.masked[i] = key[i] & m
			}
			at, ok = u.heads.Lookup(t.masked)
		}
		if !ok {
			continue
		}
		for i := range u.chains[at] {
			l := &u.chains[at][i]
			if found && (l.priority < priority || l.priority == priority && l.order > order) {
				break
			}
			if len(t.ranges) > 0 && !t.inRanges(key, l.ranges) {
				continue
			}
			best, priority, order, found = l.entry, l.priority, l.order, true
			break
		}
	}
	return best, found
}

func (t *Ternary) inRanges(key []uint64, ranges []Range) bool {
	for i, f := range t.ranges {
		v := t.field[:bitvec.Limbs(f.Width)]
		extract(v, key, f)
		if bitvec.Cmp(v, ranges[i].Low) < 0 || bitvec.Cmp(v, ranges[i].High) > 0 {
			return false
		}
	}
	return true
}

// locate returns the tuple of a match, its chain and its index in the chain.
func (t *Ternary) locate(m *Match) (u *tuple, at uint32, i int, ok bool) {
	place, ok := t.masks.Lookup(m.Mask)
	if !ok {
		return nil, 0, 0, false
	}
	u = t.byMask[place]
	at, ok = u.heads.Lookup(m.Value)
	if !ok {
		return u, 0, 0, false
	}
	i = slices.IndexFunc(u.chains[at], func(l link) bool {
		return l.priority == m.Priority && slices.EqualFunc(l.ranges, m.Ranges, func(a, b Range) bool {
			return bitvec.Cmp(a.Low, b.Low) == 0 && bitvec.Cmp(a.High, b.High) == 0
		})
	})
	return u, at, i, i >= 0
}

// Find returns the entry with exactly this match and priority.
func (t *Ternary) Find(m *Match) (uint32, bool) {
	u, at, i, ok := t.locate(m)
	if !ok {
		return 0, false
	}
	return u.chains[at][i].entry, true
}

// Insert adds an entry.
func (t *Ternary) Insert(m *Match, entry uint32) {
	u, _, _, _ := t.locate(m)
	if u == nil {
		u = t.addTuple(m)
	}
	at, ok := u.heads.Lookup(m.Value)
	if !ok {
		if n := len(u.free); n > 0 {
			at, u.free = u.free[n-1], u.free[:n-1]
		} else {
			at = uint32(len(u.chains))
			u.chains = append(u.chains, nil)
		}
		u.heads.set(m.Value, at)
	}
	t.order++
	l := link{m.Priority, entry, t.order, m.Ranges}
	i, _ := slices.BinarySearchFunc(u.chains[at], l, compareLinks)
	u.chains[at] = slices.Insert(u.chains[at], i, l)
	t.n++
	if m.Priority > u.best {
		u.best = m.Priority
		t.settle(u)
	}
	switch {
	case t.bitmap == nil && t.wantsBitmap():
		t.bitmap = newBitmap(t.limbs)
		t.each(t.bitmap.insert)
	case t.bitmap != nil && t.n > maxBitmapEntries:
		t.bitmap = nil
	case t.bitmap != nil:
		t.bitmap.insert(l, slices.Clone(m.Value), u.mask)
	}
}

// wantsBitmap has a lower limit than the bitmap itself, so that a size near the
// limit does not rebuild it repeatedly.
func (t *Ternary) wantsBitmap() bool {
	return len(t.tuples) > minBitmapTuples && t.n <= maxBitmapEntries/2 && 8*t.limbs <= maxBitmapBytes
}

// each calls f with all entries.
func (t *Ternary) each(f func(l link, value, mask []uint64)) {
	for _, u := range t.tuples {
		u.heads.each(func(value []uint64, at uint32) {
			for _, l := range u.chains[at] {
				f(l, value, u.mask)
			}
		})
	}
}

func (t *Ternary) addTuple(m *Match) *tuple {
	u := &tuple{mask: slices.Clone(m.Mask), place: len(t.tuples), best: m.Priority, heads: NewExact(64 * t.limbs)}
	t.tuples = append(t.tuples, u)
	t.settle(u)
	at := uint32(len(t.byMask))
	if n := len(t.spare); n > 0 {
		at, t.spare = t.spare[n-1], t.spare[:n-1]
		t.byMask[at] = u
	} else {
		t.byMask = append(t.byMask, u)
	}
	t.masks.set(u.mask, at)
	return u
}

// settle restores the order after a tuple's best priority changed.
func (t *Ternary) settle(u *tuple) {
	swap := func(i, j int) {
		t.tuples[i], t.tuples[j] = t.tuples[j], t.tuples[i]
		t.tuples[i].place, t.tuples[j].place = i, j
	}
	for u.place > 0 && t.tuples[u.place-1].best < u.best {
		swap(u.place, u.place-1)
	}
	for u.place+1 < len(t.tuples) && t.tuples[u.place+1].best > u.best {
		swap(u.place, u.place+1)
	}
}

func compareLinks(a, b link) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.order, b.order))
}

// Delete removes the entry with exactly this match and priority.
func (t *Ternary) Delete(m *Match) {
	u, at, i, ok := t.locate(m)
	if !ok {
		return
	}
	t.n--
	if t.bitmap != nil {
		t.bitmap.delete(u.chains[at][i])
	}
	u.chains[at] = slices.Delete(u.chains[at], i, i+1)
	if len(u.chains[at]) == 0 {
		u.heads.remove(m.Value)
		u.free = append(u.free, at)
	}
	if u.heads.Len() == 0 {
		place, _ := t.masks.Lookup(u.mask)
		t.masks.remove(u.mask)
		t.byMask[place] = nil
		t.spare = append(t.spare, place)
		t.tuples = slices.Delete(t.tuples, u.place, u.place+1)
		for i := u.place; i < len(t.tuples); i++ {
			t.tuples[i].place = i
		}
		return
	}
	// A bound that is too high only costs a search of this tuple. It is made exact
	// when as many entries were deleted as remain.
	if u.worn++; u.worn > u.heads.Len() {
		u.worn, u.best = 0, math.MinInt32
		for _, c := range u.chains {
			if len(c) > 0 {
				u.best = max(u.best, c[0].priority)
			}
		}
		t.settle(u)
	}
}

// Len returns the number of entries.
func (t *Ternary) Len() int { return t.n }
