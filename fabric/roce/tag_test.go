// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/internal/packet"
)

// tag is a host's tag with all its fields.
type tag struct{ packet.Tag }

// tagOf returns the tag of a frame, with none if it has no tag.
func tagOf(f *packet.Frame) (t tag, ok bool) {
	b := f.Data[packet.EthernetLen:]
	if packet.Ethernet(f.Data).EtherType() != packet.EtherTypeLocal || len(b) < packet.TagLen || b[0] != packet.KindTag {
		return tag{}, false
	}
	return tag{packet.Tag(b)}, true
}

// path returns the uplinks that the host chose, or packet.TagNoPath.
func (t tag) path() (leaf, aggregation uint8) { return t.Tag[1], t.Tag[2] }

func (t tag) coflow() uint16 { return binary.BigEndian.Uint16(t.Tag[4:]) }

// etherType is that of the data after the tag.
func (t tag) etherType() uint16 { return binary.BigEndian.Uint16(t.Tag[6:]) }

func (t tag) payload() []byte { return t.Tag[packet.TagLen:] }
