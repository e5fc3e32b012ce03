// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"unsafe"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// Saved is the part of a packet's state that is kept while it is queued. A
// loaded network has many queued packets, so a slot takes four bytes if its
// values fit.
type Saved []uint64

// Save copies the packet's state for egress into s, which it may grow.
func (m *Machine) Save(s Saved) Saved {
	p := m.prog
	if cap(s) < p.KeptWords {
		s = make(Saved, p.KeptWords)
	}
	s = s[:p.KeptWords]
	f, to := unsafe.Pointer(unsafe.SliceData(m.f)), unsafe.Pointer(unsafe.SliceData(s))
	n := saveSet(&p.Kept, f, to, 0)
	for i := range p.KeptOf {
		if k := &p.KeptOf[i]; *at64(f, k.Valid) != 0 {
			n = saveSet(k, f, to, n)
		}
	}
	return s
}

// restore is the inverse of Save.
func (m *Machine) restore(s Saved) {
	p := m.prog
	f, from := unsafe.Pointer(unsafe.SliceData(m.f)), unsafe.Pointer(unsafe.SliceData(s[:p.KeptWords]))
	n := restoreSet(&p.Kept, f, from, 0)
	for i := range p.KeptOf {
		if k := &p.KeptOf[i]; *at64(f, k.Valid) != 0 {
			n = restoreSet(k, f, from, n)
		}
	}
}

// saveSet copies slots of f to offset n of to, and returns the end offset. With no
// slots, it forms no pointer into to.
func saveSet(k *ops.KeptSet, f, to unsafe.Pointer, n uintptr) uintptr {
	for _, s := range k.Whole {
		*(*uint64)(unsafe.Add(to, n)) = *at64(f, s)
		n += 8
	}
	for _, s := range k.Half {
		*(*uint32)(unsafe.Add(to, n)) = uint32(*at64(f, s))
		n += 4
	}
	return n
}

// restoreSet is the inverse of saveSet. It also sets slots to zero.
func restoreSet(k *ops.KeptSet, f, from unsafe.Pointer, n uintptr) uintptr {
	for _, s := range k.Zero {
		*at64(f, s) = 0
	}
	for _, s := range k.Whole {
		*at64(f, s) = *(*uint64)(unsafe.Add(from, n))
		n += 8
	}
	for _, s := range k.Half {
		*at64(f, s) = uint64(*(*uint32)(unsafe.Add(from, n)))
		n += 4
	}
	return n
}
