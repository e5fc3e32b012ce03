// SPDX-License-Identifier: Apache-2.0

package p4info_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/compiler/p4info"
)

// tests are bodies of a control ingress with the P4Info after pkg_info. top has
// declarations before the control.
var tests = []struct{ name, top, body, want string }{
	{"table", "", "table t { key = { hdr.h.a : exact; hdr.h.c : ternary @name(\"see\"); meta.f : optional; hdr.h.d : lpm; hdr.h.b : range; } actions = { NoAction; } size = 7; } apply { t.apply(); }",
		`tables { preamble { id: 34728461 name: "ingress.t" alias: "t" } match_fields { id: 1 name: "hdr.h.a" bitwidth: 8 match_type: EXACT } match_fields { id: 2 name: "see" bitwidth: 16 match_type: TERNARY } match_fields { id: 3 name: "meta.f" bitwidth: 1 match_type: OPTIONAL } match_fields { id: 4 name: "hdr.h.d" bitwidth: 32 match_type: LPM } match_fields { id: 5 name: "hdr.h.b" bitwidth: 8 match_type: RANGE } action_refs { id: 21257015 } initial_default_action { action_id: 21257015 } size: 7 } actions { preamble { id: 21257015 name: "NoAction" alias: "NoAction" annotations: "@noWarn(\"unused\")" } }`},
	{"default size and const default", "", "action a(bit<9> p) { std.egress_spec = p; } table t { actions = { a; } const default_action = a(3); } apply { t.apply(); }",
		`tables { preamble { id: 34728461 name: "ingress.t" alias: "t" } action_refs { id: 21186165 } const_default_action_id: 21186165 initial_default_action { action_id: 21186165 arguments { param_id: 1 value: "\000\003" } } size: 1024 } actions { preamble { id: 21186165 name: "ingress.a" alias: "a" } params { id: 1 name: "p" bitwidth: 9 } }`},
	{"name, id, brief and alias", "", "@brief(\"one\") @description(\"two\") @name(\"other.t\") @id(0x02000007) @my(1, x) @mine[a = 1] table t { actions = { NoAction; } } apply { t.apply(); }",
		`tables { preamble { id: 33554439 name: "ingress.other.t" alias: "t" annotations: "@my(1 , x)" doc { brief: "one" description: "two" } structured_annotations { name: "mine" kv_pair_list { kv_pairs { key: "a" value { int64_value: 1 } } } } } action_refs { id: 21257015 } initial_default_action { action_id: 21257015 } size: 1024 } actions { preamble { id: 21257015 name: "NoAction" alias: "NoAction" annotations: "@noWarn(\"unused\")" } }`},
	{"action reference scope", "", "action a() { } table t { key = { hdr.h.a : exact; } actions = { @tableonly a; @defaultonly NoAction; } } apply { t.apply(); }",
		`tables { preamble { id: 34728461 name: "ingress.t" alias: "t" } match_fields { id: 1 name: "hdr.h.a" bitwidth: 8 match_type: EXACT } action_refs { id: 21186165 annotations: "@tableonly" scope: TABLE_ONLY } action_refs { id: 21257015 annotations: "@defaultonly" scope: DEFAULT_ONLY } initial_default_action { action_id: 21257015 } size: 1024 } actions { preamble { id: 21186165 name: "ingress.a" alias: "a" } } actions { preamble { id: 21257015 name: "NoAction" alias: "NoAction" annotations: "@noWarn(\"unused\")" } }`},
	{"const entries", "", "action a(bit<8> x) { hdr.h.a = x; } table t { key = { hdr.h.a : exact; } actions = { a; } const entries = { 1 : a(2); } default_action = a(1); } apply { t.apply(); }",
		`tables { preamble { id: 34728461 name: "ingress.t" alias: "t" } match_fields { id: 1 name: "hdr.h.a" bitwidth: 8 match_type: EXACT } action_refs { id: 21186165 } initial_default_action { action_id: 21186165 arguments { param_id: 1 value: "\001" } } size: 1024 is_const_table: true has_initial_entries: true } actions { preamble { id: 21186165 name: "ingress.a" alias: "a" } params { id: 1 name: "x" bitwidth: 8 } }`},
	{"direct objects", "", "direct_counter(CounterType.packets) c; direct_meter<bit<8>>(MeterType.bytes) m; action a() { m.read(hdr.h.a); } table t { key = { hdr.h.a : exact; } actions = { a; NoAction; } counters = c; meters = m; support_timeout = true; } apply { t.apply(); }",
		`tables { preamble { id: 34728461 name: "ingress.t" alias: "t" } match_fields { id: 1 name: "hdr.h.a" bitwidth: 8 match_type: EXACT } action_refs { id: 21186165 } action_refs { id: 21257015 } initial_default_action { action_id: 21257015 } direct_resource_ids: 330698586 direct_resource_ids: 358175899 size: 1024 idle_timeout_behavior: NOTIFY_CONTROL } actions { preamble { id: 21186165 name: "ingress.a" alias: "a" } } actions { preamble { id: 21257015 name: "NoAction" alias: "NoAction" annotations: "@noWarn(\"unused\")" } } direct_counters { preamble { id: 330698586 name: "ingress.c" alias: "c" } spec { unit: PACKETS } direct_table_id: 34728461 } direct_meters { preamble { id: 358175899 name: "ingress.m" alias: "m" } spec { unit: BYTES } direct_table_id: 34728461 }`},
	{"indirect objects", "", "counter(8, CounterType.packets_and_bytes) c; meter(16, MeterType.packets) m; register<bit<32>>(4) r; apply { c.count(0); m.execute_meter(0, hdr.h.a); r.write(0, 1); }",
		`counters { preamble { id: 313921370 name: "ingress.c" alias: "c" } spec { unit: BOTH } size: 8 } meters { preamble { id: 341398683 name: "ingress.m" alias: "m" } spec { unit: PACKETS } size: 16 } registers { preamble { id: 379986230 name: "ingress.r" alias: "r" } type_spec { bitstring { bit { bitwidth: 32 } } } size: 4 }`},
	{"action selector", "", "action a() { } @max_group_size(16) action_selector(HashAlgorithm.crc32, 64, 16) s; table t { key = { hdr.h.a : exact; hdr.h.b : selector; } actions = { a; } implementation = s; } apply { t.apply(); }",
		`tables { preamble { id: 34728461 name: "ingress.t" alias: "t" } match_fields { id: 1 name: "hdr.h.a" bitwidth: 8 match_type: EXACT } action_refs { id: 21186165 } action_refs { id: 21257015 annotations: "@defaultonly" scope: DEFAULT_ONLY } initial_default_action { action_id: 21257015 } implementation_id: 298356602 size: 1024 } actions { preamble { id: 21186165 name: "ingress.a" alias: "a" } } actions { preamble { id: 21257015 name: "NoAction" alias: "NoAction" annotations: "@noWarn(\"unused\")" } } action_profiles { preamble { id: 298356602 name: "ingress.s" alias: "s" } table_ids: 34728461 with_selector: true size: 64 max_group_size: 16 }`},
	{"translated type", "@p4runtime_translation(\"host/port\", 32) type bit<9> port_t; @p4runtime_translation(\"host/vrf\", string) type bit<10> vrf_t;", "action a(port_t p, vrf_t v) { std.egress_spec = (bit<9>) p; } table t { actions = { a; NoAction; } } apply { t.apply(); }",
		`tables { preamble { id: 34728461 name: "ingress.t" alias: "t" } action_refs { id: 21186165 } action_refs { id: 21257015 } initial_default_action { action_id: 21257015 } size: 1024 } actions { preamble { id: 21186165 name: "ingress.a" alias: "a" } params { id: 1 name: "p" bitwidth: 32 type_name { name: "port_t" } } params { id: 2 name: "v" type_name { name: "vrf_t" } } } actions { preamble { id: 21257015 name: "NoAction" alias: "NoAction" annotations: "@noWarn(\"unused\")" } } type_info { new_types { key: "port_t" value { translated_type { uri: "host/port" sdn_bitwidth: 32 } } } new_types { key: "vrf_t" value { translated_type { uri: "host/vrf" sdn_string { } } } } }`},
	{"digest", "struct seen_t { bit<48> addr; bit<9> port; }", "apply { digest<seen_t>(1, { 5, std.ingress_port }); }",
		`digests { preamble { id: 400386219 name: "seen_t" alias: "seen_t" } type_spec { struct { name: "seen_t" } } } type_info { structs { key: "seen_t" value { members { name: "addr" type_spec { bitstring { bit { bitwidth: 48 } } } } members { name: "port" type_spec { bitstring { bit { bitwidth: 9 } } } } } } }`},
	{"controller header", "@controller_header(\"packet_in\") header in_t { bit<9> port; @id(5) bit<7> pad; }", "apply { }",
		`controller_packet_metadata { preamble { id: 83878632 name: "packet_in" alias: "packet_in" annotations: "@controller_header(\"packet_in\")" } metadata { id: 1 name: "port" bitwidth: 9 } metadata { id: 5 name: "pad" bitwidth: 7 } }`},
	{"hidden", "", "@hidden table t { actions = { NoAction; } } apply { t.apply(); }",
		`actions { preamble { id: 21257015 name: "NoAction" alias: "NoAction" annotations: "@noWarn(\"unused\")" } }`},
}

func TestGenerate(t *testing.T) {
	for _, c := range tests {
		text := "#include \"skeleton.p4inc\"\n" + c.top + "\nINGRESS {\n" + c.body + "\n}\nSWITCH\n"
		r, list := compiler.Compile(compiler.Options{File: "t.p4", Source: []byte(text), Open: func(name string) (string, error) {
			b, err := os.ReadFile(filepath.Join("..", "testdata", filepath.Base(name)))
			return string(b), err
		}})
		if r.P4Info == nil {
			t.Errorf("%s: %v", c.name, list)
			continue
		}
		_, got, _ := strings.Cut(strings.Join(strings.Fields(string(p4info.Text(r.P4Info))), " "), `pkg_info { arch: "v1model" } `)
		if got = strings.TrimSuffix(got, " type_info { }"); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
