// SPDX-License-Identifier: Apache-2.0

package bmv2_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// compileTNA compiles a program for Tofino with the given Ingress and its
// deparser.
func compileTNA(t *testing.T, ingress, deparser string) *bmv2json.Program {
	t.Helper()
	r, list := compiler.Compile(compiler.Options{File: "t.p4", NoSourceInfo: true,
		Source: []byte("#include \"tna.p4inc\"\nINGRESS { " + ingress + " }\nINGRESS_DEPARSER { " + deparser + " }\n" +
			"EGRESS { apply { } }\nEGRESS_DEPARSER { apply { packet.emit(hdr); } }\nSWITCH\n"),
		Open: func(name string) (string, error) {
			b, err := os.ReadFile(filepath.Join("..", "testdata", filepath.Base(name)))
			return string(b), err
		}})
	if r.Program == nil {
		t.Fatal(list)
	}
	return r.Program
}

// steps returns one line for each primitive of an action.
func steps(p *bmv2json.Program, name string) string {
	var b strings.Builder
	for _, a := range p.Actions {
		if !strings.HasPrefix(a.Name, name) {
			continue
		}
		for _, s := range a.Primitives {
			params := make([]string, len(s.Parameters))
			for i, v := range s.Parameters {
				params[i] = operand(v)
			}
			b.WriteString(s.Op + " " + strings.Join(params, ", ") + "\n")
		}
	}
	return b.String()
}

// Statements of a deparser other than emit are a pipeline. Copies have the
// values that the fields had at the call.
func TestDeparserOfTNA(t *testing.T) {
	p := compileTNA(t, "apply { }", `Mirror() m; Resubmit() r; Digest<fault_t>() f;
    apply {
        if (ig_intr_md_for_dprsr.mirror_type == 1) { m.emit<note_t>(5, { meta.w, 0, meta.z, hdr.h.c }); }
        if (ig_intr_md_for_dprsr.resubmit_type == 1) { r.emit(); }
        if (ig_intr_md_for_dprsr.digest_type == 1) { f.pack({ hdr.h.a, meta.x + 1 }); }
        packet.emit(hdr.g);
        packet.emit(hdr.h);
    }`)
	if got := strings.Join(p.Deparsers[0].Order, " "); p.Deparsers[0].Name != "ingress_deparser" || got != "ingress.g ingress.h" {
		t.Errorf("%s emits %s", p.Deparsers[0].Name, got)
	}
	names := ""
	for _, pl := range p.Pipelines {
		names += pl.Name + " "
	}
	if names != "ingress ingress_deparser egress " {
		t.Errorf("pipelines %s", names)
	}
	const want = `generate_digest 0x0, 0x00000001
resubmit 0x00000001
mirror 0x0005, 0x00000002
`
	var got []string
	for line := range strings.Lines(steps(p, "IngressDeparser.")) {
		if !strings.HasPrefix(line, "assign scalars.tmp") {
			got = append(got, line)
		}
	}
	if strings.Join(got, "") != want {
		t.Errorf("got\n%swant\n%s", strings.Join(got, ""), want)
	}
	widths := map[string]int{}
	for _, f := range p.HeaderTypes[0].Fields {
		widths[f.Name] = f.Width
	}
	bits := ""
	for _, l := range append(p.FieldLists, p.LearnLists...) {
		bits += l.Name + ":"
		for _, v := range l.Elements {
			bits += " " + string(rune('0'+widths[v.Field]/10)) + string(rune('0'+widths[v.Field]%10))
		}
		bits += "\n"
	}
	if want := "header:\nheader_1: 08 07 01 16\nIngressDeparser.f: 08 32\n"; bits != want {
		t.Errorf("bits of lists:\n%swant\n%s", bits, want)
	}
}

// Cells have the width of their type and the initial value of the declaration.
func TestRegistersOfTNA(t *testing.T) {
	p := compileTNA(t, `Register<bit<32>, bit<8>>(256) zero; Register<bit<32>, bit<8>>(16, 7) seven; Register<pair_t, bit<8>>(64, { 1, 2 }) pair; Register<bit<8>, bit<8>>(64, 0) none;
    apply { if (meta.x == 0) { seven.write(1, 9); } }`, "apply { packet.emit(hdr); }")
	got := ""
	for _, r := range p.RegisterArrays {
		got += text(t, r) + "\n"
	}
	const want = `{"name":"Ingress.zero","id":0,"size":256,"bitwidth":32}
{"name":"Ingress.seven","id":1,"size":16,"bitwidth":32,"initial":"0x00000007"}
{"name":"Ingress.pair","id":2,"size":64,"bitwidth":64,"initial":"0x0000000100000002"}
{"name":"Ingress.none","id":3,"size":64,"bitwidth":8}
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Assignments of zero to metadata at the start of a parser are removed, but not
// later ones.
func TestFirstStateOfTNA(t *testing.T) {
	p := compileTNA(t, "apply { }", "apply { packet.emit(hdr); }")
	for _, q := range p.Parsers {
		for _, op := range q.States[0].Ops {
			if op.Op == "set" {
				t.Errorf("%s sets %s", q.Name, operand(op.Parameters[0]))
			}
		}
	}
}
