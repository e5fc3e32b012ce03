// SPDX-License-Identifier: Apache-2.0

package packet

// CNMLen is the length of a congestion notification message after the
// Ethernet header in bytes, without padding.
const CNMLen = 14

// ScopeAll is the scope of a warning about packets to any leaf.
const ScopeAll uint16 = 0xffff

// CNM is a view of a message from a switch to an upstream switch.
type CNM []byte

// AsCNM returns the view of the message at b, or nil if there is none.
func AsCNM(b []byte) CNM {
	if len(b) < CNMLen || b[0] != KindWarning && b[0] != KindKickOut {
		return nil
	}
	return CNM(b)
}

func (b CNM) Kind() uint8     { return b[0] }
func (b CNM) Priority() uint8 { return b[1] }

// Active reports whether a warning begins, in contrast to one that ends.
func (b CNM) Active() bool { return b[2] == 1 }

// Hops returns the number of further switches to which the message may be
// relayed.
func (b CNM) Hops() uint8 { return b[3] }

// Origin returns the switch that sent the message and its port.
func (b CNM) Origin() (sw, port uint16) { return be.Uint16(b[4:]), be.Uint16(b[6:]) }

// Scope returns the destination leaf of the packets concerned, or ScopeAll.
func (b CNM) Scope() uint16 { return be.Uint16(b[8:]) }

// Hold returns the time after which the message expires, in the switches' unit
// of time.
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
