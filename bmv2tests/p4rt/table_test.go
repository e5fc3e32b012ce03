// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"bytes"
	"math"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// exactEntry is an entry of t_exact.
func (x *bench) exactEntry(a, mark uint64) *p4v1.TableEntry {
	x.Helper()
	return x.entry("t_exact", x.call("mark_and_count", mark), exact(1, a))
}

// ternaryEntry is an entry of t_ternary with a priority.
func (x *bench) ternaryEntry(priority int32, mark uint64, match ...*p4v1.FieldMatch) *p4v1.TableEntry {
	x.Helper()
	e := x.entry("t_ternary", x.call("mark", mark), match...)
	e.Priority = priority
	return e
}

// raw is an exact match with bytes as given.
func raw(field uint32, b ...byte) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: b}}}
}

// defaultEntry is the default entry of a table.
func (x *bench) defaultEntry(table string, a *p4v1.Action) *p4v1.TableEntry {
	x.Helper()
	e := x.entry(table, a)
	e.IsDefaultAction = true
	return e
}

const lenient = "PI is more lenient, or answers with another code"

// tableClauses are about tables and their direct resources.
var tableClauses = []clause{
	{"8.3", "what is written is read back the same, for every match kind", func(x *bench) {
		entries := []proto.Message{
			x.exactEntry(0x01020304, 1),
			x.entry("t_lpm", x.call("mark", 2), lpm(1, 0x0a000000, 8), exact(2, 3)),
			x.ternaryEntry(10, 3, ternary(1, 0x0a00, 0xff00), between(2, 10, 20), optional(3, 9)),
			x.entry("t_idle", x.call("mark", 4), exact(1, 4)),
		}
		for _, e := range entries {
			x.must(insert(e))
		}
		for _, e := range entries {
			x.same(x.got(&p4v1.TableEntry{TableId: e.(*p4v1.TableEntry).TableId}), e)
		}
	}, ""},
	{"8.3", "cookie and metadata of an entry are kept", func(x *bench) {
		e := x.exactEntry(1, 1)
		e.Metadata = []byte{1, 0, 2}
		x.must(insert(e))
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId}), e)
	}, ""},
	{"8.4", "byte strings are accepted with leading zeros and returned without", func(x *bench) {
		long := x.entry("t_exact", &p4v1.Action{ActionId: x.id("mark_and_count"), Params: []*p4v1.Action_Param{{ParamId: 1, Value: []byte{0, 0, 7}}}}, raw(1, 0, 0, 0, 0, 0, 5))
		x.must(insert(long))
		x.same(x.got(&p4v1.TableEntry{TableId: long.TableId}), x.exactEntry(5, 7))
		x.refuses(codes.AlreadyExists, insert(x.exactEntry(5, 8)))
		x.marks(7, body(1, 5, 0, 0))
	}, ""},
	{"8.4, 9.1.1", "a value that does not fit its field, or that is empty, is refused", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 1<<32))))
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", x.call("mark_and_count", 1), raw(1))))
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", x.call("mark_and_count", 256), exact(1, 1))))
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_exact")}))
	}, "PI answers OUT_OF_RANGE, which 8.4 allows"},
	{"9.1", "INSERT of an existing entry is ALREADY_EXISTS, whatever its action", func(x *bench) {
		x.must(insert(x.exactEntry(1, 1)))
		x.refuses(codes.AlreadyExists, insert(x.exactEntry(1, 2)))
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_exact")}), x.exactEntry(1, 1))
	}, ""},
	{"9.1", "MODIFY and DELETE of an entry that does not exist are NOT_FOUND", func(x *bench) {
		x.refuses(codes.NotFound, modify(x.exactEntry(1, 1)))
		x.refuses(codes.NotFound, remove(x.exactEntry(1, 1)))
	}, ""},
	{"9.1", "DELETE looks at the match only; MODIFY changes the action of the entry", func(x *bench) {
		x.must(insert(x.exactEntry(1, 1)))
		x.must(modify(x.exactEntry(1, 9)))
		x.marks(9, body(1, 1, 0, 0))
		x.must(remove(x.entry("t_exact", nil, exact(1, 1))))
		x.marks(0, body(1, 1, 0, 0))
	}, ""},
	{"9.1", "an unknown table is NOT_FOUND or INVALID_ARGUMENT, no table id INVALID_ARGUMENT", func(x *bench) {
		e := x.exactEntry(1, 1)
		e.TableId = 0
		x.refuses(codes.InvalidArgument, insert(e))
		e.TableId = 0x02ffffff
		x.refuses(codes.NotFound, insert(e))
	}, lenient},
	{"9.1", "a full table is RESOURCE_EXHAUSTED, and has room again after a DELETE", func(x *bench) {
		for i := range uint64(4) {
			x.must(insert(x.exactEntry(i, 1)))
		}
		x.refuses(codes.ResourceExhausted, insert(x.exactEntry(9, 1)))
		x.must(remove(x.exactEntry(2, 1)), insert(x.exactEntry(9, 1)))
	}, "PI answers UNKNOWN"},
	{"9.1", "a priority is required for ternary, range and optional fields, and refused elsewhere", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(x.ternaryEntry(0, 1, ternary(1, 1, 1))))
		x.refuses(codes.InvalidArgument, insert(x.ternaryEntry(-1, 1, ternary(1, 1, 1))))
		e := x.exactEntry(1, 1)
		e.Priority = 1
		x.refuses(codes.InvalidArgument, insert(e))
	}, lenient},
	{"9.1", "the greater priority wins, and entries that differ only in priority are different entries", func(x *bench) {
		x.must(insert(x.ternaryEntry(10, 1, ternary(1, 0x100, 0xff00))), insert(x.ternaryEntry(20, 2, ternary(1, 0x100, 0xff00))))
		x.marks(2, body(3, 0x155, 0, 0))
		x.must(remove(x.ternaryEntry(20, 2, ternary(1, 0x100, 0xff00))))
		x.marks(1, body(3, 0x155, 0, 0))
	}, ""},
	{"9.1.1", "an exact field that is left out is INVALID_ARGUMENT; others match anything", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", x.call("mark_and_count", 1))))
		x.must(insert(x.entry("t_lpm", x.call("mark", 7), exact(2, 3))))
		x.marks(7, body(2, 0xffffffff, 0, 3))
		x.must(insert(x.ternaryEntry(1, 8)))
		x.marks(8, body(3, 1, 2, 3))
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_ternary")}), x.ternaryEntry(1, 8))
	}, ""},
	{"9.1.1", "a field that is not the table's, of another kind or given twice is INVALID_ARGUMENT", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", x.call("mark_and_count", 1), exact(9, 1))))
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", x.call("mark_and_count", 1), lpm(1, 0, 8))))
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", x.call("mark_and_count", 1), exact(1, 1), exact(1, 2))))
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", x.call("mark_and_count", 1), &p4v1.FieldMatch{FieldId: 1})))
	}, ""},
	{"9.1.1", "LPM: a prefix of zero or beyond the width, or with bits after it, is INVALID_ARGUMENT", func(x *bench) {
		for _, m := range []*p4v1.FieldMatch{lpm(1, 0, 0), lpm(1, 0, 33), lpm(1, 0, -1), lpm(1, 0x0a000001, 8)} {
			x.refuses(codes.InvalidArgument, insert(x.entry("t_lpm", x.call("mark", 1), m, exact(2, 0))))
		}
	}, ""},
	{"9.1.1", "ternary: a mask of zero, or a value with bits outside of its mask, is INVALID_ARGUMENT", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(x.ternaryEntry(1, 1, ternary(1, 0, 0))))
		x.refuses(codes.InvalidArgument, insert(x.ternaryEntry(1, 1, ternary(1, 3, 1))))
	}, ""},
	{"9.1.1", "range: one that ends before it starts, or has all values, is INVALID_ARGUMENT; bounds are included", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(x.ternaryEntry(1, 1, between(2, 9, 8))))
		x.refuses(codes.InvalidArgument, insert(x.ternaryEntry(1, 1, between(2, 0, 0xffff))))
		x.must(insert(x.ternaryEntry(1, 5, between(2, 8, 9))))
		for b, want := range map[uint16]int{7: 0, 8: 5, 9: 5, 10: 0} {
			x.marks(want, body(3, 0, b, 0))
		}
	}, lenient},
	{"9.1.1", "the longest prefix wins; optional fields match a value or anything", func(x *bench) {
		x.must(insert(x.entry("t_lpm", x.call("mark", 8), lpm(1, 0x0a000000, 8), exact(2, 0))),
			insert(x.entry("t_lpm", x.call("mark", 24), lpm(1, 0x0a010200, 24), exact(2, 0))),
			insert(x.ternaryEntry(1, 1)), insert(x.ternaryEntry(2, 2, optional(3, 5))))
		x.marks(24, body(2, 0x0a010203, 0, 0))
		x.marks(8, body(2, 0x0a010303, 0, 0))
		x.marks(2, body(3, 0, 0, 5))
		x.marks(1, body(3, 0, 0, 6))
	}, ""},
	{"9.1.2", "an INSERT without an action is INVALID_ARGUMENT", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", nil, exact(1, 1))))
		e := x.entry("t_exact", nil, exact(1, 1))
		e.Action = &p4v1.TableAction{}
		x.refuses(codes.InvalidArgument, insert(e))
	}, ""},
	{"9.1.2", "an action that is not the table's, or unknown, is INVALID_ARGUMENT", func(x *bench) {
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", x.call("to_port", 1), exact(1, 1))))
		x.refuses(codes.InvalidArgument, insert(x.entry("t_exact", &p4v1.Action{ActionId: 0x01ffffff}, exact(1, 1))))
	}, ""},
	{"9.1.2", "action scopes: a default-only action in an entry, a table-only one as default, are PERMISSION_DENIED", func(x *bench) {
		x.refuses(codes.PermissionDenied, insert(x.entry("t_exact", x.call("NoAction"), exact(1, 1))))
		x.refuses(codes.PermissionDenied, modify(x.defaultEntry("t_exact", x.call("drop"))))
	}, ""},
	{"9.1.2", "parameters that are missing, unknown or given twice are INVALID_ARGUMENT", func(x *bench) {
		missing, unknown, twice := x.exactEntry(1, 1), x.exactEntry(1, 1), x.exactEntry(1, 1)
		missing.Action.GetAction().Params = nil
		unknown.Action.GetAction().Params[0].ParamId = 7
		twice.Action.GetAction().Params = append(twice.Action.GetAction().Params, twice.Action.GetAction().Params[0])
		for _, e := range []*p4v1.TableEntry{missing, unknown, twice} {
			x.refuses(codes.InvalidArgument, insert(e))
		}
	}, ""},
	{"9.1.2", "a member, group or set for a table without an action profile is INVALID_ARGUMENT, and an action for one with", func(x *bench) {
		for _, a := range []*p4v1.TableAction{
			{Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: 1}},
			{Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: 1}},
			{Type: &p4v1.TableAction_ActionProfileActionSet{ActionProfileActionSet: &p4v1.ActionProfileActionSet{}}},
		} {
			e := x.exactEntry(1, 1)
			e.Action = a
			x.refuses(codes.InvalidArgument, insert(e))
		}
		x.refuses(codes.InvalidArgument, insert(x.entry("t_profile", x.call("mark", 1), exact(1, 1))))
	}, ""},
	{"9.1.3", "the default entry can be modified, not inserted or deleted, and has neither match nor priority", func(x *bench) {
		d := x.defaultEntry("t_lpm", x.call("mark", 0x77))
		x.refuses(codes.InvalidArgument, insert(d))
		x.refuses(codes.InvalidArgument, remove(d))
		x.must(modify(d))
		x.marks(0x77, body(2, 1, 0, 0))
		withMatch := x.defaultEntry("t_lpm", x.call("mark", 1))
		withMatch.Match = []*p4v1.FieldMatch{exact(2, 1)}
		x.refuses(codes.InvalidArgument, modify(withMatch))
		withPriority := x.defaultEntry("t_ternary", x.call("mark", 1))
		withPriority.Priority = 1
		x.refuses(codes.InvalidArgument, modify(withPriority))
	}, ""},
	{"9.1.3", "MODIFY of the default entry without an action restores what the program has", func(x *bench) {
		x.must(modify(x.defaultEntry("t_lpm", x.call("mark", 0x77))))
		x.must(modify(x.defaultEntry("t_lpm", nil)))
		x.marks(0, body(2, 1, 0, 0))
		x.must(modify(x.defaultEntry("t_keyless", x.call("mark", 0x66))))
		x.marks(0x66, body(9, 1, 0, 0))
	}, ""},
	{"9.1.3", "a constant default entry is PERMISSION_DENIED, and so is that of a table with an action profile", func(x *bench) {
		x.refuses(codes.PermissionDenied, modify(x.defaultEntry("t_const_default", x.call("mark", 1))))
		x.refuses(codes.PermissionDenied, modify(x.defaultEntry("t_profile", x.call("mark", 1))))
		x.marks(0xcd, body(6, 9, 0, 0))
	}, lenient},
	{"9.1.3", "the default entry is read with is_default_action, entries without", func(x *bench) {
		x.must(insert(x.entry("t_lpm", x.call("mark", 1), exact(2, 1))))
		d := x.defaultEntry("t_lpm", x.call("mark", 0x77))
		x.must(modify(d))
		x.same(x.got(&p4v1.TableEntry{TableId: d.TableId, IsDefaultAction: true}), d)
		x.same(x.got(&p4v1.TableEntry{TableId: d.TableId}), x.entry("t_lpm", x.call("mark", 1), exact(2, 1)))
	}, ""},
	{"9.1.4", "the entries of a constant table are read as constant, and cannot be changed: PERMISSION_DENIED", func(x *bench) {
		var want []proto.Message
		for i := range uint64(2) {
			e := x.entry("t_const", x.call("mark", 0x11*(i+1)), exact(1, i+1))
			e.IsConst = true
			want = append(want, e)
		}
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_const")}), want...)
		for _, u := range []*p4v1.Update{insert(x.entry("t_const", x.call("mark", 1), exact(1, 9))), remove(x.entry("t_const", nil, exact(1, 1))),
			modify(x.entry("t_const", x.call("mark", 1), exact(1, 1)))} {
			x.refuses(codes.PermissionDenied, u)
		}
	}, "PI does not support is_const"},
	{"9.1.5", "the initial entries of a table can be read, modified and deleted, and others added", func(x *bench) {
		e := func(a, mark uint64) *p4v1.TableEntry { return x.entry("t_initial", x.call("mark", mark), exact(1, a)) }
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_initial")}), e(1, 0x11), e(2, 0x22))
		x.must(modify(e(1, 0x12)), remove(e(2, 0)), insert(e(3, 0x33)))
		x.marks(0x12, body(16, 1, 0, 0))
		x.marks(0, body(16, 2, 0, 0))
		x.marks(0x33, body(16, 3, 0, 0))
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_initial")}), e(1, 0x12), e(3, 0x33))
	}, "BMv2 treats such entries as constant"},
	{"9.1.5, 14", "RECONCILE_AND_COMMIT keeps changes of a table's initial entries", func(x *bench) {
		e := func(a, mark uint64) *p4v1.TableEntry { return x.entry("t_initial", x.call("mark", mark), exact(1, a)) }
		x.must(modify(e(1, 0x12)), remove(e(2, 0)), insert(e(3, 0x33)))
		x.set(p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT, x.config)
		x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_initial")}), e(1, 0x12), e(3, 0x33))
	}, "PI answers RECONCILE_AND_COMMIT with UNIMPLEMENTED"},
	{"9.1.6", "a read without table id reads all tables; fields that are set filter", func(x *bench) {
		one, two, three := x.exactEntry(1, 1), x.exactEntry(2, 2), x.ternaryEntry(5, 3, ternary(1, 1, 1))
		four := x.ternaryEntry(6, 3, ternary(1, 1, 1))
		x.must(insert(one), insert(two), insert(three), insert(four))
		all := x.got(&p4v1.TableEntry{})
		for _, want := range []*p4v1.TableEntry{one, two, three, four} {
			found := false
			for _, e := range all {
				found = found || proto.Equal(e, entity(want))
			}
			if !found {
				x.Errorf("%v is not among all entries", want)
			}
		}
		x.same(x.got(&p4v1.TableEntry{TableId: one.TableId, Match: two.Match}), two)
		x.same(x.got(&p4v1.TableEntry{TableId: three.TableId, Priority: 6}), four)
		x.same(x.got(&p4v1.TableEntry{TableId: three.TableId, Action: action(&p4v1.Action{ActionId: x.id("mark")})}), three, four)
		x.same(x.got(&p4v1.TableEntry{TableId: one.TableId, Match: []*p4v1.FieldMatch{exact(1, 77)}}))
	}, "PI filters by table and match only"},
	{"9.1.6", "entries are filtered by metadata", func(x *bench) {
		one, two := x.exactEntry(1, 1), x.exactEntry(2, 2)
		one.Metadata = []byte("a")
		x.must(insert(one), insert(two))
		x.same(x.got(&p4v1.TableEntry{TableId: one.TableId, Metadata: []byte("a")}), one)
	}, "PI does not keep metadata"},
	{"9.1.7", "a direct counter is read with the entry if the request has it, and can be written with it", func(x *bench) {
		e := x.exactEntry(1, 1)
		x.must(insert(e))
		x.mark(body(1, 1, 0, 0))
		x.mark(body(1, 1, 0, 0))
		with := proto.Clone(e).(*p4v1.TableEntry)
		with.CounterData = &p4v1.CounterData{PacketCount: 2, ByteCount: 18}
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId, CounterData: &p4v1.CounterData{}}), with)
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId}), e)
		with.CounterData = &p4v1.CounterData{PacketCount: 100, ByteCount: 1000}
		x.must(modify(with))
		x.mark(body(1, 1, 0, 0))
		with.CounterData = &p4v1.CounterData{PacketCount: 101, ByteCount: 1009}
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId, CounterData: &p4v1.CounterData{}}), with)
		x.must(modify(e)) // without counter data: the counter does not change
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId, CounterData: &p4v1.CounterData{}}), with)
	}, ""},
	{"9.1.7", "direct resources that the table does not have are INVALID_ARGUMENT", func(x *bench) {
		k := x.entry("t_lpm", x.call("mark", 1), exact(2, 1))
		k.CounterData = &p4v1.CounterData{}
		x.refuses(codes.InvalidArgument, insert(k))
		m := x.entry("t_lpm", x.call("mark", 1), exact(2, 1))
		m.MeterConfig = &p4v1.MeterConfig{}
		x.refuses(codes.InvalidArgument, insert(m))
		m.MeterConfig, m.MeterCounterData = nil, &p4v1.MeterCounterData{}
		x.refuses(codes.InvalidArgument, insert(m))
	}, lenient},
	{"9.1.7, 9.4.1", "a direct meter colours packets by the entry's configuration; MODIFY without one resets it", func(x *bench) {
		e := x.entry("t_meter", x.call("mark_and_meter", 1), exact(1, 1))
		with := proto.Clone(e).(*p4v1.TableEntry)
		with.MeterConfig = &p4v1.MeterConfig{Cir: 1, Cburst: 1, Pir: 1, Pburst: 2}
		x.must(insert(with))
		var colours []byte
		for range 3 {
			colours = append(colours, x.sent(body(4, 1, 0, 9))[cAt])
		}
		if !bytes.Equal(colours, []byte{0, 1, 2}) {
			x.Errorf("colours %v, want green, yellow, red", colours)
		}
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId, MeterConfig: &p4v1.MeterConfig{}}), with)
		x.must(modify(e))
		if c := x.sent(body(4, 1, 0, 9))[cAt]; c != 0 {
			x.Errorf("after the reset, colour %d", c)
		}
		x.same(x.got(&p4v1.TableEntry{TableId: e.TableId, MeterConfig: &p4v1.MeterConfig{}}), e)
	}, "PI does not reset meters in this way"},
	{"9.4.3", "a direct meter counts the packets of each colour; the counters can only be set to zero", func(x *bench) {
		e := x.entry("t_meter", x.call("mark_and_meter", 1), exact(1, 1))
		e.MeterConfig = &p4v1.MeterConfig{Cir: 1, Cburst: 1, Pir: 1, Pburst: 2}
		x.must(insert(e))
		for range 4 {
			x.sent(body(4, 1, 0, 9))
		}
		got := x.got(&p4v1.DirectMeterEntry{TableEntry: &p4v1.TableEntry{TableId: e.TableId}, CounterData: &p4v1.MeterCounterData{}})
		if len(got) != 1 || got[0].GetDirectMeterEntry().CounterData.GetRed().GetPacketCount() != 2 || got[0].GetDirectMeterEntry().CounterData.GetGreen().GetByteCount() != 9 {
			x.Errorf("read %v, want one green, one yellow and two red packets", got)
		}
		bad := proto.Clone(e).(*p4v1.TableEntry)
		bad.MeterCounterData = &p4v1.MeterCounterData{Red: &p4v1.CounterData{PacketCount: 1}}
		x.refuses(codes.InvalidArgument, modify(bad))
		bad.MeterCounterData = &p4v1.MeterCounterData{}
		x.must(modify(bad))
		got = x.got(&p4v1.DirectMeterEntry{TableEntry: &p4v1.TableEntry{TableId: e.TableId}, CounterData: &p4v1.MeterCounterData{}})
		if got[0].GetDirectMeterEntry().CounterData.GetRed().GetPacketCount() != 0 {
			x.Errorf("after it was set to zero, read %v", got)
		}
	}, "PI has no counters of colours"},
	{"9.1.8", "an idle timeout for a table without support is INVALID_ARGUMENT, and so is a negative one", func(x *bench) {
		e := x.exactEntry(1, 1)
		e.IdleTimeoutNs = 1e9
		x.refuses(codes.InvalidArgument, insert(e))
		i := x.entry("t_idle", x.call("mark", 1), exact(1, 1))
		i.IdleTimeoutNs = -1
		x.refuses(codes.InvalidArgument, insert(i))
		i.IdleTimeoutNs, i.TimeSinceLastHit = 0, &p4v1.TableEntry_IdleTimeout{}
		x.refuses(codes.InvalidArgument, insert(i))
	}, ""},
	{"9.1.8, 16.4", "there is a notification about an entry that is not hit for its idle timeout, and none about one that is hit", func(x *bench) {
		quiet, busy := x.entry("t_idle", x.call("mark", 1), exact(1, 1)), x.entry("t_idle", x.call("mark", 2), exact(1, 2))
		quiet.IdleTimeoutNs, busy.IdleTimeoutNs = 400e6, 400e6
		x.must(insert(quiet), insert(busy))
		var n *p4v1.IdleTimeoutNotification
		for attempt := 0; ; attempt++ {
			late := false // a machine that stalls does not hit the entry in time
			for range 8 {
				hit := time.Now()
				x.mark(body(5, 2, 0, 0))
				x.wait(100 * time.Millisecond)
				late = late || x.soft == nil && time.Since(hit) > 200*time.Millisecond
			}
			n = x.next(x.session).GetIdleTimeoutNotification()
			if n != nil && len(n.TableEntry) == 1 && n.Timestamp != 0 && proto.Equal(n.TableEntry[0].Match[0], quiet.Match[0]) {
				break
			}
			if !late || attempt == 20 {
				x.Fatalf("notification %v, want one of one entry, which is not hit", n)
			}
			x.must(remove(quiet), remove(busy))
			x.must(insert(quiet), insert(busy))
		}
		if e := n.TableEntry[0]; e.TableId != quiet.TableId || len(e.Match) != 1 || !proto.Equal(e.Match[0], quiet.Match[0]) || e.IdleTimeoutNs != quiet.IdleTimeoutNs {
			x.Errorf("told of %v, want the entry that was not hit", e)
		}
		// The entry still exists.
		x.marks(1, body(5, 1, 0, 0))
	}, ""},
	{"9.1.8, 16.4", "an entry with the longest idle timeout is in no notification, and others are", func(x *bench) {
		never, quiet := x.entry("t_idle", x.call("mark", 1), exact(1, 1)), x.entry("t_idle", x.call("mark", 2), exact(1, 2))
		never.IdleTimeoutNs, quiet.IdleTimeoutNs = math.MaxInt64, 400e6
		x.must(insert(never), insert(quiet))
		for range 8 {
			x.wait(100 * time.Millisecond)
		}
		n := x.next(x.session).GetIdleTimeoutNotification()
		if n == nil || len(n.TableEntry) != 1 || !proto.Equal(n.TableEntry[0].Match[0], quiet.Match[0]) {
			x.Errorf("notification %v, want one of the entry with a timeout of 400 ms", n)
		}
	}, ""},
	{"9.1.8", "the time since the last hit is read if the request has it", func(x *bench) {
		e := x.entry("t_idle", x.call("mark", 1), exact(1, 1))
		e.IdleTimeoutNs = 3600e9
		x.must(insert(e))
		x.mark(body(5, 1, 0, 0))
		x.wait(50 * time.Millisecond)
		got := x.got(&p4v1.TableEntry{TableId: e.TableId, TimeSinceLastHit: &p4v1.TableEntry_IdleTimeout{}})
		if ns := got[0].GetTableEntry().GetTimeSinceLastHit().GetElapsedNs(); ns < 40e6 || ns > 30e9 {
			x.Errorf("%d ns since the last hit, want about 50 ms", ns)
		}
	}, "PI answers UNIMPLEMENTED"},
	{"9.3.1", "a direct counter is read and written on its own, one entry or all", func(x *bench) {
		one, two := x.exactEntry(1, 1), x.exactEntry(2, 1)
		x.must(insert(one), insert(two))
		x.must(modify(&p4v1.DirectCounterEntry{TableEntry: x.entry("t_exact", nil, exact(1, 1)), Data: &p4v1.CounterData{PacketCount: 5, ByteCount: 50}}))
		x.mark(body(1, 1, 0, 0))
		got := x.got(&p4v1.DirectCounterEntry{TableEntry: x.entry("t_exact", nil, exact(1, 1))})
		if len(got) != 1 || got[0].GetDirectCounterEntry().Data.PacketCount != 6 || got[0].GetDirectCounterEntry().Data.ByteCount != 59 {
			x.Errorf("read %v, want 6 packets, 59 bytes", got)
		}
		if n := len(x.got(&p4v1.DirectCounterEntry{TableEntry: &p4v1.TableEntry{TableId: one.TableId}})); n != 2 {
			x.Errorf("%d counters of the table, want 2", n)
		}
	}, ""},
	{"9.3.1", "a direct counter of an entry that does not exist is NOT_FOUND; INSERT and DELETE are INVALID_ARGUMENT", func(x *bench) {
		e := &p4v1.DirectCounterEntry{TableEntry: x.entry("t_exact", nil, exact(1, 1)), Data: &p4v1.CounterData{}}
		x.refuses(codes.NotFound, modify(e))
		x.must(insert(x.exactEntry(1, 1)))
		x.refuses(codes.InvalidArgument, insert(e))
		x.refuses(codes.InvalidArgument, remove(e))
		x.refuses(codes.InvalidArgument, modify(&p4v1.DirectCounterEntry{TableEntry: x.entry("t_lpm", nil, exact(2, 1)), Data: &p4v1.CounterData{}}))
	}, lenient},
}

// sent sends a packet into port 1 and returns the frame that port 2 sent.
func (x *bench) sent(data []byte) []byte {
	x.Helper()
	for _, f := range x.send(1, data) {
		if f.Port == 2 {
			return f.Data
		}
	}
	x.Fatalf("nothing came out for %x", data)
	return nil
}
