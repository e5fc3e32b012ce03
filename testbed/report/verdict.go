// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
)

// Verdicts is a table of claims: a row for each claim, with the intervals of
// its points.
type Verdicts struct {
	Lead  string
	Ticks []Tick
	Rows  []VerdictRow
}

// Tick is a mark on the scale that all rows share.
type Tick struct {
	X    float64
	Text string
}

// VerdictRow is a claim: the interval of the change at each of its points.
type VerdictRow struct {
	Text, Paper, Count string
	Height             float64
	PaperX             float64 // below zero if the paper gives no number
	Marks              []Mark
}

// Mark is the interval of a claim at one point, and its verdict in words.
type Mark struct {
	Y, X, Low, High float64
	// From and To report whether the interval's ends lie within the scale.
	From, To    bool
	Shown       bool // the change is finite
	Class, Text string
}

// The picture of an interval, in units of its SVG.
const (
	scaleWidth = 300
	markHeight = 11
	scaleFrom  = -1.0 // a change of -100 %
	scaleTo    = 1.0
	fewAnswers = 6 // up to so many verdicts are sentences without a table
)

func onScale(change float64) float64 {
	return math.Round(10*(min(max(change, scaleFrom), scaleTo)-scaleFrom)/(scaleTo-scaleFrom)*scaleWidth) / 10
}

// verdictWords has the verb for one claim with a verdict, and for several.
var verdictWords = map[string][2]string{
	result.Holds: {"holds", "hold"}, result.Inconclusive: {"is undecided", "are undecided"},
	result.NotTested: {"is not tested", "are not tested"}, result.Idle: {"compares with a scheme that did nothing", "compare with a scheme that did nothing"},
}

func counted(o *result.Outcome, n int, verdict string) string {
	words, ok := verdictWords[verdict]
	if !ok {
		words = [2]string{"is " + o.Word(verdict), "are " + o.Word(verdict)}
	}
	if n == 1 {
		return "1 " + words[0]
	}
	return fmt.Sprintf("%d %s", n, words[1])
}

// countedAll lists the numbers of verdicts. Of the last two kinds it lists those that
// there are.
func countedAll(o *result.Outcome) string {
	n := o.Count()
	var parts []string
	for _, of := range result.Verdicts {
		if n[of] > 0 || of != result.NotTested && of != result.Idle {
			parts = append(parts, counted(o, n[of], of))
		}
	}
	return strings.Join(parts, ", ")
}

// verdicts returns the table of claims; nil for up to fewAnswers verdicts.
func verdicts(o *result.Outcome) *Verdicts {
	if len(o.Claims) <= fewAnswers {
		return nil
	}
	v := &Verdicts{}
	for _, c := range []float64{-1, -0.5, 0, 0.5, 1} {
		text := strings.Replace(fmt.Sprintf("%+.0f %%", 100*c), "-", "−", 1)
		if c == 0 {
			text = "0"
		}
		v.Ticks = append(v.Ticks, Tick{onScale(c), text})
	}
	var claims []string
	counts := make(map[string]map[string]int)
	for i := range o.Claims {
		j := &o.Claims[i]
		k := slices.Index(claims, j.Text)
		if k < 0 {
			k = len(claims)
			claims = append(claims, j.Text)
			counts[j.Text] = make(map[string]int)
			row := VerdictRow{Text: j.Text, PaperX: -1}
			if !j.Claim.Paper.IsZero() {
				row.Paper, row.PaperX = minus(j.Claim.Paper.String()), onScale(j.Claim.Paper.Change)
			}
			v.Rows = append(v.Rows, row)
		}
		counts[j.Text][j.Verdict]++
		row := &v.Rows[k]
		e, lo, hi := float64(j.Effect), float64(j.Low), float64(j.High)
		m := Mark{Y: float64(len(row.Marks))*markHeight + 7, Class: map[string]string{result.Holds: better, result.Refuted: worse, result.Inconclusive: undecided, result.NotTested: undecided, result.Idle: undecided}[j.Verdict], Text: verdict(o, j).Text}
		switch {
		case j.Difference != nil: // off the scale of changes: an arrow
			x := onScale(math.Copysign(scaleTo, float64(j.Difference.Value)))
			m.Shown, m.X, m.Low, m.High, m.From, m.To = true, x, x, x, j.Difference.Value > 0, j.Difference.Value <= 0
		case !math.IsNaN(e) && !math.IsInf(e, 0):
			m.Shown, m.X, m.Low, m.High = true, onScale(e), onScale(e), onScale(e)
			m.From, m.To = true, true
			if !math.IsInf(hi-lo, 0) && !math.IsNaN(hi-lo) {
				m.Low, m.High, m.From, m.To = onScale(lo), onScale(hi), lo >= scaleFrom, hi <= scaleTo
			}
		}
		row.Marks = append(row.Marks, m)
	}
	for i := range v.Rows {
		row := &v.Rows[i]
		row.Height = float64(len(row.Marks))*markHeight + 4
		var parts []string
		for _, of := range result.Verdicts {
			if n := counts[row.Text][of]; n > 0 {
				parts = append(parts, counted(o, n, of))
			}
		}
		row.Count = strings.Join(parts, ", ")
	}
	v.Lead = fmt.Sprintf("Of %d verdicts on %d claims %s.", len(o.Claims), len(claims), countedAll(o))
	return v
}

// minus replaces hyphens by minus signs as wide as a plus.
func minus(text string) string { return strings.ReplaceAll(text, "-", "−") }

// verdict describes the outcome of a claim in a sentence.
func verdict(o *result.Outcome, j *result.Judged) Answer {
	text := j.Text
	if j.Point != "" {
		text += " (" + j.Point + ")"
	}
	text += ": " + o.Word(j.Verdict)
	if j.Why != "" {
		text += ", " + j.Why
	}
	e, lo, hi := float64(j.Effect), float64(j.Low), float64(j.High)
	if !math.IsNaN(e) && !math.IsInf(e, 0) {
		text += "; change " + percent(e)
	}
	switch {
	case j.Deterministic():
	case j.Difference != nil:
		text += fmt.Sprintf("; difference %s (95 %% interval, %d runs)", minus(j.Difference.Text(j.Unit())), j.Seeds)
	case !math.IsInf(hi-lo, 0) && !math.IsNaN(hi-lo):
		text += fmt.Sprintf(" (95 %% interval %s, %d runs)", result.IntervalText(lo, hi, percent), j.Seeds)
	}
	if !j.Claim.Paper.IsZero() {
		text += "; the paper says " + minus(j.Claim.Paper.String())
	}
	return Answer{text + ".", map[string]string{result.Holds: better, result.Refuted: worse}[j.Verdict]}
}
