// SPDX-License-Identifier: Apache-2.0

package model

// In-band telemetry as HPCC's switches write it (HPCC, section 4.1): each hop
// adds a record when the packet leaves.

// A Hop is the record of one switch: its egress link.
type Hop struct {
	B       int64 // speed of the link
	TS      Time  // when the packet left
	TxBytes Bytes // bytes sent so far, this packet included
	QLen    Bytes // queue behind it
}

// An INTPort is the state of an egress port.
type INTPort struct {
	B       int64
	TxBytes Bytes
}

// Transmit gives the record for a packet of length bytes that leaves now.
func (p *INTPort) Transmit(now Time, length, queue Bytes) Hop {
	p.TxBytes += length
	return Hop{B: p.B, TS: now, TxBytes: p.TxBytes, QLen: queue}
}
