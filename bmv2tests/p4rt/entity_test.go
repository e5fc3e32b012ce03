// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"bytes"
	"slices"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func index(i int64) *p4v1.Index { return &p4v1.Index{Index: i} }

// member is a member of an action profile.
func (x *bench) member(profile string, id uint32, mark uint64) *p4v1.ActionProfileMember {
	x.Helper()
	return &p4v1.ActionProfileMember{ActionProfileId: x.id(profile), MemberId: id, Action: x.call("mark", mark)}
}

// group is a group of the selector; members have weight one.
func (x *bench) group(id uint32, members ...uint32) *p4v1.ActionProfileGroup {
	x.Helper()
	g := &p4v1.ActionProfileGroup{ActionProfileId: x.id("selector"), GroupId: id, MaxSize: 8}
	for _, m := range members {
		g.Members = append(g.Members, &p4v1.ActionProfileGroup_Member{MemberId: m, Weight: 1})
	}
	return g
}

// indirect is an entry that refers to a member or group.
func (x *bench) indirect(table string, a uint64, member, group uint32) *p4v1.TableEntry {
	x.Helper()
	e := x.entry(table, nil, exact(1, a))
	if group != 0 {
		e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: group}}
	} else {
		e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: member}}
	}
	return e
}

// oneShot is an entry with its own action set, by mark and weight.
func (x *bench) oneShot(a uint64, weights map[uint64]int32) *p4v1.TableEntry {
	x.Helper()
	set := &p4v1.ActionProfileActionSet{}
	for _, mark := range slices.Sorted(func(yield func(uint64) bool) {
		for m := range weights {
			if !yield(m) {
				return
			}
		}
	}) {
		set.ActionProfileActions = append(set.ActionProfileActions, &p4v1.ActionProfileAction{Action: x.call("mark", mark), Weight: weights[mark]})
	}
	e := x.entry("t_select", nil, exact(1, a))
	e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileActionSet{ActionProfileActionSet: set}}
	return e
}

// spread sends packets that differ in the fields that the selector hashes, and
// counts the marks.
func (x *bench) spread(a uint32, n int) map[int]int {
	x.Helper()
	seen := map[int]int{}
	for i := range n {
		seen[x.mark(body(8, a, uint16(i*40503), 0))]++
	}
	return seen
}

// atomic has the result of each mode of Write for a batch whose second of three
// updates fails.
func (x *bench) atomic(mode p4v1.WriteRequest_Atomicity, want []codes.Code, left ...proto.Message) {
	x.Helper()
	err := x.writeAs(mode, insert(x.exactEntry(1, 1)), insert(x.exactEntry(1, 2)), insert(x.exactEntry(3, 3)))
	if got := details(err); status.Code(err) != codes.Unknown || !slices.Equal(got, want) {
		x.Errorf("%v: %v with %v, want UNKNOWN with %v", mode, err, got, want)
	}
	x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_exact")}), left...)
}

