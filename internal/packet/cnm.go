// SPDX-License-Identifier: Apache-2.0

package packet

// CNMLen is the length of a congestion notification message behind the
// Ethernet header in bytes, without padding.
const CNMLen = 14

// ScopeAll is the scope of a warning about packets to any leaf.
const ScopeAll uint16 = 0xffff

// CNM is a view of a message from a switch to the one before it.
type CNM []byte

// AsCNM returns the view of the message that starts at b, or nil if there is
// none.
func AsCNM(b []byte) CNM {
	if len(b) < CNMLen || b[0] != KindWarning && b[0] != KindKickOut {
		return nil
	}
	return CNM(b)
}

func (b CNM) Kind() uint8     { return b[0] }
func (b CNM) Priority() uint8 { return b[1] }

// Active reports whether a warning holds from now on, rather than no longer.
func (b CNM) Active() bool { return b[2] == 1 }

// Hops returns how many more switches may hear of it.
func (b CNM) Hops() uint8 { return b[3] }

// Origin returns the switch that speaks and its port.
func (b CNM) Origin() (sw, port uint16) { return be.Uint16(b[4:]), be.Uint16(b[6:]) }

// Scope returns the leaf that the packets meant are on their way to, or
// ScopeAll.
func (b CNM) Scope() uint16 { return be.Uint16(b[8:]) }

// Hold returns after how long the message is to be forgotten, in the units of
// time of the switches.
func (b CNM) Hold() uint32 { return be.Uint32(b[10:]) }

// Set fills the whole message.
func (b CNM) Set(kind, priority uint8, active bool, hops uint8, sw, port, scope uint16, hold uint32) {
	b[0], b[1], b[2], b[3] = kind, priority, 0, hops
	if active {
		b[2] = 1
	}
	be.PutUint16(b[4:], sw)
	be.PutUint16(b[6:], port)
	be.PutUint16(b[8:], scope)
	be.PutUint32(b[10:], hold)
}
