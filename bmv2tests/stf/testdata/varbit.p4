// SPDX-License-Identifier: Apache-2.0

// Variable-length fields: extracted, copied, compared, part of a checksum.
#include <core.p4>
#include <v1model.p4>

header command_t {
    bit<8> op;
    bit<8> answer;
}

header option_t {
    bit<8>     size;
    varbit<64> data;
    bit<16>    sum;
}

struct headers_t {
    command_t command;
    option_t  a;
    option_t  b;
}

struct meta_t { }

#include "empty.inc"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.command);
        bit<8> n = pkt.lookahead<bit<8>>();
        pkt.extract(hdr.a, (bit<32>) n << 3);
        bit<8> m = pkt.lookahead<bit<8>>();
        pkt.extract(hdr.b, (bit<32>) m << 3);
        transition accept;
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.command.op == 1) {
            hdr.a = hdr.b;
        } else if (hdr.command.op == 2) {
            hdr.a.data = hdr.b.data;
        } else if (hdr.command.op == 3) {
            hdr.a.setInvalid();
        } else if (hdr.command.op == 4) {
            hdr.command.answer = 0;
            if (hdr.a == hdr.b) {
                hdr.command.answer = 1;
            }
        }
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control Sum(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.a.isValid(), { hdr.a.size, hdr.a.data, 8w0 }, hdr.a.sum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.command);
        pkt.emit(hdr.a);
        pkt.emit(hdr.b);
    }
}

V1Switch(P(), NoVerify(), In(), Out(), Sum(), Deparse()) main;
