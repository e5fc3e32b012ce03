// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Coflows makes a coordinator schedule the flows of all hosts by coflow. It limits the
// rate of each flow; congestion control works below this limit.
type Coflows struct {
	Scheduler string `yaml:"scheduler"` // the algorithm, varys or aalo; empty: no coordinator
	// Interval is the time between two schedules. A flow waits for the first schedule
	// after its start.
	Interval vtime.Time `yaml:"interval"`
}

// Schedulers of coflows.
const (
	// Varys (Chowdhury et al., SIGCOMM 2014) knows the flow sizes. The coflow that
	// would end first is first (SEBF), and each of its flows gets the rate at which
	// it ends with the slowest (MADD). The remaining capacity goes to the others.
	// Deadlines and protection against starvation are left out.
	Varys = "varys"
	// Aalo (Chowdhury and Stoica, SIGCOMM 2015) does not know the flow sizes. The
	// fewer bytes a coflow has sent, the higher its priority (D-CLAS, queues up to
	// 10 MB, 100 MB and so on). A queue is first come, first served, and has strict
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

// limited returns the lower of a rate and the flow's limit.
func (s *sender) limited(rate vtime.Rate) vtime.Rate {
	if s.limits {
		return min(s.limitRate, rate)
	}
	return rate
}

// Limit sets the maximum rate of a flow. Zero stops it; a positive limit is at least
// 1 Mb/s. It is called between events.
func (o *Outgoing) Limit(rate vtime.Rate) {
	s := (*sender)(o)
	if rate > 0 {
		rate = max(rate, vtime.Mbps)
	}
	if s.limits && s.limitRate == rate {
		return
	}
	old := s.limited(s.Rate)
	s.limits, s.limitRate = true, rate
	s.respace(old, s.limited(s.Rate))
	s.h.net.At(s.h.net.Now(), (*newLimit)(s), 0)
}

// newLimit is the event of a flow whose limit has changed.
type newLimit sender

// Fire implements vtime.Event.
func (l *newLimit) Fire(now vtime.Time, _ uint64) {
	if s := (*sender)(l); s.ctl != nil {
		s.resume(now)
	}
}
