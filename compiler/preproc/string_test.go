// SPDX-License-Identifier: Apache-2.0

package preproc_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
)

// longStrings are strings of several lines after cpp as p4c runs it.
// Definitions of macros precede each.
var longStrings = []struct{ name, text, want string }{
	{"plain", "\"a  b\n  c   d\n\"", "\"a  b\n  c d\n\""},
	{"condition", "\"a\n#if A == 42\n b\n#else\n c \"\n#endif\n d\"", "\"a\n\n b\n\n\n\n d\""},
	{"condition with elif", "\"a\n#ifdef NONE\n b\n #elif A\n c\n# endif\n\"", "\"a\n\n\n\n c\n\n\""},
	{"nested conditions", "\"\n#if 1\n#if 0\nx\n#endif\ny\n#endif\n\"", "\"\n\n\n\n\ny\n\n\""},
	{"macros from the second line on", "\"A\n A A, (A) -A\n\"", "\"A\n 42 42, (42) -42\n\""},
	{"macro with arguments", "\"\nF( A   b ) F (1), F\n\"", "\"\n<42 b> <1>, F\n\""},
	{"empty macro", "\"\n x E;\n  E A\n E\n\"", "\"\n x ;\n  42\n\n\""},
	{"definition", "\"\n#define B 3\n B\n#undef B\n B\"", "\"\n\n 3\n\n B\""},
	{"comments are text", "\"\n x   // A  b\n y /* A\n  z */ A\n\"", "\"\n x // A  b\n y /* A\n  z */ 42\n\""},
	{"apostrophe", "\"\n it's  A A\n 'A'  A\n\"", "\"\n it's  A A\n 'A' 42\n\""},
	{"escaped quote", "\"\n x \\\"A  A\n A \\\\\" A", "\"\n x \\\"A  A\n 42 \\\\\" A"},
	{"escaped string within", "\"\n x \\\"A\\\"  A\n\"", "\"\n x \\\"A\\\"  A\n\""},
	{"quote in a comment", "\"\n // x\" A\nA", "\"\n // x\" A 42"},
	{"no macro after the closing quote", "\"\n x\") A\nA", "\"\n x\") A 42"},
	{"joined line", "\"a \\\n b\n c\\\n d A\ne\"", "\"a  b\n\n c d 42\n\ne\""},
	{"joined line of one string", "\"a \\\n b\" A", "\"a  b\" 42"},
	{"white space at the end", "\"a \n b \t\n   \n\tc\"", "\"a \n b\n\n c\""},
	{"line ends of Windows", "\"a\r\n b\r\n#if 1\r\n c\r\n#endif\r\n\"", "\"a\n b\n\n c\n\n\""},
	{"not directives", "\"\n#foo A\n x # if\n # 12 A\"", "\"\n#foo 42\n x # if\n # 12 42\""},
	{"two in a row", "\"\n a\", \"\n b\"", "\"\n a\", \"\n b\""},
	{"in an argument", "F(\"\n a\")", "<\"\n a\">"},
}

const longMacros = "#define A 42\n#define E\n#define F(x) <x>\n"

// Strings of several lines are preprocessed line by line, as by cpp for p4c.
func TestLongStrings(t *testing.T) {
	cpp, err := exec.LookPath("cpp")
	if err != nil {
		need.No(t, err)
	}
	for _, c := range longStrings {
		t.Run(c.name, func(t *testing.T) {
			got, rep := run(longMacros + c.text)
			if len(rep.List) > 0 || got != c.want {
				t.Errorf("got %q, want %q, %v", got, c.want, rep.List)
			}
			if c.name == "in an argument" { // there cpp parses the following text as arguments
				return
			}
			cmd := exec.Command(cpp, "-C", "-undef", "-nostdinc", "-x", "assembler-with-cpp", "-")
			cmd.Stdin = strings.NewReader(longMacros + c.text + "\n")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			_, theirs, _ := strings.Cut(string(out), "# 1 \"<stdin>\"\n")
			theirs = strings.Trim(theirs, "\n")
			if end := strings.LastIndexByte(theirs, '"') + 1; end > 0 { // white space outside strings does not matter
				theirs = theirs[:end] + strings.ReplaceAll(theirs[end:], "\n", " ")
			}
			if theirs != c.want {
				t.Errorf("cpp gives %q, want %q", theirs, c.want)
			}
		})
	}
}

func TestLongStringsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"\"a\n b":                      "t.p4:1:1: string is not closed",
		"\"a\n#if 1\n b":               "string is not closed",
		"\"a\n#include \"one.p4\"\n\"": "t.p4:2:1: #include is not supported within a string",
		"#define X \"a\n b\"\n":        "t.p4:1:11: string is not closed: in a directive it must end on its line",
		"#define F(x) x\n\"\nF(1\n)\"": "the call of macro F is not closed",
		"\"\n#error not this\n\"":      "t.p4:2:1: #error not this",
	} {
		_, rep := run(text)
		if got := rep.List.Error(); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
