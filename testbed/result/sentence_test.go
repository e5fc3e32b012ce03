// SPDX-License-Identifier: Apache-2.0

package result

import "testing"

func TestClaimsAreSentences(t *testing.T) {
	for _, c := range []struct {
		claim Claim
		want  string
	}{
		{Claim{Less: "max_queue_bytes", With: "x", Than: "y"}, "longest egress queue: shorter with x than with y"},
		{Claim{Less: "p99_fct_us", With: "x", Than: "y"}, "p99 FCT: shorter with x than with y"},
		{Claim{Less: "pause_frames.spine", With: "x", Than: "y"}, "PAUSE frames at spines: fewer with x than with y"},
		{Claim{More: "completion_us.part1", With: "pfc", Than: "pfc-off"}, "end of the last measured flow of part 1: later with pfc than with pfc-off"},
		{Claim{Less: "p50_fct_us.m", With: "x", Than: "y", ThanAt: map[string]string{"load": "0.4"}}, "median FCT, size M: shorter with x than with y at load 0.4"},
		{Claim{More: "goodput_gbps", With: "x", Than: "20"}, "goodput: higher than 20 with x"},
		{Claim{Less: "pause_frames", With: "x", Than: "1"}, "PAUSE frames: none with x"},
		{Claim{Less: "stalled_ratio", With: "x", Than: "y"}, "share of stalled flows: lower with x than with y"},
		{Claim{Less: "deadlocked", With: "x", Than: "y"}, "deadlocks: less often with x than with y"},
		{Claim{Same: "avg_fct_us", With: "x", Than: "y"}, "average FCT: the same with x as with y"},
		{Claim{Same: "flows", With: "x", Than: "3"}, "measured flows: 3 with x"},
	} {
		if got := c.claim.Sentence(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A claim of an effect "up to" so much is that of the point with the largest effect, of
// those that test it, and is not decided against it while another point is open.
func TestUpTo(t *testing.T) {
	less := &Claim{Less: "avg_fct_us"}
	at := func(point, verdict string, effect float64) Judged {
		return Judged{Point: point, Verdict: verdict, Effect: Num(effect), Precise: true}
	}
	for _, c := range []struct {
		name    string
		all     []Judged
		verdict string
		point   string
	}{
		{"the largest", []Judged{at("0.2", Refuted, 0.1), at("0.8", Holds, -0.3)}, Holds, "0.8 (best of 2 points)"},
		{"a larger one that tests nothing", []Judged{at("0.2", NotTested, -0.5), at("0.8", Holds, -0.3)}, Holds, "0.8 (best of 2 points)"},
		{"none tests it", []Judged{at("0.2", NotTested, -0.1), at("0.8", NotTested, -0.2)}, NotTested, "0.8 (best of 2 points)"},
		{"one is open", []Judged{at("0.2", Refuted, -0.02), at("0.8", Inconclusive, 0.01)}, Inconclusive, "0.2 (best of 2 points)"},
		{"none has a gain", []Judged{at("0.2", Refuted, -0.02), at("0.8", Refuted, 0.01)}, Refuted, "0.2 (best of 2 points)"},
	} {
		if j := upTo(less, c.all); j.Verdict != c.verdict || j.Point != c.point {
			t.Errorf("%s: %s at %s, want %s at %s", c.name, j.Verdict, j.Point, c.verdict, c.point)
		}
	}
}

func TestWordsOfVerdicts(t *testing.T) {
	j := &Judged{Verdict: Refuted, Why: "no gain of 10 % or more"}
	for source, want := range map[string]string{"RLB, figure 12": "not reproduced: no gain of 10 % or more", "": "not supported: no gain of 10 % or more"} {
		if got := (&Outcome{Source: source}).Says(j); got != want {
			t.Errorf("with source %q: %q, want %q", source, got, want)
		}
	}
}
