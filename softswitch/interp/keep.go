// SPDX-License-Identifier: Apache-2.0

package interp

import "unsafe"

// Saved is the part of a packet's state that is kept while it is queued. A
// loaded network has many queued packets, so a slot takes four bytes if its
// values fit.
type Saved []uint64

// keptSet is slots that are saved together.
type keptSet struct {
	// valid is the validity slot of the header with these slots. They are not saved
	// for an invalid header.
	valid slot
	whole []slot // saved with 64 bits
	half  []slot // saved with 32 bits
	zero  []slot // set to zero
}

// add adds a slot whose values have up to bits bits.
func (k *keptSet) add(s, bits int) {
	if bits > 32 {
		k.whole = append(k.whole, slot(s))
	} else {
		k.half = append(k.half, slot(s))
	}
}

func (k *keptSet) slots() int { return len(k.whole) + len(k.half) }

func (k *keptSet) bytes() int { return 8*len(k.whole) + 4*len(k.half) }

// join adds the slots of another set.
func (k *keptSet) join(other *keptSet) {
	k.whole = append(k.whole, other.whole...)
	k.half = append(k.half, other.half...)
	k.zero = append(k.zero, other.zero...)
}

// fewKept is the number of slots up to which a header's slots are saved without
// testing its validity, because the test would take longer.
const fewKept = 4

// Save copies the packet's state for egress into s, which it may grow.
func (m *Machine) Save(s Saved) Saved {
	p := m.prog
	if cap(s) < p.keptWords {
		s = make(Saved, p.keptWords)
	}
	s = s[:p.keptWords]
	f, to := unsafe.Pointer(unsafe.SliceData(m.f)), unsafe.Pointer(unsafe.SliceData(s))
	if m.saveNative(to) {
		return s
	}
	n := p.kept.save(f, to, 0)
	for i := range p.keptOf {
		if k := &p.keptOf[i]; *at64(f, k.valid) != 0 {
			n = k.save(f, to, n)
		}
	}
	return s
}

// restore is the inverse of Save.
func (m *Machine) restore(s Saved) {
	p := m.prog
	f, from := unsafe.Pointer(unsafe.SliceData(m.f)), unsafe.Pointer(unsafe.SliceData(s[:p.keptWords]))
	if m.restoreNative(from) {
		return
	}
	n := p.kept.restore(f, from, 0)
	for i := range p.keptOf {
		if k := &p.keptOf[i]; *at64(f, k.valid) != 0 {
			n = k.restore(f, from, n)
		}
	}
}

// save copies slots of f to offset n of to, and returns the end offset. With no
// slots, it forms no pointer into to.
func (k *keptSet) save(f, to unsafe.Pointer, n uintptr) uintptr {
	for _, s := range k.whole {
		*(*uint64)(unsafe.Add(to, n)) = *at64(f, s)
		n += 8
	}
	for _, s := range k.half {
		*(*uint32)(unsafe.Add(to, n)) = uint32(*at64(f, s))
		n += 4
	}
	return n
}

func (k *keptSet) restore(f, from unsafe.Pointer, n uintptr) uintptr {
	for _, s := range k.zero {
		*at64(f, s) = 0
	}
	for _, s := range k.whole {
		*at64(f, s) = *(*uint64)(unsafe.Add(from, n))
		n += 8
	}
	for _, s := range k.half {
		*at64(f, s) = uint64(*(*uint32)(unsafe.Add(from, n)))
		n += 4
	}
	return n
}

// slotBits returns the maximum width in bits of the values in each slot.
func (c *compiler) slotBits() []int {
	n := make([]int, c.prog.fieldsEnd)
	for i := range n {
		n[i] = 64
	}
	for _, s := range []int{sysPayload, sysTruncate, sysLength, sysIngressLen} { // bytes of a packet
		n[c.prog.sys+s] = 32
	}
	n[c.prog.sys+sysExit] = 1
	for _, h := range c.order {
		if h.slots == nil {
			n[h.base+relValid] = 1
			n[h.base+relOffset] = 32
			n[h.base+relDirty] = min(64, len(h.typ.stores))
		}
		for i := range h.typ.fields {
			if f := &h.typ.fields[i]; h.field(i) != noSlot && !f.signed && f.width > 0 && f.width <= 64 {
				n[h.field(i)] = f.width
			}
		}
	}
	return n
}
