// SPDX-License-Identifier: Apache-2.0

// Match kinds, priorities, constant and default entries, counters of tables.
#include <core.p4>
#include <v1model.p4>

header query_t {
    bit<8>  table_number;
    bit<32> a;
    bit<16> b;
    bit<16> answer;
}

header wide_t {
    bit<128> address;
}

struct headers_t {
    query_t q;
    wide_t  wide;
}

struct meta_t { }

#include "empty.inc"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.q);
        transition select(hdr.q.table_number) {
            6 .. 7:  wide;
            default: accept;
        }
    }
    state wide {
        pkt.extract(hdr.wide);
        transition accept;
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets_and_bytes) hits;

    action answer(bit<16> x) {
        hdr.q.answer = x;
    }
    action count_answer(bit<16> x) {
        hits.count();
        hdr.q.answer = x;
    }
    action drop() {
        mark_to_drop(std);
    }

    table exact_table {
        key = { hdr.q.a : exact; hdr.q.b : exact; }
        actions = { count_answer; drop; NoAction; }
        default_action = NoAction();
        counters = hits;
    }
    table lpm_table {
        key = { hdr.q.a : lpm; }
        actions = { answer; drop; }
        default_action = answer(0xffff);
    }
    table hit_table {
        key = { hdr.q.a : exact; }
        actions = { answer; }
        default_action = answer(0);
    }
    table run_table {
        key = { hdr.q.b : exact; }
        actions = { answer; drop; NoAction; }
        default_action = NoAction();
    }
    table ternary_table {
        key = { hdr.q.a : ternary; hdr.q.b : ternary; }
        actions = { answer; NoAction; }
        default_action = NoAction();
    }
    table range_table {
        key = { hdr.q.b : range; hdr.q.a : exact; }
        actions = { answer; NoAction; }
        default_action = NoAction();
    }
    table const_table {
        key = { hdr.q.a : ternary; hdr.q.b : range; }
        actions = { answer; }
        const default_action = answer(0xdead);
        const entries = {
            (0x10 &&& 0xf0, 5 .. 9): answer(1);
            (0x11,          _):      answer(2);
            (_,             7):      answer(3);
        }
    }
    table wide_lpm {
        key = { hdr.wide.address : lpm; }
        actions = { answer; }
        default_action = answer(0);
    }
    table wide_ternary {
        key = { hdr.wide.address : ternary; hdr.wide.isValid() : exact; }
        actions = { answer; }
        default_action = answer(0);
    }
    table no_key {
        actions = { answer; }
        default_action = answer(0);
    }

    apply {
        std.egress_spec = 2;
        if (hdr.q.table_number == 1) {
            exact_table.apply();
        } else if (hdr.q.table_number == 2) {
            lpm_table.apply();
        } else if (hdr.q.table_number == 3) {
            ternary_table.apply();
        } else if (hdr.q.table_number == 4) {
            range_table.apply();
        } else if (hdr.q.table_number == 5) {
            const_table.apply();
        } else if (hdr.q.table_number == 6) {
            wide_lpm.apply();
        } else if (hdr.q.table_number == 7) {
            wide_ternary.apply();
        } else if (hdr.q.table_number == 8) {
            no_key.apply();
        } else if (hdr.q.table_number == 9) {
            if (hit_table.apply().hit) {
                hdr.q.b = 1;
            } else {
                hdr.q.b = 2;
            }
        } else if (hdr.q.table_number == 10) {
            switch (run_table.apply().action_run) {
                answer: { hdr.q.a = 0xaaaaaaaa; }
                drop: { std.egress_spec = 3; }
                default: { hdr.q.a = 0xdddddddd; }
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
        pkt.emit(hdr.wide);
    }
}

V1Switch(P(), NoVerify(), In(), Out(), NoUpdate(), Deparse()) main;
