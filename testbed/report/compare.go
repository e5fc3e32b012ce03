// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
)

// Answer is a sentence that compares two arms. Mark is better, worse or
// undecided.
type Answer struct{ Text, Mark string }

// Table has one row per metric and one column per arm.
type Table struct {
	Title string // empty if there is only one table
	Heads []string
	Rows  []Row
}

// Row is a metric: its mean in every arm, and the change from the arm's base.
type Row struct {
	Title string
	Cells []Cell
}

// Cell is a mean over seeds. All but Value are empty for an arm without a base.
type Cell struct{ Value, Change, Interval, Mark, Sign string }

// The values of Mark.
const (
	better    = "better"
	worse     = "worse"
	undecided = "undecided"
)

var signs = map[string]string{better: "▲", worse: "▼", undecided: "~"}

// mark returns better, worse or undecided. Good is less, more, or empty for a
// metric of which neither is better; the mark is empty then.
func mark(c result.Comparison, good string) string {
	switch sign := c.Sign(); {
	case good == "":
		return ""
	case sign == 0:
		return undecided
	case (sign < 0) == (good == "less"):
		return better
	}
	return worse
}

// percent prints a change with a minus sign as wide as the plus.
func percent(x float64) string {
	text := fmt.Sprintf("%+.1f %%", 100*x)
	if text == "-0.0 %" {
		return "+0.0 %"
	}
	return strings.Replace(text, "-", "−", 1)
}

// baseOf returns the arm that another is compared with: for rlb-drill it is
// drill if there is such an arm, otherwise the first arm; empty for the first.
func baseOf(arms []string, arm string) string {
	if _, base, ok := strings.Cut(arm, "-"); ok && slices.Contains(arms, base) {
		return base
	}
	if arms[0] == arm {
		return ""
	}
	return arms[0]
}

// base returns the runs of the arm that another is compared with.
func (g *group) base(p *Page, arm int) (armRuns, bool) {
	var names []string
	for _, a := range g.arms {
		names = append(names, p.Arms[a.arm])
	}
	if name := baseOf(names, p.Arms[arm]); name != "" {
		return g.arms[slices.Index(names, name)], true
	}
	return armRuns{}, false
}

// paired returns a metric of the runs of two arms that have it and a seed in common,
// in the same order.
func paired(a, b armRuns, m result.SummaryMetric) (x, y []float64) {
	for _, r := range a.runs {
		i := slices.IndexFunc(b.runs, func(o *result.Run) bool { return o.Seed == r.Seed && m.In(o) })
		if i >= 0 && m.In(r) {
			x, y = append(x, m.Of(&r.Summary)), append(y, m.Of(&b.runs[i].Summary))
		}
	}
	return x, y
}

// compare returns the sentences and the table of a group.
func compare(p *Page, g *group) ([]Answer, Table) {
	var answers []Answer
	table := Table{}
	for _, a := range g.arms {
		table.Heads = append(table.Heads, p.Arms[a.arm])
		if b, ok := g.base(p, a.arm); ok {
			answers = append(answers, sentence(p.Arms[a.arm], p.Arms[b.arm], func(metric string) (with, than []float64) {
				return paired(a, b, result.SummaryMetricOf(metric))
			}))
		}
	}
	for _, m := range result.SummaryMetrics() {
		row := Row{Title: titled(m.Title, m.Unit)}
		any := false
		for _, a := range g.arms {
			var v []float64
			for _, r := range a.runs {
				if m.In(r) {
					v = append(v, m.Of(&r.Summary))
				}
			}
			c := Cell{Value: "–"}
			if len(v) > 0 {
				c.Value = amount(result.Mean(v))
			}
			any = any || result.Mean(v) != 0
			if b, ok := g.base(p, a.arm); ok {
				with, than := paired(a, b, m)
				c.compare(with, than, "less", m.Unit)
			}
			row.Cells = append(row.Cells, c)
		}
		if any {
			table.Rows = append(table.Rows, row)
		}
	}
	table.Rows = append(table.Rows, counts(g)...)
	return answers, table
}

