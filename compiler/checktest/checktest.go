// SPDX-License-Identifier: Apache-2.0

// Package checktest runs tests that are P4 programs with the expected
// diagnostics beside their causes:
//
//	bit<8> x = y /* ERROR undeclared "y is not declared" */;
//
// The comment follows the token at the diagnostic's position. It has the
// severity (ERROR or WARN), the code and a part of the message. A test fails if
// a diagnostic is missing or unexpected. A comment ERROR-AT-END expects the
// diagnostic at the end of the file.
//
// A file has several programs, separated by lines of "---". A line "// Name: …"
// names the program.
package checktest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
)

// Chunk is one program of a file.
type Chunk struct {
	Name string
	// Text begins with as many empty lines as precede the program in the file, so
	// that line numbers are those of the file.
	Text string
}

// Chunks reads the programs of a file.
func Chunks(tb testing.TB, file string) []Chunk {
	tb.Helper()
	text, err := infile.Read(file)
	if err != nil {
		tb.Fatal(err)
	}
	return Split(string(text))
}

var title = regexp.MustCompile(`(?m)^// Name: (.*)$`)

// Split splits a text at its lines of "---".
func Split(text string) (list []Chunk) {
	line, before := 1, 0
	for _, part := range strings.SplitAfter(text, "\n---\n") {
		body := strings.TrimSuffix(part, "---\n")
		c := Chunk{Name: "line " + strconv.Itoa(line), Text: strings.Repeat("\n", before) + body}
		if m := title.FindStringSubmatch(body); m != nil {
			c.Name = m[1]
		}
		list = append(list, c)
		before += strings.Count(part, "\n")
		line = before + 1
	}
	return list
}

// Run checks each program of the file as a subtest. compile returns the
// diagnostics of a program.
func Run(t *testing.T, file string, compile func(name, text string) diag.List) {
	for _, c := range Chunks(t, file) {
		t.Run(c.Name, func(t *testing.T) { Check(t, file, c.Text, compile) })
	}
}

// Check compares the diagnostics from compile with those that the comments of
// the program expect.
func Check(t *testing.T, name, text string, compile func(name, text string) diag.List) {
	t.Helper()
	want := expectations(t, name, text)
	// Comments matter between a macro's name and its arguments.
	blank := expected.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)) })
	for _, d := range compile(name, blank) {
		key := d.Pos.String()
		found := false
		for i, w := range want[key] {
			if w.severity == d.Severity && w.code == d.Code && strings.Contains(d.Msg, w.msg) {
				want[key] = append(want[key][:i:i], want[key][i+1:]...)
				found = true
				break
			}
		}
		if !found {
			t.Errorf("not expected: %v", d)
		}
	}
	for pos, list := range want {
		for _, w := range list {
			t.Errorf("%s: missing %v [%s] %q", pos, w.severity, w.code, w.msg)
		}
	}
}

type expectation struct {
	severity diag.Severity
	code     diag.Code
	msg      string
}

var expected = regexp.MustCompile(`/\* (ERROR|WARN|ERROR-AT-END) [a-z0-9-]+ "[^\n]*?" \*/`)

var comment = regexp.MustCompile(`^/\* (ERROR|WARN|ERROR-AT-END) ([a-z0-9-]+) "(.*)" \*/$`)

// expectations returns the expected diagnostics in the comments of a text, by
// position.
func expectations(t *testing.T, name, text string) map[string][]expectation {
	t.Helper()
	set := &source.Set{}
	f := set.Add(name, text)
	s := syntax.NewScanner(f, &source.Reporter{Set: set})
	s.Comments = true
	want := map[string][]expectation{}
	at, end := f.Pos(0), set.Position(f.Pos(len(text))).String()
	for {
		switch k := s.Next(); k.Kind {
		case syntax.EOF:
			return want
		case syntax.Comment:
			m := comment.FindStringSubmatch(k.Text)
			if m == nil {
				if strings.Contains(k.Text, "ERROR") || strings.Contains(k.Text, "WARN ") {
					t.Errorf("%v: malformed expectation %s", set.Position(k.Pos), k.Text)
				}
				continue
			}
			e := expectation{code: diag.Code(m[2]), msg: m[3]}
			if m[1] == "WARN" {
				e.severity = diag.Warning
			}
			key := set.Position(at).String()
			if m[1] == "ERROR-AT-END" {
				key = end
			}
			want[key] = append(want[key], e)
		default:
			at = k.Pos
		}
	}
}

// Print returns one line per diagnostic, line:column, severity, message and
// code, for test tables.
func Print(list diag.List) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%d:%d %v: %s [%s]\n", d.Pos.Line, d.Pos.Col, d.Severity, d.Msg, d.Code)
	}
	return b.String()
}
