// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
)

// docs/tofino-differences.md has every note of the manifests of programs for Tofino that
// the same profile has not for v1model.
func TestDifferencesOfTofino(t *testing.T) {
	of := make(map[string][]string) // programs, by note
	var all []string
	for _, name := range Names() {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if Supports(p, "tna") != nil {
			continue
		}
		all = append(all, name)
		elsewhere := mustGenerate(t, name, "v1model").Manifest.Notes
		for _, note := range mustGenerate(t, name, "tna").Manifest.Notes {
			if !slices.Contains(elsewhere, note) {
				of[note] = append(of[note], name)
			}
		}
	}
	notes := slices.Collect(maps.Keys(of))
	// Those of most programs come first.
	slices.SortFunc(notes, func(a, b string) int {
		if n := len(of[b]) - len(of[a]); n != 0 {
			return n
		}
		return strings.Compare(of[a][0]+a, of[b][0]+b)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "# Differences of the programs for Tofino\n\nAll differences between the built-in programs for Tofino and those for v1model, from the `notes` of their manifests.\n[The page on Tofino](tofino.md#what-differs-and-what-it-costs) lists the most important ones with their consequences.\n\n| programs | difference |\n|---|---|\n")
	for _, note := range notes {
		programs := strings.Join(grouped(of[note], all), ", ")
		switch n := len(of[note]); {
		case n == len(all):
			programs = "all"
		case n > len(all)/2:
			var without []string
			for _, name := range all {
				if !slices.Contains(of[note], name) {
					without = append(without, name)
				}
			}
			programs = "all except " + strings.Join(grouped(without, all), ", ")
		}
		fmt.Fprintf(&b, "| %s | %s |\n", programs, strings.ReplaceAll(note, "|", `\|`))
	}
	golden.Check(t, "../docs/tofino-differences.md", []byte(b.String()))
}

// grouped replaces names that are all those with a prefix.
func grouped(names, all []string) []string {
	for _, prefix := range []string{"rlb-", "rlb-adaptive-"} {
		has := func(name string) bool { return strings.HasPrefix(name, prefix) }
		of := func(list []string) (n int) {
			for _, name := range list {
				if has(name) {
					n++
				}
			}
			return n
		}
		if of(names) > 1 && of(names) == of(all) {
			names = append(slices.DeleteFunc(slices.Clone(names), has), prefix+"…")
		}
	}
	return names
}
