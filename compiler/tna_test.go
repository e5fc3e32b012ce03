// SPDX-License-Identifier: Apache-2.0

package compiler_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// The generated programs for Tofino compile for softswitch with our
// declarations of the architecture, without a warning, and stay within the
// limits of the chip. Two compilations give the same output.
func TestProgramsForTofinoCompile(t *testing.T) {
	files, err := filepath.Glob("../p4src/tna/*.p4")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d programs: %v", len(files), err)
	}
	for i, f := range files {
		if testing.Short() && i%4 != 0 {
			continue
		}
		r, list := compiler.Compile(compiler.Options{File: f})
		if len(list) > 0 || r.Program == nil {
			t.Errorf("%s:\n%v", f, list)
			continue
		}
		again, _ := compiler.Compile(compiler.Options{File: f})
		if !bytes.Equal(bmv2json.Encode(r.Program), bmv2json.Encode(again.Program)) || !proto.Equal(r.P4Info, again.P4Info) {
			t.Errorf("%s: two compilations differ", f)
		}
		if r.Program.Architecture != bmv2json.TNA || len(r.Program.Parsers) != 2 || len(r.Program.Deparsers) != 2 {
			t.Errorf("%s: architecture %q with %d parsers and %d deparsers", f, r.Program.Architecture, len(r.Program.Parsers), len(r.Program.Deparsers))
		}
	}
}

const tnaProgram = `#include <core.p4>
#include <tna.p4>
header h_t { bit<32> a; bit<32> b; bit<32> c; bit<64> w; bit<24> n24; bit<8> k; bit<16> s; }
struct headers_t { h_t h; }
struct metadata_t { bit<32> x; bit<32> y; bit<1> z; }
struct pair_t { bit<32> lo; bit<32> hi; }
struct three_t { bit<32> a; bit<32> b; bit<32> c; }
struct flags_t { bit<1> a; bit<1> b; }
struct mixed_t { bit<16> a; bit<32> b; }
parser IngressParser(packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.h);
        meta.x = 0;
        meta.y = 0;
        meta.z = 0;
        transition accept;
    }
}
parser EgressParser(packet_in pkt, out headers_t hdr, out metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md) {
    state start { pkt.extract(eg_intr_md); meta.x = 0; meta.y = 0; meta.z = 0; transition accept; }
}
control Ingress(inout headers_t hdr, inout metadata_t meta,
                in ingress_intrinsic_metadata_t i, in ingress_intrinsic_metadata_from_parser_t p,
                inout ingress_intrinsic_metadata_for_deparser_t d, inout ingress_intrinsic_metadata_for_tm_t tm) {
%s
}
control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t meta) { apply { pkt.emit(hdr); } }
control Egress(inout headers_t hdr, inout metadata_t meta,
               in egress_intrinsic_metadata_t i, in egress_intrinsic_metadata_from_parser_t p,
               inout egress_intrinsic_metadata_for_deparser_t d, inout egress_intrinsic_metadata_for_output_port_t o) { apply { } }
control EgressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t meta) { apply { pkt.emit(hdr); } }
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
`

const tnaRegister = `    Register<bit<32>, bit<8>>(256, 0) r;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) add = { void apply(inout bit<32> v, out bit<32> rv) { v = v + meta.x; rv = v; } };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) get = { void apply(inout bit<32> v, out bit<32> rv) { rv = v; } };
`

// tnaAction declares a RegisterAction of r.
func tnaAction(name, body string) string {
	return "    RegisterAction<bit<32>, bit<8>, bit<32>>(r) " + name + " = { void apply(inout bit<32> v, out bit<32> rv) { rv = 0; " + body + " } };\n"
}

