// SPDX-License-Identifier: Apache-2.0

package bfrt_test

import (
	"fmt"
	"strings"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/schema"
	"google.golang.org/protobuf/encoding/prototext"
)

// BF Runtime has no backups of replicas: they are an error, and not omitted.
func TestBackupsAreRefused(t *testing.T) {
	s, err := schema.New(&p4configv1.P4Info{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"multicast 1 -> 1, 2 backup 3", "clone 5 -> 1 backup 2/7"} {
		e, err := s.ParseEntity(line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bfrt.Entries(s, []*p4v1.Entity{e}); err == nil || !strings.Contains(err.Error(), "no backups of replicas: "+line) {
			t.Errorf("%s: got %v", line, err)
		}
	}
}

// P4Runtime omits a field that matches anything, and BF Runtime rejects an
// entry without it.
func TestEveryFieldOfAKeyIsWritten(t *testing.T) {
	info := new(p4configv1.P4Info)
	text := `
		tables { preamble { id: 33554433 name: "pipe.t" alias: "t" } size: 8 action_refs { id: 16777217 }
			match_fields { id: 1 name: "a" bitwidth: 3 match_type: EXACT } match_fields { id: 2 name: "b" bitwidth: 8 match_type: TERNARY }
			match_fields { id: 3 name: "c" bitwidth: 12 match_type: RANGE } }
		actions { preamble { id: 16777217 name: "pipe.go" alias: "go" } }`
	if err := prototext.Unmarshal([]byte(text), info); err != nil {
		t.Fatal(err)
	}
	s, err := schema.New(info)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		match []schema.Match
		want  string
	}{
		{[]schema.Match{schema.Eq("a", 5)}, "pipe.t a=0x05 b=0&&&0 c=0..0x0fff $MATCH_PRIORITY=16777209 -> pipe.go"},
		{[]schema.Match{schema.Eq("a", 5), schema.Mask("b", 6, 7), schema.Between("c", 1, 9)}, "pipe.t a=0x05 b=0x06&&&0x07 c=0x01..0x09 $MATCH_PRIORITY=16777209 -> pipe.go"},
	} {
		e, err := s.Entry(schema.Entry{Table: "t", Match: c.match, Priority: 7, Action: "go"})
		if err != nil {
			t.Fatal(err)
		}
		list, err := bfrt.Entries(s, []*p4v1.Entity{e})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(&list[0].Entry); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
