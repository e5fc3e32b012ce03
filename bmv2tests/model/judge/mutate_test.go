// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/model"
)

// The judge is judged by programs with a small error in them. Each scheme has a
// list of such errors, mutants.txt in its folder, and the judge must show each
// of them: a line has target and profile, and what text is replaced by what.

// A mutant is a line of such a file.
type mutant struct{ file, target, profile, from, to string }

func mutants(t *testing.T) []mutant {
	t.Helper()
	var list []mutant
	for _, pattern := range []string{"blocks/*", "schemes/*"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "gen", pattern, "model", "mutants.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(text), "\n") {
				if line == "" || line[0] == '#' {
					continue
				}
				m := mutant{file: fmt.Sprintf("%s:%d", file, i+1)}
				if _, err := fmt.Sscanf(line, "%s %s %q => %q", &m.target, &m.profile, &m.from, &m.to); err != nil {
					t.Fatalf("%s: %v", m.file, err)
				}
				list = append(list, m)
			}
		}
	}
	return list
}

// find runs cases until one shows a difference; it returns the number of cases
// if none does.
func (j *Judge) find(cases int) (int, *model.Case) {
	for n := range cases {
		if c, _ := j.Find(1, uint64(n)); c != nil {
			return n, c
		}
	}
	return cases, nil
}

// The judge detects each program with an error, and the case that shows it is small.
func TestJudgeShowsErrorsInSmallCases(t *testing.T) {
	for i, m := range mutants(t) {
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(m.target+" "+m.profile+" "+m.from, func(t *testing.T) {
			t.Parallel()
			const cases = 20_000
			j := judgeOf(t, small(t, m.profile, m.target), m.target, func(text string) string {
				if !strings.Contains(text, m.from) {
					t.Fatalf("%s: the program does not have %q", m.file, m.from)
				}
				return strings.ReplaceAll(text, m.from, m.to)
			})
			if j == nil {
				t.Fatalf("%s: the program does not compile with %q", m.file, m.to)
			}
			most := 4
			if m.target == "tna" {
				most = 8 // egress tells ingress by packets of its own
			}
			n, c := j.find(cases)
			if c == nil {
				t.Fatalf("%s: %d cases pass with %q", m.file, cases, m.to)
			}
			shrunk, diff := j.Shrink(c)
			t.Logf("case %d shows %q => %q, %d events, %d cells: %s", n, m.from, m.to, len(shrunk.Events), len(shrunk.Cells), diff.What)
			if len(shrunk.Events) > most || len(shrunk.Cells) > most {
				t.Errorf("%s: the case is not small:\n%s%s", m.file, j.describe(shrunk), diff)
			}
		})
	}
}

// A mutation is a small error in a program.
type mutation struct {
	line     int
	from, to string
	text     string // of the line
	program  string
}

var mutable = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(` < `), " <= "},
	{regexp.MustCompile(` <= `), " < "},
	{regexp.MustCompile(` > `), " >= "},
	{regexp.MustCompile(` >= `), " > "},
	{regexp.MustCompile(` == `), " != "},
	{regexp.MustCompile(` != `), " == "},
	{regexp.MustCompile(` && `), " || "},
	{regexp.MustCompile(` \|\| `), " && "},
	{regexp.MustCompile(` \+ `), " - "},
	{regexp.MustCompile(` - `), " + "},
	{regexp.MustCompile(` \|-\| `), " - "},
	{regexp.MustCompile(` >> `), " << "},
	{regexp.MustCompile(` << `), " >> "},
	{regexp.MustCompile(` & ~`), " | "},
	{regexp.MustCompile(`= true;`), "= false;"},
	{regexp.MustCompile(`\.write\(.*\);`), ""},
	{regexp.MustCompile(`^( *)(clone_preserving.*|mark_to_drop.*|exit;)`), "$1"},
	{regexp.MustCompile(`^( *)hdr\.[a-z_0-9.]+ = .*;`), "$1"},
	{regexp.MustCompile(`^( *)meta\.[a-z_0-9.]+ = .*;`), "$1"},
}

// mutations lists all programs with one small error in a control.
func mutations(text string) []mutation {
	var list []mutation
	lines := strings.Split(text, "\n")
	inside := false
	for i, line := range lines {
		if strings.HasPrefix(line, "control ") {
			inside = true
		}
		if strings.HasPrefix(line, "} // control") || strings.HasPrefix(line, "control VerifyChecksums") {
			inside = false
		}
		code, _, _ := strings.Cut(line, "//")
		if !inside || strings.Contains(code, "register<") || strings.Contains(code, "@") {
			continue
		}
		for _, m := range mutable {
			for _, at := range m.from.FindAllStringIndex(code, -1) {
				changed := code[:at[0]] + m.from.ReplaceAllString(code[at[0]:at[1]], m.to) + code[at[1]:]
				if strings.HasSuffix(m.from.String(), `write\(.*\);`) {
					changed = "" // the whole statement
				}
				out := append([]string(nil), lines...)
				out[i] = changed
				list = append(list, mutation{i + 1, strings.TrimSpace(code[at[0]:at[1]]), strings.TrimSpace(m.to), strings.TrimSpace(line), strings.Join(out, "\n")})
			}
		}
	}
	return list
}

// With MUTATE set to the name of a profile, TestMutations makes small errors
// in its programs, one at a time, and lists those that no case shows.
func TestMutations(t *testing.T) {
	name := os.Getenv("MUTATE")
	if name == "" {
		t.Skip("SKIP: set MUTATE to the name of a profile to see which errors in it would go unnoticed")
	}
	cases, _ := strconv.Atoi(os.Getenv("CASES"))
	if cases == 0 {
		cases = 3000
	}
	for _, target := range targets {
		p := small(t, name, target)
		out, err := gen.Generate(p, target)
		if err != nil {
			t.Logf("%s for %s: %v", name, target, err)
			continue
		}
		all, refused, alive := 0, 0, 0
		for _, m := range mutations(string(out.P4)) {
			all++
			j := judgeOf(t, p, target, func(string) string { return m.program })
			if j == nil {
				refused++
				continue
			}
			if _, c := j.find(cases); c == nil {
				alive++
				fmt.Printf("%s %s %4d %-4s -> %-4s %s\n", target, name, m.line, m.from, m.to, m.text)
			}
		}
		t.Logf("%s for %s: %d errors, %d of them do not compile, %d go unnoticed in %d cases", name, target, all, refused, alive, cases)
	}
}
