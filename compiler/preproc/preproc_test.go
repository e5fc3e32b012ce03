// SPDX-License-Identifier: Apache-2.0

package preproc_test

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pauseless/pauseless/compiler/preproc"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// files are what the tests include.
var files = map[string]string{
	"one.p4":      "1",
	"dir/two.p4":  "#include \"near.p4\"\n2",
	"dir/near.p4": "near __FILE__ __LINE__",
	"guard.p4":    "#ifndef G\n#define G\nonce\n#endif",
	"self.p4":     "#include \"self.p4\"\n",
	"open.p4":     "#if 1\n",
}

var system = fstest.MapFS{
	"core.p4": {Data: []byte("#include \"more.p4\"\ncore")},
	"more.p4": {Data: []byte("more")},
}

// run returns the tokens of a text, in the lines of the text, and the errors.
func run(text string, defines ...string) (string, *source.Reporter) {
	list, rep := tokens(text, defines...)
	var b strings.Builder
	for i, t := range list[:len(list)-1] {
		if i > 0 && t.Flags&(syntax.SpaceAhead|syntax.LineStart) != 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.Source())
	}
	return b.String(), rep
}

func tokens(text string, defines ...string) ([]syntax.Token, *source.Reporter) {
	set := &source.Set{}
	rep := &source.Reporter{Set: set}
	list := preproc.Run(set, rep, preproc.Options{
		Include: []string{"dir"},
		Defines: defines,
		Open: func(name string) (string, error) {
			if text, ok := files[name]; ok {
				return text, nil
			}
			return "", fs.ErrNotExist
		},
		System:       system,
		SystemPrefix: "sys/",
	}, set.Add("t.p4", text))
	return list, rep
}

