// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/diag"
)

// Two entries with the same key are an error that names both lines, in every format, and in
// two files of a switch.
func TestEntriesWithTheSameKey(t *testing.T) {
	s := program(t)
	entry := `{"table": "Forward", "match": {"hdr.ipv4.dst": ["10.0.1.0", 24]}, "action_name": "forward", "action_params": {"port": 3}}`
	group := "updates { entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 } } } }\n"
	for _, c := range []struct{ name, text, want string }{
		{"e.txt", "table_add Forward forward 10.0.1.0/24 => 3\n\ntable_add Forward drop 10.0.1.7/24 =>", "e.txt:3: line 1 has the same key: Forward hdr.ipv4.dst=10.0.1.0/24 -> forward(port=3) (remove one of the two)"},
		{"e.txt", "mc_mgrp_create 1\nmc_mgrp_create 1", "e.txt:2: line 1 has the same key: multicast 1"},
		{"e.txt", "Forward dst=10.0.1.0/24 -> drop()\nForward dst=10.0.1.0/24 -> drop()", "e.txt:2: line 1 has the same key"},
		{"e.json", "{\"table_entries\": [\n" + entry + ",\n" + entry + "]}", "e.json:3:1: line 2 has the same key"},
		{"e.txtpb", group + group, "e.txtpb:2:9: line 1 has the same key"},
	} {
		if _, err := s.ParseFile(c.name, []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	x := schema.NewSet(s)
	if err := x.Read("a.txt", []byte("\nclone 5 -> 1")); err != nil {
		t.Fatal(err)
	}
	if err := x.Read("b.txt", []byte("mirroring_add 5 2")); err == nil || !strings.Contains(err.Error(), "b.txt:1: a.txt:2 has the same key: clone 5 -> 1") {
		t.Error(err)
	}
}

// Entries are those after the last command. Handles are BMv2's: the least free number of a
// table, plus 2^32 for each time that it was freed.
func TestCommandsWithHandles(t *testing.T) {
	s := program(t)
	add := "table_add Forward forward 10.0.0.0/24 => 1\ntable_add Forward forward 10.0.1.0/24 => 2\ntable_add neighbour forward 02:00:00:00:00:01 7 => 3\n"
	for _, c := range []struct{ text, want string }{
		{add + "table_modify Forward forward 1 => 9", "10.0.0.0/24 -> forward(port=1); 10.0.1.0/24 -> forward(port=9); n"},
		{add + "table_modify Forward drop 0", "10.0.0.0/24 -> drop(); 10.0.1.0/24 -> forward(port=2); n"},
		{add + "table_delete Forward 0\ntable_add Forward drop 10.0.0.0/24 =>\ntable_modify Forward forward 4294967296 5", "10.0.1.0/24 -> forward(port=2); n; 10.0.0.0/24 -> forward(port=5)"},
		{add + "table_clear Forward\ntable_add Forward drop 10.0.0.0/24 =>\ntable_delete Forward 0\ntable_delete neighbour 0", ""},
		{"table_set_default Forward drop\ntable_set_default Forward forward 4", "Forward default -> forward(port=4)"},
		{"table_set_default Forward drop\ntable_reset_default Forward", ""},
		{"register_write Readqlen 3 77\nregister_reset Readqlen\nregister_write Readqlen 3 1\nregister_write Readqlen 3 2", "register Readqlen[3] = 2"},
		{"reset_state\ncounter_write rx 0 1 2\ncounter_reset rx", ""},
	} {
		list, err := s.ParseFile("e.txt", []byte(c.text))
		var got []string
		for _, e := range list {
			line := strings.TrimPrefix(s.FormatEntity(e), "Forward hdr.ipv4.dst=")
			if strings.HasPrefix(line, "neighbour") {
				line = "n"
			}
			got = append(got, line)
		}
		if err != nil || strings.Join(got, "; ") != c.want {
			t.Errorf("%q: %v, %v, want %s", c.text, got, err, c.want)
		}
		_, at, err := s.ParseUpdates("e.txt", []byte(c.text))
		if err != nil || len(at) != len(list) || slices.ContainsFunc(at, func(p diag.Pos) bool { return !p.IsValid() }) {
			t.Errorf("%q: %d places of %d entries, %v", c.text, len(at), len(list), err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{add + "table_delete Forward 2", "e.txt:4: table Forward has no entry with handle 2 here: it has 2, and handles count from 0 in each table"},
		{add + "table_delete Forward 0\ntable_add Forward drop 10.0.0.0/24 =>\ntable_delete Forward 0", "e.txt:6: the entry of table Forward with handle 0 was deleted: the one after it has handle 4294967296"},
		{add + "table_modify Forward forward 1 => 9 9", "e.txt:4: action forward takes 1 arguments"},
		{add + "table_modify Forward forward x 9", `e.txt:4: handle "x" is not a number`},
		{add + "table_clear Forwrd", `did you mean "Forward"?`},
		{add + "reset_state", "e.txt:4: reset_state removes what the commands before it wrote"},
		{add + "mirroring_delete 5", "e.txt:4: mirroring_delete is not executed here: write what the switch is to have at the end"},
	} {
		if _, err := s.ParseFile("e.txt", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	// A WriteRequest can modify and delete what it made.
	group := "entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 } } } }\n"
	if list, err := s.ParseFile("e.txtpb", []byte("updates { type: INSERT "+group+"updates { type: DELETE "+group)); err != nil || len(list) > 0 {
		t.Error(list, err)
	}
}
