// SPDX-License-Identifier: Apache-2.0
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { ethernet_t eth; }
struct meta_t { }
struct learn_t { bit<48> mac; bit<9> port; }
parser P(packet_in p, out headers h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.eth); transition accept; }
}
control MyVerify(inout headers h, inout meta_t m) { apply { } }
control MyIngress(inout headers h, inout meta_t m, inout standard_metadata_t s) {
    action learn() { digest<learn_t>(1, { h.eth.src, s.ingress_port }); }
    action forward(bit<9> port) { s.egress_spec = port; }
    action flood() { s.mcast_grp = 1; }
    table smac {
        key = { h.eth.src: exact; }
        actions = { NoAction; learn; }
        default_action = learn();
        support_timeout = true;
    }
    table dmac {
        key = { h.eth.dst: exact; }
        actions = { forward; flood; }
        default_action = flood();
    }
    apply { smac.apply(); dmac.apply(); }
}
control MyEgress(inout headers h, inout meta_t m, inout standard_metadata_t s) {
    apply { if (s.egress_port == s.ingress_port) { mark_to_drop(s); } }
}
control MyChecksum(inout headers h, inout meta_t m) { apply { } }
control MyDeparser(packet_out p, in headers h) { apply { p.emit(h.eth); } }
V1Switch(P(), MyVerify(), MyIngress(), MyEgress(), MyChecksum(), MyDeparser()) main;
