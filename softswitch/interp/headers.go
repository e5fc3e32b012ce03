// SPDX-License-Identifier: Apache-2.0

package interp

import "slices"

// bytesOf returns the length of the header of a block.
func (m *Machine) bytesOf(base uint64, op *headerOp) uint64 {
	n := uint64(op.bytes)
	if op.typ.varbit >= 0 {
		n += m.f[base+relVarLen] / 8
	}
	return n
}

func (m *Machine) addHeader(base uint64, op *headerOp, reset bool) {
	if base == nowhere {
		return
	}
	if reset {
		if m.f[base+relValid] != 0 {
			return
		}
		clear(m.f[base : base+uint64(op.typ.size)])
		m.f[m.prog.sys+sysLength] += uint64(op.bytes)
	}
	m.setValid(base, op)
}

func (m *Machine) setValid(base uint64, op *headerOp) {
	m.f[base+relValid] = 1
	for _, s := range op.siblings {
		m.f[int(base)+s+relValid] = 0
	}
}

func (m *Machine) removeHeader(base uint64, op *headerOp) {
	if base == nowhere || m.f[base+relValid] == 0 {
		return
	}
	m.f[m.prog.sys+sysLength] -= m.bytesOf(base, op)
	m.f[base+relValid] = 0
}

func (m *Machine) copyHeader(dst, src uint64, op *headerOp) {
	if dst == nowhere || dst == src {
		return
	}
	if src == nowhere || m.f[src+relValid] == 0 {
		m.f[dst+relValid] = 0
		return
	}
	size := uint64(op.typ.size)
	copy(m.f[dst:dst+size], m.f[src:src+size])
	m.setValid(dst, op)
}

// headersEqual reports whether both headers are valid and have equal fields.
// Every field of a compared type has a slot.
func (m *Machine) headersEqual(a, b uint64, t *headerType) bool {
	if a == nowhere || b == nowhere || m.f[a+relValid] == 0 || m.f[b+relValid] == 0 {
		return false
	}
	first, size := uint64(t.relFields()), uint64(t.size)
	if !slices.Equal(m.f[a+first:a+size], m.f[b+first:b+size]) {
		return false
	}
	if t.varbit < 0 {
		return true
	}
	return m.f[a+relVarLen] == m.f[b+relVarLen] && m.varbitsEqual(a, b)
}

// varbitsEqual reports whether two variable-length fields are equal as numbers,
// like BMv2.
func (m *Machine) varbitsEqual(a, b uint64) bool {
	if a == nowhere || b == nowhere {
		return false
	}
	byteOf := func(base uint64, i int) uint64 { // from the end
		at := int(m.f[base+relVarLen]) - 8*(i+1)
		if at < 0 {
			return 0
		}
		return getBits(m.data, int(m.f[base+relVarOff])+at, 8)
	}
	for i := range int(max(m.f[a+relVarLen], m.f[b+relVarLen])) / 8 {
		if byteOf(a, i) != byteOf(b, i) {
			return false
		}
	}
	return true
}

// push moves the elements of a stack up by n. The first n become invalid.
func (m *Machine) push(op *stackOp, n uint64) {
	k := int(min(n, uint64(op.n)))
	blocks := m.f[op.base : op.base+op.n*op.stride]
	copy(blocks[k*op.stride:], blocks[:(op.n-k)*op.stride])
	for i := range k {
		m.invalidate(op, i)
	}
	m.f[op.next] = min(m.f[op.next]+uint64(k), uint64(op.n))
}

// pop moves the elements of a stack down by n. The last n become invalid.
func (m *Machine) pop(op *stackOp, n uint64) {
	k := int(min(n, uint64(op.n)))
	blocks := m.f[op.base : op.base+op.n*op.stride]
	copy(blocks, blocks[k*op.stride:])
	for i := op.n - k; i < op.n; i++ {
		m.invalidate(op, i)
	}
	m.f[op.next] -= min(m.f[op.next], uint64(k))
}

func (m *Machine) invalidate(op *stackOp, i int) {
	for _, v := range op.valid {
		m.f[op.base+i*op.stride+v] = 0
	}
}
