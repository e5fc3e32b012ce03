// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/testbed/real/live"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// eachKind runs a test with softswitch and with BMv2, each with the options of its
// network, or skips it.
func eachKind(t *testing.T, name string, do func(*testing.T, live.Options)) {
	need.Time(t, "packets take their time on the wall")
	need.No(t, netns.Possible())
	if !need.Isolated(t) {
		return
	}
	old := netns.RunDir
	netns.RunDir = t.TempDir()
	t.Cleanup(func() { netns.RunDir = old })
	o := live.Options{
		Name: name, Local: local.Options{Free: true, Prefix: "zl"},
		Say: func(text string) { t.Log(text) },
	}
	// Under this name the test program runs the command.
	o.Pauseless = filepath.Join(t.TempDir(), "pauseless")
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, o.Pauseless)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Run("softswitch", func(t *testing.T) {
		o := o
		o.Local.Kind, o.Local.PacketRate = local.SoftSwitch, 5000
		do(t, o)
	})
	t.Run("bmv2", func(t *testing.T) {
		o := o
		o.Local.Kind = local.BMv2
		o.SimpleSwitch = need.Tool(t, "BMV2", "simple_switch_grpc")
		do(t, o)
	})
}

func readScenario(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("live.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func logTable(t *testing.T, runs []*result.Run) {
	t.Helper()
	var b strings.Builder
	if err := result.Table(&b, runs); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
}

// An incast loses no packets on switches without PFC, since the program emulates it.
func TestIncastLosesNothing(t *testing.T) {
	eachKind(t, "zl-incast", incast)
}

func incast(t *testing.T, o live.Options) {
	// Hosts without congestion control leave it all to PAUSE.
	s := readScenario(t, `
name: incast
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 32KB}}
profiles: [drill-bmv2, rlb-drill-bmv2]
hosts: {cc: {algorithm: none}}
traffic:
- incast: {degree: 4, from: "leaf:l2", size: 60KB, to: h1, start: 20us}
- incast: {degree: 2, from: h3 h4, size: 60KB, to: h1, start: 20us}
until: 5ms
`)
	// Under other load the machine loses packets, for which the program is not the
	// cause; it does not do so three times.
	var wrong []string
	for range 3 {
		runs, err := live.Run(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		logTable(t, runs)
		if wrong = incastWrong(runs, o.Local.Kind); len(wrong) == 0 {
			return
		}
		t.Log(strings.Join(wrong, "\n"), runs[0].Remarks, runs[1].Remarks)
	}
	t.Error(strings.Join(wrong, "\n"))
}

// incastWrong returns what is wrong with the runs of incast.
func incastWrong(runs []*result.Run, kind local.Kind) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var pauses uint64
	for _, r := range runs {
		sum := r.Summary
		if sum.Finished != 6 || sum.Dropped != 0 {
			say("%s: %d of 6 flows finished, %d packets lost", r.Profile, sum.Finished, sum.Dropped)
		}
		// A pause may be renewed, and one at the end of the run has no RESUME.
		if resumes := sum.Scheme["resume_frames"]; resumes == 0 && sum.PauseFrames > 0 || resumes > sum.PauseFrames {
			say("%s: %d PAUSE and %d RESUME frames on the wire", r.Profile, sum.PauseFrames, resumes)
		}
		pauses += sum.PauseFrames
	}
	if pauses == 0 {
		say("nobody paused anybody")
	}
	rlb := runs[1].Summary.Scheme
	if n := rlb["pauses_between_switches"]; rlb["pauses_warned_of_before"] != n {
		say("of %d pauses between switches, only %d had been warned of", n, rlb["pauses_warned_of_before"])
	}
	if rlb["warnings_on_the_wire"] == 0 {
		say("no warnings on the wire")
	}
	// A packet is recirculated at most 64 times (Stoprecir), and on average far less.
	if limit := uint64(runs[1].Summary.Sent) * 10; rlb["recirculations"] > limit {
		say("%d recirculations of %d packets", rlb["recirculations"], runs[1].Summary.Sent)
	}
	over := map[local.Kind]string{local.SoftSwitch: "P4Runtime", local.BMv2: "BMv2 Thrift"}[kind]
	if len(runs[1].Registers) == 0 || runs[1].RegistersOver != over {
		say("%d registers read over %s, want %s", len(runs[1].Registers), runs[1].RegistersOver, over)
	}
	return wrong
}

// until waits in wall time for a condition, also in other goroutines than the test's.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !need.Poll(ok) {
		t.Errorf("timeout while waiting until %s", what)
	}
}

// carried returns how many frames an interface has received.
func carried(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile("/sys/class/net/" + name + "/statistics/rx_packets")
	if err != nil {
		t.Error(err)
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Error(err)
	}
	return n
}

func TestASwitchKilledUnderLoadComesBack(t *testing.T) {
	eachKind(t, "zl-kill", killed)
}

