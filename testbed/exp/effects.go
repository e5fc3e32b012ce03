// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"math"
	"math/rand/v2"
)

// What a run takes is its work, in switch traversals, times the seconds of a
// traversal. The logarithm of either is a sum: of what is known before, of what
// all runs have in common, of a multiple of the logarithm of the run's bytes, of
// an effect of each of these, and of a rest.
const (
	byArm   = iota
	byPoint // of the grid
	byCase  // what arm and point together have beyond either
	bySeed
	byTraffic // point and seed: arms of a point have the same flows
	byLoad    // of the machine, for runs that ended at about the same time
	kinds
)

// spreads are the standard deviations of the effects and, last, of the rest, as
// far as runs do not tell otherwise: about those of the experiments that come
// along. Work does not depend on the machine, which is what makes the two
// different.
type spreads [kinds + 1]float64

var (
	workSpreads = spreads{0.2, 0.35, 0.12, 0.06, 0.06, none, 0.08}
	rateSpreads = spreads{0.35, 0.15, 0.1, none, none, 0.07, 0.07}
	// knownSpreads are for the seconds of runs if an earlier run of the
	// experiment tells what they take but for the machine, and what has changed.
	knownSpreads = spreads{0.1, 0.06, 0.06, 0.02, 0.03, 0.07, 0.08}
)

const (
	none       = 1e-4 // spread of an effect that there is not
	trust      = 3    // how many effects, or runs, a spread above is worth
	slopePrior = 0.8  // what power of its bytes a run takes
	lasting    = 0.8  // how much of the load of late there is later
	tail       = 4    // degrees of freedom of Student's distribution for what no run has shown
)

// observed is a run that was made.
type observed struct {
	level [kinds]int
	x     float64 // logarithm of its bytes, about the mean
	y     float64 // logarithm of what it took, less what is known before
}

// effects are all that is not known about what runs take: a sample, given what
// some runs took.
type effects struct {
	rng    *rand.Rand
	runs   []observed
	rest   []float64 // by run: y less what explains it
	mean   float64
	slope  float64
	level  [kinds][]float64
	spread spreads
	prior  spreads
	// meanSpread is that of mean, if no run tells it.
	meanSpread float64
}

// newEffects returns the sample from which others follow. Sizes are the numbers
// of levels.
func newEffects(rng *rand.Rand, runs []observed, sizes [kinds]int, prior spreads, meanSpread float64) *effects {
	e := &effects{rng: rng, runs: runs, rest: make([]float64, len(runs)), spread: prior, prior: prior, slope: slopePrior, meanSpread: meanSpread}
	for k := range e.level {
		e.level[k] = make([]float64, sizes[k])
	}
	for i, r := range runs {
		e.rest[i] = r.y - e.slope*r.x
	}
	return e
}

// step draws each unknown given the others (Gibbs sampling): the next sample.
func (e *effects) step() {
	noise := e.spread[kinds] * e.spread[kinds]
	e.mean += e.shift(0, e.mean, e.meanSpread, noise, func(*observed) float64 { return 1 })
	e.slope += e.shift(slopePrior, e.slope, 0.2, noise, func(r *observed) float64 { return r.x })
	for k := range kinds {
		if e.prior[k] == none {
			continue
		}
		sums, counts := make([]float64, len(e.level[k])), make([]float64, len(e.level[k]))
		for i := range e.runs {
			l := e.runs[i].level[k]
			sums[l] += e.rest[i] + e.level[k][l]
			counts[l]++
		}
		tight := 1 / (e.spread[k] * e.spread[k])
		var squares, n float64
		for l, old := range e.level[k] {
			precision := counts[l]/noise + tight
			v := sums[l]/noise/precision + e.rng.NormFloat64()/math.Sqrt(precision)
			if counts[l] == 0 && (k == bySeed || k == byTraffic) {
				v *= math.Sqrt(tail / chiSquare(e.rng, tail))
			}
			if e.level[k][l], sums[l] = v, v-old; counts[l] > 0 {
				squares, n = squares+v*v, n+1
			}
		}
		for i := range e.runs {
			e.rest[i] -= sums[e.runs[i].level[k]]
		}
		e.spread[k] = e.drawSpread(k, squares, n)
	}
	var squares float64
	for _, v := range e.rest {
		squares += v * v
	}
	e.spread[kinds] = e.drawSpread(kinds, squares, float64(len(e.runs)))
}

// shift draws a coefficient anew and returns by how much it has changed.
func (e *effects) shift(prior, old, spread, noise float64, of func(*observed) float64) float64 {
	precision := 1 / (spread * spread)
	sum := prior * precision
	for i := range e.runs {
		x := of(&e.runs[i])
		precision += x * x / noise
		sum += x * (e.rest[i] + old*x) / noise
	}
	d := sum/precision + e.rng.NormFloat64()/math.Sqrt(precision) - old
	for i := range e.runs {
		e.rest[i] -= d * of(&e.runs[i])
	}
	return d
}

// drawSpread draws a standard deviation given the sum of n squares.
func (e *effects) drawSpread(k int, squares, n float64) float64 {
	squares += trust * e.prior[k] * e.prior[k]
	return math.Sqrt(squares / chiSquare(e.rng, n+trust))
}

// chiSquare draws from the distribution of that name, by Wilson and Hilferty's
// approximation.
func chiSquare(rng *rand.Rand, freedom float64) float64 {
	c := 2 / (9 * freedom)
	return freedom * math.Pow(max(1-c+rng.NormFloat64()*math.Sqrt(c), 0.05), 3)
}

// explained returns the logarithm of what a run takes without its rest and the
// machine's load, less what is known before.
func (e *effects) explained(r *observed) float64 {
	v := e.mean + e.slope*r.x
	for k := range byLoad {
		v += e.level[k][r.level[k]]
	}
	return v
}

// ahead draws the load of the machine from now on, which is like that of late.
func (e *effects) ahead() float64 {
	var late float64
	if level := e.level[byLoad]; len(level) > 0 {
		late = level[len(level)-1]
	}
	return lasting*late + e.spread[byLoad]*e.rng.NormFloat64()
}
