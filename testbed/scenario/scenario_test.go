// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
)

const small = `
name: small
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}
  switch: {buffer: 2MB, pfc: {xoff: 60KB}}
profiles: [rlb-drill]
hosts: {cc: {algorithm: dcqcn_paper}}
traffic:
- poisson: {sizes: websearch, load: 0.5, flows: 12}
- incast: {degree: 3, size: 200KB, to: h1, start: 50us}
until: 40ms
sample: 20us
watch: {registers: [ingress_qlen, no_such_register], every: 100us}
`

func quiet(controlplane.Event) {}

func runSmall(t *testing.T, text string, o Options) []*result.Run {
	t.Helper()
	s, err := Parse("small.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o.Event = quiet
	runs, err := s.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestRunIsTheSameOnAnyNumberOfThreads(t *testing.T) {
	var want []byte
	counts := []int{1, 2, 3}
	if testing.Short() {
		counts = []int{1, 3}
	}
	for _, threads := range counts {
		var got bytes.Buffer
		if err := result.WriteJSON(&got, runSmall(t, small, Options{Threads: threads})); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got.Bytes()
		} else if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("results on %d threads differ from those on one", threads)
		}
	}
}

// The same scenario with programs for Tofino, whose warnings and feedback take
// other paths, has the same results on any number of threads.
func TestProfilesRunOnTofinoToo(t *testing.T) {
	text := strings.Replace(small, "[rlb-drill]", "[drill, rlb-drill@v1model]\ntarget: tna", 1)
	var want []byte
	counts := []int{1, 2}
	if testing.Short() {
		counts = counts[1:]
	}
	for _, threads := range counts {
		runs := runSmall(t, text, Options{Threads: threads})
		if len(runs) != 2 || runs[0].Profile != "drill" || runs[1].Profile != "rlb-drill@v1model" {
			t.Fatalf("%d runs", len(runs))
		}
		s := runs[0].Summary
		if s.Finished != s.Flows || s.Flows != 15 || s.Dropped != 0 || s.PauseFrames == 0 {
			t.Errorf("finished %d of %d flows, dropped %d, %d pauses", s.Finished, s.Flows, s.Dropped, s.PauseFrames)
		}
		reported := false
		for _, r := range runs[0].Registers {
			reported = reported || r.Name == "queue_told_at" && slices.ContainsFunc(r.Values, func(v uint64) bool { return v > 0 })
		}
		if !reported {
			t.Error("egress reported no queue to ingress")
		}
		var got bytes.Buffer
		if err := result.WriteJSON(&got, runs); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got.Bytes()
		} else if !bytes.Equal(got.Bytes(), want) {
			t.Error("results on two threads differ from those on one")
		}
	}
}

func TestRunHasPausesAndReadsRegistersWhileTrafficRuns(t *testing.T) {
	reads, peak := 0, uint64(0)
	runs := runSmall(t, small, Options{Read: func(sw string, now vtime.Time, a register.Array) {
		if a.Name != "ingress_qlen" || now%(100*vtime.Microsecond) != 0 {
			t.Errorf("read %s of %s at %v", a.Name, sw, now)
		}
		reads++
		for _, v := range a.Values {
			peak = max(peak, v)
		}
	}})
	s := runs[0].Summary
	if s.Finished != s.Flows || s.Flows != 15 || s.Dropped != 0 {
		t.Errorf("finished %d of %d flows, dropped %d", s.Finished, s.Flows, s.Dropped)
	}
	if s.PauseFrames == 0 || s.Scheme["warnings_sent"] == 0 || len(runs[0].Pauses) == 0 {
		t.Errorf("an incast over a threshold of 60 KB caused %d pauses and %d warnings", s.PauseFrames, s.Scheme["warnings_sent"])
	}
	if reads < 4 || peak == 0 {
		t.Errorf("%d reads while traffic ran, the longest queue was %d bytes", reads, peak)
	}
	for _, r := range runs[0].Registers {
		if r.Name == "ingress_qlen" || r.Name == "egress_qlen" {
			for i, v := range r.Values {
				if v != 0 {
					t.Errorf("%s %s[%d] is %d bytes in an idle network", r.Switch, r.Name, i, v)
				}
			}
		}
	}
	if len(runs[0].Lines) == 0 {
		t.Error("no time lines")
	}
}

