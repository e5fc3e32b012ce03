// SPDX-License-Identifier: Apache-2.0

package causes_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// runs runs a scenario, whose lossless packets may be dropped.
func runs(t *testing.T, text string, o scenario.Options) *result.Run {
	t.Helper()
	s, err := scenario.Parse("lost.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o.Event = func(controlplane.Event) {}
	list, err := s.Run(t.Context(), o)
	if err != nil && !errors.Is(err, virtual.ErrDropped) {
		t.Fatal(err)
	}
	return list[0]
}

// costs returns what a run says that its worst storm cost.
func costs(t *testing.T, text string) (*result.Run, *result.LostToCause) {
	t.Helper()
	r := runs(t, text, scenario.Options{Explain: true, Lost: true})
	if r.Causes == nil || len(r.Causes.Storms) == 0 || r.Causes.Storms[0].Lost == nil {
		t.Fatalf("what the worst storm cost is not said: %+v", r.Causes)
	}
	return r, r.Causes.Storms[0].Lost
}

// Collectives lose bus bandwidth to a cause: that of a run without it. A part with the
// flows of a job is not left out, although all of them go to one host.
func TestLostBusBandwidth(t *testing.T) {
	const storm = "faults: [{storm: h3, from: 100us, until: 300us}]\n"
	const text = `name: ring
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 1us}
  switch: {buffer: 9MB, pfc: {xoff: 60KB}}
profile: ecmp
hosts: {defaults: papers, cc: {algorithm: none}}
traffic:
- collective: {kind: all_reduce, size: 2MB}
- collective: {kind: send_recv, size: 1MB, on: h1..h2}
until: 50ms
`
	r, lost := costs(t, text+storm)
	want := runs(t, text, scenario.Options{}).Metrics["busbw"]
	if lost.BusBW != r.Metrics["busbw"] || lost.BusBWWithout != want || want <= lost.BusBW {
		t.Errorf("bus bandwidth is %v with the storm and %v without, want %v and %v", lost.BusBW, lost.BusBWWithout, r.Metrics["busbw"], want)
	}
	for _, s := range r.Causes.Storms {
		if s.Root.Cause == result.CauseIncast && s.Lost != nil {
			t.Errorf("of %s a job's part is left out: %+v", s.Root.Place(), s.Lost)
		}
	}
}

// A headroom that is too small is told with what it cost, although the run fails.
func TestLostToHeadroom(t *testing.T) {
	const text = `name: headroom
network:
  leaf_spine: {leaves: 3, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 1us}
  switch: {buffer: 9MB, pfc: {xoff: 60KB%s}}
profile: ecmp
hosts: {defaults: papers, cc: {algorithm: none}}
traffic:
- long: {from: h5..h10, to: h1, size: 300KB}
until: 100ms
`
	r, lost := costs(t, fmt.Sprintf(text, ", headroom: 4KB"))
	other := runs(t, fmt.Sprintf(text, ""), scenario.Options{})
	var want float64
	for i, f := range r.Raw.Flows {
		want += (f.FCT - other.Raw.Flows[i].FCT).Microseconds()
	}
	if lost.Without != "the configured headroom" || math.Abs(lost.FCTUS-want) > 1e-6 || lost.Flows != len(r.Raw.Flows) {
		t.Errorf("%+v, want %.1f us of all flows", lost, want)
	}
}
