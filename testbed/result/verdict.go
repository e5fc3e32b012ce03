// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Verdicts, as files have them. Word returns them as documents print them.
const (
	Holds        = "holds"
	Refuted      = "refuted" // printed as not reproduced or not supported
	Inconclusive = "inconclusive"
	NotTested    = "not tested" // the claim's premise is absent
	Idle         = "idle"       // the scheme did nothing
)

// Judged is a claim at a point, and its verdict.
type Judged struct {
	Claim   Claim  `json:"claim"`
	Text    string `json:"text"`
	Point   string `json:"point,omitempty"`
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
	// Effect is the change from Than's value as a share, Low and High its 95 %
	// interval. Value and Other are the means of With and of Than, in the unit of
	// the metric.
	Effect Num `json:"effect"`
	Low    Num `json:"low"`
	High   Num `json:"high"`
	// Difference is set if the change has no bounds.
	Difference *Difference `json:"difference,omitempty"`
	Value      Num         `json:"value"`
	Other      Num         `json:"other"`
	Seeds      int         `json:"seeds"`
	// P is at least the probability of a difference this large, or larger, without any (a
	// paired t-test at each look). It is zero if all seeds have the same difference.
	P Num `json:"p"`
	// Premise is the measured premise of the claim.
	Premise *Premised `json:"premise,omitempty"`
	// Precise reports whether the interval is as narrow as the claim requires.
	Precise bool `json:"precise"`

	cells  [][2]int // indices of the compared cells, with and than; -1: a number
	others [][2]int // those at the other points of a claim about the best
	// contrary: see Contrary.
	contrary bool
	open     bool // whether one look has no verdict, so that further seeds are worth more
}

// Word returns a verdict of the outcome as documents print it. The claim of an experiment
// with a source is that of named authors, whose own measurement nothing here refutes: it is
// reproduced, or not. One of a user is supported, or not.
func (o *Outcome) Word(verdict string) string {
	switch {
	case verdict != Refuted:
		return verdict
	case o.Source != "":
		return "not reproduced"
	}
	return "not supported"
}

// Says returns the verdict on a claim of the outcome with its reason.
func (o *Outcome) Says(j *Judged) string {
	if j.Why == "" {
		return o.Word(j.Verdict)
	}
	return o.Word(j.Verdict) + ": " + j.Why
}

// Judge decides claims by the values of the cells.
func (o *Outcome) Judge(claims []Claim) {
	o.Claims = nil
	for i := range claims {
		o.judge(&claims[i])
	}
}

// judge adds the verdicts of a claim: one per point, or one for mean or best.
func (o *Outcome) judge(c *Claim) {
	_, metric := c.Relation()
	_, isNumber := c.Number()
	var pairs [][2]int
	var points []string
	for i := range o.Cells {
		with := &o.Cells[i]
		if with.Arm != c.With || !o.at(with.Point, c.At) {
			continue
		}
		than := -1
		if !isNumber {
			if than = o.cellIndex(c.Than, o.moved(with.Point, c.ThanAt)); than < 0 {
				continue
			}
		}
		pairs = append(pairs, [2]int{i, than})
		points = append(points, o.PointText(with.Point))
	}
	if len(pairs) == 0 {
		o.Claims = append(o.Claims, Judged{Claim: *c, Text: c.Sentence(), Verdict: Inconclusive, open: true, P: Num(math.NaN()), Why: "no runs at its points, or not at this scale", Effect: Num(math.NaN()), Low: Num(math.NaN()), High: Num(math.NaN()), Value: Num(math.NaN()), Other: Num(math.NaN())})
		return
	}
	if c.Over == "mean" {
		a, b := o.meanOver(pairs, metric)
		o.Claims = append(o.Claims, o.verdict(c, metric, a, b, 0.05, pairs, o.meanText(pairs)))
		return
	}
	p := 0.05
	if c.Over == "best" {
		p /= float64(len(pairs))
	}
	var all []Judged
	for i := range pairs {
		a, b := o.meanOver(pairs[i:i+1], metric)
		all = append(all, o.verdict(c, metric, a, b, p, pairs[i:i+1], points[i]))
	}
	if c.Over == "best" {
		all = []Judged{upTo(c, all)}
	}
	o.Claims = append(o.Claims, all...)
}

