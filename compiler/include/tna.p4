// SPDX-License-Identifier: Apache-2.0

// The Tofino Native Architecture of Tofino 1, as far as this project's
// programs use it: two pipelines with the traffic manager in between, each
// with a parser, a control and a deparser of its own. Names and signatures are
// those of p4c's Tofino backend, which programs are compiled by for a switch.

#ifndef _TNA_P4_
#define _TNA_P4_

#include "core.p4"

typedef bit<9>  PortId_t;           // two bits of pipeline, seven of port
typedef bit<16> MulticastGroupId_t;
typedef bit<5>  QueueId_t;
typedef bit<10> MirrorId_t;         // a mirror session
typedef bit<3>  MirrorType_t;
typedef bit<3>  ResubmitType_t;
typedef bit<3>  DigestType_t;

// Bits that come between ingress_intrinsic_metadata_t and the packet.
const bit<32> PORT_METADATA_SIZE = 64;

match_kind {
    range
}

enum HashAlgorithm_t {
    IDENTITY, // the input itself, its last bits if it is too long
    RANDOM,
    XOR8,
    XOR16,
    XOR32,
    CRC8,
    CRC16,
    CRC32,
    CRC64,
    CUSTOM
}

// What comes before the packet in ingress.
header ingress_intrinsic_metadata_t {
    bit<1>   resubmit_flag;
    bit<1>   _pad1;
    bit<2>   packet_version;
    bit<3>   _pad2;
    PortId_t ingress_port;
    bit<48>  ingress_mac_tstamp; // nanoseconds
}

struct ingress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp; // nanoseconds
    bit<32> global_ver;
    bit<16> parser_err;
}

struct ingress_intrinsic_metadata_for_deparser_t {
    bit<3>         drop_ctl; // bit 0: no unicast, no multicast, no resubmission
    DigestType_t   digest_type;
    ResubmitType_t resubmit_type;
    MirrorType_t   mirror_type;
}

struct ingress_intrinsic_metadata_for_tm_t {
    PortId_t           ucast_egress_port;
    bit<1>             bypass_egress;
    bit<1>             deflect_on_drop;
    bit<3>             ingress_cos; // priority group, and with it PFC
    QueueId_t          qid;
    bit<3>             icos_for_copy_to_cpu;
    bit<1>             copy_to_cpu;
    bit<2>             packet_color;
    bit<1>             disable_ucast_cutthru;
    bit<1>             enable_mcast_cutthru;
    MulticastGroupId_t mcast_grp_a;
    MulticastGroupId_t mcast_grp_b;
    bit<13>            level1_mcast_hash;
    bit<13>            level2_mcast_hash;
    bit<16>            level1_exclusion_id;
    bit<9>             level2_exclusion_id;
    bit<16>            rid;
}

// What comes before the packet in egress. Depths are in cells of 80 bytes,
// times in nanoseconds; those of 18 bits wrap after 262 us.
header egress_intrinsic_metadata_t {
    bit<7>    _pad0;
    PortId_t  egress_port;
    bit<5>    _pad1;
    bit<19>   enq_qdepth;
    bit<6>    _pad2;
    bit<2>    enq_congest_stat;
    bit<14>   _pad3;
    bit<18>   enq_tstamp;
    bit<5>    _pad4;
    bit<19>   deq_qdepth;
    bit<6>    _pad5;
    bit<2>    deq_congest_stat;
    bit<8>    app_pool_congest_stat;
    bit<14>   _pad6;
    bit<18>   deq_timedelta;
    bit<16>   egress_rid;
    bit<7>    _pad7;
    bit<1>    egress_rid_first;
    bit<3>    _pad8;
    QueueId_t egress_qid;
    bit<5>    _pad9;
    bit<3>    egress_cos;
    bit<7>    _pad10;
    bit<1>    deflection_flag;
    bit<16>   pkt_length;
}

struct egress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;
    bit<32> global_ver;
    bit<16> parser_err;
}

struct egress_intrinsic_metadata_for_deparser_t {
    bit<3>       drop_ctl;
    MirrorType_t mirror_type;
    bit<1>       coalesce_flush;
    bit<7>       coalesce_length;
}

struct egress_intrinsic_metadata_for_output_port_t {
    bit<1> capture_tstamp_on_tx;
    bit<1> update_delay_on_tx;
}

