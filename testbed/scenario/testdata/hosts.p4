// SPDX-License-Identifier: Apache-2.0

#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t { bit<8> vihl; bit<8> tos; bit<16> len; bit<16> id; bit<16> frag; bit<8> ttl; bit<8> proto; bit<16> sum; bit<32> src; bit<32> dst; }
struct headers { ethernet_t eth; ipv4_t ip; }
struct meta_t { }
parser P(packet_in p, out headers h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.eth); transition select(h.eth.type) { 0x0800: ip; default: accept; } }
    state ip { p.extract(h.ip); transition accept; }
}
control V(inout headers h, inout meta_t m) { apply { } }
control I(inout headers h, inout meta_t m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action forward(@value("host.port") bit<9> port, @value("host.mac") bit<48> mac) { s.egress_spec = port; h.eth.dst = mac; h.ip.ttl = h.ip.ttl - 1; }
    @entries("hosts")
    table route { key = { h.ip.dst: lpm; } actions = { forward; drop; } default_action = drop(); }
    apply { if (h.ip.isValid()) { route.apply(); } }
}
control E(inout headers h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout meta_t m) { apply {
    update_checksum(h.ip.isValid(), { h.ip.vihl, h.ip.tos, h.ip.len, h.ip.id, h.ip.frag, h.ip.ttl, h.ip.proto, h.ip.src, h.ip.dst }, h.ip.sum, HashAlgorithm.csum16); } }
control D(packet_out p, in headers h) { apply { p.emit(h.eth); p.emit(h.ip); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
