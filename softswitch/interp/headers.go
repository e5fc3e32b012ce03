// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"slices"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// bytesOf returns the length of the header of a block.
func (m *Machine) bytesOf(base uint64, op *ops.HeaderOp) uint64 {
	n := uint64(op.Bytes)
	if op.Type.Varbit >= 0 {
		n += m.f[base+ops.RelVarLen] / 8
	}
	return n
}

func (m *Machine) addHeader(base uint64, op *ops.HeaderOp, reset bool) {
	if base == ops.Nowhere {
		return
	}
	if reset {
		if m.f[base+ops.RelValid] != 0 {
			return
		}
		clear(m.f[base : base+uint64(op.Type.Size)])
		m.f[m.prog.Sys+ops.SysLength] += uint64(op.Bytes)
	}
	m.setValid(base, op)
}

func (m *Machine) setValid(base uint64, op *ops.HeaderOp) {
	m.f[base+ops.RelValid] = 1
	for _, s := range op.Siblings {
		m.f[int(base)+s+ops.RelValid] = 0
	}
}

func (m *Machine) removeHeader(base uint64, op *ops.HeaderOp) {
	if base == ops.Nowhere || m.f[base+ops.RelValid] == 0 {
		return
	}
	m.f[m.prog.Sys+ops.SysLength] -= m.bytesOf(base, op)
	m.f[base+ops.RelValid] = 0
}

func (m *Machine) copyHeader(dst, src uint64, op *ops.HeaderOp) {
	if dst == ops.Nowhere || dst == src {
		return
	}
	if src == ops.Nowhere || m.f[src+ops.RelValid] == 0 {
		m.f[dst+ops.RelValid] = 0
		return
	}
	size := uint64(op.Type.Size)
	copy(m.f[dst:dst+size], m.f[src:src+size])
	m.setValid(dst, op)
}

// headersEqual reports whether both headers are valid and have equal fields.
// Every field of a compared type has a slot.
func (m *Machine) headersEqual(a, b uint64, t *ops.HeaderType) bool {
	if a == ops.Nowhere || b == ops.Nowhere || m.f[a+ops.RelValid] == 0 || m.f[b+ops.RelValid] == 0 {
		return false
	}
	first, size := uint64(t.RelFields()), uint64(t.Size)
	if !slices.Equal(m.f[a+first:a+size], m.f[b+first:b+size]) {
		return false
	}
	if t.Varbit < 0 {
		return true
	}
	return m.f[a+ops.RelVarLen] == m.f[b+ops.RelVarLen] && m.varbitsEqual(a, b)
}

// varbitsEqual reports whether two variable-length fields are equal as numbers,
// like BMv2.
func (m *Machine) varbitsEqual(a, b uint64) bool {
	if a == ops.Nowhere || b == ops.Nowhere {
		return false
	}
	byteOf := func(base uint64, i int) uint64 { // from the end
		at := int(m.f[base+ops.RelVarLen]) - 8*(i+1)
		if at < 0 {
			return 0
		}
		return ops.GetBits(m.data, int(m.f[base+ops.RelVarOff])+at, 8)
	}
	for i := range int(max(m.f[a+ops.RelVarLen], m.f[b+ops.RelVarLen])) / 8 {
		if byteOf(a, i) != byteOf(b, i) {
			return false
		}
	}
	return true
}

// push moves the elements of a stack up by n. The first n become invalid.
func (m *Machine) push(op *ops.StackOp, n uint64) {
	k := int(min(n, uint64(op.N)))
	blocks := m.f[op.Base : op.Base+op.N*op.Stride]
	copy(blocks[k*op.Stride:], blocks[:(op.N-k)*op.Stride])
	for i := range k {
		m.invalidate(op, i)
	}
	m.f[op.Next] = min(m.f[op.Next]+uint64(k), uint64(op.N))
}

// pop moves the elements of a stack down by n. The last n become invalid.
func (m *Machine) pop(op *ops.StackOp, n uint64) {
	k := int(min(n, uint64(op.N)))
	blocks := m.f[op.Base : op.Base+op.N*op.Stride]
	copy(blocks, blocks[k*op.Stride:])
	for i := op.N - k; i < op.N; i++ {
		m.invalidate(op, i)
	}
	m.f[op.Next] -= min(m.f[op.Next], uint64(k))
}

func (m *Machine) invalidate(op *ops.StackOp, i int) {
	for _, v := range op.Valid {
		m.f[op.Base+i*op.Stride+v] = 0
	}
}
