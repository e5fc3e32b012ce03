// SPDX-License-Identifier: Apache-2.0

//go:build unix

package compiler_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/tofino"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// barefoot returns p4c's Tofino backend, or skips the test.
func barefoot(t *testing.T) *tofino.Compiler {
	t.Helper()
	p4c, err := tofino.FindCompiler(os.Getenv("P4C_TOFINO"))
	need.No(t, err)
	return p4c
}

// compileFor returns the command that compiles a program with p4c.
func compileFor(t *testing.T, p4c *tofino.Compiler, program string, more ...string) *exec.Cmd {
	t.Helper()
	return exec.Command(p4c.P4C, append(append(p4c.Target(), more...), "--std", "p4-16", "-o", t.TempDir(), program)...)
}

// all enables all cases, for which p4c takes minutes.
var all = os.Getenv("TOFINO_ALL") != ""

// verdicts are bodies of the control Ingress of tnaProgram. p4c's Tofino
// backend and our checks accept and reject the same ones, except for the reason
// in unlike. The later ones run only if TOFINO_ALL is set.
var verdicts = []struct{ name, text, unlike string }{
	{"two accesses", tnaRegister + "apply { hdr.h.a = add.execute(1); hdr.h.b = get.execute(2); }",
		"p4c does not see whether the tables that it makes of this exclude one another"},
	{"two variables in a gateway", "apply { if (hdr.h.a < hdr.h.b) { hdr.h.c = 1; } }", ""},
	{"a range of many bits in a gateway", "apply { if (hdr.h.a < 100) { hdr.h.b = 1; } }", ""},
	{"a range of few bits in a gateway", "apply { if (hdr.h.a[11:0] < 99) { hdr.h.b = 1; } }", ""},
	{"an assignment to elsewhere", tnaRegister + tnaAction("c", "meta.x = v;") + "apply { hdr.h.a = c.execute(1); hdr.h.b = meta.x; }", ""},
	{"two indices of one table", tnaRegister + "action a() { meta.y = add.execute(hdr.h.a[7:0]); } action b() { meta.y = get.execute(hdr.h.b[7:0]); } " +
		"table t { key = { hdr.h.a : exact; } actions = { a; b; } size = 64; } apply { t.apply(); hdr.h.c = meta.y; }", ""},
	{"one access on each branch", tnaRegister + "apply { if (meta.x == 0) { hdr.h.a = add.execute(1); } else { hdr.h.a = get.execute(2); } }", ""},
	{"five RegisterActions", tnaRegister + tnaAction("c", "v = 1;") + tnaAction("e", "v = 2;") + tnaAction("f", "v = 3;") +
		"apply { if (hdr.h.a == 0) { hdr.h.b = add.execute(1); } else if (hdr.h.a == 1) { hdr.h.b = get.execute(1); } else if (hdr.h.a == 2) { hdr.h.b = c.execute(1); } else if (hdr.h.a == 3) { hdr.h.b = e.execute(1); } else { hdr.h.b = f.execute(1); } }", ""},
	{"a power of two in a gateway", "apply { if (hdr.h.a <= 127) { hdr.h.b = 1; } }", ""},
	{"a product", "action a() { hdr.h.a = hdr.h.a * hdr.h.b; } apply { a(); }", ""},
	{"three comparisons", tnaRegister + tnaAction("c", "if (v < hdr.h.b || v == 1 || v == 9) { rv = 1; }") + "apply { hdr.h.a = c.execute(1); }", ""},
	{"a pair", "Register<pair_t, bit<8>>(256) q; RegisterAction<pair_t, bit<8>, bit<32>>(q) c = { void apply(inout pair_t v, out bit<32> rv) { rv = v.lo; v.hi = 3; } }; apply { hdr.h.a = c.execute(1); }", ""},
	{"48 bits", "Register<bit<48>, bit<8>>(256) q; RegisterAction<bit<48>, bit<8>, bit<32>>(q) c = { void apply(inout bit<48> v, out bit<32> rv) { rv = v[31:0]; v = v + 1; } }; apply { hdr.h.a = c.execute(1); }", ""},
	{"9 bits", "Register<bit<9>, bit<8>>(256) q; RegisterAction<bit<9>, bit<8>, bit<9>>(q) c = { void apply(inout bit<9> v, out bit<9> rv) { rv = v; v = v + 1; } }; apply { hdr.h.a[8:0] = c.execute(1); }", ""},
	{"a saturating sum of 9 bits", tnaOdd("bit<9>", "r = u |+| v;"), ""},
	{"a saturating difference of 48 bits", tnaOdd("bit<48>", "r = u |-| v;"), ""},
	{"a signed power of two in a gateway", "apply { if ((int<16>) hdr.h.a[15:0] < 256) { hdr.h.b = 1; } }", ""},
	{"a saturating difference that a RegisterAction compares", tnaRegister + tnaAction("c", "if (v |-| hdr.h.b == 0) { rv = 1; }") + "apply { hdr.h.a = c.execute(1); }", ""},
}

