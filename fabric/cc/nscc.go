// SPDX-License-Identifier: Apache-2.0

package cc

import "github.com/pauseless/pauseless/internal/vtime"

// NSCC is the sender's congestion control of Ultra Ethernet (UEC specification 1.0,
// network signal congestion control): a window in bytes on the link. The mark and the
// delay of an acknowledged packet decide together: without a mark the window grows, in
// proportion to what the delay is below the target, or slowly if it is above; with a
// mark and a long average delay it falls. After trimmed packets or very long delays it
// falls at once to what arrived in the last round trip (quick adapt).
// Constants are scaled by the bandwidth-delay product, relative to 100 Gb/s and 12 µs.
type NSCC struct {
	// Target is the queueing delay aimed at. Zero: the base round trip, or 0.75 of it if
	// the switches trim.
	Target vtime.Time `yaml:"target"`
	// MaxWindow is the greatest window, and the first one, in bandwidth-delay products.
	MaxWindow float64 `yaml:"max_window" limits:"0.."`
	// Fair, Proportional and Eta are what a window grows per round trip, in packets at the
	// reference: while the delay is above the target, per unit of the delay below it, and
	// always. Fast is the share of the received bytes that is added without any delay.
	Fair         float64 `yaml:"fair" limits:"0.."`
	Proportional float64 `yaml:"proportional" limits:"0.."`
	Eta          float64 `yaml:"eta" limits:"0.."`
	Fast         float64 `yaml:"fast" limits:"0.."`
	Gamma        float64 `yaml:"gamma" limits:"0.."`    // factor of the multiplicative decrease
	Average      float64 `yaml:"average" limits:"0..1"` // weight of a new delay in the average
	// QuickGate is the power of two by which what arrived in a round trip must be below
	// the greatest window for quick adapt.
	QuickGate int `yaml:"quick_gate" limits:"0.."`

	// Trims is true if the network's switches trim. The fabric sets it.
	Trims bool `yaml:"-" json:"-"`
}

func (p NSCC) or(base NSCC) NSCC { return overlay(p, base) }

// NSCCDefaults returns the parameters of the specification as in the public simulator
// (ultraethernet/uet-htsim, uec.cpp).
func NSCCDefaults() NSCC {
	return NSCC{MaxWindow: 1.5, Fair: 5, Proportional: 4, Eta: 0.15, Fast: 0.25, Gamma: 0.8, Average: 0.0125, QuickGate: 3}
}

// The reference network that constants are given for, and the delay below which a queue
// counts as empty.
const (
	nsccRate  = 100 * vtime.Gbps
	nsccRTT   = 12 * vtime.Microsecond
	nsccEmpty = vtime.Microsecond
)

func (p NSCC) maker(credit bool) maker {
	return func(f *Flow, _ vtime.Scheduler) Control {
		c := &nscc{NSCC: &p, f: f, credit: credit, network: float64(f.BaseRTT)}
		c.target = float64(p.Target)
		if c.target == 0 {
			c.target = c.network
			if p.Trims {
				c.target *= 0.75
			}
		}
		scale := float64(f.Line.Bytes(f.BaseRTT)) / float64(nsccRate.Bytes(nsccRTT))
		mss := float64(f.MTU)
		c.alpha = p.Proportional * mss * scale / float64(nsccRTT)
		c.fair, c.eta, c.fast = p.Fair*mss*scale, p.Eta*mss*scale, p.Fast*scale
		c.setBase(f.BaseRTT)
		c.window = c.most
		c.f.Window = int64(c.window)
		return c
	}
}

type nscc struct {
	*NSCC
	f       *Flow
	credit  bool    // receivers grant credit, too
	network float64 // base round trip at the start, ps
	target  float64 // ps
	// per byte and ps, per byte, per round trip, and per byte
	alpha, fair, eta, fast float64

	base         float64 // round trip, ps
	most, window float64 // bytes
	average      float64 // delay, ps

	achieved, received, ignored, ignore float64 // bytes
	inc                                 float64 // bytes squared
	quickEnd                            vtime.Time
	trigger                             bool // quick adapt after a trimmed packet
	empty                               float64
	growing                             bool // by Fast
	adjusted, cut                       vtime.Time
}

var (
	_ Control = (*nscc)(nil)
	_ Loser   = (*nscc)(nil)
)

func (c *nscc) setBase(rtt vtime.Time) {
	c.base = float64(rtt)
	c.most = c.MaxWindow * float64(c.f.Line.Bytes(rtt))
}

