// SPDX-License-Identifier: Apache-2.0

// Package np_ecn models PCN's congestion point (section 5.1, fig. 7): non-PAUSE
// ECN.
package np_ecn

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "np_ecn", TrueDepth: true,
		V1model: model.Stages{model.Idle: expire, model.Depart: mark}, Tofino: model.Stages{model.Last: markOnTofino}})
}

// NPECN is NP-ECN at one egress port.
type NPECN struct{ PN *int64 }

// Resume is the arrival of a RESUME frame: "Suppose that when one egress port
// of a switch receives a RESUME frame from its downstream node, there are N
// packets in the associated waiting queue. NP-ECN will set its counter PN=N."
func (c NPECN) Resume(waiting int64) { *c.PN = waiting }

// Transmit is the departure of a packet; behind is the queue that it leaves.
// It reports whether the packet is marked: "Each time a packet is transmitted,
// the counter is decremented by one, until all of the N paused packets have
// been transmitted. For these N packets, they will not be marked. And for the
// later packets that have not been paused and correspondingly PN=0, the switch
// will mark them with ECN in the traditional method, with the threshold as
// zero."
func (c NPECN) Transmit(behind int64) (mark bool) {
	if *c.PN > 0 {
		*c.PN--
		return false
	}
	return behind > 0
}

// expire resumes ports whose pause is over: after a RESUME, or after the time of
// the PAUSE.
func expire(s *model.Switch, _ *model.Packet) {
	for port := range s.Ports {
		i := s.QueueCell(port, s.Lossless)
		if t := s.Cell("resume_at", i); *t != 0 && *t <= s.Now {
			c := NPECN{s.Cell("PN", i)}
			if c.Resume(int64(s.Queued(model.Queue{Port: port, Class: s.Lossless}))); *c.PN > 0 {
				s.Note("held up by a pause")
			}
			*t = 0
		}
	}
}

func mark(s *model.Switch, p *model.Packet) {
	if _, emulated := s.Config.Tables["hold"]; emulated {
		// The program itself held back the packets that waited for a RESUME, so none was
		// in the queue: they carry what PN counts.
		if p.Keep["held_back"] == 0 && p.Behind > 0 {
			s.MarkCE(p)
		}
		return
	}
	expire(s, p)
	if c := (NPECN{s.Cell("PN", s.QueueCell(p.OutPort, p.Class))}); c.Transmit(p.Behind) {
		s.MarkCE(p)
	}
}

// markOnTofino counts a packet as paused if it waited longer than the cells ahead
// of it take: a program on a Tofino does not see PFC frames.
func markOnTofino(s *model.Switch, p *model.Packet) {
	if !s.DelayedByPause(p) && p.Behind > 0 {
		s.MarkCE(p)
	}
}
