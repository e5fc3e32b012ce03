// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"math"
	"slices"
)

// A Premise is what must be there for a claim to be tested, as PAUSE where a scheme
// avoids pauses. It is measured on the arm with which the claim compares, or on the
// claim's own arm if it compares with a number or Of says so: the metric's mean over the
// seeds must be more than a number, or less.
type Premise struct {
	More string `yaml:"more" json:"more,omitempty"` // the metric that must be more
	Less string `yaml:"less" json:"less,omitempty"` // the metric that must be less
	// Of is the word with, if the premise is measured on the variant that the claim is
	// about, and not on the one that it is compared with.
	Of string `yaml:"of" json:"of,omitempty"`
	// Than is the number, in the metric's unit.
	Than float64 `yaml:"than" json:"than"`
}

// IsZero reports whether a claim has no premise.
func (p Premise) IsZero() bool { return p == Premise{} }

// Relation returns the key of the premise, less or more, and its metric; "" if there
// is not exactly one.
func (p Premise) Relation() (key, metric string) {
	switch {
	case p.More != "" && p.Less == "":
		return "more", p.More
	case p.Less != "" && p.More == "":
		return "less", p.Less
	}
	return "", ""
}

// Premised is a claim's premise, measured.
type Premised struct {
	Arm     string `json:"arm"`
	Metric  string `json:"metric"`
	Value   Num    `json:"value"` // the mean over the seeds, in the metric's unit
	Present bool   `json:"present"`
}

// premise measures the premise of a claim. It is nil if the claim has none, or its
// metric has no values.
func (o *Outcome) premise(c *Claim, cells [][2]int) *Premised {
	key, metric := c.Premise.Relation()
	if key == "" {
		return nil
	}
	base := 1
	if _, isNumber := c.Number(); isNumber || c.Premise.Of == "with" {
		base = 0
	}
	p := &Premised{Metric: metric}
	var all []*Cell
	for _, pair := range cells {
		all = append(all, &o.Cells[pair[base]])
		p.Arm = all[0].Arm
	}
	mean := meanOf(all, metric)
	if metric == stalledRatio && math.IsNaN(mean) { // slim outcomes have what it follows from
		mean = meanOf(all, "stalled_flows") / meanOf(all, "flows")
	}
	if math.IsNaN(mean) {
		return nil
	}
	p.Value, p.Present = Num(mean), mean > c.Premise.Than
	if key == "less" {
		p.Present = mean < c.Premise.Than
	}
	return p
}

// meanOf returns the mean of a metric over the runs of cells, NaN if none has it.
func meanOf(cells []*Cell, metric string) float64 {
	sum, n := 0.0, 0
	for _, c := range cells {
		for _, v := range c.Values[metric] {
			if !math.IsNaN(float64(v)) {
				sum += float64(v)
				n++
			}
		}
	}
	return sum / float64(n)
}

// absent says that the premise of a claim is not there.
func (p *Premised) absent(c *Claim) string {
	title, unit := p.Metric, ""
	if m, ok := MetricOf(p.Metric); ok {
		title, unit = m.Title, unitText(m.Unit)
	}
	if unit != "" {
		unit = " " + unit
	}
	key, _ := c.Premise.Relation()
	return fmt.Sprintf("the premise is absent: %s with %s is %.3g%s, not %s than %.3g", title, p.Arm, float64(p.Value), unit, key, c.Premise.Than)
}

// stalledRatio is a metric that slim outcomes have only where a claim is about it.
const stalledRatio = "stalled_ratio"

// acts are counters of what a scheme does. A scheme of which all are zero forwards as
// if it were not there.
var acts = []string{"reroutes", "recirculations", "postcards"}

// unmarked are the congestion controls that leave a flow at its line rate if none of its
// packets is marked. Others also act on delays, telemetry or messages of switches.
var unmarked = []string{"", "none", "dcqcn", "dcqcn_paper", "dctcp", "pcn"}

// idle reports whether a claim compares two arms with the same decisions, and why. Those
// whose program counts its acts did nothing in any run. If the arms have different
// congestion controls, no packet was marked, either. There must be a count of one of these.
// A claim about one arm at two points is about what differs between these.
func (o *Outcome) idle(cells [][2]int) (why string, idle bool) {
	counts, marks := false, false
	for _, pair := range cells {
		if pair[0] < 0 || pair[1] < 0 {
			return "", false
		}
		with, than := o.arm(o.Cells[pair[0]].Arm), o.arm(o.Cells[pair[1]].Arm)
		if with.Name == than.Name {
			return "", false
		}
		for k, i := range pair {
			for _, name := range acts {
				values := o.Cells[i].Values[name]
				counts = counts || len(values) > 0
				if slices.ContainsFunc(values, some) {
					return "", false
				}
			}
			if with.CC == than.CC {
				continue
			}
			values, cc := o.Cells[i].Values[MarkedPackets], [2]string{with.CC, than.CC}[k]
			// hosts may also send CNPs for packets out of order; those of PCN always do
			if !slices.Contains(unmarked, cc) || len(values) == 0 || slices.ContainsFunc(values, some) || cc != "pcn" && slices.ContainsFunc(o.Cells[i].Values["cnps"], some) {
				return "", false
			}
			marks = true
		}
	}
	if marks {
		return "the congestion controls did nothing: no packet was marked", true
	}
	return "the program did nothing: no reroute, no recirculation, no postcard", counts
}

