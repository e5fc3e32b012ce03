// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/diag"
)

// chain returns n declarations, each of which uses the previous one.
func chain(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i+1, i)
	}
	return b.String()
}

// A small program that would expand to a large one ends with an error or with
// outputs in limited memory, but never with an internal error.
func TestHostilePrograms(t *testing.T) {
	const skeleton = "#include \"skeleton.p4inc\"\n"
	control := func(top, body string) string { return skeleton + top + "\nINGRESS { " + body + " }\nSWITCH\n" }
	for _, c := range []struct {
		name string
		text string
		want diag.Code // of the first error, "" if it compiles
	}{
		{"functions of functions", control("bit<8> f0(in bit<8> x) { return x; }\n"+
			chain(40, "bit<8> f%[1]d(in bit<8> x) { return f%[2]d(f%[2]d(x)); }"), "apply { hdr.h.a = f40(1); }"), "too-large"},
		{"branches of branches", control("bit<8> f0(in bit<8> x) { return x; }\n"+
			chain(40, "bit<8> f%[1]d(in bit<8> x) { if (x == %[2]d) { return f%[2]d(x); } return f%[2]d(x + 1); }"), "apply { hdr.h.a = f40(hdr.h.b); }"), "too-large"},
		{"controls in controls", control("control c0(inout bit<8> x) { apply { x = x + 1; } }\n"+
			chain(40, "control c%[1]d(inout bit<8> x) { c%[2]d() a; c%[2]d() b; apply { a.apply(x); b.apply(x); } }"), "c40() c; apply { c.apply(hdr.h.a); }"), "too-large"},
		{"parsers in parsers", skeleton + "parser p0(packet_in b, inout bit<8> x) { state start { x = x + 1; transition accept; } }\n" +
			chain(40, "parser p%[1]d(packet_in b, inout bit<8> x) { p%[2]d() q; p%[2]d() r; state start { q.apply(b, x); r.apply(b, x); transition accept; } }") +
			"parser deep(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) { p40() q; state start { q.apply(p, hdr.h.a); transition accept; } }\n" +
			"INGRESS { apply { } }\ncontrol no(inout headers hdr, inout metadata meta) { apply { } }\ncontrol emit(packet_out p, in headers hdr) { apply { p.emit(hdr); } }\n" +
			"V1Switch(deep(), no(), ingress(), ingress(), no(), emit()) main;", "too-large"},
		{"structs of structs", "struct s0 { bit<8> a; bit<8> b; }\n" + chain(40, "struct s%[1]d { s%[2]d a; s%[2]d b; }"), "too-large"},
		{"arrays of arrays", "struct s0 { bit<8> a; }\n" + chain(4, "struct s%[1]d { s%[2]d[1000] a; }"), "too-large"},
		{"tuples of tuples", "typedef tuple<bit<8>, bit<8>> t0;\n" + chain(40, "typedef tuple<t%[2]d, t%[2]d> t%[1]d;"), "too-large"},
		{"tuples of type arguments", control("void f0<T>(in T x) { }\n"+chain(40, "void f%[1]d<T>(in T x) { f%[2]d<tuple<T, T>>({ x, x }); }"), "apply { f40(hdr.h.a); }"), "too-large"},
		{"tuples of results", control("tuple<T, T> f<T>(in T x) { return { x, x }; }", "apply { "+strings.Repeat("f(", 40)+"hdr.h.a"+strings.Repeat(")", 40)+"; }"), "inference"},
		{"actions of actions", control("", "action a0() { hdr.h.a = 1; }\n"+chain(1000, "action a%[1]d() { a%[2]d(); }")+"apply { a1000(); }"), "too-large"},
		{"squares", "const int a0 = 3;\n" + chain(60, "const int a%[1]d = a%[2]d * a%[2]d;"), "too-large"},
		{"strings", "const string a0 = \"xxxxxxxx\";\n" + chain(60, "const string a%[1]d = a%[2]d ++ a%[2]d;"), "too-large"},
		{"wide numbers", "const bit<2000000> x = 1 << 1999999;", "width"},
		{"tokens", "#define C(x, y) x##y\n#define D(x) C(x, x)\nconst int " + strings.Repeat("D(", 40) + "a" + strings.Repeat(")", 40) + " = 1;", "too-large"},
		{"ranges", control("", "table t { key = { hdr.h.d: range; hdr.h.c: range; } actions = { NoAction; } const entries = { (1 .. 0xFFFFFFFE, 1 .. 0xFFFE): NoAction; } } apply { t.apply(); }"), ""},
		{"indices of indices", control("", "apply { hdr.s["+strings.Repeat("hdr.s[", 20)+"hdr.h.a"+strings.Repeat("].a", 20)+"].a = 1; }"), ""},
		{"shifts of shifts", control("", "apply { hdr.h.d = "+strings.Repeat("hdr.h.d << (", 30)+"hdr.h.d"+strings.Repeat(")", 30)+"; }"), ""},
		{"shifts of signed shifts", control("", "apply { hdr.h.d = (bit<32>) ("+strings.Repeat("(", 30)+"(int<32>) hdr.h.d"+strings.Repeat(" >> hdr.h.d)", 30)+"); }"), ""},
		{"divisors of divisors", control("", "apply { hdr.h.d = "+strings.Repeat("hdr.h.d / (", 30)+"hdr.h.d"+strings.Repeat(")", 30)+"; }"), ""},
		{"slices of slices", control("", "apply { hdr.h.a = hdr.h.d["+strings.Repeat("hdr.h.d[", 20)+"hdr.h.d"+strings.Repeat("+:32]", 20)+"+:8]; }"), ""},
		{"choices of choices", control("", "apply { hdr.h.d = "+strings.Repeat("hdr.h.a == 1 ? hdr.h.d : (", 30)+"hdr.h.d"+strings.Repeat(")", 30)+"; }"), ""},
		{"loops of loops", control("", "apply { "+strings.Repeat("for (bit<8> i in (list<bit<8>>) { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }) ", 9)+"{ hdr.h.a = hdr.h.a + 1; } }"), "too-large"},
	} {
		if testing.Short() && c.want == "too-large" {
			continue // they go up to the limits
		}
		t.Run(c.name, func(t *testing.T) {
			var list diag.List
			n := allocated(func() { list = check("t.p4", c.text) })
			if n > 1<<30 {
				t.Errorf("%d MB allocated", n>>20)
			}
			got := diag.Code("")
			for _, d := range list {
				if d.Severity == diag.Error {
					got = d.Code
					break
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q: %.200v", got, c.want, list)
			}
		})
	}
}
