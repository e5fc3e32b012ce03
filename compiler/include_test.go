// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/compiler/include"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// TestIncludedFolder compiles with the architecture's files in a folder of the user, as
// with -I /usr/share/p4c/p4include: the output is that of the files that are built in.
func TestIncludedFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, fs.FS(include.Files)); err != nil {
		t.Fatal(err)
	}
	const program = `
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; }
struct meta { @field_list(1) bit<8> x; bit<2> colour; }
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) { state start { p.extract(h.h); verify(h.h.a != 0, error.NoMatch); transition accept; } }
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    counter(4, CounterType.packets_and_bytes) k;
    meter(4, MeterType.bytes) meters;
    apply {
        k.count(1);
        meters.execute_meter(1, m.colour);
        hash(m.x, HashAlgorithm.crc16, 8w0, { h.h.a }, 8w255);
        random(h.h.b, 0, 7);
        clone(CloneType.I2E, 5);
        clone_preserving_field_list(CloneType.I2E, 6, 1);
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { clone(CloneType.E2E, 7); } }
control C(inout headers h, inout meta m) { apply { update_checksum(true, { h.h.a }, h.h.b, HashAlgorithm.csum16); } }
control D(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
`
	file := filepath.Join(t.TempDir(), "t.p4")
	if err := os.WriteFile(file, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	want, list := Compile(Options{File: file})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	got, list := Compile(Options{File: file, Include: []string{dir}})
	if err := list.Err(); err != nil {
		t.Fatalf("with the files in a folder: %v", err)
	}
	if g, w := bmv2json.Encode(got.Program), bmv2json.Encode(want.Program); string(g) != string(w) {
		t.Errorf("with the files in a folder the JSON is\n%s\nwant\n%s", g, w)
	}
	if !proto.Equal(got.P4Info, want.P4Info) {
		t.Errorf("with the files in a folder the P4Info is\n%v\nwant\n%v", got.P4Info, want.P4Info)
	}
}
