// SPDX-License-Identifier: Apache-2.0

package packet

import "github.com/pauseless/pauseless/internal/vtime"

// Priority-based flow control, IEEE 802.1Qbb (802.1Q clause 36), in the MAC
// control frame of IEEE 802.3 annex 31D.

// Classes is the number of priorities that a PFC frame can pause.
const Classes = 8

// PFCLen is the length of a PFC frame without padding in bytes. On the link it
// is padded to PFCFrameLen.
const (
	PFCLen      = EthernetLen + 2 + 2 + 2*Classes
	PFCFrameLen = 60
)

// OpcodePFC is the MAC control opcode of a PFC frame.
const OpcodePFC uint16 = 0x0101

// PFCDestination is the destination address of PFC frames, which bridges do not
// forward.
var PFCDestination = MAC{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}

// QuantumBits is the unit of a pause time: 512 bit times of the link.
const QuantumBits = 512

// PauseTime returns the duration of a pause on a link of rate r.
func PauseTime(quanta uint16, r vtime.Rate) vtime.Time {
	if quanta == 0 {
		return 0
	}
	return r.TxTime(int(quanta) * QuantumBits / 8)
}

// PFC is a view of a whole PFC frame, from the Ethernet header on.
type PFC []byte

// AsPFC returns the view of the frame at b, or nil if it is not a PFC frame.
func AsPFC(b []byte) PFC {
	if len(b) < PFCLen || be.Uint16(b[12:]) != EtherTypeMACControl || be.Uint16(b[14:]) != OpcodePFC {
		return nil
	}
	return PFC(b)
}

// Enabled returns the classes to which the frame applies, class i in bit i.
func (b PFC) Enabled() uint8 { return b[17] }

// Quanta returns the pause time for a class, in quanta of 512 bit times; zero
// resumes it.
func (b PFC) Quanta(class int) uint16 { return be.Uint16(b[18+2*class:]) }

// AppendPFC appends a padded PFC frame from src to b. It pauses each class of
// the set for quanta, or resumes it if quanta is zero.
func AppendPFC(b []byte, src MAC, classes uint8, quanta uint16) []byte {
	n := len(b)
	b = append(b, make([]byte, PFCFrameLen)...)
	f := b[n:]
	Ethernet(f).Set(PFCDestination, src, EtherTypeMACControl)
	be.PutUint16(f[14:], OpcodePFC)
	f[17] = classes
	for c := range Classes {
		if classes&(1<<c) != 0 {
			be.PutUint16(f[18+2*c:], quanta)
		}
	}
	return b
}
