// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/bmv2json"
)

// newRoutes is a program with a table whose key has fields of two headers. A
// field of the first header moves the second by two bytes.
func newRoutes(kind string) *lab {
	l := newLab(bmv2json.HeaderField{Name: "tag", Width: 4}, bmv2json.HeaderField{Name: "low", Width: 4})
	j := l.json
	j.HeaderTypes = append(j.HeaderTypes,
		&bmv2json.HeaderType{Name: "ip_t", ID: 3, Fields: []bmv2json.HeaderField{{Name: "ttl", Width: 8}, {Name: "dst", Width: 28}, {Name: "out", Width: 4}}},
		&bmv2json.HeaderType{Name: "tag_t", ID: 4, Fields: []bmv2json.HeaderField{{Name: "id", Width: 16}}})
	j.Headers = append(j.Headers, &bmv2json.Header{Name: "ip", ID: 3, Type: "ip_t"}, &bmv2json.Header{Name: "tagged", ID: 4, Type: "tag_t"})
	extract := func(h string) []*bmv2json.ParserOp {
		return []*bmv2json.ParserOp{{Op: "extract", Parameters: []*bmv2json.Value{bmv2json.Named(bmv2json.TypeRegular, h)}}}
	}
	j.Parsers[0].States = []*bmv2json.ParseState{
		{Name: "start", Ops: extract("h"), Key: []*bmv2json.Value{bmv2json.Field("h", "tag")}, Transitions: []*bmv2json.Transition{
			{Type: "hexstr", Value: "0x01", Next: "tagged"}, {Type: "default", Next: "ip"}}},
		{Name: "tagged", Ops: extract("tagged"), Transitions: []*bmv2json.Transition{{Type: "default", Next: "ip"}}},
		{Name: "ip", Ops: extract("ip"), Transitions: acceptAll()},
	}
	l.action.RuntimeData = []bmv2json.Param{{Name: "x", Width: 8}}
	l.do("assign", bmv2json.Field("ip", "ttl"), bmv2json.RuntimeData(0))
	j.Deparsers[0].Order = []string{"h", "tagged", "ip"}
	j.Pipelines[0] = &bmv2json.Pipeline{Name: "ingress", InitTable: "routes", Tables: []*bmv2json.Table{{
		Name: "routes", MatchType: kind, Type: "simple", MaxSize: 1 << 16, ActionIDs: []int{1}, Actions: []string{"act"}, NextTables: bmv2json.NextTables{{Action: "act"}},
		Key: []*bmv2json.Key{
			{MatchType: "exact", Target: bmv2json.FieldRef{Header: "h", Field: "low"}},
			{MatchType: kind, Target: bmv2json.FieldRef{Header: "ip", Field: "dst"}}},
	}}}
	return l
}

// Prefetch guesses the keys of packets with the usual headers, and ignores
// packets that are too short.
func TestKeysAreGuessed(t *testing.T) {
	m := newRoutes("exact").machine(t)
	if len(m.prog.Guesses) != 1 {
		t.Fatalf("%d tables can be guessed, want 1", len(m.prog.Guesses))
	}
	g, table := &m.prog.Guesses[0], m.state.Tables[0]
	for _, tt := range []struct {
		data  []byte
		right bool
	}{
		{[]byte{0x05, 64, 0x12, 0x34, 0x56, 0x78}, true},
		{[]byte{0x2f, 1, 0xff, 0xff, 0xff, 0xff}, true},
		{[]byte{0x15, 9, 9, 64, 0x12, 0x34, 0x56, 0x78}, false}, // tagged
	} {
		key, ok := g.Key(tt.data)
		pass(m, tt.data)
		if got := m.key1(table.Info.Parts); !ok || (got == key) != tt.right {
			t.Errorf("%x: the key is %#x, guessed as %#x (%v); want a right guess: %v", tt.data, got, key, ok, tt.right)
		}
	}
	if _, ok := g.Key([]byte{0x05, 64, 0x12, 0x34, 0x56}); ok {
		t.Error("a key is guessed beyond the end of a packet")
	}
}

