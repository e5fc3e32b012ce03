// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// For most packets of a v1model program, Go has nothing to do between parser and
// ingress, nor between egress and deparser. Arrive and Depart are for these: code
// that is translated continues with the next phase itself, which saves returning
// to Go and entering again.

// arrival is the metadata of a packet that arrives, from which Arrive's code sets
// fields.
type arrival struct{ length, port, time uint64 }

// Arrive does what Start, Set, Parse and Ingress do for a packet of a v1model
// program that was received on a port, in bytes, at a time in the program's unit.
// It returns false if ingress is still to be done, after the caller has set
// parser_error and checksum_error.
func (m *Machine) Arrive(f *packet.Frame, length int, port, time uint64) bool {
	if m.phases.arrive == 0 {
		m.Start(f, length)
		m.Set(m.arrives.Length, uint64(length))
		m.Set(m.arrives.Port, port)
		m.Set(m.arrives.Time, time)
		m.Parse()
		return false
	}
	m.frame, m.data, m.cur = f, f.Data, 0
	m.Ask = Requests{ParserError: m.prog.ErrNone}
	m.steps, m.parseEnd = 0, m.prog.ParseEnd[ops.In]
	m.arrival, m.chain = arrival{uint64(length), port & m.arrives.Port.Max, time & m.arrives.Time.Max}, 1
	if r := enter(m.phases.arrive, m); r >= 0 {
		m.assist(r)
	}
	if m.chain == 0 {
		return true
	}
	m.chain = 0
	*m.sys(ops.SysPayload) = uint64(m.cur)
	return false
}

// Depart does what Egress and Finish do for a packet of a v1model program. It
// returns false if Finish is still to be done, because the program has requests,
// drops the packet, or updates checksums.
func (m *Machine) Depart() bool {
	m.chain = 1
	m.run(&m.phases.pipeline[ops.Out])
	if m.chain != 0 {
		m.chain = 0
		return false
	}
	if !m.place(ops.Out) {
		m.writeHeaders(ops.Out)
	}
	m.truncated()
	return true
}
