// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"path/filepath"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
)

// The programs under p4src match the output of the generator; make golden
// rewrites them. Programs with another reading of a paper's rule are not there: they
// differ from another one in that rule.
func TestCommittedProgramsAreGenerated(t *testing.T) {
	for _, target := range Targets {
		for _, name := range Names() {
			if p, err := Builtin(name); err != nil {
				t.Fatal(err)
			} else if Supports(p, target) != nil || p.Choice("reading") != "default" {
				continue
			}
			for _, f := range mustGenerate(t, name, target).Files() {
				golden.Check(t, filepath.Join("../p4src", target, f.Name), f.Data)
			}
		}
	}
}

func mustGenerate(t *testing.T, name, target string) *Program {
	t.Helper()
	p, err := Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := Generate(p, target)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return prog
}
