// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"bytes"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
)

// FetchFlow accepts any bytes, and changes nothing.
func TestFetchFlowOfAnyFrame(t *testing.T) {
	h := &Host{senders: []*sender{{total: 3}}, receivers: []*receiver{{total: 4}}}
	const at = packet.EthernetLen + packet.IPv4Len + packet.UDPLen
	whole := make([]byte, at+packet.BTHLen)
	whole[packet.EthernetLen] = 0x45
	for _, op := range []packet.Opcode{packet.OpSendOnly, packet.OpAcknowledge, packet.OpCongestionNotific} {
		for _, qp := range []uint32{0, FirstQP, FirstQP + 1, 1<<24 - 1} {
			packet.BTH(whole[at:]).Set(op, qp, 7, false)
			for n := range len(whole) + 1 {
				f := &packet.Frame{Data: bytes.Clone(whole[:n])}
				h.FetchFlow(f)
				if !bytes.Equal(f.Data, whole[:n]) {
					t.Fatalf("a frame of %d bytes with opcode %v for %d was changed", n, op, qp)
				}
			}
		}
	}
	if h.senders[0].total != 3 || h.receivers[0].total != 4 {
		t.Error("a flow was changed")
	}
}
