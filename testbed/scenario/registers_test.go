// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
)

// A run with a cell for each of a million flows does not record so many, and says so. It
// was written, and could not be read again.
func TestLargeRegistersAreNotRecorded(t *testing.T) {
	dir := t.TempDir()
	profile := "name: wide\nsummary: LetFlow with many cells\nbase: letflow\nsizes: {flows: 1048576}\n"
	if err := os.WriteFile(filepath.Join(dir, "wide.yaml"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "name: wide\narms: [{name: wide, profile: wide.yaml}, {name: letflow, profile: letflow}]\n" +
		"network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}}\n" +
		"traffic: [{burst: {from: h1, to: h2, flows: 1, size: 1KB}}]\nuntil: 1ms\n"
	s, err := ParseIn(filepath.Join(dir, "s.yaml"), []byte(text), dir, Paper, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Cases() {
		prog, err := c.Build(new(program.Cache))
		if err != nil {
			t.Fatal(err)
		}
		run, err := c.Run(t.Context(), prog, 1, Options{Event: func(controlplane.Event) {}})
		if err != nil {
			t.Fatal(err)
		}
		has := func(name string) bool {
			return slices.ContainsFunc(run.Registers, func(r result.Register) bool { return r.Name == name })
		}
		wide := c.Arm == "wide"
		if !has("flowlet_time") || has("flowlet_path") == wide {
			t.Errorf("%s records times and paths of flowlets: %t, %t", c.Arm, has("flowlet_time"), has("flowlet_path"))
		}
		said := strings.Contains(strings.Join(run.Remarks, "\n"), "have more than 8000000 cells together, so these were not recorded: flowlet_path")
		if said != wide {
			t.Errorf("%s: remarks %q", c.Arm, run.Remarks)
		}
	}
}