// Packets with headers and tags of a scheme before IP keep their class: an incast
// through the spines pauses them with every profile.
func TestPacketsBehindHeadersOfSchemesArePaused(t *testing.T) {
	profiles := "conga, plb, hermes, clb"
	if testing.Short() {
		profiles = "conga, hermes" // a header of switches and a tag of hosts
	}
	text := strings.Replace(small, "rlb-drill]", profiles+"]", 1)
	text = strings.Replace(text, "hosts_per_leaf: 2", "hosts_per_leaf: 4", 1)
	from := strings.Index(text, "- poisson")
	to := strings.Index(text, "until:")
	text = text[:from] + "- coflow: {count: 1, flows: 4, size: 200KB, from: h5..h8, to: h1}\n" + text[to:]
	for _, r := range runSmall(t, text, Options{}) {
		spines := 0
		for _, p := range r.Pauses {
			if p.Node[0] == 's' {
				spines++
			}
		}
		if spines == 0 || r.Summary.Dropped != 0 || r.Summary.Finished != 4 {
			t.Errorf("%s: %d pauses of spines, %d drops, %d of 4 flows finished", r.Profile, spines, r.Summary.Dropped, r.Summary.Finished)
		}
	}
}

func TestInterruptedRunReturnsPartialResults(t *testing.T) {
	s, err := Parse("small.yaml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	runs, err := s.Run(ctx, Options{Event: quiet, Progress: func(p fabric.Progress) {
		if p.FlowsDone > 0 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || len(runs) != 1 || !runs[0].Partial {
		t.Fatalf("got %d runs and %v", len(runs), err)
	}
	if f := runs[0].Summary.Finished; f == 0 || f == runs[0].Summary.Flows {
		t.Errorf("interrupted after the first flows, finished %d of %d", f, runs[0].Summary.Flows)
	}
}

func TestErrorsAreFoundBeforeTheFirstRun(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"rlb-drill", "rlb-dril", "small.yaml:6:12: no profile is called \"rlb-dril\" (did you mean \"rlb-drill\"?)"},
		{"leaves: 2", "leaves: 0", "small.yaml:4:24: leaves is 0"},
		{"sizes: websearch", "sizes: websrch", "small.yaml:9:20: "},
		{"dcqcn_paper", "dcqn", `small.yaml:7:25: no congestion control is called "dcqn" (did you mean "dcqcn"?)`},
		{"until: 40ms", "until: 0s", "small.yaml:11:8: until is 0s"},
		{"name: small\n", "nmae: small\n", `small.yaml:2:1: unknown key "nmae" (did you mean "name"?)`},
		{"profiles: [rlb-drill]", "profiles: []", "small.yaml:6:11: no profiles"},
		{"[rlb-drill]", "[rlb-drill@tofino]", "small.yaml:6:12: profile rlb-drill has target \"tofino\"; use v1model or tna"},
		{"traffic:", "target: tofino\ntraffic:", "small.yaml:8:9: target is \"tofino\""},
		{"traffic:", "set: {red.kmim: 3KB}\ntraffic:", "small.yaml:8:17: no parameter is called \"red.kmim\" (did you mean \"red.kmin\"?) [invalid]"},
		{"traffic:", "set: {rlb.warn: 300KB}\ntraffic:", "small.yaml:8:17: rlb.warn is 300KB, must be at most rlb.xoff, which is 60KB [invalid]"},
		// Each error is at its key, also if that begins with another one.
		{"traffic:", "set: {red.kmin: 1KB, red.kmin@9: 2KB}\ntraffic:", "small.yaml:8:34: red.kmin@9: "},
		{"traffic:", "set: {red.a: 1KB, red.b: 2KB}\ntraffic:", "small.yaml:8:26: no parameter is called \"red.b\""},
		{"rlb-drill]", "drill, rlb-drill]\nset: {red.a: 1KB}", "small.yaml:7:14: no parameter is called \"red.a\"; `pauseless gen --profile NAME --show` lists"},
		{"network:", "topology: x.yaml\nnetwork:", "small.yaml:3:11: both network and topology"},
		{"pfc: {xoff: 60KB}", "pfc: {alpha: 0.3}", "small.yaml:6:12: profile rlb-drill does not support the network's PFC thresholds: alpha is 0.3, must be a power of two from 1/128 to 8"},
		{"60KB}}\nprofiles: [rlb-drill]", "60KB, hosts_only: true}}\nprofiles: [drill-bmv2]", "small.yaml:6:12: profile drill-bmv2 emulates PFC and pauses switches, too: use one with pfc: native"},
		{"buffer: 2MB", "buffer: 90KB", "small.yaml:5:20: switch l1: the headroom of its 4 ports is 130284B (that of port 1 32571B, for frames of 4154 bytes) and their reserve 0B, together 130284B of a buffer of 90KB: it must be larger"},
		{"buffer: 2MB", "mtu: 1000, buffer: 2MB", "small.yaml:7:8: hosts send packets of 4140 bytes, and switch.mtu of the network is 1000: set hosts.mtu to at most 956, or raise switch.mtu"},
		{"pfc: {xoff: 60KB}", "pfc: {xoff: 60KB, pause: 600ns}", "small.yaml:5:30: pause is 600ns: a PFC frame can wait for a frame of 4154 bytes on the link h1-l1 at 40Gbps, so that the pause ends before it is renewed; it must be at least 1.7048us"},
		{"until:", "paths: {h9: 1}\nuntil:", "no host is called \"h9\""},
		{"until:", "paths: {h1: 0}\nuntil:", "0 paths, must be at least one"},
		{"until:", "judge: [3]\nuntil:", "there is no part 3 of traffic"},
		{"until:", "claims: [{less: stalled_flow, with: rlb-drill, than: rlb-drill}]\nuntil:", "did you mean \"stalled_flows\"?"},
		{"until:", "claims: [{less: resent, with: rlb-drill, than: drill}]\nuntil:", "no variant in arms or profiles is called \"drill\""},
	} {
		text := strings.Replace(small, c.old, c.new, 1)
		if _, err := Parse("small.yaml", []byte(text)); err == nil || strings.Count(err.Error(), c.want) != 1 {
			t.Errorf("with %q: got\n%v\nwant once\n%s", c.new, err, c.want)
		}
	}
}

