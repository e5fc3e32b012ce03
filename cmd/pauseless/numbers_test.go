// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/testbed/exp"
)

// eachFlag visits the flags of a command and its subcommands.
func eachFlag(c *cobra.Command, visit func(c *cobra.Command, f *pflag.Flag)) {
	check := func(f *pflag.Flag) { visit(c, f) }
	c.PersistentFlags().VisitAll(check)
	c.LocalNonPersistentFlags().VisitAll(check)
	for _, sub := range c.Commands() {
		eachFlag(sub, visit)
	}
}

// Every numeric flag of every command refuses what is no number, not finite, below zero or
// out of range, and takes its default.
func TestNumbersOfAllFlags(t *testing.T) {
	flags := 0
	eachFlag(newRootCmd(), func(c *cobra.Command, f *pflag.Flag) {
		kind := f.Value.Type()
		switch probe := f.Value.(type) { // the type behind a placeholder
		case named:
			kind = probe.Value.Type()
		}
		values := []string{"", "x", "NaN", "nan", "+Inf", "-Inf", "Infinity", "-1e300", "1e400", "-99999999999999999999", "0x", "1_", "1 2"}
		switch kind {
		case "int", "int32", "int64":
			values = append(values, "-2", "-9223372036854775808", "1.5", "99999999999999999999")
		case "uint", "uint32", "uint64":
			values = append(values, "-1", "1.5", "99999999999999999999")
		case "float64":
			values = append(values, "-1", "-1e-300")
		case "duration":
			values = append(values, "1", "-1ns", "-1s", "2401h", "2562047h47m16.854775807s", "NaNs", "1e300h")
		default:
			return
		}
		flags++
		for _, text := range values {
			if err := c.Flags().Set(f.Name, text); err == nil {
				t.Errorf("%s: --%s takes %q", c.CommandPath(), f.Name, text)
			}
		}
		if err := c.Flags().Set(f.Name, f.DefValue); err != nil {
			t.Errorf("%s: --%s does not take its default: %v", c.CommandPath(), f.Name, err)
		}
	})
	if flags < 60 {
		t.Errorf("only %d flags are numbers", flags)
	}
	t.Logf("%d flags are numbers", flags)
}

