// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// What stands where no experiment shows a cause.
const (
	notKnown      = "not known"
	openWithPaper = "open: the interval has the paper's effect in it"
	smallInPaper  = "no difference to explain: the interval has the paper's effect in it, which is less than the 10 % that count as a gain"
)

// cause says why a claim does not hold, as far as an experiment with the same network
// and traffic shows it at the same scale: one that differs in the cause alone, and whose
// claims are the proof. What another experiment shows at the other scale is a remark, and so is
// with which hosts the claim holds; the cause is not known then.
func (d *documents) cause(o, paper *result.Outcome, c *result.Judged) string {
	switch {
	case c.Untested():
		return "" // the verdict says why
	case c.Verdict == result.Holds:
		return d.lessGain(o, paper, c)
	case alike(o, c):
		return "both variants have the same results in every run: their difference had no effect"
	}
	why, remark := d.explain(o, c)
	switch paper := c.Claim.Paper; {
	case why != "":
		return why
	case !paper.Given:
		return ""
	case c.Verdict == result.Inconclusive && float64(c.Low) <= paper.Change && paper.Change <= float64(c.High):
		return openWithPaper
	case c.Verdict == result.Refuted && float64(c.Low) <= paper.Change && paper.Change <= float64(c.High):
		return smallInPaper
	}
	if remark == "" {
		remark = changed(o, c)
	}
	return notKnown + remark
}

// changed says with which other hosts a claim holds; "" if with none.
func changed(o *result.Outcome, c *result.Judged) string {
	if d := holds(o, c, strings.Replace(c.Point, "go-back-n", "out-of-order", 1)); d != nil {
		return "; with hosts that accept packets out of order it holds" + with(d)
	}
	if d := holds(o, c, strings.Replace(c.Point, "out-of-order", "go-back-n", 1)); d != nil {
		return "; with go-back-N it holds" + with(d)
	}
	return ""
}

// lessGain says by how many points the effect of a claim that holds is less than the
// paper's in the paper's own experiment, and why, as far as an experiment shows it;
// nothing if it is near or more.
func (d *documents) lessGain(o, paper *result.Outcome, c *result.Judged) string {
	points := c.PointsLess()
	if !isFigure(o.Experiment) || points == 0 {
		return ""
	}
	why, remark := d.explain(o, c)
	if why == "" {
		why = notKnown + remark
	}
	return fmt.Sprintf("%.0f points less: %s", points, why)
}

// isFigure reports whether an experiment repeats a figure or table.
func isFigure(experiment string) bool {
	for _, l := range lines {
		if l.experiments == experiment {
			return true
		}
	}
	return false
}

// explain returns the cause that an experiment shows of what came out for a claim, or a
// remark, if it shows it at the other scale only.
func (d *documents) explain(o *result.Outcome, c *result.Judged) (why, remark string) {
	for i := range c.Claim.Because {
		s := &c.Claim.Because[i]
		scale := cmp.Or(s.Scale, scenario.Small)
		by := (&result.Outcome{Experiment: s.By, Scale: scale}).File()
		if !s.Explains(c) || o.File() == by || !d.proven(s) || !d.gains(s, c) {
			continue
		}
		cause := fmt.Sprintf("%s: [%s](%s.md)", s.Text, by, by)
		switch {
		case s.Bound:
			if most := d.limit(s, o, c); most != nil {
				return fmt.Sprintf("a gain as large as the paper's cannot be expected: %s, the change is %s: [%s](%s.md)", s.Text, share(most.Effect), most.in, most.in), ""
			}
		case scale == o.Scale:
			return cause, ""
		case remark == "":
			remark = "; at the other scale: " + cause
		}
	}
	return "", remark
}

// A limit is a claim of another outcome whose effect schemes cannot be expected to
// exceed.
type limit struct {
	*result.Judged
	in string // the outcome
}

// limit returns what s.By shows of the most that could be gained where a claim is
// judged, at the same scale; nil if its interval does not exclude the paper's effect, or
// if the claim itself has a larger effect, so that it is no limit.
func (d *documents) limit(s *result.Cause, o *result.Outcome, c *result.Judged) *limit {
	by := d.kept(s.By, o.Scale)
	if key, _ := c.Claim.Relation(); key != "less" || by == nil || !c.Claim.Paper.Given {
		return nil
	}
	for i := range by.Claims {
		j := &by.Claims[i]
		if s.Proof.Has(j) && j.Claim.Than == c.Claim.Than && float64(j.Low) > c.Claim.Paper.Change && j.Low <= c.Effect {
			return &limit{j, by.File()}
		}
	}
	return nil
}

// with gives the effect of a claim for which the paper has one.
func with(c *result.Judged) string {
	if !c.Claim.Paper.Given {
		return ""
	}
	return fmt.Sprintf(" (%s)", share(c.Effect))
}

// holds returns a claim at another point or in another outcome, nil if it does not hold there.
func holds(o *result.Outcome, c *result.Judged, point string) *result.Judged {
	for i := range o.Claims {
		d := &o.Claims[i]
		if d != c && d.Text == c.Text && (d.Point == point || c.Claim.Over == "mean" || c.Claim.Over == "best") && d.Claim.Note == c.Claim.Note && maps.Equal(d.Claim.At, c.Claim.At) && d.Verdict == result.Holds {
			return d
		}
	}
	return nil
}

// alike reports whether two arms have the same values of all metrics that both have with
// all seeds that both have, at all points of a claim.
func alike(o *result.Outcome, c *result.Judged) bool {
	found := false
	for _, pair := range c.Pairs() {
		if pair[1] < 0 {
			return false
		}
		a, b := &o.Cells[pair[0]], &o.Cells[pair[1]]
		for n, seed := range a.Seeds {
			m := slices.Index(b.Seeds, seed)
			if m < 0 {
				continue
			}
			for metric, values := range a.Values {
				other := b.Values[metric]
				if len(other) <= m { // a register of one of the programs
					continue
				}
				if values[n] != other[m] && !(math.IsNaN(float64(values[n])) && math.IsNaN(float64(other[m]))) {
					return false
				}
				found = true
			}
		}
	}
	return found
}
