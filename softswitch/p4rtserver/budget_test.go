// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// The charge for entries is at least the growth of the heap, and at most four
// times that.
func TestChargeCoversHeapGrowth(t *testing.T) {
	const n = 20_000
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	program, err := os.ReadFile("testdata/budget.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/budget.p4info.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	info := &p4configv1.P4Info{}
	if err := prototext.Unmarshal(text, info); err != nil {
		t.Fatal(err)
	}
	for number, kind := range []string{"exact", "lpm", "ternary"} {
		sw, err := softswitch.New(softswitch.Config{Name: "s1", DeviceID: 1, Ports: []softswitch.Port{{Number: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		solo.New(sw)
		s := New(sw, Options{})
		id := &p4v1.Uint128{Low: 1}
		s.arb.roles[""] = &role{primary: &client{election: election(id)}}
		if _, err := s.SetForwardingPipelineConfig(t.Context(), &p4v1.SetForwardingPipelineConfigRequest{DeviceId: 1, ElectionId: id,
			Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
			Config: &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: program}}); err != nil {
			t.Fatal(err)
		}
		var mark uint32
		for _, a := range info.Actions {
			if strings.HasSuffix(a.Preamble.Name, "mark") {
				mark = a.Preamble.Id
			}
		}
		write := func() error {
			w := &p4v1.WriteRequest{DeviceId: 1, ElectionId: id}
			for i := range uint32(n) {
				key := binary.BigEndian.AppendUint32(nil, i*40503+1)
				for key[0] == 0 && len(key) > 1 {
					key = key[1:]
				}
				m := &p4v1.FieldMatch{FieldId: 1}
				e := &p4v1.TableEntry{TableId: info.Tables[number].Preamble.Id, Match: []*p4v1.FieldMatch{m},
					Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: mark,
						Params: []*p4v1.Action_Param{{ParamId: 1, Value: []byte{1}}}}}}}
				switch kind {
				case "exact":
					m.FieldMatchType = &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: key}}
				case "lpm":
					m.FieldMatchType = &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: key, PrefixLen: 32}}
				case "ternary":
					m.FieldMatchType = &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: key, Mask: []byte{255, 255, 255, 255}}}
					e.Priority = 1
				}
				w.Updates = append(w.Updates, &p4v1.Update{Type: p4v1.Update_INSERT, Entity: &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: e}}})
			}
			_, err := s.Write(t.Context(), w)
			return err
		}
		heapBefore, chargedBefore := heap(), s.budget.state.used.Load()
		if err := write(); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		grown, charged := heap()-heapBefore, s.budget.state.used.Load()-chargedBefore
		t.Logf("%s: %d bytes an entry, charged %d", kind, grown/n, charged/n)
		if grown > charged || charged > 4*grown {
			t.Errorf("%s: %d bytes an entry are charged, the heap grew by %d", kind, charged/n, grown/n)
		}
		runtime.KeepAlive(s)
	}
}
