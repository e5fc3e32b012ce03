// SPDX-License-Identifier: Apache-2.0

package judge

import "testing"

// Where no register has all paths in it, there may be more than eight.
func TestManyPathsOnTofino(t *testing.T) {
	for _, name := range []string{"ecmp", "drill", "letflow", "presto", "clb", "conga", "hermes", "plb"} {
		t.Run(name, func(t *testing.T) {
			p := smallTofino(t, name)
			p.Sizes.Paths, p.Sizes.Ports = 23, 32
			j := newTofino(t, p, "", "")
			for n := range count(60, 20_000) {
				if diff := j.Run(1, uint64(n)); diff != "" {
					t.Fatalf("case %d: %.3000s", n, diff)
				}
			}
		})
	}
}
