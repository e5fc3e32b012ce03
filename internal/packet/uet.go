// SPDX-License-Identifier: Apache-2.0

package packet

// Ultra Ethernet Transport over UDP: the headers of its packet delivery sublayer (UEC
// specification 1.0, section 3.5), for packets that are reliable and unordered (RUD).
// The semantic sublayer's header, which follows in a request, has UETSemanticLen bytes.

// PortUET is the UDP destination port of Ultra Ethernet Transport (IANA).
const PortUET uint16 = 4793

// Lengths in bytes.
const (
	UETRequestLen  = 16 // of a request with congestion control state
	UETAckLen      = 32 // of an acknowledgement with congestion control state
	UETNackLen     = 16 // also of a control packet with its payload
	UETSemanticLen = 44 // of a standard request's semantic header
)

// UETType is the type of a packet.
type UETType uint8

// Types.
const (
	UETAckCC     UETType = 8
	UETNack      UETType = 10
	UETControl   UETType = 11
	UETRequestCC UETType = 13
)

// Next headers of requests and of packets without one, types of control packets, and
// codes of negative acknowledgements.
const (
	uetNextNone     = 0
	uetNextRequest  = 3
	UETCredit       = 7
	UETCreditWanted = 8

	UETTrimmed        = 1
	UETTrimmedLastHop = 2
)

// UET is a view of a header of the packet delivery sublayer, of at least UETRequestLen
// bytes.
type UET []byte

// AsUET returns the view of the header at b, or nil if b is too short for its type, or
// its type is none of the above.
func AsUET(b []byte) UET {
	if len(b) < UETRequestLen {
		return nil
	}
	switch h := UET(b); h.Type() {
	case UETRequestCC, UETNack, UETControl:
		return h
	case UETAckCC:
		if len(b) >= UETAckLen {
			return h
		}
	}
	return nil
}

func (b UET) Type() UETType { return UETType(b[0] >> 3) }

// Control returns the type of a control packet.
func (b UET) Control() uint8 { return b[0]&7<<1 | b[1]>>7 }

// Flags of a request, of an acknowledgement or a negative one: it is sent again, an
// acknowledgement is wanted at once, and the packet arrived with ECN CE.
func (b UET) Retransmitted() bool { return b[1]&0x10 != 0 }
func (b UET) AckRequest() bool    { return b[1]&0x08 != 0 }
func (b UET) Marked() bool        { return b[1]&0x20 != 0 }

// PSN is the sequence number of a request, the cumulative one of an acknowledgement,
// that of the trimmed packet in a negative one.
func (b UET) PSN() uint32 { return be.Uint32(b[4:]) }

// Destination is the number of the receiver's end of the connection (DPDCID).
func (b UET) Destination() uint16 { return be.Uint16(b[10:]) }

// CreditTarget is, of a request, the credit up to which the sender has data, in units of
// UETCreditUnit bytes modulo 2^24. Of a control packet it is the credit granted so far.
func (b UET) CreditTarget() uint32 { return be.Uint32(b[12:]) & 0xffffff }

// UETCreditUnit is the unit of credit in bytes.
const UETCreditUnit = 256

// Code is that of a negative acknowledgement.
func (b UET) Code() uint8 { return b[2] }

// The fields of an acknowledgement: Acked is the packet that caused it, relative to the
// cumulative one; the bitmap begins at SACKBase, relative to it too; Received has the
// bytes received so far, modulo 2^24, and OutOfOrder the number of packets held.
func (b UET) Acked() int16       { return int16(be.Uint16(b[2:])) }
func (b UET) SACKBase() int16    { return int16(be.Uint16(b[14:])) }
func (b UET) SACK() uint64       { return be.Uint64(b[16:]) }
func (b UET) Received() uint32   { return be.Uint32(b[26:]) & 0xffffff }
func (b UET) OutOfOrder() uint16 { return be.Uint16(b[30:]) }

// SetRequest fills a request.
func (b UET) SetRequest(psn uint32, source, destination uint16, again, ackRequest bool, target uint32) {
	b.set(UETRequestCC, uetNextRequest)
	b.flag(0x10, again)
	b.flag(0x08, ackRequest)
	be.PutUint16(b[2:], 0)
	be.PutUint32(b[4:], psn)
	be.PutUint16(b[8:], source)
	be.PutUint16(b[10:], destination)
	be.PutUint32(b[12:], target&0xffffff)
}

// SetAck fills an acknowledgement.
func (b UET) SetAck(psn uint32, source, destination uint16, marked, again bool, acked, base int16, sack uint64, received uint32, outOfOrder int) {
	b.set(UETAckCC, uetNextNone)
	b.flag(0x20, marked)
	b.flag(0x10, again)
	be.PutUint16(b[2:], uint16(acked))
	be.PutUint32(b[4:], psn)
	be.PutUint16(b[8:], source)
	be.PutUint16(b[10:], destination)
	be.PutUint16(b[12:], 0) // type of congestion control: NSCC
	be.PutUint16(b[14:], uint16(base))
	be.PutUint64(b[16:], sack)
	be.PutUint16(b[24:], 0) // service time
	be.PutUint32(b[26:], received&0xffffff)
	be.PutUint16(b[30:], uint16(min(outOfOrder, 0xffff)))
}

// SetNack fills a negative acknowledgement.
func (b UET) SetNack(psn uint32, source, destination uint16, code uint8, marked bool) {
	b.set(UETNack, uetNextNone)
	b.flag(0x20, marked)
	b[2], b[3] = code, 0
	be.PutUint32(b[4:], psn)
	be.PutUint16(b[8:], source)
	be.PutUint16(b[10:], destination)
	be.PutUint32(b[12:], 0)
}

// SetControl fills a control packet with its payload.
func (b UET) SetControl(kind uint8, source, destination uint16, credit uint32) {
	b.set(UETControl, kind)
	be.PutUint16(b[2:], 0)
	be.PutUint32(b[4:], 0)
	be.PutUint16(b[8:], source)
	be.PutUint16(b[10:], destination)
	be.PutUint32(b[12:], credit&0xffffff)
}

func (b UET) set(t UETType, next uint8) { b[0], b[1] = byte(t)<<3|next>>1&7, next<<7 }

func (b UET) flag(bit byte, on bool) {
	if on {
		b[1] |= bit
	}
}
