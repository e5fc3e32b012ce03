// SPDX-License-Identifier: Apache-2.0

package ops

import "encoding/binary"

// A Move copies up to 64 bits between a header in the packet and a slot. It
// loads or stores a window of 1, 2, 4 or 8 bytes that contains them, and
// shifts.
type Move struct {
	Rel   uint16 // slot in the block
	Off   uint16 // offset in bytes of the window in the header
	Kind  moveKind
	Shift uint8 // of the value in the window
	Width uint8
	Sign  bool // the slot is the highest of a signed field
	Mask  uint64
	Bit   int // of the value in the header, for slow moves
	// AfterVar is true if the field follows the variable-length field, whose length
	// must be added to the offset.
	afterVar bool
}

type moveKind uint8

const (
	Move1 moveKind = iota
	Move2
	Move4
	Move8
	MoveSlow // bit by bit: nine bytes, or a header without room for a window
)

// Plan computes the moves of a header type.
func (t *HeaderType) Plan() {
	room := t.Bits / 8
	if t.Varbit >= 0 {
		room = t.Fields[t.Varbit].Bit / 8
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Rel < 0 || f.Width == 0 {
			continue
		}
		for limb := 0; 64*limb < f.Width; limb++ {
			end := f.Bit + f.Width - 64*limb
			start := max(f.Bit, end-64)
			m := Move{Rel: uint16(f.Rel + limb), Bit: start, Width: uint8(end - start), afterVar: f.AfterVar}
			m.Mask = ^uint64(0) >> (64 - m.Width)
			m.Sign = f.Signed && start == f.Bit
			m.window(room, end)
			t.Loads = append(t.Loads, m)
			t.All = append(t.All, m)
			if f.Use&UseWrite != 0 {
				t.Stores = append(t.Stores, m)
			}
		}
	}
	if n := t.Bits / 8; n >= 8 && t.Varbit < 0 {
		for at := 0; at < n; at += 8 {
			t.Words = append(t.Words, t.word(min(at, n-8)))
		}
	}
}

// Bytes8 describes how eight bytes of a header are composed.
type Bytes8 struct {
	At    int // first byte
	Parts []WordPart
}

// WordPart is the bits of a slot in a word.
type WordPart struct {
	Rel         uint16 // slot in the block
	Right, Left uint8  // shifts
	Mask        uint64 // between them
}

// word returns the word that starts at a byte.
func (t *HeaderType) word(at int) Bytes8 {
	w := Bytes8{At: at}
	for i := range t.All {
		m := &t.All[i]
		end, last := m.Bit+int(m.Width), 8*at+64
		from, to := max(m.Bit, 8*at), min(end, last)
		if from < to {
			w.Parts = append(w.Parts, WordPart{Rel: m.Rel, Right: uint8(end - to), Left: uint8(last - to), Mask: MaskOf(to - from)})
		}
	}
	return w
}

// window selects the smallest window inside the first room bytes.
func (m *Move) window(room, end int) {
	m.Kind = MoveSlow
	first, last := m.Bit/8, (end+7)/8
	if m.afterVar {
		return
	}
	for kind := Move1; kind <= Move8; kind++ {
		size := 1 << kind
		if off := min(first, room-size); last-first <= size && off >= 0 && off+size >= last && off <= 0xffff {
			m.Kind, m.Off, m.Shift = kind, uint16(off), uint8((off+size)*8-end)
			return
		}
	}
}

// Load reads the value from the header at b. The variable-length field has
// varBits bits.
func (m *Move) Load(b []byte, varBits int) uint64 {
	var x uint64
	switch m.Kind {
	case Move1:
		x = uint64(b[m.Off])
	case Move2:
		x = uint64(binary.BigEndian.Uint16(b[m.Off:]))
	case Move4:
		x = uint64(binary.BigEndian.Uint32(b[m.Off:]))
	case Move8:
		x = binary.BigEndian.Uint64(b[m.Off:])
	default:
		bit := m.Bit
		if m.afterVar {
			bit += varBits
		}
		return m.extend(GetBits(b, bit, int(m.Width)))
	}
	return m.extend(x >> m.Shift & m.Mask)
}

// extend sign-extends the highest slot of a signed field.
func (m *Move) extend(x uint64) uint64 {
	if m.Sign {
		shift := 64 - m.Width
		return uint64(int64(x<<shift) >> shift)
	}
	return x
}

// Store writes the value to the header at b.
func (m *Move) Store(b []byte, x uint64, varBits int) {
	x &= m.Mask
	switch m.Kind {
	case Move1:
		b[m.Off] = b[m.Off]&^byte(m.Mask<<m.Shift) | byte(x<<m.Shift)
	case Move2:
		w := b[m.Off:]
		binary.BigEndian.PutUint16(w, binary.BigEndian.Uint16(w)&^uint16(m.Mask<<m.Shift)|uint16(x<<m.Shift))
	case Move4:
		w := b[m.Off:]
		binary.BigEndian.PutUint32(w, binary.BigEndian.Uint32(w)&^uint32(m.Mask<<m.Shift)|uint32(x<<m.Shift))
	case Move8:
		w := b[m.Off:]
		binary.BigEndian.PutUint64(w, binary.BigEndian.Uint64(w)&^(m.Mask<<m.Shift)|x<<m.Shift)
	default:
		bit := m.Bit
		if m.afterVar {
			bit += varBits
		}
		PutBits(b, bit, int(m.Width), x)
	}
}

// GetBits reads up to 64 bits of b from a bit offset. The first bit is the most
// significant.
func GetBits(b []byte, bit, width int) uint64 {
	var x uint64
	for width > 0 {
		n := min(8-bit%8, width)
		x = x<<n | uint64(b[bit/8]>>(8-bit%8-n))&(1<<n-1)
		bit, width = bit+n, width-n
	}
	return x
}

// PutBits writes the low width bits of x to b at a bit offset.
func PutBits(b []byte, bit, width int, x uint64) {
	for width > 0 {
		n := min(8-bit%8, width)
		shift := 8 - bit%8 - n
		mask := byte(1<<n-1) << shift
		b[bit/8] = b[bit/8]&^mask | byte(x>>(width-n))<<shift&mask
		bit, width = bit+n, width-n
	}
}

// Index returns the index of a field, or −1.
func (t *HeaderType) Index(name string) int {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return i
		}
	}
	return -1
}
