// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// Estimate is the probability distribution of a remaining time: a sorted sample in
// seconds. It is empty if nothing is known.
type Estimate struct{ draws []float64 }

const (
	tolerance  = 0.25 // how far a single time may be off, as a share of the true one
	confidence = 0.93 // probability that it is within the tolerance, to be given
)

// Known reports whether there is an estimate.
func (l Estimate) Known() bool { return len(l.draws) > 0 }

// About returns a single time, if it is within the tolerance of the true one with
// enough probability.
func (l Estimate) About() (time.Duration, bool) {
	best, most, from, to := 0.0, -1, 0, 0
	for _, d := range l.draws {
		guess := d * (1 + tolerance) // the greatest that is within the tolerance of d
		for from < len(l.draws) && l.draws[from] < guess/(1+tolerance)*(1-1e-9) {
			from++
		}
		for to < len(l.draws) && l.draws[to] <= guess/(1-tolerance) {
			to++
		}
		if to-from > most {
			best, most = guess, to-from
		}
	}
	if !l.Known() || float64(most) < confidence*float64(len(l.draws)) {
		return 0, false
	}
	// Prefer the median if it is as good.
	if middle := l.quantile(0.5); l.within(middle) >= most-1 {
		best = middle
	}
	return seconds(best), true
}

func (l Estimate) within(guess float64) (n int) {
	for _, d := range l.draws {
		if math.Abs(guess-d) <= tolerance*d {
			n++
		}
	}
	return n
}

// Between returns the interval that has the remaining time with a probability of
// 90 %.
func (l Estimate) Between() (least, most time.Duration) {
	return seconds(l.quantile(0.05)), seconds(l.quantile(0.95))
}

func (l Estimate) quantile(p float64) float64 {
	if !l.Known() {
		return 0
	}
	return l.draws[min(int(p*float64(len(l.draws))), len(l.draws)-1)]
}

// String returns the estimate in words, or "" if nothing is known.
func (l Estimate) String() string {
	if !l.Known() {
		return ""
	}
	if d, ok := l.About(); ok {
		return "about " + rounded(d)
	}
	least, most := l.Between()
	if least < most/10 || least < time.Second {
		return "at most " + rounded(most)
	}
	return rounded(least) + " to " + rounded(most)
}

