// SPDX-License-Identifier: Apache-2.0

package model

import "math"

// RLB as a Tofino has it (docs/tofino.md): departures are told by egress, the
// prediction looks two intervals ahead, the other path is the next free one in
// turn, and the time of a recirculation is measured.

// TofinoQueue is an ingress queue.
type TofinoQueue struct{ Bytes, Last uint32 }

// Arrive counts a packet. A queue without arrivals for 10 ms is empty.
func (q *TofinoQueue) Arrive(now, bytes uint32) uint32 {
	if now-q.Last > 10_000_000 {
		q.Bytes = 0
	}
	q.Bytes += bytes
	q.Last = now
	return q.Bytes
}

// Depart takes off what egress tells of.
func (q *TofinoQueue) Depart(bytes uint32) uint32 {
	q.Bytes -= min(q.Bytes, bytes)
	return q.Bytes
}

// TofinoTellAgain is the time between two copies about the same queue: they
// are further apart than that, in nanoseconds.
const TofinoTellAgain = 1000

// TofinoDeparted is what egress has to tell of departures.
type TofinoDeparted struct{ Bytes, ToldAt uint32 }

// Depart counts a packet and returns what is told: what left before it.
func (d *TofinoDeparted) Depart(now, bytes uint32) (told uint32) {
	if now-d.ToldAt > TofinoTellAgain {
		told = d.Bytes
		*d = TofinoDeparted{bytes, now}
		return told
	}
	d.Bytes += bytes
	return 0
}

// TofinoDue reports whether an interval has passed since last, which is now
// then.
func TofinoDue(last *uint32, now, interval uint32) bool {
	if int32(*last-(now-interval)) > 0 {
		return false
	}
	*last = now
	return true
}

// TofinoPredictor decides about warnings.
type TofinoPredictor struct{ Floor, WarnAt, XOFF uint32 }

// Warns reports whether a queue calls for a warning that had before bytes when
// it was last looked at: it is long, or, not below the floor, will be at XOFF
// after two more intervals.
func (p TofinoPredictor) Warns(before, queue uint32) bool {
	growth := max(int64(queue)-int64(before), 0)
	return queue >= p.WarnAt || queue >= p.Floor && int64(queue)+2*growth >= int64(p.XOFF)
}

// TofinoTime is a time and when it was measured.
type TofinoTime struct{ Value, At uint32 }

// Since returns the time if it was measured since then, and 0 otherwise.
func (t TofinoTime) Since(then uint32) uint32 {
	if int32(t.At-then) >= 0 {
		return t.Value
	}
	return 0
}

// TofinoAlg1 is algorithm 1 for a packet with n paths whose base chose one.
// slower reports whether a path's round-trip time is longer than that.
func TofinoAlg1(path Path, n int, warned func(Path) bool, rtt, trc uint32, slower func(q Path, than uint32) bool, mayPass bool) Decision {
	if !warned(path) {
		return Decision{Path: path, Flag: Direct}
	}
	other := path
	for q := InTurn(path, n); q != path; q = InTurn(q, n) {
		if !warned(q) {
			other = q
			break
		}
	}
	if other == path { // all are warned
		return Decision{Path: path, Flag: Direct, Warned: true}
	}
	limit := uint32(math.MaxUint32) // a path that nothing is known of is no slower than others
	if rtt != 0 && uint64(rtt)+uint64(trc) < math.MaxUint32 {
		limit = rtt + trc
	}
	switch {
	case !slower(other, limit):
		return Decision{Path: other, Flag: Rerouted}
	case !mayPass:
		return Decision{Path: path, Flag: Direct, Warned: true}
	}
	return Decision{Path: path, Flag: Recirculated}
}