// some reports whether a run counted something, or may have.
func some(v Num) bool { return v != 0 }

// arm returns the arm of a name.
func (o *Outcome) arm(name string) *Arm {
	if i := slices.IndexFunc(o.Arms, func(a Arm) bool { return a.Name == name }); i >= 0 {
		return &o.Arms[i]
	}
	return &Arm{Name: name}
}

// untested replaces the verdict on a claim whose premise is absent, or whose scheme did
// nothing. Further seeds would not change that.
func (o *Outcome) untested(j *Judged) {
	j.Premise = o.premise(&j.Claim, j.cells)
	key, metric := j.Claim.Relation()
	switch {
	case j.Seeds == 0:
	case j.Premise != nil && !j.Premise.Present && !(j.Premise.Metric == metric && j.opposite()):
		j.contrary = j.opposite()
		j.Verdict, j.Why, j.Precise = NotTested, j.Premise.absent(&j.Claim), true
		if j.contrary {
			j.Why = "the effect is the opposite, and " + j.Why
		}
	case key != "same":
		if why, idle := o.idle(j.cells); idle {
			j.Verdict, j.Why, j.Precise = Idle, why, true
		}
	}
}

// Circumstances are what the runs of a claim were like.
type Circumstances struct {
	PauseFrames float64 // per run of the arm of than, or of with if than is a number; NaN if not known
	Stalled     float64 // share of its measured flows that were paused; NaN if not known
	Runs        int     // of both arms
	Unsteady    int     // of these, runs whose halves of the window differ
}

// Circumstances returns what the runs of a claim were like.
func (o *Outcome) Circumstances(j *Judged) (c Circumstances) {
	var base []*Cell
	for _, pair := range j.cells {
		base = append(base, &o.Cells[pair[0]])
		if pair[1] >= 0 {
			base[len(base)-1] = &o.Cells[pair[1]]
		}
	}
	c.PauseFrames, c.Stalled = meanOf(base, "pause_frames"), meanOf(base, "stalled_flows")/meanOf(base, "flows")
	for _, i := range j.Cells() {
		cell := &o.Cells[i]
		for k := range o.Runs {
			r := &o.Runs[k]
			if r.Arm == cell.Arm && slices.Equal(r.Point, cell.Point) {
				c.Runs++
				if r.Steady != nil && !r.Steady.OK() {
					c.Unsteady++
				}
			}
		}
	}
	return c
}

// Answers to a number that a paper states.
const (
	Contrary   = "not tested, opposite" // the premise is absent, and the effect on the other side all the same
	Reproduced = "reproduced"           // at least half of the paper's effect
	Smaller    = "smaller"              // on the paper's side, less than half of its effect
	None       = "none"                 // no effect, or none of half of the paper's size
	Opposite   = "opposite"             // on the other side
)

// Answer returns what came of the paper's number: Reproduced, Smaller, None, Opposite,
// NotTested, Contrary, Idle, or Inconclusive. It is "" if the claim has no number of a paper.
func (j *Judged) Answer() string {
	if j.Claim.Paper.IsZero() {
		return ""
	}
	key, _ := j.Claim.Relation()
	paper := j.Claim.Paper.Change
	switch {
	case j.Verdict == Holds && key != "same" && paper != 0 && float64(j.Effect)/paper < 0.5:
		return Smaller
	case j.Verdict == Holds:
		return Reproduced
	case j.contrary:
		return Contrary
	case j.Verdict != Refuted:
		return j.Verdict
	case j.opposite():
		return Opposite
	}
	return None
}

// Untested reports whether the claim was not tested: its premise is absent, or the scheme
// did nothing.
func (j *Judged) Untested() bool { return j.Verdict == NotTested || j.Verdict == Idle }

// Contrary reports whether the premise of the claim is absent and the interval lies on the
// other side of no effect all the same: the scheme costs something where it has nothing to
// act on.
func (j *Judged) Contrary() bool { return j.contrary }

// opposite reports whether the interval lies on the other side of no effect than the
// claim.
func (j *Judged) opposite() bool {
	lo, hi := float64(j.Low), float64(j.High)
	if j.Difference != nil {
		lo, hi = float64(j.Difference.Low), float64(j.Difference.High)
	}
	key, _ := j.Claim.Relation()
	return j.Verdict == Refuted && (key == "less" && lo > 0 || key == "more" && hi < 0)
}
