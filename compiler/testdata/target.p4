// SPDX-License-Identifier: Apache-2.0
// Name: main of an unknown architecture
#include <core.p4>
control c();
package P(c x);
control d() { apply { } }
P(d()) main /* ERROR main "package P does not belong to an architecture that this compiler knows (V1Switch of v1model.p4, Switch of tna.p4)" */;
---
// Name: two lpm keys
#include "skeleton.p4inc"
INGRESS {
    table t { key = { hdr.h.a: lpm; hdr /* ERROR target "table ingress.t has two lpm keys, BMv2 allows one" */.h.b: lpm; } actions = { NoAction; } }
    apply { t.apply(); }
}
SWITCH
---
// Name: a key without a name
#include "skeleton.p4inc"
INGRESS {
    table t { key = { hdr /* ERROR unsupported "key hdr.h.a + 1 needs a name for the control plane: add @name("…")" */.h.a + 1: exact; } actions = { NoAction; } }
    apply { t.apply(); }
}
SWITCH
---
// Name: properties
#include "skeleton.p4inc"
INGRESS {
    direct_counter(CounterType.packets) dc;
    direct_counter(CounterType.packets) alone;
    action_profile(8) ap;
    table t { key = { hdr.h.a: exact; } actions = { NoAction; } counters = dc; favourite /* WARN table "property favourite has no effect on this target" */ = 1; }
    table u { key = { hdr.h.a: exact; } actions = { NoAction; } implementation = ap; default_action = NoAction; }
    table v { key = { hdr.h.a: exact; } actions = { NoAction; } counters /* ERROR target "direct counter ingress.dc is the counters of table ingress.t already" */ = dc; }
    apply { t.apply(); u.apply(); v.apply(); }
}
SWITCH
---
// Name: registers
#include "skeleton.p4inc"
INGRESS {
    register<bool>(8) r /* ERROR target "register ingress.r must be of bit<W> or int<W>, not bool" */;
    apply { r.write(0, true); }
}
SWITCH
---
// Name: a counter that is too large
#include "skeleton.p4inc"
INGRESS {
    counter(0xFFFFFFFF, CounterType.packets) big /* ERROR target "the size of ingress.big must be known at compile time and less than 2^31" */;
    apply { big.count(0); }
}
SWITCH
---
// Name: a direct meter that is not read
#include "skeleton.p4inc"
INGRESS {
    direct_meter<bit<8>>(MeterType.packets) m /* ERROR target "direct meter ingress.m is the "meters" of table ingress.t, but none of its actions reads it" */;
    table t { key = { hdr.h.a: exact; } actions = { NoAction; } meters = m; }
    apply { t.apply(); }
}
SWITCH
---
// Name: action parameters
#include "skeleton.p4inc"
INGRESS {
    action a(h_t /* ERROR unsupported "parameter x of an action cannot have type h_t on this target" */ x) { hdr.h = x; }
    table t { actions = { a; NoAction; } default_action = NoAction; }
    apply { t.apply(); }
}
SWITCH
---
// Name: a table in several places
#include "skeleton.p4inc"
INGRESS {
    table t { key = { hdr.h.a: exact; } actions = { NoAction; } }
    apply {
        if (hdr.h.b == 1) { t.apply(); hdr.h.c = 1; } else { t /* ERROR target "table ingress.t is applied in several places and followed by different statements, which BMv2 does not support" */.apply(); hdr.h.c = 2; }
    }
}
SWITCH
---
// Name: division
#include "skeleton.p4inc"
INGRESS {
    apply {
        hdr.h.b = hdr /* ERROR operand "division by zero" */.h.a / 0;
    }
}
SWITCH
---
// Name: an int of run time
#include "skeleton.p4inc"
INGRESS { apply { hdr.h.a = (bit<8>)( /* ERROR cast "hdr.h.b (bit<8>) cannot be cast to int" */int)hdr.h.b; } }
SWITCH
---
// Name: recursion
#include "skeleton.p4inc"
bit<8> f(in bit<8> x) { return f /* ERROR undeclared "f is not declared" */(x); }
INGRESS { apply { hdr.h.a = f(1); } }
SWITCH
---
// Name: clones and lists
#include "skeleton.p4inc"
INGRESS {
    apply {
        clone_preserving_field_list /* WARN empty-field-list "no field of the metadata has @field_list(7)" */(CloneType.I2E, 1, 7);
        clone /* ERROR target "clone(E2E, …) can only be called in egress" */(CloneType.E2E, 1);
        recirculate_preserving_field_list(1);
        clone_preserving_field_list(CloneType.I2E, 1, meta.m);
    }
}
SWITCH
---
// Name: digests
#include "skeleton.p4inc"
INGRESS { apply { digest /* WARN p4info "the digest has only the name digest_0 for the control plane; pass a struct to digest" */(1, hdr.h.a); digest /* WARN p4info "the digest has only the name digest_1 for the control plane; pass a struct to digest" */(1, { hdr.h.a }); } }
SWITCH
---
// Name: names for the control plane
#include "skeleton.p4inc"
INGRESS {
    @name("same") table t { actions = { NoAction; } }
    @name("same") table u /* ERROR p4info "table ingress.same has the same name for the control plane as the one at" */ { actions = { NoAction; } }
    @id(0x01000001) table x /* ERROR p4info "the first byte of the @id of ingress.x is 0x01, which is that of another kind of object; it must be 0x02" */ { actions = { NoAction; } }
    @id(0x02000001) table y { actions = { NoAction; } }
    apply { t.apply(); u.apply(); x.apply(); y.apply(); }
}
SWITCH
---
// Name: annotations of the control plane
#include "skeleton.p4inc"
@ /* ERROR p4info "@controller_header needs a string, such as "packet_in"" */controller_header(1) header cpu_t { bit<8> a; }
@controller_header("packet_in") header in_t { bit<8> a; }
@pkginfo(name = 1, colour = "red")
control unused_but_noted(inout in_t h) { apply { } }
INGRESS {
    action both() { }
    @ /* ERROR p4info "@selector_size_semantics needs "sum_of_weights" or "sum_of_members"" */selector_size_semantics("best")
    @ /* ERROR p4info "@max_group_size needs a number" */max_group_size("x")
    action_selector(HashAlgorithm.crc16, 32w8, 32w8) s;
    @ /* WARN p4info "@max_group_size has no effect on action profile ingress.p, which has no selector" */max_group_size(4)
    action_profile(32w8) p;
    table t { key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { NoAction; @ /* ERROR p4info "action ingress.both of table ingress.t is both @tableonly and @defaultonly" */tableonly @defaultonly both; } implementation = s; }
    table u { key = { hdr.h.a: exact; } actions = { NoAction; } implementation = p; }
    apply { t.apply(); u.apply(); }
}
SWITCH
---
// Name: extract and emit
#include <v1model.p4>
header odd_t { bit<3> a; }
header two_t { varbit<8> a; varbit<8> b; }
struct headers { odd_t o; two_t t; bit<8> no; }
struct metadata { }
parser p(packet_in b, out headers hdr, inout metadata m, inout standard_metadata_t s) { state start { b.extract(hdr.o); b.extract(hdr /* ERROR argument "header two_t has a varbit field, whose size must be the second argument" */.t); b.extract(hdr /* ERROR argument "extract with a size needs a header with one varbit field, two_t has 2" */.t, 8); transition accept; } }
control v(inout headers hdr, inout metadata m) { apply { } }
control i(inout headers hdr, inout metadata m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers hdr) { apply { b /* ERROR argument "emit needs headers, not a value of type struct headers" */.emit(hdr); } }
V1Switch(p(), v(), i(), i(), v(), d()) main;
---
// Name: headers of whole bytes
#include <v1model.p4>
header /* ERROR target "header odd_t has 3 bits, the target needs a multiple of 8" */ odd_t { bit<3> a; }
struct headers { odd_t o; }
struct metadata { }
parser p(packet_in b, out headers hdr, inout metadata m, inout standard_metadata_t s) { state start { b.extract(hdr.o); transition accept; } }
control v(inout headers hdr, inout metadata m) { apply { } }
control i(inout headers hdr, inout metadata m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers hdr) { apply { if (hdr.o.a == 1) { b.emit(hdr); } b.emit(hdr.o); } }
V1Switch(p(), v(), i(), i(), v(), d()) main;
---
// Name: checksums
#include <v1model.p4>
header h_t { bit<8> a; bit<16> c; }
struct headers { h_t h; }
struct metadata { }
parser p(packet_in b, out headers hdr, inout metadata m, inout standard_metadata_t s) { state start { b.extract(hdr.h); transition accept; } }
control u(inout headers hdr, inout metadata m) { apply { } }
control v(inout headers hdr, inout metadata m) { apply { update_checksum /* ERROR target "only calls of verify_checksum and verify_checksum_with_payload are allowed here, with arguments that need no computation" */(true, { hdr.h.a }, hdr.h.c, HashAlgorithm.csum16); hdr.h.a = 1; } }
control i(inout headers hdr, inout metadata m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers hdr) { apply { b.emit(hdr); } }
V1Switch(p(), v(), i(), i(), v(), d()) main;
---
// Name: a loop over the elements of a tuple
#include "skeleton.p4inc"
bit<8> pick(in tuple<bit<8>, bit<8>> x, in bit<8> i) { return x[0] + i; }
INGRESS {
    apply {
        const tuple<bit<8>, bit<8>> t = { 1, 2 };
        bit<8> sum = 0;
        for (bit<8> x in t) { sum = sum + x; }
        hdr.h.a = pick(t, sum);
        hdr.h.b = hdr.s[4 /* ERROR out-of-range "the index 4 is out of range: there are 4 elements" */].a;
    }
}
SWITCH
---
// Name: emit under a condition
#include <v1model.p4>
header h_t { bit<8> a; }
struct headers { h_t h; }
struct metadata { }
parser p(packet_in b, out headers hdr, inout metadata m, inout standard_metadata_t s) { state start { b.extract(hdr.h); transition accept; } }
control v(inout headers hdr, inout metadata m) { apply { } }
control i(inout headers hdr, inout metadata m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers hdr) { apply { if /* ERROR target "the deparser can only emit headers" */ (hdr.h.a == 1) { b.emit(hdr); } } }
V1Switch(p(), v(), i(), i(), v(), d()) main;
---
// Name: too many statements
#include "skeleton.p4inc"
#define TEN(X) X X X X X X X X X X
bit<8> f(in bit<8> x) { bit<8> y = x; TEN /* ERROR too-large "the program has more than 262144 statements when its functions and controls are put in place" */(y = y + x;) return y; }
bit<8> g(in bit<8> x) { bit<8> y = x; TEN(y = y + f(x);) return y; }
bit<8> h(in bit<8> x) { bit<8> y = x; TEN(y = y + g(x);) return y; }
bit<8> i(in bit<8> x) { bit<8> y = x; TEN(y = y + h(x);) return y; }
bit<8> j(in bit<8> x) { bit<8> y = x; TEN(y = y + i(x);) return y; }
bit<8> k(in bit<8> x) { bit<8> y = x; TEN(y = y + j(x);) return y; }
INGRESS { apply { hdr.h.a = k(1); } }
SWITCH
