// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"slices"
	"strings"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
)

const cliText = `# entries of one switch
table_set_default Forward drop
table_add ingress.Forward forward 10.0.1.0/24 => 3
table_add neighbour rewrite 02:00:00:00:00:01 7 => 02:00:00:00:00:ff 0x1ff
table_add acl drop 10.0.0.0&&&255.0.0.0 17 4791->4799 0&&&0 => 1
table_add acl forward 10.0.0.1&&&0xffffffff 17 0->65535 0&&&0 => 4 2
act_prof_create_member spread forward 1
act_prof_create_member spread forward 2
act_prof_create_group spread
act_prof_add_member_to_group spread 0 0
act_prof_add_member_to_group spread 1 0
table_indirect_add_with_group paths 3 => 0
table_indirect_add paths 4 => 1
mc_mgrp_create 1
mc_node_create 7 1 2
mc_node_create 8 3
mc_node_associate 1 0
mc_node_associate 1 1
mirroring_add 5 510
mirroring_add_mc 6 1
register_write Readqlen 3 77
counter_write rx 0 12 3400
meter_set_rates police 7 0.001:10 0.002:20
table_dump Forward
`

var cliWant = []string{
	"Forward default -> drop()",
	"Forward hdr.ipv4.dst=10.0.1.0/24 -> forward(port=3)",
	"neighbour hdr.ethernet.dst=02:00:00:00:00:01 meta.vlan=7 -> rewrite(mac=02:00:00:00:00:ff, port=511)",
	"acl prio 1073741823 hdr.ipv4.src=10.0.0.0/8 hdr.ipv4.proto=17 hdr.udp.dport=4791..4799 -> drop()",
	"acl prio 1073741822 hdr.ipv4.src=10.0.0.1 hdr.ipv4.proto=17 -> forward(port=4)",
	"member spread 1 -> forward(port=1)",
	"member spread 2 -> forward(port=2)",
	"group spread 1 -> 1, 2",
	"paths meta.leaf=3 -> group 1",
	"paths meta.leaf=4 -> member 2",
	"clone 5 -> 510",
	"register Readqlen[3] = 77",
	"counter rx[0] = 12 packets 3400 bytes",
	"meter police[7] = cir 1000 burst 10 pir 2000 burst 20",
	"multicast 1 -> 1/7, 2/7, 3/8",
	"clone 6 -> 1/7, 2/7, 3/8",
}

func TestCommandsAreRead(t *testing.T) {
	s := program(t)
	entities, err := s.ParseFile("s1-commands.txt", []byte(cliText))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entities {
		got = append(got, s.FormatEntity(e))
	}
	if !slices.Equal(got, cliWant) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(cliWant, "\n"))
	}
}

