// SPDX-License-Identifier: Apache-2.0

// The Tofino Native Architecture of Tofino 1: pipelines with the traffic manager
// in between, each with a parser, a control and a deparser for ingress and for
// egress. Names and signatures are those of p4c's Tofino backend, which programs
// are compiled by for a switch. docs/tofino.md lists what "pauseless switch" does
// not execute.

#ifndef _TNA_P4_
#define _TNA_P4_

#include "core.p4"

#define PORT_ID_WIDTH            9
#define MULTICAST_GROUP_ID_WIDTH 16
#define QUEUE_ID_WIDTH           5
#define MIRROR_TYPE_WIDTH        3
#define MIRROR_ID_WIDTH          10
#define RESUBMIT_TYPE_WIDTH      3
#define DIGEST_TYPE_WIDTH        3
#define REPLICATION_ID_WIDTH     16
#define L1_EXCLUSION_ID_WIDTH    16
#define L2_EXCLUSION_ID_WIDTH    9

// A port has two bits of pipeline and seven of the port in it.
#define DEVPORT_PIPE_MASK  0x180
#define DEVPORT_PIPE(port) (port)[8:7]
#define DEVPORT_PORT_MASK  0x7f
#define DEVPORT_PORT(port) (port)[6:0]

typedef bit<PORT_ID_WIDTH>            PortId_t;
typedef bit<MULTICAST_GROUP_ID_WIDTH> MulticastGroupId_t;
typedef bit<QUEUE_ID_WIDTH>           QueueId_t;
typedef bit<MIRROR_TYPE_WIDTH>        MirrorType_t;
typedef bit<MIRROR_ID_WIDTH>          MirrorId_t;      // a mirror session
typedef bit<RESUBMIT_TYPE_WIDTH>      ResubmitType_t;
typedef bit<DIGEST_TYPE_WIDTH>        DigestType_t;
typedef bit<REPLICATION_ID_WIDTH>     ReplicationId_t; // of a copy in its multicast group
typedef bit<L1_EXCLUSION_ID_WIDTH>    L1ExclusionId_t;
typedef bit<L2_EXCLUSION_ID_WIDTH>    L2ExclusionId_t;
typedef error                         ParserError_t;

// Bits that come between ingress_intrinsic_metadata_t and the packet.
const bit<32> PORT_METADATA_SIZE = 64;

// Flags of parser_err.
const bit<16> PARSER_ERROR_OK           = 0x0000;
const bit<16> PARSER_ERROR_NO_MATCH     = 0x0001;
const bit<16> PARSER_ERROR_PARTIAL_HDR  = 0x0002;
const bit<16> PARSER_ERROR_CTR_RANGE    = 0x0004;
const bit<16> PARSER_ERROR_TIMEOUT_USER = 0x0008;
const bit<16> PARSER_ERROR_TIMEOUT_HW   = 0x0010;
const bit<16> PARSER_ERROR_SRC_EXT      = 0x0020;
const bit<16> PARSER_ERROR_DST_CONT     = 0x0040;
const bit<16> PARSER_ERROR_PHV_OWNER    = 0x0080;
const bit<16> PARSER_ERROR_MULTIWRITE   = 0x0100;
const bit<16> PARSER_ERROR_ARAM_MBE     = 0x0400;
const bit<16> PARSER_ERROR_FCS          = 0x0800;

error {
    CounterRange, // a ParserCounter was set beyond its maximum
    Timeout,
    PhvOwner,
    MultiWrite,
    IbufOverflow,
    IbufUnderflow
}

match_kind {
    range,
    selector,             // the input of an ActionSelector's hash
    atcam_partition_index // exact: the part of an Atcam table to search
}

enum MeterType_t { PACKETS, BYTES }

enum bit<8> MeterColor_t { GREEN = 0, YELLOW = 1, RED = 3 }

enum SelectorMode_t { FAIR, RESILIENT }

