// SPDX-License-Identifier: Apache-2.0

package cc

import "github.com/pauseless/pauseless/internal/vtime"

// PCN (Cheng et al., NSDI 2020): the receiver reports the receiving rate of a flow,
// and whether the flow itself is congested. The rate of a congested flow is set to the
// receiving rate times 1 − WMin. That of other flows rises slowly at first, then faster.
// Switches mark only packets that PFC has not delayed.
type PCN struct {
	WMin float64 `yaml:"w_min" limits:"0..1"` // least weight of the line rate in an increase
	WMax float64 `yaml:"w_max" limits:"0..1"` // greatest weight of the line rate in an increase
}

func (p PCN) or(base PCN) PCN { return overlay(p, base) }

// PCNDefaults returns the parameters of the paper's section 5.3.
func PCNDefaults(vtime.Rate) PCN { return PCN{WMin: 1.0 / 128, WMax: 0.5} }

// PCNMarked is the share of marked packets from which a receiver considers a
// flow congested (section 5.2).
const PCNMarked = 0.95

func (p PCN) maker(lowest vtime.Rate) maker {
	return func(f *Flow, _ vtime.Scheduler) Control { return &pcn{PCN: &p, lowest: lowest, f: f, w: p.WMin} }
}

type pcn struct {
	*PCN
	lowest vtime.Rate
	f      *Flow
	w      float64
}

var _ Control = (*pcn)(nil)

// Notify implements Control: the paper's algorithm 1.
func (c *pcn) Notify(_ vtime.Time, n *Notification) {
	if n.CE {
		c.f.Rate = min(c.f.Rate, scale(n.Rate, 1-c.WMin, c.lowest, c.f.Line))
		c.w = c.WMin
		return
	}
	c.f.Rate = scale(vtime.Rate(float64(c.f.Rate)*(1-c.w)+float64(c.f.Line)*c.w), 1, c.lowest, c.f.Line)
	c.w = c.w*(1-c.w) + c.WMax*c.w
}

func (c *pcn) Ack(vtime.Time, *Ack)                  {}
func (c *pcn) Sent(vtime.Time, int)                  {}
func (c *pcn) Restart(_ vtime.Time, rate vtime.Rate) { c.f.Rate = rate }
func (c *pcn) Stop()                                 {}
func (c *pcn) Fire(vtime.Time, uint64)               {}
