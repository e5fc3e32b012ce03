// SPDX-License-Identifier: Apache-2.0

package result

import (
	"strings"
	"testing"
)

// Storms are summed up by cause, worst first; what flows lost to a cause counts once. Each
// storm has two sentences.
func TestCausesArePrinted(t *testing.T) {
	lost := &LostToCause{Without: "part 2 of the traffic, to h1", Flows: 3, FCTUS: 40}
	incast := PauseRoot{Node: "l1", Port: 1, Peer: "h1", Cause: CauseIncast, Why: "more arrives for h1 than its link of 40 Gb/s takes: 4 flows from 4 hosts"}
	c := &Causes{PausedUS: 40, WaitedUS: 100, VictimUS: 25, VictimPausedUS: 10, Victims: 1, Storms: []PauseStorm{
		{Root: PauseRoot{Node: "l2", Port: 1, Peer: "h5", Cause: CauseStorming, Why: "h5 sends PAUSE without end, for 900 us without a gap"}, PausedUS: 10, WaitedUS: 40, Packets: 2, Waiting: 1},
		{Root: incast, PausedUS: 20, WaitedUS: 35, VictimUS: 25, Packets: 3, Waiting: 2, VictimCount: 1, Lost: lost},
		{Root: incast, PausedUS: 10, WaitedUS: 25, Packets: 4, Waiting: 1, Lost: lost},
	}}
	var b strings.Builder
	PrintCauses(&b, []*Run{{Causes: c}})
	var lines []string
	for l := range strings.Lines(b.String()) {
		lines = append(lines, strings.Join(strings.Fields(l), " "))
	}
	const want = "3 storms paused links for 40.0 µs in total. Flows waited for 100.0 µs, of which 25.0 µs (25 %) are of victims: 1 flow. In 25 % of the paused time a victim waited.\n" +
		"cause storms paused µs packets waited µs victims µs FCT lost µs\nincast 2 30.0 7 60.0 25.0 40.0\nstorming NIC 1 10.0 2 40.0 0.0 -\n"
	if got := strings.Join(lines[1:], "\n"); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for i := range c.Storms {
		c.Storms[i].Lost = nil
		if text := c.Storms[i].Sentence(); strings.Count(text, ". ") != 1 || !strings.HasSuffix(text, ".") {
			t.Errorf("not two sentences: %s", text)
		}
	}
}
