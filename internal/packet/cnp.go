// SPDX-License-Identifier: Apache-2.0

package packet

// CNPLen is the length of a congestion notification packet's BTH and the 16
// reserved bytes that follow it (RoCEv2 annex A17.9.3).
const CNPLen = BTHLen + 16

// CNP is a view of a congestion notification packet from its BTH on.
type CNP []byte

// AsCNP returns the view of the packet at b, or nil if there is none.
func AsCNP(b []byte) CNP {
	if len(b) < CNPLen || Opcode(b[0]) != OpCongestionNotific {
		return nil
	}
	return CNP(b)
}

func (b CNP) BTH() BTH { return BTH(b[:BTHLen]) }

// RecRate returns the receiving rate of the flow in Mbit/s (PCN, section 5.2),
// in the first 32 of the reserved bits. The ECN field of the IP header states
// whether the flow is congested.
func (b CNP) RecRate() uint32 { return be.Uint32(b[BTHLen:]) }

// SetRecRate sets the rate in Mbit/s and clears the other reserved bits.
func (b CNP) SetRecRate(mbps uint32) {
	clear(b[BTHLen:CNPLen])
	be.PutUint32(b[BTHLen:], mbps)
}

// Feedback returns the congestion of a switch that sends the notification
// itself (QCN, 802.1Q clause 32.9.4), from 0 to 63, in the fifth reserved byte.
func (b CNP) Feedback() uint8 { return b[BTHLen+4] & 0x3f }

// SetFeedback sets the feedback.
func (b CNP) SetFeedback(f uint8) { b[BTHLen+4] = f & 0x3f }
