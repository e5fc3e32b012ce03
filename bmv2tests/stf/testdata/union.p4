// SPDX-License-Identifier: Apache-2.0

// Header unions and stacks of them: at most one member is valid.
#include <core.p4>
#include <v1model.p4>

header command_t {
    bit<8> op;
    bit<8> answer;
}

header short_t {
    bit<8> kind;
    bit<8> value;
}

header long_t {
    bit<8>  kind;
    bit<24> value;
}

header_union option_t {
    short_t s;
    long_t  l;
}

struct headers_t {
    command_t   command;
    option_t    first;
    option_t    second;
    option_t[2] rest;
}

struct meta_t { }

#include "empty.inc"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.command);
        transition select(pkt.lookahead<bit<8>>()) {
            0: short;
            1: long;
        }
    }
    state short {
        pkt.extract(hdr.first.s);
        transition more;
    }
    state long {
        pkt.extract(hdr.first.l);
        transition more;
    }
    state more {
        transition select(pkt.lookahead<bit<8>>()) {
            0: more_short;
            1: more_long;
            2: accept;
        }
    }
    state more_short {
        pkt.extract(hdr.rest.next.s);
        transition more;
    }
    state more_long {
        pkt.extract(hdr.rest.next.l);
        transition more;
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.command.answer = 0;
        if (std.parser_error != error.NoError) {
            hdr.command.answer = 0xff;
        }
        if (hdr.command.op == 1) {
            hdr.first.l.setValid();
            hdr.first.l.kind = 1;
            hdr.first.l.value = 0xabcdef;
        } else if (hdr.command.op == 2) {
            hdr.first.s.setValid();
            hdr.first.s.kind = 0;
            hdr.first.s.value = 0x77;
        } else if (hdr.command.op == 3) {
            hdr.first.s.setInvalid();
            hdr.first.l.setInvalid();
        } else if (hdr.command.op == 4) {
            hdr.second = hdr.first;
        } else if (hdr.command.op == 5) {
            if (hdr.first.isValid()) {
                hdr.command.answer = hdr.command.answer | 1;
            }
            if (hdr.first.s.isValid()) {
                hdr.command.answer = hdr.command.answer | 2;
            }
            if (hdr.first.l.isValid()) {
                hdr.command.answer = hdr.command.answer | 4;
            }
            if (hdr.second.isValid()) {
                hdr.command.answer = hdr.command.answer | 8;
            }
        } else if (hdr.command.op == 6) {
            hdr.rest.pop_front(1);
        } else if (hdr.command.op == 7) {
            hdr.rest[1].l.setValid();
            hdr.rest[1].l.kind = 1;
            hdr.rest[1].l.value = 0x123456;
        }
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.command);
        pkt.emit(hdr.first);
        pkt.emit(hdr.second);
        pkt.emit(hdr.rest);
    }
}

V1Switch(P(), NoVerify(), In(), Out(), NoUpdate(), Deparse()) main;
