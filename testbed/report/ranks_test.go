// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
)

// A page shows what the ranks of a job do over time, and the messages that delayed it.
func TestPageShowsRanks(t *testing.T) {
	run := &result.Run{Scenario: "job", Arm: "ecmp", Seed: 1, Jobs: []result.Job{{Name: "part 1", Lines: []result.RankLine{
		{Rank: 0, Host: "h1", Spans: []result.Span{{StartNS: 0, EndNS: 50_000, What: result.Computing}, {StartNS: 50_000, EndNS: 100_000, What: result.Sending}}},
		{Rank: 1, Host: "h2", Spans: []result.Span{{StartNS: 100_000, EndNS: 200_000, What: result.Computing}}},
	}, Last: []result.Last{{Src: "h1", Dst: "h2", Step: 7, Where: "l1 port 2 was paused 30.0 µs"}}}}}
	var b bytes.Buffer
	if err := Write(&b, Options{Title: "t"}, Source{Runs: []*result.Run{run}}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		`<rect class="compute" x="0" y="0" width="250"`, `<rect class="send" x="250" y="0" width="250"`, `<rect class="compute" x="500" y="12" width="500"`,
		"rank 1, h2: compute from 100.0 to 200.0 µs", "step 7 of rank 0, h1 to h2", "l1 port 2 was paused 30.0 µs",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