// entityClauses are about batches and all entities except tables.
var entityClauses = []clause{
	{"9.2.1", "members: INSERT, MODIFY, DELETE, read; an entry follows its member", func(x *bench) {
		x.must(insert(x.member("profile", 1, 0x11)), insert(x.indirect("t_profile", 5, 1, 0)))
		x.marks(0x11, body(7, 5, 0, 0))
		x.must(modify(x.member("profile", 1, 0x12)))
		x.marks(0x12, body(7, 5, 0, 0))
		x.same(x.got(&p4v1.ActionProfileMember{ActionProfileId: x.id("profile")}), x.member("profile", 1, 0x12))
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_profile")}), x.indirect("t_profile", 5, 1, 0))
		x.must(remove(x.indirect("t_profile", 5, 1, 0)), remove(x.member("profile", 1, 0)))
		x.same(x.got(&p4v1.ActionProfileMember{ActionProfileId: x.id("profile")}))
	}, ""},
	{"9.2.1", "INSERT of an existing member is ALREADY_EXISTS; MODIFY and DELETE of one that does not exist, NOT_FOUND", func(x *bench) {
		x.must(insert(x.member("profile", 1, 1)))
		x.refuses(codes.AlreadyExists, insert(x.member("profile", 1, 2)))
		x.refuses(codes.NotFound, modify(x.member("profile", 2, 1)))
		x.refuses(codes.NotFound, remove(x.member("profile", 2, 1)))
	}, ""},
	{"9.2.1", "a member in use cannot be deleted: FAILED_PRECONDITION", func(x *bench) {
		x.must(insert(x.member("profile", 1, 1)), insert(x.indirect("t_profile", 5, 1, 0)))
		x.refuses(codes.FailedPrecondition, remove(x.member("profile", 1, 1)))
		x.must(insert(x.member("selector", 1, 1)), insert(x.group(1, 1)))
		x.refuses(codes.FailedPrecondition, remove(x.member("selector", 1, 1)))
	}, lenient},
	{"9.2.1", "a member without action, with one that is not the profile's, or of id zero is INVALID_ARGUMENT", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(&p4v1.ActionProfileMember{ActionProfileId: x.id("profile"), MemberId: 1}))
		x.refuses(codes.InvalidArgument, insert(&p4v1.ActionProfileMember{ActionProfileId: x.id("profile"), MemberId: 1, Action: x.call("to_port", 1)}))
		x.refuses(codes.InvalidArgument, insert(x.member("profile", 0, 1)))
	}, lenient},
	{"9.2.1", "more members than the profile has room for are RESOURCE_EXHAUSTED", func(x *bench) {
		for id := range uint32(4) {
			x.must(insert(x.member("profile", id+1, 1)))
		}
		x.refuses(codes.ResourceExhausted, insert(x.member("profile", 9, 1)))
	}, "BMv2 has no limit"},
	{"9.1.2", "an entry with a member or group that does not exist is NOT_FOUND", func(x *bench) {
		x.refuses(codes.NotFound, insert(x.indirect("t_profile", 5, 9, 0)))
		x.refuses(codes.NotFound, insert(x.indirect("t_select", 5, 0, 9)))
	}, lenient},
	{"9.2.2", "groups: packets are spread over the members, one flow to one member", func(x *bench) {
		x.must(insert(x.member("selector", 1, 0x11)), insert(x.member("selector", 2, 0x12)), insert(x.group(1, 1, 2)), insert(x.indirect("t_select", 5, 0, 1)))
		seen := x.spread(5, 64)
		if seen[0x11]+seen[0x12] != 64 || seen[0x11] < 10 || seen[0x12] < 10 {
			x.Errorf("64 flows went %v", seen)
		}
		first := x.mark(body(8, 5, 1, 0))
		for range 5 {
			x.marks(first, body(8, 5, 1, 0))
		}
		x.same(x.got(&p4v1.ActionProfileGroup{ActionProfileId: x.id("selector")}), x.group(1, 1, 2))
		x.must(modify(x.group(1, 2)))
		if seen := x.spread(5, 16); seen[0x12] != 16 {
			x.Errorf("with member 2 alone, flows went %v", seen)
		}
	}, ""},
	{"9.2.2", "groups: ALREADY_EXISTS, NOT_FOUND, FAILED_PRECONDITION while in use", func(x *bench) {
		x.must(insert(x.member("selector", 1, 1)), insert(x.group(1, 1)))
		x.refuses(codes.AlreadyExists, insert(x.group(1, 1)))
		x.refuses(codes.NotFound, modify(x.group(2, 1)))
		x.refuses(codes.NotFound, remove(x.group(2)))
		x.must(insert(x.indirect("t_select", 5, 0, 1)))
		x.refuses(codes.FailedPrecondition, remove(x.group(1)))
		x.must(remove(x.indirect("t_select", 5, 0, 1)), remove(x.group(1)))
	}, lenient},
	{"9.2.2", "groups: a member that does not exist is NOT_FOUND; weight zero, a member given twice, INVALID_ARGUMENT", func(x *bench) {
		x.refuses(codes.NotFound, insert(x.group(1, 7)))
		x.must(insert(x.member("selector", 1, 1)))
		x.refuses(codes.InvalidArgument, insert(x.group(1, 1, 1)))
		zero := x.group(1, 1)
		zero.Members[0].Weight = 0
		x.refuses(codes.InvalidArgument, insert(zero))
		x.refuses(codes.InvalidArgument, insert(&p4v1.ActionProfileGroup{ActionProfileId: x.id("profile"), GroupId: 1, MaxSize: 1}))
	}, lenient},
	{"9.2.2", "groups: max_size cannot be changed, and limits the sum of weights", func(x *bench) {
		x.must(insert(x.member("selector", 1, 1)), insert(x.member("selector", 2, 1)), insert(x.group(1, 1)))
		other := x.group(1, 1)
		other.MaxSize = 4
		x.refuses(codes.InvalidArgument, modify(other))
		heavy := x.group(1, 1, 2)
		heavy.Members[1].Weight = 8
		x.refuses(codes.ResourceExhausted, modify(heavy))
		x.same(x.got(&p4v1.ActionProfileGroup{ActionProfileId: x.id("selector")}), x.group(1, 1))
	}, ""},
	{"9.2.2", "weights determine a member's share of the flows", func(x *bench) {
		g := x.group(1, 1, 2)
		g.Members[0].Weight = 3
		x.must(insert(x.member("selector", 1, 0x11)), insert(x.member("selector", 2, 0x12)), insert(g), insert(x.indirect("t_select", 5, 0, 1)))
		if seen := x.spread(5, 256); seen[0x11] < 150 || seen[0x12] < 35 {
			x.Errorf("of 256 flows with weights 3 and 1, members got %v", seen)
		}
	}, ""},
	{"9.2.2", "a member whose watched port is down gets no packets until it is up", func(x *bench) {
		g := x.group(1, 1, 2)
		g.Members[0].WatchKind = &p4v1.ActionProfileGroup_Member_WatchPort{WatchPort: short(3)}
		x.must(insert(x.member("selector", 1, 0x11)), insert(x.member("selector", 2, 0x12)), insert(g), insert(x.indirect("t_select", 5, 0, 1)))
		x.link(3, false)
		if seen := x.spread(5, 32); seen[0x12] != 32 {
			x.Errorf("with port 3 down, flows went %v", seen)
		}
		x.link(3, true)
		if seen := x.spread(5, 64); seen[0x11] == 0 {
			x.Errorf("with port 3 up again, flows went %v", seen)
		}
		g.Members[0].WatchKind = &p4v1.ActionProfileGroup_Member_WatchPort{WatchPort: short(99)}
		x.refuses(codes.InvalidArgument, modify(g))
	}, "the test takes no links of BMv2 down"},
	{"9.2.3", "one-shot: a set of actions with weights, written and read with the entry", func(x *bench) {
		e := x.oneShot(5, map[uint64]int32{0x11: 1, 0x12: 3})
		x.must(insert(e))
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId}), e)
		if seen := x.spread(5, 256); seen[0x11] < 35 || seen[0x12] < 150 {
			x.Errorf("of 256 flows with weights 1 and 3, actions got %v", seen)
		}
		e = x.oneShot(5, map[uint64]int32{0x13: 1})
		x.must(modify(e))
		if seen := x.spread(5, 16); seen[0x13] != 16 {
			x.Errorf("after MODIFY, flows went %v", seen)
		}
		x.must(remove(e))
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId}))
	}, ""},
	{"9.2.3", "one-shot: weight zero, an action that is not the table's, a set too large, are INVALID_ARGUMENT", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(x.oneShot(5, map[uint64]int32{1: 0})))
		x.refuses(codes.InvalidArgument, insert(x.oneShot(5, map[uint64]int32{1: -2})))
		bad := x.oneShot(5, map[uint64]int32{1: 1})
		bad.Action.GetActionProfileActionSet().ActionProfileActions[0].Action = x.call("unused", 1)
		x.refuses(codes.InvalidArgument, insert(bad))
	}, ""},
	{"9.2.3", "one-shot: the modes of choice, hash and random", func(x *bench) {
		e := x.oneShot(5, map[uint64]int32{0x11: 1, 0x12: 1})
		e.Action.GetActionProfileActionSet().ActionSelectionMode = p4v1.ActionProfileActionSet_RANDOM
		x.must(insert(e))
		seen := map[int]int{}
		for range 64 {
			seen[x.mark(body(8, 5, 1, 0))]++ // one flow
		}
		if seen[0x11] < 10 || seen[0x12] < 10 {
			x.Errorf("at random, one flow went %v", seen)
		}
		e.Action.GetActionProfileActionSet().ActionSelectionMode = p4v1.ActionProfileActionSet_HASH
		x.must(modify(e))
		first := x.mark(body(8, 5, 1, 0))
		for range 16 {
			x.marks(first, body(8, 5, 1, 0))
		}
	}, "this version ignores the mode"},
	{"9.2.4", "one-shot entries and members do not mix in one selector: INVALID_ARGUMENT", func(x *bench) {
		x.must(insert(x.oneShot(5, map[uint64]int32{1: 1})))
		x.refuses(codes.InvalidArgument, insert(x.member("selector", 1, 1)))
		x.must(remove(x.oneShot(5, nil)), insert(x.member("selector", 1, 1)), insert(x.indirect("t_select", 6, 1, 0)))
		x.refuses(codes.InvalidArgument, insert(x.oneShot(5, map[uint64]int32{1: 1})))
	}, ""},
	{"9.3.2", "counters: read and written by cell, counted by packets and bytes", func(x *bench) {
		k := &p4v1.CounterEntry{CounterId: x.id("by_port"), Index: index(2), Data: &p4v1.CounterData{PacketCount: 7, ByteCount: 70}}
		x.must(modify(k))
		x.mark(body(10, 2, 0, 0))
		k.Data = &p4v1.CounterData{PacketCount: 8, ByteCount: 79}
		x.same(x.got(&p4v1.CounterEntry{CounterId: k.CounterId, Index: index(2)}), k)
	}, ""},
	{"9.3.2", "counters: no index reads all cells, no id all counters", func(x *bench) {
		if n := len(x.got(&p4v1.CounterEntry{CounterId: x.id("by_port")})); n != 4 {
			x.Errorf("%d cells, want 4", n)
		}
		if n := len(x.got(&p4v1.CounterEntry{})); n != 4 {
			x.Errorf("%d cells of all counters, want 4", n)
		}
	}, ""},
	{"9.3.2", "counters: no index writes all cells", func(x *bench) {
		x.must(modify(&p4v1.CounterEntry{CounterId: x.id("by_port"), Data: &p4v1.CounterData{PacketCount: 3}}))
		for _, e := range x.got(&p4v1.CounterEntry{CounterId: x.id("by_port")}) {
			if e.GetCounterEntry().Data.PacketCount != 3 {
				x.Errorf("cell %v, want 3 packets", e)
			}
		}
	}, "PI answers UNIMPLEMENTED"},
	{"9.3.2", "counters: INSERT, DELETE and a negative index are INVALID_ARGUMENT, an unknown id is NOT_FOUND", func(x *bench) {
		k := &p4v1.CounterEntry{CounterId: x.id("by_port"), Index: index(0), Data: &p4v1.CounterData{}}
		x.refuses(codes.InvalidArgument, insert(k))
		x.refuses(codes.InvalidArgument, remove(k))
		k.Index = index(-1)
		x.refuses(codes.InvalidArgument, modify(k))
		k.Index, k.CounterId = index(0), 0x12ffffff
		x.refuses(codes.NotFound, modify(k))
		x.refusesRead(codes.NotFound, k)
	}, lenient},
	{"9.4.2", "meters: configured by cell, they colour packets; without a configuration they are green", func(x *bench) {
		m := &p4v1.MeterEntry{MeterId: x.id("shared_police"), Index: index(1), Config: &p4v1.MeterConfig{Cir: 1, Cburst: 1, Pir: 1, Pburst: 2}}
		x.must(modify(m))
		x.same(x.got(&p4v1.MeterEntry{MeterId: m.MeterId, Index: index(1)}), m)
		var colours []byte
		for range 3 {
			colours = append(colours, x.sent(body(10, 1, 0, 9))[cAt])
		}
		if !bytes.Equal(colours, []byte{0, 1, 2}) {
			x.Errorf("colours %v, want green, yellow, red", colours)
		}
		for range 3 {
			if c := x.sent(body(10, 2, 0, 9))[cAt]; c != 0 {
				x.Errorf("a meter without a configuration says %d", c)
			}
		}
	}, ""},
	{"9.4.2", "meters: MODIFY without a configuration resets", func(x *bench) {
		m := &p4v1.MeterEntry{MeterId: x.id("shared_police"), Index: index(1), Config: &p4v1.MeterConfig{Cir: 1, Cburst: 1, Pir: 1, Pburst: 1}}
		x.must(modify(m))
		m.Config = nil
		x.must(modify(m))
		x.same(x.got(&p4v1.MeterEntry{MeterId: m.MeterId, Index: index(1)}), m)
	}, ""},
	{"9.4", "meters: rates that do not fit the type are INVALID_ARGUMENT", func(x *bench) {
		for _, c := range []*p4v1.MeterConfig{{Cir: -1}, {Cir: 5, Cburst: 1, Pir: 4, Pburst: 1}, {Cir: 1, Cburst: 1, Pir: 1, Pburst: 1, Eburst: 1}, {Pburst: -3}} {
			x.refuses(codes.InvalidArgument, modify(&p4v1.MeterEntry{MeterId: x.id("shared_police"), Index: index(1), Config: c}))
		}
		x.refuses(codes.InvalidArgument, insert(&p4v1.MeterEntry{MeterId: x.id("shared_police"), Index: index(1)}))
		x.refuses(codes.InvalidArgument, modify(&p4v1.MeterEntry{MeterId: x.id("shared_police"), Index: index(-1)}))
	}, lenient},
	{"9.5.1", "multicast groups: a copy for each replica, with its instance", func(x *bench) {
		g := &p4v1.MulticastGroupEntry{MulticastGroupId: 7, Replicas: replicas(2, 3)}
		g.Replicas = append(g.Replicas, &p4v1.Replica{PortKind: &p4v1.Replica_Port{Port: short(2)}, Instance: 9})
		x.must(insert(g))
		var got []string
		for _, f := range x.send(1, body(13, 0, 7, 0)) {
			got = append(got, string([]byte{byte('0' + f.Port), ':', '0' + f.Data[markAt]}))
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"2:2", "2:9", "3:3"}) {
			x.Errorf("copies %v, want 2:2 2:9 3:3", got)
		}
		x.same(x.got(&p4v1.MulticastGroupEntry{MulticastGroupId: 7}), g)
		x.must(modify(&p4v1.MulticastGroupEntry{MulticastGroupId: 7, Replicas: replicas(4)}))
		if f := x.send(1, body(13, 0, 7, 0)); len(f) != 1 || f[0].Port != 4 {
			x.Errorf("after MODIFY: %v", f)
		}
		x.must(remove(&p4v1.MulticastGroupEntry{MulticastGroupId: 7}))
		if f := x.send(1, body(13, 0, 7, 0)); len(f) != 0 {
			x.Errorf("after DELETE: %v", f)
		}
	}, "PI accepts ports only as numbers"},
	{"9.5.1", "multicast groups: id zero, a replica given twice, are INVALID_ARGUMENT; ALREADY_EXISTS and NOT_FOUND", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(&p4v1.MulticastGroupEntry{}))
		x.refuses(codes.InvalidArgument, insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 1, Replicas: replicas(2, 2)}))
		x.must(insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 1, Replicas: replicas(2)}))
		x.refuses(codes.AlreadyExists, insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 1}))
		x.refuses(codes.NotFound, modify(&p4v1.MulticastGroupEntry{MulticastGroupId: 2}))
		x.refuses(codes.NotFound, remove(&p4v1.MulticastGroupEntry{MulticastGroupId: 2}))
	}, ""},
	{"9.5.1", "multicast groups: a backup replica takes over while the port is down", func(x *bench) {
		r := replicas(2)
		r[0].BackupReplicas = []*p4v1.BackupReplica{{Port: short(3), Instance: 3}}
		x.must(insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 7, Replicas: r}))
		x.link(2, false)
		if f := x.send(1, body(13, 0, 7, 0)); len(f) != 1 || f[0].Port != 3 || f[0].Data[markAt] != 3 {
			x.Errorf("with port 2 down: %v", f)
		}
		x.link(2, true)
		if f := x.send(1, body(13, 0, 7, 0)); len(f) != 1 || f[0].Port != 2 {
			x.Errorf("with port 2 up: %v", f)
		}
	}, "has no backup replicas"},
	{"9.5.2", "clone sessions: a copy for each replica, truncated to the packet length", func(x *bench) {
		c := &p4v1.CloneSessionEntry{SessionId: 5, Replicas: replicas(3, 4), PacketLengthBytes: 4}
		x.must(insert(c))
		sizes := map[int]int{}
		for _, f := range x.send(1, body(14, 0, 0, 0)) {
			sizes[f.Port] = len(f.Data)
		}
		if sizes[2] != 9 || sizes[3] != 4 || sizes[4] != 4 {
			x.Errorf("bytes by port: %v", sizes)
		}
		x.same(x.got(&p4v1.CloneSessionEntry{SessionId: 5}), c)
		x.must(remove(c))
		if f := x.send(1, body(14, 0, 0, 0)); len(f) != 1 {
			x.Errorf("after DELETE: %v", f)
		}
	}, "PI accepts ports only as numbers, and BMv2 cannot truncate clones"},
	{"9.5.2", "clone sessions: bad ids, replicas, lengths and classes are INVALID_ARGUMENT; ALREADY_EXISTS and NOT_FOUND", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(&p4v1.CloneSessionEntry{}))
		x.refuses(codes.InvalidArgument, insert(&p4v1.CloneSessionEntry{SessionId: 1 << 15}))
		x.refuses(codes.InvalidArgument, insert(&p4v1.CloneSessionEntry{SessionId: 1, Replicas: replicas(2, 2)}))
		x.refuses(codes.InvalidArgument, insert(&p4v1.CloneSessionEntry{SessionId: 1, PacketLengthBytes: -1}))
		x.refuses(codes.InvalidArgument, insert(&p4v1.CloneSessionEntry{SessionId: 1, ClassOfService: 8}))
		x.must(insert(&p4v1.CloneSessionEntry{SessionId: 1, Replicas: replicas(2)}))
		x.refuses(codes.AlreadyExists, insert(&p4v1.CloneSessionEntry{SessionId: 1}))
		x.refuses(codes.NotFound, modify(&p4v1.CloneSessionEntry{SessionId: 2}))
		x.refuses(codes.NotFound, remove(&p4v1.CloneSessionEntry{SessionId: 2}))
	}, lenient},
	{"9.6", "value sets: the parser uses their members as cases; a write replaces all", func(x *bench) {
		v := &p4v1.ValueSetEntry{ValueSetId: x.id("kinds"), Members: members(200, 201)}
		x.must(modify(v))
		x.marks(0x55, body(200, 0, 0, 0))
		x.marks(0x55, body(201, 0, 0, 0))
		x.marks(0, body(202, 0, 0, 0))
		x.same(x.got(&p4v1.ValueSetEntry{ValueSetId: v.ValueSetId}), v)
		x.must(modify(&p4v1.ValueSetEntry{ValueSetId: v.ValueSetId, Members: members(202)}))
		x.marks(0, body(200, 0, 0, 0))
		x.marks(0x55, body(202, 0, 0, 0))
		x.must(modify(&p4v1.ValueSetEntry{ValueSetId: v.ValueSetId}))
		x.marks(0, body(202, 0, 0, 0))
	}, "PI has no value sets"},
	{"9.6", "value sets: INSERT and DELETE are INVALID_ARGUMENT, too many members RESOURCE_EXHAUSTED, one twice ALREADY_EXISTS", func(x *bench) {
		v := func(m ...uint64) *p4v1.ValueSetEntry {
			return &p4v1.ValueSetEntry{ValueSetId: x.id("kinds"), Members: members(m...)}
		}
		x.refuses(codes.InvalidArgument, insert(v(1)))
		x.refuses(codes.InvalidArgument, remove(v(1)))
		x.refuses(codes.ResourceExhausted, modify(v(1, 2, 3)))
		x.refuses(codes.AlreadyExists, modify(v(1, 1)))
		x.refuses(codes.InvalidArgument, modify(v(256)))
	}, "PI has no value sets"},
	{"9.7", "registers: read and written by cell, of any width and sign", func(x *bench) {
		x.must(modify(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: index(1), Data: bits(0xfffffffffffe)}))
		x.must(modify(&p4v1.RegisterEntry{RegisterId: x.id("wide"), Index: index(0), Data: &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: append([]byte{1}, make([]byte, 13)...)}}}))
		x.must(modify(&p4v1.RegisterEntry{RegisterId: x.id("signed"), Index: index(0), Data: bits(0)}))
		x.sent(body(11, 1, 0, 0)) // +1, +2^100, −1
		for name, want := range map[string][]byte{"narrow": {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "wide": append([]byte{1, 0x10}, make([]byte, 12)...), "signed": {0xff}} {
			i := int64(0)
			if name == "narrow" {
				i = 1
			}
			e := &p4v1.RegisterEntry{RegisterId: x.id(name), Index: index(i)}
			got := x.got(e)
			e.Data = &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: want}}
			x.same(got, e)
		}
	}, "PI has no registers"},
	{"9.7", "registers: no index means all cells", func(x *bench) {
		x.must(modify(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Data: bits(5)}))
		got := x.got(&p4v1.RegisterEntry{RegisterId: x.id("narrow")})
		if len(got) != 4 {
			x.Fatalf("%d cells, want 4", len(got))
		}
		for _, e := range got {
			if !proto.Equal(e.GetRegisterEntry().Data, bits(5)) {
				x.Errorf("cell %v, want 5", e)
			}
		}
	}, "PI has no registers"},
	{"9.7", "registers: bad data, a negative index, INSERT and DELETE are INVALID_ARGUMENT; an unknown id is NOT_FOUND", func(x *bench) {
		r := &p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: index(0), Data: &p4v1.P4Data{Data: &p4v1.P4Data_Bool{Bool: true}}}
		x.refuses(codes.InvalidArgument, modify(r))
		r.Data = nil
		x.refuses(codes.InvalidArgument, modify(r))
		r.Data, r.Index = bits(1), index(-1)
		x.refuses(codes.InvalidArgument, modify(r))
		r.Index = index(0)
		x.refuses(codes.InvalidArgument, insert(r))
		x.refuses(codes.InvalidArgument, remove(r))
		r.RegisterId = 0x16ffffff
		x.refuses(codes.NotFound, modify(r))
	}, "PI has no registers"},
	{"9.8, 16.3", "digests: a list for the primary, acknowledged, without repeats until then", func(x *bench) {
		x.must(insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 1, AckTimeoutNs: 3600e9}}))
		x.send(1, body(12, 0xabcd, 0, 0))
		list := x.next(x.session).GetDigest()
		want := &p4v1.P4Data{Data: &p4v1.P4Data_Struct{Struct: &p4v1.P4StructLike{Members: []*p4v1.P4Data{bits(1), bits(0xabcd)}}}}
		if list == nil || len(list.Data) != 1 || !proto.Equal(list.Data[0], want) || list.ListId == 0 {
			x.Fatalf("digest %v, want %v", list, want)
		}
		x.send(1, body(12, 0xabcd, 0, 0)) // the same digest again
		x.send(1, body(12, 0xabce, 0, 0)) // another digest
		second := x.next(x.session).GetDigest()
		if len(second.GetData()) != 1 || !proto.Equal(second.Data[0].GetStruct().Members[1], bits(0xabce)) {
			x.Fatalf("after one that was not acknowledged: %v, want the new one only", second)
		}
		x.say(x.session, &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{DigestAck: &p4v1.DigestListAck{DigestId: list.DigestId, ListId: list.ListId}}})
		x.wait(50 * time.Millisecond)
		x.settle()
		x.send(1, body(12, 0xabcd, 0, 0))
		if third := x.next(x.session).GetDigest(); len(third.GetData()) != 1 || !proto.Equal(third.Data[0], want) {
			x.Errorf("after the acknowledgement: %v", third)
		}
	}, ""},
	{"9.8", "digests: buffered up to max_list_size or max_timeout_ns", func(x *bench) {
		x.must(insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 3, MaxTimeoutNs: 200e6, AckTimeoutNs: 1e9}}))
		for i := range uint32(4) {
			x.send(1, body(12, i, 0, 0))
		}
		if n := len(x.next(x.session).GetDigest().GetData()); n != 3 {
			x.Errorf("the first list has %d, want 3", n)
		}
		x.wait(400 * time.Millisecond)
		if n := len(x.next(x.session).GetDigest().GetData()); n != 1 {
			x.Errorf("the second list has %d, want 1", n)
		}
	}, ""},
	{"9.8", "digests: those not acknowledged are sent again after ack_timeout_ns", func(x *bench) {
		x.must(insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 1, AckTimeoutNs: 100e6}}))
		x.send(1, body(12, 1, 0, 0))
		x.next(x.session)
		x.wait(300 * time.Millisecond)
		x.send(1, body(12, 1, 0, 0))
		if d := x.next(x.session).GetDigest(); len(d.GetData()) != 1 {
			x.Errorf("after the timeout: %v", d)
		}
	}, ""},
	{"9.8", "digests: configured by INSERT, MODIFY, DELETE; read back; a negative timeout is INVALID_ARGUMENT", func(x *bench) {
		d := &p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 2, MaxTimeoutNs: 1e6, AckTimeoutNs: 1e9}}
		x.refuses(codes.NotFound, modify(d))
		x.must(insert(d))
		x.refuses(codes.AlreadyExists, insert(d))
		x.same(x.got(&p4v1.DigestEntry{DigestId: d.DigestId}), d)
		x.same(x.got(&p4v1.DigestEntry{}), d)
		d.Config.MaxListSize = 5
		x.must(modify(d))
		x.same(x.got(&p4v1.DigestEntry{DigestId: d.DigestId}), d)
		x.must(remove(d))
		x.refuses(codes.NotFound, remove(d))
		x.send(1, body(12, 1, 0, 0))
		x.silent(x.session)
		d.Config.AckTimeoutNs = -1
		x.refuses(codes.InvalidArgument, insert(d))
	}, "PI does not read all digests at once"},
	{"9.9", "an extern that the architecture does not have is INVALID_ARGUMENT", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(&p4v1.ExternEntry{ExternTypeId: 0x81, ExternId: 1}))
		x.same(x.got(&p4v1.ExternEntry{}))
	}, lenient},
	{"12.1", "an update without an entity or without a type is INVALID_ARGUMENT", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(nil))
		x.refuses(codes.InvalidArgument, change(p4v1.Update_UNSPECIFIED, x.exactEntry(1, 1)))
	}, lenient},
	{"12.1", "an empty batch succeeds", func(x *bench) { x.must() }, ""},
	{"12.2", "CONTINUE_ON_ERROR executes every valid update, and returns a status for each", func(x *bench) {
		x.atomic(p4v1.WriteRequest_CONTINUE_ON_ERROR, []codes.Code{codes.OK, codes.AlreadyExists, codes.OK}, x.exactEntry(1, 1), x.exactEntry(3, 3))
	}, ""},
	{"12.2", "ROLLBACK_ON_ERROR executes all updates or none; those without an error are ABORTED", func(x *bench) {
		x.atomic(p4v1.WriteRequest_ROLLBACK_ON_ERROR, []codes.Code{codes.Aborted, codes.AlreadyExists, codes.Aborted})
	}, "PI answers UNIMPLEMENTED"},
	{"12.2", "DATAPLANE_ATOMIC executes all updates or none, at once for every packet", func(x *bench) {
		x.atomic(p4v1.WriteRequest_DATAPLANE_ATOMIC, []codes.Code{codes.Aborted, codes.AlreadyExists, codes.Aborted})
	}, "PI answers UNIMPLEMENTED"},
	{"12.2", "a batch that is rolled back changes nothing, of any entity", func(x *bench) {
		x.must(insert(x.exactEntry(1, 1)), insert(x.member("profile", 1, 1)), insert(x.indirect("t_profile", 5, 1, 0)))
		before := x.everything()
		del := x.exactEntry(1, 1)
		err := x.writeAs(p4v1.WriteRequest_ROLLBACK_ON_ERROR,
			remove(del), insert(x.exactEntry(2, 2)), modify(x.member("profile", 1, 9)), insert(x.member("profile", 2, 9)), insert(x.member("selector", 1, 1)),
			insert(x.group(1, 1)), insert(x.indirect("t_select", 1, 0, 1)), remove(x.indirect("t_profile", 5, 1, 0)),
			modify(x.defaultEntry("t_lpm", x.call("mark", 9))),
			modify(&p4v1.CounterEntry{CounterId: x.id("by_port"), Data: &p4v1.CounterData{PacketCount: 5}}),
			modify(&p4v1.MeterEntry{MeterId: x.id("shared_police"), Config: &p4v1.MeterConfig{Cir: 1, Cburst: 1, Pir: 1, Pburst: 1}}),
			modify(&p4v1.RegisterEntry{RegisterId: x.id("wide"), Data: bits(5)}), modify(&p4v1.ValueSetEntry{ValueSetId: x.id("kinds"), Members: members(3)}),
			insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 3, Replicas: replicas(2)}), insert(&p4v1.CloneSessionEntry{SessionId: 3}),
			insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 1}}),
			insert(x.ternaryEntry(1, 1, ternary(1, 1, 1))), insert(x.ternaryEntry(1, 1, ternary(1, 1, 1))))
		got := details(err)
		if len(got) != 18 || got[17] != codes.AlreadyExists {
			x.Fatalf("the batch ended with %v %v", err, got)
		}
		after := x.everything()
		if len(before) != len(after) {
			x.Errorf("%d entities before, %d after", len(before), len(after))
		}
		for i := range min(len(before), len(after)) {
			if !proto.Equal(before[i], after[i]) {
				x.Errorf("before: %v\nafter: %v", before[i], after[i])
			}
		}
	}, "PI answers UNIMPLEMENTED"},
	{"12.2", "a batch that is rolled back leaves counters and meters of entries that it deleted as they were", func(x *bench) {
		counted, metered := x.exactEntry(1, 1), x.entry("t_meter", x.call("mark_and_meter", 1), exact(1, 1))
		rates := &p4v1.MeterConfig{Cir: 1, Cburst: 2, Pir: 3, Pburst: 4}
		x.must(insert(counted), insert(metered))
		x.must(modify(&p4v1.DirectCounterEntry{TableEntry: counted, Data: &p4v1.CounterData{PacketCount: 5, ByteCount: 50}}),
			modify(&p4v1.DirectMeterEntry{TableEntry: metered, Config: rates}))
		err := x.writeAs(p4v1.WriteRequest_ROLLBACK_ON_ERROR,
			modify(&p4v1.DirectCounterEntry{TableEntry: counted, Data: &p4v1.CounterData{PacketCount: 9}}),
			modify(&p4v1.DirectMeterEntry{TableEntry: metered}),
			remove(counted), remove(metered), insert(x.exactEntry(2, 2)), remove(metered))
		if got := details(err); len(got) != 6 || got[5] != codes.NotFound {
			x.Fatalf("the batch ended with %v %v", err, got)
		}
		c := x.got(&p4v1.DirectCounterEntry{TableEntry: &p4v1.TableEntry{TableId: counted.TableId, Match: counted.Match}})
		if d := c[0].GetDirectCounterEntry().GetData(); d.GetPacketCount() != 5 || d.GetByteCount() != 50 {
			x.Errorf("the counter is %v, was 5 packets of 50 bytes", d)
		}
		m := x.got(&p4v1.DirectMeterEntry{TableEntry: &p4v1.TableEntry{TableId: metered.TableId, Match: metered.Match}})
		if got := m[0].GetDirectMeterEntry().GetConfig(); !proto.Equal(got, rates) {
			x.Errorf("the meter has %v, had %v", got, rates)
		}
	}, "PI answers UNIMPLEMENTED"},
	{"12.2", "an unknown atomicity is INVALID_ARGUMENT", func(x *bench) {
		x.fails(x.writeAs(9, insert(x.exactEntry(1, 1))), codes.InvalidArgument)
	}, "PI answers UNIMPLEMENTED"},
	{"12.3", "a batch that fails is UNKNOWN with a p4.Error for each update, in order", func(x *bench) {
		err := x.write(insert(x.exactEntry(1, 1)), insert(x.exactEntry(1, 1)), modify(x.exactEntry(8, 1)), insert(x.exactEntry(2, 1)))
		if got := details(err); status.Code(err) != codes.Unknown || !slices.Equal(got, []codes.Code{codes.OK, codes.AlreadyExists, codes.NotFound, codes.OK}) {
			x.Errorf("%v %v", err, got)
		}
	}, ""},
	{"13", "a read for an unknown device is NOT_FOUND", func(x *bench) {
		stream, err := x.client.Read(x.ctx, &p4v1.ReadRequest{DeviceId: 99})
		if err == nil {
			_, err = stream.Recv()
		}
		x.fails(err, codes.NotFound)
	}, "simple_switch_grpc accepts any device id"},
	{"13", "every controller may read, primary or not", func(x *bench) {
		x.must(insert(x.exactEntry(1, 1)))
		x.stream.CloseSend()
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_exact")}), x.exactEntry(1, 1))
	}, ""},
	{"13.3", "a batch of reads answers all of them; one that fails does not hide the others", func(x *bench) {
		x.must(insert(x.exactEntry(1, 1)), insert(x.member("profile", 1, 1)))
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_exact")}, &p4v1.ActionProfileMember{ActionProfileId: x.id("profile")}), x.exactEntry(1, 1), x.member("profile", 1, 1))
		list, err := x.read(&p4v1.TableEntry{TableId: 0x02ffffff}, &p4v1.TableEntry{TableId: x.id("t_exact")})
		if got := details(err); !slices.Equal(got, []codes.Code{codes.NotFound, codes.OK}) {
			x.Errorf("%v %v, want NOT_FOUND for the first", err, got)
		}
		x.same(list, x.exactEntry(1, 1))
	}, lenient},
	{"13", "a read that is answered by several messages has every entity once", func(x *bench) {
		const n = 100
		var updates []*p4v1.Update
		for i := range uint64(n) {
			updates = append(updates, insert(x.entry("t_lpm", x.call("mark", i), lpm(1, i<<16, 16), exact(2, i))))
		}
		x.must(updates...)
		seen := map[string]bool{}
		for _, e := range x.got(&p4v1.TableEntry{TableId: x.id("t_lpm")}) {
			seen[e.String()] = true
		}
		if len(seen) != n {
			x.Errorf("%d different entries, want %d", len(seen), n)
		}
	}, ""},
}

// everything reads all entities that can be written.
func (x *bench) everything() []*p4v1.Entity {
	x.Helper()
	list := x.got(&p4v1.TableEntry{}, &p4v1.ActionProfileMember{}, &p4v1.ActionProfileGroup{}, &p4v1.CounterEntry{}, &p4v1.MeterEntry{}, &p4v1.RegisterEntry{},
		&p4v1.ValueSetEntry{}, &p4v1.MulticastGroupEntry{}, &p4v1.CloneSessionEntry{}, &p4v1.DigestEntry{}, x.defaultEntry("t_lpm", nil))
	slices.SortFunc(list, func(a, b *p4v1.Entity) int { return bytes.Compare(marshal(a), marshal(b)) })
	return list
}

func marshal(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// settle waits until our switch has handled the messages of the stream.
func (x *bench) settle() {
	x.Helper()
	if x.soft != nil {
		x.silent(x.session)
	}
}