// compare adds the change from the arm's base, by the rule that decides claims.
func (c *Cell) compare(with, than []float64, good, unit string) {
	if len(with) == 0 || result.Mean(with) == 0 && result.Mean(than) == 0 {
		return
	}
	both := result.Decided(with, than, good)
	if !math.IsNaN(both.Change.Value) {
		c.Change = percent(both.Change.Value)
	}
	if len(with) == 1 {
		return
	}
	c.Interval = interval(both, unit)
	c.Mark = mark(both, good)
	c.Sign = signs[c.Mark]
}

// interval prints the interval of a comparison: of the change, or with a unit if the
// change has no bounds.
func interval(c result.Comparison, unit string) string {
	if units := c.Units(); units != nil {
		return minus(units.Text(unit))
	}
	return result.IntervalText(c.Change.Low, c.Change.High, percent)
}

// counts returns rows without a comparison: flows finished, drops, and the
// programs' counters.
func counts(g *group) []Row {
	var rows []Row
	row := func(title string, cell func(a armRuns) string) {
		r := Row{Title: title}
		for _, a := range g.arms {
			r.Cells = append(r.Cells, Cell{Value: cell(a)})
		}
		rows = append(rows, r)
	}
	sum := func(a armRuns, of func(*result.Summary) float64) float64 {
		total := 0.0
		for _, r := range a.runs {
			total += of(&r.Summary)
		}
		return total
	}
	row("flows finished, all runs", func(a armRuns) string {
		return fmt.Sprintf("%.0f of %.0f", sum(a, func(s *result.Summary) float64 { return float64(s.Finished) }), sum(a, func(s *result.Summary) float64 { return float64(s.Flows) }))
	})
	row("lossless packets dropped, all runs", func(a armRuns) string {
		return amount(sum(a, func(s *result.Summary) float64 { return float64(s.Dropped) }))
	})
	var names []string
	for _, a := range g.arms {
		for _, r := range a.runs {
			for name := range r.Summary.Scheme {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		row(strings.ReplaceAll(name, "_", " ")+", mean", func(a armRuns) string {
			var counts []float64
			for _, r := range a.runs {
				if n, ok := r.Summary.Scheme[name]; ok && !r.Partial {
					counts = append(counts, float64(n))
				}
			}
			if len(counts) == 0 {
				return "–"
			}
			return amount(result.Mean(counts))
		})
	}
	return rows
}

// amount prints a mean with four digits or all of its integer part.
func amount(x float64) string {
	switch {
	case x == math.Trunc(x) || x >= 1000:
		return strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// sentence compares an arm with its base: average and 99th percentile of the
// completion time, and PAUSE frames.
func sentence(name, other string, of func(metric string) (with, than []float64)) Answer {
	with, than := of("avg_fct_us")
	if len(with) == 0 {
		return Answer{fmt.Sprintf("The completion times of %s and %s are not compared: no seed has all flows finished with both.", name, other), undecided}
	}
	both := result.Decided(with, than, "less")
	text := fmt.Sprintf("%s finishes flows %s than %s on average", name, words(both.Change.Value, "sooner", "later"), other)
	m := undecided
	if len(with) == 1 {
		text += " (one run: no interval, so no verdict)"
	} else {
		m = mark(both, "less")
		of := "change"
		if both.Units() != nil {
			of = "difference"
		}
		text += fmt.Sprintf(" (95 %% interval of the %s %s, %d runs", of, interval(both, "µs"), len(with))
		if m == undecided {
			text += ": undecided"
		}
		text += ")"
	}
	for _, m := range []struct{ metric, before, less, more string }{
		{"p99_fct_us", ", the slowest 1 % ", "sooner", "later"}, {"pause_frames", ", with ", "fewer PAUSE frames", "more PAUSE frames"},
	} {
		if with, than := of(m.metric); result.Mean(than) != 0 {
			text += m.before + words(result.Mean(with)/result.Mean(than)-1, m.less, m.more)
		}
	}
	return Answer{text + ".", m}
}

// words says a change in words: "12.3 % sooner".
func words(change float64, less, more string) string {
	if change > 0 {
		return fmt.Sprintf("%.1f %% %s", 100*change, more)
	}
	return fmt.Sprintf("%.1f %% %s", -100*change, less)
}
