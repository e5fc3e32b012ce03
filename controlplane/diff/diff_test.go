// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/controlplane/diff"
	"github.com/pauseless/pauseless/controlplane/p4rttest"
	"github.com/pauseless/pauseless/controlplane/schema"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"
)

func program(t testing.TB) *schema.Schema {
	t.Helper()
	s, err := schema.New(p4rttest.Program())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t testing.TB, s *schema.Schema, line string) *p4v1.Entity {
	t.Helper()
	e, err := s.ParseEntity(line)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// random returns entities with unique keys. Two calls have many keys and some
// entities in common.
func random(t testing.TB, s *schema.Schema, r *rand.Rand) []*p4v1.Entity {
	var out []*p4v1.Entity
	add := func(format string, args ...any) {
		if r.IntN(3) > 0 {
			out = append(out, parse(t, s, fmt.Sprintf(format, args...)))
		}
	}
	for i := range 8 {
		add("Forward dst=10.0.%d.0/24 -> forward(%d)", i, r.IntN(3))
		add("acl prio %d src=10.0.0.0/8 -> forward(%d)", i+1, r.IntN(3))
		add("acl prio %d dport=%d -> drop", i+1, i)
		add("multicast %d -> 1, %d", i+1, 2+r.IntN(2))
		add("clone %d -> %d", i+1, 1+r.IntN(2))
		add("member spread %d -> forward(%d)", i+1, r.IntN(3))
		add("paths leaf=%d -> member %d", i, 1+r.IntN(2))
	}
	add("Forward default -> forward(%d)", r.IntN(3))
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// Executing a plan leads from any state to any other, and each update is valid
// when it is executed.
func TestPlanReachesTheDesiredState(t *testing.T) {
	s := program(t)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		have, want := random(t, s, r), random(t, s, r)
		plan, err := diff.Compute(s, have, want)
		if err != nil {
			t.Fatal(err)
		}
		state := make(map[string]*p4v1.Entity)
		for _, e := range have {
			state[schema.Key(e)] = e
		}
		for _, phase := range plan.Phases {
			for _, u := range phase {
				key := schema.Key(u.Entity)
				_, there := state[key]
				isDefault := u.Entity.GetTableEntry().GetIsDefaultAction()
				if there != (u.Type != p4v1.Update_INSERT) && !isDefault {
					t.Fatalf("seed %d: %v of an entity, there: %v: %s", seed, u.Type, there, s.FormatEntity(u.Entity))
				}
				if u.Type == p4v1.Update_DELETE || isDefault && u.Entity.GetTableEntry().Action == nil {
					delete(state, key)
				} else {
					state[key] = u.Entity
				}
			}
		}
		if len(state) != len(want) {
			t.Fatalf("seed %d: %d entities, want %d", seed, len(state), len(want))
		}
		for _, e := range want {
			if got := state[schema.Key(e)]; got == nil || !schema.Equal(got, e) {
				t.Fatalf("seed %d: %v instead of %s", seed, got, s.FormatEntity(e))
			}
		}
		if again, err := diff.Compute(s, want, want); err != nil || again.Len() != 0 {
			t.Fatalf("seed %d: %d updates from a state to itself", seed, again.Len())
		}
	}
}

// The updates for a switch that has been started are those of a plan for one without
// entities, in the same order.
func TestFirstUpdatesAreThoseOfAPlan(t *testing.T) {
	s := program(t)
	for seed := range uint64(50) {
		want := random(t, s, rand.New(rand.NewPCG(seed, 2)))
		plan, err := diff.Compute(s, nil, want)
		if err != nil {
			t.Fatal(err)
		}
		planned := slices.Concat(plan.Phases...)
		if !slices.EqualFunc(diff.First(want), planned, func(a, b *p4v1.Update) bool { return proto.Equal(a, b) }) {
			t.Fatalf("seed %d: %v, want %v", seed, diff.First(want), planned)
		}
	}
}

// Entities that differ only in notation have the same key.
func TestKeysDoNotDependOnNotation(t *testing.T) {
	s := program(t)
	a := parse(t, s, "neighbour dst=5 vlan=7 -> forward(port=3)")
	b := proto.Clone(a).(*p4v1.Entity)
	te := b.GetTableEntry()
	te.Match[0], te.Match[1] = te.Match[1], te.Match[0]
	te.Match[0].GetExact().Value = append([]byte{0, 0}, te.Match[0].GetExact().Value...)
	te.GetAction().GetAction().Params[0].Value = []byte{0, 3}
	te.Metadata = []byte("x")
	if schema.Key(a) != schema.Key(b) || !schema.Equal(a, b) {
		t.Errorf("%v and %v are told apart", a, b)
	}
	c := parse(t, s, "multicast 1 -> 1, 2")
	d := schema.Multicast(&p4v1.MulticastGroupEntry{MulticastGroupId: 1, Replicas: []*p4v1.Replica{
		{PortKind: &p4v1.Replica_Port{Port: []byte{0, 2}}}, {PortKind: &p4v1.Replica_Port{Port: []byte{1}}},
	}})
	if schema.Key(c) != schema.Key(d) || !schema.Equal(c, d) {
		t.Errorf("%v and %v are told apart", c, d)
	}
}

func TestKeysOfDifferentEntitiesDiffer(t *testing.T) {
	s := program(t)
	lines := []string{
		"Forward dst=10.0.0.0/24 -> drop", "Forward dst=10.0.0.0/25 -> drop", "Forward default -> drop",
		"acl prio 1 src=1 -> drop", "acl prio 2 src=1 -> drop", "acl prio 1 src=1&&&1 -> drop", "acl prio 1 dport=1..2 -> drop",
		"acl prio 1 proto=1 -> drop", "multicast 1 -> 1", "clone 1 -> 1", "member spread 1 -> forward(1)", "group spread 1 -> 1",
		"register Readqlen[1] = 1", "register Readqlen[2] = 1", "register Warned[1] = 1", "meter police[1] = cir 1 burst 1 pir 1 burst 1",
		"counter rx[1] = 1 packets 1 bytes", "digest alert_t list 1", "paths leaf=1 -> member 1",
	}
	seen := make(map[string]string)
	for _, l := range lines {
		k := schema.Key(parse(t, s, l))
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s have one key", l, other)
		}
		seen[k] = l
	}
	for _, pair := range [][2]string{
		{"Forward dst=1 -> drop", "Forward dst=1 -> forward(1)"}, {"Forward dst=1 -> forward(2)", "Forward dst=1 -> forward(1)"},
		{"Forward dst=1 -> drop timeout 1s", "Forward dst=1 -> drop"}, {"multicast 1 -> 1", "multicast 1 -> 1/2"},
		{"clone 1 -> 1 truncate 64", "clone 1 -> 1"}, {"paths leaf=1 -> member 1", "paths leaf=1 -> group 1"},
		{"paths leaf=1 -> {forward(1)}", "paths leaf=1 -> {forward(1) weight 2}"}, {"group spread 1 -> 1, 2", "group spread 1 -> 1, 2 weight 2"},
		{"digest alert_t list 1", "digest alert_t list 2"},
	} {
		if schema.Equal(parse(t, s, pair[0]), parse(t, s, pair[1])) {
			t.Errorf("%s and %s are equal", pair[0], pair[1])
		}
	}
}

