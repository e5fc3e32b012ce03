// SPDX-License-Identifier: Apache-2.0

// Compiled by: pauseless compile
#include <core.p4>
#include <v1model.p4>
header h_t { bit<32> a; bit<8> m; }
struct headers { h_t h; }
struct meta_t { }
parser P(packet_in p, out headers hdr, inout meta_t m, inout standard_metadata_t s) { state start { p.extract(hdr.h); transition accept; } }
control C(inout headers hdr, inout meta_t m) { apply { } }
control E(inout headers hdr, inout meta_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.h); } }
control I(inout headers hdr, inout meta_t m, inout standard_metadata_t s) {
    action mark(bit<8> v) { hdr.h.m = v; }
    table exact_ { key = { hdr.h.a : exact; } actions = { mark; NoAction; } size = 40000; }
    table lpm_ { key = { hdr.h.a : lpm; } actions = { mark; NoAction; } size = 40000; }
    table ternary_ { key = { hdr.h.a : ternary; } actions = { mark; NoAction; } size = 40000; }
    apply { exact_.apply(); lpm_.apply(); ternary_.apply(); }
}
V1Switch(P(), C(), I(), E(), C(), D()) main;
