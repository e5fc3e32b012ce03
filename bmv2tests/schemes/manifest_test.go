// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/gen"
)

// everyProgram returns the programs of all profiles, for each supported target.
func everyProgram(t *testing.T) (list []*gen.Program) {
	t.Helper()
	for _, profile := range profiles() {
		list = append(list, generate(t, "v1model", profile, nil))
		if onTofino(profile) {
			list = append(list, generate(t, "tna", profile, nil))
		}
	}
	return list
}

// The tables and registers of a manifest are those of the program, with the same
// sizes, units and indexes. Objects visible to the controller have a short name and
// fit into 32 bits.
func TestManifestsMatchTheirPrograms(t *testing.T) {
	t.Parallel()
	for _, prog := range everyProgram(t) {
		t.Run(prog.Name+"/"+prog.Manifest.Target, func(t *testing.T) {
			_, info := compile(t, prog)
			s, err := schema.New(info)
			if err != nil {
				t.Fatal(err)
			}
			var inProgram, inManifest []string
			for _, tab := range s.Tables {
				if tab.Const && strings.Contains(tab.Full, ".") {
					continue // a computation that is a table on Tofino
				}
				inProgram = append(inProgram, "table "+tab.Full)
			}
			for _, r := range s.Registers {
				inProgram = append(inProgram, "register "+r.Full)
				if r.Bits > 32 {
					t.Errorf("register %s has %d bits", r.Full, r.Bits)
				}
				if r.Unit == "" || len(r.Index) == 0 {
					t.Errorf("register %s says nothing of its unit or index", r.Full)
				}
			}
			for _, d := range s.Digests {
				inProgram = append(inProgram, "digest "+d.Full)
			}
			for _, tab := range prog.Manifest.Tables {
				inManifest = append(inManifest, "table "+tab.Name)
				if x, err := s.Table(tab.Name); err == nil && x.Const != (tab.Kind == "constant") {
					t.Errorf("table %s is of kind %s", tab.Name, tab.Kind)
				}
			}
			for _, r := range prog.Manifest.Registers {
				inManifest = append(inManifest, "register "+r.Name)
				x, err := s.Register(r.Name)
				if err != nil {
					continue
				}
				size := 1
				for i, dim := range r.Index {
					size *= dim.Size
					if i >= len(x.Index) || x.Index[i].Name != dim.Name || i > 0 && x.Index[i].Size != dim.Size {
						t.Errorf("register %s has index %v, manifest says %v", r.Name, x.Index, r.Index)
					}
				}
				if x.Size != size || x.Bits != r.Bits || x.Unit != r.Unit {
					t.Errorf("register %s has %d cells of %d bits in %s, manifest says %d of %d in %s", r.Name, x.Size, x.Bits, x.Unit, size, r.Bits, r.Unit)
				}
			}
			for _, tab := range s.Tables {
				if tab.DirectCounter {
					inProgram = append(inProgram, "counter of "+tab.Name)
				}
			}
			counting := map[string]bool{}
			for _, c := range prog.Manifest.Counters {
				counting["counter of "+c.Table] = true
				tab, err := s.Table(c.Table)
				if err != nil || !slices.ContainsFunc(tab.Actions, func(a *schema.Action) bool { return a.Name == c.Action }) {
					t.Errorf("counter %s: table %s has no action %s", c.Name, c.Table, c.Action)
				}
			}
			inManifest = slices.AppendSeq(inManifest, maps.Keys(counting))
			for _, d := range prog.Manifest.Digests {
				inManifest = append(inManifest, "digest "+d.Name)
			}
			slices.Sort(inProgram)
			slices.Sort(inManifest)
			if !slices.Equal(inProgram, inManifest) {
				t.Errorf("the program has\n%s\nthe manifest\n%s", strings.Join(inProgram, "\n"), strings.Join(inManifest, "\n"))
			}
			for _, p := range prog.Manifest.Parameters {
				if len(p.Tables) == 0 && prog.Manifest.Target == "v1model" {
					t.Errorf("parameter %s is in no table, and cannot be changed at run time", p.Name)
				}
			}
			for _, c := range prog.Manifest.Constants {
				if v, err := prog.Manifest.Evaluate(c.From, prog.Manifest.Network, nil); err != nil || int64(v) != c.Value {
					t.Errorf("constant %s is %d, its formula gives %v, %v", c.Name, c.Value, v, err)
				}
			}
		})
	}
}

// The entries file is in the text form of the controller and fits the program.
func TestDefaultEntriesFitTheProgram(t *testing.T) {
	t.Parallel()
	for _, prog := range everyProgram(t) {
		_, info := compile(t, prog)
		s, err := schema.New(info)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(prog.Entries)) {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			if _, err := s.ParseEntity(line); err != nil {
				t.Errorf("%s for %s: %s: %v", prog.Name, prog.Manifest.Target, line, err)
			}
		}
	}
}
