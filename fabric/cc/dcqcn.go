// SPDX-License-Identifier: Apache-2.0

package cc

import "github.com/pauseless/pauseless/internal/vtime"

// DCQCN (Zhu et al., SIGCOMM 2015): a notification of a marked packet cuts the rate by
// up to a half, in proportion to alpha, an estimate of the share of marked packets.
// Timers raise it to the rate before the cut, and then beyond.
type DCQCN struct {
	G          float64    `yaml:"g" limits:"0..1"` // weight of a new mark in alpha
	AlphaTimer vtime.Time `yaml:"alpha_timer"`     // interval of updates of alpha
	// DecreaseTimer is the interval of cuts: the rate is cut at the next tick after a
	// notification. The paper's parameters have no such timer: each notification cuts
	// at once.
	DecreaseTimer vtime.Time `yaml:"decrease_timer"`
	RiseTimer     vtime.Time `yaml:"rise_timer"`                 // interval of raises
	ByteCounter   vtime.Size `yaml:"byte_counter"`               // bytes after which the rate is raised as well; zero: by time only
	FastRecovery  int        `yaml:"fast_recovery" limits:"0.."` // raises towards the old rate before those beyond it
	AI            vtime.Rate `yaml:"ai"`                         // added in additive increase
	HAI           vtime.Rate `yaml:"hai"`                        // added in hyper increase
	// ClampTarget makes each cut set the target to the rate before it, even without a
	// raise since the last cut.
	ClampTarget bool `yaml:"clamp_target"`
}

func (p DCQCN) or(base DCQCN) DCQCN { return overlay(p, base) }

// DCQCNDefaults returns the parameters of DCQCN in the HPCC simulator (option dcqcn
// of its run.py), which follow NVIDIA's firmware: marks are echoed in
// acknowledgements, and a timer triggers the cuts.
func DCQCNDefaults(line vtime.Rate) DCQCN {
	return DCQCN{
		G:             1.0 / 256,
		AlphaTimer:    vtime.Microsecond,
		DecreaseTimer: 4 * vtime.Microsecond,
		RiseTimer:     300 * vtime.Microsecond,
		FastRecovery:  1,
		AI:            5 * vtime.Mbps * (line / vtime.Gbps) / 25,
		HAI:           50 * vtime.Mbps * (line / vtime.Gbps) / 25,
	}
}

// DCQCNPaper returns the parameters of the paper's section 5.
func DCQCNPaper() DCQCN {
	return DCQCN{
		G:            1.0 / 256,
		AlphaTimer:   55 * vtime.Microsecond,
		RiseTimer:    55 * vtime.Microsecond,
		ByteCounter:  10 * vtime.MB,
		FastRecovery: 5,
		AI:           40 * vtime.Mbps,
		HAI:          200 * vtime.Mbps,
		ClampTarget:  true,
	}
}

func (p DCQCN) maker(lowest vtime.Rate) maker {
	decay := make([]float64, 256)
	decay[0] = 1
	for i := 1; i < len(decay); i++ {
		decay[i] = decay[i-1] * (1 - p.G)
	}
	return func(f *Flow, s vtime.Scheduler) Control {
		return &dcqcn{DCQCN: &p, decay: decay, lowest: lowest, f: f, s: s, target: f.Rate, alpha: 1}
	}
}

// dcqcn is the DCQCN state of a flow. The ticks of AlphaTimer and DecreaseTimer
// count from the first notification. Most ticks would have no effect and are
// not scheduled: alpha is updated when it is needed, and a cut is scheduled
// when a notification requires it.
type dcqcn struct {
	*DCQCN
	decay  []float64 // factor of alpha after this many ticks without a mark
	lowest vtime.Rate
	f      *Flow
	s      vtime.Scheduler

	started bool // there was a notification
	limited bool // the rate has been below the link's
	stopped bool
	first   vtime.Time // first notification
	target  vtime.Rate
	alpha   float64
	ticks   int64 // of alpha, applied
	marked  bool  // since the last tick of alpha
	cutting bool  // a cut is scheduled

	riseAt    vtime.Time // next rise by time
	riseSet   bool       // an event is scheduled, at riseAt or before
	timeStage int        // rises by time since the last cut
	byteStage int        // rises by bytes since then
	bytes     int64      // sent since the last of those
}

var _ Control = (*dcqcn)(nil)

// Events.
const (
	dcqcnCut uint64 = iota
	dcqcnRise
)

// Ack implements Control.
func (c *dcqcn) Ack(now vtime.Time, a *Ack) {
	if a.Marked {
		c.mark(now)
	}
}

