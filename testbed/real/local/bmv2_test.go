// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"strings"
	"testing"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/testbed/real/local"
)

// Every profile's name is enough on BMv2: its program has BMv2's units, eight queues and
// flow control of its own, or there is an error that says why not.
func TestEveryProfileOnBMv2(t *testing.T) {
	refused := map[string]string{
		"conweave": "both hold packets by recirculation", "hpcc": "int needs depth", "hpcc-pbfs": "int needs depth",
	}
	for _, name := range gen.Names() {
		p, err := gen.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := local.Build(p, parse(t, pair), local.BMv2, 5000)
		if why := refused[name]; why != "" {
			if err == nil || !strings.Contains(err.Error(), "BMv2 cannot run profile "+name) || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, want %q", name, err, why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := prog.Manifest
		if m.Units != (manifest.Units{Time: manifest.Microseconds, Depth: manifest.Packets}) || !m.Has("pfc_emulated") {
			t.Errorf("%s: units are %+v, and it emulates PFC: %v", name, m.Units, m.Has("pfc_emulated"))
		}
	}
}

// Hosts to which a scenario leaves fewer paths have as many in a real network.
func TestPathsToHosts(t *testing.T) {
	net := parse(t, pair)
	p, err := gen.Builtin("ecmp")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := local.New(net, local.Options{Kind: local.BMv2})
	if err != nil {
		t.Fatal(err)
	}
	prog, err := local.Build(p, net, local.BMv2, plan.Scale)
	if err != nil {
		t.Fatal(err)
	}
	entries := func(paths map[string]int) string {
		desired, err := (&local.Lab{Plan: plan, Program: prog, Paths: paths}).Desired()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, e := range desired["l1"].Entities {
			b.WriteString(e.String())
		}
		return b.String()
	}
	if entries(nil) == entries(map[string]int{"h4": 1}) {
		t.Error("paths: {h4: 1} changes no entry of l1")
	}
}
