// SPDX-License-Identifier: Apache-2.0

package result

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestQuantilesOfStudentsDistribution(t *testing.T) {
	// Two-sided 5 % points from tables.
	for freedom, want := range map[int]float64{1: 12.7062, 2: 4.30265, 4: 2.77645, 9: 2.26216, 29: 2.04523, 1000: 1.96234} {
		if got := studentT(0.05, freedom); math.Abs(got-want) > 1e-4 {
			t.Errorf("%d degrees of freedom: %v, want %v", freedom, got, want)
		}
	}
}

// Fieller's interval excludes a ratio of one exactly if the paired t-test rejects a
// difference of zero.
func TestTheIntervalOfARatioAgreesWithThePairedTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 3 + rng.IntN(8)
		a, b, d := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range a {
			b[i] = 100 + 10*rng.NormFloat64()
			a[i] = b[i] + 6*rng.NormFloat64() + 4
			d[i] = a[i] - b[i]
		}
		r, diff := RatioInterval(a, b, 0.05), meanInterval(d, 0.05)
		if (r.Low > 1) != (diff.Low > 0) || (r.High < 1) != (diff.High < 0) {
			t.Fatalf("the intervals of the ratio, %v, and the difference, %v, disagree", r, diff)
		}
	}
}

// A 95 % interval contains the true ratio with a probability of 95 %.
func TestTheIntervalOfARatioCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const rounds, n = 4000, 5
	hit := 0
	for range rounds {
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			common := 20 * rng.NormFloat64()
			a[i], b[i] = 60+common/2+5*rng.NormFloat64(), 100+common+5*rng.NormFloat64()
		}
		if r := RatioInterval(a, b, 0.05); r.Low <= 0.6 && 0.6 <= r.High {
			hit++
		}
	}
	if share := float64(hit) / rounds; share < 0.94 || share > 0.96 {
		t.Errorf("%.1f %% of the intervals contain the ratio, want 95", 100*share)
	}
}

func TestRatioToZeroIsUnbounded(t *testing.T) {
	if r := RatioInterval([]float64{1, 2}, []float64{0, 0}, 0.05); !math.IsNaN(r.Value) || !math.IsInf(r.High, 1) {
		t.Errorf("got %v", r)
	}
	if r := RatioInterval([]float64{0, 0, 0}, []float64{5, 5, 5}, 0.05); r != (Interval{}) {
		t.Errorf("zero over five: %v, want zero with an interval of zero", r)
	}
}

// The probabilities of a binomial distribution: 2·(1)/2^8 = 0.0078,
// 2·(1+9)/2^9 = 0.039, 2·(1+12)/2^12 = 0.0063.
func TestMedianInterval(t *testing.T) {
	for _, c := range []struct {
		below, zero, above, want int
	}{{0, 0, 0, 0}, {7, 0, 0, 0}, {8, 0, 0, -1}, {0, 9, 8, 0}, {0, 1, 12, 1}, {8, 0, 1, 0}, {11, 0, 1, -1}, {300, 0, 400, 1}, {340, 0, 360, 0}, {2900, 0, 3000, 0}, {2500, 0, 3000, 1}} {
		var d []float64
		for i := range c.below + c.zero + c.above {
			x := -1.0
			if i >= c.below {
				x = 0
			}
			if i >= c.below+c.zero {
				x = 2
			}
			d = append(d, x)
		}
		got := 0
		switch m := medianInterval(d, 0.01); {
		case m.Low > 0:
			got = 1
		case m.High < 0:
			got = -1
		}
		if got != c.want {
			t.Errorf("%d below, %d equal, %d above: %d, want %d", c.below, c.zero, c.above, got, c.want)
		}
	}
	if m := medianInterval([]float64{3, 9, 1, 4, 5, 2, 8, 7, 6}, 0.05); m != (Interval{5, 2, 8}) {
		t.Errorf("the median of 1 to 9 is %v, want 5 with 2 to 8: 2·(1+9)/2^9 is 0.039", m)
	}
}

