// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A SummaryMetric is a number of a Summary that profiles are compared by.
type SummaryMetric struct {
	Name  string // as in the JSON of a Summary
	Title string // in a sentence: "fewer …"
	Unit  string
	of    func(*Summary) float64
}

var metrics = []SummaryMetric{
	{"avg_fct_us", "average FCT", "us", func(s *Summary) float64 { return s.AvgFCTUS }},
	{"p99_fct_us", "p99 FCT", "us", func(s *Summary) float64 { return s.P99FCTUS }},
	{"short_p95_fct_us", "p95 FCT of flows below 100 KB", "us", func(s *Summary) float64 { return s.ShortP95US }},
	{"avg_slowdown", "average slowdown", "", func(s *Summary) float64 { return s.AvgSlowdown }},
	{"p99_slowdown", "p99 slowdown", "", func(s *Summary) float64 { return s.P99Slowdown }},
	{"avg_cct_us", "average coflow completion time", "us", func(s *Summary) float64 { return s.AvgCCTUS }},
	{"stalled_flows", "stalled flows", "", func(s *Summary) float64 { return float64(s.Stalled) }},
	{"pause_frames", "PAUSE frames", "", func(s *Summary) float64 { return float64(s.PauseFrames) }},
	{"paused_us", "paused time of all ports", "us", func(s *Summary) float64 { return s.PausedUS }},
	{"out_of_order", "out-of-order packets", "", func(s *Summary) float64 { return float64(s.OutOfOrder) }},
	{"degree_p99", "p99 out-of-order degree", "packets", func(s *Summary) float64 { return float64(s.DegreeP99) }},
	{"resent", "retransmissions", "", func(s *Summary) float64 { return float64(s.Resent) }},
	{"max_queue_bytes", "longest egress queue", "bytes", func(s *Summary) float64 { return float64(s.MaxQueue) }},
}

// Of returns the metric's value in a summary.
func (m SummaryMetric) Of(s *Summary) float64 { return m.of(s) }

// SummaryMetrics returns the metrics of summaries in the order in which they
// are shown.
func SummaryMetrics() []SummaryMetric { return slices.Clone(metrics) }

// SummaryMetricOf finds a metric of summaries by name.
func SummaryMetricOf(name string) SummaryMetric {
	return metrics[slices.IndexFunc(metrics, func(m SummaryMetric) bool { return m.Name == name })]
}

// A Verdict is a claim and what came out: means over the seeds, and for how
// many of them it holds.
type Verdict struct {
	Claim
	Holds bool    `json:"holds"` // for the means
	Value float64 `json:"value"`
	Other float64 `json:"other"`
	Seeds int     `json:"seeds"`
	Won   int     `json:"seeds_won"`
}

// Comparison has the means over the seeds of every metric of every profile,
// and what became of the claims.
type Comparison struct {
	Profiles []string `json:"profiles"` // in order
	Seeds    []uint64 `json:"seeds"`
	// Means is by metric, then in the order of Profiles. Metrics that are zero
	// throughout are left out.
	Means    map[string][]float64 `json:"means"`
	Verdicts []Verdict            `json:"claims,omitempty"`
	// Counts are the means of what the profiles' programs count.
	Counts map[string][]float64 `json:"counts,omitempty"`
}

// Compare puts runs side by side. Partial ones are left out.
func Compare(runs []*Run, claims []Claim) *Comparison {
	c := &Comparison{Means: make(map[string][]float64), Counts: make(map[string][]float64)}
	by := make(map[string][]*Run)
	for _, r := range runs {
		if r.Partial {
			continue
		}
		if !slices.Contains(c.Profiles, r.Profile) {
			c.Profiles = append(c.Profiles, r.Profile)
		}
		if !slices.Contains(c.Seeds, r.Seed) {
			c.Seeds = append(c.Seeds, r.Seed)
		}
		by[r.Profile] = append(by[r.Profile], r)
	}
	row := func(of func(*Summary) float64) (means []float64, any bool) {
		for _, p := range c.Profiles {
			var v []float64
			for _, r := range by[p] {
				v = append(v, of(&r.Summary))
			}
			m := Mean(v)
			means = append(means, m)
			any = any || m != 0
		}
		return means, any
	}
	for _, m := range metrics {
		if means, any := row(m.of); any {
			c.Means[m.Name] = means
		}
	}
	for _, name := range schemeCounters(runs) {
		if means, any := row(func(s *Summary) float64 { return float64(s.Scheme[name]) }); any {
			c.Counts[name] = means
		}
	}
	for _, cl := range claims {
		c.Verdicts = append(c.Verdicts, verdict(cl, by[cl.With], by[cl.Than]))
	}
	return c
}

