// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"slices"
	"sync"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// translated is the pipeline of testdata/translated.p4.
var translated = sync.OnceValues(func() (*p4v1.ForwardingPipelineConfig, error) {
	r, list := compiler.Compile(compiler.Options{File: "testdata/translated.p4"})
	if err := list.Err(); err != nil {
		return nil, err
	}
	return &p4v1.ForwardingPipelineConfig{P4Info: r.P4Info, P4DeviceConfig: bmv2json.Encode(r.Program)}, nil
})

// translations is the configuration of our switch for testdata/translated.p4.
var translations = map[string]map[string]uint64{
	"test/port":  {"eth1": 1, "eth2": 2, "eth3": 3, "cpu": 510},
	"test/class": {"0x10001": 7},
}

// translate sets the pipeline translated.
func (x *bench) translate() {
	x.Helper()
	cfg, err := translated()
	if err != nil {
		x.Fatal(err)
	}
	x.config = cfg
	x.set(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, cfg)
}

func exactly(field uint32, text string) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: []byte(text)}}}
}

func optionally(field uint32, text string) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field, FieldMatchType: &p4v1.FieldMatch_Optional_{Optional: &p4v1.FieldMatch_Optional{Value: []byte(text)}}}
}

// callWith is an action whose argument is a string.
func (x *bench) callWith(name, arg string) *p4v1.Action {
	return &p4v1.Action{ActionId: x.id(name), Params: []*p4v1.Action_Param{{ParamId: 1, Value: []byte(arg)}}}
}

// tenant is an entry that sets the tenant of packets by their field a.
func (x *bench) tenant(a uint64, name string) *p4v1.TableEntry {
	return x.entry("t_tenant", x.callWith("set_tenant", name), exact(1, a))
}

// route is an entry that sends a tenant's packets to a port.
func (x *bench) route(tenant, port string, match ...*p4v1.FieldMatch) *p4v1.TableEntry {
	e := x.entry("t_route", x.callWith("send", port), append([]*p4v1.FieldMatch{exactly(1, tenant)}, match...)...)
	e.Priority = 1
	return e
}

// leaves fails the test unless a port sends the packet.
func (x *bench) leaves(port int, data []byte) {
	x.Helper()
	if out := x.send(1, data); len(out) != 1 || out[0].Port != port {
		x.Errorf("packet %x: %v came out, want one by port %d", data, out, port)
	}
}

func (x *bench) lastTenant() string {
	x.Helper()
	got := x.got(&p4v1.RegisterEntry{RegisterId: x.id("last"), Index: &p4v1.Index{Index: 0}})
	return string(got[0].GetRegisterEntry().GetData().GetBitstring())
}

const noTranslation = "PI does not translate"