enum HashAlgorithm_t {
    IDENTITY, // the input itself, its last bits if it is too long
    RANDOM,   // some function of the input
    XOR8,
    XOR16,
    XOR32,
    CRC8,  // CRC-8/SMBUS of the CRC catalogue
    CRC16, // CRC-16/ARC
    CRC32, // CRC-32/ISO-HDLC
    CRC64, // CRC-64/ECMA-182
    CUSTOM // with a CRCPolynomial
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
    L1ExclusionId_t    level1_exclusion_id;
    L2ExclusionId_t    level2_exclusion_id;
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

// What the packet generator puts before its packets, by the event that triggers
// them.
header pktgen_timer_header_t {
    bit<3>  _pad1;
    bit<2>  pipe_id;
    bit<3>  app_id;
    bit<8>  _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}

header pktgen_port_down_header_t {
    bit<3>   _pad1;
    bit<2>   pipe_id;
    bit<3>   app_id;
    bit<15>  _pad2;
    PortId_t port_num;
    bit<16>  packet_id;
}

header pktgen_recirc_header_t {
    bit<3>  _pad1;
    bit<2>  pipe_id;
    bit<3>  app_id;
    bit<24> key; // of the recirculated packet
    bit<16> packet_id;
}

// What egress puts before a packet whose PTP correction field the port updates.
header ptp_metadata_t {
    bit<8>  udp_cksum_byte_offset;
    bit<8>  cf_byte_offset;
    bit<48> updated_cf;
}

enum CounterType_t {
    PACKETS,
    BYTES,
    PACKETS_AND_BYTES
}

// An array of counters. adjust_byte_count is subtracted from the packet's bytes.
extern Counter<W, I> {
    Counter(bit<32> size, CounterType_t type);
    void count(in I index, @optional in bit<32> adjust_byte_count);
}

// The counters of a table's entries: "counters" of the table.
extern DirectCounter<W> {
    DirectCounter(CounterType_t type);
    void count(@optional in bit<32> adjust_byte_count);
}

// An array of meters: two-rate three-colour markers (RFC 2698), colour-aware if
// the packet's colour is given. The result is a MeterColor_t, or the value that
// the constructor gives to the colour.
extern Meter<I> {
    Meter(bit<32> size, MeterType_t type);
    Meter(bit<32> size, MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green);
    bit<8> execute(in I index, in MeterColor_t color, @optional in bit<32> adjust_byte_count);
    bit<8> execute(in I index, @optional in bit<32> adjust_byte_count);
}

// The meters of a table's entries: "meters" of the table.
extern DirectMeter {
    DirectMeter(MeterType_t type);
    DirectMeter(MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green);
    bit<8> execute(in MeterColor_t color, @optional in bit<32> adjust_byte_count);
    bit<8> execute(@optional in bit<32> adjust_byte_count);
}

// A low-pass filter: an average of samples over time.
extern Lpf<T, I> {
    Lpf(bit<32> size);
    T execute(in T val, in I index);
}

// The filters of a table's entries: "filters" of the table.
extern DirectLpf<T> {
    DirectLpf();
    T execute(in T val);
}

// Random early detection by an average of queue lengths.
extern Wred<T, I> {
    Wred(bit<32> size, bit<8> drop_value, bit<8> no_drop_value);
    bit<8> execute(in T val, in I index);
}

extern DirectWred<T> {
    DirectWred(bit<8> drop_value, bit<8> no_drop_value);
    bit<8> execute(in T val);
}

// Tables in parts that ternary memory does not limit: "atcam" and "alpm", or
// "implementation", of a table.
extern Atcam {
    Atcam(@optional bit<32> number_partitions);
}

extern Alpm {
    Alpm(@optional bit<32> number_partitions, @optional bit<32> subtrees_per_partition,
         @optional bit<32> atcam_subset_width, @optional bit<32> shift_granularity);
}

// The larger and the smaller of two numbers.
extern T max<T>(in T t1, in T t2);
extern T min<T>(in T t1, in T t2);

// dst becomes the lower bits of src1 ++ src2, shifted right.
extern void funnel_shift_right<T>(inout T dst, in T src1, in T src2, int shift_amount);

// Some fields of intrinsic metadata have a validity: without one, a packet has no
// port, group, mirror session and so on.
extern void invalidate<T>(in T field);
extern bool is_validated<T>(in T field);

// What comes between ingress_intrinsic_metadata_t and the packet, as a struct of
// the program's own; the parser goes behind it.
extern T port_metadata_unpack<T>(packet_in pkt);

extern bit<32> sizeInBits<H>(in H h);
extern bit<32> sizeInBytes<H>(in H h);

// A sum of the Internet protocols. subtract_all_and_deposit gives what get would
// give at the end of the parser, with all headers subtracted that follow.
extern Checksum {
    Checksum();
    void add<T>(in T data);
    void subtract<T>(in T data);
    bool verify();
    void subtract_all_and_deposit<T>(out T residual);
    bit<16> get();
    bit<16> update<T>(in T data, @optional in bool zeros_as_ones);
}

// A signed counter of eight bits, for loops of a parser. The second set loads
// (field rotated right & (2^(mask+1) - 1)) + add.
extern ParserCounter {
    ParserCounter();
    void set<T>(in T value);
    void set<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<3> mask, in bit<8> add);
    bool is_zero();
    bool is_negative();
    void increment(in bit<8> value);
    void decrement(in bit<8> value);
}

