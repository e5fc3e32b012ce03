// SPDX-License-Identifier: Apache-2.0

package language

var parsers = []construct{
	{name: "select", parse: "state next { transition select (hdr.h.a, hdr.h.b) { (1, _): one; (2 &&& 0xfe, 5 .. 9): two; (4, 4): reject; default: accept; } } state one { p.extract(hdr.s.next); transition accept; } state two { p.extract(hdr.s.next); p.extract(hdr.s.next); transition accept; }",
		body:    "apply { hdr.h.d = hdr.s[1].isValid() ? 32w2 : hdr.s[0].isValid() ? 32w1 : 0; if (std.parser_error != error.NoError) { hdr.h.d = 9; } }",
		packets: []string{"01 09 0000 00000000 aabb > 01 09 0000 00000001 aabb", "03 05 0000 00000000 aabb > 03 05 0000 00000002 aabb", "03 0a 0000 00000000 aabb > 03 0a 0000 00000000 aabb"}},
	{name: "a stack of a sub-parser that is applied twice", top: "struct loc { x_t[2] s; } parser sub(packet_in p, out loc l, in bit<8> n) { state start { transition select(n) { 0: accept; default: go; } } state go { p.extract(l.s.next); p.extract(l.s.next); transition accept; } }",
		parse: "sub() sp; loc l1; loc l2; state next { sp.apply(p, l1, 1); sp.apply(p, l2, hdr.h.b); hdr.s[0] = l1.s[1]; hdr.s[1] = l2.s[0]; hdr.s[2] = l1.s[0]; meta.m = (bit<8>) (bit<1>) l2.s[1].isValid(); transition accept; }",
		body:  "apply { hdr.h.a = meta.m; }", packets: []string{"00 00 0000 00000000 01 02 03 04 > 00 00 0000 00000000 02 01 03 04", "00 01 0000 00000000 01 02 03 04 > 01 01 0000 00000000 02 03 01"}},
	{name: "a local stack of a sub-parser", top: "parser sub(packet_in p, out bit<8> r) { x_t[2] s; state start { p.extract(s.next); p.extract(s.next); r = s.last.v + (bit<8>) s.lastIndex; transition accept; } }",
		parse: "sub() sp; bit<8> r1; bit<8> r2; state next { sp.apply(p, r1); sp.apply(p, r2); meta.m = r1 + r2; transition accept; }",
		body:  "apply { hdr.h.a = meta.m; }", packets: []string{"00 01 0000 00000000 01 02 03 04 07 > 08 01 0000 00000000 07"}},
	{name: "a stack that is declared in a state of a loop", parse: "bit<8> n = 0; state next { x_t[2] t; p.extract(t.next); p.extract(t.next); meta.m = meta.m + t[1].v; n = n + 1; transition select(n) { 3: accept; default: next; } }",
		body: "apply { hdr.h.a = meta.m; }", packets: []string{"00 01 0000 00000000 01 02 03 04 05 06 07 > 0c 01 0000 00000000 07"}},
	{name: "out and inout stacks of sub-parsers", top: "parser more(packet_in p, inout x_t[4] s) { state start { p.extract(s.next); transition accept; } } parser anew(packet_in p, out x_t[4] s) { state start { p.extract(s.next); transition accept; } }",
		parse: "more() m; anew() a; x_t[4] t; state next { p.extract(hdr.s.next); m.apply(p, hdr.s); t = hdr.s; p.extract(t.next); meta.n = (bit<16>) t.lastIndex; a.apply(p, hdr.s); p.extract(hdr.s.next); meta.m = (bit<8>) hdr.s.lastIndex; transition accept; }",
		body:  "apply { hdr.h.a = meta.m; hdr.h.c = meta.n; }", packets: []string{"00 01 0000 00000000 01 02 03 04 05 06 > 01 01 0002 00000000 04 05 06"}},
	{name: "select of signed ranges", parse: "state next { transition select ((int<8>) hdr.h.a, hdr.h.b) { (-3 .. 2, _): s1; (5 .. -2, _): s3; (-5 .. -4, 1): s2; (100 .. 127, _): s3; default: accept; } } state s1 { meta.m = 1; transition accept; } state s2 { meta.m = 2; transition accept; } state s3 { meta.m = 3; transition accept; }",
		body: "apply { hdr.h.d = (bit<32>) meta.m; }",
		packets: []string{"fd 00 0000 00000000 > fd 00 0000 00000001", "02 00 0000 00000000 > 02 00 0000 00000001", "80 00 0000 00000009 > 80 00 0000 00000000", "fb 01 0000 00000000 > fb 01 0000 00000002",
			"06 00 0000 00000009 > 06 00 0000 00000000", "03 00 0000 00000009 > 03 00 0000 00000000", "fc 00 0000 00000009 > fc 00 0000 00000000", "7f 00 0000 00000000 > 7f 00 0000 00000003"}},
	{name: "signed keys", body: "action f(bit<8> n) { hdr.h.d = (bit<32>) n; } table t { key = { (int<8>) hdr.h.a: range @name(\"a\"); (int<8>) hdr.h.b: ternary @name(\"b\"); } actions = { f; } const entries = { (-3 .. -1, _): f(1); (10 .. 20, -1): f(2); (3 .. -1, _): f(4); (10 .. 20, -128 &&& -128): f(3); } default_action = f(9); } apply { t.apply(); }",
		packets: []string{"fd 00 0000 00000000 > fd 00 0000 00000001", "02 00 0000 00000000 > 02 00 0000 00000009", "0b ff 0000 00000000 > 0b ff 0000 00000002", "14 90 0000 00000000 > 14 90 0000 00000003", "15 90 0000 00000000 > 15 90 0000 00000009", "04 90 0000 00000000 > 04 90 0000 00000009"}},
	{name: "stacks in loops", parse: "state next { p.extract(hdr.s.next); transition select (hdr.s.last.v) { 0 .. 9: next; _: accept; } }",
		body:    "apply { hdr.h.a = hdr.s[0].v; hdr.h.b = (bit<8>) (bit<1>) hdr.s[2].isValid(); }",
		packets: []string{"00 00 0000 00000000 01 02 0a > 01 01 0000 00000000 01 02 0a", "00 00 0000 00000000 ff > ff 00 0000 00000000 ff"}},
	{name: "stack index of the last", parse: "state next { p.extract(hdr.s.next); meta.m = (bit<8>) hdr.s.lastIndex; transition select (hdr.s.last.v) { 1: next; _: accept; } }",
		body: "apply { hdr.h.a = meta.m; }", packets: []string{"00 00 0000 00000000 01 01 02 > 02 00 0000 00000000 01 01 02"}},
	{name: "errors of the parser", parse: "state next { verify(hdr.h.a != 7, error.NoMatch); p.extract(hdr.s.next); transition accept; }",
		body:    "apply { if (std.parser_error == error.NoMatch) { hdr.h.b = 1; } else if (std.parser_error == error.PacketTooShort) { hdr.h.b = 2; } }",
		packets: []string{"07 00 0000 00000000 aa > 07 01 0000 00000000 aa", "01 00 0000 00000000 > 01 02 0000 00000000", "01 00 0000 00000000 aa > 01 00 0000 00000000 aa"}},
	{name: "too many for the stack", parse: "state next { p.extract(hdr.s.next); transition select (p.lookahead<bit<8>>()) { 0: accept; default: next; } }",
		body:    "apply { if (std.parser_error == error.StackOutOfBounds) { hdr.h.b = 1; } }",
		packets: []string{"00 00 0000 00000000 01 02 03 04 05 00 > 00 01 0000 00000000 01 02 03 04 05 00", "00 00 0000 00000000 01 02 00 > 00 00 0000 00000000 01 02 00"}},
	{name: "lookahead and advance", parse: "state next { bit<8> l = p.lookahead<bit<8>>(); y_t y = p.lookahead<y_t>(); meta.n = y.w; p.advance((bit<32>) l << 3); p.extract(hdr.s.next); transition accept; }",
		body: "apply { hdr.h.c = meta.n; hdr.h.a = hdr.s[0].v; }", packets: []string{"00 00 0000 00000000 02 11 ab > ab 00 11ab 00000000 ab"}},
	{name: "lookahead of a struct", top: "struct two { bit<8> x; bit<8> y; }", parse: "state next { two t = p.lookahead<two>(); meta.m = t.y; transition accept; }",
		body: "apply { hdr.h.a = meta.m; }", packets: []string{"00 00 0000 00000000 01 02 > 02 00 0000 00000000 01 02"}},
	{name: "varbit", parse: "state next { bit<8> n = p.lookahead<bit<8>>(); p.extract(hdr.w, (bit<32>) n << 3); transition accept; }",
		body:    "apply { if (hdr.w.isValid()) { hdr.h.a = hdr.w.len; } w_t saved = hdr.w; hdr.w.setInvalid(); hdr.w = saved; }",
		packets: []string{"00 00 0000 00000000 03 aa bb cc dd > 03 00 0000 00000000 03 aa bb cc dd", "00 00 0000 00000000 00 ff > 00 00 0000 00000000 00 ff"}},
	{name: "varbit too long", parse: "state next { p.extract(hdr.w, 72); transition accept; }", body: "apply { if (std.parser_error == error.HeaderTooShort) { hdr.h.a = 1; } }",
		packets: []string{"00 00 0000 00000000 09 010203040506070809 > 01 00 0000 00000000 09 010203040506070809"}},
	{name: "sub-parsers", top: "parser item(packet_in p, inout x_t[4] s)(bit<8> stop) { state start { p.extract(s.next); transition select (s.last.v) { stop: accept; default: start; } } }",
		parse: "item(0) first; item(1) second; state next { first.apply(p, hdr.s); second.apply(p, hdr.s); transition accept; }",
		body:  "apply { hdr.h.a = hdr.s[3].isValid() ? 8w1 : 0; }", packets: []string{"00 00 0000 00000000 05 00 06 01 77 > 01 00 0000 00000000 05 00 06 01 77"}},
	{name: "value sets", parse: "value_set<bit<8>>(4) set; state next { transition select (hdr.h.a) { set: in_set; default: accept; } } state in_set { meta.m = 1; transition accept; }",
		body: "apply { hdr.h.b = meta.m; }", packets: []string{"01 00 0000 00000000 > 01 00 0000 00000000"}},
	{name: "conditions in states", parse: "state next { if (hdr.h.a == 1) { meta.m = 5; } else { meta.m = 6; } bit<8> x = hdr.h.a == 2 ? 8w7 : 8; meta.n = (bit<16>) x; transition accept; }",
		body: "apply { hdr.h.b = meta.m; hdr.h.c = meta.n; }", packets: []string{"01 00 0000 00000000 > 01 05 0008 00000000", "02 00 0000 00000000 > 02 06 0007 00000000"}},
	{name: "unions in parsers", parse: "state next { transition select (hdr.h.a) { 1: x; 2: y; default: accept; } } state x { p.extract(hdr.u.x); transition accept; } state y { p.extract(hdr.u.y); transition accept; }",
		body:    "apply { if (hdr.u.x.isValid()) { hdr.h.b = 1; } if (hdr.u.y.isValid()) { hdr.h.b = (bit<8>) hdr.u.y.n; } }",
		packets: []string{"01 00 0000 00000000 55 > 01 01 0000 00000000 55", "02 00 0000 00000000 94 1234 > 02 09 0000 00000000 94 1234"}},
}

