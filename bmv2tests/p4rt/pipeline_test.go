// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"context"
	"flag"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

var randomPipelines = flag.Int("pipelines", 40, "pipelines of TestRandomP4Info")

// TestRandomP4Info pushes the program of clauses.p4 with P4Infos in which ids, names,
// kinds, widths and references are wrong, missing or given twice. One that is accepted
// takes entries of whatever it describes, reads, packets, and the way back to the right
// P4Info: none of these ends the switch or is an internal error.
func TestRandomP4Info(t *testing.T) {
	cfg, err := config()
	if err != nil {
		t.Fatal(err)
	}
	r := mutator{rand.New(rand.NewPCG(*randomSeed, 8))}
	var d *direct
	accepted := 0
	for n := range *randomPipelines {
		if n%100 == 0 {
			d = newDirect(t, cfg)
		}
		wrong := &p4v1.ForwardingPipelineConfig{P4Info: proto.Clone(cfg.P4Info).(*p4configv1.P4Info), P4DeviceConfig: cfg.P4DeviceConfig}
		r.mutate(wrong.P4Info, 1+r.IntN(3))
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("seed %d, P4Info %d: %v\n%s\n%s", *randomSeed, n, p, debug.Stack(), prototext.Format(wrong.P4Info))
				}
			}()
			known := func(err error, what string) {
				switch c := status.Code(err); c {
				case codes.Internal:
				case codes.Unknown:
					for _, c := range details(err) {
						if c == codes.Internal || c == codes.Unknown {
							t.Fatalf("seed %d, P4Info %d: %s: %v", *randomSeed, n, what, err)
						}
					}
					return
				default:
					return
				}
				t.Fatalf("seed %d, P4Info %d: %s: %v", *randomSeed, n, what, err)
			}
			err := d.push(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, wrong)
			known(err, "pushing it")
			if err != nil {
				return
			}
			accepted++
			d.config = wrong
			for range 3 {
				_, err := d.Write(context.Background(), &p4v1.WriteRequest{DeviceId: deviceID, ElectionId: uint128(1), Updates: r.updates(wrong.P4Info)})
				known(err, "writing")
				d.pass()
			}
			known(d.Read(everyKind(), &fakeRead{}), "reading")
			err = d.push(p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT, cfg)
			known(err, "reconciling with the right one")
			d.pass()
			if err == nil {
				known(d.push(p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT, wrong), "reconciling with the wrong one")
				d.pass()
			}
		}()
	}
	t.Logf("%d of %d P4Infos were accepted", accepted, *randomPipelines)
	if accepted == 0 {
		t.Error("none was accepted: the test says nothing")
	}
}

// everyKind asks for all entities of every kind.
func everyKind() *p4v1.ReadRequest {
	return &p4v1.ReadRequest{DeviceId: deviceID, Entities: []*p4v1.Entity{entity(&p4v1.TableEntry{CounterData: &p4v1.CounterData{}, MeterConfig: &p4v1.MeterConfig{}}), entity(&p4v1.TableEntry{}),
		entity(&p4v1.ActionProfileMember{}), entity(&p4v1.ActionProfileGroup{}), entity(&p4v1.CounterEntry{}), entity(&p4v1.MeterEntry{CounterData: &p4v1.MeterCounterData{}}),
		entity(&p4v1.RegisterEntry{}), entity(&p4v1.ValueSetEntry{}), entity(&p4v1.MulticastGroupEntry{}), entity(&p4v1.CloneSessionEntry{}), entity(&p4v1.DigestEntry{}),
		entity(&p4v1.DirectCounterEntry{}), entity(&p4v1.DirectMeterEntry{})}}
}