enum CounterType_t {
    PACKETS,
    BYTES,
    PACKETS_AND_BYTES
}

// An array of counters.
extern Counter<W, I> {
    Counter(bit<32> size, CounterType_t type);
    void count(in I index, @optional in bit<32> adjust_byte_count);
}

// The counters of a table's entries: "counters" of the table.
extern DirectCounter<W> {
    DirectCounter(CounterType_t type);
    void count(@optional in bit<32> adjust_byte_count);
}

// Actions that entries share: "implementation" of a table.
extern ActionProfile {
    ActionProfile(bit<32> size);
}

// The larger and the smaller of two numbers.
extern T max<T>(in T t1, in T t2);
extern T min<T>(in T t1, in T t2);

// What comes between ingress_intrinsic_metadata_t and the packet, as a struct of
// the program's own; the parser goes behind it.
extern T port_metadata_unpack<T>(packet_in pkt);

// A sum of the Internet protocols.
extern Checksum {
    Checksum();
    void add<T>(in T data);
    void subtract<T>(in T data);
    bool verify();
    bit<16> get();
    bit<16> update<T>(in T data, @optional in bool zeros_as_ones);
}

extern Hash<W> {
    Hash(HashAlgorithm_t algo);
    W get<D>(in D data);
}

extern Random<W> {
    Random();
    W get();
}

// An array of numbers, or of structs of two. Its cells are accessed once per
// packet, by a RegisterAction.
extern Register<T, I> {
    Register(bit<32> size);
    Register(bit<32> size, T initial_value);
    T read(in I index);
    T write(in I index, in T value);
}

// What happens to a cell and what comes out, in one step.
@noWarn("unused")
extern RegisterAction<T, I, U> {
    RegisterAction(Register<_, _> reg);
    U execute(in I index);
    @synchronous(execute)
    abstract void apply(inout T value, @optional out U rv);
}

// A copy of the packet: as it came in ingress, as it leaves in egress, with a
// header before it. The session says where it goes.
extern Mirror {
    Mirror();
    Mirror(MirrorType_t mirror_type);
    void emit(in MirrorId_t session_id);
    void emit<T>(in MirrorId_t session_id, in T hdr);
}

// Has the packet pass ingress again, once, with a header before it.
extern Resubmit {
    Resubmit();
    Resubmit(ResubmitType_t resubmit_type);
    void emit();
    void emit<T>(in T hdr);
}

// A message to the control plane.
extern Digest<T> {
    Digest();
    Digest(DigestType_t digest_type);
    void pack(in T data);
}

parser IngressParserT<H, M>(packet_in pkt, out H hdr, out M ig_md,
                            @optional out ingress_intrinsic_metadata_t ig_intr_md,
                            @optional out ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm,
                            @optional out ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr);

control IngressT<H, M>(inout H hdr, inout M ig_md,
                       @optional in ingress_intrinsic_metadata_t ig_intr_md,
                       @optional in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
                       @optional inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                       @optional inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm);

control IngressDeparserT<H, M>(packet_out pkt, inout H hdr, in M metadata,
                               @optional in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                               @optional in ingress_intrinsic_metadata_t ig_intr_md);

parser EgressParserT<H, M>(packet_in pkt, out H hdr, out M eg_md,
                           @optional out egress_intrinsic_metadata_t eg_intr_md,
                           @optional out egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
                           @optional out egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr);

control EgressT<H, M>(inout H hdr, inout M eg_md,
                      @optional in egress_intrinsic_metadata_t eg_intr_md,
                      @optional in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
                      @optional inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
                      @optional inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport);

control EgressDeparserT<H, M>(packet_out pkt, inout H hdr, in M metadata,
                              @optional in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
                              @optional in egress_intrinsic_metadata_t eg_intr_md,
                              @optional in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr);

package Pipeline<IH, IM, EH, EM>(IngressParserT<IH, IM> ingress_parser, IngressT<IH, IM> ingress,
                                 IngressDeparserT<IH, IM> ingress_deparser,
                                 EgressParserT<EH, EM> egress_parser, EgressT<EH, EM> egress,
                                 EgressDeparserT<EH, EM> egress_deparser);

package Switch<IH, IM, EH, EM>(Pipeline<IH, IM, EH, EM> pipe0);

#endif // _TNA_P4_
