// SPDX-License-Identifier: Apache-2.0

package infocheck_test

import (
	"strings"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/internal/infocheck"
	"github.com/pauseless/pauseless/internal/infocheck/infochecktest"
)

// base is a P4Info with each kind of object and type, none of them hostile.
const base = `
	pkg_info { arch: "v1model" }
	tables { preamble { id: 0x02000001 name: "t" } match_fields { id: 1 name: "f" bitwidth: 32 match_type: EXACT } action_refs { id: 0x01000001 } size: 8 }
	actions { preamble { id: 0x01000001 name: "a" } params { id: 1 name: "p" bitwidth: 9 } }
	registers { preamble { id: 0x16000001 name: "r" } type_spec { struct { name: "cell" } } size: 4 }
	digests { preamble { id: 0x17000001 name: "d" } type_spec { struct { name: "msg" } } }
	controller_packet_metadata { preamble { id: 0x04000001 name: "packet_in" } metadata { id: 1 name: "port" bitwidth: 16 } }
	type_info {
	  structs { key: "cell" value { members { name: "a" type_spec { bitstring { bit { bitwidth: 8 } } } } members { name: "b" type_spec { new_type { name: "port" } } } } }
	  structs { key: "msg" value {
	    members { name: "h" type_spec { header { name: "eth" } } }
	    members { name: "c" type_spec { struct { name: "cell" } } } members { name: "d" type_spec { struct { name: "cell" } } }
	    members { name: "s" type_spec { header_stack { header { name: "eth" } size: 3 } } }
	    members { name: "t" type_spec { tuple { members { bool {} } members { error {} } } } }
	    members { name: "e" type_spec { serializable_enum { name: "kind" } } } } }
	  headers { key: "eth" value { members { name: "dst" type_spec { bit { bitwidth: 48 } } } members { name: "rest" type_spec { varbit { max_bitwidth: 320 } } } } }
	  serializable_enums { key: "kind" value { underlying_type { bitwidth: 8 } members { name: "x" value: "\001" } } }
	  new_types { key: "port" value { original_type { new_type { name: "inner" } } } }
	  new_types { key: "inner" value { original_type { bitstring { bit { bitwidth: 9 } } } } }
	}`

func info(t testing.TB) *p4configv1.P4Info {
	t.Helper()
	m := &p4configv1.P4Info{}
	if err := prototext.Unmarshal([]byte(base), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Types that contain themselves, or stand for very many numbers, are found wherever
// they are used, by a look at each type once.
func TestHostileTypes(t *testing.T) {
	if err := infocheck.Check(info(t)); err != nil {
		t.Errorf("a P4Info that is not hostile: %v", err)
	}
	for _, m := range []*p4configv1.P4Info{nil, {}} {
		if err := infocheck.Check(m); err != nil {
			t.Errorf("an empty P4Info: %v", err)
		}
	}
	for _, c := range infochecktest.Cases(info(t)) {
		if err := infocheck.Check(c.Info); err == nil || !strings.Contains(err.Error(), c.Want) {
			t.Errorf("%s:\n got %.300v\nwant %s", c.Name, err, c.Want)
		}
	}
}

// Any P4Info is checked without a panic, and in time that is proportional to its size.
func FuzzCheck(f *testing.F) {
	for _, c := range infochecktest.Cases(info(f)) {
		if b, err := proto.Marshal(c.Info); err == nil && len(b) < 1<<16 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &p4configv1.P4Info{}
		if proto.Unmarshal(data, m) == nil {
			_ = infocheck.Check(m)
		}
	})
}
