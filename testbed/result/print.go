// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// headline are the metrics that a table shows beside those of the claims.
var headline = []string{"finished", "avg_fct_us", "p99_fct_us", "avg_slowdown", "stalled_flows", "pause_frames", "paused_us", "storms", "waited_us", "victim_time_us", "victim_paused_us", "victims", "out_of_order", "resent", "packets_received", "packets_lost", "packets_marked", "avg_packet_us", "p99_packet_us"}

// Shown returns the metrics that a table shows: those of headline and of the
// claims, or all. Metrics that are zero in all cells are left out.
func (o *Outcome) Shown(all bool) (list []Metric) {
	names := slices.Clone(headline)
	for i := range o.Claims {
		_, m := o.Claims[i].Claim.Relation()
		names = append(names, m)
	}
	for _, m := range o.Metrics {
		_, known := MetricOf(m.Name)
		counter := !known && len(o.Claims) == 0
		if (all || counter || slices.Contains(names, m.Name)) && !o.zero(m.Name) {
			list = append(list, m)
		}
	}
	return list
}

// zero reports whether a metric is zero in all cells.
func (o *Outcome) zero(name string) bool {
	for i := range o.Cells {
		if v, ok := o.Cells[i].Mean[name]; ok && v != 0 {
			return false
		}
	}
	return true
}

// Table prints the outcome: means over the seeds with their 95 % intervals, one
// column per arm, then the claims and remarks. With all it prints every metric.
func (o *Outcome) Table(w io.Writer, all bool) error {
	for i, lines := range o.tables(all) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := align(w, lines); err != nil {
			return err
		}
	}
	if len(o.Claims) > 0 {
		fmt.Fprintln(w)
		if err := align(w, o.verdicts()); err != nil {
			return err
		}
	}
	for _, r := range o.Remarks {
		if _, err := fmt.Fprintf(w, "\n%s\n", r); err != nil {
			return err
		}
	}
	return nil
}

// tables returns one table without axes, otherwise one per metric.
func (o *Outcome) tables(all bool) (tables [][][]string) {
	var arms []string
	for _, a := range o.Arms {
		arms = append(arms, a.Name)
	}
	if len(o.Axes) == 0 {
		lines := [][]string{append([]string{"mean"}, arms...)}
		if o.uneven() {
			lines = append(lines, o.seeds(arms, nil, "runs"))
		}
		for _, m := range o.Shown(all) {
			line := []string{m.heading()}
			for _, a := range arms {
				line = append(line, o.cell(a, nil).text(m.Name))
			}
			lines = append(lines, line)
		}
		return o.withLinks([][][]string{lines})
	}
	var points [][]string
	for i := range o.Cells {
		if !slices.ContainsFunc(points, func(p []string) bool { return slices.Equal(p, o.Cells[i].Point) }) {
			points = append(points, o.Cells[i].Point)
		}
	}
	if o.uneven() {
		lines := [][]string{append([]string{"runs"}, arms...)}
		for _, p := range points {
			lines = append(lines, o.seeds(arms, p, o.PointText(p)))
		}
		tables = append(tables, lines)
	}
	for _, m := range o.Shown(all) {
		lines := [][]string{append([]string{m.heading()}, arms...)}
		for _, p := range points {
			line := []string{o.PointText(p)}
			for _, a := range arms {
				line = append(line, o.cell(a, p).text(m.Name))
			}
			lines = append(lines, line)
		}
		tables = append(tables, lines)
	}
	return o.withLinks(tables)
}

// uneven reports whether cells have different numbers of runs, so that their
// means are of different traffic. Verdicts use only the seeds of both sides.
func (o *Outcome) uneven() bool {
	return slices.ContainsFunc(o.Cells, func(c Cell) bool { return len(c.Seeds) != len(o.Cells[0].Seeds) })
}

// seeds returns a row with the number of runs of each arm at a point.
func (o *Outcome) seeds(arms, point []string, head string) []string {
	line := []string{head}
	for _, a := range arms {
		if c := o.cell(a, point); c != nil {
			line = append(line, fmt.Sprint(len(c.Seeds)))
		} else {
			line = append(line, "-")
		}
	}
	return line
}

func (o *Outcome) withLinks(tables [][][]string) [][][]string {
	if lines := o.longestPaused(); lines != nil {
		tables = append(tables, lines)
	}
	return tables
}

func (m *Metric) heading() string {
	if m.Unit == "" {
		return m.Title
	}
	return m.Title + ", " + unitText(m.Unit)
}

// text prints a mean with its interval.
func (c *Cell) text(metric string) string {
	if c == nil {
		return "-"
	}
	mean, ok := c.Mean[metric]
	if !ok {
		return "-"
	}
	half, ok := c.Half[metric]
	if !ok || half == 0 {
		return number(float64(mean))
	}
	return number(float64(mean)) + " ±" + number(float64(half))
}

// verdicts returns the claims as a table.
func (o *Outcome) verdicts() [][]string {
	head := []string{"claim", "with", "than", "change", "95 % interval", "paper", "runs", "verdict"}
	if len(o.Axes) > 0 {
		head = slices.Insert(head, 1, "at")
	}
	lines := [][]string{head}
	for i := range o.Claims {
		j := &o.Claims[i]
		interval, change := "-", "-"
		if !math.IsNaN(float64(j.Effect)) && !math.IsInf(float64(j.Effect), 0) {
			change = changeText(float64(j.Effect))
		}
		switch {
		case j.Deterministic():
		case j.Difference != nil:
			interval = j.Difference.Text(j.Unit())
		case !math.IsInf(float64(j.Low), 0) && !math.IsNaN(float64(j.Low)):
			interval = strings.Replace(IntervalText(float64(j.Low), float64(j.High), changeText), " % to ", " to ", 1)
		}
		line := []string{j.Text, numberOf(j.Value), numberOf(j.Other), change, interval, j.Claim.Paper.String(), fmt.Sprint(j.Seeds), o.Says(j)}
		if len(o.Axes) > 0 {
			line = slices.Insert(line, 1, j.Point)
		}
		lines = append(lines, line)
	}
	return lines
}

// Deterministic reports whether all runs have the same difference, so that there is no
// interval.
func (j *Judged) Deterministic() bool {
	if d := j.Difference; d != nil {
		return j.Seeds > 1 && d.Low == d.High
	}
	return j.Seeds > 1 && j.Low == j.High
}

// Change returns the effect of a claim and its interval as documents print them.
func (j *Judged) Change() string {
	return fmt.Sprintf("%s %s %s", changeText(float64(j.Effect)), changeText(float64(j.Low)), changeText(float64(j.High)))
}

// Unit returns the unit of the claim's metric as texts print it; "" if it counts or is a
// share.
func (j *Judged) Unit() string {
	_, name := j.Claim.Relation()
	m, _ := MetricOf(name)
	return unitText(m.Unit)
}

// unitText returns a unit of files as texts print it: µs for us.
func unitText(unit string) string {
	if unit == "us" {
		return "µs"
	}
	return unit
}

// Text prints the interval with a unit: "+3.1 to +21 µs".
func (d *Difference) Text(unit string) string {
	signed := func(n Num) string {
		text := number(float64(n))
		if math.Abs(float64(n)) < 0.1 {
			text = fmt.Sprintf("%.2g", float64(n))
		}
		if n > 0 {
			return "+" + text
		}
		return text
	}
	return strings.TrimSpace(fmt.Sprintf("%s to %s %s", signed(d.Low), signed(d.High), unit))
}

func numberOf(n Num) string {
	if math.IsNaN(float64(n)) {
		return "-"
	}
	return number(float64(n))
}
