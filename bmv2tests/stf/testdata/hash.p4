// SPDX-License-Identifier: Apache-2.0

// Every hash algorithm of v1model over the nine bytes of the check value in CRC
// catalogues, and the reduction of a hash to a range.
#include <core.p4>
#include <v1model.p4>

header query_t {
    bit<8>  algorithm;
    bit<32> base;
    bit<32> most;
    bit<64> answer;
    bit<72> text;
}

struct headers_t {
    query_t q;
}

struct meta_t { }

#include "empty.inc"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.q);
        transition accept;
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        bit<64> h = 0;
        if (hdr.q.algorithm == 1) {
            hash(h, HashAlgorithm.crc32, hdr.q.base, { hdr.q.text }, hdr.q.most);
        } else if (hdr.q.algorithm == 2) {
            hash(h, HashAlgorithm.crc32_custom, hdr.q.base, { hdr.q.text }, hdr.q.most);
        } else if (hdr.q.algorithm == 3) {
            hash(h, HashAlgorithm.crc16, hdr.q.base, { hdr.q.text }, hdr.q.most);
        } else if (hdr.q.algorithm == 4) {
            hash(h, HashAlgorithm.crc16_custom, hdr.q.base, { hdr.q.text }, hdr.q.most);
        } else if (hdr.q.algorithm == 5) {
            hash(h, HashAlgorithm.identity, hdr.q.base, { hdr.q.text[31:0] }, hdr.q.most);
        } else if (hdr.q.algorithm == 6) {
            hash(h, HashAlgorithm.csum16, hdr.q.base, { hdr.q.text }, hdr.q.most);
        } else if (hdr.q.algorithm == 7) {
            hash(h, HashAlgorithm.xor16, hdr.q.base, { hdr.q.text }, hdr.q.most);
        }
        hdr.q.answer = h;
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.q);
    }
}

V1Switch(P(), NoVerify(), In(), Out(), NoUpdate(), Deparse()) main;
