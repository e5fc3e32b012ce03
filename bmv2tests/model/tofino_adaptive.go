// SPDX-License-Identifier: Apache-2.0

package model

// RLB's section IV as a Tofino has it (docs/tofino.md): windows of fixed
// length, round trips by classes, and one packet at a time as evidence.

// Arrive counts a packet of an ingress queue without a time to look: each is
// told the queue that it makes. A queue that nothing came for in 10 ms was
// empty, unless what comes are departures: bytes are below zero for those.
func (q *TofinoQueue) Arrive(now, bytes uint32) uint32 {
	if now-q.LookedAt > tofinoForget && int32(bytes) >= 0 {
		q.Bytes = 0
	}
	q.Bytes += bytes
	q.LookedAt = now
	return q.Bytes
}

// TofinoEq5 is Eq. 5 for a window of 1024 ns, in which others send inflow, in
// packets of 2^mtu bytes.
func TofinoEq5(qPFC, queue, inflow uint32, mtu uint) int64 {
	return max(0, int64(qPFC)-int64(int32(queue))-int64(inflow)) >> mtu
}

// TofinoWindow counts the packets that came back in a window of 1024 ns.
type TofinoWindow struct{ Packets, Number uint32 }

// Full reports whether a window's budget is used up by what came back before
// in it, and counts a packet that comes back.
func (w *TofinoWindow) Full(now uint32, budget int64, back bool) bool {
	const windowBits = 10
	number := now >> windowBits
	before := uint32(0)
	if w.Number == number {
		before = w.Packets
	}
	if back {
		*w = TofinoWindow{before + 1, number}
	}
	return int64(before) >= budget
}

// SlowClasses is how many classes of long round trips there are: longer than
// the base RTT by more than so many times the time of a recirculation.
const SlowClasses = 3

var slowTrips = [SlowClasses]int64{1, 4, 16}

// TofinoSlow has the paths of each class, the longest last. A path that is in
// one is in those below it too, once it was measured twice.
type TofinoSlow [SlowClasses]uint32

// TofinoTrip is what is learnt of a path, by its bit, from a round trip that is
// late for some classes. Half of the packets, by bit 3 of their time, put the
// path into those, the others take it out of the rest.
func TofinoTrip(now, bit uint32, late [SlowClasses]bool) (classes TofinoSlow, lengthens bool) {
	lengthens = now>>3&1 == 1
	for i := range late {
		if late[i] == lengthens {
			classes[i] = bit
		}
	}
	return classes, lengthens
}

// Worth is Eq. 6's right side for two paths, less the recirculation that is
// yet to come, which takes trc: what another path is slower by than one that
// is not slow. It reports false if the other is not slow, or both are.
func (s *TofinoSlow) Worth(path, other, trc uint32) (worth int64, slower bool) {
	for i := SlowClasses - 1; i >= 0; i-- {
		if s[i]&other != 0 && s[0]&path == 0 {
			return int64(trc) * (slowTrips[i] - 1), true
		}
	}
	return 0, false
}

// TofinoSuspect is Algorithm 2's potential port, and the window of 65 µs in
// which it was one.
type TofinoSuspect struct{ Port, Window uint32 }

// Evidence is a packet that recirculated for a port more often than the
// average allows. It reports whether the port is faulty: it was suspected in
// the window before, and no other since.
func (s *TofinoSuspect) Evidence(now, port uint32) (faulty bool) {
	const windowBits = 16
	window := now >> windowBits
	faulty = s.Port == port && s.Window == window-1
	*s = TofinoSuspect{port, window}
	return faulty
}
