// SPDX-License-Identifier: Apache-2.0

// A program that copies packets and has them pass again as their first byte says, each
// time, so without end. Copies begin with that byte, too.

#include <core.p4>
#include <tna.p4>

header flags_t {
    bit<2> unused;
    bit<1> recirculates;
    bit<1> mirrors_out;
    bit<1> to_cpu;
    bit<1> replicates;
    bit<1> resubmits;
    bit<1> mirrors_in;
}

header arrival_t { bit<64> data; }

header resubmit_t { bit<64> data; }

struct headers_t { flags_t f; }

struct metadata_t { bit<10> session; bit<64> data; }

parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t intrinsic) {
    arrival_t arrival;
    state start {
        meta.session = 1;
        meta.data = 0;
        packet.extract(intrinsic);
        packet.extract(arrival);
        packet.extract(hdr.f);
        transition accept;
    }
}

control Ingress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t parsed, inout ingress_intrinsic_metadata_for_deparser_t deparser,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    apply {
        tm.ucast_egress_port = 2;
        if (hdr.f.recirculates == 1) {
            tm.ucast_egress_port = 68;
        }
        if (hdr.f.mirrors_in == 1) {
            deparser.mirror_type = 1;
        }
        if (hdr.f.resubmits == 1) {
            deparser.resubmit_type = 1;
        }
        if (hdr.f.replicates == 1) {
            tm.mcast_grp_a = 1;
        }
        if (hdr.f.to_cpu == 1) {
            tm.copy_to_cpu = 1;
        }
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t deparser) {
    Mirror() mirror;
    Resubmit() resubmit;
    apply {
        if (deparser.mirror_type == 1) {
            mirror.emit<flags_t>(meta.session, {0, hdr.f.recirculates, hdr.f.mirrors_out, hdr.f.to_cpu, hdr.f.replicates, hdr.f.resubmits, hdr.f.mirrors_in});
        }
        if (deparser.resubmit_type == 1) {
            resubmit.emit<resubmit_t>({meta.data});
        }
        packet.emit(hdr);
    }
}

parser EgressParser(packet_in packet, out headers_t hdr, out metadata_t meta, out egress_intrinsic_metadata_t intrinsic) {
    state start {
        meta.session = 2;
        packet.extract(intrinsic);
        packet.extract(hdr.f);
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
               in egress_intrinsic_metadata_from_parser_t parsed, inout egress_intrinsic_metadata_for_deparser_t deparser,
               inout egress_intrinsic_metadata_for_output_port_t output) {
    apply {
        if (hdr.f.mirrors_out == 1) {
            deparser.mirror_type = 1;
        }
    }
}

control EgressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t deparser) {
    Mirror() mirror;
    apply {
        if (deparser.mirror_type == 1) {
            mirror.emit<flags_t>(meta.session, {0, hdr.f.recirculates, hdr.f.mirrors_out, hdr.f.to_cpu, hdr.f.replicates, hdr.f.resubmits, hdr.f.mirrors_in});
        }
        packet.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;
