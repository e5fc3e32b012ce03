// SPDX-License-Identifier: Apache-2.0

package preproc_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/need"
)

// macros are texts of which GNU cpp, as p4c runs it, says what they mean.
var macros = []string{
	"#define F(x) <x>\n#define S(x) #x\n#define C(x, y) x##y\n#define N 3\nF /* c */ (1) S(a /* c */ b) C(a /* c */, b) F(a /* c */ b) F(a // d\n) S( /* x */ a)",
	"#define C(x, y) x##y\nC(., 5) C(1, .) C(+, x) C(a, \"b\") C('x', y) C(-, >) C(/, /) C(=, =) C(<, <) C(hdr., x) C(, ) C(-, 1)",
	"#define SET(f, v) hdr.d ## . ## f = v\n#define ELEM(i) m_##i##[3:0]\nSET(a, 7); ELEM(1)",
	"#define L(f, ...) g(f, ## __VA_ARGS__)\n#define M(args...) g(x, ## args)\n#define N 3\nL(a) L(a,) L(a,b) L(a,N,) M() M(a) M(a,b)",
	"#define V(f, ...) f __VA_OPT__([) __VA_ARGS__ __VA_OPT__(])\n#define W(x, ...) a ## __VA_OPT__(x y) ## b\n#define E\nV(a) V(b, 1, 2) V(c,) V(d, E) W(1) W(2, 3)",
	"#define A 8w0xDE++8w0xAD\n#define P +\n#define E 5\nx 8w0xDE++8w0xAD 8w0xE+++8w1 8w0xE++ 8w1 8w0xE+ +8w1 8w0xE+8w1 8w0xE-8w1 8w0xE+E A 8w0xE+P 16w0xE/**/++1 8w0xE+\n+1",
	"#define N 3\n1..N 0x1e+N 8w1..N N..N 1 .. N a.N",
	"#define F(x) <x>\n#define N 3\n#define S(x) #x\nF('(') F(')' a x N) S('a' \"b\\n\" 'it\\'s') 'N' N",
	"#define N 3\n@x(it's N F(x\n) N",
	"#define F(x) # 5 x\n#define O a # b\nx F(2) O",
	"#if 'a' == 97 && '\\n' == 10 && '\\x41' == 65 && '\\101' == 65 && 'ab' == 24930 && '\\0' == 0 && '\\377' < 0\nok\n#else\nno\n#endif",
	"#if defined __has_include && !__has_include(\"no such file.h\") && defined(__COUNTER__)\nok\n#endif\n#ifdef __LINE__\nok\n#endif",
	"#if (0, 2) && 1, 1\nok\n#endif\n#if 0\n#elifdef __STDC__\nb\n#endif\n#if 0\n#elifndef NONE\nc\n#else\nd\n#endif",
	"__COUNTER__ __COUNTER__ __INCLUDE_LEVEL__ __LINE__ __STDC__ __ASSEMBLER__",
	"#define A __COUNTER__ __COUNTER__\nA A\n#if __COUNTER__ == 4\nok\n#endif\n__COUNTER__",
	"#define F(x) <x>\nF\n#define Q\n(1) F\n(2)",
	"#define f(x) x f\nf(1)(2) #define\n#define g f(\ng 1)(2)",
	"/* c */ #define X 1\nX\n/* c\n*/ #define Y 1\nY\n a /* b\n */ c",
	"#define E\n#define F(x) <x>\nF E (1) E F(2) E",
	"a \\  \n b\n#define X 1 \\ \n 2\nX",
	"#foo bar\nx\n # bar\ny\n#\nz",
	"#define H(x) #y x # x\nx H(2) {#} {#}",
	"#define X(a) a\nX(1\n#undef X\n) X(2)",
	"#define EMPTY\n#define LP (\n#define F(x) [x]\n#define G F LP 1 )\nG F EMPTY (2)",
	"#define AA BB\n#define BB AA x\nAA BB\n#define R(x) R(x) x\nR(R(1))",
	"#define T(x, y) x y\nT((1, 2), {3) T(, 4}) T([a, b])",
}