// upTo returns the verdict on a claim of an effect "up to" so much, from those at all
// points: that of the point with the largest effect, of points at which the claim was
// tested if there are any. It is not refuted as long as one of the points is open.
func upTo(c *Claim, all []Judged) Judged {
	key, _ := c.Relation()
	best := 0
	for i := range all {
		x, y := &all[i], &all[best]
		tested, was := !x.Untested(), !y.Untested()
		if tested && !was || tested == was && (x.Effect < y.Effect) == (key == "less") && x.Effect != y.Effect {
			best = i
		}
	}
	j := all[best]
	j.Point += fmt.Sprintf(" (best of %d points)", len(all))
	for i := range all {
		j.Precise = j.Precise && all[i].Precise
		if all[i].Verdict == Inconclusive && j.Verdict == Refuted {
			j.Verdict, j.Why, j.open = Inconclusive, "another point is open: "+all[i].Point, true
		}
		if i != best {
			j.others = append(j.others, all[i].cells...)
		}
	}
	return j
}

// at reports whether a point has the values that a claim names.
func (o *Outcome) at(point []string, at map[string]string) bool {
	for i, a := range o.Axes {
		if want, ok := at[a.Name]; ok && i < len(point) && point[i] != want {
			return false
		}
	}
	return true
}

// moved returns a copy of a point with the values of axes that a claim names.
func (o *Outcome) moved(point []string, at map[string]string) []string {
	to := slices.Clone(point)
	for i, a := range o.Axes {
		if want, ok := at[a.Name]; ok && i < len(to) {
			to[i] = want
		}
	}
	return to
}

