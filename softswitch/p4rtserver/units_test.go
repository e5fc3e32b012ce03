// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"os"
	"strings"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/solo"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
)

// A switch runs no program whose units are not its own or that it cannot read, and
// says so with every action that gets one, VERIFY too.
func TestUnitsOfAProgramAreTheSwitchs(t *testing.T) {
	program, err := os.ReadFile("testdata/budget.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/budget.p4info.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	named := func(time, depth string) softswitch.Units { return softswitch.Units{Time: time, Depth: depth} }
	for _, c := range []struct {
		pkg  string // PkgInfo
		of   softswitch.Units
		want string // part of the error; "" for none
	}{
		{``, named("", ""), ""},
		{`structured_annotations {name: "units" kv_pair_list {kv_pairs {key: "time" value {string_value: "ns"}}}}`, named("", ""), ""},
		{`structured_annotations {name: "units" kv_pair_list {kv_pairs {key: "time" value {string_value: "ns"}}}}`, named("us", ""), "set units to {time: ns"},
		{`structured_annotations {name: "units" kv_pair_list {kv_pairs {key: "depth" value {string_value: "bytes"}}}}`, named("", "cells80"), "queue depth in bytes"},
		{`structured_annotations {name: "units" kv_pair_list {kv_pairs {key: "time" value {string_value: "ps"}}}}`, named("", ""), `unit of time "ps": must be us or ns`},
		{`structured_annotations {name: "units" kv_pair_list {kv_pairs {key: "depth" value {string_value: "KB"}}}}`, named("", ""), `unit of queue depth "KB"`},
		{`structured_annotations {name: "units" kv_pair_list {kv_pairs {key: "tme" value {string_value: "ns"}}}}`, named("", ""), "cannot be read"},
		{`structured_annotations {name: "units" kv_pair_list {kv_pairs {key: "time" value {int64_value: 9}}}}`, named("", ""), "cannot be read"},
		{`structured_annotations {name: "units" expression_list {expressions {string_value: "ns"}}}`, named("", ""), "cannot be read"},
		{`annotations: "@units(\"ns\")"`, named("", ""), "cannot be read"},
	} {
		info := new(p4configv1.P4Info)
		if err := prototext.Unmarshal(text, info); err != nil {
			t.Fatal(err)
		}
		pkg := new(p4configv1.PkgInfo)
		if err := prototext.Unmarshal([]byte(c.pkg), pkg); err != nil {
			t.Fatal(err)
		}
		pkg.Arch = info.PkgInfo.GetArch()
		info.PkgInfo = pkg
		for number, name := range p4v1.SetForwardingPipelineConfigRequest_Action_name {
			action := p4v1.SetForwardingPipelineConfigRequest_Action(number)
			if action == p4v1.SetForwardingPipelineConfigRequest_UNSPECIFIED || action == p4v1.SetForwardingPipelineConfigRequest_COMMIT {
				continue
			}
			sw, err := softswitch.New(softswitch.Config{Name: "s1", DeviceID: 1, Units: c.of, Ports: []softswitch.Port{{Number: 1}}})
			if err != nil {
				t.Fatal(err)
			}
			solo.New(sw)
			s := New(sw, Options{})
			id := &p4v1.Uint128{Low: 1}
			s.arb.roles[""] = &role{primary: &client{election: election(id)}}
			_, err = s.SetForwardingPipelineConfig(t.Context(), &p4v1.SetForwardingPipelineConfigRequest{DeviceId: 1, ElectionId: id,
				Action: action, Config: &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: program}})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s, %v, %q: %v", name, c.of, c.pkg, err)
			case c.want != "" && (status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s, %v, %q: error is %v, want %q", name, c.of, c.pkg, err, c.want)
			}
		}
	}
}
