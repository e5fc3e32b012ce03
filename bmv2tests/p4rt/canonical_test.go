// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// numbers calls f with every byte string of a message that is a number (8.4 of the
// specification), and its path. f returns what replaces it.
func numbers(m protoreflect.Message, path string, f func(path string, b []byte) []byte) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := path + "." + string(fd.Name())
		switch {
		case fd.Kind() == protoreflect.MessageKind && fd.IsList():
			for i := range v.List().Len() {
				numbers(v.List().Get(i).Message(), fmt.Sprintf("%s[%d]", at, i), f)
			}
		case fd.Kind() == protoreflect.MessageKind && !fd.IsMap():
			numbers(v.Message(), at, f)
		case fd.Kind() == protoreflect.BytesKind && fd.Name() != "metadata" && fd.Name() != "payload":
			m.Set(fd, protoreflect.ValueOfBytes(f(at, v.Bytes())))
		}
		return true
	})
}

// padded returns a copy of a message whose numbers have leading zeros.
func padded[M proto.Message](rng *rand.Rand, m M) M {
	c := proto.Clone(m)
	numbers(c.ProtoReflect(), "", func(_ string, b []byte) []byte { return append(make([]byte, rng.IntN(4)), b...) })
	return c.(M)
}

// canonical fails the test if a number of a message is not in its shortest form.
func canonical(t testing.TB, m proto.Message) {
	t.Helper()
	numbers(m.ProtoReflect(), string(m.ProtoReflect().Descriptor().Name()), func(path string, b []byte) []byte {
		// -1 of a signed type is ff, 128 is 00 80.
		if len(b) == 0 || len(b) > 1 && b[0] == 0 && b[1] < 0x80 {
			t.Errorf("%s is %x, which has a shorter form", path, b)
		}
		return b
	})
}

// whole is everything that a controller writes into the program of the clauses: each
// kind of entity, with each of its byte strings.
func (x *bench) whole(rng *rand.Rand) []*p4v1.Update {
	watch := func() *p4v1.ActionProfileGroup_Member_WatchPort {
		return &p4v1.ActionProfileGroup_Member_WatchPort{WatchPort: short(1 + rng.Uint64N(4))}
	}
	group := x.group(1, 1, 2)
	group.Members[0].WatchKind = watch()
	set := &p4v1.ActionProfileActionSet{}
	for i := range 3 {
		a := &p4v1.ActionProfileAction{Action: x.call("mark", rng.Uint64N(256)), Weight: int32(i + 1)}
		if i > 0 {
			a.WatchKind = &p4v1.ActionProfileAction_WatchPort{WatchPort: watch().WatchPort}
		}
		set.ActionProfileActions = append(set.ActionProfileActions, a)
	}
	oneShot := x.entry("t_profile", nil, exact(1, rng.Uint64N(1<<32)))
	oneShot.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: 7}}
	copies := replicas(1, 2, 3)
	copies[0].BackupReplicas = []*p4v1.BackupReplica{{Port: short(4), Instance: 9}}
	idle := x.entry("t_idle", x.call("mark", rng.Uint64N(256)), exact(1, rng.Uint64N(1<<32)))
	idle.IdleTimeoutNs = 1
	list := []*p4v1.Update{
		insert(x.entry("t_exact", x.call("mark_and_count", rng.Uint64N(256)), exact(1, rng.Uint64N(1<<32)))),
		insert(x.entry("t_lpm", x.call("mark", rng.Uint64N(256)), lpm(1, rng.Uint64N(1<<16)<<16, 16), exact(2, rng.Uint64N(256)))),
		insert(x.ternaryEntry(5, rng.Uint64N(256), ternary(1, 0x10, 0xff), between(2, rng.Uint64N(100), 100+rng.Uint64N(1000)), optional(3, rng.Uint64N(256)))),
		insert(idle), insert(x.entry("t_meter", x.call("mark_and_meter", rng.Uint64N(256)), exact(1, rng.Uint64N(1<<32)))),
		modify(x.defaultEntry("t_keyless", x.call("mark", rng.Uint64N(256)))),
		insert(x.member("profile", 7, rng.Uint64N(256))), insert(oneShot),
		modify(&p4v1.ValueSetEntry{ValueSetId: x.id("kinds"), Members: members(200+rng.Uint64N(20), 230+rng.Uint64N(20))}),
		insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 7, Replicas: copies, Metadata: []byte{0, 0, 1}}),
		insert(&p4v1.CloneSessionEntry{SessionId: 5, Replicas: copies}),
		modify(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: index(0), Data: bits(rng.Uint64N(1 << 48))}),
		modify(&p4v1.RegisterEntry{RegisterId: x.id("wide"), Data: bits(rng.Uint64())}),
		modify(&p4v1.RegisterEntry{RegisterId: x.id("signed"), Data: bits(rng.Uint64N(1<<15) | 1<<7)}),
		insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 1, AckTimeoutNs: 1}}),
	}
	if rng.IntN(2) == 0 { // one-shot sets and members do not mix
		e := x.entry("t_select", nil, exact(1, rng.Uint64N(1<<32)))
		e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileActionSet{ActionProfileActionSet: set}}
		return append(list, insert(e))
	}
	return append(list, insert(x.member("selector", 1, rng.Uint64N(256))), insert(x.member("selector", 2, 3)), insert(group), insert(x.indirect("t_select", 1, 0, 1)))
}

