// SPDX-License-Identifier: Apache-2.0

// A program with something of everything, whose stages are printed.

#include <v1model.p4>

#define WIDTH 8
#define SUM(a, b) ((a) + (b))

typedef bit<48> mac_t;
type bit<9> port_t;

enum color_t { red, green }
enum bit<8> kind_t { data = 1, ack = 2 }
error { TooLong }

const bit<16> TYPE = 0x0800;
const bit<WIDTH> LIMIT = SUM(3, 4);

header ethernet_t {
    mac_t   dst;
    mac_t   src;
    bit<16> kind;
}

header label_t {
    bit<7> value;
    bit<1> bottom;
}

header option_t {
    bit<8>     len;
    varbit<64> data;
}

header_union either_t {
    option_t option;
    label_t  label;
}

struct headers_t {
    ethernet_t ethernet;
    label_t[3] labels;
    option_t   option;
    either_t   either;
}

struct pair_t {
    bit<8> a;
    bit<8> b;
}

struct metadata_t {
    @field_list(1)
    pair_t  pair;
    bit<32> hash;
    bool    seen;
}

bit<8> larger(in bit<8> x, in bit<8> y) {
    if (x > y) {
        return x;
    }
    return y;
}

action count(inout bit<8> n, bit<8> by) { n = n |+| by; }

parser Labels(packet_in packet, inout headers_t hdr) {
    state start {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.bottom) {
            0: start;
            default: accept;
        }
    }
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<bit<16>>(4) others;
    Labels() labels;

    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind, packet.lookahead<bit<8>>()) {
            (TYPE, 1 &&& 0xf): option;
            (0x8847, _): labelled;
            (_, 2 .. 5): accept;
            default: other;
        }
    }

    state other {
        transition select(hdr.ethernet.kind) {
            others: accept;
            default: reject;
        }
    }

    state labelled {
        labels.apply(packet, hdr);
        transition accept;
    }

    state option {
        bit<8> length = packet.lookahead<bit<8>>();
        verify(length <= 8, error.TooLong);
        packet.extract(hdr.option, (bit<32>) length << 3);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control Choose(inout metadata_t meta)(bit<8> scale) {
    apply { meta.pair.a = larger(meta.pair.a, meta.pair.b * scale); }
}

control Route(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<32>>(16) times;
    counter(8, CounterType.packets_and_bytes) packets;
    direct_counter(CounterType.bytes) bytes;
    action_selector(HashAlgorithm.crc16, 16, 8) members;
    Choose(2) choose;
    bit<8> n = 1;

    action drop() { mark_to_drop(standard); }

    action forward(@name("port") port_t to, mac_t next) {
        standard.egress_spec = (bit<9>) to;
        hdr.ethernet = { next, hdr.ethernet.dst, hdr.ethernet.kind };
        bytes.count();
    }

    @name("route")
    table table_of_routes {
        key = {
            hdr.ethernet.dst : exact @name("dst");
            hdr.labels[0].value : ternary;
            hdr.ethernet.kind[3:0] : range @name("low");
        }
        actions = { forward; drop; count(n); @defaultonly NoAction; }
        const entries = {
            (1, 2 &&& 3, 4 .. 5) : forward((port_t) 1, 7);
            (1, _, 4) : count(n, 3);
        }
        size = 64;
        counters = bytes;
    }

    table spread {
        key = { meta.hash : exact; hdr.ethernet.src : selector; }
        actions = { drop; NoAction; }
        implementation = members;
    }

    apply {
        color_t color = hdr.labels[0].isValid() ? color_t.green : color_t.red;
        switch (table_of_routes.apply().action_run) {
            drop: { exit; }
            forward: { packets.count(0); }
            default: { meta.seen = true; }
        }
        if (!spread.apply().hit && color == color_t.green) {
            hash(meta.hash, HashAlgorithm.crc32, 32w0, { hdr.ethernet.src, hdr.ethernet.dst }, 32w16);
            times.write(meta.hash, (bit<32>) standard.ingress_global_timestamp);
        }
        choose.apply(meta);
        for (bit<8> i in 0 .. 2) {
            if (i == LIMIT) {
                break;
            }
            count(n, i);
        }
        switch (meta.pair.a) {
            1:
            2: { hdr.labels.pop_front(1); }
            default: { hdr.labels.push_front(1); hdr.labels[0].setValid(); }
        }
        hdr.labels[0].value[3:0] = hdr.labels[1].value[6:3] & ~n[3:0];
        clone_preserving_field_list(CloneType.I2E, 5, 1);
        digest<pair_t>(1, meta.pair);
    }
}

control Send(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { log_msg("queue {}", { standard.deq_qdepth }); }
}

control Update(inout headers_t hdr, inout metadata_t meta) { apply { } }

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.labels);
        packet.emit(hdr.option);
    }
}

V1Switch(Parse(), Verify(), Route(), Send(), Update(), Deparse()) main;
