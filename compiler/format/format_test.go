// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler/checktest"
	"github.com/pauseless/pauseless/compiler/syntax"
)

var tests = []struct{ name, text, want string }{
	{"empty", "", ""},
	{"blank lines", "\n\n\nconst int a=1;\n\n\n\nconst int b=2;\n\n", "const int a = 1;\n\nconst int b = 2;\n"},
	{"one line a statement", "const int a=1;const int b=2; void f(){return;} const int c=3;",
		"const int a = 1;\nconst int b = 2;\nvoid f() { return; }\nconst int c = 3;\n"},
	{"operators", "const int a=-1+ - 2*(3- -b)<<c>>d>>>e;", "const int a = -1 + -2 * (3 - -b) << c >> d >> > e;\n"},
	{"comparisons", "const bool a=b<c&&d>e||!f==(g>=h);", "const bool a = b < c && d > e || !f == (g >= h);\n"},
	{"plus plus", "const int a=+ +b++ +c;", "const int a = + +b ++ +c;\n"},
	{"types", "const tuple< bit < 8 > ,list<h_t > > a={1,{ 2 }};", "const tuple<bit<8>, list<h_t>> a = { 1, { 2 } };\n"},
	{"declared types", "struct Foo{} const list < Foo > a=f < Foo > ( 1 )+x < y;", "struct Foo { }\nconst list<Foo> a = f<Foo>(1) + x < y;\n"},
	{"widths", "const bit<( W+1 )> a=1; bit<W> f( ){ }", "const bit<(W + 1)> a = 1;\nbit<W> f() { }\n"},
	{"casts", "const int a=(bit<8>)b+( T )-c+(d)-e+(h_t){1};", "const int a = (bit<8>) b + (T) -c + (d) - e + (h_t) { 1 };\n"},
	{"slices", "const int a=b [ 3 : 0 ]+c[d?1:0]+e[4+:2]+f . g . h[ 1 ];", "const int a = b[3:0] + c[d ? 1 : 0] + e[4+:2] + f.g.h[1];\n"},
	{"conditions", "const int a=b?c:d?e : f;", "const int a = b ? c : d ? e : f;\n"},
	{"sets", "const int a = 1..2; const int b = 1&&&2; const S c={a=1,...};", "const int a = 1 .. 2;\nconst int b = 1 &&& 2;\nconst S c = { a = 1, ... };\n"},
	{"invalid header", "const h_t i={#};", "const h_t i = {#};\n"},
	{"annotations", "@name ( \"a\" )@x[a=1,b = 2] @hidden\ntable_t t;", "@name(\"a\") @x[a = 1, b = 2] @hidden\ntable_t t;\n"},
	{"pragma", "control c(){\n@pragma   a  b\nbit<8> x;\napply{}}", "control c() {\n    @pragma   a  b\n    bit<8> x;\n    apply { }\n}\n"},
	{"members in columns", "header h_t{bit<8> a;// one\n@x(1) bit<16> long_name;\n\n// about b\nvarbit<32> bb; /* two */\n}",
		"header h_t {\n    bit<8>     a;  // one\n    @x(1) bit<16> long_name;\n\n    // about b\n    varbit<32> bb; /* two */\n}\n"},
	{"members with annotations", "struct S {\n@x bit<8> a;\nbit<16> bc; // d\n}", "struct S {\n    @x bit<8> a;\n    bit<16>   bc; // d\n}\n"},
	{"members with comments inside", "struct S {\nbit<8> a /* b */;\nbit<16> long;\n}", "struct S {\n    bit<8> a /* b */;\n    bit<16> long;\n}\n"},
	{"enum and error", "enum bit<8> E{a=1,\nb=2}error{A,B}", "enum bit<8> E {\n    a = 1,\n    b = 2\n}\nerror { A, B }\n"},
	{"braces go up", "control c()\n{\n apply\n  {\n if(x)\n{ y(); }\nelse\n{\nz();\n}\n}\n}",
		"control c() {\n    apply {\n        if (x) { y(); } else {\n            z();\n        }\n    }\n}\n"},
	{"no braces", "control c(){apply{if(x)\ny();\nelse if(z)\nw();\n}}", "control c() {\n    apply {\n        if (x)\n            y();\n        else if (z)\n            w();\n    }\n}\n"},
	{"parser", "parser p(packet_in b,out H h){state start{b.extract( h );transition select(h.a,h.b){(1,_):a;2&&&3:accept;default:reject;}}\nstate a{transition accept;}}",
		"parser p(packet_in b, out H h) {\n    state start { b.extract(h); transition select(h.a, h.b) { (1, _): a; 2 &&& 3: accept; default: reject; } }\n    state a { transition accept; }\n}\n"},
	{"table", "control c(){table t{key={a:exact;b:lpm@name(\"x\");}\nactions={a;b(1);}\nconst entries={(1,2):a();\n3&&&4:b(2);}\nsize=16;}apply{}}",
		"control c() {\n    table t {\n        key = { a : exact; b : lpm @name(\"x\"); }\n        actions = { a; b(1); }\n        const entries = {\n            (1, 2) : a();\n            3 &&& 4 : b(2);\n        }\n        size = 16;\n    }\n    apply { }\n}\n"},
	{"switch", "void f(){switch(t.apply().action_run){a:b:{x=1;}\ndefault:{}}}",
		"void f() {\n    switch (t.apply().action_run) {\n        a: b: { x = 1; }\n        default: { }\n    }\n}\n"},
	{"loops", "void f(){for(bit<8> i=0;i<3;i=i+1){continue;}\nfor(bit<8> j in 1..4)x(j);}",
		"void f() {\n    for (bit<8> i = 0; i < 3; i = i + 1) { continue; }\n    for (bit<8> j in 1 .. 4) x(j);\n}\n"},
	{"continued statements", "void f(){\nx=a+\nb;\ng(1,\n2,{ 3,\n4 },\n{\n5\n}\n);}",
		"void f() {\n    x = a +\n        b;\n    g(1,\n        2, { 3,\n             4 },\n        {\n            5\n        }\n    );\n}\n"},
	{"parameters in columns", "control c(in bit<8> a,\nout bit<8> b)\n(bit<8> n){apply{}}", "control c(in bit<8> a,\n          out bit<8> b)\n    (bit<8> n) { apply { } }\n"},
	{"instances", "V1Switch(p(),\nc()) main;\nX(1) x={bit<8> f(){return 1;}};", "V1Switch(p(),\n         c()) main;\nX(1) x = { bit<8> f() { return 1; } };\n"},
	{"methods of instances", "A<bit<8>, bit<9>>(r) a={\nvoid apply(inout bit<8> x)\n{\nx=1;\n}\n};", "A<bit<8>, bit<9>>(r) a = {\n    void apply(inout bit<8> x) {\n        x = 1;\n    }\n};\n"},
	{"stray comma", "x = {\n, 1,\n2 };", "x = {, 1,\n      2 };\n"},
	{"comments", "// one\n/* two */ const /* three */ int a /*four*/=1; // five\n/*\n * six\n */\nvoid f(/* seven */){// eight\n// nine\n}\n// ten",
		"// one\n/* two */ const /* three */ int a /*four*/ = 1; // five\n/*\n * six\n */\nvoid f(/* seven */) { // eight\n    // nine\n}\n// ten\n"},
	{"comment before else", "void f(){if(a){b();}\n// or\nelse{c();}}", "void f() {\n    if (a) { b(); }\n    // or\n    else { c(); }\n}\n"},
	{"comment over lines as it is", "void f(){\n/* a\n     b */\nx();}", "void f() {\n    /* a\n     b */\n    x();\n}\n"},
	{"directives", "  #include <core.p4>\ncontrol c(){\n#if X // why\nbit<8> a;\n  #else\nbit<9> a;\n#endif\napply{}}",
		"#include <core.p4>\ncontrol c() {\n#if X // why\n    bit<8> a;\n#else\n    bit<9> a;\n#endif\n    apply { }\n}\n"},
	{"branches that open braces", "#ifdef A\ncontrol a(){\n#else\ncontrol b(){\n#endif\napply{}\n}\nconst int x=1;",
		"#ifdef A\ncontrol a() {\n#else\ncontrol b() {\n#endif\n    apply { }\n}\nconst int x = 1;\n"},
	{"macro over lines", "#define A(x) \\\n   x +\\\n 1\nconst int a=A( 1 );", "#define A(x) \\\n   x +\\\n 1\nconst int a = A(1);\n"},
	{"directive with a comment over lines", "#define A /* x\n y */ 1\nconst int a=A;", "#define A /* x\n y */ 1\nconst int a = A;\n"},
	{"directive that goes on after the end", "#define A 1 \\", "#define A 1\n"},
	{"backslash before a space", "#define A\\ \n// b \\  \nc;", "#define A\\ \n// b \\ \nc;\n"},
	{"comment that goes on after the end", "a; // b \\", "a; // b\n"},
	{"types after a comment", "typedef G /* x */<Name> A;", "typedef G /* x */<Name> A;\n"},
	{"continued line", "const int \\\n a = 1;", "const int a = 1;\n"},
	{"operators that would become others", "x = + + ++ y | || z;", "x = + + ++ y | || z;\n"},
	{"methods", "extern X<T>{X(bit<8> n);\nabstract T f<U>(in U u,@optional out T t);}", "extern X<T> {\n    X(bit<8> n);\n    abstract T f<U>(in U u, @optional out T t);\n}\n"},
	{"apply on types", "control c(){apply{d.apply(x);h.setValid();s.push_front(1);}}", "control c() { apply { d.apply(x); h.setValid(); s.push_front(1); } }\n"},
}

