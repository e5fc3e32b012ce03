// SPDX-License-Identifier: Apache-2.0

package table

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/bitvec"
)

// model is the reference table, which searches all entries.
type model struct {
	kind   string
	width  int
	ranges []Field
	masks  int // how many there are for each limb
	list   []modelEntry
	order  int
}

type modelEntry struct {
	m     Match
	entry uint32
	order int
}

func (t *model) matches(m *Match, key []uint64) bool {
	switch t.kind {
	case "exact":
		return slices.Equal(m.Value, key)
	case "lpm":
		a, b := slices.Clone(m.Value), slices.Clone(key)
		bitvec.Shr(a, a, uint64(t.width-m.Prefix), false)
		bitvec.Shr(b, b, uint64(t.width-m.Prefix), false)
		return slices.Equal(a, b)
	}
	for i := range key {
		if key[i]&m.Mask[i] != m.Value[i] {
			return false
		}
	}
	for i, f := range t.ranges {
		v := make([]uint64, bitvec.Limbs(f.Width))
		extract(v, key, f)
		if bitvec.Cmp(v, m.Ranges[i].Low) < 0 || bitvec.Cmp(v, m.Ranges[i].High) > 0 {
			return false
		}
	}
	return true
}

func (t *model) lookup(key []uint64) (uint32, bool) {
	var best *modelEntry
	for i := range t.list {
		e := &t.list[i]
		if !t.matches(&e.m, key) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(e.m.Prefix, best.m.Prefix), cmp.Compare(e.m.Priority, best.m.Priority), cmp.Compare(best.order, e.order)) > 0 {
			best = e
		}
	}
	if best == nil {
		return 0, false
	}
	return best.entry, true
}

// randomMatch draws from few values, so that entries are often equal or
// overlap.
func (t *model) randomMatch(rng *rand.Rand) Match {
	limbs := bitvec.Limbs(t.width)
	value := t.randomKey(rng)
	m := Match{Value: value}
	switch t.kind {
	case "lpm":
		m.Prefix = rng.IntN(t.width + 1)
		bitvec.Shr(value, value, uint64(t.width-m.Prefix), false)
		bitvec.Shl(value, value, uint64(t.width-m.Prefix))
	case "ternary":
		m.Mask = make([]uint64, limbs)
		for i := range m.Mask {
			m.Mask[i] = [...]uint64{0, 0xff, 0xff00, ^uint64(0), 0x0f0f}[rng.IntN(min(5, t.masks))]
		}
		bitvec.Mask(m.Mask, t.width)
		for _, f := range t.ranges {
			n := bitvec.Limbs(f.Width)
			r := Range{make([]uint64, n), make([]uint64, n)}
			extract(r.Low, t.randomKey(rng), f)
			extract(r.High, t.randomKey(rng), f)
			if bitvec.Cmp(r.Low, r.High) > 0 {
				r.Low, r.High = r.High, r.Low
			}
			m.Ranges = append(m.Ranges, r)
			hole := make([]uint64, limbs)
			for i := range hole {
				hole[i] = ^uint64(0)
			}
			bitvec.Mask(hole, f.Width)
			bitvec.Shl(hole, hole, uint64(f.Bit))
			for i := range hole {
				m.Mask[i] &^= hole[i]
			}
		}
		for i := range value {
			value[i] &= m.Mask[i]
		}
		m.Priority = int32(rng.IntN(4))
	}
	return m
}

func (t *model) randomKey(rng *rand.Rand) []uint64 {
	key := make([]uint64, bitvec.Limbs(t.width))
	for i := range key {
		key[i] = uint64(rng.IntN(4)) * 0x0101010101010101 << rng.IntN(3)
	}
	bitvec.Mask(key, t.width)
	return key
}

func same(a, b *Match) bool {
	return slices.Equal(a.Value, b.Value) && slices.Equal(a.Mask, b.Mask) && a.Prefix == b.Prefix && a.Priority == b.Priority &&
		slices.EqualFunc(a.Ranges, b.Ranges, func(a, b Range) bool { return slices.Equal(a.Low, b.Low) && slices.Equal(a.High, b.High) })
}

