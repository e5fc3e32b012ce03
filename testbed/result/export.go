// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/testbed/result/parquet"
)

// csvNumber prints a number with the fewest digits that identify it; NaN is empty.
func csvNumber(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// A Sheet is a table that is written as CSV and as Parquet. A row has a value
// for each column.
type Sheet struct {
	Columns []parquet.Column
	Rows    iter.Seq2[[]any, error]
}

// WriteCSV writes the sheet with a header of column names.
func (s *Sheet) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	line := make([]string, len(s.Columns))
	for i, col := range s.Columns {
		line[i] = col.Name
	}
	if err := c.Write(line); err != nil {
		return err
	}
	for row, err := range s.Rows {
		if err != nil {
			return err
		}
		for i, v := range row {
			if x, ok := v.(float64); ok {
				line[i] = csvNumber(x)
			} else {
				line[i] = fmt.Sprint(v)
			}
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// WriteParquet writes the sheet with the units of its columns in the metadata.
func (s *Sheet) WriteParquet(w io.Writer) error {
	p := parquet.NewWriter(w, s.Columns)
	for row, err := range s.Rows {
		if err != nil {
			return err
		}
		if err := p.Write(row...); err != nil {
			return err
		}
	}
	return p.Close()
}

// place returns the columns that identify the run of a row; placeOf returns their
// values.
func (o *Outcome) place() []parquet.Column {
	columns := []parquet.Column{{Name: "experiment", Type: parquet.Text}, {Name: "scale", Type: parquet.Text}, {Name: "arm", Type: parquet.Text}}
	for _, a := range o.Axes {
		columns = append(columns, parquet.Column{Name: a.Name, Type: parquet.Text})
		if a.numeric() {
			columns[len(columns)-1].Type, columns[len(columns)-1].Unit = parquet.Double, a.Unit
		}
	}
	return append(columns, parquet.Column{Name: "seed", Type: parquet.Int})
}

func (o *Outcome) placeOf(arm string, point []string, seed uint64) []any {
	row := []any{o.Experiment, o.Scale, arm}
	for i, a := range o.Axes {
		if !a.numeric() {
			row = append(row, point[i])
			continue
		}
		k := slices.IndexFunc(a.Values, func(v Value) bool { return v.Text == point[i] })
		row = append(row, *a.Values[k].X)
	}
	return append(row, int64(seed))
}

// numeric reports whether all values of the axis are numbers.
func (a *Axis) numeric() bool {
	return len(a.Values) > 0 && !slices.ContainsFunc(a.Values, func(v Value) bool { return v.X == nil })
}

// RunSheet has a row per run and metric. Every axis is a column, in base units
// if its values are numbers.
func (o *Outcome) RunSheet() *Sheet {
	columns := append(o.place(), parquet.Column{Name: "metric", Type: parquet.Text}, parquet.Column{Name: "unit", Type: parquet.Text}, parquet.Column{Name: "value", Type: parquet.Double})
	return &Sheet{columns, func(yield func([]any, error) bool) {
		for i := range o.Cells {
			cell := &o.Cells[i]
			for _, m := range o.Metrics {
				for k, v := range cell.Values[m.Name] {
					if !math.IsNaN(float64(v)) && !yield(append(o.placeOf(cell.Arm, cell.Point, cell.Seeds[k]), m.Name, m.Unit, float64(v)), nil) {
						return
					}
				}
			}
		}
	}}
}

// ClaimSheet has a row per verdict.
func (o *Outcome) ClaimSheet() *Sheet {
	var columns []parquet.Column
	for _, name := range []string{"experiment", "scale", "claim", "point", "verdict", "why"} {
		columns = append(columns, parquet.Column{Name: name, Type: parquet.Text})
	}
	for _, name := range []string{"value", "other", "effect", "low", "high", "difference", "difference_low", "difference_high", "paper", "within"} {
		columns = append(columns, parquet.Column{Name: name, Type: parquet.Double})
	}
	columns = append(columns, parquet.Column{Name: "seeds", Type: parquet.Int})
	return &Sheet{columns, func(yield func([]any, error) bool) {
		for i := range o.Claims {
			j := &o.Claims[i]
			paper := math.NaN()
			if j.Claim.Paper.Given {
				paper = j.Claim.Paper.Change
			}
			d := Difference{Num(math.NaN()), Num(math.NaN()), Num(math.NaN())}
			if j.Difference != nil {
				d = *j.Difference
			}
			if !yield([]any{o.Experiment, o.Scale, j.Text, j.Point, j.Verdict, j.Why, float64(j.Value), float64(j.Other), float64(j.Effect), float64(j.Low),
				float64(j.High), float64(d.Value), float64(d.Low), float64(d.High), paper, j.Claim.within(), int64(j.Seeds)}, nil) {
				return
			}
		}
	}}
}

// FlowSheet has a row per measured flow of some runs of the outcome.
func (o *Outcome) FlowSheet(runs iter.Seq2[*Run, error]) *Sheet {
	columns := append(o.place(),
		parquet.Column{Name: "src", Type: parquet.Text}, parquet.Column{Name: "dst", Type: parquet.Text}, parquet.Column{Name: "part", Type: parquet.Int},
		parquet.Column{Name: "bytes", Type: parquet.Int, Unit: "bytes"}, parquet.Column{Name: "start_ns", Type: parquet.Int, Unit: "ns"},
		parquet.Column{Name: "finished", Type: parquet.Bool}, parquet.Column{Name: "fct_ns", Type: parquet.Int, Unit: "ns"}, parquet.Column{Name: "ideal_ns", Type: parquet.Int, Unit: "ns"},
		parquet.Column{Name: "out_of_order", Type: parquet.Int, Unit: "packets"}, parquet.Column{Name: "degree", Type: parquet.Int, Unit: "packets"},
		parquet.Column{Name: "resent", Type: parquet.Int, Unit: "packets"}, parquet.Column{Name: "stalled", Type: parquet.Bool}, parquet.Column{Name: "coflow", Type: parquet.Int})
	return &Sheet{columns, eachRun(runs, func(r *Run, yield func([]any, error) bool) bool {
		for i := range r.Flows {
			f := &r.Flows[i]
			if !yield(append(o.placeOf(r.Arm, r.Point, r.Seed), f.Src, f.Dst, int64(f.Part), f.Bytes, f.StartNS, f.FCTNS > 0, f.FCTNS, f.IdealNS,
				f.OutOfOrder, f.Degree, f.Resent, f.Stalled, int64(f.Coflow)), nil) {
				return false
			}
		}
		return true
	})}
}

// LineSheet has a row per point of the time lines of some runs: queues and
// acknowledged bytes of flows.
func (o *Outcome) LineSheet(runs iter.Seq2[*Run, error]) *Sheet {
	columns := append(o.place(), parquet.Column{Name: "line", Type: parquet.Text}, parquet.Column{Name: "node", Type: parquet.Text}, parquet.Column{Name: "port", Type: parquet.Int},
		parquet.Column{Name: "unit", Type: parquet.Text}, parquet.Column{Name: "t_ns", Type: parquet.Int, Unit: "ns"}, parquet.Column{Name: "value", Type: parquet.Int})
	return &Sheet{columns, eachRun(runs, func(r *Run, yield func([]any, error) bool) bool {
		for _, l := range slices.Concat(r.Lines, r.Rates) {
			for i, v := range l.V {
				if !yield(append(o.placeOf(r.Arm, r.Point, r.Seed), l.Name, l.Node, int64(l.Port), l.Unit, l.TNS[i], int64(v)), nil) {
					return false
				}
			}
		}
		return true
	})}
}

// PauseSheet has a row per pause of some runs.
func (o *Outcome) PauseSheet(runs iter.Seq2[*Run, error]) *Sheet {
	columns := append(o.place(), parquet.Column{Name: "node", Type: parquet.Text}, parquet.Column{Name: "port", Type: parquet.Int}, parquet.Column{Name: "class", Type: parquet.Int},
		parquet.Column{Name: "start_ns", Type: parquet.Int, Unit: "ns"}, parquet.Column{Name: "end_ns", Type: parquet.Int, Unit: "ns"})
	return &Sheet{columns, eachRun(runs, func(r *Run, yield func([]any, error) bool) bool {
		for _, p := range r.Pauses {
			if !yield(append(o.placeOf(r.Arm, r.Point, r.Seed), p.Node, int64(p.Port), int64(p.Class), p.StartNS, p.EndNS), nil) {
				return false
			}
		}
		return true
	})}
}

func eachRun(runs iter.Seq2[*Run, error], rows func(*Run, func([]any, error) bool) bool) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for r, err := range runs {
			if err != nil {
				yield(nil, err)
				return
			}
			if !rows(r, yield) {
				return
			}
		}
	}
}

// A ClaimNote is what a page says about a claim that does not follow from its outcome
// alone. Texts may be empty.
type ClaimNote struct {
	Of      string // after the text of the claim
	Base    string // what the runs of the base were like
	Verdict string // after the verdict
	Cause   string // of the verdict
}

// WriteMarkdown writes the outcome as a page.
func (o *Outcome) WriteMarkdown(w io.Writer) error { return o.WritePage(w, nil) }

// WritePage writes the outcome as a page, with a note for each claim.
func (o *Outcome) WritePage(w io.Writer, notes []ClaimNote) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s", o.File(), strings.TrimSuffix(o.Summary, "."))
	if o.Source != "" {
		fmt.Fprintf(&b, " (%s)", o.Source)
	}
	fmt.Fprintf(&b, ". Means with their 95 %% intervals, scale %s, made by\n\n    %s\n", o.Scale, o.Command)
	if o.Why != "" {
		fmt.Fprintf(&b, "\nWhat was made smaller: %s\n", o.Why)
	}
	table := func(lines [][]string) {
		b.WriteByte('\n')
		for i, l := range lines {
			b.WriteString("| " + strings.Join(l, " | ") + " |\n")
			if i == 0 {
				b.WriteString("|---|")
				for _, title := range l[1:] {
					if notes != nil && slices.Contains(sentences, title) {
						b.WriteString("---|")
					} else {
						b.WriteString("---:|")
					}
				}
				b.WriteByte('\n')
			}
		}
	}
	if len(o.Claims) > 0 {
		table(noted(o.verdicts(), notes))
	}
	for _, lines := range o.tables(false) {
		table(lines)
	}
	for _, r := range o.Remarks {
		fmt.Fprintf(&b, "\n%s.\n", strings.TrimSuffix(r, "."))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sentences are the columns of noted claims that contain text.
var sentences = []string{"base runs", "verdict", "cause"}

// noted adds notes to the table of claims. A claim is written once for all points that
// follow each other. A column in which nothing would stand is left out, also that of the
// papers' effects.
func noted(claims [][]string, notes []ClaimNote) [][]string {
	if notes == nil {
		return claims
	}
	lines := [][]string{slices.Insert(slices.Clone(claims[0]), len(claims[0])-1, "base runs")}
	lines[0] = append(lines[0], "cause")
	for i, l := range claims[1:] {
		n, l := &notes[i], slices.Clone(l)
		l[0] += n.Of
		l[len(l)-1] += n.Verdict
		lines = append(lines, append(slices.Insert(l, len(l)-1, n.Base), n.Cause))
	}
	for i := len(lines) - 1; i > 1; i-- {
		if lines[i][0] == lines[i-1][0] {
			lines[i][0] = ""
		}
	}
	for k := len(lines[0]) - 1; k >= 0; k-- {
		if !slices.ContainsFunc(lines[1:], func(l []string) bool { return l[k] != "" }) {
			for i := range lines {
				lines[i] = slices.Delete(lines[i], k, k+1)
			}
		}
	}
	return lines
}
