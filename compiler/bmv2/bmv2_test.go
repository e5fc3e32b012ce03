// SPDX-License-Identifier: Apache-2.0

package bmv2_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// before precedes each control ingress.
const before = `#include "skeleton.p4inc"
struct report_t { bit<8> a; bit<16> c; }
INGRESS {
`

// compile compiles the body of a control ingress.
func compile(t *testing.T, body string) *bmv2json.Program {
	t.Helper()
	r, list := compiler.Compile(compiler.Options{File: "t.p4", Source: []byte(before + body + "\n}\nSWITCH\n"), NoSourceInfo: true,
		Open: func(name string) (string, error) {
			b, err := os.ReadFile(filepath.Join("..", "testdata", filepath.Base(name)))
			return string(b), err
		}})
	if r.Program == nil {
		t.Fatalf("%s: %v", body, list)
	}
	return r.Program
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// operand returns a value as it appears in an expression.
func operand(v *bmv2json.Value) string {
	switch {
	case v == nil:
		return ""
	case v.Op != nil && v.Op.Cond != nil:
		return fmt.Sprintf("(%s ? %s : %s)", operand(v.Op.Cond), operand(v.Op.Left), operand(v.Op.Right))
	case v.Op != nil:
		return "(" + strings.TrimSpace(operand(v.Op.Left)+" "+v.Op.Op+" "+operand(v.Op.Right)) + ")"
	case v.Inner != nil:
		return operand(v.Inner)
	case v.List != nil:
		parts := make([]string, len(v.List))
		for i, e := range v.List {
			parts[i] = operand(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case v.Field != "":
		return v.Name + "." + v.Field
	case v.Type == bmv2json.TypeBool:
		return fmt.Sprint(v.Bool)
	}
	return v.Name
}

// Statements become primitives.
func TestPrimitives(t *testing.T) {
	for _, c := range []struct{ stmt, want string }{
		{"hdr.h.a = 1;", "assign h.a, 0x01"},
		{"hdr.h.a = hdr.h.b;", "assign h.a, h.b"},
		{"hdr.h.a = hdr.h.b + 1;", "assign h.a, ((h.b + 0x01) & 0xff)"},
		{"hdr.h.c = (bit<16>) hdr.h.a;", "assign h.c, h.a"},
		{"hdr.h.a = hdr.h.a |+| 3;", "assign h.a, ((h.a + 0x03) usat_cast 0x8)"},
		{"hdr.h.d = (bit<32>) (int<32>) (int<8>) hdr.h.a;", "assign h.d, ((h.a two_comp_mod 0x8) & 0xffffffff)"},
		{"meta.f = hdr.h.a < 3 && !meta.f;", "assign scalars.userMetadata.f, (b2d ((h.a < 0x03) and (not (d2b scalars.userMetadata.f))))"},
		{"hdr.h.setInvalid();", "remove_header h"},
		{"hdr.s[1] = hdr.h;", "assign_header s[1], h"},
		{"hdr.s.push_front(1);", "push s, 0x1"},
		{"mark_to_drop(std);", "mark_to_drop standard_metadata"},
		{"hash(hdr.h.d, HashAlgorithm.crc32, 32w0, { hdr.h.a, hdr.h.b }, 32w64);", "modify_field_with_hash_based_offset h.d, 0x00000000, calc_0, 0x00000040"},
		{"random(hdr.h.a, 1, 6);", "modify_field_rng_uniform h.a, 0x01, 0x06"},
		{"truncate(64);", "truncate 0x00000040"},
		{"log_msg(\"a is {}\", { hdr.h.a });", "log_msg a is {}, [h.a]"},
		{"clone(CloneType.I2E, 5);", "clone_ingress_pkt_to_egress 0x00000005, 0x00000001"},
		{"digest<report_t>(1, { hdr.h.a, hdr.h.c });", "assign scalars.tmp, h.a\nassign scalars.tmp_1, h.c\ngenerate_digest 0x00000001, 0x00000001"},
		{"assert(hdr.h.a == 1);", "assert (b2d (h.a == 0x01))"},
		{"exit;", ``},
	} {
		p := compile(t, "apply { "+c.stmt+" }")
		var got []string
		for _, a := range p.Actions {
			for _, prim := range a.Primitives {
				params := make([]string, len(prim.Parameters))
				for i, v := range prim.Parameters {
					params[i] = operand(v)
				}
				got = append(got, prim.Op+" "+strings.Join(params, ", "))
			}
		}
		if got := strings.Join(got, "\n"); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s\n%q", c.stmt, got, c.want, got)
		}
	}
}

// graph returns the nodes of the ingress pipeline and their successors.
func graph(t *testing.T, p *bmv2json.Program) string {
	var b strings.Builder
	for _, l := range p.Pipelines {
		if l.Name != "ingress" {
			continue
		}
		b.WriteString("start " + text(t, l.InitTable))
		for _, n := range l.Tables {
			b.WriteString("; " + n.Name + " " + text(t, n.NextTables))
		}
		for _, n := range l.Conditionals {
			b.WriteString("; " + n.Name + " " + text(t, n.TrueNext) + " " + text(t, n.FalseNext))
		}
	}
	return b.String()
}

// The statements of apply become a graph of tables and conditionals.
func TestGraph(t *testing.T) {
	const tables = "action a() { } action b() { } table t { key = { hdr.h.a : exact; } actions = { a; b; } default_action = a(); } table u { actions = { a; b; } default_action = b(); } "
	for _, c := range []struct{ name, body, want string }{
		{"nothing", "apply { }", `start ""`},
		{"in a row", tables + "apply { t.apply(); u.apply(); }", `start "ingress.t"; ingress.t [{"Action":"ingress.a","Node":"ingress.u"},{"Action":"ingress.b","Node":"ingress.u"}]; ingress.u [{"Action":"ingress.a","Node":""},{"Action":"ingress.b","Node":""}]`},
		{"choice", tables + "apply { if (hdr.h.b == 1) { t.apply(); } else { u.apply(); } }", `start "ingress.if_4"; ingress.t [{"Action":"ingress.a","Node":""},{"Action":"ingress.b","Node":""}]; ingress.u [{"Action":"ingress.a","Node":""},{"Action":"ingress.b","Node":""}]; ingress.if_4 "ingress.t" "ingress.u"`},
		{"hit and miss", tables + "apply { if (t.apply().hit) { u.apply(); } }", `start "ingress.t"; ingress.t [{"Action":"__HIT__","Node":"ingress.u"},{"Action":"__MISS__","Node":""}]; ingress.u [{"Action":"ingress.a","Node":""},{"Action":"ingress.b","Node":""}]`},
		{"by action", tables + "apply { switch (t.apply().action_run) { a: { u.apply(); } } }", `start "ingress.t"; ingress.t [{"Action":"ingress.a","Node":"ingress.u"},{"Action":"ingress.b","Node":""}]; ingress.u [{"Action":"ingress.a","Node":""},{"Action":"ingress.b","Node":""}]`},
		{"exit", tables + "apply { if (hdr.h.b == 1) { exit; } t.apply(); }", `start "ingress.if_4"; ingress.t [{"Action":"ingress.a","Node":""},{"Action":"ingress.b","Node":""}]; ingress.if_4 "" "ingress.t"`},
	} {
		if got := graph(t, compile(t, c.body)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s\n%q", c.name, got, c.want, got)
		}
	}
}

// Keys of entries have BMv2's form for each match kind.
func TestEntries(t *testing.T) {
	p := compile(t, `action a(bit<8> x, bool y) { hdr.h.a = x; meta.f = y; }
    table t {
        key = { hdr.h.a : exact; hdr.h.c : lpm; hdr.h.b : ternary; hdr.h.d : range; meta.f : optional; }
        actions = { a; NoAction; }
        const entries = {
            (1, 0x1200 &&& 0xff00, 2 &&& 3, 4 .. 5, true) : a(1, true);
            (2, _, _, _, _) : NoAction();
            (3, 7, 8, 9, false) : a(2, false);
            (4, 7, 8, 9 .. 8, false) : NoAction(); // matches nothing
        }
        const default_action = NoAction();
    }
    apply { t.apply(); }`)
	var got []string
	for _, tb := range p.Pipelines[0].Tables {
		for _, e := range tb.Entries {
			got = append(got, text(t, e))
		}
	}
	const want = `{"match_key":[{"match_type":"exact","key":"0x01"},{"match_type":"lpm","key":"0x1200","prefix_length":8},{"match_type":"ternary","key":"0x02","mask":"0x03"},{"match_type":"range","start":"0x00000004","end":"0x00000005"},{"match_type":"ternary","key":"0x01","mask":"0x01"}],"action_entry":{"action_id":0,"action_data":["0x1","0x1"]},"priority":1}
{"match_key":[{"match_type":"exact","key":"0x02"},{"match_type":"lpm","key":"0x0000","prefix_length":0},{"match_type":"ternary","key":"0x00","mask":"0x00"},{"match_type":"range","start":"0x00000000","end":"0xffffffff"},{"match_type":"ternary","key":"0x00","mask":"0x00"}],"action_entry":{"action_id":1,"action_data":[]},"priority":2}
{"match_key":[{"match_type":"exact","key":"0x03"},{"match_type":"lpm","key":"0x0007","prefix_length":16},{"match_type":"ternary","key":"0x08","mask":"0xff"},{"match_type":"range","start":"0x00000009","end":"0x00000009"},{"match_type":"ternary","key":"0x00","mask":"0x01"}],"action_entry":{"action_id":0,"action_data":["0x2","0x0"]},"priority":3}`
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What a target does not have is refused at its place in the program.
func TestRefusedAtItsPlace(t *testing.T) {
	const program = `#include <core.p4>
#include <v1model.p4>
header a_t { bit<8> t; }
header b_t { bit<16> b; }
header_union u_t { a_t a; b_t b; }
struct headers { a_t h; a_t[2] s; u_t[2] u; }
struct metadata { bit<8> x; }
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        p.extract(hdr.h);
        %s
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action f() { }
    table t {
        key = { (int<8>) hdr.h.t: range @name("k"); }
        actions = { f; }
        const entries = {
            %s: f();
        }
    }
    apply { t.apply(); }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
`
	for _, c := range []struct {
		parse, entry string
		line         int
		message      string
	}{
		{"hdr.s.next.setValid();", "1 .. 2", 11, "the next element of a stack can only be extracted"},
		{"hdr.s.next.t = 1;", "1 .. 2", 11, "the next element of a stack can only be extracted"},
		{"p.extract(hdr.u.next.a); if (hdr.u.last.a.isValid()) { meta.x = 1; }", "1 .. 2", 11, "the last element of a stack of unions can only be read field by field"},
		{"", "-3 .. 2", 22, "begins below 0 and ends above"},
	} {
		r, list := compiler.Compile(compiler.Options{File: "t.p4", Source: fmt.Appendf(nil, program, c.parse, c.entry)})
		if r.Program != nil || len(list) == 0 || int(list[0].Pos.Line) != c.line || !strings.Contains(list[0].Msg, c.message) {
			t.Errorf("%s %s: %v, want %q at line %d", c.parse, c.entry, list, c.message, c.line)
		}
	}
}
