// SPDX-License-Identifier: Apache-2.0

//go:build unix

package need_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
)

func TestWrittenEndsACommandThatGoesOn(t *testing.T) {
	for script, want := range map[string]string{
		"echo text >$0; exec sleep 1000": "text\n",
		"exit 1":                         "",
	} {
		file := filepath.Join(t.TempDir(), "file")
		if got := need.Written(t, exec.Command("sh", "-c", script, file), file); string(got) != want {
			t.Errorf("%s: wrote %q, want %q", script, got, want)
		}
	}
}

// The command may have ended before the test reads its file.
func TestWrittenOfACommandThatEndsAtOnce(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		file := filepath.Join(dir, strconv.Itoa(i))
		if got := need.Written(t, exec.Command("true"), file); len(got) > 0 {
			t.Fatalf("wrote %q", got)
		}
	}
}

// Compilers remove the output of a program with errors.
func TestWrittenOfACommandThatRemovesItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if got := need.Written(t, exec.Command("rm", file), file); len(got) > 0 {
		t.Fatalf("wrote %q", got)
	}
}
