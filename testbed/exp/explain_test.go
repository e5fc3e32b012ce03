// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"context"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
)

// An outcome of explained runs has victims beside PAUSE frames, also when it is kept.
func TestOutcomesHaveVictimsBesidePauses(t *testing.T) {
	p := tinyPlan(t, "profile: ecmp\n", "profile: ecmp\nexplain: true\nhosts: {defaults: papers, cc: {algorithm: none}}\n",
		"hosts_per_leaf: 3, rate: 40Gbps, delay: 2us}}", "hosts_per_leaf: 5, rate: 40Gbps, delay: 2us}, switch: {pfc: {xoff: 20KB}}}",
		"- incast: {degree: 2, size: 20KB, to: h1, jitter: 1us}", "- incast: {degree: 4, size: 60KB, to: h1, jitter: 1us}\n- long: {from: h3, to: h2, size: 200KB}")
	o, err := Run(context.Background(), p, newStore(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*result.Outcome{o, reread(t, o)} {
		var names []string
		for _, m := range o.Shown(false) {
			names = append(names, m.Name)
		}
		for _, name := range []string{"pause_frames", "storms", "waited_us", "victim_time_us", "victim_paused_us", "victims"} {
			if !slices.Contains(names, name) {
				t.Errorf("%s is not among %v", name, names)
			}
		}
	}
}
