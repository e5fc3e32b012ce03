// SPDX-License-Identifier: Apache-2.0
// Name: parsers
#include <core.p4>
header h_t { bit<8> a; bit<8> b; }
struct S { h_t h; h_t[2] s; }
bit<8> one() { return 1; }
parser none /* ERROR state "parser none has no state "start"" */(packet_in p) { state begin { transition accept; } }
parser never /* ERROR state "parser never never comes to accept or reject" */(packet_in p) { state start { transition more; } state more { transition start; } }
parser some(packet_in p, out S v, in bit<8> n) {
    bit<8> x;
    value_set<bit<8>>(4) set;
    value_set<bool>(4) bad;
    NotThere /* ERROR undeclared "NotThere is not declared" */() ext;
    state start {
        p.extract(v.h);
        x = v.h.a;
        return /* ERROR placement "return cannot be used in a parser" */;
        exit /* ERROR placement "exit cannot be used in a parser" */;
        for (bit<8> i in 1 .. 2) { /* ERROR placement "a loop cannot be used in a parser" */ }
        switch /* ERROR placement "switch cannot be used in a parser" */ (x) { }
        transition select (x, v.h.b) {
            1 /* ERROR select "the key set has one part, select has 2" */: accept;
            ( /* ERROR select "the key set has 3 parts for 2 keys" */1, 2, 3): accept;
            (1, true /* ERROR type-mismatch "the key has type bit<8>, but true has type bool" */): accept;
            (1 &&& 3, 2 .. 5): second;
            (300 /* WARN overflow "300 does not fit bit<8>" */, 1): secnd /* ERROR undeclared "state secnd is not declared (did you mean "second"?)" */;
            (set, 1): p /* ERROR state "p is not a state" */;
            (n, 1): accept;
            (one /* ERROR placement "a case of select cannot call one; call it before, and compare with a variable" */(), 1): accept;
            (9 /* WARN empty-set "the range 9 .. 1 is empty" */ .. 1, _): accept;
            default: reject;
            ( /* WARN unreachable "the case is never reached: one before it takes everything" */_, _): accept;
        }
    }
    state second { p.extract(v.s.next); x = v.s.last.a; transition select (x) { set: third; } }
    state third /* WARN no-transition "state third has no transition, which rejects the packet" */ { }
    state third /* ERROR duplicate "state third is declared already, at" */ { transition accept; }
    state accept /* ERROR state "state accept is built in and cannot be declared" */ /* WARN no-transition "state accept has no transition, which rejects the packet" */ { }
    state lonely { transition accept; }
}
parser /* ERROR type-arguments "parser generic has a body and cannot have type parameters" */ generic<T>(packet_in p, out T t) { state start { transition accept; } }
---
// Name: controls
#include <core.p4>
header h_t { bit<8> a; bit<8> b; }
struct S { h_t h; h_t[2] s; }
extern X { X(bit<8> n); void m(in bit<8> v); abstract bit<8> f(in bit<8> x); }
extern Y { Y(); void m(); }
control inner(inout S v)(bit<8> n) { apply { v.h.a = n; } }
parser q(packet_in p) { state start { transition accept; } }
control c(inout S v, in S w) {
    inner(1) i;
    inner /* ERROR argument "inner needs an argument for parameter n" */() j;
    inner(true /* ERROR type-mismatch "parameter n has type bit<8>, but true has type bool" */) k;
    inner /* ERROR type-use "variable l cannot have type control inner; an instance is declared as inner(…) l" */ l;
    q /* ERROR placement "a parser cannot be instantiated in a control" */() r;
    X /* ERROR abstract "x must implement the abstract method f of X" */(1) x;
    X(1) y = { bit<8> f(in bit<8> x /* WARN shadow "x hides the one declared at" */) { return x; } };
    X /* ERROR abstract "z must implement the abstract method f of X" */(1) z = { bit<8> g /* ERROR abstract "X has no abstract method g with 1 parameters" */(in bit<8> x /* WARN shadow "x hides the one declared at" */) { return x; } };
    X(1) t = { bit<16> f /* ERROR abstract "bit<16> f(in bit<8> x) does not implement bit<8> f(in bit<8> x)" */(in bit<8> x /* WARN shadow "x hides the one declared at" */) { return 1; } };
    Y /* ERROR abstract "Y has no abstract methods to implement" */() u = { bit<8> f(in bit<8> x) { return x; } };
    S /* ERROR call "struct S has no constructor" */() s;
    bit /* ERROR call "bit<8> has no constructor" */<8>(1) b;
    apply {
        i.apply(v);
        i.apply(w /* ERROR not-variable "w cannot be assigned to: it is a parameter with direction in" */);
        i /* ERROR argument "inner needs an argument for parameter v" */.apply();
        inner /* ERROR placement "control inner has constructor parameters; declare an instance and apply that" */.apply(v);
        q.apply(v /* ERROR type-mismatch "parameter p has type extern packet_in, but v has type struct S" */);
        y.m(v.h.a);
        y.n /* ERROR no-member "y (extern X) has no member n" */();
        Y /* ERROR placement "late is an instance, which cannot be declared inside of statements" */() late;
        v.s.push_front(1);
        v.s.push_front(- /* ERROR out-of-range "the count -1 is negative" */1);
        v.s.push_front(v /* ERROR not-constant "the count must be known at compile time, v.h.a is not" */.h.a);
        w /* ERROR not-variable "w.s cannot be changed" */.s.pop_front(1);
        v /* ERROR placement "next of a header stack can only be used in a parser" */.s.next.a = 1;
        v.h.setValid();
        v.h.setValid(1 /* ERROR argument "setValid takes no arguments" */);
        w /* ERROR not-variable "w.h cannot be changed: it is a parameter with direction in" */.h.setInvalid();
        if (v /* ERROR no-value "method isValid must be called" */.h.isValid) { }
        if (v.h.isValid()) { }
        if (v /* ERROR type-mismatch "the condition has type bool, but v.h has type header h_t" */.h) { }
        verify /* ERROR placement "verify can only be called in a parser" */(true, error.NoMatch);
        v.h.a = v.h.minSizeInBits();
        this /* ERROR placement ""this" is only for abstract methods" */.x();
    }
}
control d();
control e(inout S v) { d /* ERROR placement "control d has no body and cannot be instantiated" */() x; apply { d /* ERROR placement "control d has no body and cannot be applied" */.apply(); } }
package P(d x);
control f(inout S v) { P(e /* ERROR type-mismatch "parameter x has type control d, which e() (control e) does not fit: 0 parameters are wanted, it has 1" */()) p; apply { } }
d /* ERROR placement "control d has no body and cannot be instantiated" */() top;
inner /* ERROR placement "control inner cannot be instantiated at the top level" */(1) also;
const bit<8> main /* ERROR placement "main must be an instance of a package" */ = 1;
---
// Name: main is not a package
extern X { X(); }
X() main /* ERROR placement "main must be an instance of a package, not of extern X" */;
---
// Name: tables
#include <core.p4>
header h_t { bit<8> a; bit<16> b; varbit<32> v; }
action outside() { }
control c(inout h_t h, in bool f) {
    action a(bit<8> x) { h.a = x; }
    action b(inout bit<8> x, bit<8> y) { x = y; }
    table none /* ERROR table "table none has no actions" */ { key = { h.a: exact; } }
    table t {
        key = { h.a: exact; h.b: fuzzy /* ERROR undeclared "match kind fuzzy is not declared" */; h.v: exact; h /* ERROR table "a key cannot be h (header h_t)" */: exact; 5 /* ERROR table "key 5 has no width; give it one" */: exact; f: exact; h.b & 3: exact @name("m"); }
        actions = { a; a /* ERROR duplicate "action a is in the list already" */; b(h.a); b /* ERROR duplicate "action b is in the list already" */ /* ERROR argument "action b needs an argument for parameter x" */; outside; NoAction; nothing /* ERROR undeclared "nothing is not declared" */; h /* ERROR action-reference "h is not an action" */; a /* ERROR duplicate "action a is in the list already" */(1 /* ERROR action-reference "parameter x of action a comes from table entries and is not given in the list" */); }
        size = true /* ERROR table "the size of a table must be a number, not true (bool)" */;
        size /* ERROR duplicate "table t has property size already" */ = 5;
        default_action = b(h.a, 1);
    }
    table u /* ERROR table "the default_action of table u must come after its actions" */ {
        default_action = a /* ERROR argument "action a needs an argument for parameter x" */;
        actions = { a; @tableonly NoAction; }
    }
    table v { actions = { a; b(h.a); @defaultonly NoAction; } default_action = c /* ERROR undeclared "c is not declared" */; }
    table w { actions = { a; b(h.a); } const default_action = b(h /* ERROR type-mismatch "parameter x has type bit<8>, but h.b has type bit<16>" */.b, 1); }
    table x /* ERROR entry "table x has no key and cannot have entries" */ { actions = { a; } default_action = a /* ERROR argument "action a needs an argument for parameter x" */(); entries = { 1: a(2); } }
    table y {
        key = { h.a: exact; h.b: ternary; }
        actions = { a; @defaultonly NoAction; }
        const entries = {
            (1, 2): a(1);
            (1, 2): a(2);
            (1, 2 &&& 3): a(3);
            (1 /* ERROR entry "a key of match kind exact cannot be a mask" */ &&& 2, _): a(4);
            (300 /* WARN overflow "300 does not fit bit<8>" */, _): a(5);
            1 /* ERROR select "the key set has 1 parts for 2 keys" */: a(6);
            ( /* ERROR select "the key set has 3 parts for 2 keys" */1, 2, 3): a(7);
            (1, 7): NoAction /* ERROR entry "action NoAction is @defaultonly and cannot be that of an entry" */;
            (1, 8): outside /* ERROR action-reference "the action of the entry outside is not in the list of actions of table y" */();
            (1, 9): a(h /* ERROR not-constant "parameter x must be known at compile time, h.a is not" */.a);
            (h /* ERROR not-constant "a key of an entry must be known at compile time, h.a is not" */.a, 9): a(1);
            priority = 5 /* ERROR entry "the entries are const and have their priorities from their order" */: (1, 10): a(1);
            const ( /* WARN entry "the entry is const already because the list is" */1, 11): a(1);
        }
        default_action = NoAction;
    }
    table z {
        key /* ERROR entry "the keys of table z are exact or lpm, but entries have priorities, which such keys do not use" */ = { h.a: lpm; }
        actions = { a; NoAction; }
        entries = { 0x80 &&& 0xC0: a(1); 0x81 /* ERROR entry "the mask of an lpm key must be ones followed by zeros" */ &&& 0x81: a(2); 1 /* ERROR entry "a key of match kind lpm cannot be a range" */ .. 2: a(3); priority = 1: _: a(4); }
    }
    table duplicates { // exact and lpm keys have no priorities
        key = { h.a: exact; h.b: lpm; }
        actions = { a; NoAction; }
        const entries = {
            (1, 0x1200 &&& 0xFF00): a(1);
            ( /* ERROR duplicate "has the same key (1, 4660 &&& 65280)" */1, 0x1234 &&& 0xFF00): a(2);
            (1, 0x1200 &&& 0xFE00): a(3);
            (1, 0x1234): a(4);
            ( /* ERROR duplicate "has the same key" */0x01, 0x1234 &&& 0xFFFF): a(5);
            (1, _): a(6);
            ( /* ERROR duplicate "has the same key" */1, 5 &&& 0): a(7);
            (2, _): a(8);
        }
        default_action = NoAction;
    }
    table aa { key = { h.a: exact; } actions = { NoAction; } key /* ERROR duplicate "table aa has property key already" */ = { h.b: exact; } nonsense = 7; }
    apply {
        t.apply(1 /* ERROR argument "apply of a table takes no arguments" */);
        if (t.apply().hit) { }
        if (t.apply().hits /* ERROR no-member "t.apply() (apply result of table t) has no member hits" */) { }
        switch (v.apply().action_run) { a: { } b: { } a /* ERROR duplicate "action a has two cases" */: { } d /* ERROR switch "table v has no action d" */: { } default: { } }
        switch (v.apply().hit) { true: { } }
        bit<8> r = v /* ERROR type-mismatch "variable r has type bit<8>, but v.apply() has type apply result of table v" */.apply();
        bool q = v /* ERROR placement "action_run can only be the expression of a switch" */.apply().action_run;
        a(1);
        b(h.a, 2);
        outside();
        t /* ERROR call "t (table t) cannot be called" */();
        v.x /* ERROR no-member "v (table v) has no member x" */();
        switch (w.apply().action_run) { a /* WARN switch "the last case has no statements" */: }
    }
}
---
// Name: table properties in wrong order
#include <core.p4>
control c(in bit<8> x) {
    table t { entries /* ERROR table "the entries of table t must come after its key" */ = { 1: NoAction; } key = { x: exact; } actions = { NoAction; } }
    apply { t.apply(); }
}
---
// Name: no NoAction
control c(in bit<8> x) {
    action a() { }
    table t /* ERROR table "table t has no default_action, and NoAction, which it would be, is not declared; include core.p4" */ { actions = { a; } }
    apply { t.apply(); }
}
---
// Name: annotations
@ /* ERROR annotation "annotation @name needs one string" */name const bit<8> a = 1;
@ /* ERROR annotation "annotation @name needs a name that is not empty" */name("") const bit<8> b = 1;
@ /* ERROR annotation "annotation @name needs one string" */name(x) const bit<8> c = 1;
@name("x") @name("y") const bit<8> d = 1;
@ /* ERROR annotation "annotation @hidden has no body" */hidden("x") const bit<8> e = 1;
@pkginfo[1, 2] const bit<8> g = 1;
@mine[a = 1, a /* ERROR duplicate "a is given twice in annotation @mine" */ = 2] const bit<8> h = 1;
struct S { @field_list("x") bit<8> a; }
---
// Name: externs
extern X { X(); X /* ERROR duplicate "a constructor with these parameters is declared already" */(); abstract /* ERROR placement "a constructor cannot be abstract" */ X(bit<8> a); void /* ERROR placement "X is the name of the extern, whose constructor has no result type" */ X(); void f(X /* ERROR type-use "a method of extern X cannot take an X" */ x); void g(); void g /* ERROR duplicate "method g with these parameters is declared already" */(); int /* ERROR type-use "a function cannot return int" */ h(in /* ERROR direction "parameter x of type int cannot have a direction" */ int x); }
extern X /* ERROR duplicate "X is declared already, at" */ { }
extern Y<T> { Y(T x); }
extern void f(@optional in bit<8> a = 1 /* ERROR direction "parameter a is @optional and cannot have a default value as well" */);
control c() { X /* ERROR argument "several X take these 0 arguments; name the arguments" */() x; Y<bit<8>>(1) y; Y(1 /* ERROR inference "1 has no width, and nothing else gives type T of parameter x one; write it with a width, as in 32w1" */) z; Y(8w1) w; apply { } }
