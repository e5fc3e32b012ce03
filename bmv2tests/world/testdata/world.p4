// SPDX-License-Identifier: Apache-2.0

// A table kept by controllers, a table that is written in pairs, and a digest.
#include <v1model.p4>

header body_t {
    bit<16> key;
    bit<16> value;
}

struct headers_t {
    body_t body;
}

struct meta_t { }

struct news_t {
    bit<16> key;
}

parser parse(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        p.extract(hdr.body);
        transition accept;
    }
}

control verify_it(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control ingress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action put(bit<16> value) {
        hdr.body.value = value;
        std.egress_spec = 2;
    }
    @name("kept")
    table kept {
        key = {
            hdr.body.key : exact @name("key");
        }
        actions = { put; NoAction; }
        default_action = NoAction();
        size = 16;
    }
    @name("pair")
    table pair {
        key = {
            hdr.body.key : exact @name("key");
        }
        actions = { put; NoAction; }
        default_action = NoAction();
        size = 16;
    }
    apply {
        kept.apply();
        pair.apply();
        if (hdr.body.key >= 1000) {
            digest<news_t>(1, { hdr.body.key });
        }
    }
}

control egress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control compute(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control emit(packet_out p, in headers_t hdr) {
    apply {
        p.emit(hdr.body);
    }
}

V1Switch(parse(), verify_it(), ingress(), egress(), compute(), emit()) main;
