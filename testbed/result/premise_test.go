// SPDX-License-Identifier: Apache-2.0

package result

import (
	"math"
	"strings"
	"testing"
)

func TestPremises(t *testing.T) {
	more := Premise{More: "stalled_ratio", Than: 0.01}
	less := Premise{Less: "stalled_ratio", Than: 0.01}
	for _, c := range []struct {
		name    string
		premise Premise
		than    string
		stalled [2]float64 // with, than
		acts    [2]float64 // reroutes of with, than; negative: none are counted
		same    bool
		want    string
		why     string
	}{
		{"no premise", Premise{}, "than", [2]float64{0, 0}, [2]float64{-1, -1}, false, Holds, ""},
		{"present at the base", more, "than", [2]float64{0, 0.2}, [2]float64{3, -1}, false, Holds, ""},
		{"absent at the base", more, "than", [2]float64{0.2, 0.002}, [2]float64{3, -1}, false, NotTested, "the premise is absent: share of stalled flows with than is 0.002, not more than 0.01"},
		{"no pause wanted, but there", less, "than", [2]float64{0.2, 0.2}, [2]float64{-1, -1}, false, NotTested, "not less than 0.01"},
		{"a number's premise is the arm's own", more, "200", [2]float64{0.002, 0.2}, [2]float64{-1, -1}, false, NotTested, "with with is 0.002"},
		{"idle", Premise{}, "than", [2]float64{0, 0}, [2]float64{0, -1}, false, Idle, "the program did nothing"},
		{"both idle", Premise{}, "than", [2]float64{0, 0}, [2]float64{0, 0}, false, Idle, ""},
		{"one acts", Premise{}, "than", [2]float64{0, 0}, [2]float64{0, 1}, false, Holds, ""},
		{"same as a base when idle", Premise{}, "than", [2]float64{0, 0}, [2]float64{0, -1}, true, Refuted, ""},
		{"a number is no base", Premise{}, "200", [2]float64{0, 0}, [2]float64{0, -1}, false, Holds, ""},
	} {
		o := &Outcome{Arms: []Arm{{Name: "with"}, {Name: "than"}}}
		var runs []RunNote
		for i, arm := range []string{"with", "than"} {
			for seed, fct := range [][]float64{{60, 62, 58, 61}, {100, 103, 97, 99}}[i] {
				m := map[string]float64{"avg_fct_us": fct, "stalled_ratio": c.stalled[i]}
				if c.acts[i] >= 0 {
					m["reroutes"] = c.acts[i]
				}
				runs = append(runs, RunNote{Arm: arm, Seed: uint64(seed), State: Done, Metrics: m})
			}
		}
		claim := Claim{Less: "avg_fct_us", With: "with", Than: c.than, Premise: c.premise}
		if c.same {
			claim.Less, claim.Same = "", "avg_fct_us"
		}
		o.Fill(runs, []Claim{claim})
		j := o.Claims[0]
		if j.Verdict != c.want || !strings.Contains(j.Why, c.why) {
			t.Errorf("%s: %s, %s", c.name, j.Verdict, j.Why)
		}
		if (j.Verdict == NotTested || j.Verdict == Idle) && !j.Precise {
			t.Errorf("%s: wants more seeds", c.name)
		}
		if n := o.Count()[c.want]; n != 1 {
			t.Errorf("%s: counted %d times", c.name, n)
		}
	}
}

// A scheme that costs something where its premise is absent is not hidden behind "not
// tested".
func TestHarmWithoutPremise(t *testing.T) {
	o := &Outcome{Arms: []Arm{{Name: "clb"}, {Name: "conga"}}}
	var runs []RunNote
	for arm, values := range map[string][]float64{"clb": {130, 128, 133, 131}, "conga": {100, 103, 97, 99}} {
		for seed, cct := range values {
			runs = append(runs, RunNote{Arm: arm, Seed: uint64(seed), State: Done, Metrics: map[string]float64{"avg_cct_us": cct, "stalled_ratio": 0}})
		}
	}
	o.Fill(runs, []Claim{{Less: "avg_cct_us", With: "clb", Than: "conga", Paper: Effect{-0.39, true}, Premise: Premise{More: "stalled_ratio", Than: 0.01}}})
	j := &o.Claims[0]
	if j.Verdict != NotTested || !j.Contrary() || j.Answer() != Contrary || !strings.HasPrefix(j.Why, "the effect is the opposite, and the premise is absent") {
		t.Errorf("%s (%s), answer %s", j.Verdict, j.Why, j.Answer())
	}
}

