// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/gen"
)

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
		if !inside || strings.Contains(code, "register<") || strings.Contains(code, "@name") {
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

// A program with an error is found out, and the case that shows it is small.
func TestJudgeShowsErrorsInSmallCases(t *testing.T) {
	for _, c := range []struct{ profile, from, to string }{
		{"drill", "if (qlen_b < shortest) {", "if (qlen_b > shortest) {"},
		{"rlb-drill", "meta.warn = meta.qlen >= warn_at", "meta.warn = meta.qlen > warn_at"},
		{"clb", "qlen < threshold ? 1w0 : 1w1", "qlen <= threshold ? 1w0 : 1w1"},
		{"pcn", "!held && ", ""},
	} {
		p := small(t, c.profile)
		out, err := gen.Generate(p, "v1model")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(out.P4), c.from, c.to, 1)
		if text == string(out.P4) {
			t.Fatalf("%s has no %q", c.profile, c.from)
		}
		r, list := compiler.Compile(compiler.Options{File: c.profile + ".p4", Source: []byte(text)})
		if r.Program == nil {
			t.Fatal(list.Err())
		}
		prog, err := Load(c.profile, r.Program)
		if err != nil {
			t.Fatal(err)
		}
		j, err := NewJudge(featuresOf(p), prog)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ {
			if n == 20_000 {
				t.Errorf("%s: %q instead of %q goes unnoticed", c.profile, c.to, c.from)
				break
			}
			example := Generate(j.f, 1, uint64(n))
			if j.Run(example) == nil {
				continue
			}
			shrunk, diff := j.Shrink(example)
			if len(shrunk.Events) > 4 || len(shrunk.Cells) > 4 {
				t.Errorf("%s: the case is not small:\n%s%s", c.profile, shrunk.describe(j.f), diff)
			}
			break
		}
	}
}

// With MUTATE set to the name of a profile, TestMutations makes small errors
// in its program, one at a time, and lists those that no case shows. It is how
// the judge is judged.
func TestMutations(t *testing.T) {
	name := os.Getenv("MUTATE")
	if name == "" {
		t.Skip("SKIP: set MUTATE to the name of a profile to see which errors in it would go unnoticed")
	}
	cases, _ := strconv.Atoi(os.Getenv("CASES"))
	if cases == 0 {
		cases = 3000
	}
	p := small(t, name)
	out, err := gen.Generate(p, "v1model")
	if err != nil {
		t.Fatal(err)
	}
	all, refused, alive := 0, 0, 0
	for _, m := range mutations(string(out.P4)) {
		all++
		r, _ := compiler.Compile(compiler.Options{File: name + ".p4", Source: []byte(m.program)})
		if r.Program == nil {
			refused++
			continue
		}
		prog, err := Load(name, r.Program)
		if err != nil {
			t.Fatal(err)
		}
		j, err := NewJudge(featuresOf(p), prog)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for n := 0; n < cases && !found; n++ {
			found = j.Run(Generate(j.f, 1, uint64(n))) != nil
		}
		if !found {
			alive++
			fmt.Printf("%4d %-4s -> %-4s %s\n", m.line, m.from, m.to, m.text)
		}
	}
	t.Logf("%s: %d errors, %d of them do not compile, %d go unnoticed in %d cases", name, all, refused, alive, cases)
}
