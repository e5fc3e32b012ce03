// SPDX-License-Identifier: Apache-2.0

package tna

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch"
)

// notTaken has the programs of p4c that we refuse, with our error.
var notTaken = map[string]string{
	"multipipe_simple.p4":      "a program for several pipelines is not supported",
	"switch_tofino_x1.p4":      "Checksum.subtract_all_and_deposit cannot be called",
	"switch_tofino_x1_mod.p4":  "Meter.execute is not supported",
	"switchml.p4":              "DirectRegisterAction.execute is not supported",
	"tna_register_action_1.p4": "register ping_reg is accessed twice", // p4c does not report it
	"tna_register_action_2.p4": "DirectRegisterAction.execute is not supported",
	"tna_simple_switch.p4":     "property implementation must be a action_profile", // ActionSelector
}

// p4c's test programs for Tofino compile with p4c's own declarations of the
// architecture, and the switch loads them.
func TestProgramsOfP4C(t *testing.T) {
	root := os.Getenv("P4C")
	if root == "" {
		need.No(t, errors.New("P4C does not name a checkout of p4lang/p4c"))
	}
	dir := filepath.Join(root, "backends/p4tools/modules/testgen/targets/tofino/test/p4-programs")
	files, err := filepath.Glob(filepath.Join(dir, "*.p4"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(dir, "tofino1_only", "*.p4"))
	if err != nil {
		t.Fatal(err)
	}
	if files = slices.Concat(files, more); len(files) < 40 {
		t.Fatalf("%d programs in %s", len(files), dir)
	}
	include := []string{filepath.Join(root, "backends/tofino/bf-p4c/p4include"), filepath.Join(root, "p4include")}
	for _, f := range files {
		res, list := compiler.Compile(compiler.Options{File: f, Include: include})
		err := list.Err()
		if err == nil {
			_, err = softswitch.CompileJSON(res.Program)
		}
		want, refused := notTaken[filepath.Base(f)]
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(f), err, want)
		}
	}
}
