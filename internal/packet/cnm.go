// SPDX-License-Identifier: Apache-2.0

package packet

// CNMLen is the length of a congestion notification message after the
// Ethernet header in bytes, without padding.
const CNMLen = 14

// CNM is a view of a message from a switch to an upstream switch: kind, priority,
// 1 if a warning begins, the number of further switches to which it may be relayed
// (one byte each), the switch that sent it, its port, the destination leaf of the
// packets concerned or 0xffff for any (two bytes each), and the time after which it
// expires, in the switches' unit of time (four bytes).
type CNM []byte

// AsCNM returns the view of the message at b, or nil if there is none.
func AsCNM(b []byte) CNM {
	if len(b) < CNMLen || b[0] != KindWarning && b[0] != KindKickOut {
		return nil
	}
	return CNM(b)
}

func (b CNM) Kind() uint8 { return b[0] }

// Active reports whether a warning begins, in contrast to one that ends.
func (b CNM) Active() bool { return b[2] == 1 }

// Origin returns the switch that sent the message and its port.
func (b CNM) Origin() (sw, port uint16) { return be.Uint16(b[4:]), be.Uint16(b[6:]) }
