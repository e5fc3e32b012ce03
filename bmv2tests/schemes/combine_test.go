// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/gen"
)

// Every combination that a profile allows compiles without warnings. Other
// combinations are refused with a reason.
func TestEveryCombinationCompiles(t *testing.T) {
	t.Parallel()
	compiled, refused := 0, 0
	for i, text := range combinations() {
		if testing.Short() && i%61 != 0 {
			continue
		}
		p, err := gen.Parse("combination.yaml", []byte(text))
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), ": ") || strings.Contains(err.Error(), "template") {
				t.Errorf("%s\n%v", text, err)
			}
			continue
		}
		prog, err := gen.Generate(p, "v1model")
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		if _, list := compiler.Compile(compiler.Options{File: "combination.p4", Source: prog.P4}); len(list) > 0 {
			t.Errorf("%s\n%v", text, list)
		}
		compiled++
	}
	t.Logf("%d programs, %d refused", compiled, refused)
}

// combinations returns profiles: all with default sizes, and some with other sizes.
func combinations() []string {
	var list []string
	sizes := []string{
		"", "sizes: {paths: 2, priorities: 1}", "sizes: {paths: 3, leaves: 2, hosts: 8, ports: 8}", "sizes: {paths: 33, priorities: 1, flows: 64, coflows: 16}",
		"sizes: {paths: 64, ports: 256}", "target: {time: us, depth: packets}", "target: {time: us, depth: bytes}",
	}
	for _, base := range []string{"ecmp", "presto", "letflow", "drill", "conga", "hermes", "clb", "plb"} {
		for _, rlb := range []string{"off", "rlb", "rlb_adaptive"} {
			for _, ecn := range []string{"off", "red", "np_ecn"} {
				for _, pfc := range []string{"native", "emulated"} {
					for extra := range 16 {
						on := func(bit int) string { return []string{"off", "on"}[extra>>bit&1] }
						n := len(list)
						list = append(list, fmt.Sprintf("name: c%d\nbase: %s\nrlb: %s\necn: %s\npfc: %s\npcn: %s\npbfs: %s\nint: %s\nqcn: %s\n%s\n",
							n, base, rlb, ecn, pfc, on(0), on(1), on(2), on(3), sizes[n%7*(n/7%2)]))
					}
				}
			}
		}
	}
	return list
}
