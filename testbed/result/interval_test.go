// SPDX-License-Identifier: Apache-2.0

package result

import (
	"strings"
	"testing"
)

// No bound of a printed interval is below -100 %, since no number of a run is negative.
func TestNoChangeBelowMinusHundredPercent(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{-1.342, 0.5, "-100.0 % to +50.0 %"},
		{-103, 8.575, "-100.0 % to +857.5 %"},
		{-1.5, -1.2, "-100.0 % to -100.0 %"},
		{-0.25, 12, "-25.0 % to x 13"},
	} {
		if got := IntervalText(c.low, c.high, changeText); got != c.want {
			t.Errorf("%v to %v is printed as %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

// A run without finished flows has no completion times: zero is not printed as one.
func TestTableWithoutFinishedFlows(t *testing.T) {
	var b strings.Builder
	if err := Table(&b, []*Run{{Profile: "ecmp", Seed: 1, Cut: true, Summary: Summary{Flows: 2}}}); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if (strings.Contains(line, "FCT") || strings.Contains(line, "slowdown")) && !strings.HasSuffix(strings.TrimSpace(line), " -") {
			t.Errorf("without a finished flow the table says %q", line)
		}
	}
	if !strings.Contains(b.String(), "0 of 2") {
		t.Errorf("the table has no number of flows:\n%s", &b)
	}
}