// After any insertions and deletions, lookups agree with a linear search.
func TestLookupAgreesWithLinearSearch(t *testing.T) {
	for _, tt := range []struct {
		kind   string
		width  int
		ranges []Field
		masks  int
	}{
		{kind: "exact", width: 9}, {kind: "exact", width: 32}, {kind: "exact", width: 64}, {kind: "exact", width: 200},
		{kind: "lpm", width: 7}, {kind: "lpm", width: 13}, {kind: "lpm", width: 20}, {kind: "lpm", width: 32}, {kind: "lpm", width: 44},
		{kind: "lpm", width: 64}, {kind: "lpm", width: 100}, {kind: "lpm", width: 128}, {kind: "lpm", width: 190},
		{kind: "ternary", width: 5, masks: 4}, {kind: "ternary", width: 64, masks: 3}, {kind: "ternary", width: 64, masks: 5},
		{kind: "ternary", width: 150, masks: 1}, {kind: "ternary", width: 150, masks: 5}, {kind: "ternary", width: 400, masks: 5},
		{kind: "ternary", width: 40, ranges: []Field{{Bit: 8, Width: 16}}, masks: 3},
		{kind: "ternary", width: 210, ranges: []Field{{Bit: 30, Width: 100}, {Bit: 140, Width: 9}}, masks: 5},
	} {
		t.Run(fmt.Sprintf("%s%d ranges%d masks%d", tt.kind, tt.width, len(tt.ranges), tt.masks), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, uint64(tt.width)))
			index, err := NewIndex(tt.kind, tt.width, tt.ranges)
			if err != nil {
				t.Fatal(err)
			}
			ref := &model{kind: tt.kind, width: tt.width, ranges: tt.ranges, masks: tt.masks}
			next := uint32(0)
			steps := 4000
			if testing.Short() {
				steps = 1000
			}
			for step := range steps {
				m := ref.randomMatch(rng)
				if rng.IntN(3) == 0 && len(ref.list) > 0 {
					m = ref.list[rng.IntN(len(ref.list))].m
				}
				at := slices.IndexFunc(ref.list, func(e modelEntry) bool { return same(&e.m, &m) })
				found, ok := index.Find(&m)
				if ok != (at >= 0) || ok && found != ref.list[at].entry {
					t.Fatalf("step %d: Find(%+v) = %d, %v", step, m, found, ok)
				}
				if at < 0 && step%400 < 250 {
					index.Insert(&m, next)
					ref.order++
					ref.list = append(ref.list, modelEntry{m, next, ref.order})
					next++
				} else if at >= 0 {
					index.Delete(&m)
					ref.list = slices.Delete(ref.list, at, at+1)
				} else {
					index.Delete(&m) // of nothing
				}
				if index.Len() != len(ref.list) {
					t.Fatalf("step %d: Len() = %d, want %d", step, index.Len(), len(ref.list))
				}
				for range 5 {
					key := ref.randomKey(rng)
					got, gotOK := index.Lookup(key)
					want, wantOK := ref.lookup(key)
					if gotOK != wantOK || gotOK && got != want {
						t.Fatalf("step %d: Lookup(%x) = %d, %v, want %d, %v of %d", step, key, got, gotOK, want, wantOK, len(ref.list))
					}
				}
			}
		})
	}
}

// Prefixes after an exact field are found before and after their value of that
// field gets a trie.
func TestPrefixesAfterExactFields(t *testing.T) {
	for _, tt := range []struct{ width, low int }{{40, 32}, {64, 32}, {33, 20}} {
		rng := rand.New(rand.NewPCG(10, uint64(tt.width)))
		index, plain := NewLPM(tt.width, tt.low), NewLPM(tt.width, tt.width)
		var there []Match
		top := func() uint64 { return []uint64{0, 1, 1<<(tt.width-tt.low) - 1}[rng.IntN(3)] << tt.low }
		for step := range uint32(6000) {
			prefix := rng.IntN(tt.low + 1)
			low := uint64(rng.Uint32()) >> (32 - tt.low) >> (tt.low - prefix) << (tt.low - prefix)
			m := Match{Value: []uint64{top() | low}, Prefix: tt.width - tt.low + prefix}
			if step%5 < 2 && len(there) > 0 {
				i := rng.IntN(len(there))
				m = there[i]
				if step > 4000 || step%5 == 0 {
					index.Delete(&m)
					plain.Delete(&m)
					there = slices.Delete(there, i, i+1)
				}
			} else if _, dup := plain.Find(&m); !dup {
				index.Insert(&m, step)
				plain.Insert(&m, step)
				there = append(there, m)
			}
			got, gotOK := index.Find(&m)
			want, wantOK := plain.Find(&m)
			if gotOK != wantOK || gotOK && got != want || index.Len() != plain.Len() {
				t.Fatalf("%v, step %d: Find(%v) = %d, %v, want %d, %v; %d of %d", tt, step, m, got, gotOK, want, wantOK, index.Len(), plain.Len())
			}
			for range 5 {
				key := []uint64{top() | uint64(rng.Uint32())>>(32-tt.low)}
				got, gotOK := index.Lookup(key)
				want, wantOK := plain.Lookup(key)
				if gotOK != wantOK || gotOK && got != want {
					t.Fatalf("%v, step %d: Lookup(%x) = %d, %v, want %d, %v", tt, step, key, got, gotOK, want, wantOK)
				}
			}
		}
		if len(index.split.tries) != 3 {
			t.Errorf("%v: %d values have a trie of their own, want 3", tt, len(index.split.tries))
		}
	}
}

