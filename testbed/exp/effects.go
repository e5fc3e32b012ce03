// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"math"
	"math/rand/v2"
)

// The duration of a run is its work, in switch traversals, times the seconds per
// traversal. The logarithm of each of the two is modelled as a sum: a known
// offset, a mean of all runs, a multiple of the logarithm of the run's bytes, one
// random effect of each kind below, and a residual.
const (
	byArm   = iota
	byPoint // of the grid
	byCase  // interaction of arm and point
	bySeed
	byTraffic // point and seed: arms of a point have the same flows
	byLoad    // load of the machine, common to runs that ended at about the same time
	kinds
)

// spreads are the prior standard deviations of the effects and, last, of the
// residual. They are close to those of the built-in experiments. Work does not
// depend on the machine, so it has priors of its own.
type spreads [kinds + 1]float64

var (
	workSpreads = spreads{0.2, 0.35, 0.12, 0.06, 0.06, none, 0.08}
	rateSpreads = spreads{0.35, 0.15, 0.1, none, none, 0.07, 0.07}
	// knownSpreads are for the seconds of runs if the durations of an earlier run of
	// the experiment are known: machine and build may differ.
	knownSpreads = spreads{0.1, 0.06, 0.06, 0.02, 0.03, 0.07, 0.08}
)

const (
	none            = 1e-4 // spread of an effect that is left out
	priorWeight     = 3    // weight of a prior spread, in effects or runs
	slopePrior      = 0.8  // prior mean of the exponent of a run's bytes
	loadPersistence = 0.8  // share of the present load that persists
	tail            = 4    // degrees of freedom of Student's distribution for levels without a run
)

// observed is a run that was made.
type observed struct {
	level [kinds]int
	x     float64 // logarithm of its bytes, about the mean
	y     float64 // logarithm of its duration or work, less the known offset
}

// effects are a sample of the unknowns of the model, given the runs that were
// made.
type effects struct {
	rng    *rand.Rand
	runs   []observed
	rest   []float64 // residuals by run
	mean   float64
	slope  float64
	level  [kinds][]float64
	spread spreads
	prior  spreads
	// meanSpread is the prior standard deviation of mean.
	meanSpread float64
}

// newEffects returns a first sample; step makes the next. Sizes are the numbers of
// levels.
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

// shift draws a new value of a coefficient and returns the change.
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
	squares += priorWeight * e.prior[k] * e.prior[k]
	return math.Sqrt(squares / chiSquare(e.rng, n+priorWeight))
}

// chiSquare draws from the distribution of that name, by Wilson and Hilferty's
// approximation.
func chiSquare(rng *rand.Rand, freedom float64) float64 {
	c := 2 / (9 * freedom)
	return freedom * math.Pow(max(1-c+rng.NormFloat64()*math.Sqrt(c), 0.05), 3)
}

// explained returns the logarithm of a run's duration or work without residual,
// load and known offset.
func (e *effects) explained(r *observed) float64 {
	v := e.mean + e.slope*r.x
	for k := range byLoad {
		v += e.level[k][r.level[k]]
	}
	return v
}

// ahead draws the future load of the machine, which resembles the present one.
func (e *effects) ahead() float64 {
	var late float64
	if level := e.level[byLoad]; len(level) > 0 {
		late = level[len(level)-1]
	}
	return loadPersistence*late + e.spread[byLoad]*e.rng.NormFloat64()
}
