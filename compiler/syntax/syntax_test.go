// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler/checktest"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/diag"
)

// scan returns the tokens of a text, on request with comments.
func scan(text string, comments bool) (*source.Set, *source.Reporter, []syntax.Token) {
	set := &source.Set{}
	rep := &source.Reporter{Set: set}
	s := syntax.NewScanner(set.Add("t.p4", text), rep)
	s.Comments = comments
	var list []syntax.Token
	for {
		k := s.Next()
		list = append(list, k)
		if k.Kind == syntax.EOF {
			return set, rep, list
		}
	}
}

// parse returns the printed tree of a text, and the errors.
func parse(text string) (string, diag.List) {
	_, rep, tokens := scan(text, false)
	tree := syntax.Parse(tokens, rep)
	rep.List.Sort()
	return syntax.PrintProgram(tree), rep.List
}

var scanTests = []struct{ text, want string }{
	{"", "1:1 end of file"},
	{"bit<8> x;", `1:1 keyword bit
1:4 punctuation <
1:5 integer 8
1:6 punctuation >
1:8 name x
1:9 punctuation ;
1:10 end of file`},
	{"a>>b>>=c", `1:1 name a
1:2 punctuation >
1:3 punctuation >
1:4 name b
1:5 punctuation >>=
1:8 name c
1:9 end of file`},
	{"8w0x1F 4s0b11 0o17 1_000 12d", `1:1 integer 8w0x1F
1:8 integer 4s0b11
1:15 integer 0o17
1:20 integer 1_000
1:26 integer 12d
1:29 end of file`},
	{"|+| |-| |+|= |-|= ++ += &&& && & .. ... {#} +: ##", `1:1 punctuation |+|
1:5 punctuation |-|
1:9 punctuation |+|=
1:14 punctuation |-|=
1:19 punctuation ++
1:22 punctuation +=
1:25 punctuation &&&
1:29 punctuation &&
1:32 punctuation &
1:34 punctuation ..
1:37 punctuation ...
1:41 punctuation {#}
1:45 punctuation +:
1:48 punctuation ##
1:50 end of file`},
	{"key actions_ _ __x", `1:1 keyword key
1:5 name actions_
1:14 keyword _
1:16 name __x
1:19 end of file`},
	{"\"a \\\" // b\" /* c */ // d\nx", `1:1 string "a \" // b"
1:13 comment /* c */
1:21 comment // d
2:1 name x
2:2 end of file`},
	{"// one \\\n still\ny", `1:1 comment // one \
 still
3:1 name y
3:2 end of file`},
	{"a\\\nb a\\\n b", `1:1 name ab
2:3 name a
3:2 name b
3:3 end of file`},
	{"@pragma x\n@pragmatic", `1:1 keyword @pragma
1:9 name x
2:1 punctuation @
2:2 name pragmatic
2:11 end of file`},
	{"$ µ", `1:1 illegal token $
1:3 illegal token ` + "\xc2" + `
1:4 illegal token ` + "\xb5" + `
1:5 end of file`},
	{"/* open", "1:1 comment /* open\n1:8 end of file\n1:1 error: comment is not closed [lexical]"},
	{`"open`, "1:1 string \"open\"\n1:6 end of file\n1:1 error: string is not closed [lexical]"},
}

