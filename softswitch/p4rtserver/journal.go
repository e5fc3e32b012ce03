// SPDX-License-Identifier: Apache-2.0

package p4rtserver

// journal has what reverts the changes of a write: of the whole batch if it is atomic,
// otherwise of one update, which may fail after its first changes. An op changes a device
// with charge, put and assign, or calls onRevert after a change.
//
// Outside a write (a device is filled before it is committed) nothing is recorded: a device
// that cannot be filled is dropped.
type journal struct {
	recording bool
	inverses  []func() // the oldest first
	charged   int64    // bytes
}

// onRevert adds the inverse of a change. It is called when all later changes have been
// reverted.
func (d *device) onRevert(inverse func()) {
	if d.recording {
		d.inverses = append(d.inverses, inverse)
	}
}

// accept makes the changes so far final.
func (d *device) accept() {
	clear(d.inverses)
	d.inverses, d.journal.charged = d.inverses[:0], 0
}

// revert reverts the changes since the last accept. Packets may be forwarded in between,
// unless the batch is atomic for them.
func (d *device) revert() {
	recorded := d.inverses
	d.recording = false
	for i := len(recorded) - 1; i >= 0; i-- {
		recorded[i]()
		if i > 0 && i%writeChunk == 0 {
			d.breathe()
		}
	}
	d.recording = true
	d.shrink(d.journal.charged)
	d.accept()
}

// charge charges the device for new state of n bytes. A negative n releases memory, and
// does not fail.
func (d *device) charge(n int64) error {
	err := d.grow(n)
	if err == nil && d.recording {
		d.journal.charged += n
	}
	return err
}

// put sets the value of a key in a map, or removes the key if v is nil. copied is that of
// touchKey.
func put[V any](d *device, m *map[uint32]*V, key uint32, v *V, copied func(*V) *V) {
	touchKey(d, m, key, copied)
	old := (*m)[key]
	set := func(v *V) {
		if v == nil {
			delete(*m, key)
		} else {
			(*m)[key] = v
		}
	}
	set(v)
	d.onRevert(func() { set(old) })
}

// assign sets a variable of a device's state.
func assign[T any](d *device, p *T, v T) {
	old := *p
	*p = v
	d.onRevert(func() { *p = old })
}
