// SPDX-License-Identifier: Apache-2.0

package interp

import "github.com/pauseless/pauseless/softswitch/interp/internal/ops"

// DeparseIn executes the statements of ingress's deparser other than emit.
func (m *Machine) DeparseIn() { m.run(&m.phases.finish[ops.In]) }

// DeparseOut is DeparseIn for egress.
func (m *Machine) DeparseOut() { m.run(&m.phases.finish[ops.Out]) }

// EmitIn writes the headers that ingress's deparser emits into the frame.
func (m *Machine) EmitIn() { m.deparse(ops.In) }

// EmitOut is EmitIn for egress.
func (m *Machine) EmitOut() { m.deparse(ops.Out) }

// AppendList appends the concatenated fields of a field list, padded with zeros
// to a whole byte.
func (m *Machine) AppendList(id int, b []byte) []byte {
	l := m.prog.FieldLists[id]
	if l == nil {
		return b
	}
	at := 8 * len(b)
	for range (l.Bits + 7) / 8 {
		b = append(b, 0)
	}
	for _, f := range l.Fields {
		for limb := f.Limbs - 1; limb >= 0; limb-- {
			n := min(64, f.Width-64*limb)
			ops.PutBits(b, at, n, m.f[f.Slot+limb])
			at += n
		}
	}
	return b
}

// TofinoError returns Tofino's number for the parser's result, 0 without an
// error.
func (m *Machine) TofinoError() uint64 {
	switch p := m.prog; m.Ask.ParserError {
	case p.ErrNone:
		return 0
	case p.ErrShort, p.ErrHeader:
		return ops.TofinoPartialHdr
	case p.ErrStack, p.ErrArgument, p.ErrCounter:
		return ops.TofinoCtrRange
	case p.ErrTimeout:
		return ops.TofinoTimeout
	}
	return ops.TofinoNoMatch
}