func TestScan(t *testing.T) {
	for _, c := range scanTests {
		set, rep, tokens := scan(c.text, true)
		got := strings.ReplaceAll(syntax.PrintTokens(set, tokens), "t.p4:", "") + checktest.Print(rep.List)
		if got := strings.TrimSuffix(got, "\n"); got != c.want {
			t.Errorf("%q: got\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

func TestTokenFlags(t *testing.T) {
	_, _, tokens := scan("a b/**/c\n  d /* \n */ e", false)
	want := []syntax.TokenFlags{
		syntax.LineStart, syntax.SpaceAhead, syntax.SpaceAhead,
		syntax.LineStart | syntax.SpaceAhead, syntax.LineStart | syntax.SpaceAhead,
	}
	for i, f := range want {
		if tokens[i].Flags != f {
			t.Errorf("token %s: flags %b, want %b", tokens[i].Source(), tokens[i].Flags, f)
		}
	}
}

// parseTests are texts and the parser's trees as text, which show precedence
// and grouping.
var parseTests = []struct{ text, want string }{
	{"const bit<8> a = 1 + 2 * 3 - 4;", "const bit<8> a = 1 + 2 * 3 - 4;"},
	{"const bit<8> a = (1 + 2) * (3 - 4);", "const bit<8> a = (1 + 2) * (3 - 4);"},
	{"const bit<8> a = 1 - (2 - 3);", "const bit<8> a = 1 - (2 - 3);"},
	{"const bool a = b || c && !d == e;", "const bool a = b || c && !d == e;"},
	{"const bool a = (b || c) && d;", "const bool a = (b || c) && d;"},
	{"const bool a = x & 1 == 0;", "const bool a = x & 1 == 0;"},
	{"const bit<8> a = b ? c : d ? e : f;", "const bit<8> a = b ? c : (d ? e : f);"},
	{"const bit<8> a = b >> 2 >>3;", "const bit<8> a = b >> 2 >> 3;"},
	{"const bit<8> a = -(bit<8>) b.c[3:0];", "const bit<8> a = -(bit<8>)b.c[3:0];"},
	{"const int a = + +2 - -+-3;", "const int a = + +2 - -+-3;"},
	{"const bit<8> a = b[7+:4];", "const bit<8> a = b[7+:4];"},
	{"typedef bit<4> T; const T a = (T) -x;", "typedef bit<4> T;\nconst T a = (T)-x;"},
	{"const bit<4> a = (t) -x;", "const bit<4> a = t - x;"},
	{"const bit<(W + 1)> a = 8w0xFF;", "const bit<(W + 1)> a = 8w255;"},
	{"const bit<W> a = 4s-1;", "1:18 error: 4s is not a number [number]"},
	{"const tuple<bit<8>, list<bit<8>>> a = {1, {2, 3,}};", "const tuple<bit<8>, list<bit<8>>> a = {1, {2, 3}};"},
	{"const S a = {x = 1, y = {#}, ...};", "const S a = {x = 1, y = {#}, ...};"},
	{"const E a = E.x; const error e = error.NoMatch;", "const E a = E.x;\nconst error e = error.NoMatch;"},
	{"typedef bit<9> port; type bit<9> port_t;", "typedef bit<9> port;\ntype bit<9> port_t;"},
	{"typedef struct S { bit<8> a; } T;", "typedef\nstruct S {\n    bit<8> a;\n}\nT;"},
	{"header H<T> { T a; @x varbit<8> b; bit<8>[2] c; }", "header H<T> {\n    T a;\n    @x varbit<8> b;\n    bit<8>[2] c;\n}"},
	{"header_union U { H a; } struct S { H[3] h; }", "header_union U {\n    H a;\n}\nstruct S {\n    H[3] h;\n}"},
	{"enum bit<2> E { a = 0, b = 1, } enum F { c, d }", "enum bit<2> E {\n    a = 0,\n    b = 1,\n}\nenum F {\n    c,\n    d,\n}"},
	{"error { A, B } match_kind { best }", "error {A, B}\nmatch_kind {best}"},
	{"extern X<T> { X(bit<8> n); T get<U>(in U i, out T o); abstract void f(); } extern void g(@optional in bit<8> a, _ b);",
		"1:113 error: expected a type, found \"_\" [syntax]"},
	{"extern X<T> { X(bit<8> n); T get<U>(in U i, out T o = 3); abstract void f(); }",
		"extern X<T> {\n    X(bit<8> n);\n    T get<U>(in U i, out T o = 3);\n    abstract void f();\n}"},
	{"package P<H>(parser Q, C<H> c);", "1:14 error: expected a type, found \"parser\" [syntax]"},
	{"package P<H>(Q<H> p, C<_> c = d()); P(a(), b(1, x = 2)) main;", "package P<H>(Q<H> p, C<_> c = d());\nP(a(), b(1, x = 2)) main;"},
	{`@name("a.b") @x[1, 2] @y[k = "v"] @pragma z  1 2
const bit<1> a = 0;`, "@name(\"a.b\")\n@x[1, 2]\n@y[k = \"v\"]\n@pragma z 1 2\nconst bit<1> a = 0;"},
	{"void f<T>(in T x) { T y = x; y = f<bit<8>>(y); return; }",
		"void f<T>(in T x)\n{\n    T y = x;\n    y = f<bit<8>>(y);\n    return;\n}"},
	{"action a(inout bit<8> x, bit<8> y) { if (x < y) x = y; else if (x > (y)) { exit; } x |+|= 1; x[3:0] <<= 2; }",
		"action a(inout bit<8> x, bit<8> y)\n{\n    if (x < y)\n        x = y;\n    else\n        if (x > y)\n        {\n            exit;\n        }\n    x |+|= 1;\n    x[3:0] <<= 2;\n}"},
	{"void f() { for (bit<8> i = 0, bit<8> j = 1; i < 3; i += 1, j = i) { continue; } @unroll for (bit<8> k in 1 .. 3) break; }",
		"void f()\n{\n    for (bit<8> i = 0, bit<8> j = 1; i < 3; i += 1, j = i)\n    {\n        continue;\n    }\n    @unroll\n    for (bit<8> k in 1 .. 3)\n        break;\n}"},
	{"void f() { switch (x) { 1: 2: { a(); } default: { } } }",
		"void f()\n{\n    switch (x) {\n        1:\n        2:\n        {\n            a();\n        }\n        default:\n        {\n        }\n    }\n}"},
	{`parser p(packet_in b, out H h)(bit<8> n) {
    value_set<bit<8>>(4) vs;
    state start { b.extract(h); transition select (h.a, h.b) { (1, _): a; (2 &&& 3, 4 .. 5): b; vs: c; default: accept; } }
    state a { transition accept; }
    state c { }
}`, `parser p(packet_in b, out H h)(bit<8> n) {
    value_set<bit<8>>(4) vs;
    state start {
        b.extract(h);
        transition select (h.a, h.b) {
            (1, _): a;
            (2 &&& 3, 4 .. 5): b;
            vs: c;
            default: accept;
        }
    }
    state a {
        transition accept;
    }
    state c {
    }
}`},
	{`control c(inout H h) {
    table t {
        key = { h.a: exact @name("a"); h.b & 3: ternary; }
        actions = { NoAction; @defaultonly a(h.b); .g; }
        const entries = { 1: a(2) @x; const priority = 5: (3, _): a(4); priority = (2 + 1): default: NoAction; }
        const default_action = a(0);
        @y size = 1024;
    }
    X(1) x = { void f() { y = 1; } };
    apply @z { t.apply(); if (!t.apply().hit) return; d.apply(h); }
}`, `control c(inout H h) {
    table t {
        key = {
            h.a: exact @name("a");
            h.b & 3: ternary;
        }
        actions = {
            NoAction;
            @defaultonly a(h.b);
            .g;
        }
        const entries = {
            1: a(2) @x;
            const priority = (5): (3, _): a(4);
            priority = (2 + 1): default: NoAction;
        }
        const default_action = a(0);
        @y size = 1024;
    }
    X(1) x = {
        void f()
        {
            y = 1;
        }
    };
    apply
    @z
    {
        t.apply();
        if (!t.apply().hit)
            return;
        d.apply(h);
    }
}`},
}

func TestParse(t *testing.T) {
	for _, c := range parseTests {
		got, list := parse(c.text)
		if list.HasErrors() {
			got = checktest.Print(list)
		}
		if got := strings.TrimSuffix(got, "\n"); got != c.want {
			t.Errorf("%s\ngot\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

// valid are programs of one line that parse.
var valid = []string{
	"", ";;", "const int a = 1;", "const int key = 1; const int apply = key;",
	"header H { }", "struct list { bit<8> a; }", "const bit<8> x = .y;", "const bit<8> x = T.a;",
	"typedef bit<8> T; const T x = (T)1;", "const X x = X<bit<8>>(1);", "bit<8> f() { return 1; }",
	"void f() { { { } } ; }", "void f() { X(1) x; }", "control c() { apply { } }", "control c<T>(in T t);",
	"parser p() { state start { } }", "@a(b (c) d) const int x = 1;", "@a[] const int x = 1;",
	"const list<bit<8>> x = {};", "const bool b = a < b;", "const bool b = a < (b);",
	"void f() { x = y < 3 && z > 4; }", "const bit<8> x = f<_>(1);", "void f() { h[1].x = 2; h.next.y(); }",
	"void f(in string s) { log_msg(\"x {}\", {s}); }", "X() x;", "X<bit<8>>({1}) x;", ".X() x;",
	"const bit<8> x = (bit<8>)(bit<4>)y;", "const int<8> x = 8s1 - -1;", "@deprecated(\"x\" ++ \"y\") extern void f();",
}

func TestValid(t *testing.T) {
	for _, text := range valid {
		if _, list := parse(text); list.HasErrors() {
			t.Errorf("%s: %v", text, list)
		}
	}
}

// Printed text parses to the same tree.
func TestPrintRoundTrip(t *testing.T) {
	texts := slices.Clone(valid)
	for _, c := range parseTests {
		texts = append(texts, c.text)
	}
	for _, text := range texts {
		once, list := parse(text)
		if list.HasErrors() {
			continue
		}
		if twice, list := parse(once); list.HasErrors() || once != twice {
			t.Errorf("%s: got\n%s\nthen %v\n%s", text, once, list, twice)
		}
	}
}

// invalid are programs with the expected errors beside their causes.
var invalid = []string{
	`const bit<8 x /* ERROR syntax "expected ">" after the width, found name x" */ = 1;`,
	`bit<8> f( /* ERROR-AT-END syntax "expected a type, found end of file" */`,
	`const bit<8> = /* ERROR syntax "expected the name of a constant" */ 1;`,
	`const bit<8> x = 1 const /* ERROR syntax "expected ";" after the constant" */ bit<8> y = 2;`,
	`const bit<8> x = ; /* ERROR syntax "expected an expression" */ const bit<8> y = ) /* ERROR syntax "expected an expression" */;`,
	`struct S { bit<8> a bit /* ERROR syntax "after the field" */ <8> b; bit<8> /* fine */ c; }`,
	`control c() { }  /* ERROR syntax "control c has no apply block" */`,
	`control c() { apply { x = 1 } /* ERROR syntax "after the statement" */ }`,
	`control c() { apply { x + /* ERROR syntax "expected an assignment or a call" */ 1; y == /* ERROR syntax "expected an assignment" */ 2; z = 3; } }`,
	`control c() { apply { table /* ERROR syntax "is not allowed in a block" */ t { } } }`,
	`control c() { table t { } /* ERROR syntax "table t has no properties" */ apply { } }`,
	`control c() { table t { key = { a exact /* ERROR syntax "after the key" */; b: lpm; } } apply { } }`,
	`parser p() { state start { transition select (a) { 1 a /* ERROR syntax "after the key set" */; } } }`,
	`parser p() { state start { } bit /* ERROR syntax "before the states" */ <8> x; }`,
	`enum E { } /* ERROR syntax "enum E has no members" */`,
	`enum bit<8> E { a } /* ERROR syntax "after a member of an enum with a type" */`,
	`extern X { f /* ERROR syntax "no result type" */ (); }`,
	`typedef bit<8> /* what is missing */ ; /* ERROR syntax "expected the name of a type" */`,
	`const int x = 0b12 /* ERROR number "0b12 is not a number" */; const int y = 9999999w1 /* ERROR number "too large" */;`,
	`const int x = 0x /* ERROR number "0x is not a number" */;`,
	`const S x = {..., a = /* ERROR syntax "expected "," or "}"" */ 1};`,
	`@name( /* ERROR syntax "( is not closed" */ "x" const int x = 1;`,
	`@x[1, a = 2] /* ERROR syntax "mixes values" */ const int x = 1;`,
	`const int x = 1 $ /* ERROR syntax "found "$"" */ 2;`,
	`} /* ERROR syntax "expected a declaration" */ const int x = 1;`,
	`void f() { if a /* ERROR syntax "after if" */ { } }`,
	`void f() { for (a, /* ERROR syntax "expected an assignment or a call" */ b; c; d) { } }`,
	`void f() { switch (a) { 1 { /* ERROR syntax "after the label" */ } } }`,
}

func TestInvalid(t *testing.T) {
	for _, text := range invalid {
		checktest.Check(t, "t.p4", text, func(_, text string) diag.List {
			_, list := parse(text)
			return list
		})
	}
}

func TestNestingIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"parentheses": "const int a = " + strings.Repeat("(", 1e5) + "1" + strings.Repeat(")", 1e5) + ";",
		"open":        "const int a = " + strings.Repeat("(", 1e5),
		"minus":       "const int a = " + strings.Repeat("-", 1e5) + "1;",
		"sum":         "const int a = 1" + strings.Repeat(" + 1", 1e5) + ";",
		"members":     "const int a = a" + strings.Repeat(".a", 1e5) + ";",
		"blocks":      "void f() " + strings.Repeat("{", 1e5),
		"types":       "const " + strings.Repeat("list<", 1e5) + "int> a = 1;",
		"braces":      "const int a = " + strings.Repeat("{", 1e5) + ";",
		"else if":     "void f() { " + strings.Repeat("if (a) b(); else ", 1e5) + "; }",
		"casts":       "const int a = " + strings.Repeat("(int)", 1e5) + "1;",
		"calls":       "const int a = " + strings.Repeat("f(", 1e5) + ";",
		"arguments":   "const int a = f" + strings.Repeat("()", 1e5) + ";",
		"conditions":  "const int a = " + strings.Repeat("a ? ", 1e5) + ";",
	} {
		_, list := parse(text)
		if len(list) == 0 || list[0].Code != syntax.CodeNesting {
			t.Errorf("%s: %.200v", name, list)
		}
	}
}
