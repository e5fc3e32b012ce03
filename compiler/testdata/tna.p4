// SPDX-License-Identifier: Apache-2.0
// Name: copies are made in deparsers
#include "tna.p4inc"
INGRESS { Mirror() m; apply { m /* ERROR target "Mirror.emit can only be called in ingress_deparser" */.emit(1); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a resubmission from egress
#include "tna.p4inc"
INGRESS { apply { } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { Resubmit() r; apply { r /* ERROR target "Resubmit.emit can only be called in ingress_deparser" */.emit(); packet.emit(hdr); } }
SWITCH
---
// Name: a digest with a type in egress
#include "tna.p4inc"
INGRESS { apply { } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { Digest<bit<8>>(1) d; apply { d /* ERROR target "Digest.pack can only be called in ingress_deparser" */.pack(hdr.h.a); packet.emit(hdr); } }
SWITCH
---
// Name: a header of no whole bytes
#include "tna.p4inc"
struct odd_t { bit<3> a; bit<6> b; }
INGRESS { apply { } }
INGRESS_DEPARSER { Mirror() m; apply { m /* ERROR target "the header of Mirror.emit has 9 bits, which is not a multiple of 8" */.emit<odd_t>(1, { 1, 2 }); packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: emit with a condition
#include "tna.p4inc"
INGRESS { apply { } }
INGRESS_DEPARSER { apply { if (meta.x == 0) { packet /* ERROR target "a header is emitted if it is valid: emit has no other condition" */.emit(hdr.h); } } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a header is changed when it is emitted already
#include "tna.p4inc"
INGRESS { apply { } }
INGRESS_DEPARSER { apply { packet.emit(hdr.h); hdr /* ERROR target "the deparser does this before all emits; write it before the header is emitted" */.h.a = 1; packet.emit(hdr.g); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr.h); hdr.g.a = 1; packet.emit(hdr.g); } }
SWITCH
---
// Name: a table in a deparser
#include "tna.p4inc"
INGRESS { apply { } }
INGRESS_DEPARSER { table t { key = { hdr.h.a : exact; } actions = { NoAction; } } apply { t /* ERROR target "a deparser has no tables" */.apply(); packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a custom hash without a polynomial
#include "tna.p4inc"
INGRESS { Hash<bit<8>>(HashAlgorithm_t.CUSTOM) h /* ERROR target "a CUSTOM hash needs a CRCPolynomial: Hash<…>(HashAlgorithm_t.CUSTOM, polynomial)" */; apply { hdr.h.a = h.get({ hdr.h.b }); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a checksum of no whole bytes
#include "tna.p4inc"
INGRESS { Checksum() c; apply { c /* ERROR unsupported "a checksum of 17 bits, which is not a multiple of 8, is not supported" */.add({ meta.z, hdr.h.c }); hdr.h.c = c.get(); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a register in a deparser
#include "tna.p4inc"
INGRESS { apply { } }
INGRESS_DEPARSER {
    Register<bit<32>, bit<8>>(256) r;
    RegisterAction /* ERROR tna-access "a deparser has no registers: access r in the control before it" */ <bit<32>, bit<8>, bit<32>>(r) act = { void apply(inout bit<32> v) { v = 1; } };
    apply { act.execute(0); packet.emit(hdr); }
}
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a register that two actions of a way access
#include "tna.p4inc"
INGRESS {
    Register<bit<32>, bit<8>>(256) r;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) act = { void apply(inout bit<32> v) { v = 1; } };
    action a() { act.execute(0); }
    action b() { act /* ERROR tna-access "register r is accessed twice on one path through the program, first in line 92" */.execute(1); }
    apply { a(); b(); }
}
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a package that is none of the architecture's
#include "tna.p4inc"
INGRESS { apply { } }
package Other<H, M>(IngressT<H, M> ingress);
Other(Ingress()) main /* ERROR main "package Other does not belong to an architecture that this compiler knows" */;
---
// Name: parameters of other names, and some left out
#include "tna.p4inc"
INGRESS { apply { } }
control Own(packet_out packet, inout headers_t hdr, in metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t d) { apply { packet.emit(hdr); } }
control Other(packet_out packet, inout headers_t hdr, in metadata_t meta, in egress_intrinsic_metadata_t told) { apply { packet.emit(hdr); } }
EGRESS { apply { } }
Pipeline(IngressParser(), Ingress(), Own(), EgressParser(), Egress(), Other()) pipe;
Switch(pipe) main;
---
// Name: a parameter of the other gress
#include "tna.p4inc"
INGRESS { apply { } }
control Own(packet_out packet, inout headers_t hdr, in metadata_t meta, in egress_intrinsic_metadata_for_deparser_t d) { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
Pipeline(IngressParser(), Ingress(), Own /* ERROR type-mismatch "which Own() (control Own) does not fit" */ (), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
---
// Name: port metadata that is too large
#include "tna.p4inc"
struct port_t { bit<32> a; bit<32> b; bit<8> c; }
parser P(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t i) {
    state start {
        packet.extract(i);
        meta = { 0, 0, 0, 0 };
        port_t port = port_metadata_unpack /* ERROR out-of-range "port metadata has 64 bits, not 72" */ <port_t>(packet);
        meta.x = port.a;
        transition accept;
    }
}
INGRESS { apply { } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
Pipeline(P(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
---
// Name: an even polynomial
#include "tna.p4inc"
INGRESS { CRCPolynomial<bit<8>>(0x06, false, false, false, 0, 0) p /* ERROR target "polynomial Ingress.p is even: the lowest coefficient of a CRC is 1" */; Hash<bit<8>>(HashAlgorithm_t.CUSTOM, p) h; apply { hdr.h.a = h.get({ hdr.h.b }); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a polynomial of too many bits
#include "tna.p4inc"
INGRESS { CRCPolynomial<bit<80>>(0x07, false, false, false, 0, 0) p /* ERROR target "polynomial Ingress.p has 80 bits, a Tofino has CRCs of up to 64" */; Hash<bit<8>>(HashAlgorithm_t.CUSTOM, p) h; apply { hdr.h.a = h.get({ hdr.h.b }); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a direct meter outside of an action
#include "tna.p4inc"
INGRESS { DirectMeter(MeterType_t.BYTES) m; action a() { } table t { key = { hdr.h.a : exact; } actions = { a; } default_action = a(); meters = m; } apply { t.apply(); hdr.h.a = m /* ERROR target "Ingress.m belongs to the entries of table Ingress.t: call execute in an action of that table" */.execute(); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a direct meter of no table
#include "tna.p4inc"
INGRESS { DirectMeter(MeterType_t.BYTES) m; action a() { hdr.h.a = m /* ERROR target "Ingress.m belongs to no table: name it in a table's meters" */.execute(); } table t { key = { hdr.h.a : exact; } actions = { a; } default_action = a(); } apply { t.apply(); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a direct counter in an action of two tables
#include "tna.p4inc"
INGRESS { DirectCounter<bit<32>>(CounterType_t.BYTES) k; action a() { k /* ERROR target "Ingress.k belongs to the entries of table Ingress.t, but table Ingress.u has action Ingress.a as well: give it an action of its own" */.count(); } table t { key = { hdr.h.a : exact; } actions = { a; } default_action = a(); counters = k; } table u { key = { hdr.h.b : exact; } actions = { a; } default_action = a(); } apply { t.apply(); u.apply(); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: an action of a selector
#include "tna.p4inc"
INGRESS { ActionProfile(8) p; Hash<bit<8>>(HashAlgorithm_t.CRC8) h; Register<bit<1>, bit<8>>(64) up; ActionSelector(p, h, SelectorMode_t.FAIR, up, 8, 8) sel; SelectorAction(sel) down = { void apply(inout bit<1> value) { value = 0; } }; apply { down /* ERROR unsupported "softswitch has no SelectorAction: the controller excludes a member of a group, by a write or by its watch port" */.execute(1); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a field without a validity
#include "tna.p4inc"
INGRESS { apply { invalidate /* ERROR unsupported "tm.qid always has a value in softswitch" */(tm.qid); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a field that is valid with its header
#include "tna.p4inc"
INGRESS { apply { invalidate /* ERROR unsupported "a field of a packet's header is valid with its header: call setInvalid for the header" */(hdr.h.a); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a symmetric hash of another field
#include "tna.p4inc"
INGRESS { @ /* ERROR unsupported "@symmetric names hdr.h.c, which is not in the list of h.get({hdr.h.a, hdr.h.b})" */symmetric("hdr.h.a", "hdr.h.c") Hash<bit<8>>(HashAlgorithm_t.CRC8) h; apply { hdr.h.a = h.get({ hdr.h.a, hdr.h.b }); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: a shift that is too far
#include "tna.p4inc"
INGRESS { apply { funnel_shift_right /* ERROR out-of-range "funnel_shift_right by 9: a shift of two numbers of 8 bits is 0 to 8" */(hdr.h.a, hdr.h.a, hdr.h.b, 9); } }
INGRESS_DEPARSER { apply { packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
SWITCH
---
// Name: the architecture of Tofino 2
#include /* ERROR include "t2na.p4 is not supported: it is the architecture of Tofino 2; tna.p4 is that of Tofino 1" */ <t2na.p4>
