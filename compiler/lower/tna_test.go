// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/compiler/ir"
)

// register precedes the bodies that begin with it.
const register = "Register<bit<32>, bit<8>>(256, 7) r; RegisterAction<bit<32>, bit<8>, bit<32>>(r) act = { void apply(inout bit<32> v"

// tnaTests are bodies of the control Ingress of ../testdata/tna.p4inc with the
// lowered apply block.
var tnaTests = []struct{ name, text, want string }{
	{"a cell is read, changed and written", register + ", out bit<32> rv) { v = v + meta.x; rv = v; } }; apply { meta.y = act.execute(hdr.h.a); }",
		"call Ingress.r.read(v, ingress.h.a)\nv = (v + ingress_metadata.x)\nrv = v\ncall Ingress.r.write(ingress.h.a, v)\ningress_metadata.y = rv"},
	{"an unchanged cell is not written", register + ", out bit<32> rv) { rv = v; } }; apply { meta.y = act.execute(1); }",
		"call Ingress.r.read(v, 8w1)\nrv = v\ningress_metadata.y = rv"},
	{"the result is optional", register + ") { v = 3; } }; apply { act.execute(1); }",
		"call Ingress.r.read(v, 8w1)\nv = 32w3\ncall Ingress.r.write(8w1, v)"},
	{"the result is zero where it is not set", register + ", out bit<32> rv) { if (v == 0) { rv = meta.x; } } }; apply { meta.y = act.execute(1); }",
		"call Ingress.r.read(v, 8w1)\nrv = 32w0\nif (v == 32w0) {\n  rv = ingress_metadata.x\n}\ningress_metadata.y = rv"},
	{"no zero where both branches set it", register + ", out bit<32> rv) { if (v == 0) { rv = 1; } else { rv = 2; } } }; apply { meta.y = act.execute(1); }",
		"call Ingress.r.read(v, 8w1)\nif (v == 32w0) {\n  rv = 32w1\n}\nelse {\n  rv = 32w2\n}\ningress_metadata.y = rv"},
	{"the first field of a pair is in the upper bits", "Register<pair_t, bit<8>>(256) q; RegisterAction<pair_t, bit<8>, bit<1>>(q) act = { void apply(inout pair_t v, out bit<1> rv) { rv = 0; if (v.lo > v.hi) { v.hi = meta.y; rv = 1; } } }; apply { meta.z = act.execute(hdr.h.b); }",
		"call Ingress.q.read(cell, ingress.h.b)\nv.lo = cell[63:32]\nv.hi = cell[31:0]\nrv = 1w0\nif (v.lo > v.hi) {\n  v.hi = ingress_metadata.y\n  rv = 1w1\n}\ncall Ingress.q.write(ingress.h.b, (v.lo ++ v.hi))\ningress_metadata.z = rv"},
	{"an index is computed once", register + ") { v = 3; } }; apply { act.execute(hdr.h.a + 1); }",
		"tmp = (ingress.h.a + 8w1)\ncall Ingress.r.read(v, tmp)\nv = 32w3\ncall Ingress.r.write(tmp, v)"},
	{"signed and saturating", register + ", out bit<32> rv) { if ((int<32>) (v - meta.x) <= 0) { v = v |-| 2; } rv = v; } }; apply { meta.y = act.execute(1); }",
		"call Ingress.r.read(v, 8w1)\nif ((int<32>)(v - ingress_metadata.x) <= 32s0) {\n  v = (v |-| 32w2)\n}\nrv = v\ncall Ingress.r.write(8w1, v)\ningress_metadata.y = rv"},
	{"the result can be part of an expression", register + ", out bit<32> rv) { rv = v; } }; apply { meta.y = meta.x + act.execute(1); }",
		"tmp = ingress_metadata.x\ncall Ingress.r.read(v, 8w1)\nrv = v\ningress_metadata.y = (tmp + rv)"},
	{"a register by itself", "Register<bit<32>, bit<8>>(256) r; apply { if (meta.x == 0) { meta.y = r.read(1); } else { r.write(1, meta.x); } }",
		"if (ingress_metadata.x == 32w0) {\n  call Ingress.r.read(cell, 8w1)\n  ingress_metadata.y = cell\n}\nelse {\n  call Ingress.r.write(8w1, ingress_metadata.x)\n}"},
	{"the identity is the last bits", "Hash<bit<9>>(HashAlgorithm_t.IDENTITY) h; apply { tm.ucast_egress_port = h.get({ hdr.h.a[5:0], hdr.h.b }); }",
		"ingress_intrinsic_metadata_for_tm.ucast_egress_port = (bit<9>)(ingress.h.a[5:0] ++ ingress.h.b)"},
	{"the identity is padded with zeros on the left", "Hash<bit<32>>(HashAlgorithm_t.IDENTITY) h; apply { meta.x = h.get({ hdr.h.a, hdr.h.b }); }",
		"ingress_metadata.x = (bit<32>)(ingress.h.a ++ ingress.h.b)"},
	{"exclusive or", "Hash<bit<8>>(HashAlgorithm_t.XOR8) h; apply { hdr.h.a = h.get({ hdr.h.c, hdr.h.b[3:0] }); }",
		"ingress.h.a = (((ingress.h.c ++ ingress.h.b[3:0])[7:0] ^ (ingress.h.c ++ ingress.h.b[3:0])[15:8]) ^ (bit<8>)(ingress.h.c ++ ingress.h.b[3:0])[19:16])"},
	{"min and max", "apply { meta.x = max(meta.x, meta.y); meta.y = min(meta.x, 17); }",
		"ingress_metadata.x = ((ingress_metadata.x > ingress_metadata.y) ? ingress_metadata.x : ingress_metadata.y)\ningress_metadata.y = ((ingress_metadata.x < 32w17) ? ingress_metadata.x : 32w17)"},
	{"a checksum step by step", "Checksum() c; apply { c.add({ hdr.h.a, hdr.h.b }); c.subtract({ hdr.h.c }); meta.z = (bit<1>) c.verify(); }",
		"Ingress.c = (Ingress.c + (((bit<32>)ingress.h.a << 32w8) + (bit<32>)ingress.h.b))\nIngress.c = (Ingress.c + (32w65535 - (bit<32>)ingress.h.c))\n" +
			"tmp = ((Ingress.c & 32w65535) + (Ingress.c >> 32w16))\ntmp_0 = ((tmp & 32w65535) + (tmp >> 32w16))\ningress_metadata.z = (bit<1>)(tmp_0 == 32w65535)"},
	{"intrinsic metadata", "apply { meta.x = (bit<32>) intrinsic.ingress_port; deparser.drop_ctl = 1; meta.y = parsed.global_tstamp[31:0]; tm.qid = 3; }",
		"ingress_metadata.x = (bit<32>)ingress_intrinsic_metadata.ingress_port\ningress_intrinsic_metadata_for_deparser.drop_ctl = 3w1\ningress_metadata.y = ingress_intrinsic_metadata_from_parser.global_tstamp[31:0]\ningress_intrinsic_metadata_for_tm.qid = 5w3"},
}

