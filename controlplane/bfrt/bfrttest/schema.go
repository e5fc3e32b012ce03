// SPDX-License-Identifier: Apache-2.0

package bfrttest

import (
	_ "embed"
	"encoding/json"
	"fmt"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
)

// Device is a bfrt.json of the device, with the tables that package bfrt uses,
// like open-p4studio's for a Tofino 1.
//
//go:embed device.json
var Device []byte

// Schema returns a bfrt.json for a program of which only the P4Info is
// available. Its match tables and registers are like p4c-barefoot's.
func Schema(info *p4configv1.P4Info) ([]byte, error) {
	s, err := schema.New(info)
	if err != nil {
		return nil, err
	}
	type object map[string]any
	bits := func(n int) object { return object{"type": "bytes", "width": n} }
	counts := make(map[uint32][]object) // fields of direct counters, by table
	for _, c := range info.DirectCounters {
		count := func(id int, name string) {
			counts[c.DirectTableId] = append(counts[c.DirectTableId],
				object{"mandatory": false, "read_only": false, "singleton": object{"id": id, "name": name, "type": object{"type": "uint64"}}})
		}
		unit := c.Spec.GetUnit()
		if unit != p4configv1.CounterSpec_PACKETS {
			count(65553, "$COUNTER_SPEC_BYTES")
		}
		if unit != p4configv1.CounterSpec_BYTES {
			count(65554, "$COUNTER_SPEC_PKTS")
		}
	}
	var tables []object
	for _, t := range s.Tables {
		x := object{"name": "pipe." + t.Full, "id": t.ID, "table_type": "MatchAction_Direct", "size": t.Size, "attributes": []string{"EntryScope"}}
		if t.Const {
			x["attributes"] = []string{"EntryScope", "ConstTable"}
		}
		var key, actions []object
		for _, f := range t.Fields {
			kind := map[schema.MatchKind]string{schema.Exact: "Exact", schema.LPM: "LPM", schema.Ternary: "Ternary", schema.Range: "Range"}[f.Match]
			if kind == "" {
				return nil, fmt.Errorf("table %s: field %s is matched as %v", t.Name, f.Name, f.Match)
			}
			key = append(key, object{"id": f.ID, "name": f.Name, "match_type": kind, "type": bits(f.Bits)})
		}
		if t.NeedsPriority() {
			key = append(key, object{"id": 65537, "name": "$MATCH_PRIORITY", "match_type": "Exact", "type": object{"type": "uint32"}})
		}
		for _, a := range t.Actions {
			var data []object
			for _, p := range a.Params {
				data = append(data, object{"id": p.ID, "name": p.Name, "mandatory": true, "type": bits(p.Bits)})
			}
			actions = append(actions, object{"id": a.ID, "name": a.Full, "data": data})
		}
		x["key"], x["action_specs"], x["data"] = key, actions, counts[t.ID]
		tables = append(tables, x)
	}
	for _, r := range info.Registers {
		name := r.Preamble.Name
		field := func(id int, member string, spec *p4configv1.P4DataTypeSpec) object {
			return object{"mandatory": true, "singleton": object{"id": id, "name": name + "." + member,
				"type": bits(int(spec.GetBitstring().GetBit().GetBitwidth()))}}
		}
		data := []object{field(1, "f1", r.TypeSpec)}
		if st := r.TypeSpec.GetStruct(); st != nil {
			data = nil
			for i, m := range info.TypeInfo.GetStructs()[st.Name].GetMembers() {
				data = append(data, field(i+1, m.Name, m.TypeSpec))
			}
		}
		tables = append(tables, object{"name": "pipe." + name, "id": r.Preamble.Id | 1<<31, "table_type": "Register", "size": r.Size,
			"key":  []object{{"id": 65557, "name": "$REGISTER_INDEX", "match_type": "Exact", "type": object{"type": "uint32"}}},
			"data": data})
	}
	return json.Marshal(object{"schema_version": "1.0.0", "tables": tables})
}