// Every byte string of every answer and notification is the shortest one, whatever a
// controller wrote: one-shot sets, watch ports and ports of replicas came back as they
// had been written.
func TestRepliesAreCanonical(t *testing.T) {
	x := newBench(t, startSoft(t, soft), false)
	zero := &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: []byte{0}}}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var batch, undo []*p4v1.Update
		for _, u := range x.whole(rng) {
			batch = append(batch, padded(rng, u))
			if u.Type == p4v1.Update_INSERT {
				undo = append(undo, &p4v1.Update{Type: p4v1.Update_DELETE, Entity: padded(rng, u.Entity)})
			}
		}
		x.must(batch...)
		kinds := map[string]bool{}
		for _, e := range append(x.everything(), x.got(&p4v1.DirectCounterEntry{TableEntry: &p4v1.TableEntry{}}, &p4v1.DirectMeterEntry{TableEntry: &p4v1.TableEntry{}})...) {
			canonical(t, e)
			kinds[fmt.Sprintf("%T", e.Entity)] = true
		}
		if len(kinds) < 10 {
			t.Errorf("only %d kinds of entities were read: %v", len(kinds), kinds)
		}
		// What was written is what is read, but for the form.
		for _, u := range x.whole(rand.New(rand.NewPCG(seed, 7))) {
			if u.Entity.GetTableEntry() == nil {
				continue
			}
			want := u.Entity.GetTableEntry()
			got := x.got(&p4v1.TableEntry{TableId: want.TableId, Match: want.Match, Priority: want.Priority, IsDefaultAction: want.IsDefaultAction})
			if len(got) != 1 || !proto.Equal(got[0].GetTableEntry(), want) {
				t.Errorf("read %v, want %v", got, want)
			}
		}
		x.say(x.session, padded(rng, packetOut(2, 1, body(15, 0, 0, 0)))) // comes back as a packet-in
		x.send(1, body(12, rng.Uint32(), 0, 0))                           // a digest
		x.wait(200 * time.Millisecond)                                    // an idle timeout
		var packets, digests, idle int
		for packets == 0 || digests == 0 || idle == 0 {
			m := x.next(x.session)
			canonical(t, m)
			packets += len(m.GetPacket().GetMetadata())
			digests += len(m.GetDigest().GetData())
			idle += len(m.GetIdleTimeoutNotification().GetTableEntry())
		}
		slices.Reverse(undo)
		x.must(append(undo, modify(&p4v1.RegisterEntry{RegisterId: x.id("signed"), Data: zero}))...)
	}
}

// A table of an action profile has a constant default entry (9.1.2), which a controller
// cannot change.
func TestTheDefaultOfAnIndirectTableIsConst(t *testing.T) {
	x := newBench(t, startSoft(t, soft), false)
	for _, table := range []string{"t_profile", "t_select", "t_const_default"} {
		got := x.got(&p4v1.TableEntry{TableId: x.id(table), IsDefaultAction: true})
		if len(got) != 1 || !got[0].GetTableEntry().IsConst {
			t.Errorf("%s: read %v, want it const", table, got)
		}
		e := x.defaultEntry(table, x.call("mark", 1))
		x.refuses(codes.PermissionDenied, modify(e))
	}
	got := x.got(&p4v1.TableEntry{TableId: x.id("t_exact"), IsDefaultAction: true})
	if got[0].GetTableEntry().IsConst {
		t.Errorf("t_exact: %v is const", got)
	}
}

// Entries with tiny idle timeouts are reported ten times a second each, not at every
// opportunity, and a table full of them does not flood the controller.
func TestIdleTimeoutsHaveAFloor(t *testing.T) {
	x := newBench(t, startSoft(t, soft), false)
	var batch []*p4v1.Update
	for i := range uint64(16) {
		e := x.entry("t_idle", x.call("mark", 1), exact(1, i))
		e.IdleTimeoutNs = 1
		batch = append(batch, insert(e))
	}
	x.must(batch...)
	for range 80 {
		x.wait(100 * time.Millisecond)
	}
	entries, messages := 0, 0
	x.say(x.session, &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{DigestAck: &p4v1.DigestListAck{DigestId: 1}}})
	for {
		m := x.next(x.session)
		if m.GetError() != nil { // the answer to the last message: all earlier ones have come
			break
		}
		messages++
		entries += len(m.GetIdleTimeoutNotification().GetTableEntry())
	}
	if messages < 40 || messages > 80 || entries != 16*messages {
		t.Errorf("in 8 s, %d notifications of %d entries, want at most ten a second of all 16", messages, entries)
	}
	if got := x.got(&p4v1.TableEntry{TableId: x.id("t_idle"), Match: batch[0].Entity.GetTableEntry().Match}); got[0].GetTableEntry().IdleTimeoutNs != 1 {
		t.Errorf("the entry is read as %v, want the timeout that was written", got)
	}
}
