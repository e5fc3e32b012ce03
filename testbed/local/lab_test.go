// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/testbed/local"
)

// LetFlow's gap is a constant, and the extra time of ConWeave the time of some bytes.
func TestTimesThatAreNotMultiplied(t *testing.T) {
	for profile, want := range map[string]string{
		"ecmp":     "",
		"letflow":  "not multiplied (change them with set): letflow.gap 100us",
		"conweave": "not multiplied (change them with set): conweave.idle 300us, conweave.wait 200us",
	} {
		p, err := gen.Builtin(profile)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := local.New(parse(t, pair), local.Options{Kind: local.SoftSwitch})
		if err != nil {
			t.Fatal(err)
		}
		program, err := local.Build(p, plan.Topology, plan.Kind, plan.Scale)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&local.Lab{Plan: plan, Program: program}).Differences(); got != want {
			t.Errorf("%s: %q, want %q", profile, got, want)
		}
	}
}

// Either the softswitch sends PAUSE or a program with emulated PFC. Programs that
// read PFC frames receive them.
func TestOneFlowControlAtATime(t *testing.T) {
	for profile, want := range map[string]struct{ pauses, copies bool }{
		"ecmp": {true, false}, "pcn": {true, true}, "plb": {true, true}, "drill-bmv2": {false, false},
	} {
		p, err := gen.Builtin(profile)
		if err != nil {
			t.Fatal(err)
		}
		net := parse(t, pair+"\nswitch: {buffer: 9MB, pfc: {xoff: 32KB}}")
		plan, err := local.New(net, local.Options{Kind: local.SoftSwitch})
		if err != nil {
			t.Fatal(err)
		}
		program, err := local.Build(p, net, plan.Kind, plan.Scale)
		if err != nil {
			t.Fatal(err)
		}
		lab := &local.Lab{Plan: plan, Program: program, Pauseless: "pauseless"}
		_, args, err := lab.Command(&plan.Switches[0], t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(args[len(args)-1])
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "xoff: 32KB"); got != want.pauses {
			t.Errorf("%s: the switch has PFC: %v, want %v", profile, got, want.pauses)
		}
		if got := strings.Contains(string(text), "copy_to_pipeline: true"); got != want.copies {
			t.Errorf("%s: the program receives PFC frames: %v, want %v", profile, got, want.copies)
		}
	}
}

// The recirculation port is that of the topology, slower by the scale, or that of
// the program; RLB's program computes with its rate. What BMv2 cannot do is a warning.
func TestRecirculationOfTheTopology(t *testing.T) {
	const given = "\nswitch: {recirculation: {rate: 200Gbps, latency: 10ns, own_buffer: true}}"
	for _, c := range []struct {
		profile, more string
		kind          local.Kind
		want          []string // in the configuration, or the warning
		pps           int64
	}{
		{"conweave", "", local.SoftSwitch, []string{"rate: 800Mbps\n      internal: true\n      latency: 500us\n", "max_passes: 60000"}, 100_000},
		{"conweave", given, local.SoftSwitch, []string{"rate: 400Mbps\n      internal: true\n      latency: 5us\n      own_buffer: true\n", "max_passes: 60000"}, 50_000},
		{"rlb-drill", "", local.SoftSwitch, []string{"rate: 200Mbps\n      internal: true\n      latency: 1us\n"}, 25_000},
		{"rlb-drill", given, local.SoftSwitch, []string{"rate: 400Mbps\n      internal: true\n      latency: 5us\n      own_buffer: true\n"}, 50_000},
		{"rlb-drill", "\nswitch: {recirculation: {rate: 200Gbps}}", local.BMv2, nil, 5000},
		{"rlb-drill", given, local.BMv2, []string{"warning: BMv2 ignores switch.recirculation.latency and own_buffer"}, 5000},
	} {
		p, err := gen.Builtin(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		net := parse(t, pair+c.more)
		plan, err := local.New(net, local.Options{Kind: c.kind})
		if err != nil {
			t.Fatal(err)
		}
		program, err := local.Build(p, net, plan.Kind, plan.Scale)
		if err != nil {
			t.Fatal(err)
		}
		lab := &local.Lab{Plan: plan, Program: program, Pauseless: "pauseless"}
		text := lab.Differences()
		if warns := strings.Contains(text, "warning"); warns != (c.kind == local.BMv2 && c.want != nil) {
			t.Errorf("%s%s: %s", c.profile, c.more, text)
		}
		if c.kind == local.SoftSwitch {
			_, args, err := lab.Command(&plan.Switches[0], t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(args[len(args)-1])
			if err != nil {
				t.Fatal(err)
			}
			text = string(file)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s%s: no %s in\n%s", c.profile, c.more, want, text)
			}
		}
		if _, pps := lab.RecirculationPort(); pps != c.pps {
			t.Errorf("%s%s: %d packets/s, want %d", c.profile, c.more, pps, c.pps)
		}
		if rate, err := program.Manifest.Value("rlb.recirculation_rate", program.Manifest.Network); err == nil && int64(rate) != c.pps*8000 {
			t.Errorf("%s%s: the program computes with %v", c.profile, c.more, rate)
		}
	}
}