var tables = []construct{
	{name: "exact, lpm, ternary, range, optional", body: `action set(bit<8> x) { hdr.h.b = x; }
    table t {
        key = { hdr.h.a : exact; hdr.h.c : lpm; }
        actions = { set; NoAction; }
        const entries = { (1, 0x1200 &&& 0xff00) : set(1); (1, 0x1230 &&& 0xfff0) : set(2); (1, _) : set(3); (2, 0x0000) : set(4); }
    }
    table u {
        key = { hdr.h.a : ternary; hdr.h.b : range; hdr.h.d : optional; }
        actions = { set; NoAction; }
        const entries = { (0x80 &&& 0x80, 0 .. 9, _) : set(0x10); (0x80 &&& 0x80, _, 7) : set(0x11); (_, 3 .. 4, _) : set(0x12); }
    }
    apply { if (!t.apply().hit) { u.apply(); } }`,
		packets: []string{"01 00 12ff 00000000 > 01 01 12ff 00000000", "01 00 123f 00000000 > 01 02 123f 00000000", "01 00 ffff 00000000 > 01 03 ffff 00000000",
			"02 00 0000 00000000 > 02 04 0000 00000000", "81 09 0000 00000000 > 81 10 0000 00000000", "81 0a 0000 00000007 > 81 11 0000 00000007",
			"03 04 0000 00000000 > 03 12 0000 00000000", "03 05 0000 00000000 > 03 05 0000 00000000"}},
	{name: "the first of const entries wins", body: "action set(bit<8> x) { hdr.h.b = x; } table t { key = { hdr.h.a : ternary; } actions = { set; } const entries = { 1 &&& 1 : set(1); 3 : set(2); } default_action = set(9); } apply { t.apply(); }",
		packets: []string{"03 00 0000 00000000 > 03 01 0000 00000000", "02 00 0000 00000000 > 02 09 0000 00000000"}},
	{name: "priorities of entries", body: "action set(bit<8> x) { hdr.h.b = x; } table t { key = { hdr.h.a : ternary; } actions = { set; } entries = { priority = 10: 1 &&& 1 : set(1); priority = 20: 3 : set(2); } default_action = set(9); } apply { t.apply(); }",
		packets: []string{"03 00 0000 00000000 > 03 02 0000 00000000", "01 00 0000 00000000 > 01 01 0000 00000000"}},
	{name: "the smallest priority wins", body: "action set(bit<8> x) { hdr.h.b = x; } table t { key = { hdr.h.a : ternary; } actions = { set; } largest_priority_wins = false; entries = { priority = 10: 1 &&& 1 : set(1); priority = 20: 3 : set(2); } default_action = set(9); } apply { t.apply(); }",
		packets: []string{"03 00 0000 00000000 > 03 01 0000 00000000"}},
	{name: "hit and miss", body: "table t { key = { hdr.h.a : exact; } actions = { NoAction; } const entries = { 1 : NoAction(); } } table u { key = { hdr.h.a : exact; } actions = { NoAction; } const entries = { 1 : NoAction(); } } apply { if (t.apply().hit) { hdr.h.b = 1; } else { hdr.h.b = 2; } bool m = u.apply().miss; if (m) { hdr.h.c = 1; } }",
		packets: []string{"01 00 0000 00000000 > 01 01 0000 00000000", "02 00 0000 00000000 > 02 02 0001 00000000"}},
	{name: "switch on action_run", body: "action a() { } action b() { } action c() { } table t { key = { hdr.h.a : exact; } actions = { a; b; c; } const entries = { 1 : a(); 2 : b(); } default_action = c(); } apply { switch (t.apply().action_run) { a: b: { hdr.h.b = 1; } default: { hdr.h.b = 2; } } hdr.h.c = 1; }",
		packets: []string{"01 00 0000 00000000 > 01 01 0001 00000000", "02 00 0000 00000000 > 02 01 0001 00000000", "03 00 0000 00000000 > 03 02 0001 00000000"}},
	{name: "bound arguments of actions", body: "action add(inout bit<8> x, bit<8> by) { x = x + by; } table t { key = { hdr.h.a : exact; } actions = { add(hdr.h.b); } const entries = { 1 : add(hdr.h.b, 5); } default_action = add(hdr.h.b, 1); } apply { t.apply(); }",
		packets: []string{"01 01 0000 00000000 > 01 06 0000 00000000", "02 01 0000 00000000 > 02 02 0000 00000000"}},
	{name: "keys that are computed", body: "action set(bit<8> x) { hdr.h.b = x; } table t { key = { hdr.h.a + 1 : exact @name(\"next\"); hdr.h.c[15:8] : exact @name(\"high\"); hdr.h.isValid() : exact; } actions = { set; NoAction; } const entries = { (3, 0x12, true) : set(1); } } apply { t.apply(); }",
		packets: []string{"02 00 1234 00000000 > 02 01 1234 00000000", "03 00 1234 00000000 > 03 00 1234 00000000"}},
	{name: "entries of the control plane", body: "action set(bit<8> x) { hdr.h.b = x; } table t { key = { hdr.h.a : exact; hdr.h.c : ternary; } actions = { set; NoAction; } } apply { t.apply(); }",
		packets: []string{"add ingress.t 10 hdr.h.a:1 hdr.h.c:0x12** ingress.set(x:7)", "setdefault ingress.t ingress.set(x:9)", "01 00 1234 00000000 > 01 07 1234 00000000", "02 00 1234 00000000 > 02 09 1234 00000000"}},
	{name: "a table without keys", body: "action set(bit<8> x) { hdr.h.b = x; } table t { actions = { set; } const default_action = set(3); } apply { t.apply(); }",
		packets: []string{"01 00 0000 00000000 > 01 03 0000 00000000"}},
	{name: "a table applied in two branches", body: "action set(bit<8> x) { hdr.h.b = x; } table t { key = { hdr.h.c : exact; } actions = { set; NoAction; } const entries = { 1 : set(7); } } apply { if (hdr.h.a == 1) { hdr.h.c = 1; t.apply(); } else { hdr.h.c = 2; t.apply(); } }",
		packets: []string{"01 00 0000 00000000 > 01 07 0001 00000000", "02 00 0000 00000000 > 02 00 0002 00000000"}},
	{name: "serializable enums and new types as keys", top: "enum bit<8> e { x = 1, y = 2 } type bit<8> n_t;", body: "action set(e v) { hdr.h.b = v; } table t { key = { (e) hdr.h.a : exact @name(\"e\"); (n_t) hdr.h.b : exact @name(\"n\"); } actions = { set; NoAction; } const entries = { (e.y, (n_t) 3) : set(e.x); } } apply { t.apply(); }",
		packets: []string{"02 03 0000 00000000 > 02 01 0000 00000000"}},
}

