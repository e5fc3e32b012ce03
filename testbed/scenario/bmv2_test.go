// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/testbed/result"
)

const forBMv2 = `
name: p
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}
  switch: {buffer: 4MB, pfc: {xoff: 20KB}}
bmv2: {packet_rate: 400}
profiles: [%s]
hosts: {recovery: irn}
traffic:
- incast: {degree: 3, size: 60KB, to: h1, start: 20us}
watch: {registers: [ingress_qlen], every: 10us}
until: 20ms
`

// A scenario for BMv2 has BMv2's units and flow control by the program, whose times are
// longer by the scale.
func TestProgramsForBMv2(t *testing.T) {
	s, err := Parse("p.yaml", fmt.Appendf(nil, forBMv2, "plb, pcn, pbfs, clb, rlb-drill"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Cases() {
		p := c.Loaded()
		if c.Scale() != 12_500 || p.Units != (manifest.Units{Time: manifest.Microseconds, Depth: manifest.Packets}) || p.Choice("pfc") != "emulated" || p.Network.Scale != 12_500 {
			t.Errorf("%s: scale %d, %+v, pfc: %s", c.Arm, c.Scale(), p.Units, p.Choice("pfc"))
		}
	}
	for want, text := range map[string]string{
		"BMv2 cannot run profile conweave":            fmt.Sprintf(forBMv2, "conweave"),
		"there is nothing to scale":                   strings.Replace(strings.Replace(fmt.Sprintf(forBMv2, "plb"), "400", "100000", 1), "40Gbps", "100Mbps", 1),
		"BMv2 runs programs for v1model, not for tna": fmt.Sprintf(forBMv2, "plb@tna"),
		"packet_rate is -1":                           strings.Replace(fmt.Sprintf(forBMv2, "plb"), "400", "-1", 1),
	} {
		if _, err := Parse("p.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The switches' clocks have the time of the slower network, so that a program's timers
// are as long as in the network that its times are for: an incast takes about the time
// that it takes with programs of the network itself, and registers are read over time.
func TestClocksForBMv2(t *testing.T) {
	run := func(text string) *result.Run {
		t.Helper()
		s, err := Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		runs, err := s.Run(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return runs[0]
	}
	text := fmt.Sprintf(forBMv2, "rlb-drill")
	slower := run(text)
	same := run(strings.Replace(strings.Replace(text, "bmv2: {packet_rate: 400}\n", "", 1), "rlb-drill", "rlb-drill-bmv2", 1))
	if slower.Summary.Finished != 3 || slower.Summary.PauseFrames == 0 {
		t.Errorf("%d of 3 flows finished, %d PAUSE frames", slower.Summary.Finished, slower.Summary.PauseFrames)
	}
	if a, b := slower.Summary.AvgFCTUS, same.Summary.AvgFCTUS; a > 1.2*b || b > 1.2*a {
		t.Errorf("average FCT is %.1f us with the slower clock, and %.1f us with the network's", a, b)
	}
	var most uint64
	for _, l := range slower.Watched {
		for _, v := range l.V {
			most = max(most, v)
		}
	}
	if most < 20_000 {
		t.Errorf("the longest watched queue has %d bytes, and PAUSE is sent at 20 KB", most)
	}
	if len(same.Watched) != 0 {
		t.Error("registers are kept over time without bmv2, too")
	}
}

// BMv2's queues count packets, so flows in opposite directions, whose acknowledgements take
// as many turns as data, take twice as long as where queues count bytes.
func TestQueuesCountAsTheSwitchDoes(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(forBMv2, "drill"), "- incast: {degree: 3, size: 60KB, to: h1, start: 20us}",
		"- burst: {from: h1, to: h3, size: 600KB}\n- burst: {from: h3, to: h1, size: 600KB}", 1)
	run := func(change func(*Scenario)) (fct float64, key string) {
		t.Helper()
		s, err := Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		change(s)
		runs, err := s.Run(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return runs[0].Summary.AvgFCTUS, string(s.Cases()[0].Canonical())
	}
	packets, bmv2 := run(func(*Scenario) {})
	bytes, soft := run((*Scenario).CountBytes)
	if packets < 1.6*bytes || packets > 2.2*bytes {
		t.Errorf("average FCT is %.1f us with queues that count packets, and %.1f us with those that count bytes", packets, bytes)
	}
	if bmv2 == soft {
		t.Error("runs have the same key")
	}
	if !json.Valid([]byte(soft)) {
		t.Errorf("not JSON: %s", soft)
	}
	text = strings.Replace(text, "bmv2: {packet_rate: 400}\n", "", 1)
	if _, before := run(func(*Scenario) {}); true {
		if _, after := run((*Scenario).CountBytes); after != before {
			t.Error("a case whose queues count bytes anyway has another key")
		}
	}
}
