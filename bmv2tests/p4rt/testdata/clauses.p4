// SPDX-License-Identifier: Apache-2.0

// Every kind of P4Runtime entity, with one table or array for each rule. The
// first byte of a packet, kind, selects the objects that it passes. The last
// byte, mark, is the result.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

@controller_header("packet_in")
header packet_in_t {
    bit<16> ingress_port;
    bit<8>  reason;
}

@controller_header("packet_out")
header packet_out_t {
    bit<16> egress_port;
    bit<7>  _pad;
    bit<1>  process; // as a packet that came in by a port
}

header body_t {
    bit<8>  kind;
    bit<32> a;
    bit<16> b;
    bit<8>  c;
    bit<8>  mark;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    body_t       body;
}

struct meta_t {
    bit<8> in_set;
    bit<2> colour;
}

struct alert_t {
    bit<16> port;
    bit<32> a;
}

parser ParserImpl(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    @name("kinds")
    value_set<bit<8>>(2) kinds;

    state start {
        transition select(std.ingress_port) {
            CPU_PORT: packet_out;
            default:  body;
        }
    }
    state packet_out {
        pkt.extract(hdr.packet_out);
        transition body;
    }
    state body {
        pkt.extract(hdr.body);
        transition select(hdr.body.kind) {
            kinds:   in_set;
            default: accept;
        }
    }
    state in_set {
        meta.in_set = 1;
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control Ingress_(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    @name("hits")
    direct_counter(CounterType.packets_and_bytes) hits;
    @name("police")
    direct_meter<bit<2>>(MeterType.packets) police;
    @name("by_port")
    counter(4, CounterType.packets_and_bytes) by_port;
    @name("shared_police")
    meter(4, MeterType.packets) shared_police;
    @name("narrow")
    register<bit<48>>(4) narrow;
    @name("wide")
    register<bit<128>>(2) wide;
    @name("signed")
    register<int<16>>(2) signed_register;
    @name("profile")
    action_profile(4) profile;
    @name("selector")
    action_selector(HashAlgorithm.crc16, 8, 14) selector_;

    @name("mark")
    action mark(bit<8> value) {
        hdr.body.mark = value;
    }
    @name("mark_c")
    action mark_c(bit<8> value) {
        hdr.body.c = value;
    }
    @name("mark_and_count")
    action mark_and_count(bit<8> value) {
        hits.count();
        hdr.body.mark = value;
    }
    @name("mark_and_meter")
    action mark_and_meter(bit<8> value) {
        police.read(meta.colour);
        hdr.body.mark = value;
    }
    @name("drop")
    action drop() {
        mark_to_drop(std);
    }
    @name("unused")
    action unused(bit<8> value) {
        hdr.body.mark = value;
    }
    @name("to_port")
    action to_port(bit<9> port) {
        std.egress_spec = port;
    }

    @name("t_exact")
    table t_exact {
        key = {
            hdr.body.a : exact @name("a");
        }
        actions = { mark_and_count; @tableonly drop; @defaultonly NoAction; }
        default_action = NoAction();
        counters = hits;
        size = 4;
    }
    @name("t_lpm")
    table t_lpm {
        key = {
            hdr.body.a : lpm   @name("a");
            hdr.body.c : exact @name("c");
        }
        actions = { mark; NoAction; }
        default_action = NoAction();
        size = 128;
    }
    @name("t_ternary")
    table t_ternary {
        key = {
            hdr.body.a : ternary  @name("a");
            hdr.body.b : range    @name("b");
            hdr.body.c : optional @name("c");
        }
        actions = { mark; NoAction; }
        default_action = NoAction();
        size = 128;
    }
    @name("t_meter")
    table t_meter {
        key = {
            hdr.body.a : exact @name("a");
        }
        actions = { mark_and_meter; NoAction; }
        default_action = NoAction();
        meters = police;
        size = 16;
    }
    @name("t_idle")
    table t_idle {
        key = {
            hdr.body.a : exact @name("a");
        }
        actions = { mark; NoAction; }
        default_action = NoAction();
        support_timeout = true;
        size = 16;
    }
    @name("t_const")
    table t_const {
        key = {
            hdr.body.a : exact @name("a");
        }
        actions = { mark; NoAction; }
        default_action = NoAction();
        const entries = {
            1: mark(0x11);
            2: mark(0x22);
        }
    }
    @name("t_initial")
    table t_initial {
        key = {
            hdr.body.a : exact @name("a");
        }
        actions = { mark; NoAction; }
        default_action = NoAction();
        size = 16;
        entries = {
            1: mark(0x11);
            2: mark(0x22);
        }
    }
    @name("t_const_default")
    table t_const_default {
        key = {
            hdr.body.a : exact @name("a");
        }
        actions = { mark; }
        const default_action = mark(0xcd);
        size = 16;
    }
    @name("t_profile")
    table t_profile {
        key = {
            hdr.body.a : exact @name("a");
        }
        actions = { mark; NoAction; }
        implementation = profile;
        size = 16;
    }
    @name("t_select")
    table t_select {
        key = {
            hdr.body.a : exact @name("a");
            hdr.body.b : selector;
        }
        actions = { mark; to_port; NoAction; }
        implementation = selector_;
        size = 16;
    }
    @name("t_left")
    table t_left {
        key = {
            hdr.body.a : exact @name("a");
        }
        actions = { mark; NoAction; }
        default_action = NoAction();
        size = 1100000;
    }
    @name("t_right")
    table t_right {
        key = {
            hdr.body.a : exact @name("a");
        }
        actions = { mark_c; NoAction; }
        default_action = NoAction();
        size = 1024;
    }
    @name("t_keyless")
    table t_keyless {
        actions = { mark; unused; NoAction; }
        default_action = NoAction();
    }

    apply {
        std.egress_spec = 2;
        if (hdr.packet_out.isValid() && hdr.packet_out.process == 0) {
            std.egress_spec = (bit<9>) hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            exit;
        }
        hdr.packet_out.setInvalid();
        if (meta.in_set == 1) {
            hdr.body.mark = 0x55;
        }
        if (hdr.body.kind == 1) {
            t_exact.apply();
        } else if (hdr.body.kind == 2) {
            t_lpm.apply();
        } else if (hdr.body.kind == 3) {
            t_ternary.apply();
        } else if (hdr.body.kind == 4) {
            t_meter.apply();
            hdr.body.c = (bit<8>) meta.colour;
        } else if (hdr.body.kind == 5) {
            t_idle.apply();
        } else if (hdr.body.kind == 6) {
            t_const.apply();
            t_const_default.apply();
        } else if (hdr.body.kind == 7) {
            t_profile.apply();
        } else if (hdr.body.kind == 8) {
            t_select.apply();
        } else if (hdr.body.kind == 9) {
            t_keyless.apply();
        } else if (hdr.body.kind == 10) {
            by_port.count(hdr.body.a);
            bit<2> colour = 3;
            shared_police.execute_meter(hdr.body.a, colour);
            hdr.body.c = (bit<8>) colour;
        } else if (hdr.body.kind == 11) {
            bit<48> n = 0;
            bit<128> w = 0;
            int<16> s = 0;
            narrow.read(n, hdr.body.a);
            narrow.write(hdr.body.a, n + 1);
            wide.read(w, 0);
            wide.write(0, w + (1 << 100));
            signed_register.read(s, 0);
            signed_register.write(0, s - 1);
        } else if (hdr.body.kind == 12) {
            digest<alert_t>(1, { (bit<16>) std.ingress_port, hdr.body.a });
        } else if (hdr.body.kind == 13) {
            std.mcast_grp = hdr.body.b;
        } else if (hdr.body.kind == 14) {
            clone(CloneType.I2E, 5);
        } else if (hdr.body.kind == 16) {
            t_initial.apply();
        } else if (hdr.body.kind == 17) {
            t_left.apply();
            t_right.apply();
        } else if (hdr.body.kind == 15) {
            std.egress_spec = CPU_PORT;
        }
    }
}

control Egress_(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.body.kind == 13) {
            hdr.body.mark = (bit<8>) std.egress_rid;
        }
        if (std.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = (bit<16>) std.ingress_port;
            hdr.packet_in.reason = (bit<8>) std.instance_type;
        }
    }
}

control DeparserImpl(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.packet_in);
        pkt.emit(hdr.body);
    }
}

V1Switch(ParserImpl(), NoChecksum(), Ingress_(), Egress_(), NoChecksum(), DeparserImpl()) main;
