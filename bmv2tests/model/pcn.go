// SPDX-License-Identifier: Apache-2.0

package model

// NPECN is PCN's congestion point at one egress port (section 5.1, fig. 7):
// non-PAUSE ECN.
type NPECN struct {
	PN int64
}

// Resume is the arrival of a RESUME frame: "Suppose that when one egress port
// of a switch receives a RESUME frame from its downstream node, there are N
// packets in the associated waiting queue. NP-ECN will set its counter PN=N."
func (c *NPECN) Resume(waiting int64) { c.PN = waiting }

// Transmit is the departure of a packet; behind is the queue that it leaves.
// It reports whether the packet is marked: "Each time a packet is transmitted,
// the counter is decremented by one, until all of the N paused packets have
// been transmitted. For these N packets, they will not be marked. And for the
// later packets that have not been paused and correspondingly PN=0, the switch
// will mark them with ECN in the traditional method, with the threshold as
// zero."
func (c *NPECN) Transmit(behind int64) (mark bool) {
	if c.PN > 0 {
		c.PN--
		return false
	}
	return behind > 0
}

// PCNRate is PCN's reaction point (Algorithm 1). Rates are in any unit.
type PCNRate struct {
	SendRate, LineRate float64
	W, WMin, WMax      float64
}

// CNP is lines 4 to 11 of Algorithm 1.
func (r *PCNRate) CNP(ce bool, recRate float64) {
	if ce { // line 4
		r.SendRate = min(r.SendRate, recRate*(1-r.WMin)) // line 6
		r.W = r.WMin                                     // line 7
	} else {
		r.SendRate = r.SendRate*(1-r.W) + r.LineRate*r.W // line 10
		r.W = r.W*(1-r.W) + r.WMax*r.W                   // line 11
	}
}
