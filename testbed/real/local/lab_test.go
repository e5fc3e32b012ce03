// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/real/local"
)

// Defaults are those of the topology, times multiplied by the scale and rates
// divided, whether they are constants (letflow.gap), follow from the network
// (conweave.extra), or both (plb.rtt_low). Thresholds in bytes stay the same, also if
// they follow from the rate (red.kmin).
func TestDefaultsFollowTheScale(t *testing.T) {
	net := parse(t, pair)
	for _, name := range gen.Names() {
		p, err := gen.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if gen.Supports(p, program.V1Model) != nil {
			continue
		}
		before, err := local.Build(p, net, local.SoftSwitch, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []local.Kind{local.SoftSwitch, local.BMv2} {
			plan, err := local.New(net, local.Options{Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			p, _ := gen.Builtin(name)
			slower, err := local.Build(p, net, kind, plan.Scale)
			if err != nil {
				if kind == local.BMv2 {
					continue // units and queues that BMv2 does not have
				}
				t.Fatal(err)
			}
			lab := &local.Lab{Plan: plan, Program: slower}
			if _, err := lab.Desired(); err != nil {
				t.Errorf("%s on %s: %v", name, kind, err)
			}
			m := slower.Manifest
			for _, p := range m.Parameters {
				was, err := before.Manifest.Value(p.Name, before.Manifest.Network)
				if err != nil {
					continue // of emulated PFC
				}
				got, err := m.Value(p.Name, m.Network)
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]float64{"ns": was * float64(plan.Scale), "bps": was / float64(plan.Scale)}[p.Unit]
				if p.Unit != "ns" && p.Unit != "bps" {
					want = was
				}
				if got != want || p.Value != want {
					t.Errorf("%s on %s: %s is %v %s, and %v in the manifest; want %v, as it is %v in the topology", name, kind, p.Name, got, p.Unit, p.Value, want, was)
				}
			}
		}
	}
}

// Entries have these values, in µs. What a packet adds to the estimated load of a
// link is as in the topology, but for the time constant, which is a power of two.
func TestEntriesFollowTheScale(t *testing.T) {
	for _, c := range []struct {
		profile string
		kind    local.Kind
		want    string
	}{
		{"letflow", local.SoftSwitch, "flowlet default -> read_flowlet(gap=50000)"},
		{"letflow", local.BMv2, "flowlet default -> read_flowlet(gap=500000)"},
		{"conweave", local.SoftSwitch, "order default -> restore(idle=150000, wait=100000, extra=10000)"},
		// Hosts have the rates and the time of the topology.
		{"pbfs", local.SoftSwitch, "pbfs_port out_port=3 -> set_capacity(round_trip_bytes=164655, mbps=80000)"},
		{"hpcc", local.SoftSwitch, "telemetry out_port=1 -> add_record(rate=4, switch_id=1)"},
		{"conga", local.SoftSwitch, "flowlet default -> read_flowlet(gap=50000, age=5000000)"},  // ns would not hold this age
		{"conga", local.SoftSwitch, "link out_port=3 -> add_load(weight=3277)"},                 // 2^32 / (160 Mb/s * 65.536 ms / 8)
		{"ecmp", local.SoftSwitch, "red out_port=3 -> set_red(kmin=125, kmax=5000, ramp=8810)"}, // 10 and 400 KB at 80 Gb/s, in cells
	} {
		p, err := gen.Builtin(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := local.New(parse(t, pair), local.Options{Kind: c.kind})
		if err != nil {
			t.Fatal(err)
		}
		built, err := local.Build(p, plan.Topology, c.kind, plan.Scale)
		if err != nil {
			t.Fatal(err)
		}
		desired, err := (&local.Lab{Plan: plan, Program: built}).Desired()
		if err != nil {
			t.Fatal(err)
		}
		names, err := schema.New(built.P4Info)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, e := range desired["l1"].Entities {
			lines = append(lines, names.FormatEntity(e))
		}
		if c.profile == "hpcc" && !bytes.Contains(built.P4, []byte("(standard_metadata.egress_global_timestamp * 131072 >> 16)[23:0]")) {
			t.Errorf("a record does not have the time of the topology, 2 ns for each µs here:\n%s", built.P4)
		}
		if !slices.Contains(lines, c.want) {
			t.Errorf("%s on %s: no %s in\n%s", c.profile, c.kind, c.want, strings.Join(lines, "\n"))
		}
	}
}

// The error about what deploy has changed for BMv2 says so, and what to do.
func TestProgramsThatBMv2CannotRun(t *testing.T) {
	for profile, want := range map[string]string{"hpcc": "int needs depth: cells80", "conweave": "conweave with pfc: emulated"} {
		p, err := gen.Builtin(profile)
		if err != nil {
			t.Fatal(err)
		}
		_, err = local.Build(p, parse(t, pair), local.BMv2, 5000)
		if err == nil || !strings.HasPrefix(err.Error(), "BMv2 cannot run profile "+profile+", the softswitch can (--switch softswitch).") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", profile, err)
		}
	}
}

// In a network that is slower still, no program can count the times.
func TestTimesThatAreTooLongAreAnError(t *testing.T) {
	p, err := gen.Builtin("conga")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := local.New(parse(t, pair), local.Options{Kind: local.SoftSwitch, PacketRate: 10})
	if err != nil {
		t.Fatal(err)
	}
	_, err = local.Build(p, plan.Topology, plan.Kind, plan.Scale)
	const want = "span(conga.age) is 5000000000 microseconds, and the longest time of a program is 1073741823: lower the parameter, or the scale of the network, by more packets per second"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Times and rates of the profile are kept, and named.
func TestGivenTimesAreKept(t *testing.T) {
	for _, c := range []struct {
		profile string
		set     map[string]string
		want    string
	}{
		{"letflow", nil, ""},
		{"letflow", map[string]string{"letflow.gap": "50ms", "red.kmin": "20KB"}, "as the profile sets them, not slower: letflow.gap 50ms"},
		{"conga", map[string]string{"conga.gap@80Gbps": "70ms"}, "as the profile sets them, not slower: conga.gap@80Gbps 70ms"},
		{"rlb-drill", map[string]string{"rlb.recirculation_rate": "50Mbps", "rlb.pass_time": "2ms"}, "as the profile sets them, not slower: rlb.pass_time 2ms, rlb.recirculation_rate 50Mbps"},
	} {
		p, err := gen.Builtin(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		p.Set = c.set
		plan, err := local.New(parse(t, pair), local.Options{Kind: local.SoftSwitch})
		if err != nil {
			t.Fatal(err)
		}
		program, err := local.Build(p, plan.Topology, plan.Kind, plan.Scale)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&local.Lab{Plan: plan, Program: program}).Differences(); got != c.want {
			t.Errorf("%s: %q, want %q", c.profile, got, c.want)
		}
		if _, set := c.set["conga.gap@80Gbps"]; set {
			n := program.Manifest.Network
			n.Rate = 80 * vtime.Gbps
			if gap, err := program.Manifest.Value("conga.gap", n); err != nil || gap != 70e6 {
				t.Errorf("conga.gap is %v ns on links of 80 Gb/s, %v", gap, err)
			}
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

// Processes do not know hosts_only.
func TestHostsOnlyIsAWarning(t *testing.T) {
	net := parse(t, pair+"\nswitch: {pfc: {hosts_only: true}}")
	plan, err := local.New(net, local.Options{Kind: local.SoftSwitch})
	if err != nil {
		t.Fatal(err)
	}
	p, err := gen.Builtin("drill")
	if err != nil {
		t.Fatal(err)
	}
	program, err := local.Build(p, net, plan.Kind, plan.Scale)
	if err != nil {
		t.Fatal(err)
	}
	const want = "warning: switch.pfc.hosts_only is ignored"
	if text := (&local.Lab{Plan: plan, Program: program}).Differences(); !strings.Contains(text, want) {
		t.Errorf("got %q, want %q", text, want)
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
		{"conweave", "", local.SoftSwitch, []string{"rate: 800Mbps\n      internal: true\n      latency: 500us\n", "max_passes: 65535"}, 100_000},
		{"conweave", given, local.SoftSwitch, []string{"rate: 400Mbps\n      internal: true\n      latency: 5us\n      own_buffer: true\n", "max_passes: 65535"}, 50_000},
		{"rlb-drill", "", local.SoftSwitch, []string{"rate: 200Mbps\n      internal: true\n      latency: 500us\n"}, 25_000},
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
