// SPDX-License-Identifier: Apache-2.0

// log_msg, assert and assume.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8>  a;
    int<8>  b;
    bit<72> c;
}

struct headers_t {
    h_t h;
}

struct meta_t { }

#include "empty.inc"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.h);
        transition accept;
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        log_msg("plain");
        log_msg("a={} b={} c={} valid={}", { hdr.h.a, hdr.h.b, hdr.h.c, hdr.h.isValid() });
        assert(hdr.h.a < 10);
        assume(hdr.h.b != 1);
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.h);
    }
}

V1Switch(P(), NoVerify(), In(), Out(), NoUpdate(), Deparse()) main;
