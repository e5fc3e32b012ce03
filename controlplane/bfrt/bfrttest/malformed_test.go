// SPDX-License-Identifier: Apache-2.0

package bfrttest

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"google.golang.org/protobuf/proto"
)

// loaded is a switch that runs the program in bfrt's testdata.
func loaded(t *testing.T) *Server {
	t.Helper()
	s, err := New(2, Device)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("../testdata/program.json")
	if err != nil {
		t.Fatal(err)
	}
	s.clients[1] = ""
	_, err = s.SetForwardingPipelineConfig(t.Context(), &bfrtpb.SetForwardingPipelineConfigRequest{ClientId: 1,
		Action: bfrtpb.SetForwardingPipelineConfigRequest_VERIFY_AND_WARM_INIT_BEGIN_AND_END,
		Config: []*bfrtpb.ForwardingPipelineConfig{{P4Name: "drill", BfruntimeInfo: program}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// entryOf returns an entry that bfrt.json allows, with its first action and all fields.
func entryOf(t *bfrt.Table) *bfrtpb.TableEntry {
	bytes := func(f *bfrt.Field) []byte {
		if f.Type.Kind == "string" {
			return []byte(f.Type.Choices[0])
		}
		return make([]byte, (f.Bits()+7)/8)
	}
	e := &bfrtpb.TableEntry{TableId: t.ID, Key: new(bfrtpb.TableKey), Data: new(bfrtpb.TableData)}
	for i := range t.Key {
		f := &t.Key[i]
		k := &bfrtpb.KeyField{FieldId: f.ID}
		switch f.Match {
		case "Exact":
			k.MatchType = &bfrtpb.KeyField_Exact_{Exact: &bfrtpb.KeyField_Exact{Value: bytes(f)}}
		case "LPM":
			k.MatchType = &bfrtpb.KeyField_Lpm{Lpm: &bfrtpb.KeyField_LPM{Value: bytes(f), PrefixLen: 8}}
		case "Ternary":
			k.MatchType = &bfrtpb.KeyField_Ternary_{Ternary: &bfrtpb.KeyField_Ternary{Value: bytes(f), Mask: bytes(f)}}
		case "Range":
			k.MatchType = &bfrtpb.KeyField_Range_{Range: &bfrtpb.KeyField_Range{Low: bytes(f), High: bytes(f)}}
		}
		e.Key.Fields = append(e.Key.Fields, k)
	}
	e.IsDefaultEntry = len(t.Key) == 0
	var action *bfrt.Action
	if len(t.Actions) > 0 {
		action = &t.Actions[0]
		e.Data.ActionId = action.ID
	}
	for _, f := range t.DataFields(action) {
		d := &bfrtpb.DataField{FieldId: f.ID}
		switch {
		case f.ReadOnly:
			continue
		case f.Repeated && f.Type.Kind == "bool":
			d.Value = &bfrtpb.DataField_BoolArrVal{BoolArrVal: new(bfrtpb.DataField_BoolArray)}
		case f.Repeated:
			d.Value = &bfrtpb.DataField_IntArrVal{IntArrVal: new(bfrtpb.DataField_IntArray)}
		case f.Type.Kind == "bool":
			d.Value = new(bfrtpb.DataField_BoolVal)
		case f.Type.Kind == "float":
			d.Value = new(bfrtpb.DataField_FloatVal)
		case f.Type.Kind == "string" && len(f.Type.Choices) == 0:
			d.Value = new(bfrtpb.DataField_StrVal)
		case f.Type.Kind == "string":
			d.Value = &bfrtpb.DataField_StrVal{StrVal: f.Type.Choices[0]}
		default:
			d.Value = &bfrtpb.DataField_Stream{Stream: bytes(&f)}
		}
		e.Data.Fields = append(e.Data.Fields, d)
	}
	return e
}

// malformed are ways to spoil an update. One that has nothing to spoil returns false.
var malformed = map[string]func(u *bfrtpb.Update, e *bfrtpb.TableEntry) bool{
	"no entity":       func(u *bfrtpb.Update, _ *bfrtpb.TableEntry) bool { u.Entity = nil; return true },
	"an empty entity": func(u *bfrtpb.Update, _ *bfrtpb.TableEntry) bool { u.Entity = new(bfrtpb.Entity); return true },
	"another entity": func(u *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		u.Entity.Entity = &bfrtpb.Entity_TableOperation{TableOperation: &bfrtpb.TableOperation{TableId: e.TableId, TableOperationsType: "Sync"}}
		return true
	},
	"an unknown table": func(_ *bfrtpb.Update, e *bfrtpb.TableEntry) bool { e.TableId ^= 0x00f00f00; return true },
	"no kind of update": func(u *bfrtpb.Update, _ *bfrtpb.TableEntry) bool {
		u.Type = bfrtpb.Update_UNSPECIFIED
		return true
	},
	"an unknown kind of update": func(u *bfrtpb.Update, _ *bfrtpb.TableEntry) bool { u.Type = 99; return true },
	"a reset":                   func(u *bfrtpb.Update, _ *bfrtpb.TableEntry) bool { u.Type = bfrtpb.Update_RESET; return true },
	"no key": func(_ *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		e.Key = nil
		return !e.IsDefaultEntry
	},
	"a default entry with a key": func(_ *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		e.IsDefaultEntry = true
		return len(e.Key.Fields) > 0
	},
	"a key field too many": func(_ *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		e.Key.Fields = append(e.Key.Fields, new(bfrtpb.KeyField))
		return true
	},
	"a key field twice": func(_ *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		if len(e.Key.Fields) < 2 {
			return false
		}
		e.Key.Fields[1] = e.Key.Fields[0]
		return true
	},
	"an unknown key field": func(_ *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		return ofKey(e, func(k *bfrtpb.KeyField) { k.FieldId = 77777 })
	},
	"a key field without a value": func(_ *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		return ofKey(e, func(k *bfrtpb.KeyField) { k.MatchType = nil })
	},
	"an empty key field": func(_ *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		return ofKey(e, func(k *bfrtpb.KeyField) { k.MatchType = &bfrtpb.KeyField_Exact_{Exact: new(bfrtpb.KeyField_Exact)} })
	},
	"a long key field": func(_ *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		return ofKey(e, func(k *bfrtpb.KeyField) {
			k.MatchType = &bfrtpb.KeyField_Exact_{Exact: &bfrtpb.KeyField_Exact{Value: make([]byte, 99)}}
		})
	},
	"a negative prefix": func(_ *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		return ofKey(e, func(k *bfrtpb.KeyField) {
			k.MatchType = &bfrtpb.KeyField_Lpm{Lpm: &bfrtpb.KeyField_LPM{Value: make([]byte, 4), PrefixLen: -1}}
		})
	},
	"no data": func(u *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		e.Data = nil
		return u.Type == bfrtpb.Update_MODIFY
	},
	"an unknown action": func(u *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		e.Data.ActionId ^= 0x77777777
		return u.Type != bfrtpb.Update_DELETE
	},
	"an unknown data field": func(u *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		e.Data.Fields = append(e.Data.Fields, &bfrtpb.DataField{FieldId: 77777})
		return u.Type != bfrtpb.Update_DELETE
	},
	"a data field twice": func(u *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		return ofData(u, e, func(*bfrtpb.DataField) { e.Data.Fields = append(e.Data.Fields, e.Data.Fields[0]) })
	},
	"a data field without a value": func(u *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		return ofData(u, e, func(d *bfrtpb.DataField) { d.Value = nil })
	},
	"a long data field": func(u *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		return ofData(u, e, func(d *bfrtpb.DataField) { d.Value = &bfrtpb.DataField_Stream{Stream: make([]byte, 99)} })
	},
	"a list of names": func(u *bfrtpb.Update, e *bfrtpb.TableEntry) bool {
		return ofData(u, e, func(d *bfrtpb.DataField) {
			d.Value = &bfrtpb.DataField_StrArrVal{StrArrVal: &bfrtpb.DataField_StrArray{Val: []string{"x"}}}
		})
	},
}

func ofKey(e *bfrtpb.TableEntry, spoil func(*bfrtpb.KeyField)) bool {
	if len(e.Key.Fields) == 0 {
		return false
	}
	spoil(e.Key.Fields[0])
	return true
}

func ofData(u *bfrtpb.Update, e *bfrtpb.TableEntry, spoil func(*bfrtpb.DataField)) bool {
	if len(e.Data.Fields) == 0 || u.Type == bfrtpb.Update_DELETE {
		return false
	}
	spoil(e.Data.Fields[0])
	return true
}

// Each malformed update of each table is an error that changes nothing. A MODIFY
// without data ended the server, as did reading the default entry of a register array.
func TestMalformedUpdates(t *testing.T) {
	s := loaded(t)
	target := &bfrtpb.TargetDevice{PipeId: bfrt.PipeAll}
	write := func(u *bfrtpb.Update, to *bfrtpb.TargetDevice, program string) error {
		t.Helper()
		req := &bfrtpb.WriteRequest{Target: to, P4Name: program, Updates: []*bfrtpb.Update{u}}
		b, err := proto.Marshal(req) // as it comes over the network
		if err != nil {
			t.Fatal(err)
		}
		got := new(bfrtpb.WriteRequest)
		if err := proto.Unmarshal(b, got); err != nil {
			t.Fatal(err)
		}
		_, err = s.Write(t.Context(), got)
		return err
	}
	accepted, refused := 0, 0
	for _, name := range s.info.Names() {
		table, err := s.info.Table(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "tf1.tm.queue.") || name == "tf1.tm.ppg.cfg" {
			target = &bfrtpb.TargetDevice{PipeId: 0}
		} else {
			target = &bfrtpb.TargetDevice{PipeId: bfrt.PipeAll}
		}
		for op := range bfrtpb.Update_Type_name {
			valid := entryOf(table)
			for pipe := range s.pipes { // it exists, so that a MODIFY has something to change
				s.entries[s.name(pipe, valid)] = proto.Clone(valid).(*bfrtpb.TableEntry)
			}
			before := maps.Clone(s.entries)
			update := func() (*bfrtpb.Update, *bfrtpb.TableEntry) {
				e := proto.Clone(valid).(*bfrtpb.TableEntry)
				return &bfrtpb.Update{Type: bfrtpb.Update_Type(op), Entity: entity(e)}, e
			}
			for what, spoil := range malformed {
				u, e := update()
				if !spoil(u, e) {
					continue
				}
				if err := write(u, target, "drill"); err == nil {
					t.Errorf("%s, %v with %s: no error", name, bfrtpb.Update_Type(op), what)
				}
				refused++
			}
			for what, to := range map[string]*bfrtpb.TargetDevice{"no target": nil, "pipeline 9": {PipeId: 9}, "pipeline 2^32-1": {PipeId: 1<<32 - 1}} {
				u, _ := update()
				if err := write(u, to, "drill"); err == nil {
					t.Errorf("%s, %v with %s: no error", name, bfrtpb.Update_Type(op), what)
				}
			}
			u, _ := update()
			if err := write(u, target, "another"); err == nil {
				t.Errorf("%s, %v of another program: no error", name, bfrtpb.Update_Type(op))
			}
			if !maps.EqualFunc(before, s.entries, func(a, b *bfrtpb.TableEntry) bool { return proto.Equal(a, b) }) {
				t.Errorf("%s, %v: refused updates have changed entries", name, bfrtpb.Update_Type(op))
			}
			if u, _ := update(); write(u, target, "drill") == nil {
				accepted++
			}
		}
		if _, err := s.read([]int{0}, &bfrtpb.TableEntry{TableId: table.ID, IsDefaultEntry: true}); table.Kind == "Register" && err == nil {
			t.Errorf("%s: a register array has a default entry", name)
		}
		for what, e := range map[string]*bfrtpb.TableEntry{"an empty key": {TableId: table.ID, Key: new(bfrtpb.TableKey)},
			"an empty key field": {TableId: table.ID, Key: &bfrtpb.TableKey{Fields: []*bfrtpb.KeyField{{}}}}} {
			if _, err := s.read([]int{0}, e); err == nil && len(table.Key) > 0 {
				t.Errorf("%s: %s is read", name, what)
			}
		}
	}
	// Without the fault, updates of most tables are accepted: the faults are why they are not.
	if n := len(s.info.Names()); accepted < n || refused < 100*n {
		t.Errorf("%d updates of %d tables were accepted, %d refused", accepted, n, refused)
	}
	if _, err := s.read([]int{0}, nil); err == nil {
		t.Error("nothing is read")
	}
}