// A large table behaves the same with and without Prefetch, whatever its
// entries are, while its actions change and become too many for shared records.
// Each entry counts its own packets, a new one from zero.
func TestPrefetchKeepsTheResultsOfLargeTables(t *testing.T) {
	for _, kind := range []string{"exact", "lpm", "exact counted", "lpm counted"} {
		kind, counted := strings.CutSuffix(kind, " counted")
		l := newRoutes(kind)
		l.json.Pipelines[0].Tables[0].WithCounters = counted
		m := l.machine(t)
		table := m.state.Tables[0]
		hits := map[uint32]uint64{}
		rng := rand.New(rand.NewPCG(1, 2))
		want := map[uint32]byte{}
		ids := map[uint32]uint32{}
		for step := range 4 * worthPrefetching {
			dst := uint32(rng.IntN(worthPrefetching*3/2)) << 12
			arg := byte(rng.IntN(3))
			if step > 3*worthPrefetching {
				arg = byte(step)
			}
			if id, ok := ids[dst]; ok && step%10 == 0 {
				table.Delete(id)
				delete(ids, dst)
				delete(want, dst)
				delete(hits, dst)
				continue
			} else if ok {
				table.SetAction(id, 0, []uint64{uint64(arg)})
			} else {
				match := table.Info.Match([]FieldMatch{{Value: []uint64{5}}, {Value: []uint64{uint64(dst)}, Prefix: 20}}, 0)
				id, err := table.Insert(&match, 0, []uint64{uint64(arg)})
				if err != nil {
					t.Fatal(err)
				}
				ids[dst] = id
			}
			want[dst] = arg
			var frames [][]byte
			for range 3 {
				dst := uint32(rng.IntN(worthPrefetching*3/2)) << 12
				frames = append(frames, binary.BigEndian.AppendUint32([]byte{0x05, 99}, dst<<4))
			}
			m.Prefetch(frames)
			for _, f := range frames {
				ttl := byte(99)
				dst := binary.BigEndian.Uint32(f[2:]) >> 4
				if arg, ok := want[dst]; ok {
					ttl = arg
					hits[dst]++
				}
				if got := pass(m, f)[1]; got != ttl {
					t.Fatalf("%s, step %d: %x becomes %d, want %d", kind, step, f, got, ttl)
				}
			}
		}
		for dst, id := range ids {
			if counted && table.Entry(id).Ext.Counter.Packets != hits[dst] {
				t.Fatalf("%s: entry %#x has counted %d packets, want %d", kind, dst, table.Entry(id).Ext.Counter.Packets, hits[dst])
			}
		}
		if table.Len() < worthPrefetching {
			t.Errorf("the table has %d entries, too few for this test", table.Len())
		}
	}
}

