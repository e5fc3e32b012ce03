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
)

// KeptFormat is the format of an outcome without what follows from its values.
const KeptFormat = "pauseless-kept/1"

// StuckKept is the number of stuck flows of each run in a slim outcome.
const StuckKept = 1

// digitsKept is the number of significant digits of a number in a slim outcome that
// is not whole. A number has more if its page would be another without them.
const digitsKept = 6

// general are the metrics that a slim outcome has beside those of its claims, with
// their tiers. Counters of programs are kept as well.
var general = []string{
	"flows", "finished", "stuck_flows", "avg_fct_us", "p50_fct_us", "p95_fct_us", "p99_fct_us", "avg_slowdown", "p99_slowdown", "completion_us", "incast_last_us",
	"avg_cct_us", "p99_cct_us", "stalled_flows", "pause_frames", "paused_us", "storms", "roots", "waited_us", "victim_time_us", "victims", "tree_us", "out_of_order", "resent", "timeouts", "max_queue_bytes", "deadlocked",
	"cnps", "dropped", "overflowed", "postcards_per_flow",
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
	Arms         []Arm      `json:"arms"`
	Axes         []Axis     `json:"axes,omitempty"`
	Claims       []Claim    `json:"claims,omitempty"`
	Loads        []Load     `json:"offered_load,omitempty"`
	Links        []Link     `json:"links,omitempty"`
	LinksLeftOut int        `json:"links_left_out,omitempty"`
	Remarks      []string   `json:"remarks,omitempty"`
	Metrics      []string   `json:"metrics"` // of the values of each cell
	Cells        []keptCell `json:"cells"`
}

// keptCell is one arm at one point.
type keptCell struct {
	Arm    string     `json:"arm"`
	Point  []string   `json:"point,omitempty"`
	Seeds  seedList   `json:"seeds"`
	Runs   []keptRun  `json:"runs,omitempty"` // those of which more than the values is to be said
	Values []seedNums `json:"values"`         // by metric; null for one that the cell lacks
}

// keptRun is what is kept of a run beside its values.
type keptRun struct {
	Seed         uint64   `json:"seed"`
	State        string   `json:"state,omitempty"` // Done if empty
	Error        string   `json:"error,omitempty"`
	EndUS        float64  `json:"end_us,omitempty"`
	Steady       *Steady  `json:"steady,omitempty"`
	Z            float64  `json:"z,omitempty"` // of Steady, if no more of it is kept
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

// seedNums are values in the order of the seeds; one number is for all seeds.
type seedNums []Num

// MarshalJSON implements json.Marshaler.
func (v seedNums) MarshalJSON() ([]byte, error) {
	if len(v) == 0 {
		return []byte("null"), nil
	}
	if !slices.ContainsFunc(v, func(x Num) bool { return x != v[0] }) {
		return json.Marshal(v[0])
	}
	return json.Marshal([]Num(v))
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *seedNums) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*[]Num)(v))
	}
	*v = make(seedNums, 1)
	return json.Unmarshal(data, &(*v)[0])
}

// of returns the value of the i-th seed; NaN if there is none.
func (v seedNums) of(i int) Num {
	switch {
	case len(v) == 1:
		return v[0]
	case i < len(v):
		return v[i]
	}
	return Num(math.NaN())
}

// compact returns the outcome without what follows from its values.
func (o *Outcome) compact() *kept {
	k := &kept{
		Format: KeptFormat, Experiment: o.Experiment, Summary: o.Summary, Source: o.Source, Scale: o.Scale, Why: o.Why, Command: o.Command, Scenario: o.Scenario,
		Looks: o.Looks, Partial: o.Partial, Arms: o.Arms, Axes: o.Axes, Loads: o.Loads, Links: o.Links, LinksLeftOut: o.LinksLeftOut, Remarks: o.Remarks,
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
			cell.Values[m] = c.Values[name]
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
				run.Z = r.Steady.Z
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
		Looks: k.Looks, Partial: k.Partial, Arms: k.Arms, Axes: k.Axes, Loads: k.Loads,
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
				if more.Z != 0 {
					r.Steady = &Steady{Z: more.Z}
				}
			}
			runs = append(runs, r)
		}
	}
	o.Fill(runs, k.Claims)
	for i := range runs {
		runs[i].Earlier = false // Again sets it where that matters
	}
	o.Links, o.LinksLeftOut, o.Remarks = k.Links, k.LinksLeftOut, k.Remarks
	return o, nil
}

