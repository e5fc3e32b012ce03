// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"strings"
	"testing"
)

// A file cannot ask for more seeds or points of time lines than a machine has memory
// for. Before, each of these took memory or time until it was stopped.
func TestListsOfAFileAreLimited(t *testing.T) {
	const text = `name: x
network: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 3, rate: 40Gbps, delay: 2us}}
profile: ecmp
traffic: [{incast: {degree: 2, size: 20KB, to: h1}}]
`
	for _, c := range []struct{ more, want string }{
		{"sample: 1ps\nuntil: 1s\n", "x.yaml:5:9: sample is 1ps, must be from zero, for none, and have at most 10000000 points until 1s: make it at least 100ns"},
		{"sample: -1us\n", "x.yaml:5:9: sample: time \"-1us\""},
		{"watch: {registers: [], every: 1ps}\n", "x.yaml:5:31: every is 1ps"},
		{"seeds: [" + strings.Repeat("1,", 200_000) + "1]\n", "x.yaml:5:8: 200001 seeds, more than 100000"},
		{"seeds: [" + strings.Repeat("1,", 90_000) + "1]\n", "seed 1 is given twice"},
	} {
		if _, err := Parse("x.yaml", []byte(text+c.more)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.30s: %.300v, want %q", c.more, err, c.want)
		}
	}
	if _, err := Parse("x.yaml", []byte(text+"sample: 1us\nuntil: 2s\n")); err != nil {
		t.Error(err)
	}
}