// meanText returns the points of cells whose mean is compared: "mean over flows 5, 15, 30
// (reading 400ns)".
func (o *Outcome) meanText(pairs [][2]int) string {
	var over, fixed []string
	for i, a := range o.Axes {
		var values []string
		for _, pair := range pairs {
			if v := o.Cells[pair[0]].Point[i]; !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		text := a.Name + " " + strings.Join(values, ", ")
		if len(values) > 1 {
			over = append(over, text)
		} else {
			fixed = append(fixed, text)
		}
	}
	switch text := strings.Join(over, "; "); {
	case len(over) == 0:
		return strings.Join(fixed, ", ")
	case len(fixed) == 0:
		return "mean over " + text
	default:
		return "mean over " + text + " (" + strings.Join(fixed, ", ") + ")"
	}
}

// meanOver returns, for each seed that all cells have, the means over several
// pairs of cells. B is nil if the claim compares with a number.
func (o *Outcome) meanOver(pairs [][2]int, metric string) (a, b []float64) {
	number := pairs[0][1] < 0
seeds:
	for _, seed := range o.Cells[pairs[0][0]].Seeds {
		var x, y float64
		for _, pair := range pairs {
			with, ok := o.Cells[pair[0]].value(metric, seed)
			if !ok {
				continue seeds
			}
			x += with / float64(len(pairs))
			if number {
				continue
			}
			than, ok := o.Cells[pair[1]].value(metric, seed)
			if !ok {
				continue seeds
			}
			y += than / float64(len(pairs))
		}
		a = append(a, x)
		if !number {
			b = append(b, y)
		}
	}
	return a, b
}

// stopError is the error probability of an interval, relative to that which is stated.
// If seeds are added until an interval is narrow or clear, a claim is looked at several
// times, and an interval of 5 % would miss the true value more often. The factor is a
// constant limit of all looks (Pocock's, of group-sequential trials); the simulation in
// TestIntervalsCover shows that 95 % intervals then have it in at least 95 %.
const stopError = 0.2

// verdict decides a claim by paired values, with intervals of error probability p at the
// time when no seeds are added any more: when the claim has a verdict, and its interval of
// one look is narrow or clear.
func (o *Outcome) verdict(c *Claim, metric string, a, b []float64, p float64, cells [][2]int, point string) Judged {
	j := o.look(c, metric, a, b, p, cells, point)
	if precise := j.Precise; o.Looks {
		p *= stopError
		j = o.look(c, metric, a, b, p, cells, point)
		j.Precise = precise
	}
	// That an effect is too small to count is a one-sided test, and that two arms are the
	// same is two of them (TOST): each has the error probability p with this interval.
	if key, _ := c.Relation(); o.Looks && j.Verdict == Inconclusive {
		if side := o.look(c, metric, a, b, 2*p, cells, point); key == "same" && side.Verdict == Holds || key != "same" && side.Verdict == Refuted && !side.opposite() {
			j.Verdict, j.Why = side.Verdict, strings.TrimPrefix(side.Why+", one-sided", ", ")
		}
	}
	j.open = j.Verdict == Inconclusive
	j.Precise = j.Precise && !j.open
	o.untested(&j)
	return j
}

// look decides a claim as if its seeds had been chosen before the first run.
func (o *Outcome) look(c *Claim, metric string, a, b []float64, p float64, cells [][2]int, point string) Judged {
	j := Judged{Claim: *c, Text: c.Sentence(), Point: point, Seeds: len(a), cells: cells, Verdict: Inconclusive}
	key, _ := c.Relation()
	number, isNumber := c.Number()
	if isNumber {
		b = make([]float64, len(a))
		for i := range b {
			b[i] = number
		}
	}
	within := c.within()
	both := Compare(a, b, p)
	effect, difference := both.Change, both.Difference
	j.Value, j.Other = Num(Mean(a)), Num(Mean(b))
	if len(a) == 0 {
		j.Value, j.Other = Num(math.NaN()), Num(math.NaN())
	}
	j.compared(both)
	margin := within
	if isNumber && key != "same" {
		margin = 0 // a bound has no margin
	}
	lo, hi := effect.Low, effect.High
	if key == "more" {
		lo, hi = -hi, -lo
	}
	down, up := difference.High < 0, difference.Low > 0
	gain := -difference.Low
	if key == "more" {
		down, up = up, down
		gain = difference.High
	}
	counts := isCount(metric) && !isNumber
	none := isCount(metric) && isNumber && key == "less" && number == 1
	some := 0 // runs with any event
	for _, x := range a {
		if x > 0 {
			some++
		}
	}
	switch missing, empty := o.missing(cells, metric); {
	case missing > 0 && empty == missing:
		j.Why = fmt.Sprintf("%d of its runs had no measured flows", missing)
	case missing > 0:
		j.Why = fmt.Sprintf("%d of its runs did not finish", missing)
	case len(a) < 2:
		j.Why = fmt.Sprintf("%d runs; an interval needs two", len(a))
		if len(a) == 1 {
			j.Why = "one run; an interval needs two"
		}
	case none && some > 0:
		j.Verdict, j.Why = Refuted, fmt.Sprintf("some in %d of %d runs", some, len(a))
	case key == "same" && lo >= -within && hi <= within:
		j.Verdict = Holds
	case key == "same" && counts && difference.Low > -1 && difference.High < 1:
		j.Verdict, j.Why = Holds, "less than one a run"
	case key == "same" && (lo > within || hi < -within):
		j.Verdict = Refuted
	case key == "same":
		j.Why = fmt.Sprintf("the interval exceeds ±%.3g %%", 100*within)
	case hi < 0 || down:
		j.Verdict = Holds
	case lo > 0 || up:
		j.Verdict = Refuted
	case lo > -margin || lo == 0 && hi == 0:
		j.Verdict, j.Why = Refuted, fmt.Sprintf("no gain of %.3g %% or more", 100*within)
		if isNumber {
			j.Why = "" // equal to the bound
		}
	case lo > -c.half():
		j.Verdict, j.Why = Refuted, fmt.Sprintf("no gain of %.3g %% or more, half of the paper's", 100*c.half())
	case counts && gain < 1:
		j.Verdict, j.Why = Refuted, "no gain of one a run"
	case math.IsInf(lo, 0):
		j.Why = "too few runs to tell the base from zero"
	default:
		j.Why = "the interval has both signs"
	}
	if len(a) > 1 && variance(a) == 0 && difference.Half() == 0 && j.Why == "" {
		j.Why = "deterministic: all runs give the same, so there is no interval"
	}
	j.P = Num(min(1, pairedP(a, b)*0.05/p)) // for all looks and, of the best of several points, for all points
	if missing, _ := o.missing(cells, metric); len(a) > 1 && !isNumber && missing == 0 && j.Verdict == Inconclusive {
		if m := medians(a, b, signError); key == "same" && m.Change.beside(within) || key != "same" && m.Sign() != 0 {
			m = medians(a, b, p)
			j.compared(m)
			j.Verdict, j.Why = Refuted, "by the median of the runs"
			if key == "same" && math.Abs(m.Change.Value) <= within || key != "same" && m.Sign() < 0 == (key == "less") {
				j.Verdict = Holds
			}
		}
	}
	half := effect.Half()
	open := j.Verdict == Inconclusive || j.Verdict == Refuted && lo <= -margin && lo < 0 && hi > 0 // its sign is open
	j.Precise = len(a) > 1 && (half <= within && !open || math.IsInf(half, 1) && difference.Low == difference.High)
	if !open && len(a) > 1 {
		early := RatioInterval(a, b, p*earlyError)
		j.Precise = j.Precise || c.settledBy(Interval{early.Value - 1, early.Low - 1, early.High - 1})
	}
	return j
}

// compared notes the interval that decides the claim.
func (j *Judged) compared(c Comparison) {
	j.Effect, j.Low, j.High, j.Difference = Num(c.Change.Value), Num(c.Change.Low), Num(c.Change.High), c.Units()
}

// earlyError is the error probability of an interval that ends the seeds of a claim
// before it is as narrow as the claim requires, relative to that of the last
// interval: 0.1 to 5 %, the rule of Haybittle and Peto for clinical trials.
const earlyError = 0.02

// settledBy reports whether an interval of the effect decides the claim: it is on one
// side of no effect, excludes a gain of the margin, or for same lies within the margin
// or beyond it.
func (c *Claim) settledBy(effect Interval) bool {
	key, _ := c.Relation()
	lo, hi, within := effect.Low, effect.High, c.within()
	if key == "same" {
		return effect.beside(within)
	}
	if key == "more" {
		lo, hi = -hi, -lo
	}
	_, bound := c.Number()
	return lo > 0 || hi < 0 || lo > -within && !bound
}

// missing counts the runs of cells that have no value of a metric, and those of them that
// had no flows.
func (o *Outcome) missing(cells [][2]int, metric string) (n, empty int) {
	for _, pair := range cells {
		for _, i := range pair {
			if i < 0 {
				continue
			}
			c := &o.Cells[i]
			for k := range c.Seeds {
				if v := c.Values[metric]; len(v) == 0 || math.IsNaN(float64(v[k])) {
					n++
					if flows := c.Values["flows"]; k < len(flows) && flows[k] == 0 {
						empty++
					}
				}
			}
		}
	}
	return n, empty
}

// Wanting returns the indices of cells whose claims are less precise than they
// require, with the number of seeds that these may have at most: open if one of the
// claims has no verdict, otherwise most.
func (o *Outcome) Wanting(most, open int) map[int]int {
	want := make(map[int]int)
	for i := range o.Claims {
		j := &o.Claims[i]
		if j.Precise {
			continue
		}
		limit := most
		if j.open {
			limit = max(most, open)
		}
		for _, cell := range j.Cells() {
			want[cell] = max(want[cell], limit)
		}
	}
	return want
}

// Pairs returns the indices of the cells that decide the claim, with and than; -1 is a
// number.
func (j *Judged) Pairs() [][2]int { return j.cells }

// Cells returns the indices of the cells that a claim compares, of one about the best
// point at all points.
func (j *Judged) Cells() (cells []int) {
	for _, pair := range slices.Concat(j.cells, j.others) {
		for _, i := range pair {
			if i >= 0 {
				cells = append(cells, i)
			}
		}
	}
	return cells
}

// Expected returns the indices of cells whose claims are less precise than they
// require, with the number of seeds that these are expected to need: an interval
// becomes narrower with the square root of their number, and a claim without a verdict
// needs twice its seeds. The limits are those of Wanting. A claim with fewer than three
// seeds is expected to need six.
func (o *Outcome) Expected(most, open int) map[int]int {
	want := make(map[int]int)
	for i := range o.Claims {
		j := &o.Claims[i]
		if j.Precise {
			continue
		}
		seeds := most
		if j.Seeds < 3 {
			seeds = min(6, most)
		} else if j.open {
			seeds = min(2*j.Seeds, max(most, open))
		} else if ratio := (float64(j.High) - float64(j.Low)) / 2 / j.Claim.within(); ratio > 1 {
			seeds = int(min(float64(j.Seeds)*ratio*ratio, float64(most)))
		}
		for _, cell := range j.Cells() {
			want[cell] = max(want[cell], seeds)
		}
	}
	return want
}

// isCount reports whether a metric counts events of a run.
func isCount(metric string) bool {
	base, _, _ := strings.Cut(metric, ".")
	return counted[base] || base == "overflowed" || base == "dropped"
}

// counted are metrics that count events of a run.
var counted = map[string]bool{"stalled_flows": true, "pause_frames": true, "out_of_order": true, "resent": true, "timeouts": true, "cnps": true, MarkedPackets: true}

// Verdicts has the verdicts in the order in which they are counted.
var Verdicts = []string{Holds, Refuted, Inconclusive, NotTested, Idle}

// Count returns how many claims have each verdict.
func (o *Outcome) Count() map[string]int {
	n := make(map[string]int)
	for i := range o.Claims {
		n[o.Claims[i].Verdict]++
	}
	return n
}