// tnaOdd is an action of numbers of a type, u, v and r.
func tnaOdd(kind, body string) string {
	bits := strings.Trim(kind, "bint<>")
	return fmt.Sprintf("    %[1]s u; %[1]s v; %[1]s r;\n    action a() { %[2]s }\n    apply { u = (%[1]s) hdr.h.w[%[3]s - 1:0]; v = (%[1]s) hdr.h.w[%[3]s + 7:8]; r = u; a(); hdr.h.w[%[3]s - 1:0] = (bit<%[3]s>) r; }", kind, body, bits)
}

// A wait that the traffic manager measured wraps after 262 µs.
func TestTofinoShortTimesAreReported(t *testing.T) {
	egress := func(annotation, action string) string {
		return strings.Replace(fmt.Sprintf(tnaProgram, "    apply { }"), "inout egress_intrinsic_metadata_for_output_port_t o) { apply { } }",
			"inout egress_intrinsic_metadata_for_output_port_t o) {\n    "+annotation+"action wait() { "+action+" }\n    apply { wait(); }\n}", 1)
	}
	for text, want := range map[string]int{
		egress("", "meta.x = (bit<32>) i.deq_timedelta;"):                      1,
		egress("", "meta.x = (bit<32>) (i.deq_timedelta + i.enq_tstamp);"):     2,
		egress("@noWarn(\"tna-age\") ", "meta.x = (bit<32>) i.deq_timedelta;"): 0,
		egress("", "meta.x = p.global_tstamp[31:0] - hdr.h.a;"):                0,
	} {
		n := 0
		_, list := compiler.CheckTNA(compiler.Options{File: "t.p4", Source: []byte(text)})
		for _, d := range list {
			if d.Code == "tna-age" && strings.Contains(d.Msg, "18 bits") {
				n++
			}
		}
		if n != want {
			t.Errorf("%d warnings, want %d:\n%s", n, want, text)
		}
	}
}

