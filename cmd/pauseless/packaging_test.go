// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/topo"
)

// What the compose file starts are command lines that there are, and its
// topology is one.
func TestComposeFile(t *testing.T) {
	text, err := os.ReadFile("../../packaging/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Build   string
			Command []string
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	ours := 0
	for name, s := range file.Services {
		if s.Build == "" {
			continue
		}
		ours++
		cmd, rest, err := newRootCmd().Find(s.Command)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || !cmd.Runnable() {
			t.Errorf("%s: %v: %v", name, s.Command, err)
		}
	}
	if ours != 2 {
		t.Errorf("%d services of ours, want a switch and a controller", ours)
	}
	net, err := topo.Read("../../packaging/topology.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if at := net.NodeByName("l1").Address; at != "switch:9559" {
		t.Errorf("l1 is at %q", at)
	}
}

// The shell offers what a flag takes.
func TestValuesAreCompleted(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"gen", "--profile", ""}, "rlb-drill"},
		{[]string{"gen", "--target", ""}, gen.Targets[0]},
		{[]string{"fabric", "run", "--cc", ""}, "dcqcn"},
		{[]string{"fabric", "run", "--profile", ""}, "ecmp"},
		{[]string{"schema", ""}, "scenario"},
	} {
		root := newRootCmd()
		var out lineList
		root.SetOut(&out)
		root.SetArgs(append([]string{"__complete"}, c.args...))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(out.lines(), c.want) {
			t.Errorf("%v: %q is not offered: %q", c.args, c.want, out.lines())
		}
	}
}

// lineList is what was printed, of each line the part before a tab.
type lineList struct{ bytes.Buffer }

func (l *lineList) lines() []string {
	var list []string
	for line := range strings.Lines(l.String()) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		list = append(list, word)
	}
	return list
}
