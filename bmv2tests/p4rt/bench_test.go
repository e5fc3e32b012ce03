// SPDX-License-Identifier: Apache-2.0

// Package p4rt tests P4Runtime servers against the clauses of the P4Runtime
// specification, version 1.5. It has a table of clauses with a test for each, which
// runs over loopback gRPC against our switch and, where it can pass, against
// simple_switch_grpc.
package p4rt

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/softswitch/solo"
	"github.com/pauseless/pauseless/softswitch/stf/simpleswitch"
)

// deviceID is the device id of every target.
const deviceID = 1

// config is the pipeline of testdata/clauses.p4.
var config = sync.OnceValues(func() (*p4v1.ForwardingPipelineConfig, error) {
	r, list := compiler.Compile(compiler.Options{File: "testdata/clauses.p4"})
	if err := list.Err(); err != nil {
		return nil, err
	}
	return &p4v1.ForwardingPipelineConfig{
		P4Info: r.P4Info, P4DeviceConfig: bmv2json.Encode(r.Program),
		Cookie: &p4v1.ForwardingPipelineConfig_Cookie{Cookie: 77},
	}, nil
})

// frame is a packet that a port sent.
type frame = simpleswitch.Frame

// target is a running switch.
type target struct {
	addr string
	// send injects a packet into a port and returns the frames that ports sent, in order.
	send func(port int, data []byte) []frame
	// drain returns frames that ports of our switch have sent and send has not returned.
	drain func() []frame
	// wait lets time pass, virtual time on our switch.
	wait func(time.Duration)
	// links sets the links of ports down and up.
	link   func(port int, up bool)
	soft   *softswitch.Switch // nil for simple_switch_grpc
	server *p4rtserver.Server // of soft
	// elections is a counter: on BMv2, which serves many tests, each test has a higher
	// election id than the tests before it.
	elections uint64
}

// startSoft starts our switch, in virtual time.
func startSoft(t testing.TB, opts p4rtserver.Options) *target {
	t.Helper()
	cfg := softswitch.Config{Name: "s1", DeviceID: deviceID, Ports: []softswitch.Port{{Number: 1}, {Number: 2}, {Number: 3}, {Number: 4}}}
	sw, err := softswitch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	net_ := solo.New(sw)
	var sent []frame
	net_.Sent = func(port int, f *packet.Frame, _ vtime.Time) {
		sent = append(sent, frame{Port: port, Data: slices.Clone(f.Data)})
		net_.Frames().Put(f)
	}
	srv := p4rtserver.New(sw, opts)
	return &target{
		addr: serve(t, srv).addr, soft: sw, server: srv,
		send: func(port int, data []byte) []frame {
			sw.Lock()
			defer sw.Unlock()
			sent = nil
			net_.Inject(port, data, 0)
			net_.RunUntil(net_.Now())
			return sent
		},
		drain: func() []frame {
			sw.Lock()
			defer sw.Unlock()
			return sent
		},
		wait: func(d time.Duration) {
			sw.Lock()
			defer sw.Unlock()
			net_.RunUntil(net_.Now() + vtime.Time(d.Nanoseconds())*vtime.Nanosecond)
		},
		link: func(port int, up bool) {
			sw.Lock()
			defer sw.Unlock()
			sw.LinkChanged(port, up)
		},
	}
}

// serve starts a server on a listener.
func serve(t testing.TB, srv *p4rtserver.Server) *target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := srv.GRPC(p4rtserver.GRPCConfig{})
	if err != nil {
		t.Fatal(err)
	}
	go g.Serve(l)
	t.Cleanup(g.Stop)
	return &target{addr: l.Addr().String()}
}

// startBMv2 starts simple_switch_grpc.
func startBMv2(t testing.TB, binary string) *target {
	t.Helper()
	sw, err := simpleswitch.Start(context.Background(), binary, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sw.Close() })
	return &target{
		addr: sw.P4Runtime,
		send: func(port int, data []byte) []frame {
			frames, err := sw.Send(frame{Port: port, Data: data})
			if err != nil {
				t.Error(err)
			}
			return frames
		},
		wait: time.Sleep,
	}
}

// bench is a target with a primary controller that has set the pipeline.
type bench struct {
	testing.TB
	*target
	ctx    context.Context
	client p4v1.P4RuntimeClient
	config *p4v1.ForwardingPipelineConfig
	*session
}

// session is one stream.
type session struct {
	stream   p4v1.P4Runtime_StreamChannelClient
	election uint64
	messages chan *p4v1.StreamMessageResponse
	ended    chan error
}

