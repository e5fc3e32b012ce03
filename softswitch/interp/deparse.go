// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

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
	list := m.prog.Deparse[gress]
	f := unsafe.Pointer(unsafe.SliceData(m.f))
	payload := int(m.f[m.prog.Sys+ops.SysPayload])
	size, moved, change := uint64(0), uint64(0), uint64(0)
	n := 0 // valid headers
	for i := range list {
		h := &list[i]
		block := (*[3]uint64)(unsafe.Pointer(at64(f, ops.Slot(h.Base))))
		if block[ops.RelValid] == 0 {
			continue
		}
		m.valid[n] = int32(i)
		n++
		moved |= block[ops.RelOffset] ^ (size + 1)
		change |= h.Always | block[ops.RelDirty]&h.Stores
		size += uint64(h.Bytes)
		if h.Varbit {
			size += *at64(f, ops.Slot(h.Base)+ops.RelVarLen) / 8
		}
	}
	if moved == 0 && size == uint64(payload) {
		if change == 0 {
			return
		}
		for i := range list {
			if h := &list[i]; h.Stores != 0 && m.f[h.Base+ops.RelValid] != 0 {
				m.writeStores(h.Header, m.data[m.f[h.Base+ops.RelOffset]-1:])
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
func (m *Machine) shift(list []ops.Emitted, valid []int32, payload int) bool {
	f := m.f
	stay, fresh, from, to := 0, 0, -1, 0 // bytes that stay and that are new; range that moves
	for _, i := range valid {
		h := &list[i]
		n, at := int(h.Bytes), int(f[h.Base+ops.RelOffset])-1
		if h.Varbit {
			n += int(f[h.Base+ops.RelVarLen] / 8)
		}
		switch {
		case from < 0 && fresh == 0 && at == stay:
			stay += n
		case from < 0 && at < 0 && h.Header.Type.Words != nil:
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
		switch at := int(f[h.Base+ops.RelOffset]) - 1; {
		case at < 0:
			m.build(h.Header, b[stay:stay+int(h.Bytes)])
			stay += int(h.Bytes)
		case h.Stores == 0:
		case at < from:
			m.writeStores(h.Header, b[at:])
		default:
			m.writeStores(h.Header, b[at+by:])
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
func (m *Machine) rewrite(list []ops.Emitted, size, payload int) {
	f := m.f
	out := m.scratch[:0]
	for i := range list {
		if h := list[i].Header; f[h.Base+ops.RelValid] != 0 {
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
func (m *Machine) emit(out []byte, h *ops.Header) []byte {
	at, varBits := len(out), 0
	n := h.Type.Bits / 8
	if h.Type.Varbit >= 0 {
		varBits = int(m.f[h.Base+ops.RelVarLen])
		n += varBits / 8
	}
	if off := m.f[h.Base+ops.RelOffset]; off != 0 {
		out = append(out, m.data[off-1:int(off)-1+n]...)
		m.writeStores(h, out[at:])
		return out
	}
	out = slices.Grow(out, n)[:at+n]
	b := out[at:]
	if h.Type.Words != nil {
		m.build(h, b)
		return out
	}
	clear(b)
	if varBits > 0 {
		from, to := int(m.f[h.Base+ops.RelVarOff]), h.Type.Fields[h.Type.Varbit].Bit
		for done := 0; done < varBits; done += 8 {
			ops.PutBits(b, to+done, 8, ops.GetBits(m.data, from+done, 8))
		}
	}
	m.write(h.Type.All, h, b)
	return out
}

// build makes the bytes of a header that was not extracted, of a type with
// words.
func (m *Machine) build(h *ops.Header, b []byte) {
	f := unsafe.Pointer(unsafe.SliceData(m.f))
	for i := range h.Type.Words {
		w := &h.Type.Words[i]
		x := uint64(0)
		for j := range w.Parts {
			p := &w.Parts[j]
			x |= *at64(f, ops.Slot(h.Base)+ops.Slot(p.Rel)) >> (p.Right & 63) & p.Mask << (p.Left & 63)
		}
		binary.BigEndian.PutUint64(b[w.At:], x)
	}
}

// writeStores stores changed fields of a header over its extracted bytes.
func (m *Machine) writeStores(h *ops.Header, b []byte) {
	if !h.Simple {
		m.write(h.Type.Stores, h, b)
		return
	}
	for dirty := m.f[h.Base+ops.RelDirty]; dirty != 0; dirty &= dirty - 1 {
		mv := &h.Type.Stores[bits.TrailingZeros64(dirty)]
		mv.Store(b, m.f[h.Base+int(mv.Rel)], 0)
	}
}

// write stores fields of a header into its bytes.
func (m *Machine) write(moves []ops.Move, h *ops.Header, b []byte) {
	varBits := 0
	if h.Type.Varbit >= 0 {
		varBits = int(m.f[h.Base+ops.RelVarLen])
	}
	for i := range moves {
		mv := &moves[i]
		mv.Store(b, m.f[h.Base+int(mv.Rel)], varBits)
	}
}