// rounded prints a time with about two digits.
func rounded(d time.Duration) string {
	unit := time.Second
	for _, u := range []time.Duration{5 * time.Second, 10 * time.Second, time.Minute, 5 * time.Minute} {
		if d >= 20*u {
			unit = u
		}
	}
	text := d.Round(unit).String()
	if unit >= time.Minute {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// costModel predicts the durations of runs from those of finished runs.
type costModel struct {
	p      *Plan
	before times // of an earlier run of the experiment, or nil
	points map[string]int
	arms   map[string]int
	made   []made
	notes  []result.RunNote // with the metrics of the claims
	cases  []int            // of the notes
	links  bool             // claims are about single links
	// workless reports that the work of some run is unknown.
	workless bool
	// limit reports that some case had the maximum of seeds last time, so no lower
	// limit applied then.
	limit bool
	store *Store
	jobs  map[[2]int]Job
	kept  map[Job]bool  // whether the store had a run when first looked up
	cost  time.Duration // of the last estimate
}

// made is a finished run with its duration and its work in switch traversals.
type made struct {
	job           Job
	seconds, work float64
}

func newCostModel(p *Plan, st *Store) *costModel {
	before := p.lastTimes(st)
	c := &costModel{p: p, before: before, store: st, jobs: make(map[[2]int]Job), kept: make(map[Job]bool), points: make(map[string]int), arms: make(map[string]int)}
	for i, x := range p.Scenario.Cases() {
		if point := p.point(Job{Case: i}); !has(c.points, point) {
			c.points[point] = len(c.points)
		}
		if !has(c.arms, x.Arm) {
			c.arms[x.Arm] = len(c.arms)
		}
		if len(before[p.caseName(i)]) == 0 {
			c.before = nil // the experiment has changed
		}
		c.limit = c.limit || len(before[p.caseName(i)]) >= max(len(p.Scenario.Seeds), p.Scenario.MaxSeeds)
	}
	for i := range p.Scenario.Claims {
		_, name := p.Scenario.Claims[i].Relation()
		c.links = c.links || strings.Contains(name, "->")
	}
	return c
}

func has[K comparable, V any](m map[K]V, k K) bool { _, ok := m[k]; return ok }

// add notes a finished run. Zero seconds are unknown. Runs are added in the order in
// which they ended.
func (c *costModel) add(j Job, n *result.RunNote, seconds, work float64) {
	c.workless = c.workless || work <= 0
	if seconds > 0 {
		c.made = append(c.made, made{j, seconds, work})
	}
	brief := *n
	brief.Metrics = make(map[string]float64)
	for i := range c.p.Scenario.Claims {
		_, name := c.p.Scenario.Claims[i].Relation()
		if v, ok := n.Metrics[name]; ok {
			brief.Metrics[name] = v
		}
	}
	if !c.links {
		brief.Links = nil
	}
	c.notes, c.cases = append(c.notes, brief), append(c.cases, j.Case)
}

// job returns the job of a case with the n-th seed.
func (c *costModel) job(i, n int) Job {
	at := [2]int{i, n}
	j, ok := c.jobs[at]
	if !ok {
		j = c.p.Job(i, c.p.seed(n))
		c.jobs[at] = j
	}
	return j
}

// has reports whether the store had the run when first looked up. Such a run takes
// no time.
func (c *costModel) has(j Job) bool {
	is, asked := c.kept[j]
	if !asked {
		is = c.store.Has(j.Key)
		c.kept[j] = is
	}
	return is
}

// lastSeconds returns the seconds that a run took last time, or zero.
func (c *costModel) lastSeconds(j Job) float64 {
	if list, n := c.before[c.p.caseName(j.Case)], c.p.nth(j.Seed); n >= 0 && n < len(list) {
		return list[n]
	}
	return 0
}

// seeds is the maximum of seeds of a case.
func (p *Plan) seeds() int {
	return max(len(p.Scenario.Seeds), p.Scenario.MaxSeeds, p.Scenario.MaxSeedsOpen)
}

// describe returns the explaining variables of a run, and the logarithm of its
// known seconds.
func (c *costModel) describe(j Job) (r observed, offset float64) {
	x := c.p.Case(j)
	n := max(c.p.nth(j.Seed), 0)
	point := c.points[c.p.point(j)]
	r.level = [kinds]int{byArm: c.arms[x.Arm], byPoint: point, byCase: j.Case, bySeed: n, byTraffic: point*c.p.seeds() + n}
	if seconds := c.lastSeconds(j); seconds > 0 {
		return r, math.Log(seconds)
	}
	if list := c.before[c.p.caseName(j.Case)]; len(list) > 0 {
		var sum, count float64
		for _, v := range list {
			if v > 0 {
				sum, count = sum+math.Log(v), count+1
			}
		}
		return r, sum / max(count, 1)
	}
	r.x = math.Log(c.p.work(j))
	return r, 0
}

// pending is a run that is not finished; elapsed is not zero if it is under way.
type pending struct {
	job     Job
	elapsed float64
}

// left estimates the time until all pending runs and those with further seeds that
// claims need are finished, given the number of runs at a time.
func (c *costModel) left(runs []pending, parallel int) (l Estimate) {
	defer func(begun time.Time) { c.cost = time.Since(begun) }(time.Now())
	if len(c.made) == 0 && c.before == nil {
		return l
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(c.made))))
	sizes := [kinds]int{byArm: len(c.arms), byPoint: len(c.points), byCase: len(c.p.Scenario.Cases()), bySeed: c.p.seeds(), byTraffic: len(c.points) * c.p.seeds()}
	parts := min(max(len(c.made)/4, 1), loadPeriods)
	var work, rate []observed
	var middle float64
	for i, m := range c.made {
		if c.workless {
			m.work = m.seconds
		}
		r, offset := c.describe(m.job)
		r.level[byLoad] = i * parts / len(c.made)
		middle += r.x / float64(len(c.made))
		w := r
		w.y = math.Log(m.work)
		work = append(work, w)
		r.y = math.Log(m.seconds / m.work)
		if c.before != nil {
			r.y = math.Log(m.seconds) - offset
		}
		r.x = 0
		rate = append(rate, r)
	}
	if len(c.made) > 0 {
		sizes[byLoad] = parts
	}
	for i := range work {
		work[i].x -= middle
	}
	var works, rates *effects
	if c.before != nil {
		rates = newEffects(rng, rate, sizes, knownSpreads, 0.7)
	} else {
		works, rates = newEffects(rng, work, sizes, workSpreads, 10), newEffects(rng, rate, sizes, rateSpreads, 10)
	}
	step := func() {
		rates.step()
		if works != nil {
			works.step()
		}
	}
	type ahead struct {
		observed
		offset, elapsed float64
	}
	known := make([]ahead, 0, len(runs))
	count := make([]int, len(c.p.Scenario.Cases())) // of seeds, with the pending ones
	for _, i := range c.cases {
		count[i]++
	}
	made := slices.Clone(count)
	for _, w := range runs {
		if w.elapsed == 0 && c.has(w.job) {
			count[w.job.Case]++
			continue
		}
		r, offset := c.describe(w.job)
		if c.before == nil {
			r.x -= middle
		}
		known = append(known, ahead{r, offset, w.elapsed})
		count[w.job.Case]++
	}
	open := c.openClaims(made)
	for range 30 {
		step()
	}
	draws := min(max(200_000/(len(runs)+len(c.made)+1), 20), 150)
	for range draws {
		step()
		load := rates.ahead() + modelError*rng.NormFloat64()
		take := func(r *observed, offset float64) float64 {
			plain := *r
			plain.x = 0 // bytes explain the work
			y := offset + rates.explained(&plain) + load + rates.spread[kinds]*rng.NormFloat64()
			if works != nil {
				y += works.explained(r) + works.spread[kinds]*rng.NormFloat64()
			}
			return math.Exp(min(y, 30))
		}
		free := make(ends, 0, max(parallel, 1))
		var last, first float64
		begin := func(s float64) {
			end := first + s
			if len(free) < max(parallel, 1) {
				heap.Push(&free, end)
			} else {
				end = free[0] + s
				free[0] = end
				heap.Fix(&free, 0)
			}
			last = max(last, end)
		}
		for i := range known { // those under way
			if k := &known[i]; k.elapsed > 0 {
				s := take(&k.observed, k.offset)
				for range 20 {
					if s > k.elapsed {
						break
					}
					s = take(&k.observed, k.offset)
				}
				left := max(s-k.elapsed, 0.1*k.elapsed*rng.Float64())
				heap.Push(&free, left)
				last = max(last, left)
			}
		}
		for i := range known {
			if k := &known[i]; k.elapsed == 0 {
				begin(take(&k.observed, k.offset))
			}
		}
		c.addSeeds(rng, open, slices.Clone(count), func(j Job) {
			r, offset := c.describe(j)
			if c.before == nil {
				r.x -= middle
			}
			begin(take(&r, offset))
		}, func() { // claims are decided when all are finished
			first, free = last, free[:0]
		})
		l.draws = append(l.draws, last)
	}
	slices.Sort(l.draws)
	return l
}