func verdict(c Claim, with, than []*Run) Verdict {
	m := SummaryMetricOf(c.Less)
	v := Verdict{Claim: c}
	var a, b []float64
	for _, r := range with {
		i := slices.IndexFunc(than, func(o *Run) bool { return o.Seed == r.Seed })
		if i < 0 {
			continue
		}
		x, y := m.of(&r.Summary), m.of(&than[i].Summary)
		a, b = append(a, x), append(b, y)
		v.Seeds++
		if x < y {
			v.Won++
		}
	}
	v.Value, v.Other = Mean(a), Mean(b)
	v.Holds = v.Seeds > 0 && v.Value < v.Other
	return v
}

// Change is by how much less the value is than the other, as in "-12.3 %".
func (v *Verdict) Change() string {
	if v.Other == 0 {
		return "from zero"
	}
	return fmt.Sprintf("%+.1f %%", 100*(v.Value/v.Other-1))
}

// number prints a mean with four digits or all of its integer part.
func number(x float64) string {
	switch {
	case x >= 1000:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

// lines returns the table of the comparison: a column for each profile.
func (c *Comparison) lines() [][]string {
	lines := [][]string{append([]string{"mean"}, c.Profiles...)}
	for _, m := range metrics {
		means, ok := c.Means[m.Name]
		if !ok {
			continue
		}
		line := []string{m.Title}
		if m.Unit != "" {
			line[0] += ", " + m.Unit
		}
		for _, x := range means {
			line = append(line, number(x))
		}
		lines = append(lines, line)
	}
	var names []string
	for name := range c.Counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		line := []string{strings.ReplaceAll(name, "_", " ")}
		for _, x := range c.Counts[name] {
			line = append(line, number(x))
		}
		lines = append(lines, line)
	}
	return lines
}

// lessOf is the word for less of a metric: fewer of what is counted.
func lessOf(metric string) string {
	switch metric {
	case "stalled_flows", "pause_frames", "out_of_order", "resent":
		return "fewer"
	}
	return "less"
}

func (c *Comparison) sentences() [][]string {
	lines := [][]string{{"claim", "with", "without", "change", "seeds", ""}}
	for i := range c.Verdicts {
		v := &c.Verdicts[i]
		m := SummaryMetricOf(v.Less)
		holds := "does not hold"
		if v.Holds {
			holds = "holds"
		}
		lines = append(lines, []string{fmt.Sprintf("%s %s with %s than with %s", lessOf(m.Name), m.Title, v.With, v.Than),
			number(v.Value), number(v.Other), v.Change(), fmt.Sprintf("%d of %d", v.Won, v.Seeds), holds})
	}
	return lines
}

// Table prints the comparison.
func (c *Comparison) Table(w io.Writer) error {
	if err := align(w, c.lines()); err != nil || len(c.Verdicts) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return align(w, c.sentences())
}

// Markdown prints the comparison as tables in Markdown.
func (c *Comparison) Markdown(w io.Writer) error {
	var b strings.Builder
	table := func(lines [][]string) {
		for i, l := range lines {
			b.WriteString("| " + strings.Join(l, " | ") + " |\n")
			if i == 0 {
				b.WriteString("|---|" + strings.Repeat("---:|", len(l)-1) + "\n")
			}
		}
	}
	table(c.lines())
	if len(c.Verdicts) > 0 {
		b.WriteString("\n")
		table(c.sentences())
	}
	_, err := io.WriteString(w, b.String())
	return err
}