// Changes of entries invalidate recent lookups: a table with a key of one field
// always applies its present entries.
func TestRecentLookupsAreForgotten(t *testing.T) {
	l := newRoutes("lpm")
	table := l.json.Pipelines[0].Tables[0]
	table.Key = table.Key[1:]
	m := l.machine(t)
	routes := m.state.Tables[0]
	if routes.recent == nil {
		t.Fatal("the table does not keep what was looked up: this tests nothing")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	type route struct {
		id  uint32
		arg byte
	}
	var known [29]map[uint32]route // by length of the prefix
	for i := range known {
		known[i] = map[uint32]route{}
	}
	some := func() uint32 { // differs in each part of the key that an index of routes has
		return uint32(rng.IntN(2)<<24 | rng.IntN(2)<<17 | rng.IntN(2)<<9 | rng.IntN(64))
	}
	for step := range 40000 {
		if dst, bits := some(), []int{3, 9, 16, 22, 25, 28}[rng.IntN(6)]; step%5 == 0 {
			dst &^= 1<<(28-bits) - 1
			r, ok := known[bits][dst]
			switch arg := byte(rng.IntN(50)); {
			case ok && rng.IntN(2) == 0:
				routes.Delete(r.id)
				delete(known[bits], dst)
			case ok:
				routes.SetAction(r.id, 0, []uint64{uint64(arg)})
				known[bits][dst] = route{r.id, arg}
			default:
				match := routes.Info.Match([]FieldMatch{{Value: []uint64{uint64(dst)}, Prefix: bits}}, 0)
				id, err := routes.Insert(&match, 0, []uint64{uint64(arg)})
				if err != nil {
					t.Fatal(err)
				}
				known[bits][dst] = route{id, arg}
			}
		}
		dst, want := some(), byte(99)
		for bits := range known {
			if r, ok := known[bits][dst&^(1<<(28-bits)-1)]; ok {
				want = r.arg
			}
		}
		if got := pass(m, binary.BigEndian.AppendUint32([]byte{0x05, 99}, dst<<4))[1]; got != want {
			t.Fatalf("step %d: a packet to %d becomes %d, want %d", step, dst, got, want)
		}
	}
}

// Tables with keys of two fields that are not exact apply the entry with precedence,
// although what was looked up is kept, also that there is no entry. A key of eight
// bits has a slot of its own.
func TestRecentLookupsOfAllKinds(t *testing.T) {
	for _, kind := range []string{"lpm", "ternary", "range"} {
		for field, width := range map[string]int{"dst": 28, "out": 4} {
			l := newRoutes(kind)
			l.json.Pipelines[0].Tables[0].Key[1].Target.Field = field
			m := l.machine(t)
			routes := m.state.Tables[0]
			if routes.recent == nil {
				t.Fatalf("%s: the table does not keep what was looked up: this tests nothing", kind)
			}
			type entry struct {
				low, value, mask, last uint64 // the range is value to last
				rank                   int32
				id                     uint32
				arg                    byte
			}
			rng := rand.New(rand.NewPCG(5, uint64(width)))
			var entries []entry
			hits := uint64(0)
			const steps = 20000
			for step := range steps {
				switch n := len(entries); {
				case step%7 != 0:
				case n > 0 && rng.IntN(n) > 4:
					k := rng.IntN(n)
					routes.Delete(entries[k].id)
					entries = append(entries[:k], entries[k+1:]...)
				case n > 0 && rng.IntN(3) == 0:
					e := &entries[rng.IntN(n)]
					e.arg = byte(rng.IntN(99))
					routes.SetAction(e.id, 0, []uint64{uint64(e.arg)})
				default:
					e := entry{low: uint64(rng.IntN(3)), arg: byte(rng.IntN(99)), rank: int32(step)}
					prefix := width - rng.IntN(4)
					e.mask = (1<<width - 1) &^ (1<<(width-prefix) - 1)
					switch kind {
					case "lpm":
						e.rank = int32(prefix)
					case "ternary":
						e.mask = uint64(rng.IntN(16))
					}
					e.value = uint64(rng.IntN(16)) & e.mask
					e.last = e.value + uint64(rng.IntN(4))
					match := routes.Info.Match([]FieldMatch{{Value: []uint64{e.low}}, {
						Value: []uint64{e.value}, Mask: []uint64{e.mask}, Prefix: prefix, Low: []uint64{e.value}, High: []uint64{min(e.last, 1<<width-1)}}}, e.rank)
					if _, ok := routes.index.Find(&match); ok {
						continue
					}
					id, err := routes.Insert(&match, 0, []uint64{uint64(e.arg)})
					if err != nil {
						t.Fatal(err)
					}
					e.id = id
					entries = append(entries, e)
				}
				low, value := uint64(rng.IntN(3)), uint64(rng.IntN(16))
				want, rank := byte(99), int32(-1)
				for _, e := range entries {
					matches := value&e.mask == e.value
					if kind == "range" {
						matches = e.value <= value && value <= e.last
					}
					if e.low == low && matches && e.rank > rank {
						want, rank = e.arg, e.rank
					}
				}
				if rank >= 0 {
					hits++
				}
				frame := []byte{byte(low), 99, 0, 0, 0, byte(value)}
				if field == "dst" {
					binary.BigEndian.PutUint32(frame[2:], uint32(value)<<4)
				}
				if got := pass(m, frame)[1]; got != want {
					t.Fatalf("%s %s, step %d: a packet with %d and %d becomes %d, want %d", kind, field, step, low, value, got, want)
				}
			}
			// Translated code looks where lookups are kept.
			entries[0].arg = 1
			routes.SetAction(entries[0].id, 0, []uint64{1})
			frame := []byte{byte(entries[0].low), 99, 0, 0, 0, byte(entries[0].value)}
			if field == "dst" {
				binary.BigEndian.PutUint32(frame[2:], uint32(entries[0].value)<<4)
			}
			pass(m, frame)
			hits++
			key := m.key1(routes.Info.Parts)
			kept := routes.recent.slot(key, routes.Info.Width)
			if *kept>>32 != key || *kept == key<<32 {
				t.Errorf("%s %s: the lookup of %#x is not kept", kind, field, key)
			}
			*kept = key<<32 | 1                 // no entry
			routes.quick = m.prog.Native == nil // else Go would look there
			if got := pass(m, frame)[1]; got != 99 {
				t.Errorf("%s %s: the code does not use what is kept of %#x", kind, field, key)
			}
			if routes.Hits != hits || hits == 0 || routes.Lookups == hits {
				t.Errorf("%s %s: %d lookups and %d hits, want %d hits", kind, field, routes.Lookups, routes.Hits, hits)
			}
		}
	}
}
