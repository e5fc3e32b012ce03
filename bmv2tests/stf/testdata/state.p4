// SPDX-License-Identifier: Apache-2.0

// State that persists between packets: registers of several widths, counters,
// meters, random numbers.
#include <core.p4>
#include <v1model.p4>

header query_t {
    bit<8>   op;
    bit<32>  index;
    bit<160> value;
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
    register<bit<1>>(4) flags;
    register<bit<48>>(4) times;
    register<bit<160>>(4) wide;
    register<int<16>>(4) signed_ones;
    counter(4, CounterType.packets) by_packets;
    counter(4, CounterType.bytes) by_bytes;
    counter(4, CounterType.packets_and_bytes) by_both;
    meter(4, MeterType.packets) police;

    apply {
        std.egress_spec = 2;
        by_packets.count(hdr.q.index);
        by_bytes.count(hdr.q.index);
        by_both.count(hdr.q.index);
        bit<1> flag = 1;
        bit<48> time = 0x111111;
        int<16> number = 5;
        bit<2> colour = 3;
        bit<8> drawn = 0;
        if (hdr.q.op == 1) {
            flags.write(hdr.q.index, (bit<1>) hdr.q.value);
        } else if (hdr.q.op == 2) {
            flags.read(flag, hdr.q.index);
            hdr.q.value = (bit<160>) flag;
        } else if (hdr.q.op == 3) {
            times.write(hdr.q.index, (bit<48>) hdr.q.value);
        } else if (hdr.q.op == 4) {
            times.read(time, hdr.q.index);
            hdr.q.value = (bit<160>) time;
        } else if (hdr.q.op == 5) {
            wide.write(hdr.q.index, hdr.q.value + 1);
        } else if (hdr.q.op == 6) {
            wide.read(hdr.q.value, hdr.q.index);
        } else if (hdr.q.op == 7) {
            signed_ones.write(hdr.q.index, (int<16>) (bit<16>) hdr.q.value);
        } else if (hdr.q.op == 8) {
            signed_ones.read(number, hdr.q.index);
            if (number < 0) {
                hdr.q.value = 1;
            } else {
                hdr.q.value = 0;
            }
        } else if (hdr.q.op == 9) {
            police.execute_meter(hdr.q.index, colour);
            hdr.q.value = (bit<160>) colour;
        } else if (hdr.q.op == 10) {
            random(drawn, 5, 7);
            hdr.q.value = 1;
            if (drawn < 5 || drawn > 7) {
                hdr.q.value = 0;
            }
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
