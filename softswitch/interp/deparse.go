// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"
)

// emitted is a header in a deparser's order.
type emitted struct {
	base, bytes int32 // bytes of the fixed-width fields
	// always is nonzero if a valid header always has something to store. Otherwise
	// the bits in stores of relDirty decide: all bits or none.
	always, stores uint64
	varbit         bool
	h              *header
}

// gap is how a packet's bytes move: stay bytes of headers remain where they are, new
// headers follow, and the bytes behind from move by a distance.
type gap struct{ stay, from, by int }

// deparse writes the headers over the parsed part of the packet. If the valid
// headers are the parsed ones, at the same offsets, it writes only fields that
// the program may have changed.
func (m *Machine) deparse(gress int) {
	if !m.deparseNative(gress) {
		m.writeHeaders(gress)
	}
}

// writeHeaders is deparse without code.
func (m *Machine) writeHeaders(gress int) {
	list := m.prog.deparse[gress]
	f := unsafe.Pointer(unsafe.SliceData(m.f))
	payload := int(m.f[m.prog.sys+sysPayload])
	size, moved, change := uint64(0), uint64(0), uint64(0)
	n := 0 // valid headers
	for i := range list {
		h := &list[i]
		block := (*[3]uint64)(unsafe.Pointer(at64(f, slot(h.base))))
		if block[relValid] == 0 {
			continue
		}
		m.valid[n] = int32(i)
		n++
		moved |= block[relOffset] ^ (size + 1)
		change |= h.always | block[relDirty]&h.stores
		size += uint64(h.bytes)
		if h.varbit {
			size += *at64(f, slot(h.base)+relVarLen) / 8
		}
	}
	if moved == 0 && size == uint64(payload) {
		if change == 0 {
			return
		}
		for i := range list {
			if h := &list[i]; h.stores != 0 && m.f[h.base+relValid] != 0 {
				m.writeStores(h.h, m.data[m.f[h.base+relOffset]-1:])
			}
		}
		return
	}
	if !m.shift(list, m.valid[:n], payload) {
		m.rewrite(list, int(size), payload)
	}
}

// shift does the work of rewrite if headers were inserted or removed at one
// offset: the headers before it stay, and those after it move with the payload.
// It reports whether this is the case. valid are the numbers of the valid headers.
func (m *Machine) shift(list []emitted, valid []int32, payload int) bool {
	f := m.f
	stay, fresh, from, to := 0, 0, -1, 0 // bytes that stay and that are new; range that moves
	for _, i := range valid {
		h := &list[i]
		n, at := int(h.bytes), int(f[h.base+relOffset])-1
		if h.varbit {
			n += int(f[h.base+relVarLen] / 8)
		}
		switch {
		case from < 0 && fresh == 0 && at == stay:
			stay += n
		case from < 0 && at < 0 && h.h.typ.words != nil:
			fresh += n
		case from < 0 && at >= stay:
			from, to = at, at+n
		case from >= 0 && at == to:
			to += n
		default:
			return false
		}
	}
	if from < 0 {
		from, to = payload, payload
	}
	if to != payload || from < stay {
		return false
	}
	by := stay + fresh - from
	m.move(from, by)
	b := m.data
	for _, i := range valid {
		h := &list[i]
		switch at := int(f[h.base+relOffset]) - 1; {
		case at < 0:
			m.build(h.h, b[stay:stay+int(h.bytes)])
			stay += int(h.bytes)
		case h.stores == 0:
		case at < from:
			m.writeStores(h.h, b[at:])
		default:
			m.writeStores(h.h, b[at+by:])
		}
	}
	return true
}

// move moves the packet's bytes behind from by a distance.
func (m *Machine) move(from, by int) {
	b := m.data
	if by > 0 {
		b = slices.Grow(b, by)[:len(b)+by]
	}
	copy(b[from+by:], m.data[from:])
	b = b[:len(m.data)+by]
	m.frame.Data, m.data = b, b
}

// rewrite writes headers of size bytes in place of the parsed payload bytes.
func (m *Machine) rewrite(list []emitted, size, payload int) {
	f := m.f
	out := m.scratch[:0]
	for i := range list {
		if h := list[i].h; f[h.base+relValid] != 0 {
			out = m.emit(out, h)
		}
	}
	m.scratch = out
	rest := m.data[payload:]
	switch {
	case size <= payload:
		m.frame.Data = append(append(m.frame.Data[:0], out...), rest...)
	default:
		grow := size - payload
		m.frame.Data = append(m.frame.Data, out[:grow]...) // any bytes, only for their room
		copy(m.frame.Data[size:], m.frame.Data[payload:len(m.frame.Data)-grow])
		copy(m.frame.Data, out)
	}
	m.data = m.frame.Data
}

// emit appends the bytes of a header.
func (m *Machine) emit(out []byte, h *header) []byte {
	at, varBits := len(out), 0
	n := h.typ.bits / 8
	if h.typ.varbit >= 0 {
		varBits = int(m.f[h.base+relVarLen])
		n += varBits / 8
	}
	if off := m.f[h.base+relOffset]; off != 0 {
		out = append(out, m.data[off-1:int(off)-1+n]...)
		m.writeStores(h, out[at:])
		return out
	}
	out = slices.Grow(out, n)[:at+n]
	b := out[at:]
	if h.typ.words != nil {
		m.build(h, b)
		return out
	}
	clear(b)
	if varBits > 0 {
		from, to := int(m.f[h.base+relVarOff]), h.typ.fields[h.typ.varbit].bit
		for done := 0; done < varBits; done += 8 {
			putBits(b, to+done, 8, getBits(m.data, from+done, 8))
		}
	}
	m.write(h.typ.all, h, b)
	return out
}

// build makes the bytes of a header that was not extracted, of a type with
// words.
func (m *Machine) build(h *header, b []byte) {
	f := unsafe.Pointer(unsafe.SliceData(m.f))
	for i := range h.typ.words {
		w := &h.typ.words[i]
		x := uint64(0)
		for j := range w.parts {
			p := &w.parts[j]
			x |= *at64(f, slot(h.base)+slot(p.rel)) >> (p.right & 63) & p.mask << (p.left & 63)
		}
		binary.BigEndian.PutUint64(b[w.at:], x)
	}
}

// writeStores stores changed fields of a header over its extracted bytes.
func (m *Machine) writeStores(h *header, b []byte) {
	if !h.simple {
		m.write(h.typ.stores, h, b)
		return
	}
	for dirty := m.f[h.base+relDirty]; dirty != 0; dirty &= dirty - 1 {
		mv := &h.typ.stores[bits.TrailingZeros64(dirty)]
		mv.store(b, m.f[h.base+int(mv.rel)], 0)
	}
}

// write stores fields of a header into its bytes.
func (m *Machine) write(moves []move, h *header, b []byte) {
	varBits := 0
	if h.typ.varbit >= 0 {
		varBits = int(m.f[h.base+relVarLen])
	}
	for i := range moves {
		mv := &moves[i]
		mv.store(b, m.f[h.base+int(mv.rel)], varBits)
	}
}
