// SPDX-License-Identifier: Apache-2.0
// Name: paths
struct S { bit<8> a; bit<8> b; }
header h_t { bit<8> a; }
extern void set(out bit<8> x);
extern void change(inout bit<8> x);
void f(in bit<8> n, out bit<8> r) {
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> d;
    bit<8> e;
    bit<8> g;
    S s;
    S t;
    h_t h;
    if (n == 1) { a = 1; b = 1; } else { a = 2; }
    r = a;
    r = b /* WARN uninitialised "b may be read before it has a value" */;
    r = b;
    switch (n) { 1: { c = 1; } default: { c = 2; } }
    r = c;
    switch (n) { 1: { d = 1; } 2: { return; } }
    r = d /* WARN uninitialised "d may be read before it has a value" */;
    for (bit<8> i in 1 .. n) { e = i; }
    r = e /* WARN uninitialised "e may be read before it has a value" */;
    set(g);
    r = g;
    s.a = 1;
    r = s.b;
    r = t /* WARN uninitialised "t may be read before it has a value" */.a;
    r = h.a;
}
---
// Name: out parameters
void f(in bit<8> n, out bit<8> r /* WARN uninitialised "out parameter r may be left without a value" */) { if (n == 1) { r = 1; } }
void g(in bit<8> n, out bit<8> r /* WARN uninitialised "out parameter r may be left without a value" */) { if (n == 1) { return; } r = n; }
void h(out bit<8> r) { r = r /* WARN uninitialised "r may be read before it has a value" */ + 1; }
void i(@noWarn("uninitialised") out bit<8> r) { }
bit<8> j(out bit<8> r) { r[3:0] = 1; return r; }
extern void change(inout bit<8> x);
void k() { bit<8> x; change(x /* WARN uninitialised "x may be read before it has a value" */); bit<8> y; y /* WARN uninitialised "y may be read before it has a value" */ |+|= 1; @noWarn("uninitialised") bit<8> z; change(z); }
---
// Name: variables of a control
#include <core.p4>
control c(inout bit<8> v, out bit<8> w, out bit<8> u /* WARN uninitialised "out parameter u may be left without a value" */) {
    bit<8> set;
    bit<8> never;
    bit<8> by_table;
    bit<8> here = 1;
    action a() { v = set; }
    action b() { w = 1; by_table = here; }
    table t { key = { never /* WARN uninitialised "never is read, but nothing gives it a value" */: exact; } actions = { a; b; } default_action = a(); }
    apply { set = by_table; t.apply(); }
}
---
// Name: variables of a parser
#include <core.p4>
parser p(packet_in b, out bit<8> v) {
    bit<8> x;
    bit<8> y;
    state start { bit<8> z; x = z /* WARN uninitialised "z may be read before it has a value" */; transition select (y /* WARN uninitialised "y is read, but nothing gives it a value" */) { 1: next; default: accept; } }
    state next { v = x; transition accept; }
}