// Our checks reject the same programs as p4c's Tofino backend.
func TestVerdictsOfP4C(t *testing.T) {
	p4c := barefoot(t)
	need.Time(t, "p4c takes a second for each program")
	list := verdicts
	if !all {
		list = verdicts[:6]
	}
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "t.p4")
			if err := os.WriteFile(file, fmt.Appendf(nil, tnaProgram, c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, list := compiler.Compile(compiler.Options{File: file})
			text, err := compileFor(t, p4c, file).CombinedOutput()
			if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if same := list.HasErrors() == (err != nil); same != (c.unlike == "") {
				t.Errorf("we say %v\np4c says %v\n%s", list, err, text)
			}
		})
	}
}

// p4InfoByP4C returns p4c's P4Info of a program. It does not wait for the
// placement of tables, which takes far longer and may fail.
func p4InfoByP4C(t *testing.T, p4c *tofino.Compiler, program string) *p4configv1.P4Info {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "p4info.txtpb")
	cmd := compileFor(t, p4c, program, "--p4runtime-force-std-externs", "--p4runtime-files", pipe)
	var said strings.Builder
	cmd.Stderr = &said
	text := need.Written(t, cmd, pipe)
	info := &p4configv1.P4Info{}
	if err := (prototext.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, info); err != nil || len(info.Tables) == 0 {
		t.Fatalf("p4c's P4Info: %v\n%s", err, said.String())
	}
	return info
}

// sortedP4Info sorts the objects of each kind by id, because p4c has an order
// of its own for tables and externs. It removes p4c's additional table of port
// metadata.
func sortedP4Info(info *p4configv1.P4Info) *p4configv1.P4Info {
	info = proto.CloneOf(info)
	info.Externs = slices.DeleteFunc(info.Externs, func(x *p4configv1.Extern) bool { return x.ExternTypeName == "PortMetadata" })
	byID(info.Tables)
	byID(info.Actions)
	byID(info.Registers)
	byID(info.Digests)
	return info
}

func byID[T interface{ GetPreamble() *p4configv1.Preamble }](list []T) {
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(a.GetPreamble().GetId(), b.GetPreamble().GetId()) })
}

// The P4Info of both compilers has the same objects, names and ids.
func TestP4InfoIsThatOfP4C(t *testing.T) {
	p4c := barefoot(t)
	need.Time(t, "p4c takes seconds for a program")
	files := []string{"testdata/objects_tna.p4"}
	if all {
		programs, err := filepath.Glob("../p4src/tna/*.p4")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, programs...)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			r, list := compiler.Compile(compiler.Options{File: f})
			if list.HasErrors() {
				t.Fatal(list)
			}
			want := sortedP4Info(p4InfoByP4C(t, p4c, f))
			if got := sortedP4Info(r.P4Info); !proto.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", prototext.Format(got), prototext.Format(want))
			}
		})
	}
}
