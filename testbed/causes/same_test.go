// SPDX-License-Identifier: Apache-2.0

package causes_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

const incast = `name: incast
network:
  leaf_spine: {leaves: 3, spines: 2, hosts_per_leaf: 6, rate: 40Gbps, delay: 1us}
  switch: {buffer: 9MB, pfc: {xoff: 100KB}}
profile: ecmp
hosts: {cc: {algorithm: dcqcn}}
until: 20ms
traffic:
- incast: {degree: 8, total: 8MB, from: h7..h18, to: h1, times: 1}
- long: {from: h8, to: h3, size: 400KB}
`

func runOf(t *testing.T, o scenario.Options) *result.Run {
	t.Helper()
	s, err := scenario.Parse("incast.yaml", []byte(incast))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases()[0]
	prog, err := c.Build(&programs)
	if err != nil {
		t.Fatal(err)
	}
	o.Event = func(controlplane.Event) {}
	r, err := c.Run(t.Context(), prog, 1, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(t *testing.T, r *result.Run) []byte {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The results of a run do not depend on whether it is explained, and the causes not on the
// number of threads. All paused time of switches and hosts is in a storm.
func TestExplainedRunsAreTheSame(t *testing.T) {
	plain := runOf(t, scenario.Options{})
	one, two := runOf(t, scenario.Options{Explain: true}), runOf(t, scenario.Options{Explain: true, Threads: 2})
	if !bytes.Equal(text(t, one), text(t, two)) {
		t.Error("the causes depend on the number of threads")
	}
	if c := one.Causes; len(c.Storms) == 0 || math.Abs(c.PausedUS-one.Summary.PausedUS) > 1 {
		t.Errorf("%d storms have %.1f us of pauses, the ports %.1f", len(c.Storms), c.PausedUS, one.Summary.PausedUS)
	}
	for k, v := range one.Metrics {
		if _, ok := plain.Metrics[k]; !ok {
			t.Logf("metric %s is %v", k, v)
			delete(one.Metrics, k)
		}
	}
	one.Causes = nil
	if !bytes.Equal(text(t, plain), text(t, one)) {
		t.Error("an explained run has other results")
	}
}
