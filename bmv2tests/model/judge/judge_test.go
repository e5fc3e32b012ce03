// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/manifest"
)

// compile compiles a profile's program, with our compiler or, if P4C_BM2 names
// one, with p4c.
func compile(t *testing.T, p *gen.Profile, arch string) *Program {
	t.Helper()
	out, err := gen.Generate(p, arch)
	if err != nil {
		t.Fatal(err)
	}
	var file *bmv2json.Program
	if p4c := os.Getenv("P4C_BM2"); p4c != "" && arch == "v1model" {
		dir := t.TempDir()
		text, json := filepath.Join(dir, "x.p4"), filepath.Join(dir, "x.json")
		if err := os.WriteFile(text, out.P4, 0o666); err != nil {
			t.Fatal(err)
		}
		if b, err := exec.Command(p4c, "-o", json, text).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		data, err := os.ReadFile(json)
		if err != nil {
			t.Fatal(err)
		}
		if file, err = bmv2json.Decode(json, data); err != nil {
			t.Fatal(err)
		}
	} else {
		r, list := compiler.Compile(compiler.Options{File: p.Name + ".p4", Source: out.P4})
		if r.Program == nil {
			t.Fatal(list.Err())
		}
		file = r.Program
	}
	prog, err := Load(p.Name, file)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

func small(t *testing.T, name string) *gen.Profile {
	p, err := gen.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	p.Sizes.Ports, p.Sizes.Paths, p.Sizes.Leaves, p.Sizes.Hosts, p.Sizes.Flows, p.Sizes.Coflows = 12, 4, 5, 64, 16, 16
	return p
}

// check compares a profile's program with the model on a number of cases.
func check(t *testing.T, p *gen.Profile, series uint64, cases int) {
	j, err := NewJudge(featuresOf(p), compile(t, p, "v1model"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range cases {
		c := Generate(j.f, series, uint64(n))
		if j.Run(c) != nil {
			d, diff := j.Shrink(c)
			t.Fatalf("case %d:\n%s%s", n, d.describe(j.f), diff)
		}
	}
	t.Logf("%d cases, %d steps, %v", cases, j.Steps, j.Seen)
}

// count is how many cases to play: few, or many with MODEL=1, or CASES.
func count(few, many int) int {
	if n, err := strconv.Atoi(os.Getenv("CASES")); err == nil {
		return n
	}
	switch {
	case os.Getenv("MODEL") != "":
		return many
	case testing.Short():
		return few / 5
	}
	return few
}

func TestProfiles(t *testing.T) {
	cases := count(100, 100_000)
	for _, name := range gen.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, small(t, name), 1, cases)
		})
	}
}

// TestCombinations takes profiles that nobody wrote, of all that gen accepts.
func TestCombinations(t *testing.T) {
	cases, programs := count(20, 5_000), 60
	if testing.Short() {
		programs = 12
	}
	r := rand.New(rand.NewPCG(7, 7))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for n := 0; n < programs; {
		p := small(t, "ecmp")
		p.Name = fmt.Sprintf("combination-%d", n)
		p.Base = pick("ecmp", "presto", "letflow", "drill", "conga", "hermes", "clb", "plb")
		p.Choose("rlb", pick("off", "rlb", "rlb_adaptive"))
		for _, c := range []struct {
			key   string
			often int
		}{{"pcn", 4}, {"pbfs", 3}, {"int", 3}, {"qcn", 3}} {
			if r.IntN(c.often) == 0 {
				p.Choose(c.key, "on")
			}
		}
		p.Choose("ecn", pick("off", "red", "np_ecn"))
		p.Choose("pfc", pick("native", "native", "emulated"))
		p.Sizes.Paths, p.Sizes.Leaves = 2+r.IntN(7), 3+r.IntN(5)
		if r.IntN(4) == 0 {
			p.Sizes.Priorities = 1
		}
		p.Units.Time = manifest.TimeUnit(pick("ns", "ns", "us"))
		p.Units.Depth = manifest.DepthUnit(pick("cells80", "bytes", "packets"))
		if p.Check() != nil {
			continue
		}
		n++
		t.Run(fmt.Sprintf("%s %s %v paths %d priorities %d %s %s", p.Name, p.Base, p.Choices,
			p.Sizes.Paths, p.Sizes.Priorities, p.Units.Time, p.Units.Depth), func(t *testing.T) {
			t.Parallel()
			check(t, p, uint64(n), cases)
		})
	}
}
