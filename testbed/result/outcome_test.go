// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"encoding/csv"
	"math"
	"reflect"
	"strings"
	"testing"
)

// notes returns runs of two arms, with and than, at points of one axis, from
// values by point.
func notes(values map[string][2][]float64) (o *Outcome, runs []RunNote) {
	o = &Outcome{Experiment: "e", Scale: "small", Arms: []Arm{{Name: "with"}, {Name: "than"}}, Axes: []Axis{{Name: "load"}}}
	for k, arm := range []string{"with", "than"} {
		for _, point := range []string{"0.4", "0.6"} {
			if k == 0 && values[point][0] != nil {
				o.Axes[0].Values = append(o.Axes[0].Values, Value{Text: point})
			}
			for i, v := range values[point][k] {
				n := RunNote{Arm: arm, Point: []string{point}, Seed: uint64(i + 1), State: Done, Metrics: map[string]float64{"p99_fct_us": v, "pause_frames": v}}
				if v < 0 {
					n.State = Locked
				}
				runs = append(runs, n)
			}
		}
	}
	return o, runs
}

// A run that drew no flows is no run that did not finish.
func TestRunsWithoutFlows(t *testing.T) {
	for unfinished, want := range []string{"2 of its runs had no measured flows", "3 of its runs did not finish"} {
		o, runs := notes(map[string][2][]float64{"0.6": {{0, 50, 51}, {0, 50, 51}}})
		for i := range runs {
			m := runs[i].Metrics
			if m["flows"] = 2; runs[i].Seed == 1 {
				m["p99_fct_us"], m["flows"] = math.NaN(), 0
			}
		}
		if unfinished > 0 {
			runs[1].State = Locked
		}
		o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}})
		if j := o.Claims[0]; j.Verdict != Inconclusive || j.Why != want {
			t.Errorf("%s (%s), want %s", j.Verdict, j.Why, want)
		}
	}
}