// Without bounds of the change the difference decides, and is given with its own.
// Whatever is decided has a bound on its side.
func TestADecisionHasABound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	units, medians := 0, 0
	for range 20000 {
		n := 2 + rng.IntN(12)
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			b[i] = max(0, float64(rng.IntN(3))*rng.NormFloat64())
			a[i] = b[i] + float64(rng.IntN(3)) + 0.1*rng.NormFloat64()
			if rng.IntN(8) == 0 {
				a[i] += 100 * rng.NormFloat64()
			}
		}
		for _, than := range []string{"than", "1"} {
			for _, claim := range []Claim{{Less: "p99_fct_us"}, {More: "p99_fct_us"}, {Same: "p99_fct_us"}, {More: "pause_frames"}} {
				claim.With, claim.Than = "with", than
				_, metric := claim.Relation()
				j := (&Outcome{Looks: true}).verdict(&claim, metric, a, slices.Clone(b), 0.05, nil, "")
				low, high := float64(j.Low), float64(j.High)
				if j.Difference != nil {
					low, high = float64(j.Difference.Low), float64(j.Difference.High)
					units++
				}
				if j.Verdict != Inconclusive && (math.IsInf(low, 0) || math.IsInf(high, 0) || math.IsNaN(low) || math.IsNaN(high)) {
					t.Fatalf("%+v of %v and %v %s without an interval: %+v", claim, a, b, j.Verdict, j)
				}
				if key, _ := claim.Relation(); j.Verdict == Holds && (key == "less" && high >= 0 || key == "more" && low <= 0) {
					t.Fatalf("%+v of %v and %v holds with %v to %v", claim, a, b, low, high)
				}
				if strings.Contains(j.Why, "median") {
					medians++
				}
			}
		}
	}
	if units < 1000 || medians < 20 {
		t.Errorf("%d comparisons in units and %d of medians: too few to test them", units, medians)
	}
}

// Seeds are added until a claim is precise or clear, so it is looked at several
// times. Of experiments without any difference, at most 5 % find one nevertheless
// (an interval without zero). With max_seeds_open more of them are decided.
func TestErrorsWithAddedSeeds(t *testing.T) {
	const rounds, most = 500, 16
	claim := Claim{Less: "p99_fct_us", With: "with", Than: "than"}
	for _, c := range []struct {
		open          int
		spread, wrong float64 // standard deviation and most errors, in percent
		noVerdict     float64 // most claims without a verdict, in percent
	}{
		{most, 5, 5, 10}, {most, 10, 5, 35}, {most, 20, 5, 95}, {most, 40, 5, 97}, {most, 80, 5, 98},
		{96, 5, 5, 10}, {96, 10, 5, 20}, {96, 20, 5, 20}, {96, 40, 5, 90}, {96, 80, 5, 95},
	} {
		rng := rand.New(rand.NewPCG(5, 6))
		var wrong, early, open int
		for range rounds {
			var a, b []float64
			for n := 3; ; n = min(n+n/2+1, max(most, c.open)) { // as Plan.MoreSeeds adds them
				if len(a) < most {
					n = min(n, most)
				}
				for len(a) < n {
					a, b = append(a, 100+c.spread*rng.NormFloat64()), append(b, 100+c.spread*rng.NormFloat64())
				}
				j := (&Outcome{Looks: true}).verdict(&claim, "p99_fct_us", a, b, 0.05, nil, "")
				if !j.Precise && (n < most || n < c.open && j.Verdict == Inconclusive) {
					continue
				}
				if j.Low > 0 || j.High < 0 {
					wrong++
					if n < most && j.High-j.Low > 2*Num(claim.within()) {
						early++
					}
				}
				if j.Verdict == Inconclusive {
					open++
				}
				break
			}
		}
		w, e, o := 100*float64(wrong)/rounds, 100*float64(early)/rounds, 100*float64(open)/rounds
		t.Logf("%d seeds, spread %g %%: %.1f %% of the experiments find a difference, %.1f %% early; %.1f %% are open", c.open, c.spread, w, e, o)
		if w > c.wrong || o > c.noVerdict || e > 3 && c.open == most {
			t.Errorf("%d seeds, spread %g %%: %.1f %% of the experiments find a difference, %.1f %% early, %.1f %% are open; want at most %g %%, 3 %% and %g %%",
				c.open, c.spread, w, e, o, c.wrong, c.noVerdict)
		}
	}
}
