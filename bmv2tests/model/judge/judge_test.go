// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/model"
	"github.com/pauseless/pauseless/softswitch/interp"
)

var targets = []string{"v1model", "tna"}

// compile compiles P4 text, with our compiler or, if P4C_BM2 names one, with
// p4c. It returns nil for text that our compiler refuses.
func compile(t *testing.T, name, target string, text []byte) *interp.Program {
	t.Helper()
	var file *bmv2json.Program
	if p4c := os.Getenv("P4C_BM2"); p4c != "" && target == "v1model" {
		// Not t.TempDir, whose name has the test's, with characters that p4c's shell interprets.
		dir, err := os.MkdirTemp("", "judge")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		p4, json := filepath.Join(dir, "x.p4"), filepath.Join(dir, "x.json")
		if err := os.WriteFile(p4, text, 0o666); err != nil {
			t.Fatal(err)
		}
		if b, err := exec.Command(p4c, "-o", json, p4).CombinedOutput(); err != nil {
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
		r, _ := compiler.Compile(compiler.Options{File: name + ".p4", Source: text})
		if file = r.Program; file == nil {
			return nil
		}
	}
	prog, err := interp.Compile(file, interp.Options{})
	if err != nil {
		return nil
	}
	return prog
}

// fills are the formulas of a table's entries in the text of a program.
var (
	fills = regexp.MustCompile(`@name\("\.(\w+)"\) @kind\("enumeration"\)\s+@brief\("[^"]*"\)((?:\s+@fill\("[^"]*"\))+)`)
	fill  = regexp.MustCompile(`@fill\("([^"]*)"\)`)
)

// judgeOf returns the judge of a profile's program, which change may change; nil
// if that does not compile.
func judgeOf(t *testing.T, p *gen.Profile, target string, change func(text string) string) *Judge {
	t.Helper()
	out, err := gen.Generate(p, target)
	if err != nil {
		t.Fatal(err)
	}
	text := string(out.P4)
	if change != nil {
		text = change(text)
		for _, m := range fills.FindAllStringSubmatch(text, -1) {
			t := out.Manifest.Table(m[1])
			t.Fill = nil
			for _, f := range fill.FindAllStringSubmatch(m[2], -1) {
				t.Fill = append(t.Fill, manifest.Fill(f[1]))
			}
		}
	}
	prog := compile(t, p.Name, target, []byte(text))
	if prog == nil {
		return nil
	}
	j, err := NewJudge(model.NewProgram(out.Manifest), prog)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// small is a built-in profile of a small switch. On a Tofino, sizes are powers of
// two, because indices are bits. "@dynamic" behind its name makes its PFC thresholds
// dynamic.
func small(t *testing.T, name, target string) *gen.Profile {
	t.Helper()
	name, thresholds, dynamic := strings.Cut(name, "@")
	p, err := gen.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	p.Sizes.Ports, p.Sizes.Paths, p.Sizes.Leaves, p.Sizes.Hosts, p.Sizes.Flows, p.Sizes.Coflows = 12, 4, 5, 64, 16, 16
	if target == "tna" {
		p.Sizes.Ports, p.Sizes.Leaves = 16, 8
	}
	if dynamic {
		p.Choose("thresholds", thresholds)
	}
	return p
}

// check compares a profile's program with the model on a number of cases.
func check(t *testing.T, p *gen.Profile, target string, series uint64, cases int) {
	t.Helper()
	j := judgeOf(t, p, target, nil)
	if j == nil {
		t.Fatal("the program does not compile")
	}
	for n := range cases {
		if c, _ := j.Find(series, uint64(n)); c != nil {
			d, diff := j.Shrink(c)
			t.Fatalf("case %d:\n%s%s", n, j.describe(d), diff)
		}
	}
	t.Logf("%d cases, %d steps, %v", cases, j.Steps, j.Seen)
}

// count is the number of cases: few, or many with MODEL=1, or CASES.
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

// TestProfiles tests all built-in profiles that can be generated for a target, also
// with dynamic PFC thresholds where a profile allows them.
func TestProfiles(t *testing.T) {
	cases := count(50, 30_000)
	for _, target := range targets {
		for _, name := range gen.Names() {
			for _, name := range []string{name, name + "@dynamic"} {
				p := small(t, name, target)
				if p.Check() != nil || target == "tna" && strings.Contains(name, "@") {
					continue
				}
				if _, err := gen.Generate(p, target); err != nil {
					t.Logf("%s for %s: %v", name, target, err)
					continue
				}
				t.Run(target+" "+name, func(t *testing.T) {
					t.Parallel()
					check(t, p, target, 1, cases)
				})
			}
		}
	}
}

// TestCombinations tests random combinations of all keys and values that can be
// generated for a target.
func TestCombinations(t *testing.T) {
	cases, programs := count(10, 2_000), 40
	if testing.Short() {
		programs = 12
	}
	if cases > 100 {
		programs = 60
	}
	keys := choices()
	for k, target := range targets {
		r := rand.New(rand.NewPCG(7+uint64(k), 7))
		pick := func(list ...string) string { return list[r.IntN(len(list))] }
		for n := 0; n < programs; {
			p := small(t, gen.Names()[0], target)
			p.Name = fmt.Sprintf("combination-%d", n)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				p.Choose(key, pick(keys[key]...))
			}
			p.Sizes.Paths = 2 + r.IntN(7)
			if target == "v1model" {
				p.Sizes.Leaves = 3 + r.IntN(5)
				if r.IntN(4) == 0 {
					p.Sizes.Priorities = 1
				}
				p.Units.Time = manifest.TimeUnit(pick("ns", "ns", "us"))
				p.Units.Depth = manifest.DepthUnit(pick("cells80", "bytes", "packets"))
			}
			if p.Check() != nil {
				continue
			}
			if _, err := gen.Generate(p, target); err != nil {
				continue // this target does not have it
			}
			n++
			t.Run(fmt.Sprintf("%s %s %s %v paths %d priorities %d %s %s", target, p.Name, p.Base, p.Choices, p.Sizes.Paths, p.Sizes.Priorities, p.Units.Time, p.Units.Depth), func(t *testing.T) {
				t.Parallel()
				check(t, p, target, uint64(n), cases)
			})
		}
	}
}

// choices are the keys of profiles that pick blocks, each with its values.
func choices() map[string][]string {
	keys := make(map[string][]string)
	for _, c := range gen.Choices() {
		for _, v := range c.Values {
			keys[c.Name] = append(keys[c.Name], v.Value)
		}
		if values := keys[c.Name]; values[0] == c.Default {
			keys[c.Name] = append(values[1:], c.Default)
		}
	}
	return keys
}

// Where no register has a bit for each path, a Tofino may have more than eight paths.
func TestManyPathsOnTofino(t *testing.T) {
	for _, base := range choices()["base"] {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			p := small(t, base, "tna")
			p.Sizes.Paths, p.Sizes.Ports = 23, 32
			if _, err := gen.Generate(p, "tna"); err != nil {
				t.Skip("SKIP: ", err)
			}
			check(t, p, "tna", 1, count(60, 20_000))
		})
	}
}

// schemes.go imports all models that there are.
func TestAllModelsAreJudged(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	var folders []string
	for _, pattern := range []string{"gen/blocks/*/model", "gen/blocks/*/*/model", "gen/schemes/*/model", "gen/schemes/*/*/model"} {
		list, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range list {
			rel, err := filepath.Rel(root, folder)
			if err != nil {
				t.Fatal(err)
			}
			folders = append(folders, rel)
		}
	}
	slices.Sort(folders)
	var b strings.Builder
	b.WriteString("// SPDX-License-Identifier: Apache-2.0\n// Code generated by `make golden` from the folders that have a model; DO NOT EDIT.\n\npackage judge\n\nimport (\n")
	for _, folder := range folders {
		fmt.Fprintf(&b, "\t_ \"github.com/pauseless/pauseless/%s\"\n", filepath.ToSlash(folder))
	}
	b.WriteString(")\n")
	golden.Check(t, "schemes.go", []byte(b.String()))
}
