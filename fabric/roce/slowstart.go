// SPDX-License-Identifier: Apache-2.0

package roce

import "github.com/pauseless/pauseless/internal/vtime"

// SlowStart makes new flows start like TCP flows (RFC 5681): with Packets in the first
// round trip (RFC 6928), and twice as many in each further one. It ends when
// congestion control lowers the rate, when a packet is marked or lost, and at the rate
// of the link. PB-FS's paper compares with it (section V-C, SS).
type SlowStart struct {
	On      bool `yaml:"on"`      // flows begin with slow start
	Packets int  `yaml:"packets"` // in the first round trip
}

// slowStart is the slow start of a flow, or its slow restart after a loss. It
// sets a rate instead of a window: the packets of a window are spread over the
// round trip.
type slowStart struct {
	s    *sender
	on   bool
	rate vtime.Rate
	end  vtime.Rate // at which it ends
	next int64      // the round trip ends when this packet is acknowledged
}

// begin starts with a number of packets per round trip.
func (ss *slowStart) begin(now vtime.Time, packets int) {
	s := ss.s
	rtt := max(s.BaseRTT, 1)
	rate := vtime.Rate(float64(packets*s.full*8) * float64(vtime.Second) / float64(rtt))
	if rate >= s.Rate {
		return
	}
	end := s.Rate
	if ss.on {
		end = max(end, ss.end)
	}
	ss.on, ss.end, ss.next = true, end, s.next
	ss.set(now, rate)
}

// set sets the flow's rate.
func (ss *slowStart) set(now vtime.Time, rate vtime.Rate) {
	s := ss.s
	ss.rate = max(rate, s.h.kit.Lowest)
	old := s.Rate
	s.ctl.Restart(now, ss.rate)
	s.repace(old)
}

// acked ends it depending on congestion control's reaction to an
// acknowledgement or notification.
func (ss *slowStart) acked(now vtime.Time, old vtime.Rate, marked bool) {
	s := ss.s
	switch {
	case !ss.on:
	case marked || s.Rate < old:
		ss.on = false
	case s.una > ss.next:
		ss.next = s.next
		if 2*ss.rate >= ss.end {
			ss.on = false
			ss.set(now, ss.end)
			return
		}
		ss.set(now, 2*ss.rate)
	}
}
