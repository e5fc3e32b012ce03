// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/outfile"
)

// KeptFormat is the format of an outcome without what follows from its values.
const KeptFormat = "pauseless-kept/2"

// StuckKept is the number of stuck flows that a slim outcome names, of the first run that
// has some.
const StuckKept = 1

// The numbers of significant digits that a number in a slim outcome has if it is not
// whole: of a metric of claims or their premises, and of another one. A number has more if
// its page would be another without them.
const (
	digitsClaimed = 6
	digitsOther   = 4
)

// general are the metrics that a slim outcome has beside those of headline, and of its
// claims and their premises, and those PAUSE frames that spines get.
var general = []string{"flows", "stuck_flows", "roots", "timeouts", "deadlocked", "cnps", "dropped", "overflowed", "postcards_per_flow", "warnings_sent"}

// claimed reports whether a claim or its premise is about a metric.
func (k *kept) claimed(name string) bool {
	return slices.ContainsFunc(k.Claims, func(c Claim) bool {
		_, metric := c.Relation()
		_, premise := c.Premise.Relation()
		return name == metric || name == premise && name != stalledRatio
	})
}

// keeps reports whether a slim outcome has a metric. Without claims it has all counters of
// programs.
func (k *kept) keeps(name string) bool {
	base, selector, _ := strings.Cut(name, ".")
	_, standard := MetricOf(name)
	switch {
	case k.claimed(name):
		return true
	case name == MarkedPackets: // they say whether congestion controls did something
		return len(k.Claims) == 0 || slices.ContainsFunc(k.Arms[min(1, len(k.Arms)):], func(a keptArm) bool { return a.CC != nil })
	case !standard:
		return len(k.Claims) == 0 || slices.Contains(acts, name) || slices.Contains(general, name)
	case selector == "":
		return slices.Contains(general, name) || slices.Contains(headline, name)
	}
	return base == "pause_frames" && selector == "spine"
}

// kept is an outcome in KeptFormat: values by arm, point and seed, and the claims as
// the scenario has them. Means, intervals and verdicts follow from these.
type kept struct {
	Format       string     `json:"format"`
	Experiment   string     `json:"experiment"`
	Summary      string     `json:"summary"`
	Source       string     `json:"source,omitempty"`
	Scale        string     `json:"scale"`
	Why          string     `json:"why,omitempty"`
	Command      string     `json:"command"`
	Scenario     string     `json:"scenario_sha256"`
	Looks        bool       `json:"looks,omitempty"`
	Partial      bool       `json:"partial,omitempty"`
	Arms         []keptArm  `json:"arms"`
	Axes         []Axis     `json:"axes,omitempty"`
	Claims       []Claim    `json:"claims,omitempty"`
	Loads        []Load     `json:"offered_load,omitempty"`
	Links        []keptLink `json:"links,omitempty"`
	LinksLeftOut int        `json:"links_left_out,omitempty"`
	Remarks      []string   `json:"remarks,omitempty"`
	Metrics      []string   `json:"metrics"` // of the values of each cell
	Cells        []keptCell `json:"cells"`
}