func TestVerdictsFollowFromIntervals(t *testing.T) {
	better := [2][]float64{{60, 62, 58, 61}, {100, 103, 97, 99}}
	worse := [2][]float64{{130, 128, 133, 131}, {100, 103, 97, 99}}
	equal := [2][]float64{{100.5, 102.5, 97, 99.5}, {100, 103, 97.5, 99}}
	noisy := [2][]float64{{50, 180, 60, 110}, {100, 103, 97, 99}}
	loud := [2][]float64{{90, 120, 85, 110}, {100, 103, 97, 99}} // -24 % to +27 %
	none := [2][]float64{{0, 0, 0}, {0, 0, 0}}
	rare := [2][]float64{{0, 3, 0}, {0, 3, 0}} // equal, though the interval of the mean includes zero
	nothing := [2][]float64{{0, 0, 0}, {5, 7, 6}}
	few := [2][]float64{{0, 1, 0, 0, 0}, {0, 0, 0, 0, 0}}
	apart := [2][]float64{{5, 6, 5, 4, 5, 6, 5, 5}, {10, 11, 10, 12, 9, 10, 12, 90000}}
	outlier := [2][]float64{{63, 62, 63, 64, 63, 62, 105, 62, 63, 64, 63, 62}, {64, 63, 64, 63, 62, 63, 788, 63, 64, 63, 62, 63}}
	tail := [2][]float64{{9, 8, 9, 7, 8, 9, 8, 9}, {10, 11, 10, 12, 9, 10, 12, 90000}} // the base's interval includes zero
	fixed := [2][]float64{{60, 60, 60}, {100, 100, 100}}
	shifted := [2][]float64{{60, 62, 58}, {100, 102, 98}} // equal differences of runs that differ
	one := [2][]float64{{60}, {100}}
	stuck := [2][]float64{{60, -1, 58}, {100, 103, 97}}
	for _, c := range []struct {
		values [2][]float64
		claim  Claim
		want   string
		why    string
	}{
		{better, Claim{Less: "p99_fct_us"}, Holds, ""},
		{better, Claim{More: "p99_fct_us"}, Refuted, ""},
		{worse, Claim{Less: "p99_fct_us"}, Refuted, ""},
		{worse, Claim{More: "p99_fct_us"}, Holds, ""},
		{equal, Claim{Less: "p99_fct_us"}, Refuted, "no gain of 10 % or more"},
		{equal, Claim{Same: "p99_fct_us"}, Holds, ""},
		{equal, Claim{Same: "p99_fct_us", Within: 0.001}, Inconclusive, "the interval exceeds ±"},
		{better, Claim{Same: "p99_fct_us"}, Refuted, ""},
		{noisy, Claim{Less: "p99_fct_us"}, Inconclusive, "both signs"},
		{loud, Claim{Less: "p99_fct_us"}, Inconclusive, "both signs"},
		{loud, Claim{Less: "p99_fct_us", Paper: Effect{-0.72, true}}, Refuted, "no gain of 36 % or more, half of the paper's"},
		{loud, Claim{Less: "p99_fct_us", Paper: Effect{-0.4, true}}, Inconclusive, "both signs"},
		{loud, Claim{More: "p99_fct_us", Paper: Effect{0.76, true}}, Refuted, "no gain of 38 % or more, half of the paper's"},
		{none, Claim{Less: "pause_frames"}, Refuted, ""},
		{rare, Claim{Less: "pause_frames"}, Refuted, "no gain of 10 % or more"},
		{rare, Claim{Same: "pause_frames"}, Holds, ""},
		{few, Claim{Less: "pause_frames"}, Refuted, "no gain of one a run"},
		{few, Claim{More: "pause_frames"}, Refuted, "no gain of one a run"},
		{few, Claim{Same: "pause_frames"}, Holds, "less than one a run"},
		{few, Claim{Less: "p99_fct_us"}, Inconclusive, "too few runs"}, // a time has no unit that counts
		{few, Claim{Less: "pause_frames", Than: "1"}, Refuted, "some in 1 of 5 runs"},
		{tail, Claim{Less: "p99_fct_us"}, Holds, "by the median of the runs"},
		{tail, Claim{More: "p99_fct_us"}, Refuted, "by the median of the runs"},
		{tail, Claim{Same: "p99_fct_us"}, Inconclusive, "the interval exceeds ±"},
		{apart, Claim{Same: "p99_fct_us"}, Refuted, "by the median of the runs"},
		{outlier, Claim{Same: "p99_fct_us"}, Holds, "by the median of the runs"},
		{outlier, Claim{Same: "p99_fct_us", Within: 0.001}, Inconclusive, "the interval exceeds ±"},
		{nothing, Claim{Less: "pause_frames"}, Holds, ""},
		{fixed, Claim{Less: "p99_fct_us"}, Holds, "deterministic: all runs give the same"},
		{fixed, Claim{More: "p99_fct_us"}, Refuted, "deterministic: all runs give the same"},
		{shifted, Claim{Less: "p99_fct_us"}, Holds, ""},
		{one, Claim{Less: "p99_fct_us"}, Inconclusive, "one run"},
		{stuck, Claim{Less: "p99_fct_us"}, Inconclusive, "1 of its runs did not finish"},
		{better, Claim{Less: "p99_fct_us", Than: "70"}, Holds, ""},
		{better, Claim{Less: "p99_fct_us", Than: "50"}, Refuted, ""},
		{better, Claim{More: "p99_fct_us", Than: "60"}, Inconclusive, "both signs"},
		{none, Claim{Less: "pause_frames", Than: "1"}, Holds, "deterministic: all runs give the same"},
	} {
		o, runs := notes(map[string][2][]float64{"0.6": c.values})
		c.claim.With = "with"
		if c.claim.Than == "" {
			c.claim.Than = "than"
		}
		o.Fill(runs, []Claim{c.claim})
		if len(o.Claims) != 1 {
			t.Fatalf("%+v: %d verdicts", c.claim, len(o.Claims))
		}
		same := strings.HasPrefix(c.why, "deterministic")
		if j := o.Claims[0]; j.Verdict != c.want || !strings.Contains(j.Why, c.why) || strings.HasPrefix(j.Why, "deterministic") && !same {
			t.Errorf("%s, of %v: %s (%s), effect %.3f from %.3f to %.3f; want %s (%s)", j.Text, c.values, j.Verdict, j.Why, j.Effect, j.Low, j.High, c.want, c.why)
		}
	}
}

