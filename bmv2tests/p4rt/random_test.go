// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/softswitch/solo"
)

var (
	randomBatches = flag.Int("batches", 300, "batches of TestRandomBatches")
	randomSeed    = flag.Uint64("seed", 1, "seed of the random tests")
)

// direct is a server that is called without a network.
type direct struct {
	t   testing.TB
	sw  *softswitch.Switch
	net *solo.Net
	*p4rtserver.Server
	config *p4v1.ForwardingPipelineConfig
}

func newDirect(t testing.TB, cfg *p4v1.ForwardingPipelineConfig) *direct {
	t.Helper()
	sw, err := softswitch.New(softswitch.Config{DeviceID: deviceID, Ports: []softswitch.Port{{Number: 1}, {Number: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	d := &direct{t: t, sw: sw, net: solo.New(sw), Server: p4rtserver.New(sw, soft), config: cfg}
	stream := &fakeStream{says: make(chan *p4v1.StreamMessageRequest), closed: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = d.StreamChannel(stream)
	}()
	t.Cleanup(func() {
		close(stream.closed)
		<-ended
	})
	stream.says <- &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: uint128(1)}}}
	stream.says <- &p4v1.StreamMessageRequest{}
	stream.says <- &p4v1.StreamMessageRequest{} // the first has been handled
	return d
}

// push sets a pipeline.
func (d *direct) push(action p4v1.SetForwardingPipelineConfigRequest_Action, cfg *p4v1.ForwardingPipelineConfig) error {
	_, err := d.SetForwardingPipelineConfig(context.Background(), &p4v1.SetForwardingPipelineConfigRequest{DeviceId: deviceID, ElectionId: uint128(1), Action: action, Config: cfg})
	return err
}

// write returns the codes of a batch's updates.
func (d *direct) write(mode p4v1.WriteRequest_Atomicity, updates ...*p4v1.Update) []codes.Code {
	d.t.Helper()
	_, err := d.Write(context.Background(), &p4v1.WriteRequest{DeviceId: deviceID, ElectionId: uint128(1), Atomicity: mode, Updates: updates})
	list := details(err)
	switch {
	case err == nil:
		return make([]codes.Code, len(updates))
	case status.Code(err) != codes.Unknown || len(list) != len(updates):
		d.t.Fatalf("%d updates are answered with %v", len(updates), err)
	}
	for _, c := range list {
		if c == codes.Internal || c == codes.Unknown {
			d.t.Fatalf("an update is answered with %v: %v", c, err)
		}
	}
	return list
}

// everything reads all entities, with direct resources and default entries.
func (d *direct) everything() []*p4v1.Entity {
	d.t.Helper()
	all := &p4v1.ReadRequest{DeviceId: deviceID, Entities: []*p4v1.Entity{entity(&p4v1.TableEntry{}), entity(&p4v1.ActionProfileMember{}), entity(&p4v1.ActionProfileGroup{}),
		entity(&p4v1.CounterEntry{}), entity(&p4v1.MeterEntry{CounterData: &p4v1.MeterCounterData{}}), entity(&p4v1.RegisterEntry{}), entity(&p4v1.ValueSetEntry{}),
		entity(&p4v1.MulticastGroupEntry{}), entity(&p4v1.CloneSessionEntry{}), entity(&p4v1.DigestEntry{}), entity(&p4v1.DirectCounterEntry{}), entity(&p4v1.DirectMeterEntry{})}}
	for _, t := range d.config.P4Info.Tables {
		all.Entities = append(all.Entities, entity(&p4v1.TableEntry{TableId: t.Preamble.Id, IsDefaultAction: true}))
	}
	var r fakeRead
	if err := d.Read(all, &r); err != nil {
		d.t.Fatalf("reading everything: %v: %v", err, status.Convert(err).Details())
	}
	return r.entities
}

// pass injects packets of all kinds of clauses.p4.
func (d *direct) pass() {
	d.sw.Lock()
	defer d.sw.Unlock()
	for kind := range byte(20) {
		d.net.Inject(1, body(kind, 1, 1, 1), 0)
	}
	d.net.RunUntil(d.net.Now() + 1)
}

// samples are valid updates of every kind of entity of clauses.p4.
func (x *bench) samples() []*p4v1.Update {
	return []*p4v1.Update{
		insert(x.exactEntry(1, 1)), insert(x.exactEntry(2, 1)), insert(x.ternaryEntry(3, 1, ternary(1, 1, 1), between(2, 1, 2), optional(3, 4))),
		insert(x.entry("t_lpm", x.call("mark", 1), lpm(1, 0x0a000000, 8), exact(2, 1))), modify(x.defaultEntry("t_lpm", x.call("mark", 1))),
		insert(x.member("selector", 1, 1)), insert(x.member("selector", 2, 3)), insert(x.member("profile", 1, 1)),
		insert(x.group(1, 1, 2)), insert(x.group(2, 2)), insert(x.indirect("t_select", 1, 0, 1)), insert(x.indirect("t_select", 2, 1, 0)), insert(x.oneShot(2, map[uint64]int32{1: 1, 2: 2})),
		modify(&p4v1.CounterEntry{CounterId: x.id("by_port"), Index: index(1), Data: &p4v1.CounterData{PacketCount: 1}}),
		modify(&p4v1.MeterEntry{MeterId: x.id("shared_police"), Index: index(1), Config: &p4v1.MeterConfig{Cir: 1, Cburst: 1, Pir: 1, Pburst: 1}}),
		modify(&p4v1.RegisterEntry{RegisterId: x.id("signed"), Index: index(1), Data: bits(0x7f)}),
		modify(&p4v1.RegisterEntry{RegisterId: x.id("wide"), Data: bits(0x7f)}),
		modify(&p4v1.ValueSetEntry{ValueSetId: x.id("kinds"), Members: members(3)}),
		insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 1, Replicas: replicas(1, 2)}), insert(&p4v1.CloneSessionEntry{SessionId: 5, Replicas: replicas(1)}),
		insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 1, MaxTimeoutNs: 5, AckTimeoutNs: 5}}),
		modify(&p4v1.DirectCounterEntry{TableEntry: x.exactEntry(1, 1), Data: &p4v1.CounterData{PacketCount: 3}}),
		insert(x.entry("t_meter", x.call("mark_and_meter", 4), exact(1, 1))),
		modify(&p4v1.DirectMeterEntry{TableEntry: x.entry("t_meter", nil, exact(1, 1)), Config: &p4v1.MeterConfig{Cir: 1, Cburst: 1, Pir: 1, Pburst: 1}}),
	}
}

