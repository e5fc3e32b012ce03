// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/gen"
)

// TestCombinationsOnTofino takes profiles that nobody wrote, of those that can
// be generated for Tofino.
func TestCombinationsOnTofino(t *testing.T) {
	cases, programs := count(15, 5_000), 20
	switch {
	case testing.Short():
		programs = 6
	case cases >= 300:
		programs = 60
	}
	r := rand.New(rand.NewPCG(8, 8))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for n := 0; n < programs; {
		p := smallTofino(t, "ecmp")
		p.Name = fmt.Sprintf("combination-%d", n)
		p.Base = pick("ecmp", "presto", "letflow", "drill", "conga", "hermes", "clb", "plb")
		p.Choose("rlb", pick("off", "rlb", "rlb_adaptive"))
		for _, c := range []struct {
			key   string
			often int
		}{{"pcn", 4}, {"pbfs", 3}, {"int", 3}, {"qcn", 3}} {
			if r.IntN(c.often) == 0 {
				p.Choose(c.key, "on")
			}
		}
		p.Choose("ecn", pick("off", "red", "np_ecn"))
		if p.Choice("qcn") == "on" {
			p.Choose("rlb", "off") // or there is none
		}
		p.Sizes.Paths = 2 + r.IntN(7)
		if p.Check() != nil {
			continue
		}
		if _, err := gen.Generate(p, "tna"); err != nil {
			continue // this target does not have it
		}
		n++
		t.Run(fmt.Sprintf("%s %s %v paths %d", p.Name, p.Base, p.Choices, p.Sizes.Paths), func(t *testing.T) {
			t.Parallel()
			j := newTofino(t, p, "", "")
			for i := range cases {
				if diff := j.Run(uint64(n), uint64(i)); diff != "" {
					t.Fatalf("case %d: %s", i, diff)
				}
			}
			t.Logf("%d cases, %d steps, %v", cases, j.Steps, j.Seen)
		})
	}
}