// The comparison includes what the text format cannot express: watch ports of
// members, backups of replicas, excess bursts, and meters with zero rates,
// which differ from unconfigured ones.
func TestDifferencesWithoutText(t *testing.T) {
	s := program(t)
	for _, c := range []struct {
		line   string
		change func(*p4v1.Entity)
	}{
		{"meter police[1]", func(e *p4v1.Entity) { e.GetMeterEntry().Config = &p4v1.MeterConfig{} }},
		{"meter police[1] = cir 1 burst 1 pir 1 burst 1", func(e *p4v1.Entity) { e.GetMeterEntry().Config.Eburst = 1 }},
		{"group spread 1 -> 1", func(e *p4v1.Entity) {
			e.GetActionProfileGroup().Members[0].WatchKind = &p4v1.ActionProfileGroup_Member_WatchPort{WatchPort: []byte{1}}
		}},
		{"paths leaf=1 -> {forward(1)}", func(e *p4v1.Entity) {
			//lint:ignore SA1019 servers in use do not know the younger field
			e.GetTableEntry().GetAction().GetActionProfileActionSet().ActionProfileActions[0].WatchKind = &p4v1.ActionProfileAction_Watch{Watch: 1}
		}},
		{"multicast 1 -> 1", func(e *p4v1.Entity) {
			e.GetPacketReplicationEngineEntry().GetMulticastGroupEntry().Replicas[0].BackupReplicas = []*p4v1.BackupReplica{{Port: []byte{2}}}
		}},
	} {
		e := parse(t, s, c.line)
		other := proto.Clone(e).(*p4v1.Entity)
		c.change(other)
		if schema.Equal(e, other) || !schema.Equal(other, proto.Clone(other).(*p4v1.Entity)) {
			t.Errorf("%v and %v are equal", e, other)
		}
	}
	// The older field has the same meaning as the newer one.
	a := parse(t, s, "group spread 1 -> 1")
	b := proto.Clone(a).(*p4v1.Entity)
	a.GetActionProfileGroup().Members[0].WatchKind = &p4v1.ActionProfileGroup_Member_WatchPort{WatchPort: []byte{1}}
	//lint:ignore SA1019 servers in use do not know the younger field
	b.GetActionProfileGroup().Members[0].WatchKind = &p4v1.ActionProfileGroup_Member_Watch{Watch: 1}
	if !schema.Equal(a, b) {
		t.Errorf("%v and %v are told apart", a, b)
	}
}

func BenchmarkCompute(b *testing.B) {
	s := program(b)
	var list []*p4v1.Entity
	for i := range 1000 {
		list = append(list, parse(b, s, fmt.Sprintf("Forward dst=10.%d.%d.0/24 -> forward(1)", i>>8, i&255)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if p, err := diff.Compute(s, list, list); err != nil || p.Len() != 0 {
			b.Fatal(p, err)
		}
	}
}
