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
	rate vtime.Rate
	end  vtime.Rate // at which it ends
	next int64      // the round trip ends when this packet is acknowledged
}

// slowStart starts with a number of packets per round trip.
func (s *sender) slowStart(now vtime.Time, packets int) {
	ss := &s.slow
	rtt := max(s.BaseRTT, 1)
	rate := vtime.Rate(float64(packets*s.full*8) * float64(vtime.Second) / float64(rtt))
	if rate >= s.Rate {
		return
	}
	end := s.Rate
	if s.slowly {
		end = max(end, ss.end)
	}
	s.slowly, ss.end, ss.next = true, end, s.next
	s.setSlow(now, rate)
}

// setSlow sets the flow's rate.
func (s *sender) setSlow(now vtime.Time, rate vtime.Rate) {
	s.slow.rate = max(rate, s.h.kit.Lowest)
	old := s.Rate
	s.ctl.Restart(now, s.slow.rate)
	s.repace(old)
}

// slowAcked ends the slow start depending on congestion control's reaction to an
// acknowledgement or notification.
func (s *sender) slowAcked(now vtime.Time, old vtime.Rate, marked bool) {
	ss := &s.slow
	switch {
	case marked || s.Rate < old:
		s.slowly = false
	case s.una > ss.next:
		ss.next = s.next
		if 2*ss.rate >= ss.end {
			s.slowly = false
			s.setSlow(now, ss.end)
			return
		}
		s.setSlow(now, 2*ss.rate)
	}
}
