// SPDX-License-Identifier: Apache-2.0

// Operators whose meaning in P4 differs from most languages:
// saturation, wide shifts, signed comparison, slices, concatenation, casts.
#include <core.p4>
#include <v1model.p4>

header query_t {
    bit<8>  op;
    bit<32> x;
    bit<32> y;
    bit<32> z;
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
        bit<32> x = hdr.q.x;
        bit<32> y = hdr.q.y;
        int<32> sx = (int<32>) hdr.q.x;
        int<32> sy = (int<32>) hdr.q.y;
        if (hdr.q.op == 0x00) {
            hdr.q.z = x + y;
        } else if (hdr.q.op == 0x01) {
            hdr.q.z = x - y;
        } else if (hdr.q.op == 0x02) {
            hdr.q.z = x * y;
        } else if (hdr.q.op == 0x03) {
            hdr.q.z = x |+| y;
        } else if (hdr.q.op == 0x04) {
            hdr.q.z = x |-| y;
        } else if (hdr.q.op == 0x05) {
            hdr.q.z = (bit<32>) (sx |+| sy);
        } else if (hdr.q.op == 0x06) {
            hdr.q.z = (bit<32>) (sx |-| sy);
        } else if (hdr.q.op == 0x07) {
            hdr.q.z = x << y[7:0];
        } else if (hdr.q.op == 0x08) {
            hdr.q.z = x >> y[7:0];
        } else if (hdr.q.op == 0x09) {
            hdr.q.z = (bit<32>) (sx >> y[7:0]);
        } else if (hdr.q.op == 0x0a) {
            hdr.q.z = 0;
            if (x < y) {
                hdr.q.z = hdr.q.z | 1;
            }
            if (sx < sy) {
                hdr.q.z = hdr.q.z | 2;
            }
            if (sx <= sy) {
                hdr.q.z = hdr.q.z | 4;
            }
            if (x >= y) {
                hdr.q.z = hdr.q.z | 8;
            }
            if (sx > sy) {
                hdr.q.z = hdr.q.z | 16;
            }
        } else if (hdr.q.op == 0x0b) {
            hdr.q.z = x[11:4] ++ y[31:16] ++ x[7:0];
        } else if (hdr.q.op == 0x0c) {
            hdr.q.z[15:8] = x[7:0];
        } else if (hdr.q.op == 0x0d) {
            hdr.q.z = (bit<32>) (int<32>) (int<8>) x[7:0];
        } else if (hdr.q.op == 0x0e) {
            hdr.q.z = ~x;
        } else if (hdr.q.op == 0x0f) {
            hdr.q.z = (bit<32>) -sx;
        } else if (hdr.q.op == 0x10) {
            bit<128> wide = (bit<128>) x << 90;
            wide = wide + ((bit<128>) y << 80);
            hdr.q.z = wide[121:90];
        } else if (hdr.q.op == 0x11) {
            hdr.q.z = (bit<32>) (x[3:0] |+| y[3:0]);
        } else if (hdr.q.op == 0x12) {
            hdr.q.z = (x == y ? 32w7 : 32w9);
        } else if (hdr.q.op == 0x13) {
            hdr.q.z = (x ^ y) & 0xffff0000 | (x & y);
        }
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
