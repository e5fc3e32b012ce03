// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each block in the table of docs/own-scheme.md names all that it needs itself: a
// scheme that needs it alone has a program that compiles.
func TestNeedsOfTheTutorialAreComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/own-scheme.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| need |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| (.*) \\|$").FindAllStringSubmatch(table, -1)
	if len(rows) < 10 {
		t.Fatalf("the table of needs has %d rows", len(rows))
	}
	pauseless := filepath.Join(commandDir(t), "pauseless")
	for _, row := range rows {
		needs := strings.ReplaceAll(row[1], "`", "")
		t.Run(needs, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"alone/block.yaml": "summary: x\npick: {base: alone}\nneeds: [" + needs + "]\n",
				// For flowlet, as the row says.
				"alone/common.p4.tmpl":      `{{define "flowlet_gap"}}100_000{{end}}`,
				"alone/profiles/alone.yaml": "name: alone\nsummary: x\nbase: alone\n",
			} {
				file := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			for _, target := range []string{"v1model", "tna"} {
				if target == "tna" && strings.Contains(row[2], "on TNA only with RLB") {
					continue
				}
				for _, args := range [][]string{
					{"--schemes", dir, "gen", "--profile", "alone", "--target", target, "-o", dir},
					{"compile", filepath.Join(dir, "alone.p4"), "-o", filepath.Join(dir, "alone.json")},
				} {
					if out, err := exec.Command(pauseless, args...).CombinedOutput(); err != nil {
						t.Fatalf("%s: pauseless %s: %v\n%s", target, args[0], err, out)
					}
				}
			}
		})
	}
}
