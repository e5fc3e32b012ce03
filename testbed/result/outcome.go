// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/infile"
)

// OutcomeFormat is the format of an Outcome as JSON.
const OutcomeFormat = "pauseless-outcome/1"

// An Outcome is the result of an experiment at a scale: a cell for every arm and
// point, and a verdict for every claim.
type Outcome struct {
	Format     string `json:"format"`
	Experiment string `json:"experiment"`
	Summary    string `json:"summary"`
	Source     string `json:"source,omitempty"`
	Scale      string `json:"scale"`
	// Why explains why the small scale answers the experiment's question.
	Why      string   `json:"why,omitempty"`
	Command  string   `json:"command"`         // that repeats the experiment
	Scenario string   `json:"scenario_sha256"` // hash of what the runs follow from
	Arms     []Arm    `json:"arms"`
	Axes     []Axis   `json:"axes,omitempty"`
	Metrics  []Metric `json:"metrics"` // of all cells, in the order of SortMetrics
	Cells    []Cell   `json:"cells"`
	Claims   []Judged `json:"claims,omitempty"`
	Loads    []Load   `json:"offered_load,omitempty"`
	// Links are the paused links by arm and point. After Slim they are those of the
	// page, and LinksLeftOut counts the others.
	Links        []Link `json:"links,omitempty"`
	LinksLeftOut int    `json:"links_left_out,omitempty"`
	// Remarks are circumstances that make the outcome less reliable.
	Remarks []string `json:"remarks,omitempty"`
	// Looks reports whether seeds were added until claims were precise or had verdicts,
	// so that their intervals are those of several looks.
	Looks bool `json:"looks,omitempty"`
	// Partial reports whether runs are missing because the budget was spent.
	Partial bool `json:"partial,omitempty"`
	// Runs are in the order of arms and points. After Slim they name at most StuckKept
	// stuck flows.
	Runs []RunNote `json:"runs"`

	// Earlier, if set, is an outcome of the same file, some of whose runs Fill is
	// given.
	Earlier *Outcome `json:"-"`
}

// File returns the name of a kept outcome's files without extension. It differs
// by scale.
func (o *Outcome) File() string {
	if o.Scale == "small" {
		return o.Experiment
	}
	return o.Experiment + "-" + o.Scale
}

// Arm is one of the variants that are compared.
type Arm struct {
	Name     string            `json:"name"`
	Profile  string            `json:"profile"`
	Target   string            `json:"target"`
	CC       string            `json:"cc"`
	Recovery string            `json:"recovery"`
	Settings map[string]string `json:"settings,omitempty"`
	// Program is the hash of the programs' texts and manifests, Hosts that of the
	// results of a small run with the same hosts. Empty if they are not known.
	Program string `json:"program,omitempty"`
	Hosts   string `json:"hosts,omitempty"`
}

// Axis is an axis of the grid.
type Axis struct {
	Name   string  `json:"name"`
	Key    string  `json:"key,omitempty"`
	Unit   string  `json:"unit,omitempty"` // of X: us, b/s or bytes
	Values []Value `json:"values"`
}

// Value is a value on an axis: the file's text, and its number in Axis.Unit, or
// nil if it is not a number.
type Value struct {
	Text string   `json:"text"`
	X    *float64 `json:"x,omitempty"`
}

// Cell is one arm at one point. Values are by metric, in the order of Seeds; a
// missing value is NaN.
type Cell struct {
	Arm    string           `json:"arm"`
	Point  []string         `json:"point,omitempty"`
	Seeds  []uint64         `json:"seeds"`
	Values map[string][]Num `json:"values"`
	Mean   map[string]Num   `json:"mean"`
	// Half is the half-width of the 95 % interval of the mean (Student's t).
	Half map[string]Num `json:"half,omitempty"`
}

// Link has the pauses of one direction of a link: means over the seeds of one arm
// at one point.
type Link struct {
	Arm    string   `json:"arm"`
	Point  []string `json:"point,omitempty"`
	Node   string   `json:"node"` // the paused end
	Peer   string   `json:"peer"`
	Frames float64  `json:"pause_frames"`
	// PausedUS is the mean in µs, Half the half-width of its 95 % interval.
	PausedUS float64 `json:"paused_us"`
	Half     float64 `json:"half,omitempty"`
}

// Load is the offered load of the links of a tier in one direction, as shares of
// their rate.
type Load struct {
	Point []string `json:"point,omitempty"`
	Tier  string   `json:"tier"` // as "leaf to spine"
	Mean  float64  `json:"mean"`
	Max   float64  `json:"max"`
	Where string   `json:"where"` // the link with the greatest load
	// OverUS is the time in µs in which flows start, if the scenario has no window.
	// Links may carry the flows in a longer time.
	OverUS float64 `json:"over_us,omitempty"`
}

