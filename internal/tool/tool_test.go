// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAProgramIsFoundByVariableDirectoryOrPath(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tool")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	t.Setenv("TOOL", "")
	if _, err := Find("", "TOOL", "tool"); err == nil || err.Error() != "tool is not on PATH, and TOOL is not set" {
		t.Errorf("nowhere: %v", err)
	}
	for _, at := range []string{dir, file} {
		t.Setenv("TOOL", at)
		if path, err := Find("", "TOOL", "tool"); err != nil || path != file {
			t.Errorf("TOOL=%s: %s, %v", at, path, err)
		}
	}
	t.Setenv("TOOL", filepath.Join(dir, "none"))
	if _, err := Find("", "TOOL", "tool"); err == nil {
		t.Error("a file that is not there was found")
	}
	if path, err := Find(dir, "TOOL", "tool"); err != nil || path != file {
		t.Errorf("at a place: %s, %v", path, err)
	}
	t.Setenv("PATH", dir)
	if path, err := Find("", "", "tool"); err != nil || path != file {
		t.Errorf("on PATH: %s, %v", path, err)
	}
}
