// SPDX-License-Identifier: Apache-2.0

package cc

import "github.com/pauseless/pauseless/internal/vtime"

// DCTCP (Alizadeh et al., SIGCOMM 2010), with a rate in place of a window, as
// in RDMA simulators: the rate falls by half the share of marked
// packets, at most once per round trip. It needs echoes of marks in acknowledgements.
type DCTCP struct {
	G  float64    `yaml:"g" limits:"0..1"` // weight of a round trip's share of marks
	AI vtime.Rate `yaml:"ai"`              // added each round trip
}

func (p DCTCP) or(base DCTCP) DCTCP { return overlay(p, base) }

// DCTCPDefaults returns the parameters of the HPCC simulator's run.py.
func DCTCPDefaults(vtime.Rate) DCTCP { return DCTCP{G: 1.0 / 16, AI: 615 * vtime.Mbps} }

func (p DCTCP) maker(lowest vtime.Rate) maker {
	return func(f *Flow, _ vtime.Scheduler) Control {
		return &dctcp{DCTCP: &p, lowest: lowest, f: f, alpha: 1}
	}
}

type dctcp struct {
	*DCTCP
	lowest vtime.Rate
	f      *Flow

	alpha   float64
	marks   int64 // in this round trip
	packets int64 // in this round trip
	update  int64 // bytes sent at its start
	begun   bool
	cut     bool  // in this round trip
	cutAt   int64 // bytes sent at the cut
}

var _ Control = (*dctcp)(nil)

// Ack implements Control.
func (c *dctcp) Ack(_ vtime.Time, a *Ack) {
	if a.Marked {
		c.marks++
	}
	round := !c.begun || a.Acked > c.update
	if round {
		if c.begun {
			share := min(float64(c.marks)/float64(c.packets), 1)
			c.alpha = (1-c.G)*c.alpha + c.G*share
			c.marks = 0
		}
		c.begun, c.update = true, a.Sent
		c.packets = (a.Sent-a.Acked)/int64(c.f.MTU) + 1
	}
	if c.cut && a.Acked > c.cutAt {
		c.cut = false
	}
	if a.Marked && !c.cut {
		c.f.Rate = scale(c.f.Rate, 1-c.alpha/2, c.lowest, c.f.Line)
		c.cut, c.cutAt = true, a.Sent
	}
	if round && !c.cut {
		c.f.Rate = min(c.f.Rate+c.AI, c.f.Line)
	}
}

func (c *dctcp) Notify(vtime.Time, *Notification)      {}
func (c *dctcp) Sent(vtime.Time, int)                  {}
func (c *dctcp) Restart(_ vtime.Time, rate vtime.Rate) { c.f.Rate = rate }
func (c *dctcp) Stop()                                 {}
func (c *dctcp) Fire(vtime.Time, uint64)               {}
