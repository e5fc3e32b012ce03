// SPDX-License-Identifier: Apache-2.0

//go:build unix

package compiler_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/tofino"
)

// enumerations are the tables whose constant entries list numbers: paths, parts
// of a hash, rates of links, steps of feedback.
var enumerations = []string{"pick_path", "pick_a", "pick_b", "hashed_path", "sprayed_path", "tagged_path", "path_of_flow", "reported_path", "link_level",
	"cell_time", "qcn_period", "quantise", "path_bit", "own_path", "next_path", "fault_path", "stamp_path"}

// withoutEntries has the controller fill in these tables.
func withoutEntries(t *testing.T, text string) (changed string, entries int) {
	t.Helper()
	for _, table := range enumerations {
		begin := strings.Index(text, "    table "+table+" {\n")
		if begin < 0 {
			continue
		}
		list := regexp.MustCompile(`(?s) {8}const entries = \{\n(.*?)\n {8}\}\n`).FindStringSubmatchIndex(text[begin:])
		if list == nil || strings.Contains(text[begin:begin+list[0]], "\n    }\n") {
			t.Fatalf("table %s has no constant entries", table)
		}
		entries += strings.Count(text[begin+list[2]:begin+list[3]], " : ")
		text = text[:begin+list[0]] + text[begin+list[1]:]
	}
	return text, entries
}

// Tables take the same of a Tofino whether their entries are in the program or
// a controller writes them (docs/tofino.md).
func TestConstantEntriesTakeWhatOthersDo(t *testing.T) {
	p4c := barefoot(t)
	need.Time(t, "p4c takes a minute for a program")
	programs := []string{"../p4src/tna/hermes.p4"}
	if all {
		var err error
		if programs, err = filepath.Glob("../p4src/tna/*.p4"); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range programs {
		name := strings.TrimSuffix(filepath.Base(file), ".p4")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed, entries := withoutEntries(t, string(text))
			if entries == 0 {
				t.Fatal("nothing to change")
			}
			uses := func(text string) *tofino.Program {
				dir := t.TempDir()
				source := filepath.Join(dir, name+".p4")
				if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := p4c.Build(t.Context(), source, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
				list, err := tofino.Read(dir)
				if err != nil || len(list) != 1 {
					t.Fatalf("%d programs, %v", len(list), err)
				}
				return list[0]
			}
			constant, written := uses(string(text)), uses(changed)
			if constant.Stages != written.Stages || constant.Total != written.Total {
				t.Errorf("takes %d stages, %v; with entries of a controller %d, %v", constant.Stages, constant.Total, written.Stages, written.Total)
			}
			t.Logf("%d entries, %d of %d lines, %d stages", entries, strings.Count(string(text), "\n")-strings.Count(changed, "\n"), strings.Count(string(text), "\n"), written.Stages)
		})
	}
}
