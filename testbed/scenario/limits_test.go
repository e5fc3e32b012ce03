// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
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

// Times of a file do not overflow, and a timer does not fire without end in no time.
// Links with a delay of 100 days would give flows a negative ideal time, and a timeout
// of 1 ps would make a run last for ever.
func TestTimesOfAFileAreLimited(t *testing.T) {
	const text = `name: x
network: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 3, rate: 40Gbps, delay: %s}%s}
profile: ecmp
traffic: [{incast: {degree: 2, size: 20KB, to: h1}}]
%s
`
	for _, c := range []struct{ delay, network, more, want string }{
		{"9000000s", "", "", "has a delay of 9000000s, more than 10s"},
		{"11s", "", "", "the link h1-l1 has a delay of 11s, more than 10s"},
		{"2us", ", change: [{link: l1-s1, delay: 11s}]", "", "the link l1-s1 has a delay of 11s, more than 10s"},
		{"2us", "", "hosts: {rto: 1ps}", "x.yaml:5:14: rto is 1ps: a timer of hosts has at least 100ns, so that a run ends"},
		{"2us", "", "hosts: {recovery: irn, rto_low: 99ns}", "rto_low is 99ns"},
		{"2us", "", "hosts: {coflows: {scheduler: varys, interval: 1ps}}", "interval is 1ps"},
		{"2us", "", "hosts: {hermes: {on: true, probe: 1ps}}", "probe is 1ps"},
		{"2us", "", "hosts: {cc: {algorithm: dcqcn, dcqcn: {alpha_timer: 1ps}}}", "alpha_timer is 1ps"},
	} {
		if _, err := Parse("x.yaml", fmt.Appendf(nil, text, c.delay, c.network, c.more)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s %s: %.300v, want %q", c.delay, c.network, c.more, err, c.want)
		}
	}
	for _, more := range []string{"hosts: {rto: 0s}", "hosts: {rto: 100ns}", "until: 9000000s"} {
		if _, err := Parse("x.yaml", fmt.Appendf(nil, text, "2us", "", more)); err != nil {
			t.Errorf("%s: %v", more, err)
		}
	}
}
