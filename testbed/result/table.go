// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// row is a line of the table: its title, and a function of its cells. Runs without flows
// have the rows of all packets, if there is anything in them.
type row struct {
	title string
	cell  func(s *Summary) string
	all   func(s *Summary) bool // nil: of flows
}

// Rows that are not the same for all runs.
const rowFinished, rowCNPs = "flows finished", "CNPs"

// measuresSome reports whether some flows of the run are not measured. It is false for
// a run that was read from a file.
func (r *Run) measuresSome() bool { return r.Raw != nil && len(r.Raw.Flows) > r.Summary.Flows }

var rows = []row{
	{rowFinished, func(s *Summary) string { return fmt.Sprintf("%d of %d", s.Finished, s.Flows) }, nil},
	{"average FCT", finished("%.1f µs", func(s *Summary) float64 { return s.AvgFCTUS }), nil},
	{"p99 FCT", finished("%.1f µs", func(s *Summary) float64 { return s.P99FCTUS }), nil},
	{"average slowdown", finished("%.2f", func(s *Summary) float64 { return s.AvgSlowdown }), nil},
	{"p99 slowdown", finished("%.2f", func(s *Summary) float64 { return s.P99Slowdown }), nil},
	{"PAUSE frames", func(s *Summary) string { return fmt.Sprint(s.PauseFrames) }, func(s *Summary) bool { return s.PauseFrames > 0 }},
	{"paused time, all ports", func(s *Summary) string { return fmt.Sprintf("%.1f µs", s.PausedUS) }, func(s *Summary) bool { return s.PausedUS > 0 }},
	{"stalled flows", func(s *Summary) string { return fmt.Sprint(s.Stalled) }, nil},
	{"out-of-order packets", func(s *Summary) string {
		return fmt.Sprintf("%d (%.3f%%)", s.OutOfOrder, 100*float64(s.OutOfOrder)/float64(max(s.Sent, 1)))
	}, nil},
	{"out-of-order degree p99", func(s *Summary) string { return fmt.Sprintf("%d packets", s.DegreeP99) }, nil},
	{"retransmissions", func(s *Summary) string { return fmt.Sprint(s.Resent) }, nil},
	{rowCNPs, func(s *Summary) string { return fmt.Sprint(s.CNPs) }, nil},
	{"lossless packets dropped", func(s *Summary) string { return fmt.Sprint(s.Dropped) }, func(s *Summary) bool { return s.Dropped > 0 }},
}

// finished returns the cells of a number of finished flows: "-" if there are none.
func finished(format string, of func(*Summary) float64) func(*Summary) string {
	return func(s *Summary) string {
		if s.Finished == 0 {
			return "-"
		}
		return fmt.Sprintf(format, of(s))
	}
}

// Table prints the runs side by side, one column each: common rows, counters of
// the profiles' programs, and remarks. If there are several seeds it prints means
// with their 95 % intervals.
func Table(w io.Writer, runs []*Run) error {
	var summary bytes.Buffer
	if err := summaryTable(&summary, runs); err != nil {
		return err
	}
	if _, err := w.Write(summary.Bytes()); err != nil {
		return err
	}
	if err := packetTable(w, runs, summary.Len() > 0); err != nil {
		return err
	}
	return ncclTable(w, runs)
}

