// SPDX-License-Identifier: Apache-2.0

// v1model's metadata of queues and time, written into the packet.
#include <core.p4>
#include <v1model.p4>

header report_t {
    bit<8>  queue;      // in: which one to wait in
    bit<8>  port;       // in: which one to leave by
    bit<32> enq_time;
    bit<32> enq_depth;
    bit<32> deq_delta;
    bit<32> deq_depth;
    bit<48> in_time;
    bit<48> out_time;
    bit<32> len;
}

struct headers_t {
    report_t r;
}

struct meta_t {
    bit<48> in_time;
}

#include "empty.inc"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.r);
        transition accept;
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.priority = (bit<3>) hdr.r.queue;
        std.egress_spec = (bit<9>) hdr.r.port;
        if (hdr.r.port == 0xff) {
            std.egress_spec = 511;
        }
        meta.in_time = std.ingress_global_timestamp;
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.r.enq_time = std.enq_timestamp;
        hdr.r.enq_depth = (bit<32>) std.enq_qdepth;
        hdr.r.deq_delta = std.deq_timedelta;
        hdr.r.deq_depth = (bit<32>) std.deq_qdepth;
        hdr.r.in_time = meta.in_time;
        hdr.r.out_time = std.egress_global_timestamp;
        hdr.r.len = std.packet_length;
    }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.r);
    }
}

V1Switch(P(), NoVerify(), In(), Out(), NoUpdate(), Deparse()) main;
