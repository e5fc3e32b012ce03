// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"slices"
	"strings"
	"testing"
)

const runtimeJSON = `{
	"target": "bmv2",
	"p4info": "build/x.p4info.txtpb",
	"bmv2_json": "build/x.json",
	"table_entries": [
		{"table": "ingress.Forward", "default_action": true, "action_name": "ingress.drop", "action_params": {}},
		{"table": "ingress.Forward", "match": {"hdr.ipv4.dst": ["10.0.1.0", 24]}, "action_name": "ingress.forward", "action_params": {"port": 3}},
		{"table": "neighbour", "match": {"hdr.ethernet.dst": "02:00:00:00:00:01", "meta.vlan": 7},
		 "action_name": "rewrite", "action_params": {"mac": "02:00:00:00:00:ff", "port": 511}},
		{"table": "acl", "priority": 10, "match": {"hdr.ipv4.src": ["10.0.0.0", "255.0.0.0"], "hdr.udp.dport": [4791, 4799], "hdr.ipv4.proto": 17},
		 "action_name": "drop", "action_params": {}}
	],
	"multicast_group_entries": [{"multicast_group_id": 1, "replicas": [{"egress_port": 1, "instance": 1}, {"egress_port": 2, "instance": 5}]}],
	"clone_session_entries": [{"clone_session_id": 5, "replicas": [{"egress_port": 255, "instance": 1}], "packet_length_bytes": 64}]
}`

func TestRuntimeJSONIsRead(t *testing.T) {
	s := program(t)
	entities, err := s.ParseRuntime("s1-runtime.json", []byte(runtimeJSON))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entities {
		got = append(got, s.FormatEntity(e))
	}
	want := []string{
		"Forward default -> drop()",
		"Forward hdr.ipv4.dst=10.0.1.0/24 -> forward(port=3)",
		"neighbour hdr.ethernet.dst=02:00:00:00:00:01 meta.vlan=7 -> rewrite(mac=02:00:00:00:00:ff, port=511)",
		"acl prio 10 hdr.ipv4.src=10.0.0.0/8 hdr.ipv4.proto=17 hdr.udp.dport=4791..4799 -> drop()",
		"multicast 1 -> 1/1, 2/5",
		"clone 5 -> 255/1 truncate 64",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What the tutorials' own program takes: comments, characters as the bytes of a field, and
// the only action of a table without a key as an entry.
func TestRuntimeJSONOfStudents(t *testing.T) {
	s := program(t)
	entities, err := s.ParseRuntime("s1-runtime.json", []byte(`{"__comment__": "by port", "table_entries": [
		{"comment": ["first"], "table": "neighbour", "match": {"hdr.ethernet.dst": "switch", "meta.vlan": 7}, "action_name": "forward", "action_params": {"port": 1}}],
		"multicast_group_entries": [{"_why": "all", "multicast_group_id": 1, "replicas": [{"egress_port": 1, "comment": "h1"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.FormatEntity(entities[0]), "neighbour hdr.ethernet.dst=73:77:69:74:63:68 meta.vlan=7 -> forward(port=1)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestErrorsInRuntimeJSON(t *testing.T) {
	s := program(t)
	for _, c := range []struct{ old, new, want string }{
		{`"ingress.Forward", "m`, `"ingress.Forwrd", "m`, `s1-runtime.json:7:3: no table is called "ingress.Forwrd"`},
		{`"action_name": "rewrite"`, `"action_name": "rewrit"`, `8:3: table neighbour has no action "rewrit" (did you mean "rewrite"?)`},
		{`["10.0.1.0", 24]`, `"10.0.1.0"`, "field hdr.ipv4.dst of table Forward is matched lpm, which takes a list of two values, such as [\"10.0.1.0\", 24]"},
		{`"meta.vlan": 7`, `"meta.vlan": [7, 7]`, "field meta.vlan of table neighbour is matched exact, which takes one value"},
		{`"meta.vlan": 7`, `"meta.vlan": 7.5`, `"7.5" is neither an IP nor a MAC address`},
		{`"port": 511`, `"prot": 511`, `no parameter "prot" (did you mean "port"?)`},
		{`"priority": 10`, `"prio": 10`, `unknown key "prio"`},
		{`"bmv2"`, `"tofino"`, `2:12: target is "tofino", expected bmv2`},
	} {
		if strings.Count(runtimeJSON, c.old) != 1 {
			t.Errorf("%q is not once in the text", c.old)
		}
		_, err := s.ParseRuntime("s1-runtime.json", []byte(strings.Replace(runtimeJSON, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}
