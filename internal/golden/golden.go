// SPDX-License-Identifier: Apache-2.0

// Package golden compares the output of a test with a committed file. The files
// change only when a person runs `make golden` and commits the diff.
package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Update is set by `make golden`: write the files instead of comparing.
var Update = os.Getenv("UPDATE_GOLDEN") == "1"

// Check fails the test if got differs from the golden file, and prints the first
// line that differs. Under `make golden` it writes the file.
func Check(t *testing.T, file string, got []byte) {
	t.Helper()
	if Update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; `make golden` writes it", err)
	}
	if string(got) == string(want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if at(g, i) != at(w, i) {
			t.Fatalf("%s:%d differs; if this change is intended, run `make golden` and commit\n got: %s\nwant: %s", file, i+1, at(g, i), at(w, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end of file)"
}