// updates returns updates of everything that a P4Info describes, as a controller that
// believes it makes them.
func (r mutator) updates(info *p4configv1.P4Info) []*p4v1.Update {
	var list []*p4v1.Update
	value := func() []byte { return short(uint64(r.IntN(4))) }
	call := func() *p4v1.Action {
		if len(info.Actions) == 0 {
			return nil
		}
		a := info.Actions[r.IntN(len(info.Actions))]
		out := &p4v1.Action{ActionId: a.GetPreamble().GetId()}
		for _, p := range a.Params {
			out.Params = append(out.Params, &p4v1.Action_Param{ParamId: p.Id, Value: value()})
		}
		return out
	}
	for _, p := range info.ActionProfiles {
		id := p.GetPreamble().GetId()
		for m := range uint32(3) {
			list = append(list, insert(&p4v1.ActionProfileMember{ActionProfileId: id, MemberId: m + 1, Action: call()}))
		}
		list = append(list, insert(&p4v1.ActionProfileGroup{ActionProfileId: id, GroupId: 1, MaxSize: int32(r.IntN(5)), Members: []*p4v1.ActionProfileGroup_Member{{MemberId: 1, Weight: 1}, {MemberId: 2, Weight: int32(r.IntN(3))}}}))
	}
	for _, t := range info.Tables {
		for range 4 {
			e := &p4v1.TableEntry{TableId: t.GetPreamble().GetId(), Priority: int32(r.IntN(3)), IdleTimeoutNs: int64(r.IntN(2)) << 40}
			for _, f := range t.MatchFields {
				m := &p4v1.FieldMatch{FieldId: f.Id}
				switch f.GetMatchType() {
				case p4configv1.MatchField_LPM:
					m = lpm(f.Id, 0, 0)
					m.GetLpm().Value, m.GetLpm().PrefixLen = value(), int32(r.IntN(40))
				case p4configv1.MatchField_TERNARY:
					v := uint64(r.IntN(4))
					m = ternary(f.Id, v, v|4)
				case p4configv1.MatchField_RANGE:
					m = between(f.Id, 1, 3)
				case p4configv1.MatchField_OPTIONAL:
					m = optional(f.Id, uint64(r.IntN(4)))
				default:
					m = exact(f.Id, uint64(r.IntN(4)))
				}
				if r.IntN(6) > 0 {
					e.Match = append(e.Match, m)
				}
			}
			switch r.IntN(5) {
			case 0:
				e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: 1}}
			case 1:
				e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: 1}}
			case 2:
				e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileActionSet{ActionProfileActionSet: &p4v1.ActionProfileActionSet{
					ActionProfileActions: []*p4v1.ActionProfileAction{{Action: call(), Weight: 1}, {Action: call(), Weight: 2}}}}}
			default:
				e.Action = action(call())
			}
			u := insert(e)
			if r.IntN(4) == 0 {
				u = modify(&p4v1.TableEntry{TableId: e.TableId, IsDefaultAction: true, Action: action(call())})
			}
			list = append(list, u)
		}
		entry := &p4v1.TableEntry{TableId: t.GetPreamble().GetId(), IsDefaultAction: r.IntN(2) == 0}
		list = append(list, modify(&p4v1.DirectCounterEntry{TableEntry: entry, Data: &p4v1.CounterData{PacketCount: 1}}), modify(&p4v1.DirectMeterEntry{TableEntry: entry}))
	}
	for _, k := range info.Counters {
		list = append(list, modify(&p4v1.CounterEntry{CounterId: k.GetPreamble().GetId(), Index: index(1), Data: &p4v1.CounterData{PacketCount: 1}}))
	}
	for _, k := range info.Meters {
		list = append(list, modify(&p4v1.MeterEntry{MeterId: k.GetPreamble().GetId(), Index: index(1), Config: &p4v1.MeterConfig{Cir: 1, Cburst: 1, Pir: 1, Pburst: 1}}))
	}
	for _, k := range info.Registers {
		list = append(list, modify(&p4v1.RegisterEntry{RegisterId: k.GetPreamble().GetId(), Index: index(1), Data: bits(1)}))
	}
	for _, k := range info.ValueSets {
		list = append(list, modify(&p4v1.ValueSetEntry{ValueSetId: k.GetPreamble().GetId(), Members: members(3)}))
	}
	for _, k := range info.Digests {
		list = append(list, insert(&p4v1.DigestEntry{DigestId: k.GetPreamble().GetId(), Config: &p4v1.DigestEntry_Config{MaxListSize: 1}}))
	}
	return append(list, insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 1, Replicas: replicas(1, 2)}), insert(&p4v1.CloneSessionEntry{SessionId: 5, Replicas: replicas(1)}))
}