// Slim returns a copy of the outcome of a size that can be committed: the metrics of
// its claims and the general ones, with few digits, and the links of its page. Its
// page and the verdicts are the same.
func (o *Outcome) Slim() *Outcome {
	k := o.compact()
	k.Loads = nil // they follow from the scenario
	k.links(o)
	var named []string
	for i := range k.Claims {
		_, metric := k.Claims[i].Relation()
		named = append(named, metric)
	}
	metrics := k.Metrics
	k.Metrics = nil
	for _, name := range metrics {
		base, selector, _ := strings.Cut(name, ".")
		_, standard := MetricOf(name)
		if !standard || slices.Contains(named, name) || slices.Contains(general, base) && (selector == "" || slices.Contains(tierNames, selector)) {
			k.Metrics = append(k.Metrics, name)
		}
	}
	for i := range k.Cells {
		c := &k.Cells[i]
		c.Values = make([]seedNums, len(k.Metrics))
		for m, name := range k.Metrics {
			c.Values[m] = o.Cells[i].Values[name]
		}
		slim := c.Runs[:0]
		for _, r := range c.Runs {
			if r.EndUS = 0; r.Steady != nil {
				if !r.Steady.OK() {
					r.Z = round(r.Steady.Z, 3)
				}
				r.Steady = nil
			}
			most := min(len(r.Stuck), StuckKept)
			r.StuckLeftOut += len(r.Stuck) - most
			r.Stuck = r.Stuck[:most:most]
			if r.State != "" || r.Error != "" || r.Z != 0 || len(r.Remarks) > 0 || len(r.Unmet) > 0 {
				slim = append(slim, r)
			}
		}
		c.Runs = slim
	}
	return k.rounded(o)
}

// links leaves the links of the page.
func (k *kept) links(o *Outcome) {
	shown, all := o.linksShown(), k.Links
	k.Links = nil
	left := len(all)
	for i := range o.Cells {
		c := &o.Cells[i]
		for _, s := range shown {
			if !slices.Equal(s.Point, c.Point) {
				continue
			}
			at := slices.IndexFunc(all, func(l Link) bool { return l.Arm == c.Arm && l.same(s) })
			switch {
			case at >= 0:
				l := all[at]
				l.Frames, l.PausedUS, l.Half = round(l.Frames, digitsKept), roundAs(l.PausedUS), roundAs(l.Half)
				k.Links = append(k.Links, l)
				left--
			case o.LinksLeftOut == 0: // it was not paused
				k.Links = append(k.Links, Link{Arm: c.Arm, Point: c.Point, Node: s.Node, Peer: s.Peer})
			}
		}
	}
	k.LinksLeftOut += left
}

// round returns a number with so many significant digits.
func round(x float64, digits int) float64 {
	if x == math.Trunc(x) || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return y
}

// SameKept reports whether a value of a slim outcome may be that of a run.
func SameKept(kept, x float64) bool {
	return kept == x || x != math.Trunc(x) && math.Abs(kept-x) <= 5.1*math.Pow10(-digitsKept)*math.Abs(x)
}

// roundAs returns a number with at least digitsKept digits that a page prints as x.
func roundAs(x float64) float64 {
	for digits := digitsKept; ; digits++ {
		if y := round(x, digits); number(y) == number(x) {
			return y
		}
	}
}

// rounded returns the outcome of rounded values. Those without which the page of o
// would be another have more digits.
func (k *kept) rounded(o *Outcome) *Outcome {
	type value struct{ point, metric string } // all arms have as many digits, so that equal values stay equal
	at := func(cell int, metric string) value { return value{o.PointText(o.Cells[cell].Point), metric} }
	whole := make([][]seedNums, len(k.Cells))
	for i := range k.Cells {
		whole[i] = k.Cells[i].Values
	}
	digits := make(map[value]int)
	for {
		for i := range k.Cells {
			k.Cells[i].Values = make([]seedNums, len(k.Metrics))
			for m, name := range k.Metrics {
				for _, x := range whole[i][m] {
					k.Cells[i].Values[m] = append(k.Cells[i].Values[m], Num(round(float64(x), digitsKept+digits[at(i, name)])))
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
			if digits[v] < 17-digitsKept {
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
func (o *Outcome) WriteKept(w io.Writer) error { return writeLines(w, o.compact()) }

// writeLines writes JSON with a line for each field, and for each element of an array
// of objects, and a seal.
func writeLines(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(Seal(lines(b.Bytes())))
	return err
}

// linesDeep is the depth down to which a value has its own line.
const linesDeep = 2

func lines(compact []byte) []byte {
	out := make([]byte, 0, len(compact)+len(compact)/8)
	depth, quoted := 0, false
	newline := func(at int) {
		if at <= linesDeep {
			out = append(append(out, '\n'), strings.Repeat(" ", at)...)
		}
	}
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		switch {
		case quoted && c == '\\':
			out = append(out, c)
			i++
			c = compact[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			out = append(out, c)
			if compact[i+1] != '}' && compact[i+1] != ']' {
				newline(depth)
			}
			continue
		case c == '}' || c == ']':
			if depth--; compact[i-1] != '{' && compact[i-1] != '[' {
				if depth < linesDeep {
					newline(depth)
				}
			}
		case c == ',':
			out = append(out, c)
			newline(depth)
			continue
		case c == ':' && depth < linesDeep:
			out = append(out, c, ' ')
			continue
		}
		out = append(out, c)
	}
	return out
}