// Notify implements Control.
func (c *dcqcn) Notify(now vtime.Time, n *Notification) {
	if n.CE {
		c.mark(now)
	}
}

func (c *dcqcn) mark(now vtime.Time) {
	if !c.started {
		c.started, c.limited = true, true
		c.first = now
		c.alpha, c.ticks = 1, 0
		c.target = c.f.Rate
		if c.DecreaseTimer > 0 {
			c.scheduleCut(now)
			return
		}
	}
	c.update(now)
	c.marked = true
	switch {
	case c.DecreaseTimer == 0:
		c.cut(now)
		c.alpha = (1-c.G)*c.alpha + c.G
		// The alpha timer restarts at each notification.
		c.first, c.ticks, c.marked = now, 0, false
	case !c.cutting:
		c.scheduleCut(now)
	}
}

// scheduleCut schedules the next tick after now. These ticks are a nanosecond
// after those of alpha.
func (c *dcqcn) scheduleCut(now vtime.Time) {
	c.cutting = true
	base := c.first + vtime.Nanosecond
	n := vtime.Time(1)
	if now >= base {
		n = (now-base)/c.DecreaseTimer + 1
	}
	c.s.At(base+n*c.DecreaseTimer, c, dcqcnCut)
}

// update applies the ticks of alpha until now. The first tick determines
// whether there was a mark since the previous one.
func (c *dcqcn) update(now vtime.Time) {
	n := int64((now-c.first)/c.AlphaTimer) - c.ticks
	if n <= 0 {
		return
	}
	c.ticks += n
	if c.marked {
		c.alpha = (1-c.G)*c.alpha + c.G
		c.marked = false
		n--
	}
	for ; n >= int64(len(c.decay)); n -= int64(len(c.decay)) - 1 {
		c.alpha *= c.decay[len(c.decay)-1]
	}
	c.alpha *= c.decay[n]
}

// cut lowers the rate.
func (c *dcqcn) cut(now vtime.Time) {
	if c.ClampTarget || c.timeStage > 0 || c.byteStage > 0 {
		c.target = c.f.Rate
	}
	c.f.Rate = scale(c.f.Rate, 1-c.alpha/2, c.lowest, c.f.Line)
	c.timeStage, c.byteStage, c.bytes = 0, 0, 0
	c.riseFrom(now)
}

// Sent implements Control.
func (c *dcqcn) Sent(now vtime.Time, bytes int) {
	if c.ByteCounter == 0 || !c.limited {
		return
	}
	c.bytes += int64(bytes)
	if c.bytes >= int64(c.ByteCounter) {
		c.bytes = 0
		c.rise()
		c.byteStage++
	}
}

// rise raises the rate, depending on the number of rises since the last cut.
func (c *dcqcn) rise() {
	stage := c.timeStage
	if c.ByteCounter > 0 {
		stage = max(c.timeStage, c.byteStage)
		if stage > c.FastRecovery && min(c.timeStage, c.byteStage) <= c.FastRecovery {
			stage = c.FastRecovery
		}
	}
	switch {
	case stage < c.FastRecovery:
	case stage == c.FastRecovery:
		c.target += c.AI
	default:
		c.target += c.HAI
	}
	c.target = min(c.target, c.f.Line)
	c.f.Rate = c.f.Rate/2 + c.target/2
}

// Fire implements Control.
func (c *dcqcn) Fire(now vtime.Time, arg uint64) {
	switch {
	case c.stopped:
	case arg == dcqcnCut:
		c.update(now)
		c.cutting = false
		c.cut(now)
	case now < c.riseAt: // a cut has postponed it
		c.s.At(c.riseAt, c, dcqcnRise)
	default:
		c.rise()
		c.timeStage++
		c.riseAt = now + c.RiseTimer
		c.s.At(c.riseAt, c, dcqcnRise)
	}
}

// Restart implements Control. The rate rises by additive increase, because
// there is no earlier rate to recover.
func (c *dcqcn) Restart(now vtime.Time, rate vtime.Rate) {
	c.f.Rate, c.target = rate, rate
	c.timeStage, c.byteStage, c.bytes = c.FastRecovery, c.FastRecovery, 0
	c.limited = true
	c.riseFrom(now)
}

// riseFrom sets the time of the next rise, counted from now.
func (c *dcqcn) riseFrom(now vtime.Time) {
	c.riseAt = now + c.RiseTimer
	if !c.riseSet {
		c.riseSet = true
		c.s.At(c.riseAt, c, dcqcnRise)
	}
}

// Stop implements Control.
func (c *dcqcn) Stop() { c.stopped = true }
