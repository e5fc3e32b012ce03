// SPDX-License-Identifier: Apache-2.0

package model

// RLB as a Tofino has it (docs/tofino.md): a queue is held against one
// threshold, egress tells of departures, warnings of a window of time run out
// together, a path's round trips are slow or not, and the other path is the
// next free one in turn.

// TofinoTellAgain is the time between two copies about the same queue: they
// are further apart than that, in nanoseconds.
const TofinoTellAgain = 1000

// TofinoQueue is an ingress queue and when it was last looked at.
type TofinoQueue struct{ Bytes, LookedAt uint32 }

// Count adds bytes, below zero for departures, and returns the queue if it is
// time to look at it, zero otherwise. A queue that nobody has looked at for
// 10 ms was empty.
func (q *TofinoQueue) Count(now, bytes, interval uint32) uint32 {
	since := now - q.LookedAt
	if since > 10_000_000 {
		q.Bytes = 0
	}
	q.Bytes += bytes
	if since <= interval {
		return 0
	}
	q.LookedAt = now
	return q.Bytes
}

// TofinoWarns reports whether a queue is beyond the threshold.
func TofinoWarns(queue, threshold uint32) bool { return int32(threshold-queue) < 0 }

// TofinoDeparted is what egress has to tell of departures, below zero.
type TofinoDeparted struct{ Bytes, ToldAt uint32 }

// Depart counts a packet and returns what is told: what left before it.
func (d *TofinoDeparted) Depart(now, bytes uint32) (told uint32) {
	if now-d.ToldAt > TofinoTellAgain {
		told = d.Bytes
		*d = TofinoDeparted{-bytes, now}
		return told
	}
	d.Bytes -= bytes
	return 0
}

// TofinoWarnings has the start of a window of time in its upper bits, and in
// its lower eight the paths that were warned of in it, the first at the left.
type TofinoWarnings uint32

// Warn notes a warning. Those of earlier windows are over then.
func (w *TofinoWarnings) Warn(now, window, path uint32) {
	mark := now&^(window-1) | path
	if int32(uint32(*w)-mark) > -256 {
		*w |= TofinoWarnings(mark)
	} else {
		*w = TofinoWarnings(mark)
	}
}

// Paths returns those that are warned of now: warnings hold from the start of
// their window on.
func (w TofinoWarnings) Paths(now, hold uint32) uint32 {
	if now-uint32(w) <= hold {
		return uint32(w) & 0xff
	}
	return 0
}

// TofinoAlg1 is algorithm 1 for a packet with n paths whose base chose one: it
// waits if the other path is slower than its own, and it may.
func TofinoAlg1(path Path, n int, warned, slower, mayPass func(Path) bool) Decision {
	if !warned(path) {
		return Decision{Path: path, Flag: Direct}
	}
	for q := InTurn(path, n); q != path; q = InTurn(q, n) {
		switch {
		case warned(q):
			continue
		case !slower(q):
			return Decision{Path: q, Flag: Rerouted}
		case !mayPass(q):
			return Decision{Path: path, Flag: Direct, Warned: true}
		}
		return Decision{Path: path, Flag: Recirculated}
	}
	return Decision{Path: path, Flag: Direct, Warned: true}
}
