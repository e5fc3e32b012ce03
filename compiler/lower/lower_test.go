// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/compiler/ir"
)

// tests are bodies of the control ingress of ../testdata/skeleton.p4inc with
// the lowered apply block. top has declarations before the control.
var tests = []struct{ name, top, text, want string }{
	{"assignment", "", "apply { hdr.h.a = hdr.h.b + 1; }",
		"h.a = (h.b + 8w1)"},
	{"constants are folded", "", "apply { const bit<8> k = 3; if (k == 3) { hdr.h.a = k << 1; } else { hdr.h.a = 0; } }",
		"h.a = 8w6"},
	{"nothing after exit", "", "apply { if (hdr.h.a == 1) { exit; hdr.h.a = 2; } hdr.h.b = 3; }",
		"if (h.a == 8w1) {\n  exit\n}\nh.b = 8w3"},
	{"slices are masks", "", "apply { hdr.h.c[7:4] = hdr.h.a[3:0]; }",
		"h.c = ((h.c & 16w65295) | ((bit<16>)h.a[3:0] << 32w4))"},
	{"a slice of a slice", "", "apply { hdr.h.a = hdr.h.c[11:2][8:1]; }", "h.a = h.c[11:2][8:1]"},
	{"headers", "", "apply { hdr.s[0] = hdr.h; hdr.h.setInvalid(); hdr.s[1] = { 1, 2, 3, 4 }; hdr.s[2] = {#}; }",
		"s[0] = h\nvalid h = false\nvalid s[1] = true\ns[1].a = 8w1\ns[1].b = 8w2\ns[1].c = 16w3\ns[1].d = 32w4\nvalid s[2] = false"},
	{"swap with a list", "", "apply { hdr.h = { hdr.h.b, hdr.h.a, 1, 2 }; }",
		"tmp = h.b\ntmp_0 = h.a\nvalid h = true\nh.a = tmp\nh.b = tmp_0\nh.c = 16w1\nh.d = 32w2"},
	{"stacks", "", "apply { hdr.s.push_front(2); hdr.s.pop_front(1); }", "push s, 2\npop s, 1"},
	{"index found at run time", "", "apply { hdr.h.a = hdr.s[hdr.h.b].a; }", "h.a = s[((h.b < 8w4) ? h.b : 8w3)].a"},
	{"inlined function", "bit<8> f(in bit<8> x) { return x + 1; }", "apply { hdr.h.a = f(hdr.h.b); }",
		"h.a = (h.b + 8w1)"},
	{"function that names a sum twice", "bit<8> f(in bit<8> x) { return x & (x - 1); }", "apply { hdr.h.a = f(hdr.h.b + 1); }",
		"tmp = (h.b + 8w1)\nh.a = (tmp & (tmp - 8w1))"},
	{"function of a function", "bit<8> f(in bit<8> x) { return x + 1; }", "apply { hdr.h.a = f(f(hdr.h.b) << 1); }",
		"h.a = (((h.b + 8w1) << 32w1) + 8w1)"},
	{"function whose argument changes after it", "bit<8> f(in bit<8> x) { return x + 1; } bit<8> g(inout bit<8> x) { x = 2; return x; }", "apply { hdr.h.a = f(hdr.h.b) + g(hdr.h.b); }",
		"tmp = (h.b + 8w1)\ng: {\n  h.b = 8w2\n  retval = h.b\n}\nh.a = (tmp + retval)"},
	{"early return", "bit<8> f(in bit<8> x) { if (x == 1) { return 2; } return 3; }", "apply { hdr.h.a = f(hdr.h.b); }",
		"f: {\n  if (h.b == 8w1) {\n    retval = 8w2\n    leave f\n  }\n  retval = 8w3\n}\nh.a = retval"},
	{"an in parameter is copied where needed", "void f(in bit<8> x, inout bit<8> y) { y = 1; y = x; }", "apply { f(hdr.h.a, hdr.h.a); }",
		"tmp = h.a\ny = h.a\ny = 8w1\ny = tmp\nh.a = y"},
	{"out is copied after the call", "void f(out bit<8> x, out bit<8> y) { x = 1; y = 2; }", "apply { f(hdr.h.a, hdr.h.a); }",
		"x = 8w1\ny = 8w2\nh.a = x\nh.a = y"},
	{"arguments are evaluated in order", "bit<8> f(inout bit<8> x) { x = x + 1; return x; }", "apply { hdr.h.a = f(hdr.h.b) + hdr.h.b + f(hdr.h.b); }",
		"f: {\n  h.b = (h.b + 8w1)\n  retval = h.b\n}\ntmp = (retval + h.b)\nf_0: {\n  h.b = (h.b + 8w1)\n  retval_0 = h.b\n}\nh.a = (tmp + retval_0)"},
	{"short circuit", "bool f(inout bit<8> x) { x = x + 1; return true; }", "apply { if (hdr.h.a == 1 && f(hdr.h.b)) { hdr.h.c = 1; } }",
		"if (h.a == 8w1) {\n  f: {\n    h.b = (h.b + 8w1)\n    retval = true\n  }\n  tmp = retval\n}\nelse {\n  tmp = false\n}\nif tmp {\n  h.c = 16w1\n}"},
	{"choice with effects", "bit<8> f(inout bit<8> x) { x = x + 1; return x; }", "apply { hdr.h.a = hdr.h.b == 1 ? f(hdr.h.b) : 2; }",
		"if (h.b == 8w1) {\n  f: {\n    h.b = (h.b + 8w1)\n    retval = h.b\n  }\n  tmp = retval\n}\nelse {\n  tmp = 8w2\n}\nh.a = tmp"},
	{"exit copies out", "", "action a(inout bit<8> x) { x = 1; exit; } apply { a(hdr.h.a); }", "h.a = 8w1\nexit"},
	{"loop", "", "apply { for (bit<8> i = 0; i < 4; i = i + 1) { if (i == 2) { continue; } hdr.h.a = i; } }",
		"i = 8w0\nloop {\n  while (i < 8w4)\n  next: {\n    if (i == 8w2) {\n      leave next\n    }\n    h.a = i\n  }\n  update {\n    i = (i + 8w1)\n  }\n}"},
	{"loop over a list", "", "apply { for (bit<8> x in (list<bit<8>>) { 1, 2 }) { hdr.h.a = hdr.h.a + x; } }",
		"h.a = (h.a + 8w1)\nh.a = (h.a + 8w2)"},
	{"switch on a value", "", "apply { switch (hdr.h.a) { 1: 2: { hdr.h.b = 1; } default: { hdr.h.b = 2; } } }",
		"tmp = h.a\nif ((tmp == 8w1) || (tmp == 8w2)) {\n  h.b = 8w1\n}\nelse {\n  h.b = 8w2\n}"},
	{"inner control", "control inner(inout bit<8> x)(bit<8> by) { apply { if (x == 0) { return; } x = x + by; } }",
		"inner(3) one; inner(4) two; apply { one.apply(hdr.h.a); two.apply(hdr.h.a); }",
		"inner: {\n  if (h.a == 8w0) {\n    leave inner\n  }\n  h.a = (h.a + 8w3)\n}\ninner_0: {\n  if (h.a == 8w0) {\n    leave inner_0\n  }\n  h.a = (h.a + 8w4)\n}"},
	{"signed numbers", "", "apply { hdr.h.a = (bit<8>) ((int<8>) hdr.h.b >> 1); if ((int<8>) hdr.h.a < 0) { hdr.h.b = 1; } }",
		"h.a = (bit<8>)((int<8>)h.b >> 32w1)\nif ((int<8>)h.a < 8s0) {\n  h.b = 8w1\n}"},
	{"enums", "enum e { x, y, z }", "apply { e v = e.y; if (hdr.h.a == 1) { v = e.z; } if (v == e.z) { hdr.h.b = 1; } }",
		"v = y\nif (h.a == 8w1) {\n  v = z\n}\nif (v == z) {\n  h.b = 8w1\n}"},
	{"generic struct", "struct pair<T> { T a; T b; }", "apply { pair<bit<8>> p = { hdr.h.a, 2 }; hdr.h.b = p.a + p.b; }",
		"p.a = h.a\np.b = 8w2\nh.b = (p.a + p.b)"},
}

func TestApply(t *testing.T) {
	open := func(name string) (string, error) {
		b, err := os.ReadFile(filepath.Join("..", "testdata", filepath.Base(name)))
		return string(b), err
	}
	for _, c := range tests {
		text := "#include \"skeleton.p4inc\"\n" + c.top + "\nINGRESS {\n" + c.text + "\n}\nSWITCH\n"
		r, list := compiler.Compile(compiler.Options{File: "t.p4", Source: []byte(text), Open: open, Stop: compiler.AfterLower})
		if list.HasErrors() {
			t.Errorf("%s: %v", c.name, list)
			continue
		}
		if got := body(ir.Print(r.IR)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s\n%q", c.name, got, c.want, got)
		}
	}
}

// body returns the statements of the control ingress, without indent.
func body(text string) string {
	_, text, _ = strings.Cut(text, "\ningress ingress {\n")
	text, _, _ = strings.Cut(text, "\n}\n")
	var list []string
	for line := range strings.Lines(text) {
		list = append(list, strings.TrimSuffix(strings.TrimPrefix(line, "  "), "\n"))
	}
	return strings.Join(list, "\n")
}
