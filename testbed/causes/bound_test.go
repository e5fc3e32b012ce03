// SPDX-License-Identifier: Apache-2.0

package causes_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/testbed/causes"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// What does not fit into the memory is counted, and a report says so; the rest is as it is
// with enough memory.
func TestMemoryIsBounded(t *testing.T) {
	report := func(limits causes.Limits) *result.Causes {
		t.Helper()
		var a *attached
		execute(t, incast, "", func(s scenario.Start) scenario.Follower {
			a = &attached{rec: causes.New(s.Faults, limits), log: newFrameLog(s.Topology)}
			return a
		})
		return a.rec.Report(a.end, func(i int) fabric.Flow { return a.lab.Fabric.Flow(i).Flow })
	}
	whole := report(causes.DefaultLimits)
	if whole.Cut != "" || len(whole.Storms) == 0 {
		t.Fatalf("%d storms with enough memory, cut: %q", len(whole.Storms), whole.Cut)
	}
	nodes := 3 + 2 + 18
	where := map[string]string{"waits": "at s1, s2, l3", "pauses": "at l3, s1, s2"}
	for name, limits := range map[string]causes.Limits{
		"waits":  {Waits: nodes, Pauses: 1 << 20, Visits: 1 << 10},
		"pauses": {Waits: 1 << 20, Pauses: nodes, Visits: 1 << 10},
	} {
		c := report(limits)
		if !strings.Contains(c.Cut, "memory is bounded") || !strings.Contains(c.Cut, where[name]) {
			t.Errorf("too few %s: %q does not say that the memory is bounded, %s", name, c.Cut, where[name])
		}
		if c.WaitedUS >= whole.WaitedUS || c.PausedUS > whole.PausedUS || name == "pauses" && c.PausedUS >= whole.PausedUS {
			t.Errorf("too few %s: paused %v, waited %v; with enough memory %v and %v", name, c.PausedUS, c.WaitedUS, whole.PausedUS, whole.WaitedUS)
		}
		var b bytes.Buffer
		if result.PrintCauses(&b, []*result.Run{{Causes: c}}); !strings.Contains(b.String(), c.Cut) {
			t.Errorf("what is printed does not say that the memory is bounded:\n%s", &b)
		}
	}
}
