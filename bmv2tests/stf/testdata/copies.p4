// SPDX-License-Identifier: Apache-2.0

// Resubmit, recirculate, clones of both kinds with field lists, multicast,
// truncation, dropped packets: everything that creates or removes packets.
#include <core.p4>
#include <v1model.p4>

header tag_t {
    bit<8>  op;
    bit<8>  instance;  // standard_metadata.instance_type in egress
    bit<8>  kept;
    bit<8>  lost;
    bit<16> rid;
    bit<16> port;      // ingress_port
    bit<16> len;       // packet_length in egress
}

struct headers_t {
    tag_t t;
}

struct meta_t {
    @field_list(1, 2)
    bit<8> kept;
    bit<8> lost;
    @field_list(2)
    bit<8> rounds;
}

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
        meta.rounds = meta.rounds + 1;
        if (hdr.t.op == 1) {                        // resubmit, once, with fields
            if (std.instance_type == 0) {
                meta.kept = 0x11;
                meta.lost = 0x22;
                hdr.t.rid = 0xffff;                 // headers are as they came
                resubmit_preserving_field_list(1);
            }
        } else if (hdr.t.op == 2) {                 // clone of what came in
            meta.kept = 0x33;
            meta.lost = 0x44;
            hdr.t.rid = 0xeeee;                     // the clone has it not
            clone_preserving_field_list(CloneType.I2E, 5, 1);
        } else if (hdr.t.op == 3) {                 // … without fields
            meta.kept = 0x55;
            clone(CloneType.I2E, 5);
        } else if (hdr.t.op == 4 || hdr.t.op == 10) { // multicast
            std.mcast_grp = 7;
            meta.kept = 0x66;
        } else if (hdr.t.op == 5) {                 // dropped, but not its clone
            clone(CloneType.I2E, 5);
            mark_to_drop(std);
        } else if (hdr.t.op == 6) {                 // recirculated three times
            meta.kept = meta.kept + 1;
            meta.lost = meta.lost + 1;
        } else if (hdr.t.op == 9) {
            clone(CloneType.I2E, 99);               // no such session
        } else if (hdr.t.op == 11) {
            std.mcast_grp = 8;                      // no such group
        } else if (hdr.t.op == 12) {
            clone(CloneType.I2E, 6);                // a session with a group
        } else if (hdr.t.op == 14) {                // the last of two clones counts
            clone(CloneType.I2E, 99);
            clone(CloneType.I2E, 5);
        } else if (hdr.t.op == 15) {                // drop, then change of mind
            mark_to_drop(std);
            std.egress_spec = 3;
        } else if (hdr.t.op == 16) {
            std.egress_spec = 3;
            exit;
        }
        if (hdr.t.op == 16) {
            std.egress_spec = 2;                    // not reached: exit
        }
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.t.instance = (bit<8>) std.instance_type;
        hdr.t.kept = meta.kept;
        hdr.t.lost = meta.lost;
        hdr.t.port = (bit<16>) std.ingress_port;
        hdr.t.len = (bit<16>) std.packet_length;
        if (std.instance_type == 5) {
            hdr.t.rid = std.egress_rid;
        }
        if (hdr.t.op == 6 && meta.rounds < 3) {
            recirculate_preserving_field_list(2);
        } else if (hdr.t.op == 7 && std.instance_type == 0) {
            meta.kept = 0x77;                       // clone of what leaves
            hdr.t.rid = 0xdddd;
            clone_preserving_field_list(CloneType.E2E, 5, 1);
        } else if (hdr.t.op == 8) {
            truncate(12);
        } else if (hdr.t.op == 10 && std.egress_rid == 2) {
            mark_to_drop(std);                      // one copy of several
        } else if (hdr.t.op == 13 && std.instance_type == 0) {
            clone(CloneType.E2E, 5);
            mark_to_drop(std);
        }
    }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.t);
    }
}

V1Switch(P(), NoVerify(), In(), Out(), NoUpdate(), Deparse()) main;
