// SPDX-License-Identifier: Apache-2.0

package tna

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Over P4Runtime a pair is a struct, of which our controller accesses the first field.
// Cells start with the program's values.
func TestPairsOverP4Runtime(t *testing.T) {
	const file, firstOf = "testdata/registers.p4", 6
	r := newRig(t, file)
	ctx := t.Context()
	s, _ := r.control(file)
	const pair = "Ingress.ask.pair"
	if err := s.WriteRegister(ctx, pair, 2, 2, 41); err != nil {
		t.Fatal(err)
	}
	a, err := s.ReadRegister(ctx, pair)
	if err != nil || !slices.Equal(a.Values, []uint64{7, 7, 41, 7, 7, 7, 7, 7}) {
		t.Errorf("the registers read %v, %v", a.Values, err)
	}
	r.sw.Lock()
	defer r.sw.Unlock()
	if got, _ := r.ask(firstOf, 2, 0, 0); got != 41 {
		t.Errorf("a packet finds %d, want 41", got)
	}
}

// control connects a controller, which pushes the program.
func (r *rig) control(file string) (*controlplane.Session, *p4configv1.P4Info) {
	r.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	g, err := p4rtserver.New(r.sw, p4rtserver.Options{}).GRPC(p4rtserver.GRPCConfig{})
	if err != nil {
		r.Fatal(err)
	}
	go g.Serve(l)
	r.Cleanup(g.Stop)
	ctx := r.Context()
	f, err := controlplane.Open(ctx, []controlplane.Target{{Name: "s1", Addr: l.Addr().String(), DeviceID: r.sw.Config().DeviceID}}, controlplane.Options{Probe: -1, Timeout: 2 * time.Minute})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { f.Close() })
	s := f.Sessions()[0]
	res, list := compiler.Compile(compiler.Options{File: file})
	if err := list.Err(); err != nil {
		r.Fatal(err)
	}
	if err := s.SetPipeline(ctx, controlplane.Pipeline{P4Info: res.P4Info, Config: bmv2json.Encode(res.Program)}); err != nil {
		r.Fatal(err)
	}
	return s, res.P4Info
}

// A selector and its profile are one action profile of P4Runtime, with the profile's
// name and size and the selector's largest group. The hash of the selector's keys
// chooses the member.
func TestSelectorOverP4Runtime(t *testing.T) {
	c := construct{
		locals: "ActionProfile(16) ap; CRCPolynomial<bit<16>>(0x1021, false, false, false, 0xffff, 0) poly; Hash<bit<16>>(HashAlgorithm_t.CUSTOM, poly) h; " +
			"ActionSelector(ap, h, SelectorMode_t.FAIR, 3, 4) sel; action a(bit<8> w) { hdr.h.w = w; } " +
			"table t { key = { hdr.h.op : exact; hdr.h.x : selector; hdr.h.y : selector; } actions = { a; } implementation = sel; size = 8; }",
		apply: "t.apply();"}
	file := c.program(t)
	r := newRig(t, file)
	s, info := r.control(file)
	if len(info.ActionProfiles) != 1 {
		t.Fatalf("the P4Info has %d action profiles", len(info.ActionProfiles))
	}
	p := info.ActionProfiles[0]
	if p.Preamble.Name != "Ingress.ap" || p.Size != 16 || !p.WithSelector || p.MaxGroupSize != 3 || info.Tables[0].ImplementationId != p.Preamble.Id {
		t.Errorf("the action profile is %v, the table's %x", p, info.Tables[0].ImplementationId)
	}
	id := p.Preamble.Id
	insert := func(e *p4v1.Entity) error {
		return s.Write(t.Context(), []*p4v1.Update{{Type: p4v1.Update_INSERT, Entity: e}})
	}
	must := func(e *p4v1.Entity) {
		t.Helper()
		if err := insert(e); err != nil {
			t.Fatal(err)
		}
	}
	group := func(number uint32, members ...uint32) *p4v1.Entity {
		g := &p4v1.ActionProfileGroup{ActionProfileId: id, GroupId: number, MaxSize: int32(len(members))}
		for _, m := range members {
			g.Members = append(g.Members, &p4v1.ActionProfileGroup_Member{MemberId: m, Weight: 1})
		}
		return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: g}}
	}
	for m := range uint32(4) {
		must(&p4v1.Entity{Entity: &p4v1.Entity_ActionProfileMember{ActionProfileMember: &p4v1.ActionProfileMember{ActionProfileId: id, MemberId: m + 1,
			Action: &p4v1.Action{ActionId: info.Tables[0].ActionRefs[0].Id, Params: []*p4v1.Action_Param{{ParamId: 1, Value: []byte{byte(m + 1)}}}}}}})
	}
	must(group(1, 1, 2, 3))
	if err := insert(group(2, 1, 2, 3, 4)); err == nil {
		t.Error("a group of four members, with at most three, is accepted")
	}
	must(&p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: info.Tables[0].Preamble.Id,
		Match:  []*p4v1.FieldMatch{{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: []byte{7}}}}},
		Action: &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: 1}}}}})
	r.sw.Lock()
	defer r.sw.Unlock()
	taken := map[byte]int{}
	for i := range byte(60) {
		in := []byte{7, 0, 0, 0, i, 1, 2, 3, 4, 0, 0, 0}
		// CRC-16/IBM-3740 over x and y
		crc := uint16(0xffff)
		for _, b := range in[1:9] {
			crc ^= uint16(b) << 8
			for range 8 {
				carry := crc >> 15
				crc = crc<<1 ^ carry*0x1021
			}
		}
		got := r.pass(in)[11]
		taken[got]++
		if want := byte(1 + crc%3); got != want {
			t.Errorf("x = %d takes member %d, want %d of hash %04x", i, got, want, crc)
		}
	}
	if len(taken) != 3 {
		t.Errorf("members are taken %v times", taken)
	}
}
