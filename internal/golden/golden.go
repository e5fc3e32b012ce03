// SPDX-License-Identifier: Apache-2.0

// Package golden compares the output of a test with a committed file. The files
// change only when a person runs `make golden` and commits the diff.
package golden

import (
	"bytes"
	"compress/gzip"
	"io"
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

// CheckPacked fails the test if the gzip file does not unpack to want. Under
// `make golden` it writes the file then. Packed bytes are not compared, since they
// may differ between versions of Go.
func CheckPacked(t *testing.T, file string, want []byte) {
	t.Helper()
	if packed, err := os.Open(file); err == nil {
		defer packed.Close()
		if z, err := gzip.NewReader(packed); err == nil {
			if got, err := io.ReadAll(z); err == nil && bytes.Equal(got, want) {
				return
			}
		}
	}
	if !Update {
		t.Fatalf("%s is missing or has another content; run `make golden` and commit", file)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		z.Write(want)
		err = z.Close()
	}
	if err == nil {
		err = os.WriteFile(file, b.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end of file)"
}
