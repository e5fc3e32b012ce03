// SPDX-License-Identifier: Apache-2.0

package packet

// PortPostcard is the UDP destination port of PB-FS postcards. The source port
// is that of the flow, and the source address the flow's destination: a
// postcard looks as if the receiver had sent it.
const PortPostcard uint16 = 54792

// PostcardLen is the length of a postcard after the UDP header in bytes.
const PostcardLen = 28

// PostcardVersion is the version of this layout.
const PostcardVersion uint8 = 1

// DSCPPostcard is the DSCP of postcards: the highest class.
const DSCPPostcard uint8 = 56

// Postcard is a view of a congested switch's message to a sender (PB-FS,
// section III-C).
type Postcard []byte

// AsPostcard returns the view of the postcard at b, or nil if it is too short
// or of another version.
func AsPostcard(b []byte) Postcard {
	if len(b) < PostcardLen || b[0] != PostcardVersion {
		return nil
	}
	return Postcard(b)
}

// Switch returns the number of the switch.
func (b Postcard) Switch() uint16 { return be.Uint16(b[2:]) }

// DestQP returns the destination queue pair of the packet that triggered it.
func (b Postcard) DestQP() uint32 { return be.Uint32(b[4:]) & 0xffffff }

// Arriving returns I_p, the bytes for this port in the last half DC_RTT and
// those expected in the next.
func (b Postcard) Arriving() uint32 { return be.Uint32(b[8:]) }

// Queue returns Q¹, the port's queue half a DC_RTT ago in bytes.
func (b Postcard) Queue() uint32 { return be.Uint32(b[12:]) }

// Rate returns T, the port's rate in Mbit/s.
func (b Postcard) Rate() uint32 { return be.Uint32(b[16:]) }

// Recent returns the bytes of all recent packets for this port, and those of
// marked ones.
func (b Postcard) Recent() (all, marked uint32) { return be.Uint32(b[20:]), be.Uint32(b[24:]) }

// Set fills the whole postcard.
func (b Postcard) Set(sw uint16, destQP, arriving, queue, rate, recent, recentMarked uint32) {
	b[0], b[1] = PostcardVersion, 0
	be.PutUint16(b[2:], sw)
	for i, v := range []uint32{destQP & 0xffffff, arriving, queue, rate, recent, recentMarked} {
		be.PutUint32(b[4+4*i:], v)
	}
}