// modelError is the standard deviation of the error of the model itself.
const modelError = 0.06

// loadPeriods is the maximum of periods, of four runs or more, in each of which the
// load of the machine is taken to be constant.
const loadPeriods = 10

func (c *costModel) index(arm string, point []string) int {
	return slices.IndexFunc(c.p.Scenario.Cases(), func(x *scenario.Case) bool { return x.Arm == arm && slices.Equal(x.Point, point) })
}

// openClaim is a claim that may need further seeds, with its cases.
type openClaim struct {
	claim *result.Judged
	cases []int
	made  int // seeds that all cases have
}

// openClaims returns the claims that may need further seeds.
func (c *costModel) openClaims(made []int) (open []openClaim) {
	if c.p.seeds() <= len(c.p.Scenario.Seeds) {
		return nil
	}
	notes := slices.Clone(c.notes)
	for i, x := range c.p.Scenario.Cases() {
		if made[i] == 0 { // so that claims have their cells
			notes = append(notes, result.RunNote{Arm: x.Arm, Point: x.Point})
		}
	}
	var o result.Outcome
	o.Axes = c.p.Scenario.Axes()
	o.Fill(notes, c.p.Scenario.Claims)
	for i := range o.Claims {
		a := openClaim{claim: &o.Claims[i], made: math.MaxInt}
		for _, cell := range a.claim.Cells() {
			if at := c.index(o.Cells[cell].Arm, o.Cells[cell].Point); at >= 0 {
				a.cases = append(a.cases, at)
				a.made = min(a.made, made[at])
			}
		}
		open = append(open, a)
	}
	return open
}

// sameSeeds is the probability that an experiment needs as many seeds as last time.
const sameSeeds = 0.9

// addSeeds simulates the rounds of further seeds that claims may need. It calls end
// at the end of each round.
func (c *costModel) addSeeds(rng *rand.Rand, open []openClaim, count []int, run func(Job), end func()) {
	if len(open) == 0 {
		return
	}
	like := c.before != nil && c.limit && rng.Float64() < sameSeeds
	var foreseen []func(int) (precise, decided bool)
	if !like {
		usual := 0.05 * math.Exp(rng.NormFloat64()) // of seeds of this experiment
		for _, a := range open {
			foreseen = append(foreseen, a.claim.Foresee(rng, a.made, usual))
		}
	}
	for {
		wants := make([]int, len(count)) // the greatest number of seeds of a case
		for i, a := range open {
			if like {
				break
			}
			n := c.p.seeds()
			for _, at := range a.cases {
				n = min(n, count[at])
			}
			most := c.p.Scenario.MaxSeeds
			switch precise, decided := foreseen[i](n); {
			case precise:
				continue
			case !decided:
				most = c.p.seeds()
			}
			for _, at := range a.cases {
				wants[at] = max(wants[at], most)
			}
		}
		more := false
		end()
		for i, n := range count {
			if like {
				wants[i] = min(len(c.before[c.p.caseName(i)]), c.p.seeds())
			}
			if n >= wants[i] {
				continue
			}
			for ; n < min(wants[i], count[i]+count[i]/2+1); n++ {
				more = true
				if j := c.job(i, n); !c.has(j) {
					run(j)
				}
			}
			count[i] = n
		}
		if !more {
			return
		}
	}
}

// ends is a heap of times.
type ends []float64

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i] < e[j] }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *ends) Push(x any) { *e = append(*e, x.(float64)) }

// Pop implements heap.Interface.
func (e *ends) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}
