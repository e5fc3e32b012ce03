// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/real/live"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/spf13/cobra"
)

// A network that runs a scenario is known by its name, with its switches and topology, to
// ctl and live.
func TestNetworkOfARunningScenarioIsKnown(t *testing.T) {
	old := netns.RunDir
	netns.RunDir = t.TempDir()
	defer func() { netns.RunDir = old }()
	s, err := scenario.Parse("live.yaml", liveScenario)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases()[0]
	plan, err := local.New(c.Net(), local.Options{Kind: local.BMv2, PacketRate: c.BMv2.PacketRate, Free: true})
	if err != nil {
		t.Fatal(err)
	}
	prog, err := local.Build(c.Loaded(), c.Net(), local.BMv2, plan.Scale)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(netns.Dir("noted"), 0o755); err != nil {
		t.Fatal(err)
	}
	var o live.Options
	o.Built = func(lab *local.Lab) error { return noteScenario("noted", s.Text(), lab, "", 0) }
	if err := o.Built(&local.Lab{Plan: plan, Program: prog}); err != nil {
		t.Fatal(err)
	}
	f := ctl{network: "noted", election: "1"}
	targets, err := f.targets(&cobra.Command{})
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) != len(plan.Switches) || targets[0].Thrift != plan.Switches[0].Thrift || f.net == nil || f.net.NodeByName("s4") == nil {
		t.Errorf("%d switches, the first is %+v; topology is known: %v", len(targets), targets[0], f.net != nil)
	}
	// In the place of another network's, the file gives no switches.
	if err := os.Mkdir(netns.Dir("other"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(deployedFile("noted"), deployedFile("other")); err != nil {
		t.Fatal(err)
	}
	if n, err := readDeployed("other"); err == nil || !strings.Contains(err.Error(), deployedFile("other")+" describes network noted") {
		t.Errorf("the file of another network: %+v, %v", n, err)
	}
}
