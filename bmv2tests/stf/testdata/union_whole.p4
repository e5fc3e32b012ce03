// SPDX-License-Identifier: Apache-2.0
// Unions and a stack of unions are assigned as a whole. No expression names a field of
// their members.
#include <core.p4>
#include <v1model.p4>

header kind_t { bit<8> kind; }
header a_t { bit<8> x; bit<16> y; }
header b_t { bit<32> z; }
header_union u_t { a_t a; b_t b; }

struct headers { kind_t kind; u_t u; u_t v; u_t[2] s; u_t[2] t; }
struct metadata { }

parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t sm) {
    state start {
        p.extract(hdr.kind);
        transition select (hdr.kind.kind) { 1: first; 2: second; 3: stack; default: accept; }
    }
    state first { p.extract(hdr.u.a); transition accept; }
    state second { p.extract(hdr.u.b); transition accept; }
    state stack { p.extract(hdr.s.next.a); p.extract(hdr.s.next.b); transition accept; }
}

control I(inout headers hdr, inout metadata m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 2;
        hdr.v = hdr.u;
        hdr.t = hdr.s;
        hdr.u.a.setInvalid();
        hdr.u.b.setInvalid();
    }
}

control X(inout headers hdr, inout metadata m, inout standard_metadata_t sm) { apply { } }
control V(inout headers hdr, inout metadata m) { apply { } }
control C(inout headers hdr, inout metadata m) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.kind); p.emit(hdr.v); p.emit(hdr.t); } }

V1Switch(P(), V(), I(), X(), C(), D()) main;
