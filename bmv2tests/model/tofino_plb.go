// SPDX-License-Identifier: Apache-2.0

package model

// PLB as a Tofino has it (docs/tofino.md): the best path as news of paths come
// in, the fastest of the others in a window of time, pauses by what does not
// leave a port, and waits held against what egress last reported.

// TofinoKickedOut is the rank of a path that is kicked out, below all others.
const TofinoKickedOut = 1<<32 - 1

// TofinoPLBRank is Algorithm 2's order of the paths in one number, the smaller
// the better: the state in the upper two bits, then the round-trip time, or
// what the load lacks to a full one.
func TofinoPLBRank(p PLBPath, rttLow Time, full int64) uint32 {
	switch state := p.State(rttLow, full); {
	case !p.Active:
		return TofinoKickedOut
	case state == NonCongested:
		return uint32(p.RTT)
	case state == Undetermined:
		return 1<<30 | uint32(255-p.Util)
	default:
		return 2<<30 | uint32(p.RTT)
	}
}

// TofinoReroutes is line 3 of Algorithm 2 but for new flows: the path is
// congested or kicked out.
func TofinoReroutes(rank uint32) bool { return rank >= 2<<30 }

// News tells of a path: it becomes the best one if it is no worse, or if it is
// the best and has a new rank. It reports whether it is.
func (b *TofinoBest) News(path Path, rank uint32) bool {
	if rank > b.Value && b.Path != uint32(path) {
		return false
	}
	*b = TofinoBest{rank, uint32(path)}
	return true
}

// PLB is the best path of n. If all are kicked out, or it is none of these any
// more, it is one at random until there are news.
func (b *TofinoBest) PLB(drawn Path, n int) Path {
	if b.Value == TofinoKickedOut || b.Path >= uint32(n) {
		*b = TofinoBest{TofinoKickedOut, uint32(drawn)}
	}
	return Path(b.Path)
}

// TofinoOther is the round-trip time of the fastest path but the best one, in a
// window of time.
type TofinoOther struct{ RTT, Window uint32 }

// Measured tells of a path that is not the best one.
func (o *TofinoOther) Measured(rtt, window uint32) {
	if o.Window != window || rtt < o.RTT {
		*o = TofinoOther{rtt, window}
	}
}

// Tolerable is t_td: what the chosen path is faster than the others.
func (o *TofinoOther) Tolerable(chosen uint32) uint32 { return o.RTT - min(o.RTT, chosen) }

// A port seems to be paused if packets have come for it for TofinoSilent, none
// later than TofinoRest after another, and none was heard of that has left.
const (
	TofinoSilent = 4000
	TofinoRest   = 2000
)

// TofinoSilence is since when packets come for a port and none is heard of
// that has left, and when the last one came.
type TofinoSilence struct{ Since, Last uint32 }

// Sent tells of a packet for the port, and reports whether that seems paused.
func (s *TofinoSilence) Sent(now uint32) bool {
	rested := now-s.Last > TofinoRest
	s.Last = now
	if rested {
		s.Since = now
		return false
	}
	return now-s.Since > TofinoSilent
}

// Heard tells that packets leave the port.
func (s *TofinoSilence) Heard(now uint32) { s.Since = now }

// TofinoExpected is what a packet may expect to wait at a port, as egress last
// reported it.
type TofinoExpected uint32

// Waits is line 5 of Algorithm 1. What comes after the report counts as
// packets of 1024 bytes.
func (e *TofinoExpected) Waits(ttd, packetTime uint32) bool {
	waits := ttd >= uint32(*e)
	*e += TofinoExpected(packetTime)
	return waits
}

// Held is the pause in lines 4 and 7 of Algorithm 1: a packet was held up if it
// waited longer by TofinoHeld than the cells ahead of it take.
func (s *Sojourn) Held(waited, ahead, cellTime uint32) bool {
	return waited > ahead*cellTime+TofinoHeld
}

// TofinoReport is what egress tells ingress to expect: t_avgST or t_pd, which
// is what the packet leaves behind.
func (s *Sojourn) TofinoReport(behind, cellTime uint32) uint32 {
	return max(uint32(s.Avg), behind*cellTime)
}

// TofinoLoadOf255 gives the load of a link in twentieths of 255: of the bytes
// of a window, and of what the link can send in one, as TofinoLevel does in
// eighths.
func TofinoLoadOf255(bytes, full uint32) uint8 {
	const parts = 20
	return uint8(tofinoPart(bytes, full, parts) * 255 / parts)
}
