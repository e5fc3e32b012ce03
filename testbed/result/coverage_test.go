// SPDX-License-Identifier: Apache-2.0

package result

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The 95 % interval of a claim has the true change in at least 95 % of simulated
// experiments to which seeds are added by the rule of Plan.MoreSeeds, whether the
// differences between two arms are normal or have long tails.
func TestIntervalsCover(t *testing.T) {
	const rounds, most = 400, 16
	normal := func(r *rand.Rand) float64 { return r.NormFloat64() }
	// Student's t with three degrees of freedom, with variance 1.
	tails := func(r *rand.Rand) float64 {
		var s float64
		for range 3 {
			x := r.NormFloat64()
			s += x * x
		}
		return r.NormFloat64() / math.Sqrt(s)
	}
	claim := Claim{Less: "p99_fct_us", With: "with", Than: "than"}
	for _, c := range []struct {
		name   string
		draw   func(*rand.Rand) float64
		open   int
		spread float64 // standard deviation of an arm, as a share
		change float64 // the true one
	}{
		{"normal, no change", normal, most, 0.1, 0}, {"normal, no change", normal, most, 0.2, 0}, {"normal, no change", normal, most, 0.4, 0},
		{"normal", normal, most, 0.1, -0.2}, {"normal", normal, most, 0.3, -0.2}, {"normal, many seeds", normal, 96, 0.3, 0}, {"normal, many seeds", normal, 96, 0.2, -0.05},
		{"long tails, no change", tails, most, 0.1, 0}, {"long tails, no change", tails, most, 0.3, 0}, {"long tails", tails, most, 0.2, -0.2},
		{"long tails, many seeds", tails, 96, 0.3, 0}, {"long tails, many seeds", tails, 96, 0.2, -0.05},
	} {
		rng := rand.New(rand.NewPCG(5, 7))
		covered, seeds := 0, 0
		for range rounds {
			var a, b []float64
			for n := 3; ; n = min(n+n/2+1, max(most, c.open)) {
				if len(a) < most {
					n = min(n, most)
				}
				for len(a) < n {
					a, b = append(a, (1+c.change)*(1+c.spread*c.draw(rng))), append(b, 1+c.spread*c.draw(rng))
				}
				j := (&Outcome{Looks: true}).verdict(&claim, "p99_fct_us", a, b, 0.05, nil, "")
				if !j.Precise && (n < most || n < c.open && j.Verdict == Inconclusive) {
					continue
				}
				if float64(j.Low) <= c.change && c.change <= float64(j.High) {
					covered++
				}
				seeds += n
				break
			}
		}
		share := 100 * float64(covered) / rounds
		t.Logf("%s, spread %g, change %g: %.1f %% of the intervals have it, %.1f seeds", c.name, c.spread, c.change, share, float64(seeds)/rounds)
		if share < 95 {
			t.Errorf("%s, spread %g, change %g: %.1f %% of the intervals have it, want 95", c.name, c.spread, c.change, share)
		}
	}
}

// That an effect is too small to count, or that two arms are the same, is said wrongly of at
// most 5 % of simulated experiments in which the true change is just the margin.
func TestTooSmallToCount(t *testing.T) {
	const rounds, most = 400, 16
	for _, c := range []struct {
		claim  Claim
		change float64
		said   string
	}{
		{Claim{Less: "p99_fct_us"}, -0.1, Refuted},
		{Claim{Same: "p99_fct_us"}, -0.1, Holds},
		{Claim{Same: "p99_fct_us"}, 0.1, Holds},
	} {
		for _, spread := range []float64{0.05, 0.1, 0.2} {
			rng := rand.New(rand.NewPCG(9, 11))
			wrong := 0
			for range rounds {
				var a, b []float64
				for n := 3; ; n = min(n+n/2+1, most) {
					for len(a) < n {
						a, b = append(a, (1+c.change)*(1+spread*rng.NormFloat64())), append(b, 1+spread*rng.NormFloat64())
					}
					j := (&Outcome{Looks: true}).verdict(&c.claim, "p99_fct_us", a, b, 0.05, nil, "")
					if !j.Precise && n < most {
						continue
					}
					if j.Verdict == c.said {
						wrong++
					}
					break
				}
			}
			if share := 100 * float64(wrong) / rounds; share > 5 {
				t.Errorf("%+v, change %g, spread %g: %.1f %% %s, want at most 5", c.claim, c.change, spread, share, c.said)
			} else {
				t.Logf("%+v, change %g, spread %g: %.1f %% %s", c.claim, c.change, spread, share, c.said)
			}
		}
	}
}
