// SPDX-License-Identifier: Apache-2.0

package result

import (
	"math"
	"math/rand/v2"
	"sync"
)

// Cells returns the indices of the cells that a claim compares.
func (j *Judged) Cells() (cells []int) {
	for _, pair := range j.cells {
		for _, i := range pair {
			if i >= 0 {
				cells = append(cells, i)
			}
		}
	}
	return cells
}

// Foresee simulates a claim with further seeds. It returns a function that reports
// whether the claim is precise with a number of seeds, and whether it then has a
// verdict; calls must be in increasing order of seeds. Made is the number of seeds of
// its cells so far. Usual is the prior standard deviation of a seed's effect, with
// the weight of one seed.
func (j *Judged) Foresee(rng *rand.Rand, made int, usual float64) func(seeds int) (precise, decided bool) {
	within, n := j.Claim.within(), j.Seeds
	half, effect := Interval{Low: float64(j.Low), High: float64(j.High)}.Half(), float64(j.Effect)
	if n >= 2 && math.IsInf(half, 0) || n < 2 && made >= 2 {
		return func(int) (bool, bool) { return j.Precise, j.Verdict != Inconclusive } // the base's interval includes zero, or the metric is missing
	}
	squares, freedom := 0.0, 0
	if n >= 2 && !math.IsNaN(half) {
		s := half * math.Sqrt(float64(n)) / student95(n-1)
		squares, freedom = s*s*float64(n-1), n-1
	} else {
		effect, n = usual*rng.NormFloat64(), 0
	}
	sigma := math.Sqrt((squares + usual*usual) / chiSquare(rng, freedom+1))
	return func(seeds int) (precise, decided bool) {
		if seeds < 2 || seeds <= n && seeds == j.Seeds {
			return j.Precise, j.Verdict != Inconclusive
		}
		if n == 0 { // the first seed gives the mean
			squares = sigma * sigma * chiSquare(rng, seeds-1)
		} else if more := seeds - n; more > 0 {
			squares += sigma * sigma * chiSquare(rng, more)
			effect += sigma * math.Sqrt(1/float64(n)-1/float64(seeds)) * rng.NormFloat64()
		}
		n = seeds
		scale := math.Sqrt(squares / float64(n-1) / float64(n))
		half, early := student95(n-1)*scale, studentEarly(n-1)*scale
		decided = j.Claim.settledBy(Interval{effect, effect - half, effect + half})
		return half <= within && decided || j.Claim.settledBy(Interval{effect, effect - early, effect + early}), decided
	}
}

// chiSquare draws from the chi-squared distribution.
func chiSquare(rng *rand.Rand, freedom int) (sum float64) {
	for range freedom {
		z := rng.NormFloat64()
		sum += z * z
	}
	return max(sum, 1e-3)
}

var (
	student95    = students(0.05)
	studentEarly = students(0.05 * earlyError)
)

// students returns studentT for an error probability. It keeps its values.
func students(p float64) func(freedom int) float64 {
	var known sync.Map // by degrees of freedom
	return func(freedom int) float64 {
		if t, ok := known.Load(freedom); ok {
			return t.(float64)
		}
		t := studentT(p, freedom)
		known.Store(freedom, t)
		return t
	}
}