func TestClaimsAtPoints(t *testing.T) {
	values := map[string][2][]float64{"0.4": {{90, 92, 91}, {100, 100, 102}}, "0.6": {{60, 62, 61}, {100, 100, 102}}}
	judge := func(c Claim) []Judged {
		o, runs := notes(values)
		c.With, c.Than = "with", "than"
		o.Fill(runs, []Claim{c})
		return o.Claims
	}
	if j := judge(Claim{Less: "p99_fct_us"}); len(j) != 2 || j[0].Point != "load 0.4" || j[1].Point != "load 0.6" {
		t.Errorf("each: %+v", j)
	}
	if j := judge(Claim{Less: "p99_fct_us", At: map[string]string{"load": "0.4"}}); len(j) != 1 || math.Abs(float64(j[0].Effect)+0.096) > 0.001 {
		t.Errorf("at 0.4: %+v", j)
	}
	best := judge(Claim{Less: "p99_fct_us", Over: "best"})
	if len(best) != 1 || !strings.HasPrefix(best[0].Point, "load 0.6 (best of 2") {
		t.Fatalf("best: %+v", best)
	}
	if each := judge(Claim{Less: "p99_fct_us"})[1]; best[0].High-best[0].Low <= each.High-each.Low {
		t.Error("the interval of the best of two points is no wider than that of one")
	}
	if j := judge(Claim{Less: "p99_fct_us", Over: "mean"}); len(j) != 1 || math.Abs(float64(j[0].Value)-76) > 1e-9 {
		t.Errorf("mean: %+v", j)
	}
	o, runs := notes(values)
	o.Fill(runs, []Claim{{More: "p99_fct_us", With: "with", Than: "with", At: map[string]string{"load": "0.4"}, ThanAt: map[string]string{"load": "0.6"}}})
	if j := o.Claims[0]; j.Verdict != Holds || j.Other != 61 {
		t.Errorf("one arm at two points: %+v", j)
	}
	if j := judge(Claim{Less: "p99_fct_us", At: map[string]string{"load": "0.9"}}); len(j) != 1 || j[0].Verdict != Inconclusive {
		t.Errorf("at a point that does not exist: %+v", j)
	}
}

// A claim over several points uses only the seeds that all points have.
func TestPointsArePairedBySeed(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.4": {{-1, 20, 30}, {-1, 40, 60}}, "0.6": {{2, -1, 6}, {4, -1, 12}}})
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than", Over: "mean"}})
	if j := o.Claims[0]; j.Seeds != 1 || j.Value != 18 || j.Other != 36 {
		t.Errorf("%d seeds, %v than %v; want that of seed 3, 18 than 36", j.Seeds, j.Value, j.Other)
	}
}

// Claims with wide intervals need more seeds of their own cells.
func TestImpreciseClaimsWantMoreSeeds(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.4": {{50, 180, 60}, {100, 103, 97}}, "0.6": {{60, 62, 61}, {100, 100, 102}}})
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}})
	if got := o.Wanting(9, 20); !reflect.DeepEqual(got, map[int]int{0: 20, 2: 20}) {
		t.Errorf("cells %v want seeds, want those at 0.4, 0 and 2, up to 20, as their claim is open", got)
	}
	if got := o.Wanting(9, 0); !reflect.DeepEqual(got, map[int]int{0: 9, 2: 9}) {
		t.Errorf("cells %v want seeds, want those at 0.4, 0 and 2, up to 9", got)
	}
	// So do claims with a verdict, up to the smaller limit.
	wide, wideRuns := notes(map[string][2][]float64{"0.4": {{55, 60, 65}, {100, 100, 100}}})
	wide.Fill(wideRuns, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}})
	if got := wide.Wanting(9, 20); wide.Claims[0].Verdict != Holds || !reflect.DeepEqual(got, map[int]int{0: 9, 1: 9}) {
		t.Errorf("the claim %s, cells %v want seeds; want that it holds, and both cells, up to 9", wide.Claims[0].Verdict, got)
	}
	// A precise claim with an interval that excludes zero needs none.
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than", At: map[string]string{"load": "0.6"}}})
	if got := o.Wanting(9, 20); len(got) > 0 {
		t.Errorf("a claim with an interval of ±%.3f wants seeds for %v", (o.Claims[0].High-o.Claims[0].Low)/2, got)
	}
}

// A claim needs no more seeds once an interval of 99.9 % decides it, however wide
// that is.
func TestClearClaimsWantNoMoreSeeds(t *testing.T) {
	with := []float64{30, 60, 25, 55, 40, 48, 35, 58} // 30 to 50 percent of 100
	than := []float64{100, 99, 101, 100, 102, 98, 100, 100}
	equal := []float64{115, 85, 112, 88, 114, 86, 113, 87}
	higher := make([]float64, len(with))
	for i := range with {
		higher[i] = 10 * with[i]
	}
	for _, c := range []struct {
		name  string
		claim Claim
		with  []float64
		seeds int // the least number of them that is enough
	}{
		{"less", Claim{Less: "p99_fct_us"}, with, 6},
		{"more, which is refuted", Claim{More: "p99_fct_us"}, with, 5}, // 3 % more at most, which is no gain
		{"more", Claim{More: "p99_fct_us"}, higher, 7},
		{"same, which is refuted", Claim{Same: "p99_fct_us"}, with, 6},
		{"open", Claim{Less: "p99_fct_us"}, equal, 9},
	} {
		c.claim.With, c.claim.Than = "with", "than"
		for n := 2; n <= len(with); n++ {
			o, runs := notes(map[string][2][]float64{"0.6": {c.with[:n], than[:n]}})
			o.Fill(runs, []Claim{c.claim})
			j := &o.Claims[0]
			if j.Precise != (n >= c.seeds) {
				early := RatioInterval(c.with[:n], than[:n], 0.001)
				t.Errorf("%s: precise is %v with %d seeds and a 99.9 %% interval of %.3f to %.3f; want it from %d", c.name, j.Precise, n, early.Low-1, early.High-1, c.seeds)
			}
		}
	}
}

