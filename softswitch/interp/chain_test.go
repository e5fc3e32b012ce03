// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/packet"
)

// TestChainedPhases runs packets phase by phase and by Arrive and Depart: some are
// too short, have a wrong checksum, are dropped in egress or recirculated, or have a
// checksum to update, so that Go has something to do between two phases.
func TestChainedPhases(t *testing.T) {
	h := func(field string) *bmv2json.Value { return bmv2json.Field("h", field) }
	std := func(field string) *bmv2json.Value { return bmv2json.Field("standard_metadata", field) }
	var fields []bmv2json.HeaderField
	for _, f := range []string{"drop", "recirculate", "update", "sum", "bits", "error", "wrong", "length", "port", "time", "left"} {
		fields = append(fields, bmv2json.HeaderField{Name: f, Width: map[string]int{"sum": 16, "length": 32, "time": 48}[f]})
		if f := &fields[len(fields)-1]; f.Width == 0 {
			f.Width = 8
		}
	}
	l := newLab(fields...)
	l.json.HeaderTypes[1].Fields = []bmv2json.HeaderField{{Name: "egress_spec", Width: 9}, {Name: "egress_port", Width: 9}, {Name: "packet_length", Width: 32},
		{Name: "ingress_port", Width: 9}, {Name: "parser_error", Width: 32}, {Name: "checksum_error", Width: 1}, {Name: "_padding", Width: 4}}
	l.json.HeaderTypes = append(l.json.HeaderTypes,
		&bmv2json.HeaderType{Name: "time_t", ID: 3, Fields: []bmv2json.HeaderField{{Name: "ingress_global_timestamp", Width: 48}}},
		&bmv2json.HeaderType{Name: "meta_t", ID: 4, Fields: []bmv2json.HeaderField{{Name: "left", Width: 8}, {Name: "update", Width: 8}}})
	l.json.Headers = append(l.json.Headers, &bmv2json.Header{Name: "intrinsic_metadata", ID: 3, Type: "time_t", Metadata: true}, &bmv2json.Header{Name: "meta", ID: 4, Type: "meta_t", Metadata: true})
	state := l.json.Parsers[0].States[0]
	state.Ops = append(state.Ops, &bmv2json.ParserOp{Op: "verify", Parameters: []*bmv2json.Value{bmv2json.Wrap(bmv2json.Expr("!=", h("recirculate"), h("bits"))), hexOf(1)}})
	l.json.CounterArrays = []*bmv2json.CounterArray{{Name: "c", Size: 1}}
	l.json.Calculations = []*bmv2json.Calculation{{Name: "calc", Algo: "csum16", Input: []*bmv2json.Value{h("bits"), h("update")}}}
	l.json.Checksums = []*bmv2json.Checksum{
		{Name: "verified", Target: bmv2json.FieldRef{Header: "h", Field: "sum"}, Type: "generic", Calculation: "calc", Verify: true},
		{Name: "updated", Target: bmv2json.FieldRef{Header: "h", Field: "sum"}, Type: "generic", Calculation: "calc", Update: true,
			IfCond: bmv2json.Wrap(bmv2json.Expr("d2b", nil, bmv2json.Field("meta", "update")))},
	}
	l.do("assign", h("error"), std("parser_error"))
	l.do("assign", h("wrong"), std("checksum_error"))
	l.do("assign", h("length"), std("packet_length"))
	l.do("assign", h("port"), std("ingress_port"))
	l.do("assign", h("time"), bmv2json.Field("intrinsic_metadata", "ingress_global_timestamp"))
	l.do("assign", h("left"), bmv2json.Field("meta", "left")) // of the packet before, unless cleared
	l.do("assign", bmv2json.Field("meta", "left"), hexOf(7))
	l.do("count", bmv2json.Named(bmv2json.TypeCounterArray, "c"), hexOf(0))
	l.json.FieldLists = []*bmv2json.FieldList{{ID: 1, Name: "none"}}
	egress := &bmv2json.Action{Name: "leave", ID: 2}
	l.json.Actions = append(l.json.Actions, egress)
	l.action = egress
	l.do("assign", std("egress_spec"), h("drop"))
	l.do("assign", h("port"), bmv2json.Field("meta", "left"))
	l.do("assign", bmv2json.Field("meta", "update"), h("update"))
	l.do("_jump_if_zero", h("recirculate"), hexOf(5))
	l.do("recirculate", hexOf(1))
	l.do("assign", h("bits"), hexOf(5))
	l.json.Pipelines[1].InitTable = "go"
	l.json.Pipelines[1].ActionCalls = []*bmv2json.ActionCall{{Name: "go", ActionID: 2}}

	programs := map[string]*Program{}
	for name, o := range map[string]Options{"plain": {Plain: true}, "interpreted": {Interpret: true}, "translated": {}} {
		p, err := Compile(l.json, o)
		if err != nil {
			t.Fatal(err)
		}
		programs[name] = p
	}
	rng := rand.New(rand.NewPCG(9, 10))
	through, done := 0, 0
	for range 2000 {
		data := make([]byte, 12+rng.IntN(20))
		for i := range data {
			data[i] = byte(rng.IntN(2) * rng.IntN(2))
		}
		if rng.IntN(2) == 0 { // the checksum of bits and update
			x := ^(uint16(data[5])<<8 | uint16(data[2]))
			data[3], data[4] = byte(x>>8), byte(x)
		}
		want := runFuzzed(programs["plain"], data, saved)
		for name, p := range programs {
			if got := runFuzzed(p, data, chained); got != want {
				t.Fatalf("%x, %s, chained\n%s\nplain\n%s", data, name, got, want)
			}
		}
		m := NewMachine(NewState(programs["translated"], 1))
		m.DropPort = 1
		f := &packet.Frame{Data: data}
		if m.Arrive(f, f.Len(), 1, 2) {
			through++
			if m.Continue(); m.Depart() {
				done++
			}
		}
	}
	if programs["translated"].code.Native != nil && (through < 200 || through > 1800 || done < 50 || done > through/2) {
		t.Errorf("of 2000 packets, %d went through parser and ingress at once, and %d of those through egress and deparser", through, done)
	}
}
