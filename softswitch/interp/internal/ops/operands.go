// SPDX-License-Identifier: Apache-2.0

package ops

// A HeaderOp has the compile-time parameters of making a header valid, invalid
// or equal to another.
type HeaderOp struct {
	Type     *HeaderType
	Bytes    int   // of the fixed-width fields
	Siblings []int // validity slots of the union's other members, relative to the block
}

// Nowhere is the block's base for an index outside of a stack.
const Nowhere = ^uint64(0)

// SameLayout reports whether the blocks of both types have the same layout.
func (t *HeaderType) SameLayout(u *HeaderType) bool {
	if t.Size != u.Size || t.Bits != u.Bits || t.Varbit != u.Varbit || len(t.Fields) != len(u.Fields) {
		return false
	}
	for i := range t.Fields {
		if t.Fields[i].Width != u.Fields[i].Width || t.Fields[i].Rel != u.Fields[i].Rel {
			return false
		}
	}
	return true
}

// A StackOp has the parameters of push, pop and copies of stacks. The blocks of
// the elements are adjacent.
type StackOp struct {
	Next   int // slot of the counter
	Base   int
	Stride int
	N      int
	Valid  []int // validity slots of the headers of an element, relative to its base
}

// Emitted is a header in a deparser's order.
type Emitted struct {
	Base, Bytes int32 // bytes of the fixed-width fields
	// Always is nonzero if a valid header always has something to store. Otherwise
	// the bits of RelDirty in Stores decide: all bits or none.
	Always, Stores uint64
	Varbit         bool
	Header         *Header
}

// ColourBits are the bits of a packet's colour before a meter.
const ColourBits = 8

// Guess is the probable position of a table's key in an arriving packet: its
// fields are in headers that most packets have at the same offset.
type Guess struct {
	Table int
	Parts []GuessPart
}

// GuessPart is a KeyPart with the header from which its slot is loaded.
type GuessPart struct {
	KeyPart
	At, End int // of the header in the packet, bytes
	Load    *Move
}

// Key reads a key from its expected position. It returns false if the packet is
// too short.
func (g *Guess) Key(data []byte) (key uint64, ok bool) {
	for i := range g.Parts {
		p := &g.Parts[i]
		if p.End > len(data) {
			return 0, false
		}
		key |= p.Load.Load(data[p.At:p.End], 0) & p.Mask << p.Shift
	}
	return key, true
}

// KeptSet is slots that are saved together.
type KeptSet struct {
	// Valid is the validity slot of the header with these slots. They are not saved
	// for an invalid header.
	Valid Slot
	Whole []Slot // saved with 64 bits
	Half  []Slot // saved with 32 bits
	Zero  []Slot // set to zero
}

// Add adds a slot whose values have up to bits bits.
func (k *KeptSet) Add(s, bits int) {
	if bits > 32 {
		k.Whole = append(k.Whole, Slot(s))
	} else {
		k.Half = append(k.Half, Slot(s))
	}
}

// Slots returns how many slots are saved.
func (k *KeptSet) Slots() int { return len(k.Whole) + len(k.Half) }

// Bytes returns how many bytes they take.
func (k *KeptSet) Bytes() int { return 8*len(k.Whole) + 4*len(k.Half) }

// Join adds the slots of another set.
func (k *KeptSet) Join(other *KeptSet) {
	k.Whole = append(k.Whole, other.Whole...)
	k.Half = append(k.Half, other.Half...)
	k.Zero = append(k.Zero, other.Zero...)
}

// Cleared points to the first of ClearedSlots slots that are cleared together.
// The number is so small that the compiler unrolls the stores.
type Cleared = *[ClearedSlots]uint64

// ClearedSlots is how many slots are cleared together.
const ClearedSlots = 8