// Which packet comes first if the parsers' buffer is full.
extern ParserPriority {
    ParserPriority();
    void set(in bit<3> prio);
}

// A CRC as in the CRC catalogue: coeff without its highest bit, input and result
// reversed or not, the initial value and the final exclusive or. extended repeats
// the result in a wider hash. As in p4c, msb has no effect.
extern CRCPolynomial<T> {
    CRCPolynomial(T coeff, bool reversed, bool msb, bool extended, T init, T xor);
}

// @symmetric("a", "b") of an instance makes fields a and b of the data exchangeable.
extern Hash<W> {
    Hash(HashAlgorithm_t algo);
    Hash(HashAlgorithm_t algo, CRCPolynomial<_> poly);
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

// The cells of a table's entries: "registers" of the table.
extern DirectRegister<T> {
    DirectRegister();
    DirectRegister(T initial_value);
    T read();
    T write(in T value);
}

// A number that the controller sets and RegisterActions read.
extern RegisterParam<T> {
    RegisterParam(T initial_value);
    T read();
}

enum MathOp_t {
    MUL,  // x
    SQR,  // x * x
    SQRT,
    DIV,  // 1 / x
    RSQR, // 1 / (x * x)
    RSQRT
}

// An approximation of factor * op(x), or A / B * op(x): the four highest bits of x
// select a number of eight bits, which is shifted by what x's exponent, shifted by
// shift and negated if invert, and scale say. The tuple has the numbers 15 to 0.
extern MathUnit<T> {
    MathUnit(bool invert, int<2> shift, int<6> scale,
             tuple<bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>,
                   bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>> data);
    MathUnit(MathOp_t op, int factor);
    MathUnit(MathOp_t op, int A, int B);
    T execute(in T x);
}

// What happens to a cell and what comes out, in one step. execute_log takes the
// next cell each time. Inside of apply, predicate is one bit of four, by its
// arguments.
@noWarn("unused")
extern RegisterAction<T, I, U> {
    RegisterAction(Register<_, _> reg);
    U execute(in I index);
    U execute_log();
    @synchronous(execute, execute_log)
    abstract void apply(inout T value, @optional out U rv);
    U predicate(@optional in bool cmplo, @optional in bool cmphi);
}

extern DirectRegisterAction<T, U> {
    DirectRegisterAction(DirectRegister<T> reg);
    U execute();
    @synchronous(execute)
    abstract void apply(inout T value, @optional out U rv);
    U predicate(@optional in bool cmplo, @optional in bool cmphi);
}

// Actions that entries share: "implementation" of a table.
extern ActionProfile {
    ActionProfile(bit<32> size);
}

// Groups of a profile's actions: "implementation" of a table. The hash of the
// table's selector keys chooses the member. The register has a bit per member.
extern ActionSelector {
    ActionSelector(ActionProfile action_profile, Hash<_> hash, SelectorMode_t mode,
                   bit<32> max_group_size, bit<32> num_groups);
    ActionSelector(ActionProfile action_profile, Hash<_> hash, SelectorMode_t mode,
                   Register<bit<1>, _> reg, bit<32> max_group_size, bit<32> num_groups);
    ActionSelector(bit<32> size, Hash<_> hash, SelectorMode_t mode);
    ActionSelector(bit<32> size, Hash<_> hash, SelectorMode_t mode, Register<bit<1>, _> reg);
}

// Changes the bits of a selector's members.
extern SelectorAction {
    SelectorAction(ActionSelector sel);
    bit<1> execute(@optional in bit<32> index);
    @synchronous(execute)
    abstract void apply(inout bit<1> value, @optional out bit<1> rv);
}

// A copy of the packet: as it came in ingress, as it leaves in egress, with a
// header before it. The session says where it goes. An instance with a type copies
// packets whose mirror_type is this type.
extern Mirror {
    Mirror();
    Mirror(MirrorType_t mirror_type);
    void emit(in MirrorId_t session_id);
    void emit<T>(in MirrorId_t session_id, in T hdr);
}

// Has the packet pass ingress again, once, with a header before it; with a type as
// Mirror.
extern Resubmit {
    Resubmit();
    Resubmit(ResubmitType_t resubmit_type);
    void emit();
    void emit<T>(in T hdr);
}

// A message to the control plane; with a type as Mirror.
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

package Switch<IH0, IM0, EH0, EM0, IH1, IM1, EH1, EM1, IH2, IM2, EH2, EM2, IH3, IM3, EH3, EM3>(
    Pipeline<IH0, IM0, EH0, EM0> pipe0, @optional Pipeline<IH1, IM1, EH1, EM1> pipe1,
    @optional Pipeline<IH2, IM2, EH2, EM2> pipe2, @optional Pipeline<IH3, IM3, EH3, EM3> pipe3);

// A pipeline with a parser of its own for each of its ports.
package IngressParsers<H, M>(
    IngressParserT<H, M> prsr0,
    @optional IngressParserT<H, M> prsr1,
    @optional IngressParserT<H, M> prsr2,
    @optional IngressParserT<H, M> prsr3,
    @optional IngressParserT<H, M> prsr4,
    @optional IngressParserT<H, M> prsr5,
    @optional IngressParserT<H, M> prsr6,
    @optional IngressParserT<H, M> prsr7,
    @optional IngressParserT<H, M> prsr8,
    @optional IngressParserT<H, M> prsr9,
    @optional IngressParserT<H, M> prsr10,
    @optional IngressParserT<H, M> prsr11,
    @optional IngressParserT<H, M> prsr12,
    @optional IngressParserT<H, M> prsr13,
    @optional IngressParserT<H, M> prsr14,
    @optional IngressParserT<H, M> prsr15,
    @optional IngressParserT<H, M> prsr16,
    @optional IngressParserT<H, M> prsr17);

package EgressParsers<H, M>(
    EgressParserT<H, M> prsr0,
    @optional EgressParserT<H, M> prsr1,
    @optional EgressParserT<H, M> prsr2,
    @optional EgressParserT<H, M> prsr3,
    @optional EgressParserT<H, M> prsr4,
    @optional EgressParserT<H, M> prsr5,
    @optional EgressParserT<H, M> prsr6,
    @optional EgressParserT<H, M> prsr7,
    @optional EgressParserT<H, M> prsr8,
    @optional EgressParserT<H, M> prsr9,
    @optional EgressParserT<H, M> prsr10,
    @optional EgressParserT<H, M> prsr11,
    @optional EgressParserT<H, M> prsr12,
    @optional EgressParserT<H, M> prsr13,
    @optional EgressParserT<H, M> prsr14,
    @optional EgressParserT<H, M> prsr15,
    @optional EgressParserT<H, M> prsr16,
    @optional EgressParserT<H, M> prsr17);

package MultiParserPipeline<IH, IM, EH, EM>(IngressParsers<IH, IM> ig_prsr, IngressT<IH, IM> ingress,
                                            IngressDeparserT<IH, IM> ingress_deparser,
                                            EgressParsers<EH, EM> eg_prsr, EgressT<EH, EM> egress,
                                            EgressDeparserT<EH, EM> egress_deparser);

package MultiParserSwitch<IH0, IM0, EH0, EM0, IH1, IM1, EH1, EM1, IH2, IM2, EH2, EM2, IH3, IM3, EH3, EM3>(
    MultiParserPipeline<IH0, IM0, EH0, EM0> pipe0, @optional MultiParserPipeline<IH1, IM1, EH1, EM1> pipe1,
    @optional MultiParserPipeline<IH2, IM2, EH2, EM2> pipe2, @optional MultiParserPipeline<IH3, IM3, EH3, EM3> pipe3);

#endif // _TNA_P4_