// Each construct beyond the limits of a Tofino is reported at its position.
// Similar constructs within them are accepted.
func TestTofinoLimits(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       string // code, and what follows
		at         string // text of the line that is to blame
	}{
		{"one access on each branch", tnaRegister + "    apply { if (meta.x == 0) { meta.y = add.execute(1); } else { meta.y = get.execute(2); } }", "", ""},
		{"two accesses in a row", tnaRegister + "    apply { meta.y = add.execute(1);\n meta.x = get.execute(2); }",
			"tna-access: register r is accessed twice on one path through the program, first in line 30", " meta.x = get.execute(2); }"},
		{"a second access after a branch", tnaRegister + "    apply { if (meta.x == 0) { meta.y = add.execute(1); }\n meta.x = get.execute(2); }", "tna-access", " meta.x = get.execute(2); }"},
		{"two actions of one table", tnaRegister + "    action a() { meta.y = add.execute(1); }\n    action b() { meta.y = get.execute(1); }\n    table t { key = { hdr.h.a : exact; } actions = { a; b; } }\n    apply { t.apply(); }", "", ""},
		{"an action and a table", tnaRegister + "    action a() { meta.y = add.execute(1); }\n    table t { key = { hdr.h.a : exact; } actions = { a; } }\n    apply { t.apply();\n meta.x = get.execute(2); }", "tna-access", " meta.x = get.execute(2); }"},
		{"four RegisterActions", tnaRegister + tnaAction("c", "") + tnaAction("e", "") + "    apply { }", "", ""},
		{"five RegisterActions", tnaRegister + tnaAction("c", "") + tnaAction("e", "") + tnaAction("f", "") + "    apply { }", "tna-actions: register r has 5 RegisterActions", strings.TrimRight(tnaAction("f", ""), "\n")},
		{"a constant in a gateway", "    apply { if (meta.x < 0x600000) { meta.y = 1; } }", "", ""},
		{"a power of two in a gateway", "    apply { if (meta.x <= 127 && (int<32>) meta.y < 0) { meta.y = 1; } }", "", ""},
		{"a range of many bits in a gateway", "    apply {\n if (meta.x < 100) { meta.y = 1; } }", "tna-comparison: < needs 30 bits of its operand", " if (meta.x < 100) { meta.y = 1; } }"},
		{"a constant before a variable in a gateway", "    apply {\n if (99 < meta.x) { meta.y = 1; } }", "tna-comparison: < needs 30 bits of its operand", ""},
		{"two variables in a gateway", "    apply {\n if (meta.x < meta.y) { meta.y = 1; } }", "tna-comparison: < compares two variables", " if (meta.x < meta.y) { meta.y = 1; } }"},
		{"two variables that are equal", "    apply { if (meta.x == meta.y) { meta.y = 1; } }", "", ""},
		{"two variables in a RegisterAction", tnaRegister + tnaAction("c", "if (v < meta.x) { rv = 1; }") + "    apply { }", "", ""},
		{"a product", "    action a() { meta.x = meta.x * meta.y; }\n    apply { a(); }", "tna-arithmetic: the chip does not compute *", "    action a() { meta.x = meta.x * meta.y; }"},
		{"a shift by a constant", "    apply { meta.x = meta.y << 3; }", "", ""},
		{"a shift by a variable", "    apply {\n meta.x = meta.y << (bit<8>) meta.x; }", "tna-arithmetic: << by a variable", " meta.x = meta.y << (bit<8>) meta.x; }"},
		{"three comparisons", tnaRegister + tnaAction("c", "if (v < meta.x || v == 1 || v == 9) { rv = 1; }") + "    apply { }", "tna-alu: c compares 3 times", ""},
		{"an assignment that a condition replaces", tnaRegister + tnaAction("c", "v = meta.x; if (meta.y == 0) {\n v = 1; }") + "    apply { }", "tna-alu: c assigns to v a second time", " v = 1; } } };"},
		{"an output that a condition replaces", tnaRegister + tnaAction("c", "rv = 0; if (v == 0) { rv = 1; }") + "    apply { }", "", ""},
		{"three operands", tnaRegister + tnaAction("c", "if (v < meta.x) { v = meta.y; } else { v = hdr.h.a; }") + "    apply { }", "tna-alu: with c, the RegisterActions of r use 3 fields", ""},
		{"three operands of two", tnaRegister + tnaAction("c", "v = meta.y; rv = hdr.h.a;") + "    apply { }", "tna-alu: with c, the RegisterActions of r use 3 fields", ""},
		{"the larger of two", tnaRegister + tnaAction("c", "v = max(v, meta.y);") + "    apply { }", "", ""},
		{"a loop in a RegisterAction", tnaRegister + tnaAction("c", "\n for (bit<8> n in 0 .. 3) { v = v + 1; }") + "    apply { }", "tna-alu: c has a loop", " for (bit<8> n in 0 .. 3) { v = v + 1; } } };"},
		{"a return in a RegisterAction", tnaRegister + tnaAction("c", "if (v == 1) {\n return; } v = 2;") + "    apply { }", "tna-alu: c returns", " return; } v = 2; } };"},
		{"an assignment to elsewhere in a RegisterAction", tnaRegister + tnaAction("c", "\n meta.x = v;") + "    apply { }", "tna-alu: c assigns to meta.x", " meta.x = v; } };"},
		{"a call in a RegisterAction", "    Random<bit<32>>() dice;\n" + tnaRegister + tnaAction("c", "\n v = dice.get();") + "    apply { }", "tna-alu: c calls dice.get", " v = dice.get(); } };"},
		{"parameters in a RegisterAction", "    RegisterParam<bit<32>>(1) s;\n    RegisterParam<bit<32>>(9) q;\n" + tnaRegister + tnaAction("c", "if (v < s.read()) { v = v + q.read(); } rv = this.predicate(v < meta.x);") + "    apply { }", "", ""},
		{"a math unit in a RegisterAction", "    MathUnit<bit<32>>(MathOp_t.SQR, 1) m;\n" + tnaRegister + tnaAction("c", "v = m.execute(meta.x);") + "    apply { }", "", ""},
		{"two math units of one register", "    MathUnit<bit<32>>(MathOp_t.SQR, 1) m;\n    MathUnit<bit<32>>(MathOp_t.SQRT, 1) n;\n" + tnaRegister + tnaAction("c", "v = m.execute(meta.x);") + tnaAction("e", "\n v = n.execute(meta.x);") + "    apply { }",
			"tna-alu: e uses math unit n and register r uses m already", " v = n.execute(meta.x); } };"},
		{"a register in the RegisterAction of another", "    Register<bit<32>, bit<8>>(256) q;\n" + tnaRegister + tnaAction("c", "\n v = q.read(1);") + "    apply { }", "tna-alu: c calls q.read, and a stateful ALU has no second register", " v = q.read(1); } };"},
		{"two accesses to the cell of an entry", "    DirectRegister<bit<32>>() q;\n    DirectRegisterAction<bit<32>, bit<32>>(q) act = { void apply(inout bit<32> v, out bit<32> rv) { rv = v; v = 1; } };\n" +
			"    action a() { meta.x = act.execute();\n meta.y = act.execute(); }\n    table t { key = { hdr.h.a : exact; } actions = { a; } registers = q; }\n    apply { t.apply(); }", "tna-access: register q is accessed twice", " meta.y = act.execute(); }"},
		{"three comparisons with the cell of an entry", "    DirectRegister<bit<32>>() q;\n    DirectRegisterAction<bit<32>, bit<32>>(q) act = { void apply(inout bit<32> v, out bit<32> rv) { rv = 0; if (v < 1 || v == 2 || v == 3) { rv = v; } } };\n" +
			"    action a() { meta.x = act.execute(); }\n    table t { key = { hdr.h.a : exact; } actions = { a; } registers = q; }\n    apply { t.apply(); }", "tna-alu: act compares 3 times", ""},
		{"two indices of one table", tnaRegister + "    action a() { meta.y = add.execute(hdr.h.a[7:0]); }\n    action b() { meta.y = get.execute(hdr.h.b[7:0]); }\n    table t { key = { hdr.h.a : exact; } actions = { a; b; } }\n    apply { t.apply(); }",
			"tna-access: register r is accessed at hdr.h.b[7:0] here and at hdr.h.a[7:0] in another action of table t", "    action b() { meta.y = get.execute(hdr.h.b[7:0]); }"},
		{"a sign of an age", tnaRegister + tnaAction("c", "\n if ((int<32>) (v - meta.x) <= 0) { rv = 1; }") + "    apply { }", "tna-age: v counts as later than now for half", " if ((int<32>) (v - meta.x) <= 0) { rv = 1; } } };"},
		{"a sign of an age of a signed cell", "    Register<int<32>, bit<8>>(256, 0) q;\n    RegisterAction<int<32>, bit<8>, bit<32>>(q) c = { void apply(inout int<32> v, out bit<32> rv) { rv = 0;\n if ((int<32>) meta.x - v > 1000) { rv = 1; } } };\n    apply { }",
			"tna-age: v counts as later than now for half", " if ((int<32>) meta.x - v > 1000) { rv = 1; } } };"},
		{"a cell and a time", tnaRegister + tnaAction("c", "\n if (v < meta.x) { rv = 1; }") + "    apply { meta.x = p.global_tstamp[31:0] + 7; }", "tna-age: v is compared with a time itself", " if (v < meta.x) { rv = 1; } } };"},
		{"a cell and what is a time at first", tnaRegister + tnaAction("c", "if (v < meta.x) { rv = 1; }") + "    apply { meta.x = p.global_tstamp[31:0]; meta.x = meta.y; }", "", ""},
		{"an age between two signs", tnaRegister + tnaAction("c", "if ((int<32>) (v - meta.x) <= 0 || (int<32>) (v - meta.y) > 0) { rv = 1; }") + "    apply { }", "", ""},
		{"an age above a constant", tnaRegister + tnaAction("c", "if ((int<32>) (meta.x - v) > 1000 || (int<32>) (meta.x - v) < 0) { rv = 1; }") + "    apply { }", "", ""},
		{"an unsigned age", tnaRegister + tnaAction("c", "\n if (meta.x - v > 1000) { rv = 1; }") + "    apply { }", "tna-age: the stateful ALU extends meta.x - v to 34 bits", " if (meta.x - v > 1000) { rv = 1; } } };"},
		{"an age for which a warning is off", tnaRegister + "    @noWarn(\"tna-age\")\n" + tnaAction("c", "if (meta.x - v > 1000) { rv = 1; }") + "    apply { }", "", ""},
		{"a sign, and a difference to a constant", tnaRegister + tnaAction("c", "if ((int<32>) v < 0 || v - 5 > 1000) { rv = 1; }") + "    apply { }", "", ""},
		{"a pair", "    Register<pair_t, bit<8>>(256) q;\n    apply { }", "", ""},
		{"three numbers", "    Register<three_t, bit<8>>(256) q;\n    apply { }", "tna-cell: a cell of register q has 3 fields", "    Register<three_t, bit<8>>(256) q;"},
		{"48 bits", "    Register<bit<48>, bit<8>>(256) q;\n    apply { }", "tna-cell: register q has numbers of 48 bits", "    Register<bit<48>, bit<8>>(256) q;"},
		{"9 bits", "    Register<bit<9>, bit<8>>(256) q;\n    apply { }", "tna-cell: register q has numbers of 9 bits, a stateful ALU supports 1, 8, 16 and 32: use bit<16>", ""},
		{"a flag", "    Register<bit<1>, bit<8>>(256) q;\n    apply { }", "", ""},
		{"a pair of flags", "    Register<flags_t, bit<8>>(256) q;\n    apply { }", "tna-cell: register q has numbers of 1 bits, a stateful ALU supports 8, 16 and 32: use bit<8>", ""},
		{"a pair of two types", "    Register<mixed_t, bit<8>>(256) q;\n    apply { }", "tna-cell: a cell of register q has fields of bit<16> and bit<32>", ""},
		{"a product that is assigned", "    action a() { meta.x *= meta.y; }\n    apply { a(); }", "tna-arithmetic: the chip does not compute *", "    action a() { meta.x *= meta.y; }"},
		{"a saturating difference of 9 bits", tnaOdd("bit<9>", "r = u |-| v;"), "", ""},
		{"a saturating difference from a constant", tnaOdd("bit<20>", "r = 20w5 |-| v;"), "", ""},
		{"a saturating sum of 16 bits", tnaOdd("bit<16>", "r = u |+| v;"), "", ""},
		{"a saturating sum of 9 bits", tnaOdd("bit<9>", "r = u |+| v;"), "tna-arithmetic: |+| of 9 bits: the chip saturates at the largest number of a container of 8, 16 or 32 bits: add bit<16>, and take the min with 511", ""},
		{"a saturating sum that is assigned", tnaOdd("bit<20>", "r |+|= 5;"), "tna-arithmetic: |+| of 20 bits: the chip saturates at the largest number of a container of 8, 16 or 32 bits: add bit<32>, and take the min with 1048575", ""},
		{"a signed saturating difference of 16 bits", tnaOdd("int<16>", "r = u |-| v;"), "", ""},
		{"a signed saturating difference of 9 bits", tnaOdd("int<9>", "r = u |-| v;"), "tna-arithmetic: |-| of int<9>: the sign is the highest bit of a container", ""},
		{"a signed saturating sum of 9 bits", tnaOdd("int<9>", "r = u |+| v;"), "tna-arithmetic: |+| of int<9>", ""},
		{"a saturating difference of 48 bits", tnaOdd("bit<48>", "r = u |-| v;"), "tna-arithmetic: |-| of 48 bits: the chip saturates at most 32 bits", ""},
		{"the smaller of 9 bits", tnaOdd("bit<9>", "r = min(u, v);"), "", ""},
		{"the smaller of 9 signed bits", tnaOdd("int<9>", "r = min(u, v);"), "tna-arithmetic: min of int<9>", ""},
		{"the larger of 48 bits", tnaOdd("bit<48>", "r = max(u, 48w7);"), "tna-arithmetic: max of 48 bits: the chip compares at most 32 bits, and p4c computes each part apart", ""},
		{"a saturating difference in a header field of 24 bits", "    bit<24> u; bit<24> v;\n    apply { u = hdr.h.a[23:0]; v = hdr.h.b[23:0];\n hdr.h.n24 = u |-| v; }", "tna-arithmetic: |-| with hdr.h.n24, a header field of 24 bits", " hdr.h.n24 = u |-| v; }"},
		{"a saturating difference of a header field of 24 bits", "    bit<24> u; bit<24> v;\n    apply { v = hdr.h.b[23:0];\n u = hdr.h.n24 |-| v; hdr.h.a[23:0] = u; }", "tna-arithmetic: |-| with hdr.h.n24, a header field of 24 bits", ""},
		{"a saturating difference that a header field of 24 bits is assigned", "    apply {\n hdr.h.n24 |-|= 24w1; }", "tna-arithmetic: |-| with hdr.h.n24, a header field of 24 bits", ""},
		{"the smaller of header fields of 24 bits", "    bit<24> u;\n    apply { u = min(hdr.h.n24, 24w9); hdr.h.a[23:0] = u; }", "", ""},
		{"the smaller, in a header field of 24 bits", "    apply {\n hdr.h.n24 = min(hdr.h.n24, 24w9); }", "tna-arithmetic: min with hdr.h.n24", ""},
		{"a saturating difference in a header field of 16 bits", "    apply { hdr.h.s = hdr.h.s |-| 16w1; }", "", ""},
		{"the sign of 20 bits in a gateway", "    apply { if ((int<20>) meta.x[19:0] < 0 || (int<16>) meta.x[15:0] <= -1 || (int<16>) meta.x[15:0] <= 32767) { meta.y = 1; } }", "", ""},
		{"12 signed bits in a gateway", "    apply { if ((int<12>) meta.x[11:0] > -3) { meta.y = 1; } }", "", ""},
		{"a signed power of two in a gateway", "    apply { if ((int<16>) meta.x[15:0] < 256) { meta.y = 1; } }", "tna-comparison: < needs 16 bits of its operand", ""},
		{"a saturating difference that a RegisterAction assigns", tnaRegister + tnaAction("c", "v = v |-| meta.x;") + "    apply { }", "", ""},
		{"a saturating difference that a RegisterAction compares", tnaRegister + tnaAction("c", "if (v |-| meta.x == 0) { rv = 1; }") + "    apply { }", "tna-alu: c compares the result of |-|", ""},
	} {
		source := fmt.Sprintf(tnaProgram, c.text)
		_, list := compiler.CheckTNA(compiler.Options{File: "t.p4", Source: []byte(source)})
		var errors []string
		for _, d := range list {
			if strings.HasPrefix(string(d.Code), "unused") {
				continue
			}
			errors = append(errors, fmt.Sprintf("%s: %s", d.Code, d.Msg))
			if line := strings.Split(source, "\n")[d.Pos.Line-1]; c.at != "" && line != c.at {
				t.Errorf("%s: reported at\n%s, want\n%s", c.name, line, c.at)
			}
		}
		got := strings.Join(errors, "\n")
		if c.want == "" && got != "" || c.want != "" && (!strings.HasPrefix(got, c.want) || len(errors) != 1) {
			t.Errorf("%s: got\n%s, want %s", c.name, got, c.want)
		}
	}
}
