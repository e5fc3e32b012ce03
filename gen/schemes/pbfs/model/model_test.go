// SPDX-License-Identifier: Apache-2.0

package pbfs

import (
	"testing"
)

// PB-FS with its section V: 25 Gb/s, DC_RTT 25 µs (78,125 bytes), N = 8, slots
// of 1562 ns, Δ = 6 packets of 1000 bytes = 1920 ns, two slots.
func TestPBFSExtrapolatesTheLastSlot(t *testing.T) {
	c := PBFS{N: 8, Recent: 2, BDP: 78_125}
	r := Ring{}
	// One sender at the line rate: 4.88 KB per slot, nothing queued. Not
	// congested: 8·I + 8·I = 78 KB is what the port can send.
	for n := int64(100); n < 108; n++ {
		r.Packet(n, 4882, 0, n == 107)
	}
	r.Packet(108, 1000, 0, true) // the trigger, in the running slot
	p, congested := r.Congested(c, 108)
	if congested || p.Ip != 16*4882 || p.Q1 != 0 {
		t.Errorf("line rate: %+v %v", p, congested)
	}
	if p.RecentBytes != 2*4882+1000 || p.RecentMarkedBytes != 4882+1000 {
		t.Errorf("recent bytes %d, marked %d", p.RecentBytes, p.RecentMarkedBytes)
	}
	// A byte more in the last slot counts nine times.
	r.Packet(107, 1, 0, false)
	if p, congested := r.Congested(c, 108); congested || p.Ip != 16*4882+9 {
		t.Errorf("%+v %v", p, congested)
	}
	// A queue at the start of the window must be sent first.
	r[100].Q = 1000
	if p, congested := r.Congested(c, 108); !congested || p.Q1 != 1000 {
		t.Errorf("%+v %v", p, congested)
	}
	// A window later nothing is left of it.
	if p, congested := r.Congested(c, 117); congested || p.Ip != 0 || p.Q1 != 0 {
		t.Errorf("%+v %v", p, congested)
	}
}