// cpp returns the tokens of a text after GNU cpp and p4c's scanner, which
// ignores lines that begin with #. It returns false if cpp reports an error.
func cpp(t testing.TB, binary, text string) (string, bool) {
	cmd := exec.Command(binary, "-C", "-undef", "-nostdinc", "-x", "assembler-with-cpp", "-P", "-")
	cmd.Stdin = strings.NewReader(text + "\n")
	var out bytes.Buffer
	cmd.Stdout = &out
	if cmd.Run() != nil {
		return "", false
	}
	set := &source.Set{}
	rep := &source.Reporter{Set: set}
	s := syntax.NewScanner(set.Add("cpp", out.String()), rep)
	var list []string
	for k := s.Next(); k.Kind != syntax.EOF; k = s.Next() {
		if k.Kind == syntax.Hash && k.Flags&syntax.LineStart != 0 && atLineStart(out.String(), int(k.Pos)-1) {
			s.SkipLine()
			continue
		}
		list = append(list, k.Source())
	}
	if rep.Failed() { // no text of P4, such as a string that is not closed
		return "", false
	}
	return strings.Join(list, " "), true
}

// atLineStart reports whether only space precedes the offset on its line.
func atLineStart(text string, at int) bool {
	return strings.TrimLeft(text[strings.LastIndexByte(text[:at], '\n')+1:at], " \t") == ""
}

func words(text string) (string, *source.Reporter) {
	list, rep := tokens(text)
	var words []string
	for _, k := range list[:len(list)-1] {
		words = append(words, k.Source())
	}
	return strings.Join(words, " "), rep
}

// Macros mean what they mean to GNU cpp, token by token.
func TestTokensAreThoseOfCPP(t *testing.T) {
	binary, err := exec.LookPath("cpp")
	if err != nil {
		need.No(t, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	texts := slices.Clone(macros)
	for range 60 {
		texts = append(texts, randomMacros(random))
	}
	compared := 0
	for _, text := range texts {
		want, ok := cpp(t, binary, text)
		got, rep := words(text)
		switch {
		case ok && rep.Failed():
			t.Errorf("%s\nis refused: %v; cpp gives %s", text, rep.List, want)
		case ok && got != want:
			t.Errorf("%s\ngives %s\ncpp   %s", text, got, want)
		case ok:
			compared++
		}
	}
	if compared < len(texts)/2 {
		t.Errorf("only %d of %d texts compared", compared, len(texts))
	}
}

// randomMacros returns definitions, conditionals and uses of macros.
func randomMacros(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	words := []string{"a", "b", "A", "B", "1", "2w3", "+", "-", "(a)", "[1]", "\"s\"", "'c'", "/* c */", "F(1)", "F(A)", "G(a, B)", "G(,2)", "G(A, F(b))", "V(1)", "V(1, A)", "V(a, F(B), 2)", "F", "O", "__COUNTER__", "x.y", "A.B"}
	several := func(n int) string {
		var list []string
		for range 1 + r.IntN(n) {
			list = append(list, pick(words...))
		}
		return strings.Join(list, " ")
	}
	var b strings.Builder
	for range 4 + r.IntN(6) {
		switch r.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "#undef %s\n#define %[1]s %s\n", pick("A", "B", "O"), several(4))
		case 1:
			fmt.Fprintf(&b, "#undef F\n#define F(x) %s %s %s\n", pick("x", "#x", "x##1", "_##x", "x ## . ## x"), pick(words...), pick("x", "", "(x)"))
		case 2:
			fmt.Fprintf(&b, "#undef G\n#define G(x, y) %s %s\n", pick("x y", "x##y", "x ## _ ## y", "#x #y", "y##1 x"), pick(words...))
		case 3:
			fmt.Fprintf(&b, "#undef V\n#define V(x, ...) %s %s\n", pick("f(x, ## __VA_ARGS__)", "x __VA_OPT__(+ x) __VA_ARGS__", "#__VA_ARGS__ x", "f(x, __VA_ARGS__)"), pick(words...))
		case 4:
			fmt.Fprintf(&b, "#if %s %s %s\n%s\n#else\n%s\n#endif\n", pick("1", "A", "'a'", "defined F", "(2, 0)"), pick("&&", "||", "==", "<", "+"), pick("0", "B", "3", "defined(O)", "!1"), several(3), several(3))
		default:
			fmt.Fprintf(&b, "x %s\n", several(6))
		}
	}
	return b.String()
}