var translateClauses = []clause{
	{"8.4.6", "strings: what is written is read back the same, and one string is one value everywhere", func(x *bench) {
		x.translate()
		red, blue := x.tenant(1, "red"), x.tenant(2, "blue")
		toRed, toBlue := x.route("red", "eth3"), x.route("blue", "eth2")
		x.must(insert(red), insert(blue), insert(toRed), insert(toBlue))
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_tenant")}), red, blue)
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_route")}), toRed, toBlue)
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_route"), Match: toRed.Match, Priority: 1}), toRed)
		x.leaves(3, body(1, 1, 0, 0))
		x.leaves(2, body(1, 2, 0, 0))
		if got := x.lastTenant(); got != "blue" {
			x.Errorf("the register has tenant %q, want blue", got)
		}
	}, noTranslation},
	{"8.4.6", "strings in registers and digests", func(x *bench) {
		x.translate()
		digest := x.id("alert_t")
		x.must(insert(x.tenant(1, "red")), insert(&p4v1.DigestEntry{DigestId: digest, Config: &p4v1.DigestEntry_Config{MaxListSize: 1}}))
		x.send(1, body(4, 1, 0, 0))
		list := x.next(x.session).GetDigest()
		if m := list.GetData()[0].GetStruct().GetMembers(); string(m[0].GetBitstring()) != "red" {
			x.Errorf("the digest has %v, want tenant red", m)
		}
		cell := func(name string) *p4v1.RegisterEntry {
			return &p4v1.RegisterEntry{RegisterId: x.id("last"), Index: &p4v1.Index{Index: 1}, Data: &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: []byte(name)}}}
		}
		x.must(modify(cell("red")))
		x.same(x.got(&p4v1.RegisterEntry{RegisterId: x.id("last"), Index: &p4v1.Index{Index: 1}}), cell("red"))
	}, noTranslation},
	{"8.4.6", "strings that the program or the configuration maps have the mapped numbers", func(x *bench) {
		x.translate()
		x.must(insert(x.route("default", "eth3", optionally(2, "eth1"))))
		x.leaves(3, body(1, 9, 0, 0)) // no tenant: 0
		if got := x.lastTenant(); got != "default" {
			x.Errorf("the register has tenant %q, want default", got)
		}
		x.refuses(codes.InvalidArgument, insert(x.route("red", "eth9")))
		x.refuses(codes.InvalidArgument, insert(x.route("red", "eth1", optionally(2, "nowhere"))))
	}, noTranslation},
	{"8.4.6", "strings: a failed update adds none; when all numbers are used, new strings are RESOURCE_EXHAUSTED until another pipeline is set", func(x *bench) {
		x.translate() // two bits: three names beside default
		for range 5 {
			x.refuses(codes.InvalidArgument, insert(x.route("lost", "eth9")))
			x.refuses(codes.NotFound, remove(x.route("gone", "eth1")))
			err := x.writeAs(p4v1.WriteRequest_ROLLBACK_ON_ERROR, insert(x.tenant(7, "undone")), remove(x.tenant(8, "x")))
			if got := details(err); !slices.Equal(got, []codes.Code{codes.Aborted, codes.NotFound}) {
				x.Errorf("the batch is answered with %v", got)
			}
		}
		x.must(insert(x.tenant(1, "a")), insert(x.tenant(2, "b")), insert(x.tenant(3, "c")))
		x.refuses(codes.ResourceExhausted, insert(x.tenant(4, "d")))
		x.must(insert(x.tenant(4, "b")))
		if got := x.got(x.route("nobody", "eth1")); len(got) != 0 {
			x.Errorf("of a string that no entry has, %v is read", got)
		}
		x.translate()
		x.must(insert(x.tenant(4, "d")))
	}, noTranslation},
	{"8.4.6", "numbers of another width, and others where the configuration allows it", func(x *bench) {
		x.translate()
		same, other := x.entry("t_class", x.call("mark", 0x55), exact(1, 5)), x.entry("t_class", x.call("mark", 0x77), exact(1, 0x10001))
		x.must(insert(other))
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_class")}), other)
		x.marks(0x77, body(2, 0, 0, 7))
		x.refuses(codes.InvalidArgument, insert(same)) // the configuration has all values
		x.refuses(codes.InvalidArgument, insert(x.entry("t_class", x.call("mark", 1), exact(1, 1<<32))))
	}, noTranslation},
	{"8.4.6", "types with the same URI but different translations are INVALID_ARGUMENT", func(x *bench) {
		cfg, err := translated()
		if err != nil {
			x.Fatal(err)
		}
		cfg = proto.Clone(cfg).(*p4v1.ForwardingPipelineConfig)
		for _, t := range cfg.P4Info.TypeInfo.NewTypes {
			if t.GetTranslatedType().GetUri() == "test/port" {
				t.GetTranslatedType().Uri = ""
			}
		}
		x.set(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, cfg) // then the key is the type's name
		for _, t := range cfg.P4Info.TypeInfo.NewTypes {
			t.GetTranslatedType().Uri = "the same"
		}
		x.fails(x.setPipeline(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, cfg), codes.InvalidArgument)
	}, noTranslation},
	{"16.1, 18.1", "strings in the metadata of packets", func(x *bench) {
		x.translate()
		x.send(1, body(5, 0, 0, 0))
		in := x.next(x.session).GetPacket()
		if m := in.GetMetadata(); len(m) == 0 || string(m[0].Value) != "eth1" {
			x.Errorf("the packet came with %v, want eth1", m)
		}
		out := func(port string) *p4v1.StreamMessageRequest {
			return &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{
				Payload: body(0, 0, 0, 0), Metadata: []*p4v1.PacketMetadata{{MetadataId: 1, Value: []byte(port)}},
			}}}
		}
		x.say(x.session, out("eth3"))
		x.silent(x.session)
		if f := x.drain(); len(f) != 1 || f[0].Port != 3 {
			x.Errorf("%v came out, want one by port 3", f)
		}
		x.say(x.session, out("eth9"))
		if e := x.next(x.session).GetError(); e.GetCanonicalCode() != int32(codes.InvalidArgument) {
			x.Errorf("a packet for eth9 is answered with %v", e)
		}
	}, noTranslation},
	{"8.4.6, 14", "RECONCILE_AND_COMMIT keeps the numbers of strings", func(x *bench) {
		x.translate()
		x.must(insert(x.tenant(1, "red")), insert(x.tenant(2, "blue")), remove(x.tenant(1, "red")))
		x.send(1, body(1, 2, 0, 0))
		x.set(p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT, x.config)
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_tenant")}), x.tenant(2, "blue"))
		if got := x.lastTenant(); got != "blue" {
			x.Errorf("the register has tenant %q, want blue", got)
		}
	}, noTranslation},
	{"9.1.5", "single const entries are read as such, and cannot be changed except for direct resources: PERMISSION_DENIED", func(x *bench) {
		x.translate()
		fixed, free := x.entry("t_mixed", x.call("mark", 0x11), exact(1, 1)), x.entry("t_mixed", x.call("mark", 0x22), exact(1, 2))
		read := proto.Clone(fixed).(*p4v1.TableEntry)
		read.IsConst = true
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_mixed")}), read, free)
		x.marks(0x11, body(3, 0, 1, 0))
		x.refuses(codes.PermissionDenied, modify(x.entry("t_mixed", x.call("mark", 0x99), exact(1, 1))))
		x.refuses(codes.PermissionDenied, remove(fixed))
		x.refuses(codes.AlreadyExists, insert(fixed))
		x.must(modify(&p4v1.TableEntry{TableId: fixed.TableId, Match: fixed.Match, CounterData: &p4v1.CounterData{PacketCount: 40}}))
		x.marks(0x11, body(3, 0, 1, 0))
		read.CounterData = &p4v1.CounterData{PacketCount: 41}
		got := x.got(&p4v1.TableEntry{TableId: fixed.TableId, Match: fixed.Match, CounterData: &p4v1.CounterData{}})
		if e := got[0].GetTableEntry(); !e.IsConst || e.CounterData.GetPacketCount() != 41 {
			x.Errorf("read %v, want a const entry with 41 packets", e)
		}
		x.must(modify(x.entry("t_mixed", x.call("mark", 0x33), exact(1, 2))), insert(x.entry("t_mixed", x.call("mark", 0x44), exact(1, 3))))
		x.set(p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT, x.config)
		x.marks(0x11, body(3, 0, 1, 0))
		x.marks(0x33, body(3, 0, 2, 0))
		x.marks(0x44, body(3, 0, 3, 0))
		x.refuses(codes.PermissionDenied, remove(fixed))
		x.must(remove(free))
	}, "BMv2 treats such entries as constant"},
	{"9.1", "is_const in an update is INVALID_ARGUMENT", func(x *bench) {
		e := x.entry("t_right", x.call("mark_c", 1), exact(1, 1))
		x.must(insert(e))
		e.IsConst = true
		for _, typ := range []p4v1.Update_Type{p4v1.Update_INSERT, p4v1.Update_MODIFY, p4v1.Update_DELETE} {
			x.refuses(codes.InvalidArgument, change(typ, e))
		}
	}, "PI does not support is_const"},
	{"5.2", "a role can write, and is notified of, only what its configuration has: PERMISSION_DENIED", func(x *bench) {
		s := x.role("tables", map[string]any{"entities": []any{"t_right", "by_port", "alert_t"}})
		x.standing(s, codes.OK, 1)
		as := func(u *p4v1.Update) error {
			_, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID, Role: "tables", ElectionId: uint128(1), Updates: []*p4v1.Update{u}})
			return err
		}
		right, left := x.entry("t_right", x.call("mark_c", 1), exact(1, 1)), x.entry("t_left", x.call("mark", 1), exact(1, 1))
		if err := as(insert(right)); err != nil {
			x.Error(err)
		}
		for _, u := range []*p4v1.Update{
			insert(left), insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 1}),
			modify(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Data: &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: []byte{1}}}}),
		} {
			if got := details(as(u)); !slices.Equal(got, []codes.Code{codes.PermissionDenied}) {
				x.Errorf("%v is answered with %v, want PERMISSION_DENIED", u, got)
			}
		}
		_, err := x.client.SetForwardingPipelineConfig(x.ctx, &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: deviceID, Role: "tables", ElectionId: uint128(1), Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: x.config})
		x.fails(err, codes.PermissionDenied)
		// A digest goes to both roles, a packet-in only to the other one.
		x.must(insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 1}}))
		x.send(1, body(15, 0, 0, 0))
		x.send(1, body(12, 1, 0, 0))
		if m := x.next(x.session); m.GetPacket() == nil {
			x.Errorf("the default role is told %v, want a packet", m)
		}
		for _, to := range []*session{x.session, s} {
			if m := x.next(to); m.GetDigest() == nil {
				x.Errorf("told %v, want a digest", m)
			}
		}
		x.say(s, &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{Payload: body(0, 0, 0, 0)}}})
		if e := x.next(s).GetError(); e.GetCanonicalCode() != int32(codes.PermissionDenied) {
			x.Errorf("a packet-out is answered with %v", e)
		}
	}, "PI uses role ids, not names"},
	{"5.2, 5.4", "a role's configuration is the one that its primary sent last, and all controllers of the role are notified", func(x *bench) {
		first := x.role("q", map[string]any{"entities": []any{"t_right"}, "pipeline": true})
		if a := x.arbitration(first); a.GetRole().GetConfig() == nil {
			x.Errorf("told %v without the configuration", a)
		}
		second := x.openAs(&p4v1.MasterArbitrationUpdate{DeviceId: deviceID, Role: &p4v1.Role{Name: "q"}, ElectionId: uint128(2)})
		for _, s := range []*session{first, second} {
			if a := x.arbitration(s); a.GetRole().GetConfig() != nil || a.ElectionId.GetLow() != 2 {
				x.Errorf("told %v, want the new primary's configuration: none", a)
			}
		}
	}, "PI uses role ids, not names"},
	{"5.2", "an invalid role configuration is INVALID_ARGUMENT", func(x *bench) {
		for _, fields := range []map[string]any{{"entities": "t_left"}, {"entities": []any{1}}, {"packet_in": "yes"}, {"tables": []any{}}} {
			x.refused(x.role("bad", fields), codes.InvalidArgument)
		}
	}, "PI ignores it"},
}

