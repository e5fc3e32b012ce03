// SPDX-License-Identifier: Apache-2.0

// Header stacks: next, last, lastIndex, push, pop, size, a variable index.
#include <core.p4>
#include <v1model.p4>

header command_t {
    bit<8> op;
    bit<8> index;
    bit<8> answer;
}

header item_t {
    bit<7> value;
    bit<1> bottom;
}

struct headers_t {
    command_t command;
    item_t[4] items;
    item_t[4] others;
}

struct meta_t {
    bit<8> last_index;
    bit<8> last;
}

#include "empty.inc"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.command);
        transition items;
    }
    state items {
        pkt.extract(hdr.items.next);
        meta.last_index = (bit<8>) hdr.items.lastIndex;
        meta.last = (bit<8>) hdr.items.last.value;
        transition select(hdr.items.last.bottom) {
            0: items;
            1: accept;
        }
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.command.answer = 0;
        if (std.parser_error != error.NoError) {
            hdr.command.answer = 0xff;
        } else if (hdr.command.op == 1) {
            hdr.items.push_front(1);
            hdr.items[0].setValid();
            hdr.items[0].value = 0x7f;
            hdr.items[0].bottom = 0;
        } else if (hdr.command.op == 2) {
            hdr.items.push_front(2);
        } else if (hdr.command.op == 3) {
            hdr.items.push_front(4);
        } else if (hdr.command.op == 4) {
            hdr.items.pop_front(1);
        } else if (hdr.command.op == 5) {
            hdr.items.pop_front(3);
        } else if (hdr.command.op == 6) {
            hdr.items.pop_front(4);
        } else if (hdr.command.op == 7) {
            hdr.command.answer = (bit<8>) hdr.items[hdr.command.index].value;
        } else if (hdr.command.op == 8) {
            hdr.items[hdr.command.index].value = 0x55;
        } else if (hdr.command.op == 9) {
            hdr.items[hdr.command.index].setInvalid();
        } else if (hdr.command.op == 10) {
            hdr.others = hdr.items;
        } else if (hdr.command.op == 11) {
            hdr.items[0] = hdr.items[1];
        } else if (hdr.command.op == 12) {
            hdr.command.answer = meta.last_index;
        } else if (hdr.command.op == 13) {
            hdr.command.answer = meta.last;
        } else if (hdr.command.op == 14) {
            hdr.command.answer = (bit<8>) hdr.items.size;
        }
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.command);
        pkt.emit(hdr.items);
        pkt.emit(hdr.others);
    }
}

V1Switch(P(), NoVerify(), In(), Out(), NoUpdate(), Deparse()) main;
