// SPDX-License-Identifier: Apache-2.0

package cc

import (
	"math"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Swift (Kumar et al., SIGCOMM 2020) keeps the delay of a flow at a target. Below the
// target its window grows by AI packets per round trip. Above it the window falls in
// proportion to the excess, at most once per round trip. Windows below one packet are
// paced.
type Swift struct {
	// Target is the delay that queues may add to the base round trip, before
	// the scaling by FSRange.
	Target  vtime.Time `yaml:"target"`
	AI      float64    `yaml:"ai" limits:"0.."`       // packets per round trip
	Beta    float64    `yaml:"beta" limits:"0.."`     // factor of the multiplicative decrease
	MaxMDF  float64    `yaml:"max_mdf" limits:"0..1"` // greatest decrease at once, as a share of the window
	FSRange vtime.Time `yaml:"fs_range"`              // addition to the target for the smallest windows
	// FSMin and FSMax are windows in packets. Between them the addition to the target
	// falls from FSRange to zero, so that flows with small windows share a queue
	// fairly.
	FSMin float64 `yaml:"fs_min" limits:"0.."`
	FSMax float64 `yaml:"fs_max" limits:"0.."`
}

func (p Swift) or(base Swift) Swift { return overlay(p, base) }

// SwiftDefaults returns the parameters of the paper (sections 3.1, 3.2 and
// 4), with its base target of 25 µs for the queues.
func SwiftDefaults(vtime.Rate) Swift {
	return Swift{
		Target: 25 * vtime.Microsecond, AI: 1, Beta: 0.8, MaxMDF: 0.5,
		FSRange: 50 * vtime.Microsecond, FSMin: 0.1, FSMax: 100,
	}
}

func (p Swift) maker(lowest vtime.Rate) maker {
	return func(f *Flow, _ vtime.Scheduler) Control {
		c := &swift{Swift: &p, f: f, lowest: lowest}
		c.alpha = float64(p.FSRange) / (1/math.Sqrt(p.FSMin) - 1/math.Sqrt(p.FSMax))
		c.least = float64(lowest.Bytes(f.BaseRTT)) / float64(f.MTU)
		c.most = 2*float64(f.Line.Bytes(f.BaseRTT+p.Target))/float64(f.MTU) + 1
		c.set(float64(f.Line.Bytes(f.BaseRTT)) / float64(f.MTU))
		return c
	}
}

type swift struct {
	*Swift
	f           *Flow
	lowest      vtime.Rate
	alpha       float64 // of the target's scaling, ps
	least, most float64 // windows

	window float64 // packets
	acked  int64   // bytes, so far
	rtt    vtime.Time
	cutAt  vtime.Time // of the last decrease
	cut    bool       // there was one
}

var _ Control = (*swift)(nil)

// set sets the window of the flow. A window below a packet becomes a rate.
func (c *swift) set(window float64) {
	c.window = min(max(window, c.least), c.most)
	c.f.Window = max(int64(c.window*float64(c.f.MTU)), 1)
	old := c.f.Rate
	c.f.Rate = c.f.Line
	if c.window < 1 {
		rtt := max(c.rtt, c.f.BaseRTT, 1)
		c.f.Rate = min(max(vtime.Rate(c.window*float64(c.f.MTU)*8*float64(vtime.Second)/float64(rtt)), c.lowest), c.f.Line)
	}
	if c.f.Repace != nil && old != c.f.Rate {
		c.f.Repace(old)
	}
}

// target returns the target round-trip time.
func (c *swift) target() float64 {
	scaled := c.alpha * (1/math.Sqrt(c.window) - 1/math.Sqrt(c.FSMax))
	return float64(c.f.BaseRTT+c.Target) + max(0, min(scaled, float64(c.FSRange)))
}

// Ack implements Control: algorithm 1 of the paper.
func (c *swift) Ack(now vtime.Time, a *Ack) {
	packets := float64(a.Acked-c.acked) / float64(c.f.MTU)
	c.acked = a.Acked
	if a.RTT == 0 {
		return
	}
	c.rtt = a.RTT
	delay, target := float64(a.RTT), c.target()
	switch {
	case delay < target && c.window >= 1:
		c.set(c.window + c.AI*packets/c.window)
	case delay < target:
		c.set(c.window + c.AI*packets)
	case !c.cut || now-c.cutAt >= a.RTT:
		c.cut, c.cutAt = true, now
		c.set(c.window * max(1-c.Beta*(delay-target)/delay, 1-c.MaxMDF))
	}
}

// Restart implements Control.
func (c *swift) Restart(_ vtime.Time, rate vtime.Rate) {
	rtt := max(c.rtt, c.f.BaseRTT)
	c.set(float64(rate.Bytes(rtt)) / float64(c.f.MTU))
	c.f.Rate = rate
}

func (c *swift) Notify(vtime.Time, *Notification) {}
func (c *swift) Sent(vtime.Time, int)             {}
func (c *swift) Stop()                            {}
func (c *swift) Fire(vtime.Time, uint64)          {}
