// SPDX-License-Identifier: Apache-2.0

// Types with a different representation for the controller, and tables with single
// const entries.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

// Names to which the switch assigns numbers of two bits.
@p4runtime_translation("", string)
@p4runtime_translation_mappings({ {"default", 0} })
type bit<2> tenant_t;

// Names in the configuration of the switch.
@p4runtime_translation("test/port", string)
type bit<9> port_t;

// Numbers of another width, and other numbers according to the configuration.
@p4runtime_translation("test/class", 32)
type bit<8> class_t;

@controller_header("packet_in")
header packet_in_t {
    port_t  ingress_port;
    bit<7>  _pad;
}

@controller_header("packet_out")
header packet_out_t {
    port_t  egress_port;
    bit<7>  _pad;
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
    tenant_t tenant;
}

struct alert_t {
    tenant_t tenant;
    bit<32>  a;
}

parser ParserImpl(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
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
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control Ingress_(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    @name("hits")
    direct_counter(CounterType.packets) hits;
    @name("last")
    register<tenant_t>(2) last;

    @name("mark")
    action mark(bit<8> value) {
        hdr.body.mark = value;
    }
    @name("set_tenant")
    action set_tenant(tenant_t tenant) {
        meta.tenant = tenant;
    }
    @name("send")
    action send(port_t port) {
        std.egress_spec = (bit<9>) port;
    }
    @name("t_tenant")
    table t_tenant {
        key = {
            hdr.body.a : exact @name("a");
        }
        actions = { set_tenant; NoAction; }
        default_action = NoAction();
        size = 16;
    }
    @name("t_route")
    table t_route {
        key = {
            meta.tenant                : exact    @name("tenant");
            (port_t) std.ingress_port  : optional @name("port");
        }
        actions = { send; NoAction; }
        default_action = NoAction();
        size = 16;
    }
    @name("t_class")
    table t_class {
        key = {
            (class_t) hdr.body.c : exact @name("class");
        }
        actions = { mark; NoAction; }
        default_action = NoAction();
        size = 16;
    }
    @name("t_mixed")
    table t_mixed {
        key = {
            hdr.body.b : exact @name("b");
        }
        actions = { mark; NoAction; }
        default_action = NoAction();
        counters = hits;
        size = 16;
        entries = {
            const 1: mark(0x11);
            2: mark(0x22);
        }
    }
    apply {
        std.egress_spec = 2;
        if (hdr.packet_out.isValid()) {
            std.egress_spec = (bit<9>) hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            exit;
        }
        t_tenant.apply();
        last.write(0, meta.tenant);
        if (hdr.body.kind == 1) {
            t_route.apply();
        } else if (hdr.body.kind == 2) {
            t_class.apply();
        } else if (hdr.body.kind == 3) {
            t_mixed.apply();
        } else if (hdr.body.kind == 4) {
            digest<alert_t>(1, { meta.tenant, hdr.body.a });
        } else if (hdr.body.kind == 5) {
            std.egress_spec = CPU_PORT;
        }
    }
}

control Egress_(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = (port_t) std.ingress_port;
            hdr.packet_in._pad = 0;
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
