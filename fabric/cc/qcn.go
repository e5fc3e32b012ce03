// SPDX-License-Identifier: Apache-2.0

package cc

import "github.com/pauseless/pauseless/internal/vtime"

// QCN (IEEE 802.1Qau, 802.1Q clause 32): a congested switch samples packets
// and sends the excess and the growth of its queue to their source. The source cuts
// its rate in proportion, and raises it by bytes sent and by time.
type QCN struct {
	Gd           float64    `yaml:"gd" limits:"0.."`            // cut per unit of feedback, which has 64 units
	ByteCounter  vtime.Size `yaml:"byte_counter"`               // bytes after which the rate rises
	RiseTimer    vtime.Time `yaml:"rise_timer"`                 // time after which the rate rises
	FastRecovery int        `yaml:"fast_recovery" limits:"0.."` // raises halfway to the old rate before the target grows
	AI           vtime.Rate `yaml:"ai"`                         // additive increase of the target
	HAI          vtime.Rate `yaml:"hai"`                        // hyper-active increase of the target, after many raises without a cut
}

func (p QCN) or(base QCN) QCN { return overlay(p, base) }

// QCNDefaults returns the standard's parameters (IEEE8021-CN-MIB, ieee8021CnRpgTimeReset and its
// neighbours). The DCQCN authors' simulator has a timer of 1.5 ms; what that changes is
// in docs/results/pcn-fig14-timer.md.
func QCNDefaults(vtime.Rate) QCN {
	return QCN{
		Gd: 1.0 / 128, ByteCounter: 150 * vtime.KB, RiseTimer: 15 * vtime.Millisecond,
		FastRecovery: 5, AI: 5 * vtime.Mbps, HAI: 50 * vtime.Mbps,
	}
}

func (p QCN) maker(lowest vtime.Rate) maker {
	return func(f *Flow, s vtime.Scheduler) Control {
		return &qcn{QCN: &p, lowest: lowest, f: f, s: s, target: f.Rate}
	}
}

type qcn struct {
	*QCN
	lowest vtime.Rate
	f      *Flow
	s      vtime.Scheduler

	target    vtime.Rate
	limited   bool // has received a notification
	stopped   bool
	byteStage int
	timeStage int
	bytes     int64
	riseAt    vtime.Time
	riseSet   bool
}

var _ Control = (*qcn)(nil)

// Notify implements Control: clause 32.11, rate decrease.
func (c *qcn) Notify(now vtime.Time, n *Notification) {
	if n.Feedback == 0 {
		return
	}
	if !c.limited || c.byteStage > 0 {
		c.target = c.f.Rate
		c.byteStage, c.bytes = 0, 0
	}
	c.limited = true
	c.timeStage = 0
	c.f.Rate = scale(c.f.Rate, max(1-c.Gd*float64(n.Feedback), 0.5), c.lowest, c.f.Line)
	c.riseFrom(now)
}

// period returns the time to the next rise, which halves after fast recovery.
func (c *qcn) period(stage int) vtime.Time {
	if stage >= c.FastRecovery {
		return c.RiseTimer / 2
	}
	return c.RiseTimer
}

// Sent implements Control: the byte counter.
func (c *qcn) Sent(_ vtime.Time, bytes int) {
	if !c.limited {
		return
	}
	limit := int64(c.ByteCounter)
	if c.byteStage >= c.FastRecovery {
		limit /= 2
	}
	if c.bytes += int64(bytes); c.bytes >= limit {
		c.bytes = 0
		c.byteStage++
		c.rise()
	}
}

// rise raises the rate: towards the target in fast recovery, then together with
// the target, faster once both counters have left fast recovery.
func (c *qcn) rise() {
	switch low, high := min(c.byteStage, c.timeStage), max(c.byteStage, c.timeStage); {
	case high <= c.FastRecovery:
	case low <= c.FastRecovery:
		c.target += c.AI
	default:
		c.target += c.HAI * vtime.Rate(low-c.FastRecovery)
	}
	c.target = min(c.target, c.f.Line)
	c.f.Rate = (c.f.Rate + c.target) / 2
}

// Fire implements vtime.Event.
func (c *qcn) Fire(now vtime.Time, _ uint64) {
	switch {
	case c.stopped:
		return
	case now >= c.riseAt:
		c.timeStage++
		c.rise()
		c.riseAt = now + c.period(c.timeStage)
	}
	c.s.At(c.riseAt, c, 0)
}

func (c *qcn) Ack(vtime.Time, *Ack) {}
func (c *qcn) Stop()                { c.stopped = true }

// Restart implements Control. The rate rises as after fast recovery, because
// there is no earlier rate to recover.
func (c *qcn) Restart(now vtime.Time, rate vtime.Rate) {
	c.f.Rate, c.target = rate, rate
	c.limited = true
	c.byteStage, c.timeStage, c.bytes = c.FastRecovery, c.FastRecovery, 0
	c.riseFrom(now)
}

// riseFrom sets the time of the next rise, counted from now.
func (c *qcn) riseFrom(now vtime.Time) {
	c.riseAt = now + c.period(c.timeStage)
	if !c.riseSet {
		c.riseSet = true
		c.s.At(c.riseAt, c, 0)
	}
}
