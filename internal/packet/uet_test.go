// SPDX-License-Identifier: Apache-2.0

package packet

import "testing"

func TestUETHeaders(t *testing.T) {
	h := UET(make([]byte, UETAckLen))
	h.SetRequest(0x01020304, 5, 6, true, true, 0x123456)
	if h := AsUET(h[:UETRequestLen]); h == nil || h.Type() != UETRequestCC || h.PSN() != 0x01020304 || h.Destination() != 6 || !h.Retransmitted() || !h.AckRequest() || h.CreditTarget() != 0x123456 {
		t.Errorf("request %x", []byte(h))
	}
	h.SetAck(9, 5, 6, true, false, -3, 1, 1<<63|1, 0xabcdef, 70_000)
	if h := AsUET(h); h == nil || h.Type() != UETAckCC || h.PSN() != 9 || !h.Marked() || h.Retransmitted() || h.Acked() != -3 || h.SACKBase() != 1 || h.SACK() != 1<<63|1 || h.Received() != 0xabcdef || h.OutOfOrder() != 0xffff {
		t.Errorf("acknowledgement %x", []byte(h))
	}
	if AsUET(h[:UETAckLen-1]) != nil {
		t.Error("a short acknowledgement")
	}
	h.SetNack(7, 5, 6, UETTrimmedLastHop, true)
	if h := AsUET(h); h == nil || h.Type() != UETNack || h.PSN() != 7 || h.Code() != UETTrimmedLastHop || !h.Marked() {
		t.Errorf("negative acknowledgement %x", []byte(h))
	}
	for _, kind := range []uint8{UETCredit, UETCreditWanted} {
		h.SetControl(kind, 5, 6, 77)
		if h := AsUET(h); h == nil || h.Type() != UETControl || h.Control() != kind || h.CreditTarget() != 77 || h.Destination() != 6 {
			t.Errorf("control packet %x", []byte(h))
		}
	}
	if AsUET([]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) != nil {
		t.Error("a header of an unknown type")
	}
}