// TestRandomBatches compares three servers: one executes random batches, good and hostile,
// with CONTINUE_ON_ERROR, the second their updates one by one, the third first as a whole,
// with ROLLBACK_ON_ERROR or DATAPLANE_ATOMIC. A batch is its updates in order; one that
// fails as a whole changes nothing. The same memory is charged. Now and then all is
// deleted, which fails if an object has more or fewer references than are counted.
func TestRandomBatches(t *testing.T) {
	cfg, err := config()
	if err != nil {
		t.Fatal(err)
	}
	x := &bench{TB: t, config: cfg}
	samples := x.samples()
	profiles := samples[5:13] // members, groups and entries that refer to them
	r := mutator{rand.New(rand.NewPCG(*randomSeed, 7))}
	var batch, single, whole *direct
	accepted := 0
	for n := range *randomBatches {
		if n%1000 == 0 {
			batch, single, whole = newDirect(t, cfg), newDirect(t, cfg), newDirect(t, cfg)
			for _, d := range []*direct{batch, single, whole} {
				if err := d.push(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, cfg); err != nil {
					t.Fatal(err)
				}
			}
		}
		updates := make([]*p4v1.Update, 1+r.IntN(6))
		from := samples
		if r.IntN(3) == 0 {
			from = profiles
		}
		for i := range updates {
			u := proto.Clone(from[r.IntN(len(from))]).(*p4v1.Update)
			if r.IntN(2) == 0 {
				u.Type = p4v1.Update_Type(1 + r.IntN(3))
			}
			if r.IntN(3) == 0 {
				r.mutate(u, 1+r.IntN(2))
			}
			updates[i] = u
		}
		copied := func() []*p4v1.Update {
			return proto.Clone(&p4v1.WriteRequest{Updates: updates}).(*p4v1.WriteRequest).Updates
		}
		got := batch.write(p4v1.WriteRequest_CONTINUE_ON_ERROR, copied()...)
		var want []codes.Code
		for _, u := range copied() {
			want = append(want, single.write(p4v1.WriteRequest_CONTINUE_ON_ERROR, u)...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, batch %d: codes are %v, one by one %v\n%v", *randomSeed, n, got, want, updates)
		}
		before := whole.everything()
		mode := []p4v1.WriteRequest_Atomicity{p4v1.WriteRequest_ROLLBACK_ON_ERROR, p4v1.WriteRequest_DATAPLANE_ATOMIC}[r.IntN(2)]
		atomic := whole.write(mode, copied()...)
		bad := func(c codes.Code) bool { return c != codes.OK }
		switch failed := slices.ContainsFunc(atomic, bad); {
		case failed != slices.ContainsFunc(want, bad):
			t.Fatalf("seed %d, batch %d: %v answers %v, one by one %v\n%v", *randomSeed, n, mode, atomic, want, updates)
		case failed:
			sameEntities(t, n, updates, mode.String()+" that failed", whole.everything(), before)
			whole.write(p4v1.WriteRequest_CONTINUE_ON_ERROR, copied()...)
		default:
			accepted++
		}
		state := single.everything()
		sameEntities(t, n, updates, "the batch", batch.everything(), state)
		sameEntities(t, n, updates, mode.String(), whole.everything(), state)
		if b, s, w := batch.StateBytes(), single.StateBytes(), whole.StateBytes(); b != s || w != s {
			t.Fatalf("seed %d, batch %d: one by one %d bytes are charged, in a batch %d, with %v %d\n%v", *randomSeed, n, s, b, mode, w, updates)
		}
		if r.IntN(4) == 0 {
			for _, d := range []*direct{batch, single, whole} {
				d.pass()
			}
		}
		switch r.IntN(100) {
		case 0, 1:
			if err := whole.push(p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT, cfg); err != nil {
				t.Fatalf("seed %d, batch %d: RECONCILE_AND_COMMIT: %v", *randomSeed, n, err)
			}
			sameEntities(t, n, updates, "RECONCILE_AND_COMMIT", whole.everything(), single.everything())
		case 2, 3, 4, 5:
			for _, d := range []*direct{batch, single, whole} {
				d.deleteAll()
			}
		}
	}
	t.Logf("%d of %d batches were accepted as a whole", accepted, *randomBatches)
	if accepted < *randomBatches/20 {
		t.Error("hardly any batch was accepted: the test says nothing")
	}
}

// deleteAll deletes what reads return, referrers first.
func (d *direct) deleteAll() {
	d.t.Helper()
	var last []*p4v1.Update
	for _, e := range d.everything() {
		u := remove(nil)
		u.Entity = e
		switch x := e.Entity.(type) {
		case *p4v1.Entity_TableEntry:
			if !x.TableEntry.IsDefaultAction && !x.TableEntry.IsConst {
				if codes := d.write(p4v1.WriteRequest_CONTINUE_ON_ERROR, u); codes[0] != 0 {
					d.t.Errorf("an entry that was read cannot be deleted: %v: %v", codes, e)
				}
			}
		case *p4v1.Entity_ActionProfileGroup, *p4v1.Entity_ActionProfileMember:
			last = append(last, u)
		}
	}
	slices.Reverse(last)
	for _, u := range last {
		if codes := d.write(p4v1.WriteRequest_CONTINUE_ON_ERROR, u); codes[0] != 0 {
			d.t.Errorf("what was read cannot be deleted: %v: %v", codes, u.Entity)
		}
	}
}

// sameEntities compares two reads.
func sameEntities(t *testing.T, n int, updates []*p4v1.Update, what string, got, want []*p4v1.Entity) {
	t.Helper()
	g, w := marshal(&p4v1.ReadResponse{Entities: got}), marshal(&p4v1.ReadResponse{Entities: want})
	if string(g) == string(w) {
		return
	}
	for i := range max(len(got), len(want)) {
		var a, b *p4v1.Entity
		if i < len(got) {
			a = got[i]
		}
		if i < len(want) {
			b = want[i]
		}
		if !proto.Equal(a, b) {
			t.Fatalf("seed %d, batch %d: after %s, entity %d is\n%v\nwant\n%v\nafter %v", *randomSeed, n, what, i, a, b, updates)
		}
	}
}