// patience is the time after which a test fails, on a machine that may be busy.
const patience = need.Patience

// newBench connects a controller. A bare one has no stream and has not set a
// pipeline.
func newBench(t testing.TB, target *target, bare bool) *bench {
	t.Helper()
	cfg, err := config()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(target.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	x := &bench{TB: t, target: target, ctx: t.Context(), client: p4v1.NewP4RuntimeClient(conn), config: cfg}
	if bare {
		return x
	}
	x.target.elections += 10
	x.session = x.open(x.target.elections)
	if a := x.arbitration(x.session); a.Status.Code != int32(codes.OK) {
		t.Fatalf("not primary: %v", a)
	}
	x.set(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, cfg)
	return x
}

// open opens a stream and asks to be primary with an election id; zero leaves
// it out.
func (x *bench) open(election uint64) *session {
	x.Helper()
	return x.openAs(&p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: uint128(election)})
}

func uint128(low uint64) *p4v1.Uint128 {
	if low == 0 {
		return nil
	}
	return &p4v1.Uint128{Low: low}
}

func (x *bench) openAs(u *p4v1.MasterArbitrationUpdate) *session {
	x.Helper()
	stream, err := x.client.StreamChannel(x.ctx)
	if err != nil {
		x.Fatal(err)
	}
	s := &session{stream: stream, election: u.GetElectionId().GetLow(), messages: make(chan *p4v1.StreamMessageResponse, 1024), ended: make(chan error, 1)}
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				s.ended <- err
				return
			}
			s.messages <- m
		}
	}()
	x.ask(s, u)
	return s
}

// ask sends an arbitration update.
func (x *bench) ask(s *session, u *p4v1.MasterArbitrationUpdate) {
	x.Helper()
	x.say(s, &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: u}})
}

func (x *bench) say(s *session, m *p4v1.StreamMessageRequest) {
	x.Helper()
	if err := s.stream.Send(m); err != nil {
		x.Fatal(err)
	}
}

// next returns the next message of a stream.
func (x *bench) next(s *session) *p4v1.StreamMessageResponse {
	x.Helper()
	select {
	case m := <-s.messages:
		return m
	case err := <-s.ended:
		s.ended <- err
		select { // select takes any ready channel
		case m := <-s.messages:
			return m
		default:
			x.Fatalf("the stream has ended: %v", err)
		}
	case <-time.After(patience):
		x.Fatal("no message came")
	}
	return nil
}

// silent fails the test if a stream has a message that precedes the answer to a
// call made now.
func (x *bench) silent(s *session) {
	x.Helper()
	if x.soft == nil { // BMv2 sends no stream errors
		select {
		case m := <-s.messages:
			x.Fatalf("an unexpected message: %v", m)
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
	// The server makes its own messages under its lock, so they are sent before this
	// answer.
	x.say(s, &p4v1.StreamMessageRequest{})
	m := x.next(s)
	if m.GetError() == nil {
		x.Fatalf("an unexpected message: %v", m)
	}
}

// arbitration returns the next message of a stream, which must be an arbitration
// update.
func (x *bench) arbitration(s *session) *p4v1.MasterArbitrationUpdate {
	x.Helper()
	m := x.next(s)
	a := m.GetArbitration()
	if a == nil {
		x.Fatalf("want an arbitration update, got %v", m)
	}
	return a
}

// standing fails the test unless the next message of a stream is an arbitration
// update with a code and the highest election id.
func (x *bench) standing(s *session, code codes.Code, highest uint64) {
	x.Helper()
	a := x.arbitration(s)
	if a.Status.GetCode() != int32(code) || a.ElectionId.GetLow() != highest || a.DeviceId != deviceID {
		x.Errorf("told %v, want %v and election id %d", a, code, highest)
	}
}

// refused fails the test unless a stream ends with a code.
func (x *bench) refused(s *session, code codes.Code) {
	x.Helper()
	for {
		select {
		case <-s.messages:
		case err := <-s.ended:
			if status.Code(err) != code {
				x.Errorf("the stream ended with %v, want %v", err, code)
			}
			return
		case <-time.After(patience):
			x.Fatal("the stream did not end")
		}
	}
}

// setPipeline sets a pipeline.
func (x *bench) setPipeline(action p4v1.SetForwardingPipelineConfigRequest_Action, cfg *p4v1.ForwardingPipelineConfig) error {
	_, err := x.client.SetForwardingPipelineConfig(x.ctx, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: deviceID, ElectionId: uint128(x.election), Action: action, Config: cfg,
	})
	return err
}

func (x *bench) set(action p4v1.SetForwardingPipelineConfigRequest_Action, cfg *p4v1.ForwardingPipelineConfig) {
	x.Helper()
	if err := x.setPipeline(action, cfg); err != nil {
		x.Fatal(err)
	}
}

// fails fails the test unless an error has a code.
func (x *bench) fails(err error, code codes.Code) {
	x.Helper()
	if status.Code(err) != code {
		x.Errorf("error %v, want %v", err, code)
	}
}

// change is an update.
func change(typ p4v1.Update_Type, m proto.Message) *p4v1.Update {
	return &p4v1.Update{Type: typ, Entity: entity(m)}
}

func insert(m proto.Message) *p4v1.Update { return change(p4v1.Update_INSERT, m) }
func modify(m proto.Message) *p4v1.Update { return change(p4v1.Update_MODIFY, m) }
func remove(m proto.Message) *p4v1.Update { return change(p4v1.Update_DELETE, m) }

// entity wraps the message of an entity.
func entity(m proto.Message) *p4v1.Entity {
	switch m := m.(type) {
	case *p4v1.TableEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: m}}
	case *p4v1.ActionProfileMember:
		return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileMember{ActionProfileMember: m}}
	case *p4v1.ActionProfileGroup:
		return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: m}}
	case *p4v1.CounterEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: m}}
	case *p4v1.DirectCounterEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_DirectCounterEntry{DirectCounterEntry: m}}
	case *p4v1.MeterEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: m}}
	case *p4v1.DirectMeterEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_DirectMeterEntry{DirectMeterEntry: m}}
	case *p4v1.RegisterEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: m}}
	case *p4v1.ValueSetEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_ValueSetEntry{ValueSetEntry: m}}
	case *p4v1.DigestEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: m}}
	case *p4v1.ExternEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_ExternEntry{ExternEntry: m}}
	case *p4v1.MulticastGroupEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: &p4v1.PacketReplicationEngineEntry{
			Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: m}}}}
	case *p4v1.CloneSessionEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: &p4v1.PacketReplicationEngineEntry{
			Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{CloneSessionEntry: m}}}}
	case nil:
		return nil
	}
	panic(fmt.Sprintf("BUG: %T is no entity", m))
}

