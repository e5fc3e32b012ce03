// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/bmv2json"
)

// largest returns the longest program in p4src.
func largest(tb testing.TB) (name string, text []byte) {
	tb.Helper()
	files, err := filepath.Glob("../p4src/v1model/*.p4")
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		if len(b) > len(text) {
			name, text = f, b
		}
	}
	if name == "" {
		tb.Fatal("no programs")
	}
	return name, text
}

// generated returns a program of about this many lines: headers, states,
// controls with actions, tables and conditions.
func generated(lines int) []byte {
	const perUnit = 25
	var types, headers, states, controls, instances, applies strings.Builder
	units := lines / perUnit
	for i := range units {
		fmt.Fprintf(&types, "header h%d_t {\n    bit<8> next;\n    bit<8> a;\n    bit<16> b;\n}\n", i)
		fmt.Fprintf(&headers, "    h%d_t h%d;\n", i, i)
		next := "accept"
		if i+1 < units {
			next = fmt.Sprintf("parse_%d", i+1)
		}
		fmt.Fprintf(&states, "    state parse_%d {\n        p.extract(hdr.h%d);\n        transition select(hdr.h%d.next) { 1: %s; default: accept; }\n    }\n", i, i, i, next)
		fmt.Fprintf(&controls, `control unit_%[1]d(inout headers hdr, inout metadata meta) {
    action set(bit<16> x) { hdr.h%[1]d.b = x + (bit<16>) meta.m; }
    table t {
        key = { hdr.h%[1]d.a : exact; }
        actions = { set; NoAction; }
        size = 16;
    }
    apply {
        if (hdr.h%[1]d.isValid() && hdr.h%[1]d.a != %[2]d) {
            t.apply();
        }
        meta.m = meta.m + 1;
    }
}
`, i, i%256)
		fmt.Fprintf(&instances, "    unit_%d() u%d;\n", i, i)
		fmt.Fprintf(&applies, "        u%d.apply(hdr, meta);\n", i)
	}
	return []byte(fmt.Sprintf(`#include <v1model.p4>
%sstruct headers {
%s}
struct metadata { bit<8> m; }
parser parse(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { transition parse_0; }
%s}
%scontrol ingress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
%s    apply {
%s    }
}
control nothing(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply { } }
control check(inout headers hdr, inout metadata meta) { apply { } }
control emit(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(parse(), check(), ingress(), nothing(), check(), emit()) main;
`, &types, &headers, &states, &controls, &instances, &applies))
}

// build compiles a program and returns the size of its JSON in bytes.
func build(tb testing.TB, name string, text []byte) int {
	r, list := Compile(Options{File: name, Source: text})
	if list.HasErrors() {
		tb.Fatal(list)
	}
	return len(bmv2json.Encode(r.Program))
}

func BenchmarkLargestProgram(b *testing.B) {
	name, text := largest(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		build(b, name, text)
	}
}

func BenchmarkGenerated(b *testing.B) {
	for _, lines := range []int{500, 5000, 50000} {
		b.Run(fmt.Sprintf("%d-lines", lines), func(b *testing.B) {
			text := generated(lines)
			n := strings.Count(string(text), "\n")
			b.ReportAllocs()
			for b.Loop() {
				build(b, "generated.p4", text)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/line")
		})
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The memory that a compilation allocates is small for our programs and grows
// at most linearly with the program.
func TestMemory(t *testing.T) {
	name, text := largest(t)
	if n := allocated(func() { build(t, name, text) }); n > 200<<20 {
		t.Errorf("%s: %d MB allocated, want at most 200", name, n>>20)
	}
	small, large := generated(1000), generated(20000)
	perByte := func(text []byte) float64 {
		return float64(allocated(func() { build(t, "generated.p4", text) })) / float64(len(text))
	}
	if a, b := perByte(small), perByte(large); b > 1.5*a {
		t.Errorf("%.0f bytes allocated for each of a short program, %.0f for each of one that is 20 times as long", a, b)
	}
}
