// SPDX-License-Identifier: Apache-2.0

// A program whose packets execute register actions and carry the results.

#include <core.p4>
#include <tna.p4>

header ask_t {
    bit<8>  op;
    bit<8>  index;
    bit<32> a;
    bit<32> b;
    bit<32> ingress_out;
    bit<32> egress_out; // of the same in egress
}

struct headers_t {
    ask_t ask;
}

struct metadata_t {
}

struct pair_t {
    bit<32> first;
    bit<32> second;
}

parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.ask);
        transition accept;
    }
}

control Ask(in ask_t ask, inout bit<32> result) {
    @name("up") Register<bit<8>, bit<4>>(8, 250) up;
    RegisterAction<bit<8>, bit<4>, bit<8>>(up) add = {
        void apply(inout bit<8> value, out bit<8> rv) {
            value = value |+| ask.a[7:0];
            rv = value;
        }
    };

    @name("down") Register<bit<8>, bit<4>>(8, 5) down;
    RegisterAction<bit<8>, bit<4>, bit<8>>(down) subtract = {
        void apply(inout bit<8> value, out bit<8> rv) {
            rv = value;
            value = value |-| ask.a[7:0];
        }
    };

    @name("most") Register<int<32>, bit<4>>(8, 0) most;
    RegisterAction<int<32>, bit<4>, int<32>>(most) signed_maximum = {
        void apply(inout int<32> value, out int<32> rv) {
            if (value < (int<32>) ask.a) {
                value = (int<32>) ask.a;
            }
            rv = value;
        }
    };

    @name("most_u") Register<bit<32>, bit<4>>(8, 0) most_u;
    RegisterAction<bit<32>, bit<4>, bit<32>>(most_u) unsigned_maximum = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value < ask.a) {
                value = ask.a;
            }
            rv = value;
        }
    };

    @name("pair") Register<pair_t, bit<4>>(8, { 7, 9 }) pair;
    RegisterAction<pair_t, bit<4>, bit<32>>(pair) keep_smaller = {
        void apply(inout pair_t value, out bit<32> rv) {
            rv = value.second;
            if (ask.a < value.first) {
                value.first = ask.a;
                value.second = ask.b;
            }
        }
    };
    RegisterAction<pair_t, bit<4>, bit<32>>(pair) first_of_pair = {
        void apply(inout pair_t value, out bit<32> rv) {
            rv = value.first;
        }
    };

    apply {
        if (ask.op == 1) {
            result = (bit<32>) add.execute(ask.index[3:0]);
        } else if (ask.op == 2) {
            result = (bit<32>) subtract.execute(ask.index[3:0]);
        } else if (ask.op == 3) {
            result = (bit<32>) signed_maximum.execute(ask.index[3:0]);
        } else if (ask.op == 4) {
            result = unsigned_maximum.execute(ask.index[3:0]);
        } else if (ask.op == 5) {
            result = keep_smaller.execute(ask.index[3:0]);
        } else if (ask.op == 6) {
            result = first_of_pair.execute(ask.index[3:0]);
        }
    }
}

control Ingress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t parsed, inout ingress_intrinsic_metadata_for_deparser_t deparser,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    Ask() ask;

    apply {
        ask.apply(hdr.ask, hdr.ask.ingress_out);
        tm.ucast_egress_port = 2;
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta) {
    apply {
        packet.emit(hdr);
    }
}

parser EgressParser(packet_in packet, out headers_t hdr, out metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        packet.extract(hdr.ask);
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
               in egress_intrinsic_metadata_from_parser_t parsed, inout egress_intrinsic_metadata_for_deparser_t deparser,
               inout egress_intrinsic_metadata_for_output_port_t output) {
    Ask() ask;

    apply {
        if (hdr.ask.b == 99) {
            ask.apply(hdr.ask, hdr.ask.egress_out);
        }
    }
}

control EgressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta) {
    apply {
        packet.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;
