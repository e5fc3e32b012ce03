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

// Left is how long it takes until runs are over: equally likely times in seconds,
// in order. It is empty as long as there is nothing to tell it by.
type Left struct{ draws []float64 }

const (
	near = 0.25 // how far off a guess may be, as a share of what is left
	sure = 0.95 // the probability with which a guess must be that near to be told
)

// Known reports whether there is anything to tell.
func (l Left) Known() bool { return len(l.draws) > 0 }

// About returns the time that is nearest, if it is likely enough within a quarter
// of what is left.
func (l Left) About() (time.Duration, bool) {
	best, most, from, to := 0.0, -1, 0, 0
	for _, d := range l.draws {
		guess := d * (1 + near) // the greatest that is near enough to d
		for from < len(l.draws) && l.draws[from] < guess/(1+near)*(1-1e-9) {
			from++
		}
		for to < len(l.draws) && l.draws[to] <= guess/(1-near) {
			to++
		}
		if to-from > most {
			best, most = guess, to-from
		}
	}
	if !l.Known() || float64(most) < sure*float64(len(l.draws)) {
		return 0, false
	}
	// Of all that are as near, the middle is the best.
	if middle := l.quantile(0.5); l.within(middle) >= most-1 {
		best = middle
	}
	return seconds(best), true
}

func (l Left) within(guess float64) (n int) {
	for _, d := range l.draws {
		if math.Abs(guess-d) <= near*d {
			n++
		}
	}
	return n
}

// Between returns two times between which what is left lies, nine times out of
// ten.
func (l Left) Between() (least, most time.Duration) {
	return seconds(l.quantile(0.05)), seconds(l.quantile(0.95))
}

func (l Left) quantile(p float64) float64 {
	if !l.Known() {
		return 0
	}
	return l.draws[min(int(p*float64(len(l.draws))), len(l.draws)-1)]
}

