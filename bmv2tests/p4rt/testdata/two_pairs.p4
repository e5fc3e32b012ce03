// SPDX-License-Identifier: Apache-2.0

// Two pairs of ports, and a table that other clients write to.
#include <v1model.p4>

header head_t {
    bit<48> dst;
    bit<48> src;
    bit<16> kind;
    bit<32> key;
}

struct headers_t {
    head_t head;
}

struct meta_t { }

parser parse(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        p.extract(hdr.head);
        transition accept;
    }
}

control verify_it(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control ingress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action to_port(bit<9> port) {
        std.egress_spec = port;
    }
    action nothing(bit<32> x) {
        hdr.head.key = x;
    }
    @name("forward")
    table forward {
        key = {
            std.ingress_port : exact @name("port");
        }
        actions = { to_port; NoAction; }
        default_action = NoAction();
        const entries = {
            1 : to_port(2);
            3 : to_port(4);
        }
    }
    @name("strangers")
    table strangers {
        key = {
            hdr.head.key : exact @name("key");
        }
        actions = { nothing; NoAction; }
        default_action = NoAction();
        size = 1048576;
    }
    @name("longest")
    table longest {
        key = {
            hdr.head.key : lpm @name("key");
        }
        actions = { nothing; NoAction; }
        default_action = NoAction();
        size = 1048576;
    }
    @name("masked")
    table masked {
        key = {
            hdr.head.key : ternary @name("key");
        }
        actions = { nothing; NoAction; }
        default_action = NoAction();
        size = 1048576;
    }
    apply {
        forward.apply();
        if (std.ingress_port == 1) {
            strangers.apply();
            longest.apply();
            masked.apply();
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
        p.emit(hdr.head);
    }
}

V1Switch(parse(), verify_it(), ingress(), egress(), compute(), emit()) main;