func checkLookupAll(t *testing.T, index interface {
	LookupAll(keys []uint64, entries []uint32)
	Lookup1(key uint64) (uint32, bool)
}, keys []uint64) {
	t.Helper()
	entries := make([]uint32, len(keys))
	index.LookupAll(keys, entries)
	for i, key := range keys {
		want := uint32(0)
		if e, ok := index.Lookup1(key); ok {
			want = e + 1
		}
		if entries[i] != want {
			t.Fatalf("LookupAll has %d for key %#x, Lookup1 %d", entries[i], key, want)
		}
	}
}

// LookupAll finds the same entries as Lookup1.
func TestLookupAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	small, wide, routes := newExact32(), NewExact(48), newLPM32(32)
	for i := range uint32(3000) {
		m := Match{Value: []uint64{uint64(rng.IntN(6000))}}
		if _, dup := small.Find(&m); !dup {
			small.Insert(&m, i)
			wide.Insert(&m, i)
		}
		m = Match{Value: []uint64{uint64(rng.Uint32()>>8) << 8 & 0x0f0fffff}, Prefix: 12 + rng.IntN(21)}
		m.Value[0] &= ^uint64(0) << (32 - m.Prefix)
		if _, dup := routes.Find(&m); !dup {
			routes.Insert(&m, i)
		}
		var keys [Batch]uint64
		for j := range keys {
			keys[j] = uint64(rng.IntN(6000))
		}
		checkLookupAll(t, small, keys[:])
		checkLookupAll(t, wide, keys[:])
		for j := range keys {
			keys[j] = uint64(rng.Uint32() & 0x0f0fffff)
		}
		checkLookupAll(t, routes, keys[:])
	}
}

func TestUnknownKindIsAnError(t *testing.T) {
	if _, err := NewIndex("fuzzy", 8, nil); err == nil {
		t.Error("NewIndex accepts any kind")
	}
}

func BenchmarkLookup(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{16, 1000, 100_000} {
		for _, kind := range []string{"exact", "lpm", "ternary"} {
			width := 32
			index, _ := NewIndex(kind, width, nil)
			var keys [][]uint64
			for i := range n {
				if kind == "ternary" && n > 1000 {
					break
				}
				v := uint64(rng.Uint32())
				m := Match{Value: []uint64{v}, Priority: int32(i)}
				switch kind {
				case "lpm":
					m.Prefix = 16 + rng.IntN(17)
					m.Value[0] = v >> (32 - m.Prefix) << (32 - m.Prefix)
				case "ternary":
					m.Mask = []uint64{uint64(^uint32(0)) << rng.IntN(10)}
					m.Value[0] &= m.Mask[0]
				}
				if _, ok := index.Find(&m); ok {
					continue
				}
				index.Insert(&m, uint32(i))
				keys = append(keys, []uint64{v})
			}
			if len(keys) == 0 {
				continue
			}
			rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			if len(keys) > 4096 {
				keys = keys[:4096]
			}
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if _, ok := index.Lookup(keys[i]); !ok {
						b.Fatal("miss")
					}
					if i++; i == len(keys) {
						i = 0
					}
				}
			})
		}
	}
}

// BenchmarkRoutes looks up 65,536 different addresses in sequence, one by one
// and in batches.
func BenchmarkRoutes(b *testing.B) {
	const flows = 1 << 16
	for _, routes := range []int{16, 1000, 100_000} {
		rng := rand.New(rand.NewPCG(1, 1))
		index := newLPM32(32)
		var prefixes []Match
		for len(prefixes) < routes {
			m := Match{Value: []uint64{0}, Prefix: 16 + rng.IntN(17)}
			m.Value[0] = uint64(rng.Uint32()) >> (32 - m.Prefix) << (32 - m.Prefix)
			if _, dup := index.Find(&m); !dup {
				index.Insert(&m, uint32(len(prefixes)))
				prefixes = append(prefixes, m)
			}
		}
		keys := make([]uint64, flows)
		for i := range keys {
			m := prefixes[rng.IntN(routes)]
			keys[i] = m.Value[0] | uint64(rng.Uint32())>>m.Prefix
		}
		b.Run(fmt.Sprintf("one/%d", routes), func(b *testing.B) {
			i := 0
			for b.Loop() {
				if _, ok := index.Lookup1(keys[i]); !ok {
					b.Fatal("miss")
				}
				i = (i + 1) % flows
			}
		})
		b.Run(fmt.Sprintf("batch/%d", routes), func(b *testing.B) {
			const batch = 32
			var entries [batch]uint32
			i := 0
			for n := 0; n < b.N; n += batch {
				index.LookupAll(keys[i:i+batch], entries[:])
				if entries[0] == 0 {
					b.Fatal("miss")
				}
				i = (i + batch) % flows
			}
		})
	}
}
