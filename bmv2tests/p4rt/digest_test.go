// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"
)

const digestProgram = `
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<16> value; }
struct headers { h_t h; }
struct meta_t { }
struct seen_t { bit<16> value; bit<9> port; }
@name(".renamed") struct local_t { bit<8> kind; }
parser P(packet_in p, out headers hdr, inout meta_t m, inout standard_metadata_t s) { state start { p.extract(hdr.h); transition accept; } }
control V(inout headers hdr, inout meta_t m) { apply { } }
control I(inout headers hdr, inout meta_t m, inout standard_metadata_t s) {
    action learn() { digest<seen_t>(1, { hdr.h.value, 1 }); }
    table t { key = { hdr.h.kind : exact; } actions = { learn; NoAction; } const entries = { 1 : learn(); } }
    apply {
        t.apply();
        if (hdr.h.kind == 2) { digest<seen_t>(1, { hdr.h.value, s.ingress_port }); }
        else if (hdr.h.kind == 3) { digest(1, { hdr.h.value, hdr.h.kind }); }
        else if (hdr.h.kind == 4) { digest(1, { hdr.h.kind }); }
        else if (hdr.h.kind == 5) { digest<local_t>(1, { hdr.h.kind }); }
    }
}
control E(inout headers hdr, inout meta_t m, inout standard_metadata_t s) { apply { } }
control C(inout headers hdr, inout meta_t m) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
`

// Every call of digest reaches the controller: of two calls with one struct only the
// last did, and programs whose digests have no struct were refused.
func TestEveryCallOfDigest(t *testing.T) {
	everyCallOfDigest(t, func(*bmv2json.Program) {})
}

// In JSON p4c gives all digests without a struct the name "digest".
func TestEveryCallOfDigestInJSONOfP4C(t *testing.T) {
	everyCallOfDigest(t, func(p *bmv2json.Program) {
		for _, l := range p.LearnLists {
			if strings.HasPrefix(l.Name, "digest_") {
				l.Name = "digest"
			}
		}
	})
}

func everyCallOfDigest(t *testing.T, change func(*bmv2json.Program)) {
	x := newBench(t, startSoft(t, p4rtserver.Options{}), false)
	r, list := compiler.Compile(compiler.Options{File: "digest.p4", Source: []byte(digestProgram)})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	change(r.Program)
	x.config = &p4v1.ForwardingPipelineConfig{P4Info: r.P4Info, P4DeviceConfig: bmv2json.Encode(r.Program)}
	x.set(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, x.config)
	kinds := []struct {
		name string
		want []*p4v1.P4Data
	}{
		{"seen_t", []*p4v1.P4Data{bits(0x101), bits(1)}}, {"seen_t", []*p4v1.P4Data{bits(0x102), bits(2)}},
		{"digest_0", []*p4v1.P4Data{bits(0x103), bits(3)}}, {"digest_1", []*p4v1.P4Data{bits(4)}}, {"renamed", []*p4v1.P4Data{bits(5)}},
	}
	for _, name := range []string{"seen_t", "digest_0", "digest_1", "renamed"} {
		x.must(insert(&p4v1.DigestEntry{DigestId: x.id(name), Config: &p4v1.DigestEntry_Config{MaxListSize: 1}}))
	}
	for i, k := range kinds {
		x.send(2, []byte{byte(i + 1), 1, byte(i + 1)})
		got := x.next(x.session).GetDigest()
		if got.GetDigestId() != x.id(k.name) || len(got.Data) != 1 {
			t.Fatalf("packet %d: %v, want one of %s", i+1, got, k.name)
		}
		members := got.Data[0].GetStruct().GetMembers()
		if tuple := got.Data[0].GetTuple(); tuple != nil {
			members = tuple.Members
		}
		if len(members) != len(k.want) {
			t.Fatalf("packet %d: %v, want %v", i+1, got, k.want)
		}
		for j := range members {
			if !proto.Equal(members[j], k.want[j]) {
				t.Errorf("packet %d: %v, want %v", i+1, got, k.want)
			}
		}
	}
	for _, id := range []string{"seen_t", "digest_0"} { // and of none once it is off
		x.must(remove(&p4v1.DigestEntry{DigestId: x.id(id)}))
	}
	for kind := range byte(3) {
		x.send(2, []byte{kind + 1, 9, 9})
	}
	x.silent(x.session)
}
