// SPDX-License-Identifier: Apache-2.0

package table

// Labels are small numbers that stand for what entries do, where many entries
// do the same, as routes to few next hops. With them the nodes of LPM32 that
// lead to entries only have a narrow copy, with a byte for each run and not a
// word: 100,000 routes are half the size then, and need no look at the entry.

// A narrow node has the bits and sums of the node, the slot of the node
// itself, and the labels of its runs, each plus one, four to a word; zero is
// nothing.
const (
	narrowOf   = nodeRuns
	narrowRuns = nodeRuns + 1
)

func narrowWords(runs int) int { return narrowRuns + (runs+3)/4 }

// wide returns the slot of a node itself.
func (t *LPM32) wide(slot uint32) uint32 {
	if slot&isNarrow == 0 {
		return slot
	}
	return t.narrow.of(slot)[narrowOf]
}

// narrowed makes the narrow copy of a node, if it can have one, and returns
// its slot, else that of the node.
func (t *LPM32) narrowed(slot uint32) uint32 {
	if !t.labelled {
		return slot
	}
	n := t.nodes.of(slot)
	count := runs(n)
	for _, x := range n[nodeRuns : nodeRuns+count] {
		if x&isNode != 0 {
			return slot
		}
	}
	number := t.narrow.alloc(narrowWords(count))
	d := t.narrow.of(number)
	copy(d, n[:nodeRuns])
	d[narrowOf] = slot
	clear(d[narrowRuns:narrowWords(count)])
	for i, x := range n[nodeRuns : nodeRuns+count] {
		if x != 0 {
			d[narrowRuns+i/4] |= (uint32(t.labels[x-1]) + 1) << (i % 4 * 8)
		}
	}
	return isNode | isNarrow | number
}

// narrowAt returns a slot of a narrow node: a label plus one, or zero.
func narrowAt(n []uint32, i uint32) uint32 {
	at := run(n, i) - 1
	return n[narrowRuns+at/4] >> (at % 4 * 8) & 0xff
}

// Labelled reports whether entries have labels.
func (t *LPM32) Labelled() bool { return t.labelled }

// SetLabel gives an entry a label of at most 254: an entry that is to be
// inserted, or one that is there. All entries of a table have labels or none.
func (t *LPM32) SetLabel(m *Match, entry uint32, label uint8) {
	t.labelled = true
	for int(entry) >= len(t.labels) {
		t.labels = append(t.labels, 0)
	}
	if t.labels[entry] == label {
		return
	}
	t.labels[entry] = label
	if e, ok := t.Find(m); ok && e == entry {
		t.paintAll(t.prefix(m), m.Prefix, &paint{from: entry + 1, to: entry + 1})
	}
}

// DropLabels takes all labels away.
func (t *LPM32) DropLabels() {
	t.labelled = false
	for i, slot := range t.roots {
		if slot&isNode != 0 && slot&isNarrow == 0 {
			n := t.nodes.of(slot)
			for j := nodeRuns; j < nodeRuns+runs(n); j++ {
				n[j] = t.wide(n[j])
			}
		}
		t.roots[i] = t.wide(slot)
	}
	t.labels = nil
	t.narrow = newNodes(t.narrow.sizes...)
}

// LookupLabel is Lookup1 for the label of the entry.
func (t *LPM32) LookupLabel(key uint64) (label uint32, ok bool) {
	k := uint32(key) << (32 - t.width)
	slot, i := t.roots[k>>16], k>>8&0xff
	if slot&(isNode|isNarrow) == isNode {
		slot, i = t.child(slot, i), k&0xff
		if slot&(isNode|isNarrow) == isNode {
			slot = t.child(slot, i)
		}
	}
	switch {
	case slot&isNarrow != 0:
		slot = narrowAt(t.narrow.of(slot), i)
		return slot - 1, slot != 0
	case slot == 0:
		return 0, false
	}
	return uint32(t.labels[slot-1]), true
}
