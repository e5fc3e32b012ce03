// SPDX-License-Identifier: Apache-2.0
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header timed_t {
    bit<48> ingress; bit<48> egress; bit<32> enqueued; bit<32> waited;
    bit<32> enqueue_depth; bit<32> dequeue_depth; bit<8> marked; bit<8> color;
}
struct headers { ethernet_t eth; timed_t timed; }
struct meta_t { bit<8> color; }
parser P(packet_in p, out headers h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.eth); transition accept; }
}
control MyVerify(inout headers h, inout meta_t m) { apply { } }
control MyIngress(inout headers h, inout meta_t m, inout standard_metadata_t s) {
    meter(1, MeterType.packets) policer;
    action forward(@value("host.port") bit<9> port) { s.egress_spec = port; }
    @entries("hosts")
    table route { key = { h.eth.dst: exact; } actions = { forward; NoAction; } }
    apply {
        route.apply();
        bit<32> c;
        policer.execute_meter(0, c);
        m.color = (bit<8>) c;
    }
}
control MyEgress(inout headers h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        h.timed.setValid();
        h.timed.ingress = s.ingress_global_timestamp;
        h.timed.egress = s.egress_global_timestamp;
        h.timed.enqueued = s.enq_timestamp;
        h.timed.waited = s.deq_timedelta;
        h.timed.enqueue_depth = (bit<32>) s.enq_qdepth;
        h.timed.dequeue_depth = (bit<32>) s.deq_qdepth;
        h.timed.marked = s.enq_qdepth >= 10 ? 8w1 : 8w0;
        h.timed.color = m.color;
    }
}
control MyChecksum(inout headers h, inout meta_t m) { apply { } }
control MyDeparser(packet_out p, in headers h) { apply { p.emit(h.eth); p.emit(h.timed); } }
V1Switch(P(), MyVerify(), MyIngress(), MyEgress(), MyChecksum(), MyDeparser()) main;
