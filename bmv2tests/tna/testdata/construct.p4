// SPDX-License-Identifier: Apache-2.0

// The frame of the tests of single constructs. A packet begins with the header
// h, which ingress changes and egress does not. It leaves by port 2. A test
// defines macros before this text: LOCALS and APPLY of ingress; PARSER, the locals
// of its parser, STATE, the end of the first state, and STATES; DEPARSE and SENT,
// the locals, of its deparser; TYPES.
#include <core.p4>
#include <tna.p4>

header h_t { bit<8> op; bit<32> x; bit<32> y; bit<16> z; bit<8> w; }
header g_t { bit<16> a; bit<16> b; }
struct headers_t { g_t first; h_t h; g_t g; }
struct metadata_t { bit<32> m; bit<16> n; bit<1> flag; bool sure; }
struct empty_t { }
struct pair_t { bit<32> lo; bit<32> hi; }
struct small_t { bit<8> one; bit<8> two; }

#ifndef TYPES
#define TYPES
#endif
#ifndef PARSER
#define PARSER
#endif
#ifndef STATES
#define STATES
#endif
#ifndef SENT
#define SENT
#endif
#ifndef LOCALS
#define LOCALS
#endif
#ifndef APPLY
#define APPLY
#endif
#ifndef STATE
#define STATE transition accept;
#endif
#ifndef DEPARSE
#define DEPARSE
#endif

TYPES

parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md) {
    PARSER
    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.h);
        meta.m = 0;
        meta.n = 0;
        meta.flag = 0;
        meta.sure = false;
        STATE
    }
    state more {
        packet.extract(hdr.g);
        transition accept;
    }
    STATES
}

control Ingress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t parsed,
                inout ingress_intrinsic_metadata_for_deparser_t deparser,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    LOCALS
    apply {
        tm.ucast_egress_port = 2;
        APPLY
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr) {
    Checksum() checksum;
    SENT
    apply {
        DEPARSE
        packet.emit(hdr);
    }
}

parser EgressParser(packet_in packet, out empty_t hdr, out empty_t meta, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        transition accept;
    }
}

control Egress(inout empty_t hdr, inout empty_t meta, in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
               inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
               inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport) {
    apply { }
}

control EgressDeparser(packet_out packet, inout empty_t hdr, in empty_t meta) { apply { } }

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