func TestAnswersToAPapersNumber(t *testing.T) {
	for _, c := range []struct {
		verdict           string
		key               string
		paper             float64
		effect, low, high float64
		want              string
	}{
		{Holds, "less", -0.4, -0.3, -0.4, -0.2, Reproduced},
		{Holds, "less", -0.4, -0.1, -0.15, -0.05, Smaller},
		{Holds, "more", 0.4, 0.1, 0.05, 0.15, Smaller},
		{Holds, "same", 0, 0.01, -0.01, 0.02, Reproduced},
		{Refuted, "less", -0.4, 0.01, -0.02, 0.04, None},
		{Refuted, "less", -0.4, 0.2, 0.1, 0.3, Opposite},
		{Refuted, "more", 0.4, -0.2, -0.3, -0.1, Opposite},
		{NotTested, "less", -0.4, 0, 0, 0, NotTested},
		{Idle, "less", -0.4, 0, 0, 0, Idle},
		{Inconclusive, "less", -0.4, 0, -1, 1, Inconclusive},
	} {
		j := Judged{Verdict: c.verdict, Effect: Num(c.effect), Low: Num(c.low), High: Num(c.high)}
		j.Claim.Paper = Effect{c.paper, true}
		switch c.key {
		case "less":
			j.Claim.Less = "avg_fct_us"
		case "more":
			j.Claim.More = "avg_fct_us"
		default:
			j.Claim.Same = "avg_fct_us"
		}
		if got := j.Answer(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	units := Judged{Verdict: Refuted, Claim: Claim{Less: "pause_frames", Paper: Effect{-0.5, true}}, Low: Num(math.Inf(-1)), High: Num(math.Inf(1)), Difference: &Difference{10, 5, 15}}
	if got := units.Answer(); got != Opposite {
		t.Errorf("by the difference: %s", got)
	}
	if got := (&Judged{Verdict: Holds}).Answer(); got != "" {
		t.Errorf("without a number: %s", got)
	}
}

// A claim about two congestion controls that act on marks is idle where no packet was
// marked, whatever notifications PCN's receivers send and a load balancer counts.
func TestIdleWithoutMarks(t *testing.T) {
	type arm struct {
		cc                    string
		marks, cnps, reroutes float64 // negative: not counted
	}
	for _, c := range []struct {
		name       string
		with, than arm
		want       string
	}{
		{"no mark", arm{"pcn", 0, 700, -1}, arm{"dcqcn_paper", 0, 0, -1}, Idle},
		{"no congestion control at all", arm{"pcn", 0, 700, -1}, arm{"none", 0, 0, -1}, Idle},
		{"one is marked", arm{"pcn", 3, 700, -1}, arm{"dcqcn_paper", 0, 0, -1}, Holds},
		{"the other is marked", arm{"pcn", 0, 700, -1}, arm{"dcqcn_paper", 3, 1, -1}, Holds},
		{"told of packets out of order", arm{"pcn", 0, 700, -1}, arm{"dcqcn_paper", 0, 9, -1}, Holds},
		{"one acts on delays", arm{"pcn", 0, 700, -1}, arm{"timely", 0, 0, -1}, Holds},
		{"an outcome without marks", arm{"pcn", -1, 700, -1}, arm{"dcqcn_paper", -1, 0, -1}, Holds},
		{"the same control, without a mark", arm{"pcn", 0, 700, -1}, arm{"pcn", 0, 700, -1}, Holds},
		{"no reroute, but marks", arm{"pcn", 3, 700, 0}, arm{"dcqcn_paper", 3, 4, 0}, Holds},
		{"no mark, but reroutes", arm{"pcn", 0, 700, 5}, arm{"dcqcn_paper", 0, 0, 5}, Holds},
		{"no reroute of one congestion control", arm{"dcqcn_paper", 3, 4, 0}, arm{"dcqcn_paper", 3, 4, -1}, Idle},
	} {
		o := &Outcome{Arms: []Arm{{Name: "with", CC: c.with.cc}, {Name: "than", CC: c.than.cc}}}
		var runs []RunNote
		for i, a := range []arm{c.with, c.than} {
			for seed, fct := range [][]float64{{60, 62, 58, 61}, {100, 103, 97, 99}}[i] {
				m := map[string]float64{"avg_fct_us": fct}
				for name, v := range map[string]float64{MarkedPackets: a.marks, "cnps": a.cnps, "reroutes": a.reroutes} {
					if v >= 0 {
						m[name] = v
					}
				}
				runs = append(runs, RunNote{Arm: o.Arms[i].Name, Seed: uint64(seed), State: Done, Metrics: m})
			}
		}
		o.Fill(runs, []Claim{{Less: "avg_fct_us", With: "with", Than: "than"}})
		if j := o.Claims[0]; j.Verdict != c.want {
			t.Errorf("%s: %s, %s", c.name, j.Verdict, j.Why)
		}
	}
}

// What a fault costs a program is not idle because the program does nothing about it.
func TestOneArmAtTwoPointsIsNotIdle(t *testing.T) {
	o := &Outcome{Arms: []Arm{{Name: "rlb"}}, Axes: []Axis{{Name: "failure", Values: []Value{{Text: "none"}, {Text: "drops"}}}}}
	var runs []RunNote
	for point, values := range map[string][]float64{"none": {60, 62, 58, 61}, "drops": {100, 103, 97, 99}} {
		for seed, fct := range values {
			runs = append(runs, RunNote{Arm: "rlb", Point: []string{point}, Seed: uint64(seed), State: Done, Metrics: map[string]float64{"avg_fct_us": fct, "reroutes": 0}})
		}
	}
	o.Fill(runs, []Claim{{More: "avg_fct_us", With: "rlb", Than: "rlb", At: map[string]string{"failure": "drops"}, ThanAt: map[string]string{"failure": "none"}}})
	if j := o.Claims[0]; j.Verdict != Holds {
		t.Errorf("%s, %s", j.Verdict, j.Why)
	}
}