// tnaProgram is a program for Tofino with a given Ingress.
func tnaProgram(ingress string) []byte {
	return []byte("#include \"tna.p4inc\"\nINGRESS { " + ingress + " }\nINGRESS_DEPARSER { apply { packet.emit(hdr); } }\n" +
		"EGRESS { apply { } }\nEGRESS_DEPARSER { apply { packet.emit(hdr); } }\nSWITCH\n")
}

func TestApplyOfTNA(t *testing.T) {
	open := func(name string) (string, error) {
		b, err := os.ReadFile(filepath.Join("..", "testdata", filepath.Base(name)))
		return string(b), err
	}
	for _, c := range tnaTests {
		r, list := compiler.Compile(compiler.Options{File: "t.p4", Source: tnaProgram(c.text), Open: open, Stop: compiler.AfterLower})
		if list.HasErrors() {
			t.Errorf("%s: %v", c.name, list)
			continue
		}
		if got := body(strings.Replace(ir.Print(r.IR), "\ningress Ingress {", "\ningress ingress {", 1)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s\n%q", c.name, got, c.want, got)
		}
	}
}

// The gresses share neither headers nor metadata. Intrinsic metadata has the
// names of the architecture.
func TestIngressAndEgressShareNothing(t *testing.T) {
	text, err := os.ReadFile("../../p4src/tna/rlb-ecmp.p4")
	if err != nil {
		t.Fatal(err)
	}
	r, list := compiler.Compile(compiler.Options{File: "t.p4", Source: text, Stop: compiler.AfterLower})
	if len(list) > 0 {
		t.Fatal(list)
	}
	names := map[string]bool{}
	for _, h := range r.IR.Headers {
		names[h.Name] = h.Metadata
	}
	for name, metadata := range map[string]bool{
		"ingress.ipv4": false, "egress.ipv4": false, "ingress_intrinsic_metadata": false, "egress_intrinsic_metadata": false,
		"ingress_intrinsic_metadata_for_tm": true, "egress_intrinsic_metadata_for_deparser": true,
	} {
		if got, ok := names[name]; !ok || got != metadata {
			t.Errorf("header %s: there %t, metadata %t", name, ok, got)
		}
	}
	for _, c := range r.IR.Controls {
		gress, other := "ingress", "egress"
		if strings.HasPrefix(c.Role, "egress") {
			gress, other = other, gress
		}
		list := c.Body
		for _, table := range c.Tables {
			for _, a := range table.Actions {
				list = append(list, a.Action.Body...)
			}
		}
		ir.WalkStmts(list, func(s ir.Stmt) {
			if a, ok := s.(*ir.Assign); ok && strings.HasPrefix(ir.ExprText(a.Dst), other) {
				t.Errorf("%s writes %s", gress, ir.ExprText(a.Dst))
			}
		})
	}
}
