// SPDX-License-Identifier: Apache-2.0

package interp

import "encoding/binary"

// A move copies up to 64 bits between a header in the packet and a slot. It
// loads or stores a window of 1, 2, 4 or 8 bytes that contains them, and
// shifts.
type move struct {
	rel   uint16 // slot in the block
	off   uint16 // offset in bytes of the window in the header
	kind  moveKind
	shift uint8 // of the value in the window
	width uint8
	sign  bool // the slot is the highest of a signed field
	mask  uint64
	bit   int // of the value in the header, for slow moves
	// afterVar is true if the field follows the variable-length field, whose length
	// must be added to the offset.
	afterVar bool
}

type moveKind uint8

const (
	move1 moveKind = iota
	move2
	move4
	move8
	moveSlow // bit by bit: nine bytes, or a header without room for a window
)

// plan computes the moves of a header type.
func (t *headerType) plan() {
	room := t.bits / 8
	if t.varbit >= 0 {
		room = t.fields[t.varbit].bit / 8
	}
	for i := range t.fields {
		f := &t.fields[i]
		if f.rel < 0 || f.width == 0 {
			continue
		}
		for limb := 0; 64*limb < f.width; limb++ {
			end := f.bit + f.width - 64*limb
			start := max(f.bit, end-64)
			m := move{rel: uint16(f.rel + limb), bit: start, width: uint8(end - start), afterVar: f.afterVar}
			m.mask = ^uint64(0) >> (64 - m.width)
			m.sign = f.signed && start == f.bit
			m.window(room, end)
			t.loads = append(t.loads, m)
			t.all = append(t.all, m)
			if f.use&useWrite != 0 {
				t.stores = append(t.stores, m)
			}
		}
	}
	if n := t.bits / 8; n >= 8 && t.varbit < 0 {
		for at := 0; at < n; at += 8 {
			t.words = append(t.words, t.word(min(at, n-8)))
		}
	}
}

// bytes8 describes how eight bytes of a header are composed.
type bytes8 struct {
	at    int // first byte
	parts []part
}

// part is the bits of a slot in a word.
type part struct {
	rel         uint16 // slot in the block
	right, left uint8  // shifts
	mask        uint64 // between them
}

// word returns the word that starts at a byte.
func (t *headerType) word(at int) bytes8 {
	w := bytes8{at: at}
	for i := range t.all {
		m := &t.all[i]
		end, last := m.bit+int(m.width), 8*at+64
		from, to := max(m.bit, 8*at), min(end, last)
		if from < to {
			w.parts = append(w.parts, part{rel: m.rel, right: uint8(end - to), left: uint8(last - to), mask: maskOf(to - from)})
		}
	}
	return w
}

// window selects the smallest window inside the first room bytes.
func (m *move) window(room, end int) {
	m.kind = moveSlow
	first, last := m.bit/8, (end+7)/8
	if m.afterVar {
		return
	}
	for kind := move1; kind <= move8; kind++ {
		size := 1 << kind
		if off := min(first, room-size); last-first <= size && off >= 0 && off+size >= last && off <= 0xffff {
			m.kind, m.off, m.shift = kind, uint16(off), uint8((off+size)*8-end)
			return
		}
	}
}

// load reads the value from the header at b. The variable-length field has
// varBits bits.
func (m *move) load(b []byte, varBits int) uint64 {
	var x uint64
	switch m.kind {
	case move1:
		x = uint64(b[m.off])
	case move2:
		x = uint64(binary.BigEndian.Uint16(b[m.off:]))
	case move4:
		x = uint64(binary.BigEndian.Uint32(b[m.off:]))
	case move8:
		x = binary.BigEndian.Uint64(b[m.off:])
	default:
		bit := m.bit
		if m.afterVar {
			bit += varBits
		}
		return m.extend(getBits(b, bit, int(m.width)))
	}
	return m.extend(x >> m.shift & m.mask)
}

// extend sign-extends the highest slot of a signed field.
func (m *move) extend(x uint64) uint64 {
	if m.sign {
		shift := 64 - m.width
		return uint64(int64(x<<shift) >> shift)
	}
	return x
}

// store writes the value to the header at b.
func (m *move) store(b []byte, x uint64, varBits int) {
	x &= m.mask
	switch m.kind {
	case move1:
		b[m.off] = b[m.off]&^byte(m.mask<<m.shift) | byte(x<<m.shift)
	case move2:
		w := b[m.off:]
		binary.BigEndian.PutUint16(w, binary.BigEndian.Uint16(w)&^uint16(m.mask<<m.shift)|uint16(x<<m.shift))
	case move4:
		w := b[m.off:]
		binary.BigEndian.PutUint32(w, binary.BigEndian.Uint32(w)&^uint32(m.mask<<m.shift)|uint32(x<<m.shift))
	case move8:
		w := b[m.off:]
		binary.BigEndian.PutUint64(w, binary.BigEndian.Uint64(w)&^(m.mask<<m.shift)|x<<m.shift)
	default:
		bit := m.bit
		if m.afterVar {
			bit += varBits
		}
		putBits(b, bit, int(m.width), x)
	}
}

// getBits reads up to 64 bits of b from a bit offset. The first bit is the most
// significant.
func getBits(b []byte, bit, width int) uint64 {
	var x uint64
	for width > 0 {
		n := min(8-bit%8, width)
		x = x<<n | uint64(b[bit/8]>>(8-bit%8-n))&(1<<n-1)
		bit, width = bit+n, width-n
	}
	return x
}

// putBits writes the low width bits of x to b at a bit offset.
func putBits(b []byte, bit, width int, x uint64) {
	for width > 0 {
		n := min(8-bit%8, width)
		shift := 8 - bit%8 - n
		mask := byte(1<<n-1) << shift
		b[bit/8] = b[bit/8]&^mask | byte(x>>(width-n))<<shift&mask
		bit, width = bit+n, width-n
	}
}

// index returns the index of a field, or −1.
func (t *headerType) index(name string) int {
	for i := range t.fields {
		if t.fields[i].name == name {
			return i
		}
	}
	return -1
}