// keptArm is an Arm. Fields that are nil are those of the first arm.
type keptArm struct {
	Name     string            `json:"name"`
	Profile  string            `json:"profile"`
	Target   *string           `json:"target,omitempty"`
	CC       *string           `json:"cc,omitempty"`
	Recovery *string           `json:"recovery,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
	Program  string            `json:"program,omitempty"`
	Hosts    *string           `json:"hosts,omitempty"`
}

// compactArms leaves out what all arms have in common.
func compactArms(arms []Arm) (list []keptArm) {
	for i := range arms {
		a, first := &arms[i], &arms[0]
		unless := func(own, first *string) *string {
			if i > 0 && *own == *first || i == 0 && *own == "" {
				return nil
			}
			return own
		}
		list = append(list, keptArm{a.Name, a.Profile, unless(&a.Target, &first.Target), unless(&a.CC, &first.CC), unless(&a.Recovery, &first.Recovery), a.Settings, a.Program, unless(&a.Hosts, &first.Hosts)})
	}
	return list
}

// arms is the inverse of compactArms.
func (k *kept) arms() (list []Arm) {
	for i := range k.Arms {
		a, first := &k.Arms[i], &k.Arms[0]
		or := func(own, first *string) string {
			switch {
			case own != nil:
				return *own
			case first != nil:
				return *first
			}
			return ""
		}
		list = append(list, Arm{a.Name, a.Profile, or(a.Target, first.Target), or(a.CC, first.CC), or(a.Recovery, first.Recovery), a.Settings, a.Program, or(a.Hosts, first.Hosts)})
	}
	return list
}

// keptCell is one arm at one point.
type keptCell struct {
	Arm      string             `json:"arm"`
	Point    []string           `json:"point,omitempty"`
	Seeds    seedList           `json:"seeds"`
	Unsteady map[uint64]float64 `json:"unsteady,omitempty"` // Steady.Z of runs of which no more is kept, by seed
	Runs     []keptRun          `json:"runs,omitempty"`     // those of which more than the values is to be said
	Values   []seedNums         `json:"values"`             // by metric; null for one that the cell lacks
}

// keptRun is what is kept of a run beside its values.
type keptRun struct {
	Seed         uint64   `json:"seed"`
	State        string   `json:"state,omitempty"` // Done if empty
	Error        string   `json:"error,omitempty"`
	EndUS        float64  `json:"end_us,omitempty"`
	Steady       *Steady  `json:"steady,omitempty"`
	Stuck        []Stuck  `json:"stuck,omitempty"`
	StuckLeftOut int      `json:"stuck_left_out,omitempty"`
	Remarks      []string `json:"remarks,omitempty"`
	Unmet        []string `json:"unmet,omitempty"`
}

// seedList are seeds; with most instead of a list, those from 1 to most.
type seedList struct {
	most int
	list []uint64
}

func seedsOf(seeds []uint64) seedList {
	for i, seed := range seeds {
		if seed != uint64(i+1) {
			return seedList{list: seeds}
		}
	}
	return seedList{most: len(seeds)}
}

func (s seedList) len() int { return max(s.most, len(s.list)) }

func (s seedList) at(i int) uint64 {
	if i < len(s.list) {
		return s.list[i]
	}
	return uint64(i + 1)
}

// MarshalJSON implements json.Marshaler.
func (s seedList) MarshalJSON() ([]byte, error) {
	if s.list != nil {
		return json.Marshal(s.list)
	}
	return json.Marshal(s.most)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *seedList) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, &s.list)
	}
	return json.Unmarshal(data, &s.most)
}

// mostValues is the greatest number of values of an outcome. Those of the built-in
// experiments have up to 200,000.
const mostValues = 5_000_000

// mostCells is the greatest number of cells of an outcome.
const mostCells = 10_000

// seedNums are values in the order of the seeds; one number is for all seeds. As JSON they
// may be the name of an arm whose cell, before this one and at the same point, has the
// same values.
type seedNums struct {
	nums []Num
	like string // the arm
}

// MarshalJSON implements json.Marshaler.
func (v seedNums) MarshalJSON() ([]byte, error) {
	switch {
	case v.like != "":
		return json.Marshal(v.like)
	case len(v.nums) == 0:
		return []byte("null"), nil
	case v.constant():
		return json.Marshal(v.nums[0])
	}
	return json.Marshal(v.nums)
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *seedNums) UnmarshalJSON(data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte("[")):
		return json.Unmarshal(data, &v.nums)
	case bytes.HasPrefix(data, []byte(`"`)) && !slices.Contains(infinities, string(data[1:len(data)-1])):
		return json.Unmarshal(data, &v.like)
	}
	v.nums = make([]Num, 1)
	return json.Unmarshal(data, &v.nums[0])
}

// constant reports whether all values are the same number.
func (v *seedNums) constant() bool {
	return !slices.ContainsFunc(v.nums, func(x Num) bool { return x != v.nums[0] })
}

