// SPDX-License-Identifier: Apache-2.0

// Checksums of IPv4 and UDP: verified, updated, with the payload, on
// conditions, and by hand as a difference (RFC 1624).
#include <core.p4>
#include <v1model.p4>

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> len;
    bit<16> id;
    bit<16> frag;
    bit<8>  ttl;
    bit<8>  proto;
    bit<16> sum;
    bit<32> src;
    bit<32> dst;
}

header udp_t {
    bit<16> src;
    bit<16> dst;
    bit<16> len;
    bit<16> sum;
}

struct headers_t {
    ipv4_t ip;
    udp_t  udp;
}

struct meta_t {
    bit<1>  by_hand;
    bit<16> udp_sum;
}

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        pkt.extract(hdr.ip);
        transition select(hdr.ip.proto) {
            17:      udp;
            default: accept;
        }
    }
    state udp {
        pkt.extract(hdr.udp);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(true,
            { hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.len, hdr.ip.id, hdr.ip.frag, hdr.ip.ttl, hdr.ip.proto, hdr.ip.src, hdr.ip.dst },
            hdr.ip.sum, HashAlgorithm.csum16);
        verify_checksum_with_payload(hdr.udp.isValid() && hdr.udp.sum != 0,
            { hdr.ip.src, hdr.ip.dst, 8w0, hdr.ip.proto, hdr.udp.len, hdr.udp.src, hdr.udp.dst, hdr.udp.len },
            hdr.udp.sum, HashAlgorithm.csum16);
    }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (std.checksum_error == 1) {
            std.egress_spec = 3;
        }
        if (hdr.ip.tos == 1) {
            // Sum' = ~(~sum + ~old + new)
            meta.by_hand = 1;
            bit<16> old = hdr.ip.ttl ++ hdr.ip.proto;
            hdr.ip.ttl = hdr.ip.ttl - 1;
            bit<16> now = hdr.ip.ttl ++ hdr.ip.proto;
            bit<32> s = (bit<32>) ~hdr.ip.sum + (bit<32>) ~old + (bit<32>) now;
            s = (s & 0xffff) + (s >> 16);
            s = (s & 0xffff) + (s >> 16);
            hdr.ip.sum = ~s[15:0];
        } else {
            hdr.ip.ttl = hdr.ip.ttl - 1;
        }
    }
}

control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ip.tos != 1,
            { hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.len, hdr.ip.id, hdr.ip.frag, hdr.ip.ttl, hdr.ip.proto, hdr.ip.src, hdr.ip.dst },
            hdr.ip.sum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.udp.isValid() && hdr.ip.tos == 2,
            { hdr.ip.src, hdr.ip.dst, 8w0, hdr.ip.proto, hdr.udp.len, hdr.udp.src, hdr.udp.dst, hdr.udp.len },
            hdr.udp.sum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.ip);
        pkt.emit(hdr.udp);
    }
}

V1Switch(P(), Verify(), In(), Out(), Update(), Deparse()) main;
