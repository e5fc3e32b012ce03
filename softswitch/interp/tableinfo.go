// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"slices"

	"github.com/pauseless/pauseless/internal/bitvec"
)

// orderActions sets byAction, for a program with so many actions.
func (t *TableInfo) orderActions(actions int) {
	t.byAction = slices.Repeat([]int32{-1}, 2*actions)
	if !t.inline {
		for i, a := range t.Actions {
			copy(t.byAction[2*a:], t.pcs[2*i:2*i+2])
		}
	}
}

// argsAt returns the offset of the arguments in Body.limbs.
func (t *TableInfo) argsAt() int {
	n := bitvec.Limbs(t.Width)
	if t.Kind == "ternary" || t.Kind == "range" {
		n *= 2
	}
	return n
}

// directBits is the maximum width of the key of an exact table that is indexed
// directly by the key.
const directBits = 12

// simple reports whether packets change nothing in the entries of a table.
func (t *TableInfo) simple() bool {
	return !t.Counters && !t.Timeout && t.Meter < 0 && t.Profile < 0 && t.entrySlot < 0
}

// isKeyless reports whether a simple table always applies its default entry.
func (t *TableInfo) isKeyless() bool { return len(t.parts) == 0 && t.simple() }

// isDirect reports whether the key is an index: see Table.direct.
func (t *TableInfo) isDirect() bool {
	return t.Kind == "exact" && t.simple() && t.fits(directBits)
}

// isRecent reports whether the table has Table.recent.
func (t *TableInfo) isRecent() bool {
	return t.Kind != "exact" && t.simple() && t.fits(recentWidth)
}

// fits reports whether the table has a key, of at most so many bits.
func (t *TableInfo) fits(width int) bool {
	if len(t.parts) == 0 || t.Width > width {
		return false
	}
	key := uint64(0)
	for i := range t.parts {
		key |= t.parts[i].mask << t.parts[i].shift
	}
	return key <= maskOf(t.Width)
}

// argsOf returns the largest number of slots that the arguments of an action of a
// table take.
func (p *Program) argsOf(t *TableInfo) int {
	slots := 0
	for _, a := range t.Actions {
		slots = max(slots, p.Actions[a].slots)
	}
	return slots
}

// PackArgs packs arguments, little-endian limbs each, for Insert and
// SetDefault.
func (p *Program) PackArgs(action int, args [][]uint64) []uint64 {
	a := &p.Actions[action]
	data := make([]uint64, a.slots)
	for i, param := range a.Params {
		copy(data[param.slot:param.slot+limbsOf(param.Width)], args[i])
	}
	return data
}

// UnpackArgs is the inverse of PackArgs.
func (p *Program) UnpackArgs(action int, data []uint64) [][]uint64 {
	a := &p.Actions[action]
	args := make([][]uint64, len(a.Params))
	for i, param := range a.Params {
		args[i] = data[param.slot : param.slot+limbsOf(param.Width)]
	}
	return args
}

// A lookup that depends on the key only is cached by the key, of up to recentWidth bits, in
// recentSlots slots: see recentKeys of the executing package and apply of the translator.
const (
	recentWidth  = 32
	recentBits   = 8
	recentSlots  = 1 << recentBits
	recentFactor = 0x9e3779b97f4a7c15
)
