// SPDX-License-Identifier: Apache-2.0

package result

import (
	"strings"
	"testing"
)

// star is s1 above l1 and l2, with h1 and h2 at l1 and h3 and h4 at l2.
var star = &Network{
	Nodes: []NetNode{{"h1", 0}, {"h2", 0}, {"h3", 0}, {"h4", 0}, {"l1", 1}, {"l2", 1}, {"s1", 2}},
	Links: []NetLink{{A: 0, AP: 1, B: 4, BP: 1, Rate: 40e9}, {A: 1, AP: 1, B: 4, BP: 2, Rate: 40e9}, {A: 2, AP: 1, B: 5, BP: 1, Rate: 40e9}, {A: 3, AP: 1, B: 5, BP: 2, Rate: 40e9},
		{A: 4, AP: 3, B: 6, BP: 1, Rate: 40e9}, {A: 5, AP: 3, B: 6, BP: 2, Rate: 40e9}},
}

// A chain of pauses by time and port leads to the port of the receiver that most bytes go
// to, with its flows; with queues, to the longest.
func TestCoarseCauses(t *testing.T) {
	chain := []Pause{
		{"s1", 1, 3, 10_000, 50_000}, {"l2", 3, 3, 15_000, 50_000}, {"h3", 1, 3, 20_000, 45_000}, {"h4", 1, 3, 21_000, 46_000}, {"h3", 1, 3, 400_000, 410_000},
	}
	flows := []Flow{{Src: "h3", Dst: "h1", Bytes: 3000}, {Src: "h4", Dst: "h1", Bytes: 1000}, {Src: "h4", Dst: "h2", Bytes: 500}, {Src: "h3", Dst: "h2", Bytes: 90000, StartNS: 900_000}}
	for name, c := range map[string]struct {
		queue func(link, dir int, from, until int64) int64
		want  string
	}{
		"flows":  {nil, "l1 port 1 to h1"},
		"queues": {func(link, dir int, _, _ int64) int64 { return map[int]int64{3: 5, 10: 7, 9: 8}[2*link+dir] }, "l1 port 2 to h2"},
	} {
		k := &Coarse{Network: star, Pauses: chain, Flows: flows, Queue: c.queue, Gap: 100_000}
		got := k.Causes()
		if len(got.Storms) < 2 || got.Storms[0].Root.Place() != c.want || got.Storms[0].Root.Cause != CauseIncast {
			t.Errorf("%s: %+v", name, got.Storms)
			continue
		}
		s := &got.Storms[0]
		if len(s.Links) != 4 || s.Links[0].From != "s1" || s.Links[1].From != "l2" || s.Links[1].Parent != 0 || s.Links[2].Parent != 1 || s.Links[3].Depth != 3 {
			t.Errorf("%s: links %+v", name, s.Links)
		}
		if text := s.Sentence(); !strings.Contains(text, "which flows waited is not known") {
			t.Errorf("%s: %s", name, text)
		}
		if c.queue == nil && (s.RootFlowCount != 2 || s.RootFlows[0].Src != "h3" || s.RootFlows[0].Share != 0.75) {
			t.Errorf("flows %+v", s.RootFlows)
		}
	}
	// A host that pauses its switch, and one that does not stop.
	for end, want := range map[int64]string{50_000: CauseReceiver, 2_000_000: CauseStorming} {
		k := &Coarse{Network: star, Pauses: []Pause{{"l1", 1, 3, 10_000, end}, {"s1", 1, 3, 12_000, 40_000}}, Gap: 100_000}
		if got := k.Causes(); len(got.Storms) != 1 || got.Storms[0].Root.Cause != want || got.Storms[0].Root.Place() != "h1" || len(got.Storms[0].Links) != 2 {
			t.Errorf("until %d: %+v", end, got.Storms)
		}
	}
}
