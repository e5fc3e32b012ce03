// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"context"
	"io"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// fakeStream is a controller's stream without a network: its messages, and then
// nothing until it is closed.
type fakeStream struct {
	grpc.ServerStream
	says   chan *p4v1.StreamMessageRequest
	closed chan struct{}
}

func (s *fakeStream) Recv() (*p4v1.StreamMessageRequest, error) {
	select {
	case m := <-s.says:
		return m, nil
	case <-s.closed:
		return nil, io.EOF
	}
}
func (s *fakeStream) Send(*p4v1.StreamMessageResponse) error { return nil }
func (s *fakeStream) Context() context.Context               { return context.Background() }

// fakeRead collects the entities that are read.
type fakeRead struct {
	grpc.ServerStream
	entities []*p4v1.Entity
}

func (s *fakeRead) Send(r *p4v1.ReadResponse) error {
	s.entities = append(s.entities, r.Entities...)
	return nil
}
func (s *fakeRead) Context() context.Context { return context.Background() }

// Kinds of messages that FuzzServer makes from its input.
const (
	fuzzWrite = iota
	fuzzRollback
	fuzzRead
	fuzzStream
	fuzzPipeline
	fuzzGet
	fuzzKinds
)

// FuzzServer sends arbitrary messages to the server. It must answer with a code of
// the specification, change nothing for a refused batch, and return its entities
// when they are read.
func FuzzServer(f *testing.F) {
	cfg, err := config()
	if err != nil {
		f.Fatal(err)
	}
	x := &bench{TB: f, config: cfg}
	updates := []*p4v1.Update{
		insert(x.exactEntry(1, 1)), insert(x.ternaryEntry(3, 1, ternary(1, 1, 1), between(2, 1, 2), optional(3, 4))),
		insert(x.entry("t_lpm", x.call("mark", 1), lpm(1, 0x0a000000, 8), exact(2, 1))), modify(x.defaultEntry("t_lpm", x.call("mark", 1))),
		insert(x.member("selector", 1, 1)), insert(x.group(1, 1)), insert(x.indirect("t_select", 1, 0, 1)), insert(x.oneShot(2, map[uint64]int32{1: 1, 2: 2})),
		modify(&p4v1.CounterEntry{CounterId: x.id("by_port"), Index: index(1), Data: &p4v1.CounterData{PacketCount: 1}}),
		modify(&p4v1.MeterEntry{MeterId: x.id("shared_police"), Index: index(1), Config: &p4v1.MeterConfig{Cir: 1, Cburst: 1, Pir: 1, Pburst: 1}}),
		modify(&p4v1.RegisterEntry{RegisterId: x.id("signed"), Index: index(1), Data: bits(0x7f)}),
		modify(&p4v1.ValueSetEntry{ValueSetId: x.id("kinds"), Members: members(3)}),
		insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 1, Replicas: replicas(1, 2)}), insert(&p4v1.CloneSessionEntry{SessionId: 5, Replicas: replicas(1)}),
		insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 1, MaxTimeoutNs: 5, AckTimeoutNs: 5}}),
		modify(&p4v1.DirectCounterEntry{TableEntry: x.exactEntry(1, 1), Data: &p4v1.CounterData{}}),
		modify(&p4v1.DirectMeterEntry{TableEntry: x.entry("t_meter", nil, exact(1, 1)), Config: &p4v1.MeterConfig{}}),
	}
	fuzzServer(f, x, updates, packetOut(2, 1, body(12, 1, 2, 3)))
}

