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

// tofinoForget is after how long an ingress queue counts as empty.
const tofinoForget = 10_000_000

// Count adds bytes, below zero for departures, and returns the queue if it is
// time to look at it, zero otherwise. A queue that nobody has looked at for
// 10 ms was empty.
func (q *TofinoQueue) Count(now, bytes, interval uint32) uint32 {
	since := now - q.LookedAt
	if since > tofinoForget {
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

// Depart counts a packet and returns what is told: what left before it, unless
// that is 10 ms ago and its queue is forgotten.
func (d *TofinoDeparted) Depart(now, bytes uint32) (told uint32) {
	if since := now - d.ToldAt; since > TofinoTellAgain {
		if since <= tofinoForget {
			told = d.Bytes
		}
		*d = TofinoDeparted{-bytes, now}
		return told
	}
	d.Bytes -= bytes
	return 0
}

// TofinoHeard is what was heard of the paths to a leaf, a bit each, in a window
// of time that began with the first of it: in its lowest bits the paths that
// were warned of, the first at the left, above them those that are slow. All
// of it runs out together.
type TofinoHeard struct{ Paths, Since uint32 }

// Warn notes a warning. What was heard in an earlier window is over then.
func (h *TofinoHeard) Warn(now, window, bits uint32) { h.note(now, window, bits) }

// Long notes that a path is slow. It begins a window if all of the earlier one
// has run out.
func (h *TofinoHeard) Long(now, hold, bits uint32) { h.note(now, hold, bits) }

func (h *TofinoHeard) note(now, after, bits uint32) {
	if now-h.Since > after {
		*h = TofinoHeard{bits, now}
	} else {
		h.Paths |= bits
	}
}

// Short notes that a path is slow no longer.
func (h *TofinoHeard) Short(bits uint32) { h.Paths &^= bits }

// Look returns what is known of the paths now: it holds from the beginning of
// the window on.
func (h TofinoHeard) Look(now, hold uint32) uint32 {
	if now-h.Since <= hold {
		return h.Paths
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
