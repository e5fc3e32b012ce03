// SPDX-License-Identifier: Apache-2.0

// A program whose packets carry instructions, and leave with the metadata of egress,
// for tests of the parts of the Tofino Native Architecture
// around a program.

#include <core.p4>
#include <tna.p4>

// Values of the first byte that egress parses: a packet or a copy.
const bit<8> PACKET = 0;
const bit<8> COPY = 0xcc;

const bit<8> RESUBMIT = 1;
const bit<8> BYPASS = 2;
const bit<8> TO_CPU = 4;

header command_t {
    bit<16> port;        // 0x1ff: none
    bit<8>  qid;
    bit<8>  cos;
    bit<8>  in_drop;     // drop_ctl of ingress
    bit<8>  out_drop;    // and egress
    bit<16> in_session;  // mirror session, 0: none
    bit<16> out_session;
    bit<16> group;
    bit<8>  flags;
    bit<8>  note;        // changed by ingress and by egress
}

// Metadata of ingress for the packet.
header told_t {
    bit<8>  kind;
    bit<8>  resubmitted;
    bit<16> port;
    bit<48> arrived;
    bit<48> time;
    bit<64> brought; // in the resubmit header
}

header copy_t {
    bit<8>  kind;
    bit<3>  gress;
    bit<13> word;
    bit<8>  note;
}

header resubmit_t {
    bit<32> word;
    bit<8>  note;
    bit<24> rest;
}

header arrival_t {
    bit<64> brought;
}

// Time of egress.
header leave_t {
    bit<48> time;
}

struct headers_t {
    arrival_t arrival;
    told_t    told;
    copy_t    copy;
    leave_t   leave;
    command_t command;
}

// What copies begin with: constants there are none.
struct metadata_t {
    bit<10> session;
    bit<8>  kind;
    bit<3>  gress;
    bit<13> word;
    bit<32> brought;
}

parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t meta,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        packet.extract(hdr.arrival);
        meta.session = 0;
        transition select(ig_intr_md.ingress_port) {
            9w0x44 &&& 9w0x7c: recirculated;
            default: command;
        }
    }

    // A recirculated packet has already passed egress.
    state recirculated {
        packet.advance(27 * 8);
        transition select(packet.lookahead<bit<8>>()) {
            COPY: copied;
            default: told;
        }
    }

    state copied {
        packet.extract(hdr.copy);
        transition accept;
    }

    state told {
        packet.extract(hdr.told);
        packet.advance(48);
        transition command;
    }

    state command {
        packet.extract(hdr.command);
        transition accept;
    }
}

control Ingress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t parsed, inout ingress_intrinsic_metadata_for_deparser_t deparser,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    apply {
        if (hdr.copy.isValid()) {
            // A recirculated copy leaves by port 3.
            tm.ucast_egress_port = 3;
        } else {
            bool again = hdr.told.isValid();
            hdr.told.setValid();
            hdr.told.kind = PACKET;
            hdr.told.resubmitted = (bit<8>) intrinsic.resubmit_flag;
            hdr.told.port = (bit<16>) intrinsic.ingress_port;
            hdr.told.arrived = intrinsic.ingress_mac_tstamp;
            hdr.told.time = parsed.global_tstamp;
            hdr.told.brought = hdr.arrival.brought;
            hdr.command.note = hdr.command.note + 1;
            tm.qid = (bit<5>) hdr.command.qid;
            tm.ingress_cos = (bit<3>) hdr.command.cos;
            if (again) {
                tm.ucast_egress_port = 3;
            } else if (hdr.command.port != 0x1ff) {
                tm.ucast_egress_port = (bit<9>) hdr.command.port;
            }
            tm.mcast_grp_a = hdr.command.group;
            if (hdr.command.flags & BYPASS != 0) {
                tm.bypass_egress = 1;
            }
            if (hdr.command.flags & TO_CPU != 0) {
                tm.copy_to_cpu = 1;
            }
            deparser.drop_ctl = (bit<3>) hdr.command.in_drop;
            if (hdr.command.in_session != 0) {
                deparser.mirror_type = 1;
                meta.session = (bit<10>) hdr.command.in_session;
                meta.kind = COPY;
                meta.gress = 1;
                meta.word = 0x1234;
            }
            if (hdr.command.flags & RESUBMIT != 0) {
                deparser.resubmit_type = 2;
                meta.brought = 0xdeadbeef;
            }
        }
        hdr.arrival.setInvalid();
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr) {
    Mirror() mirror;
    Resubmit() resubmit;

    apply {
        if (ig_intr_md_for_dprsr.mirror_type == 1) {
            mirror.emit<copy_t>(meta.session, { meta.kind, meta.gress, meta.word, hdr.command.note });
        }
        if (ig_intr_md_for_dprsr.resubmit_type == 2) {
            resubmit.emit<resubmit_t>({ meta.brought, hdr.command.note, 0 });
        }
        packet.emit(hdr);
    }
}

struct egress_metadata_t {
    bit<10> session;
    bit<8>  kind;
    bit<3>  gress;
    bit<13> word;
}

parser EgressParser(packet_in packet, out headers_t hdr, out egress_metadata_t meta,
                    out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        meta.session = 0;
        transition select(packet.lookahead<bit<8>>()) {
            PACKET: told;
            default: accept;
        }
    }

    state told {
        packet.extract(hdr.told);
        packet.extract(hdr.command);
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
               in egress_intrinsic_metadata_from_parser_t parsed, inout egress_intrinsic_metadata_for_deparser_t deparser,
               inout egress_intrinsic_metadata_for_output_port_t output) {
    apply {
        if (hdr.told.isValid()) {
            hdr.leave.setValid();
            hdr.leave.time = parsed.global_tstamp;
            hdr.command.note = hdr.command.note + 16;
            deparser.drop_ctl = (bit<3>) hdr.command.out_drop;
            if (hdr.command.out_session != 0) {
                deparser.mirror_type = 1;
                meta.session = (bit<10>) hdr.command.out_session;
                meta.kind = COPY;
                meta.gress = 2;
                meta.word = 0x0567;
            }
        }
    }
}

control EgressDeparser(packet_out packet, inout headers_t hdr, in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr, in egress_intrinsic_metadata_t eg_intr_md) {
    Mirror() mirror;

    apply {
        if (eg_intr_md_for_dprsr.mirror_type == 1) {
            mirror.emit<copy_t>(meta.session, { meta.kind, meta.gress, meta.word, hdr.command.note });
        }
        packet.emit(eg_intr_md);
        packet.emit(hdr.told);
        packet.emit(hdr.leave);
        packet.emit(hdr.command);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;