// String says it in words; "" if nothing is known.
func (l Left) String() string {
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

// costs has what runs took, to foresee what others take.
type costs struct {
	p      *Plan
	before times // of an earlier run of the experiment, or nil
	points map[string]int
	arms   map[string]int
	made   []made
	notes  []result.RunNote // with what the claims are about
	cases  []int            // of the notes
	links  bool             // claims are about single links
	// workless says that of some run only the time is known.
	workless bool
	// limit says that some case had as many seeds before as it may have now: the
	// others were not kept from it by another limit.
	limit bool
	store *Store
	jobs  map[[2]int]Job
	kept  map[Job]bool  // runs that were asked for whether the store has them
	cost  time.Duration // of the last estimate
}

// made is a run that was made: what it took and its work, in traversals.
type made struct {
	job           Job
	seconds, work float64
}

func newCosts(p *Plan, st *Store) *costs {
	before := p.before(st)
	c := &costs{p: p, before: before, store: st, jobs: make(map[[2]int]Job), kept: make(map[Job]bool), points: make(map[string]int), arms: make(map[string]int)}
	for i, x := range p.Scenario.Cases() {
		if point := p.point(Job{Case: i}); !has(c.points, point) {
			c.points[point] = len(c.points)
		}
		if !has(c.arms, x.Arm) {
			c.arms[x.Arm] = len(c.arms)
		}
		if len(before[p.caseName(i)]) == 0 {
			c.before = nil // it was another experiment
		}
		c.limit = c.limit || len(before[p.caseName(i)]) == p.seeds()
	}
	for i := range p.Scenario.Claims {
		_, name := p.Scenario.Claims[i].Relation()
		c.links = c.links || strings.Contains(name, "->")
	}
	return c
}

func has[K comparable, V any](m map[K]V, k K) bool { _, ok := m[k]; return ok }

// add takes note of a run that took so many seconds; zero is not known. Runs come in
// the order in which they ended.
func (c *costs) add(j Job, n *result.RunNote, seconds, work float64) {
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
func (c *costs) job(i, n int) Job {
	at := [2]int{i, n}
	j, ok := c.jobs[at]
	if !ok {
		j = c.p.Job(i, c.p.seed(n))
		c.jobs[at] = j
	}
	return j
}

// has reports whether the store had a run when that was asked first: it takes no
// time then.
func (c *costs) has(j Job) bool {
	is, asked := c.kept[j]
	if !asked {
		is = c.store.Has(j.Key)
		c.kept[j] = is
	}
	return is
}

// told returns the seconds that a run took before, or zero.
func (c *costs) told(j Job) float64 {
	if list, n := c.before[c.p.caseName(j.Case)], c.p.nth(j.Seed); n >= 0 && n < len(list) {
		return list[n]
	}
	return 0
}

// seeds is how many seeds a case may have.
func (p *Plan) seeds() int { return max(len(p.Scenario.Seeds), p.Scenario.MaxSeeds) }

// look describes a run: what explains it, and the logarithm of its seconds as far
// as known before.
func (c *costs) look(j Job) (r observed, offset float64) {
	x := c.p.Case(j)
	n := max(c.p.nth(j.Seed), 0)
	point := c.points[c.p.point(j)]
	r.level = [kinds]int{byArm: c.arms[x.Arm], byPoint: point, byCase: j.Case, bySeed: n, byTraffic: point*c.p.seeds() + n}
	if seconds := c.told(j); seconds > 0 {
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

// waiting is a run that is not over, under way for so many seconds, if so.
type waiting struct {
	job     Job
	elapsed float64
}

// left estimates how long it takes until all runs are over, so many at a time,
// with those that the claims are going to ask for.
func (c *costs) left(runs []waiting, parallel int) (l Left) {
	defer func(begun time.Time) { c.cost = time.Since(begun) }(time.Now())
	if len(c.made) == 0 && c.before == nil {
		return l
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(c.made))))
	sizes := [kinds]int{byArm: len(c.arms), byPoint: len(c.points), byCase: len(c.p.Scenario.Cases()), bySeed: c.p.seeds(), byTraffic: len(c.points) * c.p.seeds()}
	parts := min(max(len(c.made)/4, 1), loads)
	var work, rate []observed
	var middle float64
	for i, m := range c.made {
		if c.workless {
			m.work = m.seconds
		}
		r, offset := c.look(m.job)
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
	count := make([]int, len(c.p.Scenario.Cases())) // of seeds, once those are made
	for _, i := range c.cases {
		count[i]++
	}
	made := slices.Clone(count)
	for _, w := range runs {
		if w.elapsed == 0 && c.has(w.job) {
			count[w.job.Case]++
			continue
		}
		r, offset := c.look(w.job)
		if c.before == nil {
			r.x -= middle
		}
		known = append(known, ahead{r, offset, w.elapsed})
		count[w.job.Case]++
	}
	asks := c.asks(made)
	for range 30 {
		step()
	}
	draws := min(max(200_000/(len(runs)+len(c.made)+1), 20), 150)
	for range draws {
		step()
		load := rates.ahead() + amiss*rng.NormFloat64()
		take := func(r *observed, offset float64) float64 {
			plain := *r
			plain.x = 0 // bytes make work
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
		for i := range known { // those under way have begun
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
		c.further(rng, asks, slices.Clone(count), func(j Job) {
			r, offset := c.look(j)
			if c.before == nil {
				r.x -= middle
			}
			begin(take(&r, offset))
		}, func() { // all have to be over before claims ask for more
			first, free = last, free[:0]
		})
		l.draws = append(l.draws, last)
	}
	slices.Sort(l.draws)
	return l
}

// amiss is the standard deviation of what is wrong with all this.
const amiss = 0.06

// loads is in how many parts, of four runs or more, the runs are taken in the order
// in which they ended. The load of the machine is the same in a part.
const loads = 10

func (c *costs) index(arm string, point []string) int {
	return slices.IndexFunc(c.p.Scenario.Cases(), func(x *scenario.Case) bool { return x.Arm == arm && slices.Equal(x.Point, point) })
}

// ask is a claim and the cases that it rests on.
type ask struct {
	claim *result.Judged
	cases []int
	made  int // seeds that all of them have
}

// asks returns the claims that may ask for further seeds.
func (c *costs) asks(made []int) (asks []ask) {
	if c.p.Scenario.MaxSeeds <= len(c.p.Scenario.Seeds) {
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
		a := ask{claim: &o.Claims[i], made: math.MaxInt}
		for _, cell := range a.claim.Cells() {
			if at := c.index(o.Cells[cell].Arm, o.Cells[cell].Point); at >= 0 {
				a.cases = append(a.cases, at)
				a.made = min(a.made, made[at])
			}
		}
		asks = append(asks, a)
	}
	return asks
}

// asBefore is how likely an experiment needs as many seeds as the last time.
const asBefore = 0.9

// further has the seeds made that claims may ask for, round by round, and each
// ended.
func (c *costs) further(rng *rand.Rand, asks []ask, count []int, run func(Job), end func()) {
	if len(asks) == 0 {
		return
	}
	like := c.before != nil && c.limit && rng.Float64() < asBefore
	var precise []func(int) bool
	if !like {
		usual := 0.05 * math.Exp(rng.NormFloat64()) // of seeds of this experiment
		for _, a := range asks {
			precise = append(precise, a.claim.Foresee(rng, a.made, usual))
		}
	}
	most := c.p.Scenario.MaxSeeds
	for {
		wants := make([]bool, len(count))
		for i, a := range asks {
			if like {
				break
			}
			n := most
			for _, at := range a.cases {
				n = min(n, count[at])
			}
			if !precise[i](n) {
				for _, at := range a.cases {
					wants[at] = true
				}
			}
		}
		more := false
		end()
		for i, n := range count {
			if like {
				wants[i] = n < len(c.before[c.p.caseName(i)])
			}
			if !wants[i] {
				continue
			}
			for ; n < min(most, count[i]+count[i]/2+1); n++ {
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
