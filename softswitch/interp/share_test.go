// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"github.com/pauseless/pauseless/softswitch/table"
)

// shareLab is a program whose tables find entries in all ways, and a table of each.
func shareLab() *Program {
	p := &ops.Program{Name: "share", Actions: []ActionInfo{{Name: "a", Slots: 2, Params: []ParamInfo{{Name: "x", Width: 64}, {Name: "y", Width: 64, Slot: 1}}}}}
	for _, t := range []struct {
		kind  string
		width int
	}{{"exact", 8}, {"exact", 30}, {"exact", 64}, {"exact", 100}, {"lpm", 32}, {"lpm", 60}, {"ternary", 32}} {
		info := &TableInfo{Name: fmt.Sprint(t.kind, t.width), Kind: t.kind, Width: t.width, Size: 1000, Actions: []int{0}, Profile: -1, Meter: -1, MeterSlot: -1, EntrySlot: -1,
			Default: DefaultInfo{Action: -1}, Key: []KeyInfo{{Width: t.width, Kind: t.kind}}, Parts: []ops.KeyPart{{Mask: 1<<min(t.width, 63) - 1}}, PCs: []int32{1, 2, 3}, Number: len(p.Tables)}
		info.OrderActions(1)
		p.Tables = append(p.Tables, info)
	}
	return programOf(p)
}

// randomMatch returns one of few matches, so that changes meet.
func randomMatch(rng *rand.Rand, info *TableInfo) table.Match {
	f := FieldMatch{Value: make([]uint64, (info.Width+63)/64)}
	f.Value[0] = rng.Uint64N(64) << (min(info.Width, 32) - 6)
	switch info.Kind {
	case "lpm":
		f.Value[0], f.Prefix = rng.Uint64N(1<<6)<<(info.Width-6), 1+rng.IntN(info.Width)
	case "ternary":
		f.Mask = []uint64{rng.Uint64N(8) << 29}
	}
	return info.Match([]FieldMatch{f}, 1)
}

// change changes a table at random, as the control plane does.
func change(rng *rand.Rand, t *Table) {
	m := randomMatch(rng, t.Info)
	args := []uint64{rng.Uint64N(4), rng.Uint64N(2)}
	id, found := t.Find(&m)
	switch k := rng.IntN(4); {
	case !found:
		if _, err := t.Insert(&m, 0, args); err != nil {
			panic(err)
		}
	case k == 0:
		t.Delete(id)
	case k == 1:
		t.Extend(id).Owner = args[0]
	default:
		t.SetAction(id, 0, args)
	}
	if rng.IntN(8) == 0 {
		t.SetDefault(rng.IntN(2)-1, args)
	}
}

// contents is all that a table does, as text.
func contents(t *Table) string {
	text := fmt.Sprint(t.Len(), t.Slots(), t.def.Action(), t.Args(&t.def), ":")
	t.Each(func(id uint32, e *Entry) bool {
		m := t.Match(e)
		found, ok := t.Find(&m)
		owner := any(nil)
		if e.Ext != nil {
			owner = e.Ext.Owner
		}
		text += fmt.Sprintln(id, m, e.Action(), t.Args(e), found, ok, owner)
		return true
	})
	for x := range uint64(64) {
		for _, shift := range []int{min(t.Info.Width, 32) - 6, t.Info.Width - 6} {
			key := make([]uint64, len(t.key))
			key[0] = x << shift // the higher limb of wider keys is zero
			id, ok := t.index.Lookup(key)
			if !ok {
				continue
			}
			text += fmt.Sprint(x, ":", id, " ", t.records.data[int(t.recordOf[id])*t.records.stride:][:t.records.stride])
			if t.direct != nil {
				text += fmt.Sprint(t.direct[key[0]])
			}
		}
	}
	return text
}

// Tables that share their entries do what tables with entries of their own do, and a
// change of one does not reach the others.
func TestTablesShareEntriesUntilTheyChange(t *testing.T) {
	p := shareLab()
	for i, info := range p.Tables {
		shares := info.Kind != "ternary" && info.Name != "lpm60"
		for seed := range uint64(6) {
			rng := func(k uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, k)) }
			filled := func() *Table {
				table, r := NewState(p, 1).Tables[i], rng(0)
				table.Reserve(30)
				for range 60 {
					m := randomMatch(r, info)
					if _, found := table.Find(&m); !found {
						if _, err := table.Insert(&m, 0, []uint64{r.Uint64N(4), 0}); err != nil {
							t.Fatal(err)
						}
					}
				}
				return table
			}
			first := filled()
			c := first.Contents()
			if (c != nil) != shares {
				t.Fatalf("%s: contents to share: %v, want %v", info.Name, c != nil, shares)
			}
			if !shares {
				break
			}
			want := contents(filled())
			second, third := NewState(p, 2).Tables[i], NewState(p, 3).Tables[i]
			second.Share(c)
			third.Share(c)
			if &first.entries[0] != &second.entries[0] || first.index != second.index {
				t.Fatalf("%s: the entries exist twice", info.Name)
			}
			alone := filled()
			for step, r, s := 0, rng(1), rng(1); step < 30; step++ {
				change(r, second)
				change(s, alone)
				if got, want := contents(second), contents(alone); got != want {
					t.Fatalf("%s, seed %d, change %d of a table that had shared its entries: it has\n%s\nwant\n%s", info.Name, seed, step, got, want)
				}
			}
			if contents(first) != want || contents(third) != want {
				t.Fatalf("%s, seed %d: changes of one table reached another", info.Name, seed)
			}
			if &first.entries[0] != &third.entries[0] {
				t.Fatalf("%s: the tables that did not change do not share their entries any more", info.Name)
			}
			change(rng(2), first) // the one that they come from
			if contents(third) != want {
				t.Fatalf("%s, seed %d: a change of the first table reached another", info.Name, seed)
			}
		}
	}
}

// Entries that packets change are not shared.
func TestEntriesWithCountersAreNotShared(t *testing.T) {
	p := shareLab()
	p.Tables[1].Counters = true
	table := NewState(p, 1).Tables[1]
	m := randomMatch(rand.New(rand.NewPCG(1, 1)), table.Info)
	if _, err := table.Insert(&m, 0, []uint64{1, 2}); err != nil {
		t.Fatal(err)
	}
	if table.Contents() != nil {
		t.Error("a table with direct counters shares its entries")
	}
}
