// SPDX-License-Identifier: Apache-2.0

// Package language tests the behaviour of programs. For each construct of the
// language it has a small program, an input packet, and the output packet required
// by the language specification (1.2.5). The tests run on our switch and, if it is
// available, on simple_switch_grpc.
package language

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch/stf"
)

// A construct is a program and packets. The program is built from the declarations
// "top", the parser states "parse" after the extraction of h, and the body of the
// control ingress. Packets are "in > out" in hexadecimal, or commands of a switch
// test.
type construct struct {
	name, top, parse, body string
	packets                []string
}

const head = `
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; bit<16> c; bit<32> d; }
header x_t { bit<8> v; }
header y_t { bit<4> n; bit<4> m; bit<16> w; }
header w_t { bit<8> len; varbit<64> data; }
header_union u_t { x_t x; y_t y; }
struct headers { h_t h; x_t[4] s; w_t w; u_t u; }
struct metadata { bit<8> m; bit<16> n; bool f; @field_list(1) bit<32> kept; }
`

const tail = `
control check(inout headers hdr, inout metadata meta) { apply { } }
control nothing(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply { } }
control update(inout headers hdr, inout metadata meta) { apply { } }
control emit(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(parse(), check(), ingress(), nothing(), update(), emit()) main;
`

func (c *construct) program() string {
	parse := c.parse
	if parse == "" {
		parse = "state next { transition accept; }"
	}
	return head + c.top +
		"\nparser parse(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {\n" +
		strings.TrimPrefix(cutLocals(parse), "\n") +
		"\ncontrol ingress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {\n" +
		c.body + "\n}\n" + tail
}

// cutLocals splits a parser into local declarations and states, between which the
// state start is inserted.
func cutLocals(parse string) string {
	i := strings.Index(parse, "state ")
	return parse[:i] + "state start { std.egress_spec = 2; p.extract(hdr.h); transition next; }\n" + parse[i:] + "\n}"
}

func (c *construct) script() string {
	var b strings.Builder
	for _, p := range c.packets {
		in, out, ok := strings.Cut(p, " > ")
		switch {
		case !ok:
			b.WriteString(p + "\n")
		case out == "drop":
			b.WriteString("packet 1 " + in + "\n")
		default:
			b.WriteString("packet 1 " + in + "\nexpect 2 " + out + "$\n")
		}
	}
	return b.String()
}

// each calls f with every construct.
func each(t *testing.T, f func(t *testing.T, name string, p *bmv2json.Program, s *stf.Script)) {
	for _, list := range [][]construct{values, statements, calls, order, exits, instances, loops, enums, parsers, tables, externs} {
		for _, c := range list {
			t.Run(c.name, func(t *testing.T) {
				name := filepath.Join(t.TempDir(), "t.p4")
				if err := os.WriteFile(name, []byte(c.program()), 0o666); err != nil {
					t.Fatal(err)
				}
				r, errs := compiler.Compile(compiler.Options{File: name})
				if errs.HasErrors() {
					t.Fatal(errs)
				}
				s, err := stf.Parse("t.stf", []byte(c.script()))
				if err != nil {
					t.Fatal(err)
				}
				f(t, c.name, r.Program, s)
			})
		}
	}
}

func TestOnOurSwitch(t *testing.T) {
	each(t, func(t *testing.T, _ string, p *bmv2json.Program, s *stf.Script) {
		if err := stf.Run(p, s, stf.Options{}); err != nil {
			t.Error(err)
		}
	})
}

// differences are the constructs with wrong results on simple_switch_grpc.
var differences = map[string]string{}

func TestOnSimpleSwitch(t *testing.T) {
	binary := need.Tool(t, "BMV2", "simple_switch_grpc")
	each(t, func(t *testing.T, name string, p *bmv2json.Program, s *stf.Script) {
		t.Parallel() // the tests mostly wait for the start of the switch
		why := differences[name]
		switch err := stf.RunBMv2(context.Background(), p, s, binary); {
		case why == "" && err != nil:
			t.Error(err)
		case why != "" && err == nil:
			t.Errorf("passes, although %s", why)
		}
	})
}