var externs = []construct{
	{name: "registers", body: "register<bit<32>>(4) r; apply { bit<32> v; r.read(v, (bit<32>) hdr.h.a); v = v + hdr.h.d; r.write((bit<32>) hdr.h.a, v); hdr.h.d = v; }",
		packets: []string{"01 00 0000 00000005 > 01 00 0000 00000005", "01 00 0000 00000007 > 01 00 0000 0000000c", "02 00 0000 00000001 > 02 00 0000 00000001"}},
	{name: "registers of signed numbers", body: "register<int<8>>(2) r; apply { int<8> v; r.read(v, 0); v = v - 1; r.write(0, v); hdr.h.a = (bit<8>) v; }",
		packets: []string{"00 00 0000 00000000 > ff 00 0000 00000000", "00 00 0000 00000000 > fe 00 0000 00000000"}},
	{name: "counters", body: "counter(4, CounterType.packets_and_bytes) c; direct_counter(CounterType.packets) d; action a() { d.count(); } table t { key = { hdr.h.a : exact; } actions = { a; NoAction; } counters = d; } apply { c.count((bit<32>) hdr.h.a); t.apply(); }",
		packets: []string{"01 00 0000 00000000 > 01 00 0000 00000000", "check_counter ingress.c(1) packets == 1"}},
	{name: "meters", body: "meter(4, MeterType.packets) m; apply { bit<8> color; m.execute_meter(0, color); hdr.h.a = color; }",
		packets: []string{"05 00 0000 00000000 > 00 00 0000 00000000"}},
	{name: "hashes", body: "apply { hash(hdr.h.d, HashAlgorithm.crc32, 32w0, { hdr.h.a, hdr.h.b }, 64w0x100000000); hash(hdr.h.c, HashAlgorithm.xor16, 16w0, { hdr.h.a, hdr.h.b, 16w0x0101 }, 32w0x10000); }",
		packets: []string{"31 32 0000 00000000 > 31 32 3033 4f5344cd"}},
	{name: "random in a range", body: "apply { bit<8> r; random(r, 3, 5); if (r >= 3 && r <= 5) { hdr.h.a = 1; } }", packets: []string{"00 00 0000 00000000 > 01 00 0000 00000000"}},
	{name: "drop", body: "apply { if (hdr.h.a == 1) { mark_to_drop(std); } }", packets: []string{"01 00 0000 00000000 > drop", "02 00 0000 00000000 > 02 00 0000 00000000"}},
	{name: "truncate", body: "apply { truncate(4); }", packets: []string{"01 02 0304 00000000 > 01 02 0304"}},
	{name: "resubmit", body: "apply { if (std.instance_type == 0) { meta.kept = 7; hdr.h.a = 9; resubmit_preserving_field_list(1); } else { hdr.h.d = meta.kept; } }",
		packets: []string{"01 00 0000 00000000 > 01 00 0000 00000007"}},
	{name: "packet length and port", body: "apply { hdr.h.a = (bit<8>) std.packet_length; hdr.h.b = (bit<8>) std.ingress_port; }", packets: []string{"01 00 0000 00000000 aabb > 0a 01 0000 00000000 aabb"}},
	{name: "extern functions at the top", top: "void drop_it(inout standard_metadata_t s) { mark_to_drop(s); }", body: "apply { if (hdr.h.a == 1) { drop_it(std); } }",
		packets: []string{"01 00 0000 00000000 > drop", "02 00 0000 00000000 > 02 00 0000 00000000"}},
}