// States of a run.
const (
	Done   = "done"
	Cut    = "cut"    // ended by until before the last measured flow
	Locked = "stuck"  // flows cannot proceed
	Failed = "failed" // an error
)

// RunNote describes the outcome of a run.
type RunNote struct {
	Arm    string   `json:"arm"`
	Point  []string `json:"point,omitempty"`
	Seed   uint64   `json:"seed"`
	Key    string   `json:"-"` // in the store of this build
	State  string   `json:"state"`
	Error  string   `json:"error,omitempty"`
	EndUS  float64  `json:"end_us,omitempty"` // virtual time in µs
	Steady *Steady  `json:"steady,omitempty"`
	// Stuck has the flows that cannot proceed, StuckLeftOut the number of those
	// that Slim left out. The metric stuck_flows counts both.
	Stuck        []Stuck  `json:"stuck,omitempty"`
	StuckLeftOut int      `json:"stuck_left_out,omitempty"`
	Remarks      []string `json:"remarks,omitempty"`
	// Unmet is what the file expects of single packets and did not come.
	Unmet []string `json:"unmet,omitempty"`

	Metrics map[string]float64 `json:"-"`
	Links   []LinkPauses       `json:"-"`
	// Earlier is true if the run is one of Outcome.Earlier, so that its links are
	// not known.
	Earlier bool `json:"-"`
}

// needsAllFlows reports whether a metric is wrong if some flows have not finished.
func needsAllFlows(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	return strings.HasSuffix(base, "_fct_us") || strings.HasSuffix(base, "_slowdown") || strings.HasSuffix(base, "_cct_us") ||
		base == "completion_us" || base == "incast_last_us"
}

// Fill computes cells, links, verdicts and remarks from runs, which must be in the
// order of arms and points.
func (o *Outcome) Fill(runs []RunNote, claims []Claim) {
	o.Format, o.Runs, o.Cells, o.Claims, o.Remarks = OutcomeFormat, runs, nil, nil, nil
	var names, only []string
	if o.Earlier != nil { // a slim one lacks metrics, which would be means of a part of the seeds
		for _, m := range o.Earlier.Metrics {
			only = append(only, m.Name)
		}
	}
	for i := range runs {
		r := &runs[i]
		c := o.cell(r.Arm, r.Point)
		if c == nil {
			o.Cells = append(o.Cells, Cell{Arm: r.Arm, Point: r.Point, Values: make(map[string][]Num), Mean: make(map[string]Num), Half: make(map[string]Num)})
			c = &o.Cells[len(o.Cells)-1]
		}
		r.claimed(claims)
		for name, v := range r.Metrics {
			if only != nil && !slices.Contains(only, name) {
				continue
			}
			if c.Values[name] == nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
			if r.State == Locked && needsAllFlows(name) {
				continue
			}
			for len(c.Values[name]) < len(c.Seeds) {
				c.Values[name] = append(c.Values[name], Num(math.NaN()))
			}
			c.Values[name] = append(c.Values[name], Num(v))
		}
		c.Seeds = append(c.Seeds, r.Seed)
		for name := range c.Values {
			for len(c.Values[name]) < len(c.Seeds) {
				c.Values[name] = append(c.Values[name], Num(math.NaN()))
			}
		}
	}
	o.Metrics = nil
	for _, name := range SortMetrics(names) {
		m, ok := MetricOf(name)
		if !ok {
			m = Metric{Name: name, Title: strings.ReplaceAll(name, "_", " ")}
		}
		o.Metrics = append(o.Metrics, m)
	}
	for i := range o.Cells {
		o.Cells[i].mean()
	}
	o.links()
	o.Judge(claims)
	o.remark()
}

// Again returns the runs of an outcome that was read from a file, with their
// metrics, for Fill.
func (o *Outcome) Again() []RunNote {
	runs := slices.Clone(o.Runs)
	for i := range runs {
		r := &runs[i]
		r.Earlier, r.Metrics = true, make(map[string]float64)
		c := o.cell(r.Arm, r.Point)
		if c == nil {
			continue
		}
		for name := range c.Values {
			if v, ok := c.value(name, r.Seed); ok {
				r.Metrics[name] = v
			}
		}
	}
	return runs
}

// Rename gives arms other names, by those that they have.
func (o *Outcome) Rename(names map[string]string) {
	rename := func(name *string) {
		if n, ok := names[*name]; ok {
			*name = n
		}
	}
	for i := range o.Arms {
		rename(&o.Arms[i].Name)
	}
	for i := range o.Cells {
		rename(&o.Cells[i].Arm)
	}
	for i := range o.Links {
		rename(&o.Links[i].Arm)
	}
	for i := range o.Runs {
		rename(&o.Runs[i].Arm)
	}
	for i := range o.Claims {
		j := &o.Claims[i]
		rename(&j.Claim.With)
		rename(&j.Claim.Than)
		j.Text = j.Claim.Sentence()
	}
	for i := range o.Remarks {
		for was, is := range names {
			o.Remarks[i] = strings.ReplaceAll(o.Remarks[i], "("+was+",", "("+is+",")
		}
	}
}