// of returns the value of the i-th seed; NaN if there is none.
func (v *seedNums) of(i int) Num {
	switch {
	case len(v.nums) == 1:
		return v.nums[0]
	case i < len(v.nums):
		return v.nums[i]
	}
	return Num(math.NaN())
}

// infinities are what Num writes for numbers that JSON does not have. No arm with such a
// name is referred to.
var infinities = []string{"inf", "-inf"}

// before returns the cells at the point of the i-th one that are before it.
func (k *kept) before(i int) (cells []*keptCell) {
	for n := range k.Cells[:i] {
		if c := &k.Cells[n]; slices.Equal(c.Point, k.Cells[i].Point) {
			cells = append(cells, c)
		}
	}
	return cells
}

// refer replaces values that are those of another arm by its name.
func (k *kept) refer() {
	for i := range k.Cells {
		before := k.before(i)
		for m := range k.Cells[i].Values {
			v := &k.Cells[i].Values[m]
			if len(v.nums) < 2 || v.constant() {
				continue
			}
			n := slices.IndexFunc(before, func(c *keptCell) bool {
				return slices.Equal(c.Values[m].nums, v.nums) && c.Arm != "" && !slices.Contains(infinities, c.Arm)
			})
			if n >= 0 {
				*v = seedNums{like: before[n].Arm}
			}
		}
	}
}

// resolve is the inverse of refer.
func (k *kept) resolve() error {
	for i := range k.Cells {
		for m := range k.Cells[i].Values {
			v := &k.Cells[i].Values[m]
			if v.like == "" {
				continue
			}
			before := k.before(i)
			n := slices.IndexFunc(before, func(c *keptCell) bool { return c.Arm == v.like && m < len(c.Values) })
			if n < 0 {
				return fmt.Errorf("cell %d: there are no values of %s at its point before it", i+1, v.like)
			}
			*v = before[n].Values[m]
		}
	}
	return nil
}

// compact returns the outcome without what follows from its values.
func (o *Outcome) compact() *kept {
	k := &kept{
		Format: KeptFormat, Experiment: o.Experiment, Summary: o.Summary, Source: o.Source, Scale: o.Scale, Why: o.Why, Command: o.Command, Scenario: o.Scenario,
		Looks: o.Looks, Partial: o.Partial, Arms: compactArms(o.Arms), Axes: o.Axes, Loads: o.Loads, Links: compactLinks(o.Links), LinksLeftOut: o.LinksLeftOut, Remarks: o.Remarks,
	}
	for i := range o.Claims {
		if c := o.Claims[i].Claim; i == 0 || !reflect.DeepEqual(c, o.Claims[i-1].Claim) {
			k.Claims = append(k.Claims, c)
		}
	}
	for i := range o.Metrics {
		k.Metrics = append(k.Metrics, o.Metrics[i].Name)
	}
	for i := range o.Cells {
		c := &o.Cells[i]
		cell := keptCell{Arm: c.Arm, Point: c.Point, Seeds: seedsOf(c.Seeds), Values: make([]seedNums, len(k.Metrics))}
		for m, name := range k.Metrics {
			cell.Values[m].nums = c.Values[name]
		}
		for n := range o.Runs {
			r := &o.Runs[n]
			if r.Arm != c.Arm || !slices.Equal(r.Point, c.Point) {
				continue
			}
			run := keptRun{Error: r.Error, EndUS: r.EndUS, Stuck: r.Stuck, StuckLeftOut: r.StuckLeftOut, Remarks: r.Remarks, Unmet: r.Unmet}
			if r.State != Done {
				run.State = r.State
			}
			if r.Steady != nil && *r.Steady == (Steady{Z: r.Steady.Z}) {
				cell.unsteady(r.Seed, r.Steady.Z)
			} else {
				run.Steady = r.Steady
			}
			if !reflect.ValueOf(run).IsZero() {
				run.Seed = r.Seed
				cell.Runs = append(cell.Runs, run)
			}
		}
		k.Cells = append(k.Cells, cell)
	}
	return k
}

