// SPDX-License-Identifier: Apache-2.0

// A program that copies packets and has them pass again as their first byte says, each
// time, so without end.
#include <core.p4>
#include <v1model.p4>

header flags_t {
    bit<1> unused;
    bit<1> digests;
    bit<1> recirculates;
    bit<1> clones_out;  // E2E
    bit<1> normal;      // nothing of the rest, for packets that are not to loop
    bit<1> replicates;
    bit<1> resubmits;
    bit<1> clones_in;   // I2E
}

struct headers_t { flags_t f; }
struct meta_t { bit<8> x; }

#include "empty.inc"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.f);
        transition accept;
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.f.clones_in == 1) {
            clone(CloneType.I2E, 1);
        }
        if (hdr.f.digests == 1) {
            digest<bit<8>>(1, meta.x);
        }
        if (hdr.f.replicates == 1) {
            std.mcast_grp = 1;
        }
        if (hdr.f.resubmits == 1) {
            resubmit_preserving_field_list(0);
        }
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.f.clones_out == 1) {
            clone(CloneType.E2E, 2);
        }
        if (hdr.f.recirculates == 1) {
            recirculate_preserving_field_list(0);
        }
    }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply { pkt.emit(hdr.f); }
}




V1Switch(P(), NoVerify(), In(), Out(), NoUpdate(), Deparse()) main;
