// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Coflows has a coordinator of all hosts schedule their flows by coflow. Below
// the rate that it allows a flow, congestion control goes on as ever.
type Coflows struct {
	Scheduler string `yaml:"scheduler"` // varys or aalo; empty: none
	// Interval is how often the coordinator looks. A flow waits for the first
	// look after its start.
	Interval vtime.Time `yaml:"interval"`
}

// Schedulers of coflows.
const (
	// Varys (Chowdhury et al., SIGCOMM 2014) knows sizes: the coflow that would
	// end first goes first (SEBF), each of its flows just fast enough to end
	// with the slowest (MADD), and what is left goes to the others. It has no
	// deadlines and nothing against starvation here.
	Varys = "varys"
	// Aalo (Chowdhury and Stoica, SIGCOMM 2015) does not know sizes: the less a
	// coflow has sent the sooner is its turn (D-CLAS, queues up to 10 MB, 100 MB
	// and so on), first come first served in a queue. Here a queue has strict
	// priority over the next.
	Aalo = "aalo"
)

func (c *Coflows) check() (path string, err error) {
	switch {
	case c.Scheduler != "" && c.Scheduler != Varys && c.Scheduler != Aalo:
		return "coflows.scheduler", fmt.Errorf("scheduler is %q, must be %q or %q", c.Scheduler, Varys, Aalo)
	case c.Scheduler != "" && c.Interval <= 0:
		return "coflows.interval", fmt.Errorf("interval is %v, must be above zero", c.Interval)
	}
	return "", nil
}

// limit is the most that a flow may send at, whatever congestion control says.
type limit struct {
	on   bool
	rate vtime.Rate // zero: nothing is sent
}

// of returns what is left of a rate.
func (l *limit) of(rate vtime.Rate) vtime.Rate {
	if l.on {
		return min(l.rate, rate)
	}
	return rate
}

// Limit sets the most that a flow may send at, from now on; zero stops it, and
// what is above zero counts as 1 Mb/s at least. It is called while no time
// passes.
func (o *Outgoing) Limit(rate vtime.Rate) {
	s := (*sender)(o)
	if rate > 0 {
		rate = max(rate, vtime.Mbps)
	}
	if s.limit.on && s.limit.rate == rate {
		return
	}
	old := s.limit.of(s.Rate)
	s.limit.on, s.limit.rate = true, rate
	s.respace(old, s.limit.of(s.Rate))
	s.h.net.At(s.h.net.Now(), (*limited)(s), 0)
}

// limited is the event of a flow whose limit has changed.
type limited sender

// Fire implements vtime.Event.
func (l *limited) Fire(now vtime.Time, _ uint64) {
	if s := (*sender)(l); s.ctl != nil {
		s.resume(now)
	}
}