func summaryTable(w io.Writer, runs []*Run) error {
	if o := overSeeds(runs); o != nil {
		seeds := fmt.Sprint(len(o.Cells[0].Seeds))
		if o.uneven() {
			seeds = "different numbers of"
		}
		fmt.Fprintf(w, "means of %s runs with their 95 %% intervals\n", seeds)
		return o.Table(w, false)
	}
	var lines [][]string
	line := func(title string, cell func(r *Run) string) {
		cells := []string{title}
		for _, r := range runs {
			cells = append(cells, cell(r))
		}
		lines = append(lines, cells)
	}
	line("", func(r *Run) string {
		name := r.Label()
		if slices.ContainsFunc(runs, func(o *Run) bool { return o != r && o.Label() == name }) {
			name += fmt.Sprintf(", seed %d", r.Seed)
		}
		if r.Partial {
			name += " (partial)"
		}
		return name
	})
	alone := !slices.ContainsFunc(runs, func(r *Run) bool { return r.Summary.Flows > 0 || r.measuresSome() || len(r.Packets) == 0 })
	for _, row := range rows {
		switch {
		case alone && (row.all == nil || !slices.ContainsFunc(runs, func(r *Run) bool { return row.all(&r.Summary) })):
			continue
		case row.title == rowFinished && slices.ContainsFunc(runs, (*Run).measuresSome):
			row.title = "measured " + row.title
		case row.title == rowCNPs && !slices.ContainsFunc(runs, func(r *Run) bool { return r.Summary.CNPs > 0 }):
			continue // most algorithms return marks in acknowledgements
		}
		line(row.title, func(r *Run) string { return row.cell(&r.Summary) })
	}
	for _, name := range schemeCounters(runs) {
		line(strings.ReplaceAll(name, "_", " "), func(r *Run) string {
			if v, ok := r.Summary.Scheme[name]; ok {
				return strconv.FormatUint(v, 10)
			}
			return "-"
		})
	}
	if !alone || len(lines) > 1 {
		if err := align(w, lines); err != nil {
			return err
		}
	}
	for _, r := range runs {
		for _, remark := range r.Remarks {
			if _, err := fmt.Fprintf(w, "\n%s, seed %d: %s\n", r.Profile, r.Seed, remark); err != nil {
				return err
			}
		}
	}
	return nil
}

// overSeeds returns the outcome of complete runs of which some differ only by
// their seed, or nil for other runs.
func overSeeds(runs []*Run) *Outcome {
	o := &Outcome{}
	var notes []RunNote
	for _, r := range runs {
		if r.Partial || r.Metrics == nil {
			return nil
		}
		if !slices.ContainsFunc(o.Arms, func(a Arm) bool { return a.Name == r.Label() }) {
			o.Arms = append(o.Arms, Arm{Name: r.Label()})
		}
		n := RunNote{Arm: r.Label(), Seed: r.Seed, State: Done, Steady: r.Steady, Stuck: r.Stuck, Metrics: r.Metrics}
		switch {
		case len(r.Stuck) > 0:
			n.State = Locked
		case r.Cut:
			n.State = Cut
		}
		notes = append(notes, n)
	}
	if len(o.Arms) == len(runs) {
		return nil
	}
	o.Fill(notes, nil)
	return o
}

// align prints rows of cells: the first column left-aligned, the others
// right-aligned.
func align(w io.Writer, lines [][]string) error {
	width := make([]int, len(lines[0]))
	for _, l := range lines {
		for i, cell := range l {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, l := range lines {
		out := fmt.Sprintf("%-*s", width[0], l[0])
		for i, cell := range l[1:] {
			out += fmt.Sprintf("   %*s", width[i+1], cell)
		}
		if _, err := fmt.Fprintln(w, out); err != nil {
			return err
		}
	}
	return nil
}

// schemeCounters returns the names of all counters of all runs' programs.
func schemeCounters(runs []*Run) []string {
	var names []string
	for _, r := range runs {
		for name := range r.Summary.Scheme {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// WriteFlowsCSV writes the flows of a run as CSV with a header.
func WriteFlowsCSV(w io.Writer, r *Run) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"src", "dst", "bytes", "start_ns", "fct_ns", "ideal_ns", "out_of_order", "degree", "resent", "stalled", "coflow"}); err != nil {
		return err
	}
	for _, f := range r.Flows {
		n := func(v int64) string { return strconv.FormatInt(v, 10) }
		if err := c.Write([]string{f.Src, f.Dst, n(f.Bytes), n(f.StartNS), n(f.FCTNS), n(f.IdealNS), n(f.OutOfOrder), n(f.Degree), n(f.Resent),
			strconv.FormatBool(f.Stalled), n(int64(f.Coflow))}); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}