// Numbers that are too large for a command, or zero, end it with a message that names
// them, and at once.
func TestNumbersOutOfRange(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	net := file("net.yaml", "leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 40Gbps, delay: 1us}\naddresses: {l1: \"127.0.0.1:1\", l2: \"127.0.0.1:1\", s1: \"127.0.0.1:1\"}\n")
	run1 := file("run.yaml", "name: one\nnetwork:\n  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 40Gbps, delay: 1us}\nprofiles: [ecmp]\ntraffic:\n- burst: {from: h1, to: h3, flows: 1, size: 20KB}\nuntil: 1ms\n")
	flows := file("flows.csv", "src,dst,bytes,start\nh1,h3,1000,0s\n")
	host := "host --topology " + net + " --name h1 --interface lo --mtu 1000 --flows " + flows
	const largest = "9223372036854775807"
	for line, want := range map[string]string{
		"deploy task NaN 1 true":                                      "NaN",
		"deploy task -1 1 true":                                       "seconds from 0",
		"deploy task 0 -1 true":                                       "seconds from 0",
		"deploy task 1e300 1 true":                                    "seconds from 0",
		"deploy task 0 +Inf true":                                     "seconds from 0",
		"deploy replay x y.pcap --slow 1e300":                         "--slow",
		"deploy replay x y.pcap --slow 0":                             "--slow",
		"deploy replay x y.pcap --loops 0":                            "--loops",
		"deploy replay x y.pcap --pps 1e-300":                         "--pps",
		"live --every 0s --addr 127.0.0.1:1":                          "--every",
		"ctl watch --every 0s --addr 127.0.0.1:1 x":                   "--every",
		"ctl apply " + net + " --profile ecmp --scale 0":              "--scale",
		"ctl apply " + net + " --profile ecmp --scale " + largest:     "--scale",
		host + " --scale 0":                                           "scale",
		host + " --scale " + largest:                                  "scale",
		host + " --epoch " + largest:                                  "--epoch",
		host + " --epoch 1":                                           "--epoch",
		"exp worker nats://127.0.0.1:1 --parallel 1000000000":         "--parallel",
		"exp run " + run1 + " --parallel 0":                           "--parallel",
		"exp run " + run1 + " --seeds " + largest:                     "--seeds",
		"exp run " + run1 + " --max-seeds 0":                          "--max-seeds",
		"fabric run " + run1 + " --serve=127.0.0.1:0 --pace 1e300":    "--pace",
		"fabric run " + run1 + " --serve=127.0.0.1:0 --pace 1e-300":   "--pace",
		"fabric run " + run1 + " --serve=127.0.0.1:0 --quiet 0s":      "--quiet",
		"switch --control-share 0 --port 1@mem:x --port 2@mem:x x.p4": "--control-share",
		"switch --device-id " + largest + " --cpu-port " + largest + " --port 1@mem:x --port 2@mem:x x.p4": "port",
	} {
		var out bytes.Buffer
		var code int
		took := need.Work(func() { code = run(strings.Fields(line), strings.NewReader(""), &out, &out) })
		if code == 0 || !strings.Contains(out.String(), want) || took > time.Minute {
			t.Errorf("%s: exit code %d after %v:\n%s", line, code, took, out.String())
		}
	}
	var out bytes.Buffer
	if code := run([]string{"exp", "run", run1, "--seeds", "1", "--parallel", "1000000000", "--threads", largest, "--store", filepath.Join(t.TempDir(), "store")}, nil, &out, &out); code != 0 {
		t.Errorf("a run on very many threads: %s", out.String())
	}
}

// All experiments have a few runs of each variant and setting, others those of the file.
func TestOverviewHasAFewRuns(t *testing.T) {
	for _, c := range []struct {
		args        string
		seeds, most int
		want        int
	}{
		{"all", 0, 0, overviewSeeds}, {"all", 0, 1000, 1000}, {"all", 3, 0, 0}, {"rlb-fig3", 0, 0, 0}, {"rlb-fig3 rlb-fig4a", 0, 0, 0},
	} {
		f := expFlags{seeds: c.seeds, most: c.most}
		if limited := f.overview(strings.Fields(c.args)); f.most != c.want || limited != (c.most != c.want) {
			t.Errorf("%s with --seeds %d and --max-seeds %d has at most %d runs, want %d", c.args, c.seeds, c.most, f.most, c.want)
		}
	}
	s, err := exp.LoadAt("pcn-table3", "small")
	if err != nil {
		t.Fatal(err)
	}
	cmd := new(cobra.Command)
	cmd.SetContext(t.Context())
	f := expFlags{scale: "small", most: 2}
	p, err := f.plan(cmd, "pcn-table3")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Scenario; len(got.Seeds) != 2 || got.MaxSeeds != 2 || got.MaxSeedsOpen != 2 || len(s.Seeds) < 3 || !strings.HasSuffix(p.Command, " --max-seeds 2") {
		t.Errorf("%s has seeds %v, at most %d and %d", p.Command, got.Seeds, got.MaxSeeds, got.MaxSeedsOpen)
	}
}

// Help names what a flag takes, as in --write FILE, instead of its type.
func TestFlagsNameTheirValues(t *testing.T) {
	flags := 0
	eachFlag(newRootCmd(), func(c *cobra.Command, f *pflag.Flag) {
		flags++
		if name, _ := pflag.UnquoteUsage(f); name == "string" || name == "strings" || name == "stringArray" {
			t.Errorf("%s --%s %s: %s", c.CommandPath(), f.Name, name, f.Usage)
		}
	})
	if flags < 200 {
		t.Errorf("only %d flags", flags)
	}
}