// FuzzTranslated is FuzzServer with translated types.
func FuzzTranslated(f *testing.F) {
	cfg, err := translated()
	if err != nil {
		f.Fatal(err)
	}
	x := &bench{TB: f, config: cfg}
	updates := []*p4v1.Update{
		insert(x.tenant(1, "red")), insert(x.route("red", "eth1", optionally(2, "eth2"))), insert(x.entry("t_class", x.call("mark", 1), exact(1, 0x10001))),
		modify(x.entry("t_mixed", x.call("mark", 3), exact(1, 2))), modify(&p4v1.DirectCounterEntry{TableEntry: x.entry("t_mixed", nil, exact(1, 1)), Data: &p4v1.CounterData{}}),
		modify(&p4v1.RegisterEntry{RegisterId: x.id("last"), Index: index(1), Data: bits(0x233033)}),
		insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 1}}),
	}
	fuzzServer(f, x, updates, &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{
		Payload: body(0, 0, 0, 0), Metadata: []*p4v1.PacketMetadata{{MetadataId: 1, Value: []byte("eth1")}}}}})
}

// fuzzServer fuzzes with a pipeline. Its seeds are valid updates and a packet-out.
func fuzzServer(f *testing.F, x *bench, updates []*p4v1.Update, out *p4v1.StreamMessageRequest) {
	cfg := x.config
	add := func(kind byte, m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind, b)
	}
	read := &p4v1.ReadRequest{}
	for _, u := range updates {
		add(fuzzWrite, &p4v1.WriteRequest{Updates: []*p4v1.Update{u, {Type: p4v1.Update_MODIFY, Entity: u.Entity}, {Type: p4v1.Update_DELETE, Entity: u.Entity}}})
		add(fuzzRollback, &p4v1.WriteRequest{Updates: []*p4v1.Update{u, {Type: p4v1.Update_MODIFY, Entity: u.Entity}, {Type: p4v1.Update_INSERT, Entity: u.Entity}}})
		read.Entities = append(read.Entities, u.Entity)
		add(fuzzRead, &p4v1.ReadRequest{Entities: []*p4v1.Entity{u.Entity}})
	}
	add(fuzzWrite, &p4v1.WriteRequest{Updates: updates})
	add(fuzzRead, read)
	add(fuzzStream, out)
	add(fuzzStream, &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{DigestAck: &p4v1.DigestListAck{DigestId: x.id("alert_t"), ListId: 1}}})
	add(fuzzPipeline, &p4v1.SetForwardingPipelineConfigRequest{Action: p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT, Config: cfg})
	add(fuzzGet, &p4v1.GetForwardingPipelineConfigRequest{ResponseType: p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY})
	var sw *softswitch.Switch
	var net *solo.Net
	var s *p4rtserver.Server
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		// An unchanged switch is reused: making one takes longer than the rest.
		if sw == nil {
			var err error
			if sw, err = softswitch.New(softswitch.Config{DeviceID: deviceID, Ports: []softswitch.Port{{Number: 1}, {Number: 2}}}); err != nil {
				t.Fatal(err)
			}
			net = solo.New(sw)
			s = p4rtserver.New(sw, soft)
			if err := s.Preload(cfg, updates[:1]); err != nil {
				t.Fatal(err)
			}
		}
		changed := true
		defer func() {
			if changed {
				sw = nil
			}
		}()
		stream := &fakeStream{says: make(chan *p4v1.StreamMessageRequest), closed: make(chan struct{})}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.StreamChannel(stream)
		}()
		defer func() {
			close(stream.closed)
			<-ended
		}()
		say := func(m *p4v1.StreamMessageRequest) {
			select {
			case stream.says <- m:
			case <-ended:
			}
		}
		say(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: uint128(1)}}})
		settle := func() { // when the second is received, all messages before the first have been handled
			say(&p4v1.StreamMessageRequest{})
			say(&p4v1.StreamMessageRequest{})
		}
		settle()
		everything := func() []byte {
			var r fakeRead
			all := &p4v1.ReadRequest{DeviceId: deviceID, Entities: []*p4v1.Entity{entity(&p4v1.TableEntry{}), entity(&p4v1.ActionProfileMember{}), entity(&p4v1.ActionProfileGroup{}),
				entity(&p4v1.CounterEntry{}), entity(&p4v1.MeterEntry{}), entity(&p4v1.RegisterEntry{}), entity(&p4v1.ValueSetEntry{}), entity(&p4v1.MulticastGroupEntry{}),
				entity(&p4v1.CloneSessionEntry{}), entity(&p4v1.DigestEntry{})}}
			for _, table := range cfg.P4Info.Tables {
				all.Entities = append(all.Entities, entity(&p4v1.TableEntry{TableId: table.Preamble.Id, IsDefaultAction: true}))
			}
			if err := s.Read(all, &r); err != nil {
				t.Fatalf("reading everything: %v", err)
			}
			return marshal(&p4v1.ReadResponse{Entities: r.entities})
		}
		ctx := context.Background()
		allowed := func(err error, list ...codes.Code) {
			for _, c := range append(list, codes.OK) {
				if status.Code(err) == c {
					return
				}
			}
			t.Fatalf("answered with %v", err)
		}
		switch kind % fuzzKinds {
		case fuzzWrite, fuzzRollback:
			var r p4v1.WriteRequest
			if proto.Unmarshal(data, &r) != nil {
				changed = false
				return
			}
			r.DeviceId, r.ElectionId, r.Role, r.Atomicity = deviceID, uint128(1), "", p4v1.WriteRequest_CONTINUE_ON_ERROR
			setOldRole(&r, 0) // the message of another role is refused as a whole
			if kind%fuzzKinds == fuzzRollback {
				r.Atomicity = p4v1.WriteRequest_ROLLBACK_ON_ERROR
			}
			before := everything()
			_, err := s.Write(ctx, &r)
			allowed(err, codes.Unknown)
			if d := details(err); err != nil && len(d) != len(r.Updates) {
				t.Fatalf("%d updates are answered with %v", len(r.Updates), d)
			}
			for _, c := range details(err) {
				if c == codes.Internal || c == codes.Unknown {
					t.Fatalf("an update is answered with %v: %v", c, err)
				}
			}
			after := everything()
			if err != nil && kind%fuzzKinds == fuzzRollback && string(before) != string(after) {
				t.Fatalf("a batch that was refused has left something behind: %v", err)
			}
			if string(before) == string(after) {
				changed = false // except direct resources, on which no later answer depends
				return
			}
			// The next controller can use the state, and packets still pass.
			_, err = s.SetForwardingPipelineConfig(ctx, &p4v1.SetForwardingPipelineConfigRequest{DeviceId: deviceID, ElectionId: uint128(1),
				Action: p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT, Config: cfg})
			if err != nil {
				t.Fatalf("RECONCILE_AND_COMMIT: %v", err)
			}
			sw.Lock()
			for kind := range byte(18) {
				net.Inject(1, body(kind, 1, 1, 1), 0)
			}
			net.RunUntil(1)
			sw.Unlock()
		case fuzzRead:
			changed = false
			var r p4v1.ReadRequest
			if proto.Unmarshal(data, &r) != nil {
				return
			}
			r.DeviceId = deviceID
			allowed(s.Read(&r, &fakeRead{}), codes.Unknown)
		case fuzzStream:
			changed = false
			var m p4v1.StreamMessageRequest
			if proto.Unmarshal(data, &m) != nil {
				return
			}
			say(&m)
			settle()
			everything()
		case fuzzPipeline:
			var r p4v1.SetForwardingPipelineConfigRequest
			if proto.Unmarshal(data, &r) != nil {
				return
			}
			r.DeviceId, r.ElectionId, r.Role = deviceID, uint128(1), ""
			if len(data)%2 == 0 && r.Config != nil { // a valid program, so that the P4Info is checked
				r.Config.P4DeviceConfig = cfg.P4DeviceConfig
			}
			_, err := s.SetForwardingPipelineConfig(ctx, &r)
			allowed(err, codes.InvalidArgument, codes.NotFound)
			everything()
		case fuzzGet:
			changed = false
			var r p4v1.GetForwardingPipelineConfigRequest
			if proto.Unmarshal(data, &r) != nil {
				return
			}
			r.DeviceId = deviceID
			_, err := s.GetForwardingPipelineConfig(ctx, &r)
			allowed(err, codes.InvalidArgument)
		}
	})
}
