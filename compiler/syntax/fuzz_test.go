// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// Tokens are in order, lie in the text, and have its text.
func FuzzScan(f *testing.F) {
	for _, c := range scanTests {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set := &source.Set{}
		file := set.Add("fuzz.p4", text)
		s := syntax.NewScanner(file, &source.Reporter{Set: set})
		s.Comments = true
		at := 0
		for {
			k := s.Next()
			start, end := file.Offset(k.Pos), file.Offset(k.End)
			if start < at || end < start || end > len(text) {
				t.Fatalf("token %s at %d to %d, after %d", k.Kind, start, end, at)
			}
			joined := strings.NewReplacer("\\\n", "", "\\\r\n", "")
			if gap := joined.Replace(text[at:start]); strings.Trim(gap, " \t\r\n\f\v") != "" {
				t.Fatalf("%q between tokens", gap)
			}
			if k.Kind == syntax.EOF {
				return
			}
			got := text[start:end]
			if k.Kind == syntax.Name || k.Kind == syntax.Integer || k.Kind.IsKeyword() {
				got = joined.Replace(got)
			}
			if k.Kind != syntax.String && k.Kind != syntax.Pragma && got != k.Source() {
				t.Fatalf("token %q of text %q", k.Source(), got)
			}
			at = end
		}
	})
}

// A program that parses is printed as a program that parses to the same tree.
func FuzzParse(f *testing.F) {
	for _, c := range parseTests {
		f.Add(c.text)
	}
	for _, text := range valid {
		f.Add(text)
	}
	for _, text := range invalid {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, list := parse(text)
		if list.HasErrors() {
			return
		}
		twice, list := parse(once)
		if list.HasErrors() {
			t.Fatalf("%v\n%s", list, once)
		}
		if once != twice {
			t.Fatalf("got\n%s\nthen\n%s", once, twice)
		}
	})
}
