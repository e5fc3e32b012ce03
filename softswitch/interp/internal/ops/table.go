// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"slices"

	"github.com/pauseless/pauseless/internal/bitvec"
)

// OrderActions sets ByAction, for a program with so many actions.
func (t *TableInfo) OrderActions(actions int) {
	t.ByAction = slices.Repeat([]int32{-1}, 2*actions)
	if !t.Inline {
		for i, a := range t.Actions {
			copy(t.ByAction[2*a:], t.PCs[2*i:2*i+2])
		}
	}
}

// ArgsAt returns the offset of the arguments in Body.limbs.
func (t *TableInfo) ArgsAt() int {
	n := bitvec.Limbs(t.Width)
	if t.Kind == "ternary" || t.Kind == "range" {
		n *= 2
	}
	return n
}

// directBits is the maximum width of the key of an exact table that is indexed
// directly by the key.
const directBits = 12

// Simple reports whether packets change nothing in the entries of a table.
func (t *TableInfo) Simple() bool {
	return !t.Counters && !t.Timeout && t.Meter < 0 && t.Profile < 0 && t.EntrySlot < 0
}

// IsKeyless reports whether a simple table always applies its default entry.
func (t *TableInfo) IsKeyless() bool { return len(t.Parts) == 0 && t.Simple() }

// IsDirect reports whether the key is an index: see Table.direct.
func (t *TableInfo) IsDirect() bool {
	return t.Kind == "exact" && t.Simple() && t.fits(directBits)
}

// IsRecent reports whether the table has Table.recent.
func (t *TableInfo) IsRecent() bool {
	return t.Kind != "exact" && t.Simple() && t.fits(RecentWidth)
}

// fits reports whether the table has a key, of at most so many bits.
func (t *TableInfo) fits(width int) bool {
	if len(t.Parts) == 0 || t.Width > width {
		return false
	}
	key := uint64(0)
	for i := range t.Parts {
		key |= t.Parts[i].Mask << t.Parts[i].Shift
	}
	return key <= MaskOf(t.Width)
}

// ArgsOf returns the largest number of slots that the arguments of an action of a
// table take.
func (p *Program) ArgsOf(t *TableInfo) int {
	slots := 0
	for _, a := range t.Actions {
		slots = max(slots, p.Actions[a].Slots)
	}
	return slots
}

// A lookup that depends on the key only is cached by the key, of up to RecentWidth bits, in
// RecentSlots slots: see recentKeys of the executing package and apply of the translator.
const (
	RecentWidth  = 32
	RecentBits   = 8
	RecentSlots  = 1 << RecentBits
	RecentFactor = 0x9e3779b97f4a7c15
)
