// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/infocheck/infochecktest"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// limitClauses are about limits that the specification leaves to the server, and
// about requests that it must refuse.
var limitClauses = []clause{
	{"5.1", "a role needs a name: an id alone is INVALID_ARGUMENT, and does not mean the default role", func(x *bench) {
		x.refused(x.openAs(oldRole(7, x.election+5)), codes.InvalidArgument)
		x.must(insert(x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 1)))) // this one is still primary
		r := &p4v1.WriteRequest{DeviceId: deviceID, ElectionId: uint128(x.election)}
		setOldRole(r, 7)
		_, err := x.client.Write(x.ctx, r)
		x.fails(err, codes.InvalidArgument)
	}, "PI uses role ids, not names"},
	{"5.1", "names of roles have a maximum length: a longer one is INVALID_ARGUMENT", func(x *bench) {
		name := strings.Repeat("r", 100_000)
		x.refused(x.openAs(&p4v1.MasterArbitrationUpdate{DeviceId: deviceID, Role: &p4v1.Role{Name: name}, ElectionId: uint128(1)}), codes.InvalidArgument)
		_, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID, Role: name, ElectionId: uint128(1)})
		x.fails(err, codes.InvalidArgument)
		if n := len(status.Convert(err).Message()); n > 1000 {
			x.Errorf("the answer has %d bytes", n)
		}
	}, "PI uses role ids, not names"},
	{"8.4", "registers: a byte string that does not fit, or is empty, is OUT_OF_RANGE", func(x *bench) {
		r := &p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: index(0), Data: bits(1 << 48)}
		x.refuses(codes.OutOfRange, modify(r))
		r.Data = &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{}}
		x.refuses(codes.OutOfRange, modify(r))
	}, "PI has no registers"},
	{"9.1.7", "direct resources of v1model belong to the table: every action executes them, and may have a configuration", func(x *bench) {
		for i, a := range []*p4v1.Action{x.call("mark_and_count", 1), x.call("drop")} {
			e := x.entry("t_exact", a, exact(1, uint64(i+1)))
			e.CounterData = &p4v1.CounterData{PacketCount: 10}
			x.must(insert(e))
			x.send(1, body(1, uint32(i+1), 0, 0))
			got := x.got(&p4v1.DirectCounterEntry{TableEntry: &p4v1.TableEntry{TableId: e.TableId, Match: e.Match}})
			if len(got) != 1 || got[0].GetDirectCounterEntry().GetData().GetPacketCount() != 11 {
				x.Errorf("action %v: %v, want 11 packets", a, got)
			}
		}
	}, "the entry's counter is not set by INSERT"},
	{"9.5.1", "a replica without a port, or with one that the switch does not have, is INVALID_ARGUMENT", func(x *bench) {
		for _, r := range []*p4v1.Replica{{Instance: 1}, replicas(300)[0], {PortKind: &p4v1.Replica_Port{Port: []byte{2}}, BackupReplicas: []*p4v1.BackupReplica{{Port: []byte{1, 44}}}}} {
			x.refuses(codes.InvalidArgument, insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 9, Replicas: []*p4v1.Replica{r}}))
			x.refuses(codes.InvalidArgument, insert(&p4v1.CloneSessionEntry{SessionId: 9, Replicas: []*p4v1.Replica{r}}))
		}
	}, "PI accepts any port"},
	{"13", "a client that does not receive its answers delays neither writes nor reads nor arbitration", func(x *bench) {
		var batch []*p4v1.Update
		for i := range uint64(8) {
			e := x.large(i, 60_000) // more data than the window of a stream
			batch = append(batch, insert(e))
		}
		x.must(batch...)
		ctx, cancel := context.WithCancel(x.ctx)
		defer cancel()
		unread, err := x.client.Read(ctx, &p4v1.ReadRequest{DeviceId: deviceID, Entities: slices.Repeat([]*p4v1.Entity{entity(&p4v1.TableEntry{})}, 20)})
		if err == nil {
			_, err = unread.Recv() // the read has begun
		}
		if err != nil {
			x.Fatal(err)
		}
		limited, stop := context.WithTimeout(x.ctx, patience)
		defer stop()
		if _, err := x.client.Write(limited, &p4v1.WriteRequest{DeviceId: deviceID, ElectionId: uint128(x.election), Updates: []*p4v1.Update{modify(x.large(1, 0))}}); err != nil {
			x.Fatalf("a write: %v", err)
		}
		if got := x.got(&p4v1.TableEntry{TableId: x.id("t_lpm")}); len(got) != 8 {
			x.Errorf("another read has %d entries", len(got))
		}
		next := x.open(x.election + 1)
		x.standing(next, codes.OK, x.election+1)
	}, "PI holds its lock while it sends"},
	{"8.3", "replies have the shortest byte strings: one-shot sets, watch ports, replicas and backups too", func(x *bench) {
		rng := rand.New(rand.NewPCG(1, 1))
		for _, u := range x.whole(rng) {
			x.must(padded(rng, u))
		}
		for _, e := range x.everything() {
			canonical(x, e)
		}
	}, "PI is more lenient, or answers with another code"},
	{"9.1.3", "the default entry of a table with an action profile is read as const", func(x *bench) {
		got := x.got(&p4v1.TableEntry{TableId: x.id("t_select"), IsDefaultAction: true})
		if len(got) != 1 || !got[0].GetTableEntry().IsConst {
			x.Errorf("read %v", got)
		}
	}, "PI does not support is_const"},
	{"16.3", "only the primary acknowledges digests", func(x *bench) {
		x.must(insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 1, AckTimeoutNs: 3600e9}}))
		x.send(1, body(12, 0xabcd, 0, 0))
		list := x.next(x.session).GetDigest()
		ack := &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{DigestAck: &p4v1.DigestListAck{DigestId: list.GetDigestId(), ListId: list.GetListId()}}}
		stranger := x.open(0) // with no election id
		x.arbitration(stranger)
		x.say(stranger, ack)
		if e := x.next(stranger).GetError(); e.GetCanonicalCode() != int32(codes.PermissionDenied) {
			x.Errorf("it is told %v", e)
		}
		x.send(1, body(12, 0xabcd, 0, 0))
		x.silent(x.session) // which has not acknowledged it
	}, "PI accepts it from any stream, and has no stream errors"},
}

