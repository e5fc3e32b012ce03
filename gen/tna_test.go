// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tnaPrograms returns the profiles that have a program for Tofino.
func tnaPrograms(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, name := range Names() {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if Supports(p, "tna") == nil {
			list = append(list, name)
		}
	}
	return list
}

// The manifest lists exactly the named tables and registers of the program,
// with their sizes.
func TestManifestsMatchPrograms(t *testing.T) {
	table := regexp.MustCompile(`@name\("\.(\w+)"\)[^\n]*\n(?:\s*@[^\n]*\n)*\s*table `)
	register := regexp.MustCompile(`@name\("\.(\w+)"\)[^\n]*\n(?:\s*@[^\n]*\n)*\s*[Rr]egister<[^(]*\((\d+)`)
	for _, target := range Targets {
		for _, name := range Names() {
			if p, err := Builtin(name); err != nil || Supports(p, target) != nil {
				continue
			}
			prog := mustGenerate(t, name, target)
			text := string(prog.P4)
			var have, want []string
			for _, m := range table.FindAllStringSubmatch(text, -1) {
				have = append(have, m[1])
			}
			for _, m := range prog.Manifest.Tables {
				want = append(want, m.Name)
			}
			slices.Sort(have)
			slices.Sort(want)
			if !slices.Equal(have, want) {
				t.Errorf("%s on %s: tables are\n%v, the manifest has\n%v", name, target, have, want)
			}
			have, want = nil, nil
			for _, m := range register.FindAllStringSubmatch(text, -1) {
				have = append(have, m[1]+" "+m[2])
			}
			for _, m := range prog.Manifest.Registers {
				cells := 1
				for _, d := range m.Index {
					cells *= d.Size
				}
				want = append(want, m.Name+" "+strconv.Itoa(cells))
			}
			slices.Sort(have)
			slices.Sort(want)
			if !slices.Equal(have, want) {
				t.Errorf("%s on %s: registers are\n%v, the manifest has\n%v", name, target, have, want)
			}
		}
	}
}

// A table that a controller fills on v1model exists on TNA too.
func TestTNATablesAreThoseOfV1Model(t *testing.T) {
	for _, name := range tnaPrograms(t) {
		have := make(map[string]string)
		for _, m := range mustGenerate(t, name, "tna").Manifest.Tables {
			have[m.Name] = m.Kind
		}
		for _, m := range mustGenerate(t, name, "v1model").Manifest.Tables {
			if m.Kind != "constant" && have[m.Name] != m.Kind {
				t.Errorf("%s: table %s is %q, on v1model it is %q", name, m.Name, have[m.Name], m.Kind)
			}
		}
	}
}

func TestTNALimits(t *testing.T) {
	for name, want := range map[string]string{
		"drill-bmv2": "counts nanoseconds",
	} {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Generate(p, "tna"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want one with %q", name, err, want)
		}
	}
	for _, c := range []struct {
		profile      string
		paths, ports int
		want         string
	}{
		{"rlb-drill", 9, 64, "up to 8 paths"},
		{"rlb-drill", 8, 64, ""},
		{"drill", 64, 64, ""},
		{"drill", 8, 65, "on one pipeline"},
		{"ecmp", 64, 256, ""},
		{"pbfs", 8, 257, "no more than 256 ports"},
	} {
		p, err := Builtin(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		p.Sizes.Paths, p.Sizes.Ports = c.paths, c.ports
		switch _, err := Generate(p, "tna"); {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s with %d paths and %d ports: error is %v, want one with %q", c.profile, c.paths, c.ports, err, c.want)
		}
	}
}

// The manifest of a program that does not fit has the compiler's message.
func TestTNAManifestsOfProgramsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		profile   string
		pbfs, int bool
		note      string
	}{
		{"conga", true, false, "using 13"}, {"conga", false, true, ""},
		{"plb", true, true, "(168B)"}, {"plb", true, false, ""}, {"plb", false, true, ""},
		{"rlb-conga", true, true, "(162B)"}, {"rlb-conga", true, false, ""}, {"rlb-drill", true, true, ""}, {"hpcc", true, true, ""},
	} {
		p, err := Builtin(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		for key, on := range map[string]bool{"pbfs": c.pbfs, "int": c.int} {
			if on {
				p.Choose(key, "on")
			}
		}
		prog, err := Generate(p, "tna")
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(prog.Manifest.Notes, "\n")
		if strings.Contains(notes, "does not take") != (c.note != "") || !strings.Contains(notes, c.note) {
			t.Errorf("%s, PB-FS %v, telemetry %v: notes are\n%s", c.profile, c.pbfs, c.int, notes)
		}
	}
}
