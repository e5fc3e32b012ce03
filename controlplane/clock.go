// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"time"

	"github.com/pauseless/pauseless/internal/bmv2"
)

// A switch's clock counts as set if it and ours went apart by more than
// clockJump between two readings that took less than that.
const clockJump = 2 * time.Second

// watchClock says when someone sets the clock of a BMv2, which times packets
// and paces queues by the wall clock of its machine. Others count time by a
// monotonic clock.
func (s *Session) watchClock(ctx context.Context) {
	if s.options.Probe <= 0 || s.target.Thrift == "" {
		return
	}
	c, err := bmv2.Dial(s.target.Thrift, bmv2.Timeout)
	if err != nil {
		return // whoever needs the server will say so
	}
	defer c.Close()
	tick := time.NewTicker(s.options.Probe)
	defer tick.Stop()
	s.compareClocks(ctx, tick.C, time.Now, c.Elapsed)
}

// compareClocks reads two clocks at each tick: ours, and what has elapsed on
// the switch's in µs. A jump counts when a second reading confirms it: a
// switch that was started again is another one, and its stream will break.
func (s *Session) compareClocks(ctx context.Context, tick <-chan time.Time, ours func() time.Time, elapsed func(context.Context) (int64, error)) {
	var ahead time.Duration // how far the switch's clock was ahead of ours
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
				ahead, doubted = now, false // clocks that are not the same drift
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
		s.event(ClockSet, nil, "its clock was set forward by %v: BMv2 takes that for time that has passed; what is measured across it is wrong", by)
		return
	}
	s.event(ClockSet, nil, "its clock was set back by %v: BMv2 sends no packets until it has caught up; restart the switch", -by)
}