// large is an entry with n bytes of metadata.
func (x *bench) large(i uint64, metadata int) *p4v1.TableEntry {
	x.Helper()
	e := x.entry("t_lpm", x.call("mark", 1), lpm(1, i<<8, 24), exact(2, 0))
	e.Metadata = make([]byte, metadata)
	return e
}

// A server limits the memory for clients other than the primary, and reports the
// limit.
func TestMemoryIsBounded(t *testing.T) {
	const memory = 64 << 20
	x := newBench(t, startSoft(t, p4rtserver.Options{Memory: memory}), false)
	exhausted := func(what string, err error) {
		t.Helper()
		code := status.Code(err)
		text := err.Error()
		if d := status.Convert(err).Details(); len(d) > 0 {
			if e, ok := d[len(d)-1].(*p4v1.Error); ok {
				code, text = codes.Code(e.CanonicalCode), e.Message
			}
		}
		if code != codes.ResourceExhausted || !strings.Contains(text, "memory") {
			t.Errorf("%s: %v %s, want ResourceExhausted and how to have more", what, code, text)
		}
	}
	// Entries whose metadata exceeds the limit: a quarter, 16 MB.
	var failed error
	n := 0
	for i := range uint64(64) {
		e := x.large(i, 1<<20)
		if failed = x.write(insert(e)); failed != nil {
			break
		}
		n++
	}
	if failed == nil || n < 8 || n > 16 {
		t.Fatalf("%d entries of 1 MB fit into 16 MB: %v", n, failed)
	}
	exhausted("entries", failed)
	// Deleted entries free memory.
	x.must(remove(x.large(0, 0)))
	again := x.large(500, 1<<20)
	x.must(insert(again))
	// A modification counts too.
	again.Metadata = make([]byte, 3<<20)
	err := x.write(modify(again))
	if err == nil {
		t.Error("an entry grew beyond the bound")
	} else {
		exhausted("modification", err)
	}
	// A batch above the limit changes nothing.
	var batch []*p4v1.Update
	for i := range uint64(3) {
		e := x.large(1000+i, 1<<20)
		batch = append(batch, insert(e))
	}
	if err := x.writeAs(p4v1.WriteRequest_ROLLBACK_ON_ERROR, batch...); err == nil {
		t.Error("the batch was taken")
	}
	if got := x.got(x.large(1000, 0)); len(got) != 0 {
		t.Errorf("%d entries of a batch that failed", len(got))
	}
	// Answers: a sixteenth, 4 MB. The primary may use all of it, other clients half.
	_, err = x.read(&p4v1.TableEntry{TableId: x.id("t_lpm")})
	exhausted("an answer", err)
	// A pipeline whose registers exceed the limit.
	if err := x.setPipeline(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, largePipeline(t)); err == nil {
		t.Error("registers of 80 MB were taken")
	} else {
		exhausted("registers", err)
	}
	x.must(modify(x.large(2, 0))) // the old pipeline is still set
	// All memory is freed: a new pipeline starts with the whole limit.
	for range 20 {
		x.set(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, x.config)
	}
	for i := range uint64(8) {
		e := x.large(i, 1<<20)
		x.must(insert(e))
	}
}