var tests = []struct{ name, text, want string }{
	{"object", "#define A b c\nA A", "b c b c"},
	{"undefined", "#define A 1\n#undef A\nA", "A"},
	{"not in its own expansion", "#define A A + B\n#define B A\nA", "A + A"},
	{"function", "#define F(x, y) x*y\nF(1, (2, 3)) F (4,\n5) F", "1*(2, 3) 4*5 F"},
	{"no arguments", "#define F() 1\nF() F( )", "1 1"},
	{"empty argument", "#define F(x, y) [x|y]\nF(, 2) F(,)", "[|2] [|]"},
	{"arguments are expanded first", "#define A 1\n#define F(x) x x\nF(A)", "1 1"},
	{"call from an expansion", "#define F(x) <x>\n#define G F\nG(3) G", "<3> F"},
	{"call that spans the end of an expansion", "#define F(x) <x>\n#define G F(\nG 1)", "<1>"},
	{"stringize", "#define S(x) #x\nS(a + \"b\") S( c  d )", `"a + \"b\"" "c d"`},
	{"paste", "#define C(x, y) x##y\nC(ab, 1) C(1, w5) C(, z) C(<, <)", "ab1 1w5 z <<"},
	{"paste of nothing", "#define C(x, y, z) ; x##y##z\nC(,,b) C(,c,) C(,,) C(d,,) C(,e,f)", "; b ; c ; ; d ; ef"},
	{"pasted arguments are not expanded", "#define A 1\n#define C(x) x ## A\nC(A)", "AA"},
	{"variadic", "#define F(x, ...) x(__VA_ARGS__)\nF(f, 1, 2) F(g)", "f(1, 2) g()"},
	{"named variadic", "#define F(x...) <x>\nF(1, 2)", "<1, 2>"},
	{"space", "#define A(x) x;\nA( 1 )A(2)", "1;2;"},
	{"line and file", "__LINE__\n __FILE__", `1 "t.p4"`},
	{"line in a macro is that of the use", "#define L __LINE__\n\nL", "3"},
	{"if", "#if 1 + 2 * 3 == 7 && !defined X && (1 ? 2 : 0)\na\n#else\nb\n#endif", "a"},
	{"if of bits", "#if (1 << 4 | 3) & ~1 ^ 0x10\na\n#endif", "a"},
	{"if of undefined macros", "#if X\na\n#elif Y == 0\nb\n#endif", "b"},
	{"if of shifts", "#if 16 >> 2 == 4 && -7 / 2 == -3 && -7 % 2 == -1\na\n#endif", "a"},
	{"if of shifts by any number", "#if (1 << 64) == 0 && (-1 >> 64) == -1 && (4 << -1) == 2 && (4 >> -1) == 8\na\n#endif", "a"},
	{"if without the operand that divides by zero", "#if defined X && 10 / X > 2\na\n#elif 1 || 1 % 0\nb\n#endif\n#if (1 ? 2 : 1 / 0) && (0 ? 1 / 0 : 1)\nc\n#endif", "b c"},
	{"if by comparison", "#if 2 > 1 && 1 >= 1 && 1 <= 2 && 1 != 2 || 0\na\n#endif", "a"},
	{"if with suffixes", "#if 10UL == 0xA && 012 == 10L\na\n#else\nb\n#endif", "a"},
	{"ifdef", "#define X\n#ifdef X\na\n#endif\n#ifndef X\nb\n#else\nc\n#endif // X", "a c"},
	{"elif chain", "#define V 2\n#if V == 1\na\n#elif V == 2\nb\n#elif V == 2\nc\n#else\nd\n#endif", "b"},
	{"nested and skipped", "#if 0\n#if 1\na\n#else\nb\n#endif\n#elif 1\nc\n#endif", "c"},
	{"comment over a skipped directive", "#if 0\n/*\n#endif\n*/\na\n#endif\nb", "b"},
	{"directive in an argument", "#define F(x) x\nF(1\n#define A 2\nA)", "1 2"},
	{"continued lines", "#define A 1 \\\n 2\nA", "1 2"},
	{"comment in a directive", "#define A /* x */ 1 // y\nA", "1"},
	{"include", "#include \"one.p4\"\n2", "1 2"},
	{"include from a folder", "#include \"two.p4\"", `near "dir/near.p4" 1 2`},
	{"include beside the includer", "#include \"dir/two.p4\"", `near "dir/near.p4" 1 2`},
	{"include of the system", "#include <core.p4>", "more core"},
	{"include by a macro", "#define F <core.p4>\n#define G \"one.p4\"\n#include G\n#include F", "1 more core"},
	{"guard", "#include \"guard.p4\"\n#include \"guard.p4\"", "once"},
	{"predefined", "N M", "1 a + 2"},
	{"pragma and lone hash", "#pragma once\n#\n#ident \"x\"\na", "a"},
}

