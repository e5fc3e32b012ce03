// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"os"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/gen"
)

// Every combination that a profile allows has a program for Tofino, or a reason why
// there is none. Programs use only what a Tofino can execute. One in five is
// compiled, or all with MODEL=1.
func TestEveryCombinationOnTofinoCompiles(t *testing.T) {
	t.Parallel()
	reasons := map[string]int{}
	generated, compiled, every := 0, 0, 5
	if os.Getenv("MODEL") != "" {
		every = 1
	}
	for i, text := range combinations() {
		if testing.Short() && i%61 != 0 {
			continue
		}
		p, err := gen.Parse("combination.yaml", []byte(text))
		if err != nil {
			continue
		}
		prog, err := gen.Generate(p, "tna")
		if err != nil {
			_, reason, _ := strings.Cut(err.Error(), "on tna: ")
			if reason == "" {
				t.Errorf("%s\n%v", text, err)
			}
			reasons[reason]++
			continue
		}
		if generated++; generated%every != 0 {
			continue
		}
		if _, list := compiler.Compile(compiler.Options{File: "combination.p4", Source: prog.P4}); len(list) > 0 {
			t.Errorf("%s\n%v", text, list)
		}
		compiled++
	}
	t.Logf("%d programs, %d compiled; refused: %v", generated, compiled, reasons)
}
