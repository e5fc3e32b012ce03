// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/internal/packet"
)

// scopeAll is the scope of a warning about packets to any leaf.
const scopeAll uint16 = 0xffff

// cnm is a congestion notification message with all its fields.
type cnm struct{ packet.CNM }

func (m cnm) priority() uint8 { return m.CNM[1] }

// hops is the number of further switches to which the message may be relayed.
func (m cnm) hops() uint8 { return m.CNM[3] }

// scope is the destination leaf of the packets concerned, or scopeAll.
func (m cnm) scope() uint16 { return binary.BigEndian.Uint16(m.CNM[8:]) }

// hold is the time after which the message expires, in the switches' unit of time.
func (m cnm) hold() uint32 { return binary.BigEndian.Uint32(m.CNM[10:]) }

// cnmOf reads the message in the data of a frame.
func cnmOf(data []byte) cnm { return cnm{packet.AsCNM(data)} }

// warning is a message from port 1 of a neighbouring switch, with priority 3.
func warning(active bool, hops uint8, scope uint16, hold uint32) []byte {
	b := make([]byte, 60)
	packet.Ethernet(b).Set(packet.MAC{1, 0x80, 0xc2, 0, 0, 0xe}, packet.MAC{2}, packet.EtherTypeLocal)
	m := b[packet.EthernetLen:]
	m[0], m[1], m[3] = packet.KindWarning, 3, hops
	if active {
		m[2] = 1
	}
	binary.BigEndian.PutUint16(m[4:], 9)
	binary.BigEndian.PutUint16(m[6:], 1)
	binary.BigEndian.PutUint16(m[8:], scope)
	binary.BigEndian.PutUint32(m[10:], hold)
	return b
}
