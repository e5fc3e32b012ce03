// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"time"

	"github.com/pauseless/pauseless/internal/bmv2"
)

// A switch's clock counts as set if the difference between it and our clock has
// changed by more than clockJump between two readings that took less than that.
const clockJump = 2 * time.Second

// watchClock raises an event when the clock of a BMv2 is set. BMv2 timestamps
// packets and paces queues by the wall clock of its machine; other switches use a
// monotonic clock.
func (s *Session) watchClock(ctx context.Context) {
	if s.options.Probe <= 0 || s.target.Thrift == "" {
		return
	}
	c, err := bmv2.Dial(s.target.Thrift, bmv2.Timeout)
	if err != nil {
		return // callers that need the server report the error
	}
	defer c.Close()
	tick := time.NewTicker(s.options.Probe)
	defer tick.Stop()
	s.compareClocks(ctx, tick.C, time.Now, c.Elapsed)
}

// compareClocks reads two clocks at each tick: ours, and the time elapsed on the
// switch's in µs. A jump counts only if a second reading confirms it: a restarted
// switch also shows a jump, and its stream breaks.
func (s *Session) compareClocks(ctx context.Context, tick <-chan time.Time, ours func() time.Time, elapsed func(context.Context) (int64, error)) {
	var ahead time.Duration // by which the switch's clock was ahead of ours
	begun, known, doubted := ours(), false, false
	for {
		before := ours()
		us, err := elapsed(ctx)
		took := ours().Sub(before)
		if err == nil && took < clockJump {
			now := time.Duration(us)*time.Microsecond - before.Sub(begun)
			by := now - ahead
			switch {
			case !known:
				ahead, known = now, true
			case by.Abs() <= clockJump:
				ahead, doubted = now, false // different clocks drift
			case !doubted:
				doubted = true
			default:
				ahead, doubted = now, false
				s.clockSet(by.Round(time.Second))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

func (s *Session) clockSet(by time.Duration) {
	if by > 0 {
		s.event(ClockSet, nil, "its clock was set forward by %v: BMv2 counts that as elapsed time; measurements that include this moment are wrong", by)
		return
	}
	s.event(ClockSet, nil, "its clock was set back by %v: BMv2 sends no packets until it has caught up; restart the switch", -by)
}
