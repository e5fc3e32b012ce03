// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"bytes"
	"slices"
	"time"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// promotes is the reason why PI is not tested on a switch without a primary.
const promotes = "PI makes the next controller primary by itself, as earlier specifications had it"

// sessionClauses are about controllers, pipelines and streams.
var sessionClauses = []clause{
	{"5", "the controller with the highest election id is primary", func(x *bench) {
		higher := x.open(x.election + 1)
		x.standing(x.session, codes.AlreadyExists, x.election+1)
		x.standing(higher, codes.OK, x.election+1)
		lower := x.open(x.election - 1)
		x.standing(lower, codes.AlreadyExists, x.election+1)
		x.silent(higher)
	}, ""},
	{"5", "a primary that disconnects leaves the switch without one, and the others are notified", func(x *bench) {
		backup := x.open(x.election - 1)
		x.standing(backup, codes.AlreadyExists, x.election)
		x.stream.CloseSend()
		x.standing(backup, codes.NotFound, x.election)
		x.fails(x.write(insert(x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 1)))), codes.PermissionDenied)
		// The highest election id is remembered: the backup must reach it.
		x.ask(backup, &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: uint128(x.election)})
		x.standing(backup, codes.OK, x.election)
	}, promotes},
	{"5", "a controller that disconnects leaves the forwarding state as it is", func(x *bench) {
		e := x.entry("t_exact", x.call("mark_and_count", 0x42), exact(1, 7))
		x.must(insert(e))
		x.stream.CloseSend()
		x.marks(0x42, body(1, 7, 0, 0))
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId}), e)
	}, ""},
	{"5.1", "an unset role is the default role: writes with another are refused", func(x *bench) {
		_, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID, Role: "other", ElectionId: uint128(x.election)})
		if err == nil {
			x.Error("a write with an unknown role was taken")
		}
	}, "PI uses role ids, not names"},
	{"5", "each role has a primary of its own, and election ids of its own", func(x *bench) {
		s := x.openAs(&p4v1.MasterArbitrationUpdate{DeviceId: deviceID, Role: &p4v1.Role{Name: "r"}, ElectionId: uint128(1)})
		a := x.arbitration(s)
		if a.Status.Code != 0 || a.Role.GetName() != "r" || a.ElectionId.GetLow() != 1 {
			x.Errorf("the first of role r is told %v", a)
		}
		_, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID, Role: "r", ElectionId: uint128(1),
			Updates: []*p4v1.Update{insert(x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 1)))}})
		x.fails(err, codes.OK)
		x.must(insert(x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 2))))
	}, "PI uses role ids, not names"},
	{"5.2", "a role configuration that was not agreed upon is INVALID_ARGUMENT", func(x *bench) {
		any, err := anypb.New(&p4v1.Uint128{})
		if err != nil {
			x.Fatal(err)
		}
		s := x.openAs(&p4v1.MasterArbitrationUpdate{DeviceId: deviceID, Role: &p4v1.Role{Name: "q", Config: any}, ElectionId: uint128(1)})
		x.refused(s, codes.InvalidArgument)
	}, "PI ignores it"},
	{"5.3 1.1", "a stream for an unknown device ends with NOT_FOUND", func(x *bench) {
		x.refused(x.openAs(&p4v1.MasterArbitrationUpdate{DeviceId: 99, ElectionId: uint128(1)}), codes.NotFound)
	}, "simple_switch_grpc accepts any device id"},
	{"5.3 1.2", "an election id that another connected controller has ends the stream with INVALID_ARGUMENT", func(x *bench) {
		x.refused(x.open(x.election), codes.InvalidArgument)
		x.silent(x.session)
	}, "simple_switch_grpc may crash after it"},
	{"5.3 1.4", "more streams than the server supports end with RESOURCE_EXHAUSTED", func(x *bench) {
		for n := uint64(1); ; n++ {
			s := x.openAs(&p4v1.MasterArbitrationUpdate{DeviceId: deviceID, Role: &p4v1.Role{Name: "crowd"}, ElectionId: uint128(n)})
			select {
			case <-s.messages:
			case err := <-s.ended:
				x.fails(err, codes.ResourceExhausted)
				if n < 3 {
					x.Errorf("only %d streams are supported", n-1)
				}
				return
			case <-time.After(patience):
				x.Fatal("no answer")
			}
			if n > 100 {
				x.Fatal("there is no limit")
			}
		}
	}, "has no such limit"},
	{"5.3 2.1", "a stream that names another device later ends with FAILED_PRECONDITION", func(x *bench) {
		x.ask(x.session, &p4v1.MasterArbitrationUpdate{DeviceId: 99, ElectionId: uint128(x.election)})
		x.refused(x.session, codes.FailedPrecondition)
	}, ""},
	{"5.3 2.2", "a stream that names another role later ends with FAILED_PRECONDITION", func(x *bench) {
		x.ask(x.session, &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, Role: &p4v1.Role{Name: "s"}, ElectionId: uint128(x.election)})
		x.refused(x.session, codes.FailedPrecondition)
	}, "PI uses role ids, not names"},
	{"5.3 2.4", "the stream of a connected controller that changes to another's election id ends with INVALID_ARGUMENT", func(x *bench) {
		backup := x.open(x.election - 1)
		x.standing(backup, codes.AlreadyExists, x.election)
		x.ask(backup, &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: uint128(x.election)})
		x.refused(backup, codes.InvalidArgument)
	}, ""},
	{"5.3", "a primary that sends its election id again stays primary, and all are notified", func(x *bench) {
		x.ask(x.session, &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: uint128(x.election)})
		x.standing(x.session, codes.OK, x.election)
	}, "PI does not answer an update that changes nothing"},
	{"5.3", "a primary that lowers its election id is backup, and all are notified that there is no primary", func(x *bench) {
		backup := x.open(x.election - 1)
		x.standing(backup, codes.AlreadyExists, x.election)
		x.ask(x.session, &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: uint128(x.election - 2)})
		x.standing(x.session, codes.NotFound, x.election)
		x.standing(backup, codes.NotFound, x.election)
	}, promotes},
	{"16.2.1", "without an election id a controller is never primary", func(x *bench) {
		s := x.open(0)
		x.standing(s, codes.AlreadyExists, x.election)
		x.stream.CloseSend()
		x.standing(s, codes.NotFound, x.election)
		_, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID})
		x.fails(err, codes.PermissionDenied)
	}, promotes},
	{"12", "a write for an unknown device is NOT_FOUND", func(x *bench) {
		_, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: 99, ElectionId: uint128(x.election)})
		x.fails(err, codes.NotFound)
	}, "simple_switch_grpc accepts any device id"},
	{"12", "a write by a backup is PERMISSION_DENIED, whatever is in it", func(x *bench) {
		backup := x.open(x.election - 1)
		x.standing(backup, codes.AlreadyExists, x.election)
		_, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID, ElectionId: uint128(x.election - 1), Updates: []*p4v1.Update{{}}})
		x.fails(err, codes.PermissionDenied)
	}, ""},
	{"12, 13", "before a pipeline is set, writes and reads are FAILED_PRECONDITION", func(x *bench) {
		fresh := newBench(x.TB, startSoft(x.TB, soft), true)
		s := fresh.open(1)
		fresh.standing(s, codes.OK, 1)
		_, err := fresh.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID, ElectionId: uint128(1), Updates: []*p4v1.Update{insert(x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 1)))}})
		fresh.fails(err, codes.FailedPrecondition)
		_, err = fresh.read(&p4v1.TableEntry{})
		fresh.fails(err, codes.FailedPrecondition)
		resp, err := fresh.client.GetForwardingPipelineConfig(x.ctx, &p4v1.GetForwardingPipelineConfigRequest{DeviceId: deviceID})
		if err != nil || resp.Config != nil {
			x.Errorf("its pipeline is %v, %v, want none", resp, err)
		}
	}, "the switch is shared by the tests, which set one"},
	{"14", "only the primary can set a pipeline, and only of an existing device", func(x *bench) {
		call := func(device uint64, election uint64) error {
			_, err := x.client.SetForwardingPipelineConfig(x.ctx, &p4v1.SetForwardingPipelineConfigRequest{DeviceId: device, ElectionId: uint128(election),
				Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: x.config})
			return err
		}
		x.fails(call(deviceID, x.election-1), codes.PermissionDenied)
		x.fails(call(deviceID, 0), codes.PermissionDenied)
		if x.soft != nil {
			x.fails(call(99, x.election), codes.NotFound)
		}
	}, ""},
	{"14", "VERIFY checks a pipeline and changes nothing", func(x *bench) {
		e := x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 1))
		x.must(insert(e))
		x.set(p4v1.SetForwardingPipelineConfigRequest_VERIFY, x.config)
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId}), e)
		x.fails(x.setPipeline(p4v1.SetForwardingPipelineConfigRequest_VERIFY, nil), codes.InvalidArgument)
	}, "PI answers VERIFY with UNIMPLEMENTED"},
	{"14", "an invalid pipeline is INVALID_ARGUMENT", func(x *bench) {
		for _, action := range []p4v1.SetForwardingPipelineConfigRequest_Action{p4v1.SetForwardingPipelineConfigRequest_VERIFY, p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE,
			p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT} {
			x.fails(x.setPipeline(action, &p4v1.ForwardingPipelineConfig{P4Info: x.config.P4Info, P4DeviceConfig: []byte("{")}), codes.InvalidArgument)
			x.fails(x.setPipeline(action, &p4v1.ForwardingPipelineConfig{P4DeviceConfig: x.config.P4DeviceConfig}), codes.InvalidArgument)
			info := proto.Clone(x.config.P4Info).(*p4configv1.P4Info)
			info.Tables[0].Preamble.Name = "elsewhere"
			x.fails(x.setPipeline(action, &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: x.config.P4DeviceConfig}), codes.InvalidArgument)
		}
		x.fails(x.setPipeline(99, x.config), codes.InvalidArgument)
	}, "PI answers with other codes, or accepts a P4Info that does not match the program"},
	{"14", "the program may be within p4.tmp.P4DeviceConfig, as p4lang's tutorials send it", func(x *bench) {
		wrapped := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1) // reassign
		wrapped = protowire.AppendBytes(protowire.AppendTag(wrapped, 3, protowire.BytesType), x.config.P4DeviceConfig)
		x.set(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, &p4v1.ForwardingPipelineConfig{P4Info: x.config.P4Info, P4DeviceConfig: wrapped})
		e := x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 1))
		x.must(insert(e))
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId}), e)
	}, ""},
	{"14", "VERIFY_AND_SAVE leaves the data path alone; reads and writes see the new pipeline; COMMIT makes it run", func(x *bench) {
		old := x.entry("t_exact", x.call("mark_and_count", 0x42), exact(1, 7))
		x.must(insert(old))
		x.set(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE, x.config)
		x.same(x.got(&p4v1.TableEntry{TableId: old.TableId}))
		x.must(insert(x.entry("t_exact", x.call("mark_and_count", 0x43), exact(1, 8))))
		x.marks(0x42, body(1, 7, 0, 0))
		x.marks(0, body(1, 8, 0, 0))
		x.set(p4v1.SetForwardingPipelineConfigRequest_COMMIT, nil)
		x.marks(0, body(1, 7, 0, 0))
		x.marks(0x43, body(1, 8, 0, 0))
	}, ""},
	{"14", "COMMIT with a configuration is INVALID_ARGUMENT, without one saved NOT_FOUND", func(x *bench) {
		x.fails(x.setPipeline(p4v1.SetForwardingPipelineConfigRequest_COMMIT, nil), codes.NotFound)
		x.fails(x.setPipeline(p4v1.SetForwardingPipelineConfigRequest_COMMIT, x.config), codes.InvalidArgument)
	}, "PI answers with other codes"},
	{"14", "VERIFY_AND_COMMIT resets all forwarding state to that of the program", func(x *bench) {
		e := x.entry("t_exact", x.call("mark_and_count", 0x42), exact(1, 7))
		x.must(insert(e), insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 1, Replicas: replicas(2)}),
			modify(&p4v1.CounterEntry{CounterId: x.id("by_port"), Index: &p4v1.Index{Index: 1}, Data: &p4v1.CounterData{PacketCount: 5}}))
		x.set(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, x.config)
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId}))
		x.same(x.got(&p4v1.MulticastGroupEntry{}))
		x.same(x.got(&p4v1.CounterEntry{CounterId: x.id("by_port"), Index: &p4v1.Index{Index: 1}}),
			&p4v1.CounterEntry{CounterId: x.id("by_port"), Index: &p4v1.Index{Index: 1}, Data: &p4v1.CounterData{}})
	}, ""},
	{"14", "RECONCILE_AND_COMMIT keeps the state that also exists in the new pipeline", func(x *bench) {
		e := x.entry("t_exact", x.call("mark_and_count", 0x42), exact(1, 7))
		e.Metadata = []byte("mine")
		x.must(insert(e), insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 1, Replicas: replicas(2)}),
			insert(&p4v1.ActionProfileMember{ActionProfileId: x.id("profile"), MemberId: 3, Action: x.call("mark", 0x33)}),
			insert(&p4v1.TableEntry{TableId: x.id("t_profile"), Match: []*p4v1.FieldMatch{exact(1, 5)}, Action: &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: 3}}}),
			modify(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: &p4v1.Index{Index: 2}, Data: bits(9)}),
			modify(&p4v1.ValueSetEntry{ValueSetId: x.id("kinds"), Members: members(200)}))
		x.set(p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT, x.config)
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId}), e)
		x.marks(0x42, body(1, 7, 0, 0))
		x.marks(0x33, body(7, 5, 0, 0))
		x.marks(0x55, body(200, 0, 0, 0))
		x.same(x.got(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: &p4v1.Index{Index: 2}}),
			&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: &p4v1.Index{Index: 2}, Data: bits(9)})
	}, "PI answers RECONCILE_AND_COMMIT with UNIMPLEMENTED"},
	{"14", "RECONCILE_AND_COMMIT that cannot keep the state is INVALID_ARGUMENT and changes nothing", func(x *bench) {
		e := x.entry("t_exact", x.call("mark_and_count", 0x42), exact(1, 7))
		x.must(insert(e))
		cfg := proto.Clone(x.config).(*p4v1.ForwardingPipelineConfig)
		cfg.P4DeviceConfig = bytes.ReplaceAll(cfg.P4DeviceConfig, []byte(`"Ingress_.t_exact"`), []byte(`"Ingress_.t_other"`))
		for _, table := range cfg.P4Info.Tables {
			if table.Preamble.Name == "Ingress_.t_exact" {
				table.Preamble.Name = "Ingress_.t_other"
			}
		}
		x.fails(x.setPipeline(p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT, cfg), codes.InvalidArgument)
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId}), e)
		x.marks(0x42, body(1, 7, 0, 0))
	}, "PI answers RECONCILE_AND_COMMIT with UNIMPLEMENTED"},
	{"15", "the pipeline is read back with its cookie, whole or in part", func(x *bench) {
		for typ, want := range map[p4v1.GetForwardingPipelineConfigRequest_ResponseType]*p4v1.ForwardingPipelineConfig{
			p4v1.GetForwardingPipelineConfigRequest_ALL:                      x.config,
			p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY:              {Cookie: x.config.Cookie},
			p4v1.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE:        {Cookie: x.config.Cookie, P4Info: x.config.P4Info},
			p4v1.GetForwardingPipelineConfigRequest_DEVICE_CONFIG_AND_COOKIE: {Cookie: x.config.Cookie, P4DeviceConfig: x.config.P4DeviceConfig},
		} {
			resp, err := x.client.GetForwardingPipelineConfig(x.ctx, &p4v1.GetForwardingPipelineConfigRequest{DeviceId: deviceID, ResponseType: typ})
			if err != nil || !proto.Equal(resp.GetConfig(), want) {
				x.Errorf("%v: not what was set: %v", typ, err)
			}
		}
	}, ""},
	{"15", "the pipeline of an unknown device is NOT_FOUND", func(x *bench) {
		_, err := x.client.GetForwardingPipelineConfig(x.ctx, &p4v1.GetForwardingPipelineConfigRequest{DeviceId: 99})
		x.fails(err, codes.NotFound)
	}, "simple_switch_grpc accepts any device id"},
	{"16.1", "a packet-out is sent as its metadata specify", func(x *bench) {
		out := packetOut(3, 0, body(1, 2, 3, 4))
		before := x.outOf(3, func() { x.say(x.session, out) })
		if !bytes.Equal(before, body(1, 2, 3, 4)) {
			x.Errorf("port 3 sent %x", before)
		}
	}, "answers to packets of the controller are not seen by the test"},
	{"16.1", "a packet for the CPU port is a packet-in to the primary, with metadata as short byte strings", func(x *bench) {
		backup := x.open(x.election - 1)
		x.standing(backup, codes.AlreadyExists, x.election)
		x.send(1, body(15, 0, 0, 0))
		m := x.next(x.session).GetPacket()
		want := &p4v1.PacketIn{Payload: body(15, 0, 0, 0), Metadata: []*p4v1.PacketMetadata{{MetadataId: 1, Value: []byte{1}}, {MetadataId: 2, Value: []byte{0}}}}
		if !proto.Equal(m, want) {
			x.Errorf("packet-in %v, want %v", m, want)
		}
		x.silent(backup)
	}, ""},
	{"16.1", "a packet-out by a backup is PERMISSION_DENIED, as a stream error", func(x *bench) {
		backup := x.open(x.election - 1)
		x.standing(backup, codes.AlreadyExists, x.election)
		x.say(backup, packetOut(3, 0, body(1, 2, 3, 4)))
		x.streamError(backup, codes.PermissionDenied)
	}, "PI drops it without an error"},
	{"16.6", "a packet-out with wrong metadata is INVALID_ARGUMENT, as a stream error with the packet; the stream stays open", func(x *bench) {
		missing, unknown, wide := packetOut(3, 0, nil), packetOut(3, 0, nil), packetOut(1<<16, 0, nil)
		missing.GetPacket().Metadata = missing.GetPacket().Metadata[:1]
		unknown.GetPacket().Metadata[0].MetadataId = 99
		for _, m := range []*p4v1.StreamMessageRequest{missing, unknown, wide} {
			x.say(x.session, m)
			e := x.streamError(x.session, codes.InvalidArgument)
			if !proto.Equal(e.GetPacketOut().GetPacketOut(), m.GetPacket()) {
				x.Errorf("the error does not have the packet: %v", e)
			}
		}
		x.must(insert(x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 1))))
	}, "PI drops it without an error"},
	{"16.6", "messages without content or of an unknown kind are stream errors", func(x *bench) {
		any, err := anypb.New(&p4v1.Uint128{})
		if err != nil {
			x.Fatal(err)
		}
		x.say(x.session, &p4v1.StreamMessageRequest{})
		x.streamError(x.session, codes.InvalidArgument)
		x.say(x.session, &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Other{Other: any}})
		if e := x.streamError(x.session, codes.Unimplemented); e.GetOther() == nil {
			x.Errorf("the error does not say of what: %v", e)
		}
		x.say(x.session, &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{DigestAck: &p4v1.DigestListAck{DigestId: 99}}})
		if e := x.streamError(x.session, codes.InvalidArgument); e.GetDigestListAck() == nil {
			x.Errorf("the error does not say of what: %v", e)
		}
	}, "PI has no stream errors"},
	{"17", "Capabilities returns the version of the API that is served", func(x *bench) {
		resp, err := x.client.Capabilities(x.ctx, &p4v1.CapabilitiesRequest{})
		if err != nil || resp.P4RuntimeApiVersion != "1.5.0" {
			x.Errorf("%v, %v, want 1.5.0", resp, err)
		}
		_, err = x.client.Capabilities(x.ctx, &p4v1.CapabilitiesRequest{DeviceId: 99})
		x.fails(err, codes.NotFound)
	}, "serves an earlier version"},
	{"11, 12", "a write that has begun is finished before the next primary is notified", func(x *bench) {
		const n = 4000
		var batch []*p4v1.Update
		for i := range uint64(n) {
			batch = append(batch, insert(&p4v1.TableEntry{TableId: x.id("t_ternary"), Priority: int32(i + 1), Match: []*p4v1.FieldMatch{ternary(1, i<<1, ^uint64(0)>>33<<1)}, Action: action(x.call("mark", 1))}))
		}
		done := make(chan error, 1)
		go func() { done <- x.write(batch...) }()
		next := x.open(x.election + 1)
		x.standing(next, codes.OK, x.election+1)
		first := len(x.got(&p4v1.TableEntry{TableId: x.id("t_ternary")}))
		err := <-done
		// The whole batch or, if the write was too late, nothing of it.
		second := len(x.got(&p4v1.TableEntry{TableId: x.id("t_ternary")}))
		if first != second || status.Code(err) == codes.PermissionDenied && second != 0 {
			x.Errorf("%d entries when the new primary was told, %d in the end: %v", first, second, err)
		}
	}, ""},
}

