// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler/checktest"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/internal/diag"
)

// open returns the included files of the tests, which are in the same folder.
func open(name string) (string, error) {
	if filepath.Ext(name) != ".p4inc" {
		return "", fs.ErrNotExist
	}
	b, err := os.ReadFile(filepath.Join("testdata", filepath.Base(name)))
	return string(b), err
}

// compile compiles a program of the tests. A program without SWITCH or main is
// checked as a library.
func compile(name, text string) (*Result, diag.List) {
	opts := Options{File: name, Source: []byte(text), Open: open}
	if !strings.Contains(text, "SWITCH") && !strings.Contains(text, "main") {
		opts.Stop = AfterCheck
	}
	return Compile(opts)
}

// Every error is reported once, at its position and with its code.
func TestDiagnostics(t *testing.T) {
	files, err := filepath.Glob("testdata/*.p4")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		checktest.Run(t, file, check)
	}
}

func check(name, text string) diag.List {
	_, list := compile(name, text)
	return list
}

// Positions of diagnostics outside of the program's own text.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"#line", "#line 100 \"other.p4\"\nconst int a = b;", "other.p4:100:15: b is not declared [undeclared]"},
		{"# as cpp writes it", "# 7 \"x.p4\"\n\nconst int a = b;", "x.p4:8:15: b is not declared [undeclared]"},
		{"included file", "#include \"broken.p4inc\"\nconst int a = 1;",
			"broken.p4inc:2:15: nothing is not declared [undeclared]"},
		{"no main", "control c() { apply { } } // no main", "t.p4:1:1: the program has no package instance named main [no-main]"},
		{"version", "#define V1MODEL_VERSION 20990101\n#include \"skeleton.p4inc\"\nINGRESS { apply { } } SWITCH",
			"p4include/v1model.p4:23:35: version 20990101 of the architecture is unknown; this compiler knows those from 20180101 to 20200408 [main]"},
	} {
		if got := check("t.p4", c.text).Error(); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestOptions(t *testing.T) {
	if _, list := Compile(Options{File: filepath.Join(t.TempDir(), "none.p4")}); len(list) != 1 || list[0].Code != CodeFile {
		t.Errorf("a file that is not there: %v", list)
	}
	for _, c := range []struct {
		define string
		want   string
	}{
		{"N=8w5", ""},
		{"N", ""},
		{"M", "t.p4:1:18: N is not declared [undeclared]"},
		{"1N", `<command line>:1:1: "1N" is not the name of a macro [macro]`},
	} {
		_, list := Compile(Options{File: "t.p4", Source: []byte("const bit<8> a = N;"), Defines: []string{c.define}, Stop: AfterCheck})
		if got := list.Error(); got != c.want {
			t.Errorf("-D %s: got %q, want %q", c.define, got, c.want)
		}
	}
}

// The compiler stops after a limited number of errors.
func TestTooManyErrors(t *testing.T) {
	text := strings.Repeat("const bit<8> a = b +\nc;\n", 300)
	list := check("t.p4", text)
	if n := len(list); n > source.MaxErrors+1 || !slices.ContainsFunc(list, func(d *diag.Diagnostic) bool { return d.Code == source.CodeTooMany }) {
		t.Errorf("%d diagnostics", n)
	}
}

// TestExtensionsOfP4C has code that p4c accepts although the language
// specification does not: numbers for values of types declared by "type", and
// undefined macros in @pkginfo, as in SAI P4.
func TestExtensionsOfP4C(t *testing.T) {
	r, list := compile("sai.p4", `
type bit<10> vrf_id_t;
type vrf_id_t alias_t;
const vrf_id_t DEFAULT = 0;
struct headers { }
struct meta { vrf_id_t vrf; alias_t alias; bit<8> x; }
#include <v1model.p4>
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { m.vrf = DEFAULT; m.alias = 1; transition select(m.vrf) { 3: accept; 4 &&& 7: accept; default: accept; } }
}
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action set_vrf(vrf_id_t v) { m.vrf = v; }
    table t {
        key = { m.vrf: exact; m.alias: ternary; }
        actions = { set_vrf; NoAction; }
        const entries = { (5, 6 &&& 7): set_vrf(9); }
    }
    apply { if (m.vrf == 0 || 7 != m.vrf) { set_vrf(1023); } t.apply(); }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers h) { apply { } }
@pkginfo(name = "sai.p4", version = SAI_VERSION)
V1Switch(P(), V(), I(), E(), V(), D()) main;
`)
	if list.HasErrors() || len(list) != 1 || !strings.Contains(list[0].Error(), "SAI_VERSION in annotation @pkginfo is not declared: the value is left out; define it with -D") {
		t.Fatalf("got %v", list)
	}
	if info := r.P4Info.PkgInfo; info.Name != "sai.p4" || info.Version != "" {
		t.Errorf("the package is %v", info)
	}
	for text, want := range map[string]string{"1": "", "1024": "1024 does not fit bit<10>", "8w1": "has type vrf_id_t, but 8w1 has type bit<8>", "true": "has type vrf_id_t, but true has type bool"} {
		_, list := Compile(Options{File: "t.p4", Source: []byte("type bit<10> vrf_id_t; const vrf_id_t a = " + text + ";"), Stop: AfterCheck})
		if got := list.Error(); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// A chain of else if is no deeper than one of its branches.
func TestLongChainOfBranches(t *testing.T) {
	const branches = 2500
	chain := strings.Repeat("if (h.h.a == 7) { h.h.a = 1; } else ", branches-1) + "if (h.h.a == 8) { h.h.a = 2; }"
	out, list := Compile(Options{File: "t.p4", Source: []byte(`#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; }
struct hs { h_t h; }
struct m_t { }
parser P(packet_in p, out hs h, inout m_t m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control N(inout hs h, inout m_t m) { apply { } }
control I(inout hs h, inout m_t m, inout standard_metadata_t s) { apply { s.egress_spec = 1; ` + chain + ` } }
control E(inout hs h, inout m_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in hs h) { apply { p.emit(h.h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
`)})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	if n := len(out.Program.Pipelines[0].Conditionals); n != branches {
		t.Errorf("%d conditionals", n)
	}
}