func killed(t *testing.T, o live.Options) {
	s := readScenario(t, `
name: kill
network:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [ecmp]
traffic:
- incast: {degree: 1, size: 1MB, to: h1, start: 20us}
until: 20ms
`)
	var mu sync.Mutex // several sessions have events at the same time
	var said []string
	o.Event = func(e controlplane.Event) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, e.String())
	}
	var at string // where s1 listens
	o.Started = func(n *live.Network) {
		at = n.Plan.Topology.NodeByName("s1").Address
		until(t, "the flow is under way", func() bool { return carried(t, "zls1-eth1") > 100 })
		if err := n.KillSwitch("s1"); err != nil {
			t.Error(err)
		}
		if err := n.StartSwitch(t.Context(), "s1"); err != nil {
			t.Error(err)
		}
		until(t, "the switch is as desired again", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.ContainsFunc(said, func(text string) bool { return strings.HasPrefix(text, "s1: connected to "+at+" again") }) &&
				strings.Count(strings.Join(said, "\n"), "s1: as desired: pipeline pushed") >= 2
		})
	}
	runs, err := live.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if sum := runs[0].Summary; sum.Finished != 1 {
		t.Errorf("%d of 1 flows finished", sum.Finished)
	} else if remarks := strings.Join(runs[0].Remarks, "\n"); strings.Contains(remarks, "lossless packets were lost") != (sum.Dropped > 0) {
		t.Errorf("%d packets lost, and the result says %q", sum.Dropped, remarks)
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{"s1: lost the connection to " + at, "s1: connected to " + at + " again", "s1: as desired: pipeline pushed"} {
		if strings.Count(text, want) == 0 {
			t.Errorf("there is no event %q:\n%s", want, text)
		}
	}
}

// Live shows real switches: the use of links from interfaces or metrics, and PAUSE
// from metrics or, for BMv2, over Thrift from the register of a program that emulates
// PFC.
func TestLiveShowsRealSwitches(t *testing.T) {
	eachKind(t, "zl-show", shown)
}

func shown(t *testing.T, o live.Options) {
	s := readScenario(t, `
name: show
network:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 16KB}}
profiles: [drill-bmv2]
hosts: {cc: {algorithm: none}}
traffic:
- incast: {degree: 2, from: "leaf:l2", size: 400KB, to: h1, start: 20us}
until: 50ms
`)
	if o.Local.Kind == local.SoftSwitch { // its metrics have its own PAUSE
		s = readScenario(t, strings.Replace(string(s.Text()), "drill-bmv2", "drill", 1))
	}
	o.Started = func(n *live.Network) {
		plan := n.Plan
		poll := record.PollOptions{Every: 20 * time.Millisecond, Limits: record.DefaultLimits, Counters: make(map[string]record.Counters), Scale: plan.Scale}
		for _, sw := range plan.Switches {
			if sw.Metrics != "" {
				poll.Counters[sw.Name] = &record.Metrics{Addr: sw.Metrics, Timeout: time.Minute}
				continue
			}
			in := &record.Interfaces{}
			for _, p := range sw.Ports {
				in.Names = append(in.Names, p.Interface)
			}
			poll.Counters[sw.Name] = in
		}
		p, err := record.NewPoller(t.Context(), plan.Topology, n.Fabric, poll)
		if err != nil {
			t.Error(err)
			return
		}
		used := make(map[int]bool)
		until(t, "links are used and paused", func() bool {
			if err := p.Look(t.Context()); err != nil {
				t.Error(err)
				return true
			}
			run, _ := p.Snapshot()
			for ch, use := range run.Use[len(run.Use)-1] {
				if use > 0 {
					used[ch] = true
				}
			}
			return len(used) > 2 && len(run.Events) > 0
		})
	}
	if _, err := live.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
}

// Live shows the runs of an experiment one after the other, each on a network of its own.
func TestLiveFollowsTheRunsOfAnExperiment(t *testing.T) {
	eachKind(t, "zl-runs", followed)
}

func followed(t *testing.T, o live.Options) {
	s := readScenario(t, `
name: runs
network:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [drill-bmv2]
traffic:
- incast: {degree: 1, size: 400KB, to: h1, start: 20us}
seeds: [1, 2]
until: 20ms
`)
	if o.Local.Kind == local.SoftSwitch {
		s = readScenario(t, strings.Replace(string(s.Text()), "drill-bmv2", "drill", 1))
	}
	f := &liveFlags{ctl: ctl{network: o.Name, election: "1", timeout: time.Minute}, every: 20 * time.Millisecond}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	now, seed := &polled{}, uint64(0)
	ended := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	o.Built = func(lab *local.Lab) error {
		seed++
		if err := noteScenario(o.Name, s.Text(), lab, "drill", seed); err != nil || seed > 1 {
			return err
		}
		if err := now.begin(f, cmd); err != nil {
			return err
		}
		go func() {
			defer close(ended)
			defer now.end()
			for tick := time.NewTicker(f.every); ctx.Err() == nil; {
				select {
				case <-ctx.Done():
				case <-tick.C:
					_ = now.look(ctx, f, cmd) // the network may be going down
				}
			}
		}()
		return nil
	}
	_, err := live.Run(t.Context(), s, o)
	stop()
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	all, _ := now.Recordings()
	if len(all) != 2 {
		t.Fatalf("%d recordings of 2 runs", len(all))
	}
	for i, rec := range all {
		run, _ := rec.Snapshot()
		used := slices.ContainsFunc(run.Use, func(use []byte) bool { return slices.Max(use) > 0 })
		if run.Arm != "drill" || run.Seed != uint64(i+1) || run.Live || !used {
			t.Errorf("recording %d is of %s, seed %d; it still grows: %v; links were used: %v", i, run.Arm, run.Seed, run.Live, used)
		}
	}
}
