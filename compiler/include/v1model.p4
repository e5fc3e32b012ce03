// SPDX-License-Identifier: Apache-2.0

// The v1model architecture, as BMv2's simple_switch runs it. What each extern
// does on that target is described in simple_switch.md of behavioral-model.

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

#include "core.p4"

// Since version 20200408 counters, meters and registers take indexes of any
// type. A program that wants this defines V1MODEL_VERSION first.
#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif

match_kind {
    range,
    optional, // one value, or any
    selector  // goes into the hash that selects a member
}

const bit<32> __v1model_version = V1MODEL_VERSION;

#if V1MODEL_VERSION >= 20200408
typedef bit<9> PortId_t;
#endif

@metadata @name("standard_metadata")
struct standard_metadata_t {
#if V1MODEL_VERSION >= 20200408
    PortId_t ingress_port;
    PortId_t egress_spec;
    PortId_t egress_port;
#else
    bit<9>   ingress_port;
    bit<9>   egress_spec;
    bit<9>   egress_port;
#endif
    bit<32>  instance_type;
    bit<32>  packet_length;
    // The traffic manager sets these; they are valid in egress.
    @alias("queueing_metadata.enq_timestamp")
    bit<32>  enq_timestamp;
    @alias("queueing_metadata.enq_qdepth")
    bit<19>  enq_qdepth;
    @alias("queueing_metadata.deq_timedelta")
    bit<32>  deq_timedelta;
    @alias("queueing_metadata.deq_qdepth")
    bit<19>  deq_qdepth;
    @alias("intrinsic_metadata.ingress_global_timestamp")
    bit<48>  ingress_global_timestamp;
    @alias("intrinsic_metadata.egress_global_timestamp")
    bit<48>  egress_global_timestamp;
    @alias("intrinsic_metadata.mcast_grp")
    bit<16>  mcast_grp;
    @alias("intrinsic_metadata.egress_rid")
    bit<16>  egress_rid;
    bit<1>   checksum_error; // a verify_checksum failed
    error    parser_error;
    @alias("intrinsic_metadata.priority")
    bit<3>   priority;
}

enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

enum MeterType {
    packets,
    bytes
}

#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

// An array of counters, which only the control plane reads.
extern counter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    counter(bit<32> size, CounterType type);
#if V1MODEL_VERSION >= 20200408
    void count(in I index);
#else
    void count(in bit<32> index);
#endif
}

// A counter per entry of the table that names it as its "counters".
extern direct_counter {
    direct_counter(CounterType type);
    void count();
}

// An array of meters; the result is one of the colours above.
extern meter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    meter(bit<32> size, MeterType type);
#if V1MODEL_VERSION >= 20200408
    void execute_meter<T>(in I index, out T result);
#else
    void execute_meter<T>(in bit<32> index, out T result);
#endif
}

// A meter per entry of the table that names it as its "meters".
extern direct_meter<T> {
    direct_meter(MeterType type);
    void read(out T result);
}

// An array of values that persist between packets.
#if V1MODEL_VERSION >= 20200408
extern register<T, I>
#else
extern register<T>
#endif
{
    register(bit<32> size);
    @noSideEffects
#if V1MODEL_VERSION >= 20200408
    void read(out T result, in I index);
    void write(in I index, in T value);
#else
    void read(out T result, in bit<32> index);
    void write(in bit<32> index, in T value);
#endif
}

// A table with this as its "implementation" has entries that refer to
// members of the profile.
extern action_profile {
    action_profile(bit<32> size);
}

// A random number from lo to hi, both included.
extern void random<T>(out T result, in T lo, in T hi);

// Sends the data to the control plane. Only in ingress.
extern void digest<T>(in bit<32> receiver, in T data);

enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,
    xor16
}

@deprecated("Please use mark_to_drop(standard_metadata) instead.")
extern void mark_to_drop();

// Sets egress_spec to the drop port and mcast_grp to 0.
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

// A hash of the data, from base to base+max-1; base if max is 0.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

// Like action_profile, with groups of members of which the hash of the keys
// of match kind selector picks one.
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

enum CloneType {
    I2E,
    E2E
}

@deprecated("Please use verify_checksum/update_checksum instead.")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

// Sets standard_metadata.checksum_error if the condition holds and the
// checksum of the data is another. Only in VerifyChecksum.
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

// Computes the checksum if the condition holds. Only in ComputeChecksum.
@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

// The same two over the data and all that the parser left of the packet.
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);
@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

// Makes copies for the session: of the packet as it came in (I2E, in
// ingress) or as it goes out (E2E, in egress). The second form keeps the
// fields of the user's metadata with @field_list(index).
extern void clone(in CloneType type, in bit<32> session);
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

// Parses the packet again as it came in. Only in ingress.
extern void resubmit_preserving_field_list(bit<8> index);

// Parses the packet again as it leaves the deparser. Only in egress.
extern void recirculate_preserving_field_list(bit<8> index);

@deprecated("Please use 'resubmit_preserving_field_list' instead")
extern void resubmit<T>(in T data);
@deprecated("Please use 'recirculate_preserving_field_list' instead")
extern void recirculate<T>(in T data);
@deprecated("Please use 'clone_preserving_field_list' instead")
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);

// Cuts the packet to so many bytes.
extern void truncate(in bit<32> length);

// Stops the switch if the check is false.
extern void assert(in bool check);
extern void assume(in bool check);

// Writes to the switch's log: {} in the message stands for a value.
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

parser Parser<H, M>(packet_in b,
                    out H parsedHdr,
                    inout M meta,
                    inout standard_metadata_t standard_metadata);

control VerifyChecksum<H, M>(inout H hdr,
                             inout M meta);

@pipeline
control Ingress<H, M>(inout H hdr,
                      inout M meta,
                      inout standard_metadata_t standard_metadata);

@pipeline
control Egress<H, M>(inout H hdr,
                     inout M meta,
                     inout standard_metadata_t standard_metadata);

control ComputeChecksum<H, M>(inout H hdr,
                              inout M meta);

@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(Parser<H, M> p,
                       VerifyChecksum<H, M> vr,
                       Ingress<H, M> ig,
                       Egress<H, M> eg,
                       ComputeChecksum<H, M> ck,
                       Deparser<H> dep);

#endif // _V1_MODEL_P4_