// largePipeline is a program with 10^7 registers.
func largePipeline(t *testing.T) *p4v1.ForwardingPipelineConfig {
	t.Helper()
	r, list := compiler.Compile(compiler.Options{File: "large.p4", Source: []byte(`#include <v1model.p4>
struct h_t {}
struct m_t {}
parser p(packet_in b, out h_t h, inout m_t m, inout standard_metadata_t s) { state start { transition accept; } }
control v(inout h_t h, inout m_t m) { apply {} }
control i(inout h_t h, inout m_t m, inout standard_metadata_t s) {
    register<bit<64>>(10000000) r;
    apply { r.write(0, 1); }
}
control e(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply {} }
control d(packet_out b, in h_t h) { apply {} }
V1Switch(p(), v(), i(), e(), v(), d()) main;
`)})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return &p4v1.ForwardingPipelineConfig{P4Info: r.P4Info, P4DeviceConfig: bmv2json.Encode(r.Program)}
}

// Roles without a controller are removed for new ones; roles with one are not.
func TestRolesAreBounded(t *testing.T) {
	x := newBench(t, startSoft(t, p4rtserver.Options{}), false)
	role := func(i int) *p4v1.MasterArbitrationUpdate {
		return &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, Role: &p4v1.Role{Name: fmt.Sprint("r", i)}, ElectionId: uint128(1)}
	}
	for i := range 200 {
		s := x.openAs(role(i))
		x.arbitration(s)
		s.stream.CloseSend()
		<-s.ended
	}
	for i := range 63 { // and the default role
		x.arbitration(x.openAs(role(1000 + i)))
	}
	x.refused(x.openAs(role(2000)), codes.ResourceExhausted)
	x.must(insert(x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 1))))
}

// Connections above the limit are closed. Closed connections free places.
func TestConnectionsAreBounded(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sw, err := softswitch.New(softswitch.Config{Name: "s1", DeviceID: deviceID})
	if err != nil {
		t.Fatal(err)
	}
	solo.New(sw)
	l := p4rtserver.New(sw, p4rtserver.Options{Memory: 64 << 20}).Limit(inner) // 256
	defer l.Close()
	accepted := make(chan net.Conn, 300)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	var last net.Conn
	for range 257 {
		if last, err = net.Dial("tcp", inner.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer last.Close()
	}
	last.SetReadDeadline(time.Now().Add(patience))
	if _, err := last.Read(make([]byte, 1)); err == nil {
		t.Error("one connection too many was taken")
	}
	(<-accepted).Close()
	again, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for range 256 {
		select {
		case <-accepted:
		case <-time.After(patience):
			t.Fatal("the one that left has made no room")
		}
	}
}

// A P4Info whose types contain themselves, or stand for very many numbers, is refused
// with the type's name: such pushes ended the switch, or took all memory. The switch
// goes on with its pipeline.
func TestHostileTypesAreRefused(t *testing.T) {
	x := newBench(t, startSoft(t, soft), false)
	x.must(insert(x.exactEntry(1, 1)))
	for _, c := range infochecktest.Cases(x.config.P4Info) {
		cfg := &p4v1.ForwardingPipelineConfig{P4Info: c.Info, P4DeviceConfig: x.config.P4DeviceConfig}
		err := x.setPipeline(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, cfg)
		x.fails(err, codes.InvalidArgument)
		if !strings.Contains(err.Error(), c.Want) {
			t.Errorf("%s:\n got %.300v\nwant %s", c.Name, err, c.Want)
		}
	}
	x.marks(1, body(1, 1, 0, 0))
}
