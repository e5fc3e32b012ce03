// SPDX-License-Identifier: Apache-2.0

package packet

// EtherTypes for local experiments (IEEE 802, table of EtherTypes) that the
// scheme programs use.
const (
	EtherTypeARP    uint16 = 0x0806
	EtherTypeFabric uint16 = 0x88b5 // header between leaves
	EtherTypeLocal  uint16 = 0x88b6 // messages of switches and tags of hosts; the first byte is the kind
)

// Kinds of data after EtherTypeLocal.
const (
	KindWarning uint8 = 1    // CNM: a pause is expected, or no longer
	KindKickOut uint8 = 2    // CNM: PLB's source leaf must leave a path
	KindTag     uint8 = 0x10 // Tag
)

// TagLen is the length of a host's tag in bytes.
const TagLen = 8

// TagNoPath is the path in a tag with which the leaf chooses.
const TagNoPath uint8 = 0xff

// Tag is a view of a host's data for the fabric between Ethernet and IP. The
// destination leaf removes it.
type Tag []byte

// Set fills the whole tag: the uplinks that the host chose (Hermes), from 0, or
// TagNoPath, at the leaf and, in a network of three tiers, at the aggregation
// switch; the coflow of the packet (CLB), 0 for none; and the EtherType of the data
// after the tag.
func (b Tag) Set(leafPath, aggregationPath uint8, coflow, etherType uint16) {
	b[0], b[1], b[2], b[3] = KindTag, leafPath, aggregationPath, 0
	be.PutUint16(b[4:], coflow)
	be.PutUint16(b[6:], etherType)
}

// DSCPMark is the bit of the DSCP that requests a postcard from switches
// (PB-FS): the lowest, which does not change a packet's class.
const DSCPMark uint8 = 1

// Priority returns the class of a packet by its DSCP, the three high bits, like
// the programs.
func Priority(dscp uint8) uint8 { return dscp >> 3 & 7 }
