// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// selected sends packets through a table with a selector of three members,
// which write 1, 2 and 3. It returns the written values.
func selected(t *testing.T, algo string, packets []byte, change func(*Group)) []byte {
	t.Helper()
	l := newLab(bmv2json.HeaderField{Name: "x", Width: 8}, bmv2json.HeaderField{Name: "y", Width: 8})
	l.action.RuntimeData = []bmv2json.Param{{Name: "p", Width: 8}}
	l.do("assign", bmv2json.Field("h", "y"), bmv2json.RuntimeData(0))
	p := l.json.Pipelines[0]
	p.InitTable, p.ActionCalls = "t", nil
	p.Tables = []*bmv2json.Table{{Name: "t", MatchType: "exact", Type: "indirect_ws", ActionProfile: "s", MaxSize: 4, ActionIDs: []int{1}, Actions: []string{"act"},
		Key: []*bmv2json.Key{{MatchType: "valid", Target: bmv2json.FieldRef{Header: "h", Field: ops.ValidField}}}, NextTables: bmv2json.NextTables{{Action: "act"}}}}
	p.ActionProfiles = []*bmv2json.ActionProfile{{Name: "s", MaxSize: 8, Selector: &bmv2json.Selector{Algo: algo, Input: []*bmv2json.Value{bmv2json.Field("h", "x")}}}}
	m := l.machine(t)
	s := m.State()
	g := s.Profiles[0].NewGroup()
	for i := range uint64(3) {
		g.Members = append(g.Members, GroupMember{Member: &Member{Action: 0, Args: []uint64{i + 1}}, Weight: 1, Watch: -1})
	}
	change(g)
	g.Choose()
	tab := s.Tables[0]
	match := tab.Info.Match([]FieldMatch{{Value: []uint64{1}}}, 0)
	id, err := tab.Insert(&match, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	tab.Extend(id).Group = g
	var got []byte
	for _, x := range packets {
		got = append(got, pass(m, []byte{x, 9})[1])
	}
	return got
}

func TestSelectors(t *testing.T) {
	same := func(*Group) {}
	if got := selected(t, "round_robin", []byte{0, 0, 0, 0, 5, 6, 7}, same); !slices.Equal(got, []byte{1, 2, 3, 1, 2, 3, 1}) {
		t.Errorf("round robin: %v", got)
	}
	if got := selected(t, "round_robin_consistent", []byte{5, 6, 5, 7, 6, 8, 5}, same); !slices.Equal(got, []byte{1, 2, 1, 3, 2, 1, 1}) {
		t.Errorf("consistent round robin: %v", got)
	}
	if got := selected(t, "identity", []byte{0, 1, 2, 3, 4, 5}, same); !slices.Equal(got, []byte{1, 2, 3, 1, 2, 3}) {
		t.Errorf("identity: %v", got)
	}
	weights := func(g *Group) { g.Members[1].Weight = 3 }
	if got := selected(t, "identity", []byte{0, 1, 2, 3, 4, 5}, weights); !slices.Equal(got, []byte{1, 2, 2, 2, 3, 1}) {
		t.Errorf("with weights 1, 3, 1: %v", got)
	}
	down := func(g *Group) { g.Members[0].Down = true }
	if got := selected(t, "identity", []byte{0, 1, 2, 3}, down); !slices.Equal(got, []byte{2, 3, 2, 3}) {
		t.Errorf("with the first member down: %v", got)
	}
	none := func(g *Group) { g.Members = nil }
	if got := selected(t, "identity", []byte{0, 1}, none); !slices.Equal(got, []byte{9, 9}) {
		t.Errorf("an empty group did something: %v", got)
	}
	random := func(g *Group) { g.Random = true }
	seen := map[byte]int{}
	for _, y := range selected(t, "identity", make([]byte, 90), random) {
		seen[y]++
	}
	if len(seen) != 3 || seen[1] < 15 || seen[2] < 15 || seen[3] < 15 {
		t.Errorf("at random, members were picked %v times", seen)
	}
}

// The memory of a group depends on the number of members, not their weights. It
// selects the same members as a list that repeats each by its weight.
func TestWeightsTakeNoMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		g := &Group{}
		var list []*Member
		for range rng.IntN(9) {
			m := GroupMember{Member: &Member{}, Weight: rng.IntN(5), Down: rng.IntN(4) == 0}
			g.Members = append(g.Members, m)
			for range m.Weight {
				if !m.Down {
					list = append(list, m.Member)
				}
			}
		}
		g.Choose()
		if n := g.slots(); n != uint64(len(list)) {
			t.Fatalf("%d slots, want %d", n, len(list))
		}
		for i, want := range list {
			if g.pick(uint64(i)) != want {
				t.Fatalf("slot %d picks another member: %+v", i, g.Members)
			}
		}
	}
	big := &Group{}
	for range 4000 {
		big.Members = append(big.Members, GroupMember{Member: &Member{}, Weight: 1 << 16})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	big.Choose()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("4000 members took %d bytes: 2 GB when each unit of weight had a slot", took)
	}
}