// A page with notes has two more columns, a claim once for its points, and no column in
// which nothing stands.
func TestPagesHaveNotes(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.4": {{60, 61}, {100, 101}}, "0.6": {{60, 61}, {100, 101}}})
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}})
	var b strings.Builder
	if err := o.WritePage(&b, []ClaimNote{{Of: " (figure 1)", Base: "3 PAUSE", Verdict: "; not significant (FDR)"}, {Of: " (figure 1)", Cause: "luck"}}, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"|claim|load|with|than|change|95 % interval|runs|base runs|verdict|cause|\n",
		"|p99 FCT: shorter with with than with than (figure 1)|0.4|60.5|100.5|", "|2|3 PAUSE|holds; not significant (FDR)||\n||0.6|", "|2||holds|luck|\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

// A page describes the runs of a base once for a point, and writes a long reason that
// claims share once, below the table. A metric that is the same for all arms has one
// column.
func TestPagesRepeatNothing(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.4": {{60, 61}, {100, 101}}, "0.6": {{60, 61}, {60, 61}}})
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than"}, {More: "p99_fct_us", With: "with", Than: "than"}})
	why := "the premise is absent: PAUSE frames with than is 0, not more than 1"
	for i := range o.Claims {
		o.Claims[i].Verdict, o.Claims[i].Why = Inconclusive, []string{why, "short"}[i%2]
	}
	var b strings.Builder
	if err := o.WritePage(&b, []ClaimNote{{Base: "3 PAUSE"}, {Base: "4 PAUSE"}, {Base: "3 PAUSE"}, {Base: "5 PAUSE"}}, ""); err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{
		"The base runs of a setting are described once.": 1, "3 PAUSE": 1, "4 PAUSE": 1, "5 PAUSE": 1,
		"|inconclusive (1)|\n": 2, "|inconclusive: short|\n": 2, "\n1. " + why + "\n\n": 1,
	} {
		if n := strings.Count(b.String(), want); n != times {
			t.Errorf("%q is %d times in the page, want %d:\n%s", want, n, times, &b)
		}
	}
	for name, c := range map[string]struct{ given, want [][]string }{
		"same":      {[][]string{{"flows", "a", "b"}, {"load 0.4", "7", "7"}, {"load 0.6", "8", "8"}}, [][]string{{"flows", "all variants"}, {"load 0.4", "7"}, {"load 0.6", "8"}}},
		"different": {[][]string{{"flows", "a", "b"}, {"load 0.4", "7", "7"}, {"load 0.6", "8", "9"}}, nil},
		"one arm":   {[][]string{{"flows", "a"}, {"load 0.4", "7"}}, nil},
		"metrics":   {[][]string{{"mean", "a", "b"}, {"flows", "7", "7"}}, nil},
	} {
		if c.want == nil {
			c.want = c.given
		}
		if got := uniform(c.given); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestNumbersHaveFourDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.004: "0.00", -0.5: "-0.50", 12.34: "12.3", -14578.83: "-14579", 3984.2: "3984"} {
		if got := number(x); got != want {
			t.Errorf("number(%v) is %q, want %q", x, got, want)
		}
	}
}

func TestOutcomesAreReadAsWritten(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.6": {{0, -1, 58}, {0, 0, 0}}})
	o.Fill(runs, []Claim{{Less: "p99_fct_us", With: "with", Than: "than", Paper: Effect{-0.72, true}, Within: 0.05}})
	var a, b bytes.Buffer
	if err := o.WriteJSON(&a); err != nil {
		t.Fatal(err)
	}
	back, err := ReadOutcome(bytes.NewReader(a.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := back.WriteJSON(&b); err != nil || a.String() != b.String() {
		t.Errorf("error %v; read and written again it is\n%s\nnot\n%s", err, &b, &a)
	}
	if len(o.Remarks) == 0 || !strings.Contains(o.Remarks[0], "1 of 6 runs did not finish") {
		t.Errorf("remarks %q", o.Remarks)
	}
	a.Reset()
	if err := o.RunSheet().WriteCSV(&a); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&a).ReadAll()
	if err != nil || strings.Join(rows[0], " ") != "experiment scale arm load seed metric unit value" || len(rows) != 1+5+6 {
		t.Errorf("error %v, %d rows, head %q; a run that did not finish has no FCT", err, len(rows), rows[0])
	}
}
