// SPDX-License-Identifier: Apache-2.0
// Name: what a controller can see of a program for Tofino
#include <core.p4>
#include <tna.p4>
header h_t { bit<8> a; bit<8> b; bit<16> c; bit<32> d; }
struct headers_t { h_t h; }
struct metadata_t { bit<32> x; bit<32> y; bit<1> z; }
struct pair_t { bit<32> lo; bit<32> hi; }
struct bytes_t { bit<8> first; bit<8> second; }
struct fault_t { bit<8> a; bit<32> x; }

parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        meta.x = 0;
        meta.y = 0;
        meta.z = 0;
        packet.extract(hdr.h);
        transition accept;
    }
}

control Inner(inout headers_t hdr, inout metadata_t meta) {
    @name(".named") @unit("bytes")
    Register<bit<32>, bit<8>>(256, 1) reg;
    RegisterAction<bit<32>, bit<8>, bit<32>>(reg) count = {
        void apply(inout bit<32> v, out bit<32> rv) { v = v + 1; rv = v; }
    };
    Register<bytes_t, bit<8>>(64, { 1, 2 }) bytes;
    RegisterAction<bytes_t, bit<8>, bit<8>>(bytes) swap = {
        void apply(inout bytes_t v, out bit<8> rv) { rv = v.first; v.second = hdr.h.b; }
    };
    Counter<bit<32>, PortId_t>(512, CounterType_t.PACKETS_AND_BYTES) packets;
    DirectCounter<bit<32>>(CounterType_t.PACKETS) hits;
    ActionProfile(32) profile;
    action set(bit<32> x, bit<1> z) {
        hits.count();
        meta.x = x;
        meta.z = z;
    }
    @name(".other")
    action other(@name("number") bit<16> n) {
        hits.count();
        hdr.h.c = n;
    }
    action shared(bit<8> b) { hdr.h.b = b; }
    table u {
        key = { hdr.h.d : exact; }
        actions = { shared; }
        size = 64;
        implementation = profile;
    }
    table t {
        key = { hdr.h.a : exact; hdr.h.c : ternary @name("c"); hdr.h.b : range @name("b"); }
        actions = { set; @tableonly other; @defaultonly NoAction; }
        const default_action = NoAction();
        counters = hits;
    }
    apply {
        t.apply();
        u.apply();
        packets.count((bit<9>) hdr.h.a);
        meta.y = count.execute(hdr.h.a);
        hdr.h.b = swap.execute(hdr.h.a);
    }
}

control Ingress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
                inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm) {
    Inner() inner;
    action send(PortId_t port) { ig_intr_md_for_tm.ucast_egress_port = port; }
    @name(".ports")
    table ports {
        key = { hdr.h.d : lpm; }
        actions = { send; NoAction; }
        size = 128;
    }
    apply {
        inner.apply(hdr, meta);
        ports.apply();
        ig_intr_md_for_dprsr.digest_type = 1;
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr) {
    Digest<fault_t>() fault;
    apply {
        if (ig_intr_md_for_dprsr.digest_type == 1) {
            fault.pack({ hdr.h.a, meta.y });
        }
        packet.emit(hdr);
    }
}

parser EgressParser(packet_in packet, out headers_t hdr, out metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        meta.x = 0;
        meta.y = 0;
        meta.z = 0;
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
               inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
               inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport) { apply { } }

control EgressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta) { apply { packet.emit(hdr); } }

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
