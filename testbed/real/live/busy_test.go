// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/relay"
	"github.com/pauseless/pauseless/testbed/result"
)

// A run on a busy machine has remarks.
func TestABusyMachineIsRemarkedOn(t *testing.T) {
	for _, c := range []struct {
		name    string
		machine conditions
		dropped uint64
		want    []string
	}{
		{"quiet", conditions{kind: local.BMv2, waited: map[string]time.Duration{"l1": time.Second}, set: -time.Millisecond}, 0, nil},
		{"busy", conditions{kind: local.SoftSwitch, waited: map[string]time.Duration{"l1": 4 * time.Second, "s1": 6 * time.Second}}, 0,
			[]string{"this machine was busy: in 10s processes waited for a processor (s1 6s): delays are the machine's; lower --pps, or the machine's other load"}},
		{"lossy", conditions{kind: local.SoftSwitch, waited: map[string]time.Duration{"l1": 2 * time.Second}}, 131,
			[]string{"131 lossless packets were lost: 131 at l1 (waited 2s for a processor), in 10s: the results are not the program's; lower --pps, or the machine's other load"}},
		{"clock", conditions{kind: local.BMv2, set: time.Hour}, 0,
			[]string{"this machine's clock was set by 1h0m0s while traffic ran: BMv2 paces its queues by that clock; run it again"}},
	} {
		s := &result.Summary{Dropped: c.dropped, Scheme: map[string]uint64{"reroutes": 7}}
		if c.dropped > 0 {
			s.Scheme["dropped_at_l1"] = c.dropped
		}
		c.machine.took = 10 * time.Second
		got := c.machine.remarks(s)
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	lost := (&conditions{kind: local.BMv2}).remarks(&result.Summary{Dropped: 1})
	if len(lost) != 1 || !strings.Contains(lost[0], "a ring of 1237 packets per port") {
		t.Errorf("on BMv2: %q", lost)
	}
}

func TestStepOfTheWallClockIsDetected(t *testing.T) {
	then := time.Now()
	for _, by := range []time.Duration{0, time.Hour, -time.Hour} {
		now := then.Round(0).Add(5*time.Second + by) // only the wall clock was set
		if got := clockSetBy(then, now, 5*time.Second); got != by {
			t.Errorf("set by %v, want %v", got, by)
		}
	}
}

// A relay that was late for many frames, or for one by much, is remarked on, and one that
// missed frames.
func TestLateLinksAreRemarkedOn(t *testing.T) {
	for _, c := range []struct {
		name    string
		carried relay.Stats
		want    string
	}{
		{"in time", relay.Stats{Frames: 1000, LateMax: 3 * time.Millisecond, LateP99: 100 * time.Microsecond, Share: 0.3}, ""},
		{"often", relay.Stats{Frames: 1000, LateMax: 3 * time.Millisecond, LateP99: 2 * time.Millisecond, Share: 0.3},
			"links were late: of 1000 frames, 1 % by more than 2ms, one by 3ms, 0.3 times its link's delay"},
		{"by much", relay.Stats{Frames: 1000, LateMax: 30 * time.Millisecond, LateP99: 100 * time.Microsecond, Share: 3},
			"links were late: of 1000 frames, 1 % by more than 100µs, one by 30ms, 3.0 times its link's delay"},
		{"missed", relay.Stats{Frames: 1000, Missed: 7}, "the relay of the links missed 7 frames: this machine was too busy; lower --pps, or the machine's other load"},
		{"gone", relay.Stats{Error: "no answer"}, "the relay of the links: no answer"},
	} {
		m := conditions{carried: &c.carried, took: time.Second}
		if got := strings.Join(m.remarks(&result.Summary{}), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