// role opens a stream under a role with a configuration.
func (x *bench) role(name string, fields map[string]any) *session {
	x.Helper()
	s, err := structpb.NewStruct(fields)
	if err != nil {
		x.Fatal(err)
	}
	config, err := anypb.New(s)
	if err != nil {
		x.Fatal(err)
	}
	return x.openAs(&p4v1.MasterArbitrationUpdate{DeviceId: deviceID, Role: &p4v1.Role{Name: name, Config: config}, ElectionId: uint128(1)})
}

// p4c's entries file has the program's entries, including const ones. A switch that
// starts with it has each entry once. The BMv2 JSON of p4c does not have which
// entries are const; the file does.
func TestEntriesFileOfP4c(t *testing.T) {
	cfg, err := translated()
	if err != nil {
		t.Fatal(err)
	}
	json, err := bmv2json.Decode("translated.json", cfg.P4DeviceConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, pl := range json.Pipelines {
		for _, table := range pl.Tables {
			for _, e := range table.Entries {
				e.Const = false // as in p4c's JSON
			}
		}
	}
	x := &bench{TB: t, config: cfg}
	file := []*p4v1.Update{
		insert(x.entry("t_mixed", x.call("mark", 0x11), exact(1, 1))), insert(x.entry("t_mixed", x.call("mark", 0x22), exact(1, 2))),
		insert(x.entry("t_class", x.call("mark", 0x77), exact(1, 7))),
	}
	file[0].Entity.GetTableEntry().IsConst = true
	sw, err := softswitch.New(softswitch.Config{Name: "s1", DeviceID: deviceID})
	if err != nil {
		t.Fatal(err)
	}
	solo.New(sw)
	srv := p4rtserver.New(sw, p4rtserver.Options{})
	start := &p4v1.ForwardingPipelineConfig{P4Info: cfg.P4Info, P4DeviceConfig: bmv2json.Encode(json)}
	if err := srv.Preload(start, file); err != nil {
		t.Fatal(err)
	}
	x = newBench(t, serve(t, srv), true)
	x.config = cfg
	got := x.got(&p4v1.TableEntry{TableId: x.id("t_mixed")})
	want := []proto.Message{proto.Clone(file[0].Entity.GetTableEntry()), proto.Clone(file[1].Entity.GetTableEntry())}
	x.same(got, want...)
	if err := srv.Preload(start, append(file, insert(x.entry("t_mixed", x.call("mark", 0x99), exact(1, 2))))); err == nil {
		t.Error("another entry in the place of one of the program's is taken")
	}
}
