// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"testing"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/program"
)

// A program that does flow control itself was helped by that of its switch.
func TestOneFlowControlAtATime(t *testing.T) {
	net, err := topo.Parse("t.yaml", []byte("leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}\nswitch: {buffer: 9MB, pfc: {xoff: 32KB}}"))
	if err != nil {
		t.Fatal(err)
	}
	for profile, want := range map[string]struct{ pauses, shows bool }{
		"drill": {true, false}, "pcn": {true, true}, "drill-bmv2": {false, false},
	} {
		p, err := program.Load(profile)
		if err != nil {
			t.Fatal(err)
		}
		program.Fit(p, net)
		prog, err := program.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		l := &Lab{cfg: Config{Topology: net, Program: prog}}
		got := l.switchConfig(net.NodeByName("l1")).PFC
		if got.Lossless != 0 != want.pauses || got.CopyToPipeline != want.shows {
			t.Errorf("%s: flow control is %+v", profile, got)
		}
	}
}
