// SPDX-License-Identifier: Apache-2.0

package cc

import (
	"math"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// HPCC (Li et al., SIGCOMM 2019) computes the utilisation of each link on the path
// from the telemetry records of its switches. It sets rate and window so that the
// utilisation of the busiest link is Eta. It needs telemetry in acknowledgements.
type HPCC struct {
	Eta      float64    `yaml:"eta" limits:"0.."`        // target utilisation
	MaxStage int        `yaml:"max_stage" limits:"-1.."` // additive increases before a multiplicative one; -1: none
	AI       vtime.Rate `yaml:"ai"`                      // additive increase per round trip
	// Unbounded is for flows without a window in HPCC's simulator, which divides queues
	// by the window: any queue is then an infinite utilisation.
	Unbounded bool `yaml:"-" json:"-"`
	// PerRound changes the rate once per round trip, not with each acknowledgement.
	PerRound bool `yaml:"-" json:"-"`
}

func (p HPCC) or(base HPCC) HPCC { return overlay(p, base) }

// HPCCDefaults returns the parameters of the HPCC simulator's run.py: the
// paper's, but without additive stages.
func HPCCDefaults(line vtime.Rate) HPCC {
	return HPCC{Eta: 0.95, MaxStage: -1, AI: 10 * vtime.Mbps * (line / vtime.Gbps) / 25}
}

func (p HPCC) maker(lowest vtime.Rate) maker {
	return func(f *Flow, _ vtime.Scheduler) Control {
		return &hpcc{reference: reference{HPCC: &p, lowest: lowest, f: f, current: f.Rate}, u: 1}
	}
}

// hop is the record of a link.
type hop struct {
	time  uint32 // ns, 24 bits
	bytes uint32 // in packet.INTByteUnit, 20 bits
	queue int    // bytes
}

// reference is the rate of a flow as of the last round trip, from which every
// acknowledgement computes a new one.
type reference struct {
	*HPCC
	lowest vtime.Rate
	f      *Flow

	current vtime.Rate
	stage   int   // additive increases since the last multiplicative one
	update  int64 // bytes sent when current was last set
}

// adapt sets the flow's rate for the utilisation of the busiest link, and at the end
// of a round trip the reference: function ComputeWind of the paper's algorithm 1.
func (c *reference) adapt(u float64, round bool) {
	var rate vtime.Rate
	var stage int
	if over := u / c.Eta; math.IsNaN(over) {
		rate = c.f.Line // as a conversion of NaN in the simulator; see Unbounded
	} else if over >= 1 || c.stage >= c.MaxStage {
		rate = vtime.Rate(min(float64(c.current)/over, float64(c.f.Line))) + c.AI
	} else {
		rate, stage = c.current+c.AI, c.stage+1
	}
	rate = min(max(rate, c.lowest), c.f.Line)
	old := c.f.Rate
	c.f.Rate = rate
	c.f.Repace(old)
	if round {
		c.current, c.stage = rate, stage
	}
}

func (c *reference) Notify(vtime.Time, *Notification)      {}
func (c *reference) Sent(vtime.Time, int)                  {}
func (c *reference) Restart(_ vtime.Time, rate vtime.Rate) { c.f.Rate, c.current = rate, rate }
func (c *reference) Stop()                                 {}
func (c *reference) Fire(vtime.Time, uint64)               {}

type hpcc struct {
	reference
	u     float64 // average utilisation of the busiest link
	begun bool
	path  uint16
	hops  int
	last  [packet.INTHops]hop
}

var _ Control = (*hpcc)(nil)

// Ack implements Control: function MeasureInflight of the paper's algorithm 1. It
// skips a record without progress.
func (c *hpcc) Ack(_ vtime.Time, a *Ack) {
	if a.INT == nil || a.INT.Hops() == 0 {
		return
	}
	n := a.INT.Hops()
	if !c.begun || n != c.hops || a.INT.Path() != c.path {
		// The first record, or another path: there is no previous record.
		for i := range n {
			c.last[i] = readHop(a.INT.Hop(i))
		}
		c.begun, c.hops, c.path, c.update = true, n, a.INT.Path(), a.Sent
		return
	}
	round := a.Acked > c.update
	if c.PerRound && !round {
		return
	}
	bdp := float64(c.f.Line.Bytes(c.f.BaseRTT))
	var busiest float64
	var span vtime.Time
	any := false // record of an unbounded flow
	for i := range n {
		record := a.INT.Hop(i)
		now, old := readHop(record), c.last[i]
		dt := (now.time - old.time) & (1<<24 - 1)
		rate := float64(record.Rate())
		if rate == 0 {
			rate = float64(c.f.Line)
		}
		if dt == 0 || dt >= 1<<23 {
			continue // the same time, or an older packet
		}
		sent := float64((now.bytes-old.bytes)&(1<<20-1)) * packet.INTByteUnit * 8
		u := sent/(float64(dt)*1e-9)/rate + float64(min(now.queue, old.queue))*float64(c.f.Line)/rate/bdp
		if c.Unbounded {
			u, any = math.Inf(min(now.queue, old.queue)-1), true
		}
		if u > busiest {
			busiest, span = u, vtime.Time(dt)*vtime.Nanosecond
		}
		c.last[i] = now
	}
	switch {
	case span > 0:
		w := float64(min(span, c.f.BaseRTT)) / float64(c.f.BaseRTT)
		c.u = c.u*(1-w) + busiest*w
		c.adapt(c.u, round)
	case any:
		c.adapt(c.u, round)
	}
	if round && a.Sent > c.update {
		c.update = a.Sent
	}
}

func readHop(h packet.INTHop) hop { return hop{h.Time(), h.TxBytes(), h.Queue()} }
