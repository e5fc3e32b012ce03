// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pauseless/pauseless/testbed/local"
	"github.com/pauseless/pauseless/testbed/result"
)

// conditions are what a run found this machine like while traffic ran.
type conditions struct {
	kind   local.Kind
	took   time.Duration
	waited map[string]time.Duration // for a processor: each switch and our hosts, their latest thread
	set    time.Duration            // by how much the wall clock was set
}

// A run is remarked on if a thread waited for more than a share of
// its time, or if the clock was set by more than a slew.
const (
	longWait = 0.5
	clockSet = 100 * time.Millisecond
)

// remarks says what makes a run worth less than it looks, and what to do.
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
		where := "on the way to switches or hosts"
		if len(at) > 0 {
			where = strings.Join(at, ", ")
		}
		text := fmt.Sprintf("%d lossless packets were lost: %s, in %v: it says nothing of the program; lower --pps, or give this machine less to do",
			s.Dropped, where, c.took.Round(time.Millisecond))
		if c.kind == local.BMv2 {
			text += ". What comes while simple_switch_grpc has no processor waits in a ring of 1237 packets a port, and the rest is lost"
		}
		out = append(out, text)
	}
	var late []string
	for who, waited := range c.waited {
		if float64(waited) > longWait*float64(c.took) {
			late = append(late, fmt.Sprintf("%s %v", who, waited.Round(time.Millisecond)))
		}
	}
	if slices.Sort(late); len(late) > 0 {
		out = append(out, fmt.Sprintf("this machine was busy: in %v some waited for a processor (%s): delays are the machine's; lower --pps, or give it less to do",
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

// clockSetBy returns by how much the wall clock was set between two readings
// of it that are so far apart by the monotonic clock.
func clockSetBy(then, now time.Time, apart time.Duration) time.Duration {
	return now.Round(0).Sub(then.Round(0)) - apart
}
