// SPDX-License-Identifier: Apache-2.0
// Name: widths
const bit<0> a = 0;
const bit<- /* ERROR width "a type cannot have the width -1" */1> b = 0;
const bit<3000> c = 0;
const varbit<- /* ERROR width "a type cannot have the width -2" */2> d = 0;
const int<1> e = 0;
const bit<x /* ERROR undeclared "x is not declared" */> g = 0;
const bit<true /* ERROR type-mismatch "the width must be a number, which true (bool) is not" */> h = 0;
typedef bit<(4 + 4)> byte;
const byte i = 255 /* WARN overflow "256 does not fit bit<8>" */ + 1;
struct S { bit<8> a; }
const S[- /* ERROR width "an array cannot have the size -1" */1] j = {};
const bit<(1 /* ERROR too-large "the value of << has more than 65536 bits" */ << 100000)> k = 1;
---
// Name: what a type may hold
header h_t { bit<8> a; varbit<32> b; }
header H { h_t /* ERROR type-use "field h of header H cannot have type header h_t" */ h; }
header I { int /* ERROR type-use "field n of header I cannot have type int" */ n; }
header J { string /* ERROR type-use "field s of header J cannot have type string" */ s; }
header_union U { bit /* ERROR type-use "field x of header_union U cannot have type bit<8>" */<8> x; h_t h; }
struct S { S /* ERROR type-use "struct S contains itself" */ s; }
struct T { void /* ERROR type-use "field v of struct T cannot have type void" */ v; }
header_union V { h_t a; U /* ERROR type-use "field b of header_union V cannot have type header_union U" */ b; }
struct W { int /* ERROR type-use "field n of struct W cannot have type int" */ n; }
enum bool /* ERROR type-use "an enum is made of bit<W> or int<W>, not bool" */ E { x = true /* ERROR type-mismatch "member x has type bit<32>, but true has type bool" */ }
enum bit<4> F { x = 1, y = 16 /* WARN overflow "16 does not fit bit<4>" */, x /* ERROR duplicate "member x of enum F is declared already" */ = 2 }
type int /* ERROR type-use "a new type is made of bool, bit<W> or int<W>, not int" */ N;
type h_t /* ERROR type-use "a new type is made of bool, bit<W> or int<W>, not header h_t" */ M;
typedef tuple<void /* ERROR type-use "a tuple cannot have a part of type void" */> X;
typedef list<void /* ERROR type-use "a list cannot have elements of type void" */> Y;
typedef h_t /* ERROR type-arguments "header h_t takes no type arguments" */<bit<8>> Z;
struct G<A> { A a; }
typedef G /* ERROR type-arguments "struct G needs 1 type arguments" */ A1;
typedef G /* ERROR type-arguments "struct G needs 1 type arguments, not 2" */<bit<8>, bit<8>> A2;
typedef G /* ERROR type-use "a type argument of G cannot be _" */<_> A3;
typedef bit<8>[4] A4;
---
// Name: conversions
header h_t { bit<8> a; bit<16> b; }
struct S { bit<8> a; bit<16> b; }
struct R { bit<8> a; bit<16> b; }
type bit<8> T;
enum E { x, y }
enum bit<8> F { x = 1, y = 2 }
const bit<8> a = 16w1 /* ERROR type-mismatch "constant a has type bit<8>, but 16w1 has type bit<16>; write (bit<8>) if that is what you want" */;
const bit<8> b = 8s1 /* ERROR type-mismatch "constant b has type bit<8>, but 8s1 has type int<8>" */;
const bit<8> c = true /* ERROR type-mismatch "constant c has type bit<8>, but true has type bool" */;
const bit<8> d = "x" /* ERROR type-mismatch "constant d has type bit<8>, but "x" has type string" */;
const bool e = 1 /* ERROR type-mismatch "constant e has type bool, but 1 has type int" */;
const T f = 8w1 /* ERROR type-mismatch "constant f has type T, but 8w1 has type bit<8>; write (T) if that is what you want" */;
const T g = (T)8w1;
const bit<8> h = g /* ERROR type-mismatch "constant h has type bit<8>, but g has type T" */;
const bit<8> i = E /* ERROR type-mismatch "constant i has type bit<8>, but E.x has type enum E" */.x;
const bit<8> j = F.x;
const F k = 8w1 /* ERROR type-mismatch "constant k has type enum F, but 8w1 has type bit<8>; write (F) if that is what you want" */;
const F l = (F)8w1;
const S m = ( /* ERROR type-mismatch "constant m has type struct S, but (R){1, 2} has type struct R" */R){ 1, 2 };
const S n = { 1, true /* ERROR type-mismatch "element 2 of the list has type bit<16>, but true has type bool" */ };
const tuple<bit<8>, bit<16>> o = { 1, 2 };
const tuple<bit<8>> p = { /* ERROR type-mismatch "2 values for the 1 of tuple<bit<8>>" */ 1, 2 };
const bit<8> q = ( /* ERROR cast "true (bool) cannot be cast to bit<8>" */bit<8>)true;
const bit<1> r = (bit<1>)true;
const bool s = (bool)1w1;
const bool t = ( /* ERROR cast "8w1 (bit<8>) cannot be cast to bool" */bool)8w1;
const int<8> u = (int<8>)8w255;
const int<8> v = ( /* ERROR cast "16w255 (bit<16>) cannot be cast to int<8>: a cast changes sign or width, not both at once" */int<8>)16w255;
const bit<4> w = (bit<4>)8w255;
const bit<8> x = ( /* ERROR cast "E.x (enum E) cannot be cast to bit<8>" */bit<8>)E.x;
const bit<8> y = (bit<8>)(int)T.max /* ERROR no-member "T (a type) has no member max" */;
const list<bit<8>> z = { 1, 2, true /* ERROR type-mismatch "element 3 of the list has type bit<8>, but true has type bool" */ };
---
// Name: operators
const bit<8> a = 8w1 /* ERROR operand "+ cannot be applied to 8w1 (bit<8>) and 16w1 (bit<16>): the types differ" */ + 16w1;
const bit<8> b = 8w1 /* ERROR operand "+ cannot be applied to 8w1 (bit<8>) and 8s1 (int<8>): the types differ" */ + 8s1;
const bit<8> c = 8w1 /* ERROR operand "& cannot be applied to 8w1 (bit<8>) and true (bool)" */ & true;
const bit<8> d = ! /* ERROR operand "! cannot be applied to 8w1 (bit<8>)" */8w1;
const bool e = ~ /* ERROR operand "~ cannot be applied to true (bool)" */true;
const bool f = - /* ERROR operand "- cannot be applied to true (bool)" */true;
const bit<8> g = 8w1 / 8w2;
const int h = 1 /* ERROR operand "division by zero" */ / 0;
const int i = 1 /* ERROR operand "division by zero" */ % 0;
const int j = - /* ERROR operand "/ is not defined for negative numbers" */1 / 2;
const int k = - /* ERROR operand "% is not defined for negative numbers" */1 % 2;
const int l = 1 /* ERROR operand "shift by a negative amount" */ << -1;
const bit<8> m = 8w1 /* WARN overflow "bit<8> is shifted by 8, which leaves nothing" */ << 8;
const bit<8> n = 8w1 << 8s1;
const bit<16> o = 8w1 ++ 8w2;
const int p = 1 /* ERROR operand "++ cannot be applied to 1 (int) and 8w2 (bit<8>): a number without width has none to concatenate" */ ++ 8w2;
const bool q = 8w1 /* ERROR operand "8w1 (bit<8>) and 16w1 (bit<16>) cannot be compared: the types differ" */ == 16w1;
const bool r = 8w1 /* ERROR operand "< cannot be applied to 8w1 (bit<8>) and true (bool)" */ < true;
const bool s = { 1, 2 } == { 1, 2 };
const bool t = true /* ERROR operand "&& cannot be applied to true (bool) and 1 (int): both must be bool" */ && 1;
const bit<8> u = 1 /* ERROR type-mismatch "the condition has type bool, but 1 has type int" */ ? 8w1 : 8w2;
const bit<8> v = true /* ERROR type-mismatch "the two values of ?: have different types, bit<8> and bit<16>" */ ? 8w1 : 16w2;
const int<8> w = 8s127 + 8s1;
const int<8> x = -8s128 /* WARN overflow "128 does not fit int<8>" */;
const bit<8> y = 8w255 |+| 8w1;
const bit<8> z = 8w0 |-| 8w1;
const int big = 1 << 100 << 100 << 100 << 100 << 2000 << 2000 << 2000;
const int wide = 3 /* ERROR operand "|+| cannot be applied to 3 (int) and 4 (int): give one of them a width" */ |+| 4;
const bit<8> lost = 256 /* WARN overflow "256 does not fit bit<8>" */;
const int<8> neg = - /* WARN overflow "-129 does not fit int<8>" */129;
const bit<4> hex = 0xFFF /* WARN overflow "4095 does not fit bit<4>" */;
---
// Name: slices and indexes
struct S { bit<8>[4] s; }
const bit<8> x = 5;
const bit<4> a = x[3:0];
const bit<4> b = x[8 /* ERROR out-of-range "bit 8 is out of range: x has 8" */:5];
const bit<4> c = x /* ERROR out-of-range "the slice [0:3] has its ends the wrong way round" */[0:3];
const bit<4> d = x /* ERROR out-of-range "a slice cannot have the negative end -1" */[3:-1];
const bit<4> e = x[true /* ERROR type-mismatch "the end of a slice must be a number, which true (bool) is not" */:0];
const bool f = true /* ERROR operand "true (bool) has no bits to slice" */[0:0];
const bit<4> g = x[4+:4];
const bit<4> h = x /* ERROR out-of-range "the slice [5+:4] of x is out of range" */[5+:4];
const bit<8> i = x /* ERROR operand "x (bit<8>) is not an array or tuple and has no index" */[0];
const tuple<bit<8>, bit<4>> t = { 1, 2 };
const bit<4> j = t[1];
const bit<4> k = t[2 /* ERROR out-of-range "the index 2 is out of range: there are 2 elements" */];
const bit<4> l = t[- /* ERROR out-of-range "the index -1 is negative" */1];
void f2(in S s, in bit<8> n, out bit<8> r) {
    r = s.s[n];
    r = s.s[4 /* ERROR out-of-range "the index 4 is out of range: there are 4 elements" */];
    r = s.s[true /* ERROR type-mismatch "an index must be a number, not true (bool)" */];
    r[3:0] = n[n /* ERROR not-constant "the end of a slice must be known at compile time, n is not" */:0];
    r = t[n /* ERROR not-constant "the index of a tuple must be known at compile time, n is not" */];
}
---
// Name: what can be assigned to
struct S { bit<8> a; }
const S k = { 1 };
void f(in S i, inout S io, out S o, S d) {
    i /* ERROR not-variable "i.a cannot be assigned to: it is a parameter with direction in" */.a = 1;
    io.a = 1;
    o.a = 1;
    d /* ERROR not-variable "d.a cannot be assigned to: it is a constant" */.a = 1;
    k /* ERROR not-variable "k.a cannot be assigned to: it is a constant" */.a = 1;
    f /* ERROR undeclared "f is not declared" */ = 1;
    io.a[3:0] = 4w1;
    io.a |-|= 8w1;
    io /* ERROR operand "+ cannot be applied to io.a (bit<8>) and 16w1 (bit<16>): the types differ" */.a += 16w1;
    io.a = true /* ERROR type-mismatch "io.a has type bit<8>, but true has type bool" */;
    io = { 2 };
    (8w1 /* ERROR not-variable "8w1 cannot be assigned to: it is a constant" */) = 8w2;
}
---
// Name: calls
extern void e1(in bit<8> a, out bit<8> b, inout bit<8> c, bit<8> d);
extern T e2<T>(in T a);
extern T e3<T>();
extern void e4(in bit<8> a, @optional in bit<8> b);
bit<8> f(in bit<8> x, in bit<8> y) { return x + y; }
bit<8> f(in bit<8> x) { return x; }
void g(inout bit<8> v) {
    e1(v, v, v, 1);
    e1(1, 2 /* ERROR not-variable "2 cannot be assigned to: it is a constant" */, v, 1);
    e1(v, v, v, v);
    e1 /* ERROR argument "e1 needs an argument for parameter c" */(v, v);
    e1(a = v, b = v, c = v, d = 1);
    e1(a = v, b = v, c = v, e /* ERROR argument "e1 has no parameter e" */ = 1);
    e1(a = v, a /* ERROR argument "parameter a has two arguments" */ = v, b = v, c = v);
    e1(v, b /* ERROR argument "either all arguments have names or none" */ = v, c = v, d = 1);
    e1(v, _, v, 1);
    e1(_ /* ERROR argument "parameter a has direction in, and only one with direction out can be _" */, v, v, 1);
    v = e2(v);
    v = e2 /* ERROR type-arguments "e2 needs 1 type arguments, not 2" */<bit<8>, bit<8>>(v);
    v = e2(1 /* ERROR inference "1 has no width, and nothing else gives type T of parameter a one; write it with a width, as in 32w1" */);
    v = e3();
    v = e3<bit<8>>();
    v = e2 /* ERROR no-value "method e2 must be called" */;
    e4(v);
    e4(v, v);
    e4 /* ERROR argument "e4 needs an argument for parameter a" */();
    v = f(v, v) + f(v) + f /* ERROR argument "no f takes these 0 arguments" */();
    v /* ERROR call "v (bit<8>) cannot be called" */();
    v.x /* ERROR no-member "v (bit<8>) has no member x" */();
    f /* ERROR argument "no f takes these 1 arguments" */<bit<8>>(v);
    bit<8> w = e1 /* ERROR no-value "e1(v, v, v, 1) has no value" */(v, v, v, 1);
    assert2 /* ERROR undeclared "assert2 is not declared" */(true);
    static_assert /* ERROR undeclared "static_assert is not declared" */(v == 1);
}
---
// Name: functions
bit<8> a /* ERROR return-value "function a can end without returning a value" */(in bit<8> x) { if (x == 1) { return 1; } }
bit<8> b(in bit<8> x) { return /* ERROR return-value "return needs a value of type bit<8>" */; }
void c() { return 1 /* ERROR return-value "nothing is returned here, but return has a value" */; }
bit<8> d(in bit<8> x) { return true /* ERROR type-mismatch "the result has type bit<8>, but true has type bool" */; }
bit<8> e(in bit<8> x) { if (x == 1) { return 1; } else { return 2; } }
bit<8> f(in bit<8> x) { return 1; return /* WARN unreachable "the statement is never reached" */ 2; }
bit<8> g(in bit<8> x) { exit /* ERROR placement "exit cannot be used in a function" */; }
void h() { break /* ERROR placement "break is only for loops" */; }
void i() { continue /* ERROR placement "continue is only for loops" */; }
void j(bit<8> x, in bit<8> y) { }
void k(in bit<8> x, bit<8> x /* ERROR duplicate "x is declared already, at" */) { }
void l(in bit<8> x = 1, out bit<8> y = 2 /* ERROR direction "a parameter with direction out cannot have a default value" */) { }
h_t /* ERROR undeclared "type h_t is not declared" */ m() { }
void n(inout /* ERROR direction "parameter x of type int cannot have a direction" */ int x) { }
void o(in bit<8> x) { switch (x) { 1: { } 1 /* ERROR duplicate "value 1 has two cases" */: { } default: { } 2 /* ERROR switch "a case follows the default case, which must come last" */: { } } }
void p(in bit<8> x) { switch (true) { true: { } } switch ("a" /* ERROR switch "switch cannot use "a" (string)" */) { } switch (5 /* ERROR switch "5 has no width to switch on; give it one" */) { } }
void q(in bit<8> x) { for (bit<8> i = 0; i /* ERROR type-mismatch "the condition has type bool, but i has type bit<8>" */; i = i + 1) { } for (bit<8> i in 1 .. 4) { i = 2; } for (bool /* ERROR type-mismatch "a loop over a range needs a variable of type bit<W> or int<W>, not bool" */ b in 1 /* ERROR type-mismatch "the start of the range has type bool, but 1 has type int" */ .. 2 /* ERROR type-mismatch "the end of the range has type bool, but 2 has type int" */) { } for (bit<8> i in x /* ERROR type-mismatch "a loop cannot go over x (bit<8>)" */) { } }
---
// Name: generics
extern void f<T>(in T a, in T b);
extern void g<T>(in /* ERROR direction "parameter a of type list<T> cannot have a direction" */ list<T> a);
extern void h<T, U>(in T a, out U b);
struct S<T> { T a; }
void t(in bit<8> a, in bit<16> b) {
    f(a, b /* ERROR type-mismatch "parameter b has type bit<8>, but b has type bit<16>; write (bit<8>) if that is what you want" */);
    f(a, 1);
    f(1 /* ERROR inference "1 has no width, and nothing else gives type T of parameter a one; write it with a width, as in 32w1" */, 2);
    f({ 1 }, { 2 });
    f<bit<8>>(a, b /* ERROR type-mismatch "parameter b has type bit<8>, but b has type bit<16>; write (bit<8>) if that is what you want" */);
    f<void /* ERROR type-use "void cannot be a type argument" */>(a, a);
    h(a, a /* ERROR not-variable "a cannot be assigned to: it is a parameter with direction in" */);
    h<bit<8>, _>(a, _);
    S<bit<8>> s = { 1 };
    f(s, s);
}
---
// Name: static assertions
#include <core.p4>
const bit<8> n = 3;
const bool a = static_assert(n == 3);
const bool b = static_assert /* ERROR static-assert "n must be 4" */(n == 4, "n must be 4");
const bool c = static_assert /* ERROR static-assert "the assertion is false" */(n == 5);
const bool d = static_assert(n /* ERROR type-mismatch "parameter check has type bool, but n has type bit<8>" */);
