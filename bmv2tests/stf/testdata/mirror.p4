// SPDX-License-Identifier: Apache-2.0

// A header that only egress writes, and a clone of the sent packet.
#include <core.p4>
#include <v1model.p4>

header tag_t {
    bit<8> op;
    bit<8> seen;
}

struct headers_t {
    tag_t t;
}

struct meta_t { }

#include "empty.inc"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.t);
        transition accept;
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 0) {
            hdr.t.seen = 0x77;
            clone(CloneType.E2E, 5);
        }
    }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.t);
    }
}

V1Switch(P(), NoVerify(), In(), Out(), NoUpdate(), Deparse()) main;
