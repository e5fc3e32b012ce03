// SPDX-License-Identifier: Apache-2.0

package cc

import "github.com/pauseless/pauseless/internal/vtime"

// TIMELY (Mittal et al., SIGCOMM 2015) controls the rate by the round-trip time and its
// gradient: timely once per round trip, timely_packet with each acknowledgement. They
// have different defaults.
type TIMELY struct {
	Alpha  float64    `yaml:"alpha" limits:"0..1"`    // weight of a new RTT difference
	Beta   float64    `yaml:"beta" limits:"0.."`      // factor of the multiplicative decrease
	Low    vtime.Time `yaml:"low"`                    // RTT below which the rate always rises
	High   vtime.Time `yaml:"high"`                   // RTT above which the rate always falls
	MinRTT vtime.Time `yaml:"min_rtt"`                // the base round trip
	AI     vtime.Rate `yaml:"ai"`                     // additive increase per round trip, with timely_packet at most
	HAI    vtime.Rate `yaml:"hai"`                    // hyper-active increase per round trip, with timely_packet at most
	HAIAt  int        `yaml:"hai_after" limits:"0.."` // raises without a cut, or with timely_packet falling RTTs, before hyper-active increase
}

func (p TIMELY) or(base TIMELY) TIMELY { return overlay(p, base) }

// TIMELYDefaults returns the parameters of the HPCC simulator.
func TIMELYDefaults(line vtime.Rate) TIMELY {
	return TIMELY{
		Alpha: 0.875, Beta: 0.8,
		Low: 50 * vtime.Microsecond, High: 500 * vtime.Microsecond, MinRTT: 20 * vtime.Microsecond,
		AI: vtime.Mbps * (line / vtime.Gbps), HAI: 5 * vtime.Mbps * (line / vtime.Gbps), HAIAt: 5,
	}
}

// TIMELYPacketDefaults returns the values that the authors' code recommends with
// pacing of packets (timely-code-snippet.cc, Mittal, 2015). Its additive increase is
// 10 Mb/s for 10 Gb/s; Low is zero, so that the gradient counts at every RTT.
func TIMELYPacketDefaults(line vtime.Rate) TIMELY {
	p := TIMELYDefaults(line)
	p.Alpha, p.Low, p.High = 0.02, 0, vtime.Millisecond
	return p
}

func (p TIMELY) packetMaker(lowest vtime.Rate) maker {
	return func(f *Flow, _ vtime.Scheduler) Control {
		return &timelyPacket{timely: timely{TIMELY: &p, lowest: lowest, f: f}}
	}
}

func (p TIMELY) maker(lowest vtime.Rate) maker {
	return func(f *Flow, _ vtime.Scheduler) Control { return &timely{TIMELY: &p, lowest: lowest, f: f} }
}

type timely struct {
	*TIMELY
	lowest vtime.Rate
	f      *Flow

	update int64 // bytes sent at the last update
	begun  bool
	last   vtime.Time // RTT of the last update
	diff   float64    // average of its differences, ps
	rises  int        // consecutive
}

var _ Control = (*timely)(nil)

// Ack implements Control: algorithm 1 of the paper.
func (c *timely) Ack(_ vtime.Time, a *Ack) {
	if a.RTT == 0 || c.begun && a.Acked <= c.update {
		return
	}
	if c.begun {
		c.set(a.RTT)
	}
	c.begun, c.update, c.last = true, a.Sent, a.RTT
}

func (c *timely) set(rtt vtime.Time) {
	c.diff = (1-c.Alpha)*c.diff + c.Alpha*float64(rtt-c.last)
	gradient := c.diff / float64(c.MinRTT)
	switch {
	case rtt < c.Low, rtt <= c.High && gradient <= 0:
		step := c.AI
		if c.rises >= c.HAIAt {
			step = c.HAI
		}
		c.rises++
		c.f.Rate = min(c.f.Rate+step, c.f.Line)
	case rtt > c.High:
		c.fall(1 - c.Beta*(1-float64(c.High)/float64(rtt)))
	default:
		c.fall(1 - c.Beta*gradient)
	}
}

func (c *timely) fall(factor float64) {
	c.rises = 0
	c.f.Rate = scale(c.f.Rate, max(factor, 0), c.lowest, c.f.Line)
}

func (c *timely) Notify(vtime.Time, *Notification)      {}
func (c *timely) Sent(vtime.Time, int)                  {}
func (c *timely) Restart(_ vtime.Time, rate vtime.Rate) { c.f.Rate = rate }
func (c *timely) Stop()                                 {}
func (c *timely) Fire(vtime.Time, uint64)               {}

// timelyPacket is TIMELY as in the code that its authors published for senders that
// pace packets. It differs from algorithm 1 of the paper: each acknowledgement changes
// the rate, by a share of the step if the last one came less than MinRTT before; a
// rate falls by at most one half; and hyper-active increase follows RTTs that fall.
type timelyPacket struct {
	timely            // rises counts the RTTs that have fallen
	at     vtime.Time // of the last acknowledgement
}

// Ack implements Control.
func (c *timelyPacket) Ack(now vtime.Time, a *Ack) {
	if a.RTT == 0 {
		return
	}
	if c.last == 0 {
		c.last = a.RTT
	}
	diff := a.RTT - c.last
	if diff < 0 {
		c.rises++
	} else {
		c.rises = 0
	}
	c.diff = (1-c.Alpha)*c.diff + c.Alpha*float64(diff)
	gradient := c.diff / float64(c.MinRTT)
	part := min(float64(now-c.at)/float64(c.MinRTT), 1)
	c.last, c.at = a.RTT, now

	rate := float64(c.f.Rate)
	switch {
	case a.RTT < c.Low:
		rate += float64(c.AI) * part
	case a.RTT > c.High:
		rate *= 1 - part*c.Beta*(1-float64(c.High)/float64(a.RTT))
	case gradient > 0:
		rate *= 1 - c.Beta*gradient
	case c.rises >= c.HAIAt:
		rate += float64(c.HAI) * part
	default:
		rate += float64(c.AI) * part
	}
	rate = max(rate, float64(c.f.Rate)/2)
	c.f.Rate = min(max(vtime.Rate(rate), c.lowest), c.f.Line)
}
