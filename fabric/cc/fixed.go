// SPDX-License-Identifier: Apache-2.0

package cc

import "github.com/pauseless/pauseless/internal/vtime"

// fixed keeps a flow at one rate, whatever the feedback.
type fixed struct{ f *Flow }

var _ Control = (*fixed)(nil)

// newFixed makes controls that keep flows at a rate, or at the line rate if it
// is zero.
func newFixed(rate vtime.Rate) maker {
	return func(f *Flow, _ vtime.Scheduler) Control {
		if rate > 0 {
			f.Rate = min(rate, f.Line)
		}
		return &fixed{f}
	}
}

func (c *fixed) Ack(vtime.Time, *Ack)                  {}
func (c *fixed) Notify(vtime.Time, *Notification)      {}
func (c *fixed) Sent(vtime.Time, int)                  {}
func (c *fixed) Restart(_ vtime.Time, rate vtime.Rate) { c.f.Rate = rate }
func (c *fixed) Stop()                                 {}
func (c *fixed) Fire(vtime.Time, uint64)               {}
