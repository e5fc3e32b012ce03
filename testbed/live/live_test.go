// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/testbed/live"
	"github.com/pauseless/pauseless/testbed/local"
	"github.com/pauseless/pauseless/testbed/netns"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"

	"github.com/vishvananda/netlink"
)

// options are those of a network of BMv2s, or the test is skipped.
func options(t *testing.T, name string) live.Options {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIP: packets take their time on the wall")
	}
	path, err := local.FindSimpleSwitch(os.Getenv("BMV2"))
	if err != nil {
		t.Skipf("SKIP: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIP: needs root, to make network namespaces")
	}
	probe := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "zlprobe0"}, PeerName: "zlprobe1"}
	if err := netlink.LinkAdd(probe); err != nil {
		t.Skipf("SKIP: this machine makes no veth interfaces: %v", err)
	}
	netlink.LinkDel(probe)
	old := netns.RunDir
	netns.RunDir = t.TempDir()
	t.Cleanup(func() { netns.RunDir = old })
	return live.Options{
		Name: name, SimpleSwitch: path,
		Local: local.Options{Kind: local.BMv2, GRPC: 23051, Thrift: 23091, Prefix: "zl"},
		Say:   func(text string) { t.Log(text) },
	}
}

func read(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("live.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func table(t *testing.T, runs []*result.Run) {
	t.Helper()
	var b strings.Builder
	if err := result.Table(&b, runs); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
}

// What an incast does on real BMv2s, which have no flow control: the program
// pauses in their stead.
func TestIncastThroughBMv2LosesNothing(t *testing.T) {
	o := options(t, "zl-incast")
	s := read(t, `
name: incast
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 48KB}}
profiles: [drill, rlb-drill]
traffic:
- incast: {degree: 6, size: 100KB, to: h1, start: 20us}
until: 5ms
`)
	runs, err := live.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	table(t, runs)
	for _, r := range runs {
		sum := r.Summary
		if sum.Finished != 6 || sum.Dropped != 0 {
			t.Errorf("%s: %d of 6 flows finished, %d packets lost", r.Profile, sum.Finished, sum.Dropped)
		}
		if sum.PauseFrames == 0 || sum.Scheme["resume_frames"] == 0 {
			t.Errorf("%s: %d PAUSE and %d RESUME frames on the wire", r.Profile, sum.PauseFrames, sum.Scheme["resume_frames"])
		}
	}
	rlb := runs[1].Summary.Scheme
	if rlb["pauses_between_switches"] > 0 && 2*rlb["pauses_warned_of_before"] < rlb["pauses_between_switches"] {
		t.Errorf("of %d pauses between switches, only %d had been warned of", rlb["pauses_between_switches"], rlb["pauses_warned_of_before"])
	}
	if rlb["warnings_on_the_wire"] == 0 {
		t.Error("no warnings on the wire")
	}
	// Each packet is let round at most 64 times (Stoprecir); in all, far less.
	if limit := uint64(runs[1].Summary.Sent) * 10; rlb["recirculations"] > limit {
		t.Errorf("%d recirculations of %d packets", rlb["recirculations"], runs[1].Summary.Sent)
	}
}

func TestASwitchKilledUnderLoadComesBack(t *testing.T) {
	o := options(t, "zl-kill")
	s := read(t, `
name: kill
network:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [ecmp]
traffic:
- incast: {degree: 1, size: 1MB, to: h1, start: 20us}
until: 20ms
`)
	var said []string
	o.Event = func(e controlplane.Event) { said = append(said, e.String()) }
	o.Started = func(n *live.Network) {
		time.Sleep(600 * time.Millisecond) // into the flow, which takes more than a second
		if err := n.KillSwitch("s1"); err != nil {
			t.Error(err)
		}
		if err := n.StartSwitch(t.Context(), "s1"); err != nil {
			t.Error(err)
		}
	}
	runs, err := live.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if sum := runs[0].Summary; sum.Finished != 1 {
		t.Errorf("%d of 1 flows finished", sum.Finished)
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{"s1: lost the connection to 127.0.0.1:23053", "s1: connected to 127.0.0.1:23053 again", "s1: as desired: pipeline pushed"} {
		if strings.Count(text, want) == 0 {
			t.Errorf("nobody said %q:\n%s", want, text)
		}
	}
}
