// SPDX-License-Identifier: Apache-2.0

package types_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// before precedes each expression.
const before = `#include <core.p4>
struct point { bit<8> x; bit<8> y; }
struct pair<T> { T first; T second; }
header h_t { bit<8> a; bit<4> b; bit<4> c; }
header v_t { bit<8> a; varbit<64> v; }
header_union u_t { h_t h; v_t v; }
enum color { red, green }
enum bit<8> kind { data = 1, ack = 2 }
type bit<9> port_t;
typedef int<16> short;
const point ORIGIN = { 1, 2 };
const tuple<bit<8>, bool> BOTH = { 3, true };
extern T same<T>(in T x);
extern bit<32> size(in bit<8> x);
bit<16> wide(in bit<16> x) { return x; }
bit<8> wide(in bit<8> x, in bit<8> y) { return x; }
control c(in bit<8> n, in int<8> s, in bool f, in h_t h, in port_t port, in h_t[3] stack, in color k, in error e, in u_t u) {
    apply {
        `

// exprs are expressions with their types, and their values if constant.
var exprs = []struct{ expr, want string }{
	// Numbers.
	{"1", "int = 1"},
	{"8w255", "bit<8> = 255"},
	{"8s255", "int<8> = -1"},
	{"0xFF + 0b11 - 0o7", "int = 251"},
	{"1 << 100", "int = 1267650600228229401496703205376"},
	{"(1 << 100) >> 98", "int = 4"},
	{"-7", "int = -7"},
	{"17 / 5", "int = 3"},
	{"17 % 5", "int = 2"},
	{"-1 >> 1", "int = -1"},
	{"6 & 3 | 8 ^ 1", "int = 11"},
	// Widths.
	{"8w255 + 1", "bit<8> = 0"},
	{"8w200 |+| 100", "bit<8> = 255"},
	{"8w1 |-| 2", "bit<8> = 0"},
	{"8s127 |+| 1", "int<8> = 127"},
	{"-8s128 |-| 1", "int<8> = -128"},
	{"8s127 + 1", "int<8> = -128"},
	{"8w7 / 2", "bit<8> = 3"},
	{"8w7 * 100", "bit<8> = 188"},
	{"~8w1", "bit<8> = 254"},
	{"-8w1", "bit<8> = 255"},
	{"8w1 << 3", "bit<8> = 8"},
	{"-8s4 >> 1", "int<8> = -2"},
	{"8w128 >> 7", "bit<8> = 1"},
	{"4w5 ++ 8w1", "bit<12> = 1281"},
	{"4s5 ++ 4w1", "int<8> = 81"},
	{"8w0xA5[7:4]", "bit<4> = 10"},
	{"8w0xA5[2+:3]", "bit<3> = 1"},
	{"n + 1", "bit<8>"},
	{"n ++ n", "bit<16>"},
	{"s >> n", "int<8>"},
	{"n[3:1]", "bit<3>"},
	{"n[n+:2]", "bit<2>"},
	{"1 + n", "bit<8>"},
	// Truth.
	{"1 < 2 && !(3 == 4)", "bool = true"},
	{"8w1 != 2", "bool = true"},
	{"n > 3 || f", "bool"},
	{"true ? 8w1 : 2", "bit<8> = 1"},
	{"f ? n : 2", "bit<8>"},
	{"ORIGIN == { 1, 2 }", "bool = true"},
	{"h == h", "bool"},
	{"k == color.red", "bool"},
	{"\"a\" ++ \"b\"", `string = "ab"`},
	// Casts.
	{"(bit<4>) 8w0xAB", "bit<4> = 11"},
	{"(bit<16>) 8w0xAB", "bit<16> = 171"},
	{"(int<8>) 8w0xFF", "int<8> = -1"},
	{"(bit<1>) true", "bit<1> = 1"},
	{"(bool) 1w0", "bool = false"},
	{"(int) 8w5", "int = 5"},
	{"(port_t) 9w3", "port_t = 3"},
	{"(bit<9>) port", "bit<9>"},
	{"(kind) 8w2", "kind = 2"},
	{"(bit<8>) kind.ack", "bit<8> = 2"},
	{"(short) n ++ n", ""},
	{"(point) { 3, 4 }", "point = {3, 4}"},
	{"(pair<bit<4>>) { first = 1, second = 2 }", "pair<bit<4>> = {1, 2}"},
	// Members.
	{"ORIGIN.y", "bit<8> = 2"},
	{"BOTH[1]", "bool = true"},
	{"kind.ack", "kind = 2"},
	{"error.NoMatch", "error = NoMatch"},
	{"h.b", "bit<4>"},
	{"h.isValid()", "bool"},
	{"u.isValid()", "bool"},
	{"u.v.a", "bit<8>"},
	{"stack[1].a", "bit<8>"},
	{"stack[n].a", "bit<8>"},
	{"stack.size", "bit<32> = 3"},
	{"h.minSizeInBits()", "int = 16"},
	{"u.v.minSizeInBytes()", "int = 1"},
	{"u.v.maxSizeInBits()", "int = 72"},
	// Calls.
	{"same(n)", "bit<8>"},
	{"same<bit<16>>(3)", "bit<16>"},
	{"same(h)", "h_t"},
	{"size(3)", "bit<32>"},
	{"wide(3)", "bit<16>"},
	{"wide(3, y = 4)", ""},
	{"wide(x = 3, y = 4)", "bit<8>"},
}

func TestExpressions(t *testing.T) {
	for _, c := range exprs {
		text := before + "same(" + c.expr + ");\n    }\n}"
		if strings.HasPrefix(c.want, "int =") || strings.HasPrefix(c.want, "string") {
			text = "const int unused = 1;\n" + before + "const " + strings.Fields(c.want)[0] + " z = " + c.expr + ";\n    }\n}"
		}
		r, list := compiler.Compile(compiler.Options{File: "t.p4", Source: []byte(text), Stop: compiler.AfterCheck,
			Open: func(string) (string, error) { return "", fs.ErrNotExist }})
		got := ""
		if !list.HasErrors() {
			got = typeOf(r, c.expr)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q %v", c.expr, got, c.want, list)
		}
	}
}

// typeOf returns the type and value of the expression in the apply block of the
// last declaration.
func typeOf(r *compiler.Result, text string) string {
	control := r.Tree.Decls[len(r.Tree.Decls)-1].(*syntax.ControlDecl)
	var x syntax.Expr
	switch s := control.Body.Stmts[0].(type) {
	case *syntax.CallStmt:
		x = s.Call.Args[0].Value
	case *syntax.DeclStmt:
		x = s.Decl.(*syntax.ConstDecl).Value
	}
	got := fmt.Sprint(r.Types.TypeOf(x))
	if v := r.Types.ValueOf(x); v != nil {
		got += " = " + v.String()
	}
	return got
}