// write writes a batch.
func (x *bench) write(updates ...*p4v1.Update) error {
	return x.writeAs(p4v1.WriteRequest_CONTINUE_ON_ERROR, updates...)
}

func (x *bench) writeAs(mode p4v1.WriteRequest_Atomicity, updates ...*p4v1.Update) error {
	_, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID, ElectionId: uint128(x.election), Updates: updates, Atomicity: mode})
	return err
}

// must is write for what must succeed.
func (x *bench) must(updates ...*p4v1.Update) {
	x.Helper()
	if err := x.write(updates...); err != nil {
		x.Fatalf("%v %v", err, status.Convert(err).Details())
	}
}

// details returns the codes of the updates of a batch.
func details(err error) []codes.Code {
	var list []codes.Code
	for _, d := range status.Convert(err).Details() {
		if e, ok := d.(*p4v1.Error); ok {
			list = append(list, codes.Code(e.CanonicalCode))
		}
	}
	return list
}

// refuses fails the test unless an update is answered with a code and a message.
func (x *bench) refuses(code codes.Code, u *p4v1.Update) {
	x.Helper()
	err := x.write(u)
	if got := details(err); status.Code(err) != codes.Unknown || !slices.Equal(got, []codes.Code{code}) {
		x.Errorf("%v\nis answered with %v %v, want %v", u, err, got, code)
		return
	}
	if e := status.Convert(err).Details()[0].(*p4v1.Error); e.Message == "" && x.soft != nil {
		x.Errorf("%v\nis answered with %v without a message", u, code)
	}
}

// read returns the entities that a request selects.
func (x *bench) read(want ...proto.Message) ([]*p4v1.Entity, error) {
	r := &p4v1.ReadRequest{DeviceId: deviceID}
	for _, m := range want {
		r.Entities = append(r.Entities, entity(m))
	}
	stream, err := x.client.Read(x.ctx, r)
	if err != nil {
		return nil, err
	}
	var list []*p4v1.Entity
	for {
		m, err := stream.Recv()
		if err != nil {
			if status.Code(err) == codes.Unknown && err.Error() == "EOF" {
				err = nil
			}
			return list, err
		}
		list = append(list, m.Entities...)
	}
}

// got is read for requests that must succeed.
func (x *bench) got(want ...proto.Message) []*p4v1.Entity {
	x.Helper()
	list, err := x.read(want...)
	if err != nil {
		x.Fatalf("reading %v: %v %v", want, err, status.Convert(err).Details())
	}
	return list
}