func TestSource(t *testing.T) {
	for _, c := range tests {
		got, list := Source("t.p4", []byte(c.text))
		if list != nil {
			t.Errorf("%s: %v", c.name, list)
		} else if string(got) != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
		if got, _ := Source("t.p4", []byte(c.want)); string(got) != c.want {
			t.Errorf("%s, again: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"const string a = \"x;\n/*": "t.p4:1:18: string is not closed [lexical]",
		"x \\ y":                    "t.p4:1:3: unexpected \\ [lexical]",
		"x { # y":                   "t.p4:1:5: unexpected # [lexical]",
		"x /*":                      "t.p4:1:3: comment is not closed [lexical]",
		"#if 1 /* x\n\n":            "t.p4:1:1: comment is not closed [lexical]",
	} {
		if got, list := Source("t.p4", []byte(text)); got != nil || list.Error() != want {
			t.Errorf("%s: got %q, %v", text, got, list)
		}
	}
}

// A text that nests deep ends with an error, in time that grows with its size.
func TestNesting(t *testing.T) {
	for name, text := range map[string]string{
		"blocks":            strings.Repeat("{", 500_000) + strings.Repeat("}", 500_000),
		"open blocks":       "#if A\n#endif\n" + strings.Repeat("control c() {\n", 100_000),
		"parentheses":       "x = " + strings.Repeat("(", 500_000) + strings.Repeat(")", 500_000),
		"blocks one by one": strings.Repeat("{ ", 1001) + strings.Repeat("} ", 1001),
	} {
		if got, list := Source("t.p4", []byte(text)); got != nil || len(list) != 1 || list[0].Code != syntax.CodeNesting {
			t.Errorf("%s: %d bytes, %.200v", name, len(got), list)
		}
	}
	flat := strings.Repeat("{ ", 1000) + strings.Repeat("} ", 1000)
	if _, list := Source("t.p4", []byte(flat)); list != nil {
		t.Errorf("1000 blocks: %v", list)
	}
}

// The generated programs are formatted.
func TestProgramsOfTheProject(t *testing.T) {
	files, err := filepath.Glob("../../p4src/*/*.p4")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got, list := Source(file, text); list != nil || string(got) != string(text) {
			t.Errorf("%s is not formatted: pauseless fmt shows how it should be %v", file, list)
		}
	}
}

// Formatting a formatted text does not change it.
func FuzzSource(f *testing.F) {
	for _, c := range tests {
		f.Add([]byte(c.text))
	}
	files, err := filepath.Glob("../testdata/*.p4")
	if err != nil || len(files) == 0 {
		f.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		for _, c := range checktest.Chunks(f, file) {
			f.Add([]byte(c.Text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, list := Source("t.p4", text)
		for _, d := range list {
			if d.Code == CodeInternal {
				t.Fatal(list)
			}
		}
		if list != nil || bytes.Contains(text, []byte("#")) && bytes.Contains(text, []byte("if")) {
			return // brackets need not match if there are conditionals
		}
		if twice, list := Source("t.p4", once); list != nil || string(once) != string(twice) {
			t.Fatalf("once\n%s\ntwice %v\n%s", once, list, twice)
		}
	})
}
