// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/softswitch/stf"
)

// clone3, resubmit and recirculate, which p4c has had no longer since 2021 and which many
// programs call, preserve the metadata in their last argument as field lists do.
func TestDeprecatedFunctionsPreserveTheirArgument(t *testing.T) {
	dir := t.TempDir()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	text := read("copies.p4")
	for _, r := range [][2]string{
		{"@field_list(1, 2)\n", ""},
		{"@field_list(2)\n", ""},
		{"resubmit_preserving_field_list(1)", "resubmit({ meta.kept, hdr.t.rid })"},
		{"clone_preserving_field_list(CloneType.I2E, 5, 1)", "clone3(CloneType.I2E, 5, { std.egress_spec, { meta.kept } })"},
		{"recirculate_preserving_field_list(2)", "recirculate({ meta.kept, meta.rounds })"},
		{"clone_preserving_field_list(CloneType.E2E, 5, 1)", "clone3<tuple<bit<8>>>(CloneType.E2E, 5, { meta.kept })"},
		{"clone(CloneType.I2E, 6)", "clone3(CloneType.I2E, 6, 0)"},
	} {
		if strings.Count(text, r[0]) != 1 {
			t.Fatalf("%q is not once in the program", r[0])
		}
		text = strings.Replace(text, r[0], r[1], 1)
	}
	for name, text := range map[string]string{"copies.p4": text, "empty.inc": read("empty.inc")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, err := stf.Parse("copies.stf", []byte(read("copies.stf")))
	if err != nil {
		t.Fatal(err)
	}
	if err := stf.Run(compile(t, filepath.Join(dir, "copies.p4")), s, stf.Options{}); err != nil {
		t.Error(err)
	}
}
