// SPDX-License-Identifier: Apache-2.0

package packet

// EtherTypes for local experiments (IEEE 802, table of EtherTypes) that the
// scheme programs use.
const (
	EtherTypeARP    uint16 = 0x0806
	EtherTypeFabric uint16 = 0x88b5 // header between leaves
	EtherTypeLocal  uint16 = 0x88b6 // messages of switches and tags of hosts; the first byte says which
)

// Kinds of what follows EtherTypeLocal.
const (
	KindWarning uint8 = 1    // CNM: a pause is near, or no longer
	KindKickOut uint8 = 2    // CNM: PLB's source leaf is to leave a path
	KindTag     uint8 = 0x10 // Tag
)

// TagLen is the length of a host's tag in bytes.
const TagLen = 8

// TagNoPath is the path in a tag that leaves the choice to the leaf.
const TagNoPath uint8 = 0xff

// Tag is a view of what a host puts between Ethernet and IP to tell the
// fabric about a packet. The destination leaf takes it off.
type Tag []byte

// AsTag returns the view of the tag that starts at b, or nil if there is
// none.
func AsTag(b []byte) Tag {
	if len(b) < TagLen || b[0] != KindTag {
		return nil
	}
	return Tag(b)
}

// Path returns the uplinks that the host chose (Hermes), from 0, or
// TagNoPath: of the leaf, and of the aggregation switch in a network of three
// tiers.
func (b Tag) Path() (leaf, aggregation uint8) { return b[1], b[2] }

// Coflow returns the coflow that the packet belongs to (CLB), 0 for none.
func (b Tag) Coflow() uint16 { return be.Uint16(b[4:]) }

// EtherType returns that of what follows.
func (b Tag) EtherType() uint16 { return be.Uint16(b[6:]) }

func (b Tag) Payload() []byte { return b[TagLen:] }

// Set fills the whole tag.
func (b Tag) Set(leafPath, aggregationPath uint8, coflow, etherType uint16) {
	b[0], b[1], b[2], b[3] = KindTag, leafPath, aggregationPath, 0
	be.PutUint16(b[4:], coflow)
	be.PutUint16(b[6:], etherType)
}

// DSCPMark is the bit of the DSCP that asks switches for a postcard (PB-FS):
// the lowest, which does not change a packet's class.
const DSCPMark uint8 = 1

// Priority returns the class of a packet by its DSCP, as the programs have
// it: the three high bits.
func Priority(dscp uint8) uint8 { return dscp >> 3 & 7 }