func TestErrorsInEntries(t *testing.T) {
	s := program(t)
	for _, c := range []struct{ text, want string }{
		{"table_add Forwrd forward 10.0.1.0/24 => 3", `e.txt:1: no table is called "Forwrd" (did you mean "Forward"?)`},
		{"\ntable_add Forward forwrd 10.0.1.0/24 => 3", `e.txt:`},
		{"table_add Forward forward 10.0.1.0/24 3", "expected => between"},
		{"table_add Forward forward 10.0.1.0/24 => 3 4", "action forward takes 1 arguments (port), not 2"},
		{"table_add Forward forward 10.0.1.0/24 1 => 3", "table Forward has 1 fields (hdr.ipv4.dst), and the key has 2"},
		{"table_add Forward forward 10.0.1.0/24 => x", `"x"`},
		{"table_ad Forward", ""}, // not a command: a table's name
		{"table_add Forward drop 10.0.1.0/24 =>\ntable_ad Forward", `e.txt:2: no command is called "table_ad" (did you mean "table_add"?)`},
		{"mc_mgrp_create 1\nmc_node_associate 1 0", "e.txt:2: no node 0: 0 were created"},
		{"set_queue_depth 5", "set network.switch.buffer"},
		{"meter_set_rates police 7 1 2", `rate "1" is not RATE:BURST`},
		{"Forwrd default -> drop()", `e.txt:`},
		{"updates {\n  entity {\n    tabel_entry {}\n  }\n}", "e.txt:3:5: not a p4.v1.WriteRequest: unknown field: tabel_entry"},
		{"updates { type: INSERT entity { table_entry { table_id: 7 } } }", "e.txt:1:9: update 1: no table has the id 0x7; there are: "},
		{"updates { type: DELETE entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 } } } }", "e.txt:1:9: the file deletes an entry"},
		{"updates { }", "e.txt:1:9: update 1: it has no entity"},
		{"# updates {\ndevice_id: 1 role: \"updates {\\\"\"\nupdates: [ { type: INSERT entity < packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 } } > },\n {} ]\n updates\n<>", "e.txt:4:2: update 2: it has no entity"},
	} {
		_, err := s.ParseFile("e.txt", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestProtobufTextIsRead(t *testing.T) {
	s := program(t)
	line, err := s.ParseEntity("multicast 1 -> 1, 2/5")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`updates { entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 replicas { egress_port: 1 } replicas { egress_port: 2 instance: 5 } } } } }`,
		"# read from a switch\n" + `entities { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 replicas { egress_port: 1 } replicas { egress_port: 2 instance: 5 } } } }`,
	} {
		got, err := s.ParseFile("e.txtpb", []byte(text))
		if err != nil || len(got) != 1 || s.FormatEntity(got[0]) != s.FormatEntity(line) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// Each update has its place in the file, in every format.
func TestUpdatesHavePlaces(t *testing.T) {
	s := program(t)
	for name, want := range map[string]int{"a.txt": 1, "a.json": 1, "b.txt": 1, "c.txtpb": 2} {
		text := map[string]string{
			"a.txt": cliText, "a.json": runtimeJSON, "b.txt": strings.Join(cliWant, "\n"),
			"c.txtpb": "# entries\nupdates { entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 } } } }",
		}[name]
		list, at, err := s.ParseUpdates(name, []byte(text))
		if err != nil || len(list) == 0 || len(at) != len(list) {
			t.Fatalf("%s: %d updates, %d places, %v", name, len(list), len(at), err)
		}
		for i, p := range at {
			if p.File() != name || p.Line == 0 || int(p.Line) > 1+strings.Count(text, "\n") {
				t.Errorf("%s: update %d is at %v", name, i, p)
			}
		}
		if first := at[0]; int(first.Line) < want {
			t.Errorf("%s: the first is at %v", name, first)
		}
	}
}

// An address has the width of its field, and true and false are one bit: "::1" was 1 in a
// field of 32 bits, and an IPv4 address the low bits of an IPv6 address.
func TestAddressesHaveTheWidthOfTheirField(t *testing.T) {
	for text, bits := range map[string][]int{"10.0.0.1": {32}, "::1": {128}, "00:00:00:00:00:01": {48}, "true": {1}, "1": {1, 9, 32, 48, 128}} {
		for _, n := range []int{1, 9, 32, 48, 128} {
			f := schema.Field{Name: "f", Bits: n}
			if _, err := f.Parse(text); (err == nil) != slices.Contains(bits, n) {
				t.Errorf("%s in a field of %d bits: %v", text, n, err)
			}
		}
	}
}

// Any text is read or refused.
func FuzzEntries(f *testing.F) {
	f.Add(cliText)
	f.Add(runtimeJSON)
	f.Add("updates { entity { } }")
	f.Add("mc_mgrp_create 1\nmc_node_create 0 |\nmirroring_add_mc 1 9")
	f.Add(strings.Join(cliWant, "\n"))
	f.Fuzz(func(t *testing.T, text string) {
		s := program(t)
		for _, name := range []string{"a.txt", "a.json"} {
			list, err := s.ParseFile(name, []byte(text))
			if err != nil {
				continue
			}
			for _, e := range list {
				s.FormatEntity(e)
			}
		}
	})
}

// Comments with // are skipped, and the rates of a direct meter are those of all entries.
func TestCommandsOfPublicExamples(t *testing.T) {
	info := &p4configv1.P4Info{
		Tables: []*p4configv1.Table{{
			Preamble: &p4configv1.Preamble{Id: 0x02000001, Name: "I.m_read", Alias: "m_read"}, Size: 10, DirectResourceIds: []uint32{0x15000001},
			MatchFields: []*p4configv1.MatchField{{Id: 1, Name: "h.src", Bitwidth: 48, Match: &p4configv1.MatchField_MatchType_{MatchType: p4configv1.MatchField_EXACT}}},
			ActionRefs:  []*p4configv1.ActionRef{{Id: 0x01000001}},
		}},
		Actions:      []*p4configv1.Action{{Preamble: &p4configv1.Preamble{Id: 0x01000001, Name: "I.m_action", Alias: "m_action"}}},
		DirectMeters: []*p4configv1.DirectMeter{{Preamble: &p4configv1.Preamble{Id: 0x15000001, Name: "I.my_meter", Alias: "my_meter"}, Spec: &p4configv1.MeterSpec{Unit: p4configv1.MeterSpec_PACKETS}, DirectTableId: 0x02000001}},
	}
	s, err := schema.New(info)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.ParseFile("direct.txt", []byte("//creates an entry\ntable_add m_read m_action aa:aa:aa:aa:aa:aa =>\nmeter_array_set_rates my_meter 0.000002:1 0.00001:3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c := list[0].GetTableEntry().GetMeterConfig(); len(list) != 1 || c.GetCir() != 2 || c.GetCburst() != 1 || c.GetPir() != 10 || c.GetPburst() != 3 {
		t.Errorf("%d entries, meter %v", len(list), c)
	}
	if _, err := s.ParseFile("direct.txt", []byte("meter_array_set_rates my_metre 0.000002:1 0.00001:3\n")); err == nil {
		t.Error("a meter that there is not")
	}
}
