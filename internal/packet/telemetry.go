// SPDX-License-Identifier: Apache-2.0

package packet

import "github.com/pauseless/pauseless/internal/vtime"

// In-band telemetry of HPCC (Li et al., SIGCOMM 2019, figure 7): a block of
// fixed size between UDP and BTH to which every switch adds a record. A
// receiver returns the block after the AETH of its acknowledgement.

// PortINT is the UDP destination port of RoCEv2 with a telemetry block.
const PortINT uint16 = 54791

// PortPINT is the UDP destination port of RoCEv2 with PINT's digest (Ben Basat et
// al., SIGCOMM 2020) in the place of the block.
const PortPINT uint16 = 54793

// PINTLen is the length of a digest, a code.
const PINTLen = 2

// PINTUnits is how many units of a digest's scale are a fully used link: the
// logarithm of the utilisation in these units is the code.
const PINTUnits = 512

// PINT is a view of a digest.
type PINT []byte

// AsPINT returns the view of the digest at b, or nil if b is too short.
func AsPINT(b []byte) PINT {
	if len(b) < PINTLen {
		return nil
	}
	return PINT(b)
}

// Code returns the code of the utilisation.
func (b PINT) Code() uint16 { return be.Uint16(b) }

// Size of a telemetry block: a count, a path identifier and room for the
// records of INTHops switches.
const (
	INTHops   = 5
	intHopLen = 8
	INTLen    = 2 + INTHops*intHopLen
)

// Units of the fields of a record.
const (
	INTByteUnit  = 128 // bytes, of the count of bytes sent
	INTQueueUnit = 80  // bytes, of the queue length
)

// INT is a view of a telemetry block.
type INT []byte

// AsINT returns the view of the block at b, or nil if b is too short or counts
// more than INTHops switches.
func AsINT(b []byte) INT {
	if len(b) < INTLen || int(b[0]>>4) > INTHops {
		return nil
	}
	return INT(b)
}

// Hops returns the number of records.
func (b INT) Hops() int { return int(b[0] >> 4) }

// Path returns the exclusive or of the numbers of the switches on the path.
func (b INT) Path() uint16 { return be.Uint16(b) & 0xfff }

// Hop returns the record of the i-th switch, from 0.
func (b INT) Hop(i int) INTHop { return INTHop(b[2+i*intHopLen:][:intHopLen]) }

// Reset makes the block empty, as it is sent.
func (b INT) Reset() { clear(b[:INTLen]) }

// INTHop is the record of one switch, about the egress port at the packet's
// departure.
type INTHop []byte

// Rate returns the rate of the port, zero if the record has none.
func (h INTHop) Rate() vtime.Rate {
	if code := int(h[0] >> 4); code < len(intRates) {
		return intRates[code]
	}
	return 0
}

// Time returns the departure time of the packet in nanoseconds modulo 2^24.
func (h INTHop) Time() uint32 { return uint32(be.Uint64(h)>>36) & (1<<24 - 1) }

// TxBytes returns the bytes that the port had sent, modulo 2^20·INTByteUnit, in
// units of INTByteUnit.
func (h INTHop) TxBytes() uint32 { return uint32(be.Uint64(h)>>16) & (1<<20 - 1) }

// Queue returns the length of the port's queue after the packet's departure in
// bytes, to INTQueueUnit.
func (h INTHop) Queue() int { return int(be.Uint16(h[6:])) * INTQueueUnit }

// Set fills a record. code is from INTRateCode. The queue is limited to the
// field's maximum.
func (h INTHop) Set(code uint8, time, txUnits uint32, queue int) {
	q := uint64(min(queue/INTQueueUnit, 1<<16-1))
	be.PutUint64(h, uint64(code&0xf)<<60|uint64(time&(1<<24-1))<<36|uint64(txUnits&(1<<20-1))<<16|q)
}

// intRates are the rates that a record can represent.
var intRates = [...]vtime.Rate{
	0, 1 * vtime.Gbps, 10 * vtime.Gbps, 25 * vtime.Gbps, 40 * vtime.Gbps, 50 * vtime.Gbps,
	100 * vtime.Gbps, 200 * vtime.Gbps, 400 * vtime.Gbps, 800 * vtime.Gbps, 1600 * vtime.Gbps,
}

// INTRateCode returns the code of a rate in a record, 0 if it has none.
func INTRateCode(r vtime.Rate) uint8 {
	for code, known := range intRates {
		if known == r {
			return uint8(code)
		}
	}
	return 0
}
