// SPDX-License-Identifier: Apache-2.0

package model

// PLB: load balancing in PFC-enabled datacenter networks.

// A PathState is the state of a path (section 3.2).
type PathState int

// Path states.
const (
	NonCongested PathState = iota
	Congested
	Undetermined // PFC pauses it
)

// A PLBPath is what the source leaf knows of a path.
type PLBPath struct {
	RTT    Time // t_RTT
	Util   int64
	Active bool // p_active
}

// State classifies a path: "small RTT (i.e., less than RTT_low)" is not
// congested; "large RTT and the link utilization is equal to 1" is; with a
// large RTT and utilisation below 1, PFC pauses it.
//
// Readings: RTT = RTT_low is large. A measured utilisation of 95 % is 1: full
// is the value of Util from which a link counts as fully used.
func (p PLBPath) State(rttLow Time, full int64) PathState {
	switch {
	case p.RTT < rttLow:
		return NonCongested
	case p.Util >= full:
		return Congested
	default:
		return Undetermined
	}
}

// Reroutes reports line 3 of Algorithm 2: "a new flow ∥ p is congested or
// kicked out".
func Reroutes(newFlow bool, p PLBPath, rttLow Time, full int64) bool {
	return newFlow || p.State(rttLow, full) == Congested || !p.Active
}

// Reroute is Algorithm 2, lines 4 to 14.
//
// Readings: of equal paths the first in turn from a given one is taken. If
// every path is kicked out, the packet must go somewhere: they are equal.
func Reroute(paths []PLBPath, from Path, rttLow Time, full int64) Path {
	choose := func(in func(PLBPath) bool, better func(a, b PLBPath) bool) Path {
		c := -1
		for i := range paths {
			i := (from + i) % len(paths)
			if in(paths[i]) && (c < 0 || better(paths[i], paths[c])) {
				c = i
			}
		}
		return c
	}
	active := func(state PathState) func(PLBPath) bool {
		return func(p PLBPath) bool { return p.Active && p.State(rttLow, full) == state }
	}
	lowRTT := func(a, b PLBPath) bool { return a.RTT < b.RTT }
	highUtil := func(a, b PLBPath) bool { return a.Util > b.Util }
	if p := choose(active(NonCongested), lowRTT); p >= 0 { // lines 4, 5
		return p // line 6
	}
	if p := choose(active(Undetermined), highUtil); p >= 0 { // lines 8, 9
		return p // line 10
	}
	if p := choose(active(Congested), lowRTT); p >= 0 { // line 12
		return p // line 13
	}
	return from
}

// Tolerable is t_td as the source leaf writes it: "the delay difference
// between the optimal and sub-optimal paths".
//
// Reading: the sub-optimal path is the fastest of the others that are active.
// If it is faster than the chosen one there is nothing to tolerate.
func Tolerable(paths []PLBPath, chosen Path) Time {
	t, found := Time(0), false
	for i, p := range paths {
		if i != chosen && p.Active && (!found || p.RTT < t) {
			t, found = p.RTT, true
		}
	}
	return max(0, t-paths[chosen].RTT)
}

// A Sojourn is what a switch keeps for Algorithm 1.
type Sojourn struct {
	Avg Time // t_avgST
}

// TPD is the minimum queueing delay: what is queued at the egress port, at
// the link's rate.
func TPD(queue Bytes, byteTime Ratio) Time { return byteTime.Times(queue) }

// Waits is line 5 of Algorithm 1, for a packet whose egress port is paused.
//
// Reading: the line says t_td < max(t_avgST, t_pd), the prose of section 3.3
// (tolerate a pause that is short against other paths) and of the lines after
// it the opposite. The prose is right: with the line as printed, a packet that
// can tolerate nothing would wait and one that can tolerate anything would not.
func (s *Sojourn) Waits(ttd, tpd Time) bool { return ttd >= max(s.Avg, tpd) }

// Dequeued is lines 7 and 8, for a packet that waited: it returns the new
// t_td.
//
// Readings: t'_avgST in line 8 is the sojourn just seen, else nothing would
// ever be measured. What a packet can tolerate does not become negative.
func (s *Sojourn) Dequeued(ttd, tEnqueue, tDequeue Time, alphaShift uint) Time {
	sojourn := tDequeue - tEnqueue
	s.Avg = s.Avg - s.Avg>>alphaShift + sojourn>>alphaShift // line 8
	return max(0, ttd-sojourn)                              // line 7
}
