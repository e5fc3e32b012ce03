// SPDX-License-Identifier: Apache-2.0

package model

// PB-FS, section III-C: the switch's generation of CC-postcards.

// PBFS is the configuration of an egress port.
type PBFS struct {
	N      int   // slots in half a DC_RTT
	Recent int   // how many of the last full slots T_Δ covers: ⌈T_Δ / slot⌉
	BDP    Bytes // T · DC_RTT
}

// A Ring is the memory of one egress port, by number of the slot.
//
// Readings: the last N slots are those that are over, the N-th being the most
// recent; the bytes of a running slot say nothing yet about its rate. A slot
// in which nothing came counts as zero bytes, and what was queued at its
// beginning is not known and counts as nothing.
type Ring map[int64]*PBFSSlot

// A PBFSSlot is one time slot of an egress port.
type PBFSSlot struct {
	I      Bytes // bytes received for the port
	Marked Bytes // those of PBT-triggering packets
	Q      Bytes // queue length at the beginning
}

// Packet counts a packet in slot n. queue is the egress queue before it.
func (r Ring) Packet(n int64, length, queue Bytes, marked bool) {
	s := r[n]
	if s == nil {
		s = &PBFSSlot{Q: queue}
		r[n] = s
	}
	s.I += length
	if marked {
		s.Marked += length
	}
}

func (r Ring) slot(n int64) PBFSSlot {
	if s := r[n]; s != nil {
		return *s
	}
	return PBFSSlot{}
}

// A Postcard is what a congested switch tells the sender, but for the port's
// rate.
type Postcard struct {
	Ip, Q1                         Bytes
	RecentBytes, RecentMarkedBytes Bytes
}

// Congested is Definition 1, for a PBT-triggering packet in slot n that has
// been counted.
//
// Reading: the recent bytes are those of the last full slots that T_Δ covers,
// and of the running one.
func (r Ring) Congested(c PBFS, n int64) (Postcard, bool) {
	var p Postcard
	first, last := n-int64(c.N), n-1
	for i := first; i <= last; i++ {
		p.Ip += r.slot(i).I // I_before
	}
	p.Ip += int64(c.N) * r.slot(last).I // I_after = N · I_T^N
	p.Q1 = r.slot(first).Q
	for i := n - int64(c.Recent); i <= n; i++ {
		p.RecentBytes += r.slot(i).I
		p.RecentMarkedBytes += r.slot(i).Marked
	}
	return p, p.Ip > c.BDP-p.Q1 // Eq. 1
}
