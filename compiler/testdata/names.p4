// SPDX-License-Identifier: Apache-2.0
// Name: names
#include <core.p4>
const bit<8> one = 1;
const bit<8> two = onne /* ERROR undeclared "onne is not declared (did you mean "one"?)" */ + 1;
const bit<8> three = .one;
const bit<8> four = . /* ERROR undeclared "two2 is not declared (did you mean "two"?)" */two2;
const bit<8> one /* ERROR duplicate "one is declared already, at" */ = 2;
struct S { bit<8> x; bit<8> x /* ERROR duplicate "field x of S is declared already" */; }
const S s = { x = 1 };
const one /* ERROR no-type "one is not a type" */ six = 1;
const bit<8> seven = S /* ERROR no-value "S is a type, not a value" */;
control c() { bit<8> x = nothing /* ERROR undeclared "nothing is not declared" */; apply { } }
---
// Name: members
struct S { bit<8> width; bit<4> color; }
enum E { first, second, first /* ERROR duplicate "member first of enum E is declared already" */ }
error { Bad, Bad /* ERROR duplicate "error.Bad is declared already" */ }
const bit<8> a = { width = 1, color = 2 }.witdh /* ERROR no-member "{width = 1, color = 2} ({width: int, color: int}) has no member witdh" */;
const E b = E.frist /* ERROR no-member "E (a type) has no member frist (did you mean "first"?)" */;
const error c = error.Badd /* ERROR no-member "error.Badd is not declared (did you mean "Bad"?)" */;
const bit<8> d = (S){ 1, 2 }.widht /* ERROR no-member "{1, 2} (tuple<int, int>) has no member widht" */;
const bit<8> e = 1.x /* ERROR no-member "1 (int) has no member x" */;
const S f = { width = 1, colour /* ERROR no-member "struct S has no field colour (did you mean "color"?)" */ = 2 };
const S g = { width = 1, width /* ERROR duplicate "field width has two values" */ = 2, color = 3 };
const S h = { /* ERROR type-mismatch "field color of struct S has no value; end with ... to give the others their default values" */ width = 1 };
const S i = { width = 1, ... };
const S j = { /* ERROR type-mismatch "3 values for the 2 of struct S" */ 1, 2, 3 };
const S k = { /* ERROR type-mismatch "1 values for the 2 of struct S" */ 1 };
---
// Name: shadowing
header h_t { bit<8> x; }
control c(inout h_t h)(bit<8> n) {
    bit<8> v = 1;
    bit<8> h /* WARN shadow "h hides the one declared at" */ = 2;
    action a(bit<8> v /* WARN shadow "v hides the one declared at" */) { h.x /* ERROR no-member "h (bit<8>) has no member x" */ = v; }
    table t { actions = { a; } default_action = a(1); }
    apply {
        bit<8> v /* WARN shadow "v hides the one declared at" */ = 3;
        { bit<8> v /* WARN shadow "v hides the one declared at" */ = 4; h.x /* ERROR no-member "h (bit<8>) has no member x" */ = v; }
        bit<8> n /* ERROR duplicate "n is the name of a parameter, declared at" */ = 1;
        h.x /* ERROR no-member "h (bit<8>) has no member x" */ = v + n;
        t.apply();
    }
}
action f(inout bit<8> x) { bit<8> x /* ERROR duplicate "x is declared already, at" */ = 1; }
---
// Name: what is unused
#include "skeleton.p4inc"
const bit<8> K = 1;
bit<8> twice /* WARN unused "function twice is never used" */(bit<8> x) { return x + x; }
action far /* WARN unused "action far is never used" */() { }
control other /* WARN unused "control other is never used" */(inout headers hdr) { apply { } }
INGRESS {
    const bit<8> k /* WARN unused "constant k is never used" */ = 1;
    bit<8> v /* WARN unused "variable v is never used" */ = 1;
    register<bit<8>>(4) r /* WARN unused "instance r is never used" */;
    action a /* WARN unused "action a is never used" */() { }
    table t /* WARN unused "table t is never used" */ { actions = { NoAction; } }
    @noWarn("unused") bit<8> w = 2;
    apply { bit<8> x /* WARN unused "variable x is never used" */; }
}
SWITCH
---
// Name: silence
control c(inout bit<8> x) {
    apply { x = 8w1 /* WARN overflow "bit<8> is shifted by 9, which leaves nothing" */ << 9; @noWarn("overflow") bit<8> y = 257; x = y; x = 258 /* WARN overflow "258 does not fit bit<8>" */; }
}
---
// Name: deprecated
@deprecated("use g") extern void f();
@deprecated("no") extern X { X(); @deprecated("never") void m(); }
control c() { X /* WARN deprecated "X is deprecated: no" */() x; apply { f /* WARN deprecated "f is deprecated: use g" */(); x /* WARN deprecated "m is deprecated: never" */.m(); } }