// refusesRead is refuses for a read of one entity.
func (x *bench) refusesRead(code codes.Code, m proto.Message) {
	x.Helper()
	_, err := x.read(m)
	if got := details(err); status.Code(err) != codes.Unknown || !slices.Equal(got, []codes.Code{code}) {
		x.Errorf("reading %v is answered with %v %v, want %v", m, err, got, code)
	}
}

// same fails the test unless the entities are equal to the wanted ones, in any
// order.
func (x *bench) same(got []*p4v1.Entity, want ...proto.Message) {
	x.Helper()
	if len(got) != len(want) {
		x.Errorf("read %d entities, want %d:\n%v", len(got), len(want), got)
		return
	}
	for _, m := range want {
		if !slices.ContainsFunc(got, func(e *p4v1.Entity) bool { return proto.Equal(e, entity(m)) }) {
			x.Errorf("%v was not read, but\n%v", m, got)
		}
	}
}

// id returns the identifier of an object by its name.
func (x *bench) id(name string) uint32 {
	x.Helper()
	info := x.config.P4Info
	var list []*p4configv1.Preamble
	for _, o := range info.Tables {
		list = append(list, o.Preamble)
	}
	for _, o := range info.Actions {
		list = append(list, o.Preamble)
	}
	for _, o := range info.ActionProfiles {
		list = append(list, o.Preamble)
	}
	for _, o := range info.Counters {
		list = append(list, o.Preamble)
	}
	for _, o := range info.Meters {
		list = append(list, o.Preamble)
	}
	for _, o := range info.Registers {
		list = append(list, o.Preamble)
	}
	for _, o := range info.ValueSets {
		list = append(list, o.Preamble)
	}
	for _, o := range info.Digests {
		list = append(list, o.Preamble)
	}
	for _, p := range list {
		if p.Name == name || p.Alias == name {
			return p.Id
		}
	}
	x.Fatalf("no object %s in the P4Info", name)
	return 0
}

// short writes a number as the shortest byte string.
func short(v uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, v)
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	return b
}

// Matches of one field.
func exact(field uint32, v uint64) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: short(v)}}}
}

func lpm(field uint32, v uint64, n int32) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field, FieldMatchType: &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: short(v), PrefixLen: n}}}
}

func ternary(field uint32, v, mask uint64) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field, FieldMatchType: &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: short(v), Mask: short(mask)}}}
}

func between(field uint32, low, high uint64) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field, FieldMatchType: &p4v1.FieldMatch_Range_{Range: &p4v1.FieldMatch_Range{Low: short(low), High: short(high)}}}
}

func optional(field uint32, v uint64) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field, FieldMatchType: &p4v1.FieldMatch_Optional_{Optional: &p4v1.FieldMatch_Optional{Value: short(v)}}}
}

// call is an action with its arguments.
func (x *bench) call(name string, args ...uint64) *p4v1.Action {
	x.Helper()
	a := &p4v1.Action{ActionId: x.id(name)}
	for i, v := range args {
		a.Params = append(a.Params, &p4v1.Action_Param{ParamId: uint32(i + 1), Value: short(v)})
	}
	return a
}

func action(a *p4v1.Action) *p4v1.TableAction {
	return &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: a}}
}

// entry is a table entry that calls an action.
func (x *bench) entry(table string, a *p4v1.Action, match ...*p4v1.FieldMatch) *p4v1.TableEntry {
	x.Helper()
	e := &p4v1.TableEntry{TableId: x.id(table), Match: match}
	if a != nil {
		e.Action = action(a)
	}
	return e
}

// body makes a packet.
func body(kind byte, a uint32, b uint16, c byte) []byte {
	p := []byte{kind}
	p = binary.BigEndian.AppendUint32(p, a)
	p = binary.BigEndian.AppendUint16(p, b)
	return append(p, c, 0)
}

// markAt is the offset of the field mark in a packet, cAt that of c.
const cAt, markAt = 7, 8

// mark sends a packet into port 1 and returns its mark, or −1 if port 2 sent
// nothing.
func (x *bench) mark(data []byte) int {
	x.Helper()
	for _, f := range x.send(1, data) {
		if f.Port == 2 {
			return int(f.Data[markAt])
		}
	}
	return -1
}

// marks fails the test unless a packet gets a mark.
func (x *bench) marks(want int, data []byte) {
	x.Helper()
	if got := x.mark(data); got != want {
		x.Errorf("packet %x gets mark %#x, want %#x", data, got, want)
	}
}
