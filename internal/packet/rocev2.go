// SPDX-License-Identifier: Apache-2.0

package packet

// InfiniBand base transport header (IBTA Architecture Specification volume 1,
// section 9.2), over UDP as in RoCEv2 (annex A17).

// BTHLen is the length of a base transport header in bytes.
const BTHLen = 12

// Opcode is a BTH operation code.
type Opcode uint8

// Opcodes of reliable connections (section 9.2.1) and the congestion
// notification packet of RoCEv2 (annex A17.9.3).
const (
	OpSendFirst         Opcode = 0x00
	OpSendMiddle        Opcode = 0x01
	OpSendLast          Opcode = 0x02
	OpSendOnly          Opcode = 0x04
	OpRDMAWriteFirst    Opcode = 0x06
	OpRDMAWriteMiddle   Opcode = 0x07
	OpRDMAWriteLast     Opcode = 0x08
	OpRDMAWriteOnly     Opcode = 0x0a
	OpAcknowledge       Opcode = 0x11
	OpCongestionNotific Opcode = 0x81
)

// BTH is a view of a base transport header.
type BTH []byte

// AsBTH returns the view of the header at b, or nil if b is too short.
func AsBTH(b []byte) BTH {
	if len(b) < BTHLen {
		return nil
	}
	return BTH(b)
}

func (b BTH) Opcode() Opcode  { return Opcode(b[0]) }
func (b BTH) DestQP() uint32  { return be.Uint32(b[4:]) & 0xffffff }
func (b BTH) AckReq() bool    { return b[8]&0x80 != 0 }
func (b BTH) PSN() uint32     { return be.Uint32(b[8:]) & 0xffffff }
func (b BTH) Payload() []byte { return b[BTHLen:] }

// BECN reports the congestion notification to the packet's receiver: packets
// that it sent were marked (annex A17.9).
func (b BTH) BECN() bool { return b[4]&0x40 != 0 }

// SetBECN sets the BECN bit.
func (b BTH) SetBECN() { b[4] |= 0x40 }

// Drain reports whether a switch asks the receiver of the packet, an acknowledgement, to
// send nothing more of the flow until all of it in flight is acknowledged. It is the last
// reserved bit beside BECN, which the invariant CRC does not cover (section 9.2.3).
func (b BTH) Drain() bool { return b[4]&1 != 0 }

// Set fills the whole header with the default partition key. The queue pair
// and the packet sequence number have 24 bits each.
func (b BTH) Set(op Opcode, destQP, psn uint32, ackReq bool) {
	b[0] = byte(op)
	b[1] = 0
	be.PutUint16(b[2:], 0xffff)
	be.PutUint32(b[4:], destQP&0xffffff)
	be.PutUint32(b[8:], psn&0xffffff)
	if ackReq {
		b[8] |= 0x80
	}
}

// AETHLen is the length of an ACK extended transport header in bytes.
const AETHLen = 4

// AETH is a view of an ACK extended transport header (section 9.2.5).
type AETH []byte

// AsAETH returns the view of the header at b, or nil if b is too short.
func AsAETH(b []byte) AETH {
	if len(b) < AETHLen {
		return nil
	}
	return AETH(b)
}

// Syndromes: the three high bits are ACK or NAK, the rest is a credit count
// (all ones: no limit) or the NAK's reason.
const (
	SyndromeACK            uint8 = 0x1f
	SyndromeNAKPSNSequence uint8 = 0x60
)

func (b AETH) IsNAK() bool { return b[0]>>5 == 3 }
func (b AETH) MSN() uint32 { return be.Uint32(b) & 0xffffff }

// Set fills the whole header.
func (b AETH) Set(syndrome uint8, msn uint32) {
	be.PutUint32(b, uint32(syndrome)<<24|msn&0xffffff)
}