// unsteady notes Steady.Z of a run.
func (c *keptCell) unsteady(seed uint64, z float64) {
	if c.Unsteady == nil {
		c.Unsteady = make(map[uint64]float64)
	}
	c.Unsteady[seed] = z
}

// outcome computes what follows from the values.
func (k *kept) outcome() (*Outcome, error) {
	values := 0
	if len(k.Cells) > mostCells {
		return nil, fmt.Errorf("the outcome has %d cells, more than %d", len(k.Cells), mostCells)
	}
	for i := range k.Cells {
		if n := len(k.Cells[i].Point); n != len(k.Axes) {
			return nil, fmt.Errorf("cell %d: its point has %d values for %d axes", i+1, n, len(k.Axes))
		}
		if values += min(k.Cells[i].Seeds.len(), mostValues+1) * (1 + len(k.Metrics)); values > mostValues || k.Cells[i].Seeds.most < 0 {
			return nil, fmt.Errorf("cell %d: the outcome has more than %d values", i+1, mostValues)
		}
	}
	o := &Outcome{
		Experiment: k.Experiment, Summary: k.Summary, Source: k.Source, Scale: k.Scale, Why: k.Why, Command: k.Command, Scenario: k.Scenario,
		Looks: k.Looks, Partial: k.Partial, Arms: k.arms(), Axes: k.Axes, Loads: k.Loads,
	}
	var runs []RunNote
	for i := range k.Cells {
		c := &k.Cells[i]
		for n := range c.Seeds.len() {
			seed := c.Seeds.at(n)
			r := RunNote{Arm: c.Arm, Point: c.Point, Seed: seed, State: Done, Metrics: make(map[string]float64, len(c.Values)), Earlier: true}
			for m, v := range c.Values[:min(len(c.Values), len(k.Metrics))] {
				if x := float64(v.of(n)); !math.IsNaN(x) {
					r.Metrics[k.Metrics[m]] = x
				}
			}
			if at := slices.IndexFunc(c.Runs, func(r keptRun) bool { return r.Seed == seed }); at >= 0 {
				more := &c.Runs[at]
				r.State, r.Error, r.EndUS, r.Steady = cmp.Or(more.State, Done), more.Error, more.EndUS, more.Steady
				r.Stuck, r.StuckLeftOut, r.Remarks, r.Unmet = more.Stuck, more.StuckLeftOut, more.Remarks, more.Unmet
			}
			if z, ok := c.Unsteady[seed]; ok {
				r.Steady = &Steady{Z: z}
			}
			runs = append(runs, r)
		}
	}
	o.Fill(runs, k.Claims)
	for i := range runs {
		runs[i].Earlier = false // Again sets it where that matters
	}
	o.Links, o.LinksLeftOut, o.Remarks = k.links(o.Cells), k.LinksLeftOut, k.Remarks
	return o, nil
}

// Slim returns a copy of the outcome of a size that can be committed: the metrics of
// its claims, of their premises and of its page, and few others, with few digits, and the
// links of its page. Its page and the verdicts are the same.
func (o *Outcome) Slim() *Outcome {
	k := o.compact()
	k.Loads = nil // they follow from the scenario
	k.slimLinks(o)
	metrics := k.Metrics
	k.Metrics = nil
	for _, name := range metrics {
		if k.keeps(name) {
			k.Metrics = append(k.Metrics, name)
		}
	}
	named := false // whether a stuck flow is
	for i := range k.Cells {
		c := &k.Cells[i]
		c.Values = make([]seedNums, len(k.Metrics))
		for m, name := range k.Metrics {
			c.Values[m].nums = o.Cells[i].Values[name]
		}
		slim := c.Runs[:0]
		for _, r := range c.Runs {
			if r.EndUS = 0; r.Steady != nil {
				if !r.Steady.OK() {
					c.unsteady(r.Seed, round(r.Steady.Z, 3))
				}
				r.Steady = nil
			}
			most := 0
			if len(r.Stuck) > 0 && !named {
				most, named = min(len(r.Stuck), StuckKept), true
			}
			r.StuckLeftOut += len(r.Stuck) - most
			r.Stuck = r.Stuck[:most:most]
			if r.State != "" || r.Error != "" || len(r.Remarks) > 0 || len(r.Unmet) > 0 {
				slim = append(slim, r)
			}
		}
		c.Runs = slim
	}
	return k.rounded(o)
}