func TestRun(t *testing.T) {
	for _, c := range tests {
		got, rep := run(c.text, "N", "M=a + 2")
		if len(rep.List) > 0 {
			t.Errorf("%s: %v", c.name, rep.List)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// The values of expressions are those of GNU cpp, bit by bit.
func TestConditionsAreThoseOfCPP(t *testing.T) {
	table, err := os.ReadFile("testdata/conditions.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")[1:]
	for _, line := range lines {
		value, x, _ := strings.Cut(line, " ")
		if value == "error" {
			if _, rep := run("#if " + x + "\n#endif"); !strings.Contains(rep.List.Error(), "division by zero") {
				t.Errorf("%s: %v, want a division by zero", x, rep.List)
			}
			continue
		}
		value, unsigned := strings.CutSuffix(value, "u")
		bits, err := strconv.ParseUint(value, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for n := range 64 {
			fmt.Fprintf(&text, "#if (%s) >> %d & 1\nb%d\n#endif\n", x, n, n)
		}
		fmt.Fprintf(&text, "#if (%s) * 0 - 1 > 0\nunsigned\n#endif\n#if %s\ntrue\n#endif\n", x, x)
		out, rep := run(text.String())
		var got uint64
		is := make(map[string]bool)
		for _, word := range strings.Fields(out) {
			is[word] = true
			if n, err := strconv.Atoi(strings.TrimPrefix(word, "b")); err == nil {
				got |= 1 << n
			}
		}
		if rep.Failed() || got != bits || is["unsigned"] != unsigned || is["true"] != (bits != 0) {
			t.Errorf("%s: %#x, unsigned %v, true %v; want %#x, %v, %v; %v", x, got, is["unsigned"], is["true"], bits, unsigned, bits != 0, rep.List)
		}
	}
	if len(lines) < 600 {
		t.Errorf("the table has %d lines", len(lines))
	}
}

// Every input that grows without limit ends with an error, and so do numbers and files that end too early.
func TestBounds(t *testing.T) {
	const tooLarge = "the expansion of macro"
	double := "#define A0 x x\n"
	for i := range 40 {
		n, m := string(rune('A'+i%26))+string(rune('0'+i/26)), string(rune('A'+(i+1)%26))+string(rune('0'+(i+1)/26))
		double += "#define " + m + " " + n + " " + n + "\n"
	}
	calls := 5000 // each call reads its arguments
	if testing.Short() {
		calls = 500
	}
	for name, c := range map[string]struct{ text, want string }{
		"doubling":              {double + "O1", tooLarge},
		"doubling of arguments": {"#define D(x) x x\n" + strings.Repeat("D(", 40) + "1" + strings.Repeat(")", 40), tooLarge},
		"doubling of nothing":   {"#define E\n#define D(x) x x\n" + strings.Repeat("D(", 40) + "E" + strings.Repeat(")", 40), ""},
		"self-inclusion":        {"#include \"self.p4\"", "does self.p4 include itself?"},
		"conditionals":          {strings.Repeat("#if 1\n", 2000), "conditionals nest deeper than 1000"},
		"parentheses":           {"#if " + strings.Repeat("(", 5000) + "\n#endif", "the condition is nested too deep"},
		"negations":             {"#if " + strings.Repeat("!", 5000) + "1\n#endif", "the condition is nested too deep"},
		"calls":                 {"#define F(x) x\n" + strings.Repeat("F(", calls) + strings.Repeat(")", calls), ""},
		"division by zero":      {"#if 0 || 1 / 0\n#endif", "division by zero in the condition"},
		"open file":             {"#include \"open.p4\"", "open.p4:1:1: #if without #endif"},
	} {
		if testing.Short() && c.want == tooLarge {
			continue // a million tokens
		}
		_, rep := run(c.text)
		if got := rep.List.Error(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %.300s, want %s", name, got, c.want)
		}
	}
}

// Any text yields tokens within the set, in limited time.
func FuzzRun(f *testing.F) {
	for _, c := range tests {
		f.Add(c.text)
	}
	for _, text := range macros {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set := &source.Set{}
		rep := &source.Reporter{Set: set}
		list := preproc.Run(set, rep, preproc.Options{
			Open:   func(name string) (string, error) { return "", fs.ErrNotExist },
			System: system, SystemPrefix: "sys/",
		}, set.Add("fuzz.p4", text))
		if n := len(list); n == 0 || list[n-1].Kind != syntax.EOF {
			t.Fatal("no end of file")
		}
		for _, k := range list {
			if pos := set.Position(k.Pos); !pos.IsValid() {
				t.Fatalf("token %s is outside of all files", k.Source())
			}
		}
	})
}

// A backslash at the end of a line joins the next one, even within a word:
// sonic-pins' versions.h has such a name.
func TestLineContinuationWithinWord(t *testing.T) {
	got, rep := run("#define LONG_\\\nNAME \\\n  12\\\n34\nLONG_NAME LONG_ \\\nNAME a\\\r\nb c\\\n")
	if rep.Failed() || strings.TrimSpace(got) != "1234 LONG_ NAME ab c" {
		t.Errorf("got %q, %v", got, rep.List)
	}
}