// With hosts that use telemetry and a program without it, rates did not change, and
// there was no error.
func TestTelemetryIsFilledIn(t *testing.T) {
	for _, c := range []struct{ algorithm, profile, want string }{
		{"hpcc", "hpcc", ""}, {"hpcc", "drill", `int: on`}, {"hpcc", "hpcc-pint", `int: on`},
		{"hpcc_pint", "hpcc-pint", ""}, {"hpcc_pint", "hpcc", `int: pint`},
	} {
		profile, want := c.profile, c.want
		s, err := Parse("s.yaml", []byte(`
name: s
network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
profiles: [`+profile+`]
hosts: {cc: {algorithm: `+c.algorithm+`}}
traffic: [{long: {from: h1, to: h3, size: 1KB}}]
`))
		if err != nil {
			t.Fatal(err)
		}
		var programs program.Cache
		if _, err := s.Cases()[0].Build(&programs); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s with %s: %v, want %q", c.algorithm, profile, err, want)
		}
	}
}

// Hosts decode digests with the step of the program.
func TestHostsUseThePINTStepOfTheProgram(t *testing.T) {
	s, err := Parse("s.yaml", []byte(`
name: s
network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
profile: hpcc-pint
set: {pint.step: 0.01}
traffic: [{long: {from: h1, to: h3, size: 1KB}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	var programs program.Cache
	prog, err := s.Cases()[0].Build(&programs)
	if err != nil {
		t.Fatal(err)
	}
	if h := s.Cases()[0].HostsFor(prog.Manifest); h.CC.Algorithm != "hpcc_pint" || h.CC.PINT.Step != 0.01 {
		t.Errorf("hosts have %s with step %g", h.CC.Algorithm, h.CC.PINT.Step)
	}
}

// Names of files are relative to the file that names them, whatever the working
// directory is.
func TestFilesAreRelativeToTheScenario(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"topo.yaml": "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}\n",
		"flows.csv": "src,dst,bytes,start\nh1,h3,20000,0us\n",
		"sizes.txt": "1000 0\n2000 1\n",
		"s.yaml": `name: relative
topology: topo.yaml
profile: ecmp
traffic:
- trace: {file: flows.csv}
- poisson: {sizes: sizes.txt, load: 0.1, duration: 1us}
- poisson: {sizes: websearch, load: 0.1, duration: 1us}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Read(filepath.Join(dir, "s.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if spec := s.Cases()[0].Traffic; spec[0].Trace.File != filepath.Join(dir, "flows.csv") || spec[1].Poisson.Sizes != filepath.Join(dir, "sizes.txt") || spec[2].Poisson.Sizes != "websearch" {
		t.Errorf("the parts are %+v", spec)
	}
}
