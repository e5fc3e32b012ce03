// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"math/bits"
	"unsafe"

	"github.com/pauseless/pauseless/internal/cache"
	"github.com/pauseless/pauseless/internal/packet"
)

// Fetch has the processor fetch the host in step 0, and the flow that sends next in
// step 1.
func (h *Host) Fetch(step int) {
	if step == 0 {
		cache.Struct(h)
		return
	}
	n := &h.nic
	if len(n.waiting) > 0 {
		cache.Lines(unsafe.Pointer(n.waiting[0]), senderLines)
	}
	if n.readyMask != 0 {
		cache.Lines(unsafe.Pointer(n.ready[bits.Len8(n.readyMask)-1].first), senderLines)
	}
}

// Lines of senders and receivers that usual packets and acknowledgements need.
const (
	senderLines   = 6
	receiverLines = 2
)

// FetchFlow has the processor fetch the flow that a frame is of, which will arrive soon. A
// host with many flows has few of them in its cache. It changes no state.
func (h *Host) FetchFlow(f *packet.Frame) {
	const at = packet.EthernetLen + packet.IPv4Len + packet.UDPLen
	d := f.Data
	if len(d) < at+packet.BTHLen || d[packet.EthernetLen] != 0x45 { // no options
		return
	}
	bth := packet.BTH(d[at:])
	switch qp := bth.DestQP() - FirstQP; bth.Opcode() {
	case packet.OpSendFirst, packet.OpSendMiddle, packet.OpSendLast, packet.OpSendOnly:
		if qp < uint32(len(h.receivers)) {
			cache.Lines(unsafe.Pointer(h.receivers[qp]), receiverLines)
		}
	case packet.OpAcknowledge:
		if qp < uint32(len(h.senders)) {
			cache.Lines(unsafe.Pointer(h.senders[qp]), senderLines)
		}
	}
}