func (o *Outcome) cell(arm string, point []string) *Cell {
	if i := o.cellIndex(arm, point); i >= 0 {
		return &o.Cells[i]
	}
	return nil
}

func (o *Outcome) cellIndex(arm string, point []string) int {
	return slices.IndexFunc(o.Cells, func(c Cell) bool { return c.Arm == arm && slices.Equal(c.Point, point) })
}

func (c *Cell) mean() {
	for name, values := range c.Values {
		var v []float64
		for _, x := range values {
			if !math.IsNaN(float64(x)) {
				v = append(v, float64(x))
			}
		}
		if len(v) == 0 {
			continue
		}
		i := meanInterval(v, 0.05)
		c.Mean[name] = Num(i.Value)
		if len(v) > 1 {
			c.Half[name] = Num(i.Half())
		}
	}
}

// PointText returns a point with the names of its axes, as in "load 0.6".
func (o *Outcome) PointText(point []string) string {
	var parts []string
	for i, v := range point {
		parts = append(parts, o.Axes[i].Name+" "+v)
	}
	return strings.Join(parts, ", ")
}

// value returns the value of a metric with a seed, and whether there is one.
func (c *Cell) value(metric string, seed uint64) (v float64, ok bool) {
	i, values := slices.Index(c.Seeds, seed), c.Values[metric]
	if i < 0 || i >= len(values) || math.IsNaN(float64(values[i])) {
		return 0, false
	}
	return float64(values[i]), true
}

// remark adds remarks on runs that failed, were cut off, or were not steady, and
// on seeds that do not differ.
func (o *Outcome) remark() {
	count := func(what string, is func(*RunNote) bool) {
		n, first := 0, ""
		for i := range o.Runs {
			if r := &o.Runs[i]; is(r) {
				if n++; n == 1 {
					first = fmt.Sprintf("%s, seed %d", strings.Join(append([]string{r.Arm}, r.Point...), ", "), r.Seed)
					if len(r.Stuck) > 0 {
						first += ": " + r.Stuck[0].String()
					} else if r.Error != "" {
						first += ": " + r.Error
					}
				}
			}
		}
		if n > 0 {
			o.Remarks = append(o.Remarks, fmt.Sprintf("%d of %d runs %s (%s)", n, len(o.Runs), what, first))
		}
	}
	count("failed", func(r *RunNote) bool { return r.State == Failed })
	count("did not finish: flows cannot proceed", func(r *RunNote) bool { return r.State == Locked })
	count("were cut off by until before all measured flows had ended", func(r *RunNote) bool { return r.State == Cut })
	count("were not steady: the halves of the window differ", func(r *RunNote) bool { return r.Steady != nil && !r.Steady.OK() })
	count("are of an earlier outcome; the paused links are means of the other runs where there are others", func(r *RunNote) bool { return r.Earlier })
	for i := range o.Cells {
		c := &o.Cells[i]
		same := len(c.Seeds) > 1
		for _, v := range c.Values {
			for _, x := range v {
				same = same && x == v[0]
			}
		}
		if same {
			o.Remarks = append(o.Remarks, fmt.Sprintf("%s: all runs are the same; the intervals do not show random variation", strings.Join(append([]string{c.Arm}, c.Point...), ", ")))
			break
		}
	}
}

// WriteJSON writes the outcome with all that follows from its values, for other
// programs.
func (o *Outcome) WriteJSON(w io.Writer) error { return writeLines(w, o) }

// ReadOutcome reads what WriteJSON or WriteKept writes. It returns an error for
// another format.
func ReadOutcome(r io.Reader) (*Outcome, error) {
	text, err := infile.From(r, "the outcome", infile.Data)
	if err != nil {
		return nil, err
	}
	var o Outcome
	if err := o.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	return &o, nil
}

// UnmarshalJSON implements json.Unmarshaler, for both formats.
func (o *Outcome) UnmarshalJSON(text []byte) error {
	var head struct {
		Format string `json:"format"`
	}
	if err := infile.JSON(text, &head); err != nil {
		return err
	}
	if err := CheckSeal(text); err != nil {
		return err
	}
	switch head.Format {
	case OutcomeFormat:
		type plain Outcome
		return infile.JSON(text, (*plain)(o))
	case KeptFormat:
		var k kept
		if err := infile.JSON(text, &k); err != nil {
			return err
		}
		if err := k.resolve(); err != nil {
			return err
		}
		all, err := k.outcome()
		if err == nil {
			*o = *all
		}
		return err
	}
	return fmt.Errorf("format is %q, expected %q or %q: not an outcome of an experiment, or one of another version", head.Format, OutcomeFormat, KeptFormat)
}
