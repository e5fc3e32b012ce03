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
// Name: a mirror with a type of its own
#include "tna.p4inc"
INGRESS { apply { } }
INGRESS_DEPARSER { Mirror(1) m /* ERROR target "Mirror with a type is not supported: test the type where emit is called" */; apply { m.emit(1); packet.emit(hdr); } }
EGRESS { apply { } }
EGRESS_DEPARSER { apply { packet.emit(hdr); } }
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
// Name: a hash that our switch does not have
#include "tna.p4inc"
INGRESS { Hash<bit<8>>(HashAlgorithm_t.CRC64) h; apply { hdr.h.a = h /* ERROR target "softswitch does not compute CRC64 hashes: use CRC32, CRC16, CRC8 or IDENTITY" */.get({ hdr.h.b }); } }
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
