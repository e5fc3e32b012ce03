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
func (o *Outcome) WriteMarkdown(w io.Writer) error { return o.WritePage(w, nil, "") }

// WritePage writes the outcome as a page, with a note for each claim. If larger names the
// outcome of the same experiment at the paper's scale, whose page is next to it, claims
// are all that the page has.
func (o *Outcome) WritePage(w io.Writer, notes []ClaimNote, larger string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s", o.File(), strings.TrimSuffix(o.Summary, "."))
	if o.Source != "" {
		fmt.Fprintf(&b, " (%s)", o.Source)
	}
	fmt.Fprintf(&b, ".\nMeans with their 95 %% intervals, scale %s, made by\n\n    %s\n", o.Scale, o.Command)
	if o.Why != "" {
		fmt.Fprintf(&b, "\nWhat was made smaller: %s\n", o.Why)
	}
	if len(o.Claims) > 0 {
		lines, reasons := abridged(o.claims(notes))
		if k := slices.Index(lines[0], titleBase); k >= 0 && slices.ContainsFunc(lines, func(l []string) bool { return l[k] == "" }) {
			b.WriteString("\nThe base runs of a setting are described once.\n")
		}
		o.shorten(lines, slices.Index(lines[0], "at"), "")
		writeTable(&b, lines, "")
		for i, r := range reasons {
			if i == 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%d. %s\n", i+1, r)
		}
	}
	tables := o.tables(false)
	if larger != "" && len(o.Claims) > 0 {
		fmt.Fprintf(&b, "\nThe means of [the paper's scale](%s.md) have a page; `pauseless exp show %s --from docs/results` prints these.\n", larger, o.Experiment)
		tables = nil
	}
	for _, lines := range tables {
		o.shorten(lines, 0, lines[0][0]+" by ")
		writeTable(&b, uniform(lines), "")
	}
	for _, r := range o.Remarks {
		fmt.Fprintf(&b, "\n%s.\n", strings.TrimSuffix(r, "."))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shorten writes the names of the axes once, in the title of the column of points, after
// the text before.
func (o *Outcome) shorten(lines [][]string, column int, before string) {
	names, values := make([]string, len(o.Axes)), make(map[string]string)
	for i, a := range o.Axes {
		names[i] = a.Name
	}
	for i := range o.Cells {
		p := o.Cells[i].Point
		values[o.PointText(p)] = strings.Join(p, ", ")
	}
	for i, l := range lines {
		if i == 0 || column < 0 {
			continue
		}
		if short, ok := values[l[column]]; ok && short != "" {
			l[column], lines[0][column] = short, before+strings.Join(names, ", ")
		}
	}
}

// ClaimTable returns the table of claims as Markdown.
func (o *Outcome) ClaimTable() string {
	var b strings.Builder
	lines, _ := o.claims(nil)
	writeTable(&b, lines, " ")
	return strings.TrimPrefix(b.String(), "\n")
}

// writeTable writes a table with some space around each cell: pages of outcomes, of a
// hundred thousand cells, have none.
func writeTable(b *strings.Builder, lines [][]string, space string) {
	b.WriteByte('\n')
	for i, l := range lines {
		b.WriteString("|" + space + strings.Join(l, space+"|"+space) + space + "|\n")
		if i == 0 {
			b.WriteString("|-|")
			for _, title := range l[1:] {
				if slices.Contains(sentences, title) {
					b.WriteString("-|")
				} else {
					b.WriteString("-:|")
				}
			}
			b.WriteByte('\n')
		}
	}
}

// sentences are the columns of claims that contain text.
var sentences = []string{titleBase, titleVerdict, titleCause}

const titleBase, titleVerdict, titleCause = "base runs", "verdict", "cause"

// claims returns the table of claims with their notes, and the arm of the base of each
// row. A claim is written once for all points that follow each other. A column in which
// nothing would stand is left out, also that of the papers' effects.
func (o *Outcome) claims(notes []ClaimNote) (lines [][]string, bases []string) {
	if notes == nil {
		notes = make([]ClaimNote, len(o.Claims))
	}
	for i, l := range o.verdicts() {
		n := ClaimNote{Base: titleBase, Cause: titleCause}
		if i > 0 {
			n = notes[i-1]
			bases = append(bases, o.Claims[i-1].Claim.Than)
		}
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
	return lines, bases
}

// abridged returns a table of claims in which the runs of a base are described once for a
// point, and long reasons that several claims share are numbers of the returned list.
func abridged(lines [][]string, bases []string) (short [][]string, reasons []string) {
	base, at := slices.Index(lines[0], titleBase), slices.Index(lines[0], "at")
	known, uses := make(map[string]bool), make(map[string]int)
	for i, l := range lines[1:] {
		if base >= 0 {
			key := bases[i] + "\x00" + l[base]
			if at >= 0 {
				key += "\x00" + l[at]
			}
			if known[key] {
				l[base] = ""
			}
			known[key] = true
		}
		for _, title := range []string{titleVerdict, titleCause} {
			if k := slices.Index(lines[0], title); k >= 0 {
				_, reason := reasonOf(title, l[k])
				uses[reason]++
			}
		}
	}
	const long = 20 // bytes
	for _, l := range lines[1:] {
		for _, title := range []string{titleVerdict, titleCause} {
			k := slices.Index(lines[0], title)
			if k < 0 {
				continue
			}
			word, reason := reasonOf(title, l[k])
			if len(reason) <= long || uses[reason] < 2 {
				continue
			}
			n := slices.Index(reasons, reason)
			if n < 0 {
				n, reasons = len(reasons), append(reasons, reason)
			}
			l[k] = strings.TrimSpace(fmt.Sprintf("%s (%d)", word, n+1))
		}
	}
	return lines, reasons
}

// reasonOf divides a cell into a verdict and its reason.
func reasonOf(title, cell string) (word, reason string) {
	if title == titleVerdict {
		word, reason, _ = strings.Cut(cell, ": ")
		return word, reason
	}
	return "", cell
}

// uniform returns a table of a metric with one column for all arms if they do not differ at
// any point.
func uniform(lines [][]string) [][]string {
	if lines[0][0] == "mean" || len(lines[0]) < 3 {
		return lines
	}
	for _, l := range lines[1:] {
		if len(slices.Compact(slices.Clone(l[1:]))) > 1 {
			return lines
		}
	}
	short := [][]string{{lines[0][0], "all variants"}}
	for _, l := range lines[1:] {
		short = append(short, l[:2])
	}
	return short
}
