// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
)

// A host that pauses its switch for ever stops, without a watchdog, the flows that share
// a link with those to it. With one it costs only those to it. Results are the same on
// any number of threads.
func TestStormInAFabric(t *testing.T) {
	const text = `name: s
network:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}
  switch: {buffer: 2MB, pfc: {xoff: 60KB, WATCHDOG}}
profile: ecmp
until: 40ms
faults: [{storm: h3, from: 20us}]
traffic:
- long: {from: h1, to: h3, size: 5MB}
- long: {from: h2, to: h4, size: 5MB}
`
	for _, c := range []struct {
		watchdog string
		finished bool
		remark   string
	}{
		{"alpha: 0", false, ""},
		{"watchdog: {detection: 1ms}", true, "l2 port 1 class 3 was in a storm 1 times"},
		{"watchdog: {detection: 1ms, restoration: 5ms, links: hosts}", true, "l2 port 1 class 3 was in a storm 1 times"},
		{"watchdog: {detection: 1ms, action: forward}", true, "of which 0 are over; 0 packets were dropped"},
		{"watchdog: {detection: 1ms, action: alert}", false, "l2 port 1 class 3 was in a storm 1 times"},
		{"watchdog: {detection: 1ms, links: switches, action: off}", false, ""},
	} {
		s := mustParse(t, strings.Replace(text, "WATCHDOG", c.watchdog, 1), Paper)
		r := onThreads(t, s.Cases()[0], 1)
		var ended bool
		for _, f := range r.Raw.Flows {
			if f.Dst == r.Raw.Flows[1].Dst {
				ended = f.Finished
			}
		}
		remarks := strings.Join(r.Remarks, "; ")
		if ended != c.finished || !strings.Contains(remarks, c.remark) || (remarks == "") != (c.remark == "") {
			t.Errorf("%s: the flow that shares a link has ended: %v, want %v; remarks %q, want %q", c.watchdog, ended, c.finished, remarks, c.remark)
		}
		if c.remark == "" {
			continue
		}
		one, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		two, err := json.Marshal(onThreads(t, s.Cases()[0], 2))
		if err != nil {
			t.Fatal(err)
		}
		if string(one) != string(two) {
			t.Errorf("%s: results differ with two threads", c.watchdog)
		}
	}
	for keys, want := range map[string]string{
		"watchdog: {action: dorp}":   `no action is called "dorp" (did you mean "drop"?)`,
		"watchdog: {links: all}":     "must be hosts or switches",
		"watchdog: {detection: -1s}": "write a number and one of s, ms",
	} {
		_, err := ParseAt("s.yaml", []byte(strings.Replace(text, "WATCHDOG", keys, 1)), Paper)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", keys, err, want)
		}
	}
}

func onThreads(t *testing.T, c *Case, threads int) *result.Run {
	t.Helper()
	prog, err := c.Build(new(program.Cache))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run(t.Context(), prog, 1, Options{Event: quiet, Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