// round returns a number with so many significant digits.
func round(x float64, digits int) float64 {
	if x == math.Trunc(x) || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return y
}

// SameKept reports whether a value of a slim outcome may be that of a run: it differs by
// half a unit of its last digit, and a little, as it may have been rounded twice.
func SameKept(kept, x float64) bool {
	if kept == x || x == math.Trunc(x) {
		return kept == x
	}
	mantissa, _, _ := strings.Cut(strconv.FormatFloat(math.Abs(kept), 'e', -1, 64), "e")
	digits := max(digitsOther, len(strings.Replace(mantissa, ".", "", 1)))
	unit := math.Pow10(int(math.Floor(math.Log10(math.Abs(x)))) - digits + 1)
	return math.Abs(kept-x) <= 0.51*unit
}

// roundAs returns a number with at least digitsClaimed digits that a page prints as x.
func roundAs(x float64) float64 {
	for digits := digitsClaimed; ; digits++ {
		if y := round(x, digits); number(y) == number(x) {
			return y
		}
	}
}

// rounded returns the outcome of rounded values. Those without which the page of o
// would be another have more digits.
func (k *kept) rounded(o *Outcome) *Outcome {
	// Cells that are compared have as many digits, so that equal values stay equal.
	type value struct{ point, metric string }
	points := slices.ContainsFunc(k.Claims, func(c Claim) bool { return len(c.ThanAt) > 0 })
	at := func(cell int, metric string) value {
		if points {
			return value{"", metric}
		}
		return value{o.PointText(o.Cells[cell].Point), metric}
	}
	whole := make([][]seedNums, len(k.Cells))
	for i := range k.Cells {
		whole[i] = k.Cells[i].Values
	}
	digits := make(map[value]int) // beyond those of the metric
	for {
		for i := range k.Cells {
			k.Cells[i].Values = make([]seedNums, len(k.Metrics))
			for m, name := range k.Metrics {
				v, least := &k.Cells[i].Values[m], digitsOther
				if k.claimed(name) {
					least = digitsClaimed
				}
				for _, x := range whole[i][m].nums {
					v.nums = append(v.nums, Num(round(float64(x), least+digits[at(i, name)])))
				}
			}
		}
		slim, err := k.outcome()
		if err != nil {
			panic("BUG: " + err.Error()) // o has as many values
		}
		more := make(map[value]bool)
		for i := range slim.Cells {
			for name := range slim.Cells[i].Values {
				if slim.Cells[i].text(name) != o.Cells[i].text(name) {
					more[at(i, name)] = true
				}
			}
		}
		was, is := o.verdicts(), slim.verdicts()
		for i := range slim.Claims {
			a, b := &o.Claims[i], &slim.Claims[i]
			if slices.Equal(was[i+1], is[i+1]) && a.Change() == b.Change() && a.Precise == b.Precise {
				continue
			}
			_, metric := b.Claim.Relation()
			for _, cell := range b.Cells() {
				more[at(cell, metric)] = true
			}
		}
		changed := false
		for v := range more {
			if digits[v] < 17-digitsOther {
				digits[v]++
				changed = true
			}
		}
		if !changed {
			return slim
		}
	}
}

// WriteKept writes the outcome in KeptFormat. ReadOutcome reads it.
func (o *Outcome) WriteKept(w io.Writer) error {
	k := o.compact()
	k.refer()
	return writeLines(w, k)
}

// writeLines writes JSON with a line for each field, and for each element of an array
// of objects, and a seal.
func writeLines(w io.Writer, v any) error {
	text, err := outfile.JSON(v)
	if err != nil {
		return err
	}
	_, err = w.Write(Seal(text))
	return err
}
