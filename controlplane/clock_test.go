// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// The events of a controller when the clock of a BMv2 is set. Each step is a
// second of our clock, with the reading of the switch's clock.
func TestClockStepsAreReported(t *testing.T) {
	const hour = 3600
	for _, c := range []struct {
		name   string
		steps  []float64 // seconds; below -hour*10: no answer
		answer time.Duration
		want   []string
	}{
		{"continuous", []float64{100, 101, 102, 103}, 0, nil},
		{"drifts", []float64{100, 101.5, 103, 104.5, 106}, 0, nil},
		{"is set forward", []float64{100, 101, 102 + hour, 103 + hour, 104 + hour}, 0, []string{"set forward by 1h0m0s"}},
		{"is set back", []float64{100, 101, 102 - hour, 103 - hour, 104 - hour}, 0, []string{"set back by 1h0m0s: BMv2 sends no packets until it has caught up; restart the switch"}},
		{"is set back and forward", []float64{100, 101 - hour, 102 - hour, 103, 104, 105}, 0, []string{"set back by 1h0m0s", "set forward by 1h0m0s"}},
		{"is read once from a switch that is going", []float64{100, 101, 0.1, -hour * 11}, 0, nil},
		{"does not answer for a while", []float64{100, -hour * 11, -hour * 11, 103, 104}, 0, nil},
		{"answers so late that it says nothing", []float64{100, 101 + hour, 102 + 2*hour}, 3 * time.Second, nil},
	} {
		var said []string
		s := &Session{target: Target{Name: "b1"}, options: Options{Event: func(e Event) {
			if e.Kind != ClockSet {
				t.Errorf("%s: %v %v", c.name, e.Kind, e)
			}
			said = append(said, e.Text)
		}}}
		ctx, cancel := context.WithCancel(t.Context())
		tick := make(chan time.Time, 1)
		// Our clock is read once at the beginning, then before and after each step.
		asked, step := 0, 0
		ours := func() time.Time {
			at := time.Unix(0, 0).Add(time.Duration(max(asked-1, 0)/2) * time.Second)
			if asked > 0 && asked%2 == 0 {
				at = at.Add(c.answer)
			}
			asked++
			return at
		}
		s.compareClocks(ctx, tick, ours, func(context.Context) (int64, error) {
			shows := c.steps[step]
			if step++; step == len(c.steps) {
				cancel()
			} else {
				tick <- time.Time{}
			}
			if shows <= -hour*11 {
				return 0, errors.New("no answer")
			}
			return int64(shows * 1e6), nil
		})
		if len(said) != len(c.want) {
			t.Errorf("a clock that %s: %q", c.name, said)
			continue
		}
		for i := range said {
			if !strings.Contains(said[i], c.want[i]) {
				t.Errorf("a clock that %s: %q, want %q", c.name, said[i], c.want[i])
			}
		}
	}
}
