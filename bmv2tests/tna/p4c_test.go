// SPDX-License-Identifier: Apache-2.0

package tna

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch/interp"
)

// notTaken has the programs of p4c that we refuse, with our error.
var notTaken = map[string]string{
	"multipipe_simple.p4":      "a program for several pipelines is not supported",
	"switch_tofino_x1.p4":      "subtract_all_and_deposit subtracts headers of a fixed size that are not in a stack",
	"switch_tofino_x1_mod.p4":  "is applied in several places and followed by different statements",
	"tna_register_action_1.p4": "register ping_reg is accessed twice", // p4c does not report it
}

// notTakenExamples are the programs of open-p4studio's examples that we refuse.
var notTakenExamples = map[string]string{
	"t2na_counter_true_egress_accounting.p4": "t2na.p4 is not supported: it is the architecture of Tofino 2",
	"tna_32q_2pipe.p4":                       "a program for several pipelines is not supported",
}

var isMain = regexp.MustCompile(`(?m)^\s*(V1)?Switch\s*\(`)

// The examples of p4lang/open-p4studio compile with our declarations of the
// architecture, and the switch loads them. PUBLIC_P4 lists checkouts with the
// separator of PATH.
func TestExamplesOfP4Studio(t *testing.T) {
	var root string
	for _, dir := range filepath.SplitList(os.Getenv("PUBLIC_P4")) {
		if at := filepath.Join(dir, "pkgsrc/p4-examples/p4_16_programs"); root == "" {
			if _, err := os.Stat(at); err == nil {
				root = at
			}
		}
	}
	if root == "" {
		need.No(t, errors.New("PUBLIC_P4 does not list a checkout of p4lang/open-p4studio"))
	}
	programs, taken := 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".p4" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !isMain.Match(text) {
			return err
		}
		programs++
		res, list := compiler.Compile(compiler.Options{File: path, Include: []string{root, filepath.Dir(path)}})
		failed := list.Err()
		if failed == nil {
			_, failed = interp.Compile(res.Program, interp.Options{})
		}
		if failed == nil {
			taken++
		}
		want, refused := notTakenExamples[filepath.Base(path)]
		if refused != (failed != nil) || refused && !strings.Contains(failed.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), failed, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d of %d programs compile", taken, programs); taken < 40 {
		t.Errorf("%d of %d programs compile, want 40 or more", taken, programs)
	}
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
			_, err = interp.Compile(res.Program, interp.Options{})
		}
		want, refused := notTaken[filepath.Base(f)]
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(f), err, want)
		}
	}
}
