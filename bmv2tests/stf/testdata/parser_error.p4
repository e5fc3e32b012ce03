// SPDX-License-Identifier: Apache-2.0

// Each error of a parser: its number in BMv2, and the headers extracted before
// it.
#include <core.p4>
#include <v1model.p4>

error {
    FirstOfOurs,
    SecondOfOurs
}

header report_t {
    bit<8> error_number;
    bit<8> valid;
}

header kind_t {
    bit<8> kind;
}

header four_t {
    bit<32> value;
}

header option_t {
    bit<8>     size;
    varbit<32> data;
}

struct headers_t {
    report_t  report;
    kind_t    kind;
    four_t    four;
    four_t[2] stack;
    option_t  option;
}

struct meta_t { }

#include "empty.inc"

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            0: accept;
            1: short;
            2: overflow;
            3: no_match;
            4: custom;
            5: long_option;
            6: reject;
            7: advance;
            8: look;
        }
    }
    state short {
        pkt.extract(hdr.four);
        transition accept;
    }
    state overflow {
        pkt.extract(hdr.stack.next);
        transition overflow;
    }
    state no_match {
        pkt.extract(hdr.four);
        transition select(hdr.four.value) {
            0: accept;
        }
    }
    state custom {
        pkt.extract(hdr.four);
        verify(hdr.four.value != 1, error.FirstOfOurs);
        verify(hdr.four.value != 2, error.SecondOfOurs);
        verify(hdr.four.value == 0, error.NoMatch);
        transition accept;
    }
    state long_option {
        bit<8> size = pkt.lookahead<bit<8>>();
        pkt.extract(hdr.option, (bit<32>) size * 8);
        transition accept;
    }
    state advance {
        pkt.advance(32);
        pkt.extract(hdr.four);
        transition accept;
    }
    state look {
        bit<64> ahead = pkt.lookahead<bit<64>>();
        transition select(ahead) {
            0:       accept;
            default: accept;
        }
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.report.setValid();
        hdr.report.error_number = 0xee;
        if (std.parser_error == error.NoError) {
            hdr.report.error_number = 0;
        } else if (std.parser_error == error.PacketTooShort) {
            hdr.report.error_number = 1;
        } else if (std.parser_error == error.NoMatch) {
            hdr.report.error_number = 2;
        } else if (std.parser_error == error.StackOutOfBounds) {
            hdr.report.error_number = 3;
        } else if (std.parser_error == error.HeaderTooShort) {
            hdr.report.error_number = 4;
        } else if (std.parser_error == error.FirstOfOurs) {
            hdr.report.error_number = 0x11;
        } else if (std.parser_error == error.SecondOfOurs) {
            hdr.report.error_number = 0x12;
        }
        hdr.report.valid = 0;
        if (hdr.kind.isValid()) {
            hdr.report.valid = hdr.report.valid | 1;
        }
        if (hdr.four.isValid()) {
            hdr.report.valid = hdr.report.valid | 2;
        }
        if (hdr.stack[0].isValid()) {
            hdr.report.valid = hdr.report.valid | 4;
        }
        if (hdr.stack[1].isValid()) {
            hdr.report.valid = hdr.report.valid | 8;
        }
        if (hdr.option.isValid()) {
            hdr.report.valid = hdr.report.valid | 16;
        }
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.report);
        pkt.emit(hdr.kind);
        pkt.emit(hdr.four);
        pkt.emit(hdr.stack);
        pkt.emit(hdr.option);
    }
}

V1Switch(P(), NoVerify(), In(), Out(), NoUpdate(), Deparse()) main;
