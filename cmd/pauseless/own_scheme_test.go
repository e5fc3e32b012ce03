// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
)

var commands = regexp.MustCompile("(?ms)^```sh( bmv2)?\n(.*?)^```$")

// The commands of docs/own-scheme.md work, in their order and word for word.
func TestOwnSchemePageWorks(t *testing.T) {
	text, err := os.ReadFile("../../docs/own-scheme.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", commandDir(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	var script, onBMv2 strings.Builder
	for _, m := range commands.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "" {
			script.WriteString(m[2])
		} else {
			onBMv2.WriteString(m[2])
		}
	}
	session := func(script string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	out := session(script.String())
	for _, want := range []string{`flows finished +40 of 40 +40 of 40`, `flowlet default -> read_flowlet\(gap=100000\)`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("want %s in\n%s", want, out)
		}
	}
	t.Run("bmv2", func(t *testing.T) {
		need.Tool(t, "BMV2", "simple_switch")
		session(onBMv2.String())
	})
}

// commandDir returns a directory with this program under its name.
func commandDir(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "pauseless")); err != nil {
		t.Fatal(err)
	}
	return dir
}