// replicas has one replica for each port, with the port number as instance.
func replicas(ports ...uint32) []*p4v1.Replica {
	var list []*p4v1.Replica
	for _, p := range ports {
		list = append(list, &p4v1.Replica{PortKind: &p4v1.Replica_Port{Port: short(uint64(p))}, Instance: p})
	}
	return list
}

// bits is a number as data.
func bits(v uint64) *p4v1.P4Data {
	return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: short(v)}}
}

// members are the members of a value set.
func members(values ...uint64) []*p4v1.ValueSetMember {
	var list []*p4v1.ValueSetMember
	for _, v := range values {
		list = append(list, &p4v1.ValueSetMember{Match: []*p4v1.FieldMatch{exact(1, v)}})
	}
	return list
}

// packetOut is a packet for a port.
func packetOut(port, process uint64, payload []byte) *p4v1.StreamMessageRequest {
	return &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{Payload: payload, Metadata: []*p4v1.PacketMetadata{
		{MetadataId: 1, Value: short(port)}, {MetadataId: 2, Value: []byte{0}}, {MetadataId: 3, Value: short(process)},
	}}}}
}

// streamError returns the next message of a stream, which must be an error
// with a code.
func (x *bench) streamError(s *session, code codes.Code) *p4v1.StreamError {
	x.Helper()
	e := x.next(s).GetError()
	if codes.Code(e.GetCanonicalCode()) != code || e.GetMessage() == "" {
		x.Errorf("stream error %v, want %v with a message", e, code)
	}
	return e
}

// outOf returns the frames that a port of our switch sends because of do, which
// sends a message on a stream.
func (x *bench) outOf(port int, do func()) []byte {
	x.Helper()
	do()
	x.silent(x.session) // the message has been handled
	frames := x.drain()
	i := slices.IndexFunc(frames, func(f frame) bool { return f.Port == port })
	if i < 0 {
		return nil
	}
	return frames[i].Data
}