// least is the least window, a packet.
func (c *nscc) least() float64 { return float64(c.f.Packet) }

func (c *nscc) bound() {
	c.window = min(max(c.window, c.least()), c.most)
	c.f.Window = int64(c.window)
}

// learn takes a round-trip time as a sample of the delay, which it returns.
func (c *nscc) learn(rtt vtime.Time, marked bool) float64 {
	if float64(rtt) < c.base {
		c.setBase(rtt)
	}
	delay := float64(rtt) - c.base
	sample := delay
	if !marked && delay > c.target {
		sample = c.base * 0.25 // an unmarked packet has not waited in the network
	}
	c.average += c.Average * (sample - c.average)
	return delay
}

// Ack implements Control.
func (c *nscc) Ack(now vtime.Time, a *Ack) {
	got := float64(a.New)
	c.achieved += got
	c.received += got
	c.ignored += got
	delay := c.average
	if a.RTT > 0 {
		delay = c.learn(a.RTT, a.Marked)
	}
	if c.quickAdapt(now, false, a.Marked, delay, a.InFlight) {
		return
	}
	switch {
	case !a.Marked && delay >= c.target:
		c.inc += c.fair * got
	case !a.Marked:
		if c.fastIncrease(got, delay); !c.growing {
			c.inc += c.alpha * got * (c.target - delay)
		}
	case delay >= c.target:
		c.decrease(now)
	}
	c.bound()
	if c.received > float64(8*c.f.Packet) || now-c.adjusted > vtime.Time(c.network) {
		c.window += c.inc / c.window
		if now-c.adjusted >= vtime.Time(c.network) {
			c.window += c.eta
			c.adjusted = now
		}
		c.inc, c.received = 0, 0
	}
	c.bound()
}

func (c *nscc) fastIncrease(got, delay float64) {
	if delay >= float64(nsccEmpty) {
		c.empty, c.growing = 0, false
		return
	}
	c.empty += got
	if c.growing = c.growing || c.empty > c.window; c.growing {
		c.window += got * c.fast
	}
}

func (c *nscc) decrease(now vtime.Time) {
	c.growing, c.empty = false, 0
	if c.average > c.target && now-c.cut > vtime.Time(c.base) {
		c.window *= max(1-c.Gamma*(c.average-c.target)/c.average, 0.5)
		c.cut = now
	}
}

// quickAdapt reports whether the window was just set to what arrived in the last round
// trip, or was so recently that marks are still those of earlier packets.
func (c *nscc) quickAdapt(now vtime.Time, lost, marked bool, delay float64, inFlight int64) bool {
	done := false
	if c.ignored < c.ignore && marked {
		done = true
	} else if now > c.quickEnd {
		if c.quickEnd != 0 && (c.trigger || lost || delay > 4*c.target) && c.achieved < c.most/float64(int(1)<<c.QuickGate) {
			c.window = max(c.achieved, c.least())
			c.f.Window = int64(c.window)
			c.ignore, c.ignored = float64(inFlight), 0
			c.trigger, done = false, true
		}
		c.achieved = 0
		c.quickEnd = now + vtime.Time(c.base+c.target)
	}
	if done {
		c.inc, c.received = 0, 0
	}
	return done
}

// Lost implements Loser.
func (c *nscc) Lost(now vtime.Time, l *Loss) {
	bytes := float64(l.Bytes)
	if !l.Trimmed {
		c.window -= bytes
		c.bound()
		return
	}
	c.ignored += bytes
	if l.RTT > 0 && float64(l.RTT) < c.base {
		c.setBase(l.RTT)
	}
	// The queue that trimmed was about one round trip long.
	c.average += c.Average * (c.network - c.average)
	c.trigger = true
	if !c.quickAdapt(now, true, true, 0, l.InFlight) && !(c.credit && l.LastHop) {
		c.window -= bytes
		c.bound()
	}
}

// Restart implements Control.
func (c *nscc) Restart(_ vtime.Time, rate vtime.Rate) {
	c.window = float64(rate.Bytes(vtime.Time(c.base)))
	c.bound()
	c.f.Rate = rate
}

func (c *nscc) Notify(vtime.Time, *Notification) {}
func (c *nscc) Sent(vtime.Time, int)             {}
func (c *nscc) Stop()                            {}
func (c *nscc) Fire(vtime.Time, uint64)          {}
