// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
)

// outcome makes an experiment of what `exp run` found: claims and verdicts, a
// table for every point of the grid, and the metrics along its axes.
func (p *Page) outcome(o *result.Outcome) *Experiment {
	x := &Experiment{Name: o.Experiment, Summary: o.Summary, Source: o.Source, Command: o.Command, Remarks: slices.Clone(o.Remarks), Figures: []Curves{}, Runs: []Timeline{}}
	if o.Why != "" {
		x.Remarks = append(x.Remarks, fmt.Sprintf("Scale %s: %s", o.Scale, o.Why))
	}
	for i := range o.Cells {
		for _, s := range o.Cells[i].Seeds {
			if !slices.Contains(x.Seeds, s) {
				x.Seeds = append(x.Seeds, s)
			}
		}
	}
	slices.Sort(x.Seeds)
	for i := range o.Arms {
		x.Arms = append(x.Arms, p.arm(o.Arms[i].Name))
	}
	for i := range o.Claims {
		x.Answers = append(x.Answers, verdict(&o.Claims[i]))
	}
	var points [][]string
	for i := range o.Cells {
		if !slices.ContainsFunc(points, func(q []string) bool { return slices.Equal(q, o.Cells[i].Point) }) {
			points = append(points, o.Cells[i].Point)
		}
	}
	for _, point := range points {
		t := p.pointTable(o, x, point)
		if len(points) > 1 {
			t.Title = o.PointText(point)
		}
		x.Tables = append(x.Tables, t)
	}
	for axis := range o.Axes {
		x.Figures = append(x.Figures, sweeps(o, x, axis)...)
	}
	return x
}

// verdict describes the outcome of a claim in a sentence.
func verdict(j *result.Judged) Answer {
	text := j.Text
	if j.Point != "" {
		text += " (" + j.Point + ")"
	}
	text += ": " + j.Verdict
	if j.Why != "" {
		text += ", " + j.Why
	}
	if e := float64(j.Effect); !math.IsNaN(e) && !math.IsInf(e, 0) {
		text += "; change " + percent(e)
		if lo, hi := float64(j.Low), float64(j.High); !math.IsInf(lo, 0) && !math.IsNaN(lo) && !math.IsInf(hi, 0) {
			text += fmt.Sprintf(" (95 %% interval %s to %s, %d seeds)", percent(lo), percent(hi), j.Seeds)
		}
	}
	if !j.Claim.Paper.IsZero() {
		text += "; the paper says " + j.Claim.Paper.String()
	}
	return Answer{text + ".", map[string]string{result.Holds: better, result.Refuted: worse}[j.Verdict]}
}

func cellOf(o *result.Outcome, arm string, point []string) *result.Cell {
	i := slices.IndexFunc(o.Cells, func(c result.Cell) bool { return c.Arm == arm && slices.Equal(c.Point, point) })
	if i < 0 {
		return nil
	}
	return &o.Cells[i]
}

// pointTable compares the arms at a point.
func (p *Page) pointTable(o *result.Outcome, x *Experiment, point []string) Table {
	t := Table{}
	for _, a := range x.Arms {
		t.Heads = append(t.Heads, p.Arms[a])
	}
	for _, m := range o.Shown(false) {
		row := Row{Title: titled(m.Title, m.Unit)}
		for _, head := range t.Heads {
			c := cellOf(o, head, point)
			mean, ok := result.Num(0), false
			if c != nil {
				mean, ok = c.Mean[m.Name]
			}
			if !ok {
				row.Cells = append(row.Cells, Cell{Value: "–"})
				continue
			}
			cell := Cell{Value: amount(float64(mean))}
			if base := baseOf(t.Heads, head); base != "" {
				if b := cellOf(o, base, point); b != nil {
					with, than := pairedCells(c, b, m.Name)
					cell.compare(with, than, m.Better)
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func titled(title, unit string) string {
	if unit == "" || strings.HasSuffix(title, unit) {
		return title
	}
	return title + ", " + strings.ReplaceAll(unit, "us", "µs")
}

// pairedCells returns a metric's values for the seeds that both cells have.
func pairedCells(a, b *result.Cell, metric string) (with, than []float64) {
	value := func(c *result.Cell, i int) (float64, bool) {
		if i < 0 || i >= len(c.Values[metric]) || math.IsNaN(float64(c.Values[metric][i])) {
			return 0, false
		}
		return float64(c.Values[metric][i]), true
	}
	for i, seed := range a.Seeds {
		x, ok := value(a, i)
		y, has := value(b, slices.Index(b.Seeds, seed))
		if ok && has {
			with, than = append(with, x), append(than, y)
		}
	}
	return with, than
}

// What a page shows of a large grid; all is in the outcome.
const (
	sweepMetrics = 6
	sweepFigures = 24
)

// sweeps draws the metrics along an axis, for each combination of the others.
func sweeps(o *result.Outcome, x *Experiment, axis int) []Curves {
	values := o.Axes[axis].Values
	if len(values) < 2 {
		return nil
	}
	names, at := []string{}, []number{}
	for i, v := range values {
		names = append(names, v.Text)
		if v.X != nil {
			at = append(at, number(*v.X))
		} else {
			at = append(at, number(i))
		}
	}
	numbers := !slices.ContainsFunc(values, func(v result.Value) bool { return v.X == nil })
	if numbers {
		names = nil
		if !slices.IsSorted(at) {
			return nil
		}
	}
	var rest [][]string // points with this axis cut out
	for i := range o.Cells {
		r := slices.Delete(slices.Clone(o.Cells[i].Point), axis, axis+1)
		if !slices.ContainsFunc(rest, func(q []string) bool { return slices.Equal(q, r) }) {
			rest = append(rest, r)
		}
	}
	var figures []Curves
	// Nearly all flows finish; the table says where they do not.
	metrics := slices.DeleteFunc(o.Shown(false), func(m result.Metric) bool { return m.Name == "finished" })
	for _, r := range rest {
		for i, m := range metrics {
			if i >= sweepMetrics || len(figures) >= sweepFigures {
				break
			}
			fig := Curves{
				Title:   fmt.Sprintf("%s by %s", m.Title, o.Axes[axis].Name),
				Caption: "Means over the seeds; bands are their 95 % intervals.",
				X:       Axis{Label: o.Axes[axis].Name, Unit: o.Axes[axis].Unit, Names: names}, Y: Axis{Label: titled(m.Title, m.Unit), Unit: unitOf(m.Unit)},
				At: at, Points: true,
			}
			if len(r) > 0 {
				fig.Title += ", " + strings.Join(r, ", ")
			}
			for k, a := range o.Arms {
				c := Curve{Arm: x.Arms[k]}
				some := false
				for _, v := range values {
					mean, half := math.NaN(), math.NaN()
					if cell := cellOf(o, a.Name, slices.Insert(slices.Clone(r), axis, v.Text)); cell != nil {
						if n, ok := cell.Mean[m.Name]; ok {
							mean, half, some = float64(n), float64(cell.Half[m.Name]), true
						}
					}
					c.V, c.Lo, c.Hi = append(c.V, number(mean)), append(c.Lo, number(max(mean-half, 0))), append(c.Hi, number(mean+half))
				}
				if some {
					fig.Arms = append(fig.Arms, c)
				}
			}
			figures = append(figures, fig)
		}
	}
	return figures
}

// unitOf is the unit of a metric as figures know it.
func unitOf(unit string) string {
	return cmp.Or(map[string]string{"us": "us", "bytes": "bytes"}[unit], "")
}
