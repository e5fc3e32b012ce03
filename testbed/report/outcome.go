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

// outcome lays out the outcome of an experiment: claims and verdicts, a table
// for every point of the grid, the metrics along its axes, and the figures of
// single runs at every point.
func (p *Page) outcome(o *result.Outcome, shapes *Shapes) *Experiment {
	x := &Experiment{Name: o.Experiment, Summary: o.Summary, Source: o.Source, Command: o.Command, Remarks: slices.Clone(o.Remarks), Figures: []Curves{}, Points: []*Point{}}
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
		x.Answers = append(x.Answers, verdict(o, &o.Claims[i]))
	}
	x.Verdicts = verdicts(o)
	var points [][]string
	for i := range o.Cells {
		if !slices.ContainsFunc(points, func(q []string) bool { return slices.Equal(q, o.Cells[i].Point) }) {
			points = append(points, o.Cells[i].Point)
		}
	}
	if len(o.Claims) == 0 {
		x.Answers = p.compareCells(o, points)
	}
	for _, point := range points {
		t := p.pointTable(o, x, point)
		if len(points) > 1 {
			t.Title = o.PointText(point)
		}
		x.Tables = append(x.Tables, t)
	}
	for axis := range o.Axes {
		for _, s := range sweeps(o, x, axis) {
			s.Figures = x.addFigures(s.Figures)
			x.Sweeps = append(x.Sweeps, s)
		}
	}
	if shapes != nil {
		for _, point := range points {
			if pt := p.point(o, x, shapes, point); pt != nil {
				x.Points = append(x.Points, pt)
			}
		}
	}
	return x
}

// point returns the figures of single runs at a point; nil if there are none.
func (p *Page) point(o *result.Outcome, x *Experiment, shapes *Shapes, point []string) *Point {
	pt := &Point{Name: o.PointText(point), Runs: []Timeline{}}
	var arms []armShapes
	for _, a := range x.Arms {
		of := armShapes{arm: a}
		for _, s := range shapes.Runs {
			if s.Arm != p.Arms[a] || !slices.Equal(s.Point, point) {
				continue
			}
			of.shapes = append(of.shapes, s)
			if s.Time == nil {
				pt.Omitted++
				continue
			}
			t := *s.Time
			t.Arm, t.Seed = a, s.Seed
			pt.Runs = append(pt.Runs, t)
			if s.Network > 0 && pt.Network == nil {
				pt.Network = shapes.Networks[s.Network-1]
			}
		}
		arms = append(arms, of)
	}
	pt.Figures = x.addFigures(append(fctCDF(arms), slowdownBySize(arms)...))
	pt.Links = pausedLinks(x, pt)
	if len(pt.Figures) == 0 && len(pt.Runs) == 0 {
		return nil
	}
	return pt
}

// basesOf returns, for each arm, the arm that it is compared with: that of its
// first claim, otherwise that of baseOf.
func basesOf(o *result.Outcome) map[string]string {
	var names []string
	for i := range o.Arms {
		names = append(names, o.Arms[i].Name)
	}
	base := make(map[string]string)
	for _, name := range names {
		base[name] = baseOf(names, name)
	}
	named := make(map[string]bool)
	for i := range o.Claims {
		c := &o.Claims[i].Claim
		if !named[c.With] && c.With != c.Than && slices.Contains(names, c.Than) {
			base[c.With], named[c.With] = c.Than, true
		}
	}
	for _, name := range names { // an arm that claims use as a base has no base
		if !named[name] && slices.ContainsFunc(o.Claims, func(j result.Judged) bool { return j.Claim.Than == name }) {
			base[name] = ""
		}
	}
	return base
}

// compareCells returns the sentences for an experiment without claims.
func (p *Page) compareCells(o *result.Outcome, points [][]string) (answers []Answer) {
	bases := basesOf(o)
	for _, point := range points {
		for i := range o.Arms {
			name := o.Arms[i].Name
			a, b := cellOf(o, name, point), cellOf(o, bases[name], point)
			if a == nil || b == nil {
				continue
			}
			s := sentence(name, bases[name], func(metric string) (with, than []float64) { return pairedCells(a, b, metric) })
			if len(points) > 1 {
				s.Text = o.PointText(point) + ": " + s.Text
			}
			answers = append(answers, s)
		}
	}
	return answers
}

func cellOf(o *result.Outcome, arm string, point []string) *result.Cell {
	i := slices.IndexFunc(o.Cells, func(c result.Cell) bool { return c.Arm == arm && slices.Equal(c.Point, point) })
	if i < 0 {
		return nil
	}
	return &o.Cells[i]
}

// pointTable returns the table that compares the arms at a point.
func (p *Page) pointTable(o *result.Outcome, x *Experiment, point []string) Table {
	t := Table{}
	bases := basesOf(o)
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
			if base := bases[head]; base != "" {
				if b := cellOf(o, base, point); b != nil {
					with, than := pairedCells(c, b, m.Name)
					cell.compare(with, than, m.Better, m.Unit)
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

// Limits of a page; the outcome has the whole grid.
const (
	sweepMetrics = 8
	sweepFigures = 16 // per metric
)

// sweeps returns the metrics along an axis, for each combination of the other
// axes' values. Metrics with claims come first.
func sweeps(o *result.Outcome, x *Experiment, axis int) []Sweep {
	values := o.Axes[axis].Values
	if len(values) < 2 {
		return nil
	}
	var names []string
	var at []number
	numbers := true
	for i, v := range values {
		numbers = numbers && v.X != nil && (i == 0 || *values[i-1].X < *v.X)
	}
	for i, v := range values {
		if numbers {
			at = append(at, number(*v.X))
		} else {
			names, at = append(names, v.Text), append(at, number(i))
		}
	}
	var rest [][]string // points without this axis
	for i := range o.Cells {
		r := slices.Delete(slices.Clone(o.Cells[i].Point), axis, axis+1)
		if !slices.ContainsFunc(rest, func(q []string) bool { return slices.Equal(q, r) }) {
			rest = append(rest, r)
		}
	}
	// Nearly all flows finish; the table shows the exceptions.
	metrics := slices.DeleteFunc(o.Shown(false), func(m result.Metric) bool { return m.Name == "finished" })
	claimed := func(m result.Metric) int {
		return slices.IndexFunc(o.Claims, func(j result.Judged) bool { _, name := j.Claim.Relation(); return name == m.Name })
	}
	slices.SortStableFunc(metrics, func(a, b result.Metric) int {
		return cmp.Compare(uint(claimed(a)), uint(claimed(b))) // none is -1, and so last
	})
	var all []Sweep
	for _, m := range metrics[:min(len(metrics), sweepMetrics)] {
		s := Sweep{Name: fmt.Sprintf("%s by %s", m.Title, o.Axes[axis].Name)}
		for _, r := range rest[:min(len(rest), sweepFigures)] {
			fig := Curves{
				Title: s.Name,
				X:     Axis{Label: o.Axes[axis].Name, Unit: o.Axes[axis].Unit, Names: names}, Y: Axis{Label: titled(m.Title, m.Unit), Unit: unitOf(m.Unit)},
				At: at, Points: true, Intervals: true, Half: len(rest) > 1,
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
			s.Figures = append(s.Figures, fig)
		}
		all = append(all, s)
	}
	return all
}

// unitOf returns an axis's unit for a metric's.
func unitOf(unit string) string {
	return cmp.Or(map[string]string{"us": "us", "bytes": "bytes"}[unit], "")
}
