// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// csvNumber prints a number as short as it can be; nothing if there is none.
func csvNumber(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// WriteRunsCSV writes a row per run and metric. Every axis has a column.
func (o *Outcome) WriteRunsCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	head := []string{"experiment", "scale", "arm"}
	for _, a := range o.Axes {
		head = append(head, a.Name)
	}
	if err := c.Write(append(head, "seed", "metric", "unit", "value")); err != nil {
		return err
	}
	for i := range o.Cells {
		cell := &o.Cells[i]
		for _, m := range o.Metrics {
			for k, v := range cell.Values[m.Name] {
				if math.IsNaN(float64(v)) {
					continue
				}
				row := append([]string{o.Experiment, o.Scale, cell.Arm}, cell.Point...)
				if err := c.Write(append(row, strconv.FormatUint(cell.Seeds[k], 10), m.Name, m.Unit, csvNumber(float64(v)))); err != nil {
					return err
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

// WriteClaimsCSV writes a row per verdict.
func (o *Outcome) WriteClaimsCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"experiment", "scale", "claim", "point", "with", "than", "effect", "low", "high", "paper", "within", "seeds", "verdict", "why"}); err != nil {
		return err
	}
	for i := range o.Claims {
		j := &o.Claims[i]
		paper := ""
		if j.Claim.Paper.Given {
			paper = csvNumber(j.Claim.Paper.Change)
		}
		if err := c.Write([]string{o.Experiment, o.Scale, j.Text, j.Point, csvNumber(float64(j.Value)), csvNumber(float64(j.Other)), csvNumber(float64(j.Effect)),
			csvNumber(float64(j.Low)), csvNumber(float64(j.High)), paper, csvNumber(j.Claim.within()), strconv.Itoa(j.Seeds), j.Verdict, j.Why}); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// WriteMarkdown writes the outcome as a page.
func (o *Outcome) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s", o.Experiment, strings.TrimSuffix(o.Summary, "."))
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
				b.WriteString("|---|" + strings.Repeat("---:|", len(l)-1) + "\n")
			}
		}
	}
	if len(o.Claims) > 0 {
		table(o.verdicts())
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
