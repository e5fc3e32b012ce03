// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/relay"
	"github.com/pauseless/pauseless/testbed/result"
)

// conditions are measurements of this machine while traffic ran.
type conditions struct {
	kind local.Kind
	// carried is what the relay of the links has done; nil: there is none.
	carried *relay.Stats
	took    time.Duration
	waited  map[string]time.Duration // for a processor, by switch or process: the maximum of its threads
	set     time.Duration            // step of the wall clock
}

// Above these limits a run has a remark: a thread's share of the time waiting
// for a processor, and a step of the wall clock.
const (
	longWait = 0.5
	clockSet = 100 * time.Millisecond
)

// remarks returns what distorted the results of a run, and how to avoid it.
func (c *conditions) remarks(s *result.Summary) []string {
	var out []string
	if s.Dropped > 0 {
		var at []string
		for name, n := range s.Scheme {
			if sw, ok := strings.CutPrefix(name, droppedAt); ok {
				at = append(at, fmt.Sprintf("%d at %s (waited %v for a processor)", n, sw, c.waited[sw].Round(time.Millisecond)))
			}
		}
		slices.Sort(at)
		where := "between switches and hosts"
		if len(at) > 0 {
			where = strings.Join(at, ", ")
		}
		text := fmt.Sprintf("%d lossless packets were lost: %s, in %v: the results are not the program's; lower --pps, or the machine's other load",
			s.Dropped, where, c.took.Round(time.Millisecond))
		if c.kind == local.BMv2 {
			text += ". While simple_switch_grpc waits for a processor, a ring of 1237 packets per port holds arrivals; further packets are lost"
		}
		out = append(out, text)
	}
	if c.carried != nil {
		out = append(out, c.links()...)
	}
	var late []string
	for who, waited := range c.waited {
		if float64(waited) > longWait*float64(c.took) {
			late = append(late, fmt.Sprintf("%s %v", who, waited.Round(time.Millisecond)))
		}
	}
	if slices.Sort(late); len(late) > 0 {
		out = append(out, fmt.Sprintf("this machine was busy: in %v processes waited for a processor (%s): delays are the machine's; lower --pps, or the machine's other load",
			c.took.Round(time.Millisecond), strings.Join(late, ", ")))
	}
	if c.set.Abs() > clockSet {
		text := fmt.Sprintf("this machine's clock was set by %v while traffic ran", c.set.Round(time.Millisecond))
		if c.kind == local.BMv2 {
			text += ": BMv2 paces its queues by that clock; run it again"
		}
		out = append(out, text)
	}
	return out
}

// Parts of a link's delay by which 1 % of the frames, and any frame, may be late without a
// remark.
const (
	lateShare = 0.1
	mostLate  = 2
)

// links returns the remarks about the relay of the links.
func (c *conditions) links() (out []string) {
	r := c.carried
	switch {
	case r.Error != "":
		out = append(out, "the relay of the links: "+r.Error)
	case r.Missed > 0:
		out = append(out, fmt.Sprintf("the relay of the links missed %d frames: this machine was too busy; lower --pps, or the machine's other load", r.Missed))
	}
	if r.LateMax > 0 && (r.Share > mostLate || r.Share*float64(r.LateP99)/float64(r.LateMax) > lateShare) {
		out = append(out, fmt.Sprintf("links were late: of %d frames, 1 %% by more than %v, one by %v, %.1f times its link's delay", r.Frames, r.LateP99.Round(10*time.Microsecond), r.LateMax.Round(10*time.Microsecond), r.Share))
	}
	return out
}

// clockSetBy returns the step of the wall clock between two readings that are
// so far apart by the monotonic clock.
func clockSetBy(then, now time.Time, apart time.Duration) time.Duration {
	return now.Round(0).Sub(then.Round(0)) - apart
}
