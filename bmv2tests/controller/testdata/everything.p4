// SPDX-License-Identifier: Apache-2.0

// Every kind of object that a controller can access: all match kinds, an
// action selector, registers, counters, meters, a digest, clones, multicast,
// packets from and to the controller.

#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header ipv4_t {
    bit<8>  version_ihl;
    bit<8>  dscp_ecn;
    bit<16> total_len;
    bit<16> id;
    bit<16> frag;
    bit<8>  ttl;
    bit<8>  proto;
    bit<16> checksum;
    @format("IPV4_ADDRESS")
    bit<32> src;
    @format("IPV4_ADDRESS")
    bit<32> dst;
}

@controller_header("packet_in")
header packet_in_t {
    bit<16> ingress_port;
}

@controller_header("packet_out")
header packet_out_t {
    bit<16> egress_port;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    ethernet_t   ethernet;
    ipv4_t       ipv4;
}

struct metadata_t {
    bit<12> vlan;
    bit<9>  flags;
}

struct alert_t {
    bit<16> port;
    bit<32> src;
}

parser ParserImpl(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            CPU_PORT: from_controller;
            default:  parse_ethernet;
        }
    }
    state from_controller {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800:  parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @name("Readqlen") @unit("packets") @index("port")
    register<bit<19>>(8) read_qlen;
    @name("Warned") @unit("us") @index("leaf:4,path:2")
    register<bit<32>>(8) warned;
    @name("rx") @index("port")
    counter(8, CounterType.packets_and_bytes) rx;
    @name("police") @index("port")
    meter(8, MeterType.bytes) police;
    action_selector(HashAlgorithm.crc16, 128, 14) spread;

    @name("drop")
    action drop() {
        mark_to_drop(standard_metadata);
    }
    @name("forward")
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }
    @name("rewrite")
    action rewrite(bit<48> mac, bit<9> port) {
        hdr.ethernet.dst = mac;
        standard_metadata.egress_spec = port;
    }
    @name("replicate")
    action replicate(bit<16> group) {
        standard_metadata.mcast_grp = group;
    }

    @name("Forward")
    table forward_table {
        key = {
            hdr.ipv4.dst : lpm @name("dst");
        }
        actions = { forward; drop; replicate; }
        default_action = drop();
        size = 1024;
    }
    @name("neighbour")
    table neighbour {
        key = {
            hdr.ethernet.dst : exact @name("mac");
            meta.vlan        : exact @name("vlan");
        }
        actions = { forward; rewrite; @defaultonly drop; }
        const default_action = drop();
        size = 4;
    }
    @name("acl")
    table acl {
        key = {
            hdr.ipv4.src      : ternary  @name("src");
            hdr.ipv4.proto    : optional @name("proto");
            hdr.ipv4.total_len: range    @name("length");
            meta.flags        : ternary  @name("flags");
        }
        actions = { forward; drop; NoAction; }
        default_action = NoAction();
        size = 512;
    }
    @name("paths")
    table paths {
        key = {
            hdr.ipv4.id  : exact    @name("leaf");
            hdr.ipv4.src : selector;
        }
        actions = { forward; NoAction; }
        implementation = spread;
        size = 64;
    }
    @name("fixed")
    table fixed {
        key = {
            hdr.ipv4.ttl : exact @name("ttl");
        }
        actions = { drop; NoAction; }
        default_action = NoAction();
        const entries = {
            0 : drop();
            1 : drop();
        }
    }

    apply {
        if (hdr.packet_out.isValid()) {
            // Port 0: the packet is handled like any other packet.
            if (hdr.packet_out.egress_port != 0) {
                standard_metadata.egress_spec = (bit<9>) hdr.packet_out.egress_port;
                hdr.packet_out.setInvalid();
                exit;
            }
            hdr.packet_out.setInvalid();
        }
        rx.count((bit<32>) standard_metadata.ingress_port & 7);
        bit<32> colour;
        police.execute_meter((bit<32>) standard_metadata.ingress_port & 7, colour);
        if (hdr.ipv4.isValid()) {
            forward_table.apply();
            acl.apply();
            paths.apply();
            fixed.apply();
            if (hdr.ipv4.dscp_ecn == 0xff) {
                bit<32> times;
                warned.read(times, 0);
                warned.write(0, times + 1);
                digest<alert_t>(1, { (bit<16>) standard_metadata.ingress_port, hdr.ipv4.src });
                clone(CloneType.I2E, 5);
            }
        } else {
            neighbour.apply();
        }
    }
}

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @name("Egqlen") @unit("packets") @index("port")
    register<bit<19>>(8) egress_qlen;
    apply {
        if (standard_metadata.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = (bit<16>) standard_metadata.ingress_port;
        } else if (standard_metadata.egress_port < 8) { // BMv2 crashes on a write beyond the end
            egress_qlen.write((bit<32>) standard_metadata.egress_port, standard_metadata.deq_qdepth);
        }
    }
}

control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(ParserImpl(), NoChecksum(), ingress(), egress(), NoChecksum(), DeparserImpl()) main;
