// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/testbed/result/parquet"
)

// What PrintCauses shows of a run, and of a storm.
const (
	stormsShown = 5
	linksOfTree = 12
	flowsShown  = 5
)

// PrintCauses prints the storms of the runs that have causes, worst first.
func PrintCauses(w io.Writer, runs []*Run) {
	for _, r := range runs {
		if r.Causes == nil {
			continue
		}
		fmt.Fprintln(w)
		if len(runs) > 1 {
			fmt.Fprintf(w, "%s, seed %d: ", r.Label(), r.Seed)
		}
		r.Causes.print(w)
	}
}

func (c *Causes) print(w io.Writer) {
	fmt.Fprintln(w, c.Sentence())
	c.printByCause(w)
	for i := range c.Storms[:min(len(c.Storms), stormsShown)] {
		fmt.Fprintln(w)
		c.Storms[i].print(w, i+1)
	}
	if n := len(c.Storms) - stormsShown; n > 0 {
		fmt.Fprintf(w, "\nand %s more, in results.json\n", plural(n, "storm"))
	}
	if c.Cut != "" {
		fmt.Fprintln(w, c.Cut)
	}
}

// printByCause prints what storms of each cause cost, the worst first, if there are several.
func (c *Causes) printByCause(w io.Writer) {
	sums := make(map[string]*PauseStorm)
	storms := make(map[string]int)
	lost := make(map[*LostToCause]bool)
	fct := make(map[string]float64)
	var order []string
	for i := range c.Storms {
		s := &c.Storms[i]
		sum := sums[s.Root.Cause]
		if sum == nil {
			sum = &PauseStorm{}
			sums[s.Root.Cause] = sum
			order = append(order, s.Root.Cause)
		}
		storms[s.Root.Cause]++
		sum.PausedUS, sum.Packets, sum.WaitedUS, sum.VictimUS = sum.PausedUS+s.PausedUS, sum.Packets+s.Packets, sum.WaitedUS+s.WaitedUS, sum.VictimUS+s.VictimUS
		if s.Lost != nil && !lost[s.Lost] { // several storms have the same
			lost[s.Lost] = true
			fct[s.Root.Cause] += s.Lost.FCTUS
		}
	}
	if len(order) < 2 {
		return
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(sums[b].WaitedUS, sums[a].WaitedUS) })
	lines := [][]string{{"   cause", "storms", "paused µs", "packets", "waited µs", "victims µs", "FCT lost µs"}}
	for _, k := range order {
		text := "-"
		if l, ok := fct[k]; ok {
			text = fmt.Sprintf("%.1f", l)
		}
		s := sums[k]
		lines = append(lines, []string{"   " + k, fmt.Sprint(storms[k]), fmt.Sprintf("%.1f", s.PausedUS), fmt.Sprint(s.Packets), fmt.Sprintf("%.1f", s.WaitedUS), fmt.Sprintf("%.1f", s.VictimUS), text})
	}
	align(w, lines)
}

// Sentence sums all storms up.
func (c *Causes) Sentence() string {
	if len(c.Storms) == 0 {
		return "No link was paused."
	}
	text := fmt.Sprintf("%s paused links for %.1f µs in total.", plural(len(c.Storms), "storm"), c.PausedUS)
	if c.Coarse {
		return text + " What is known are pauses by time and port, and the ends of flows: the switches do not say whose packets waited, so there are no victims, and no shares of what waited."
	}
	if c.WaitedUS == 0 {
		return text + " No flow waited."
	}
	return text + fmt.Sprintf(" Flows waited for %.1f µs, of which %.1f µs (%.0f %%) are of victims: %s. In %.0f %% of the paused time a victim waited.",
		c.WaitedUS, c.VictimUS, 100*c.VictimUS/c.WaitedUS, plural(c.Victims, "flow"), 100*c.VictimPausedUS/c.PausedUS)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Place names the root: a queue, or a host.
func (r *PauseRoot) Place() string {
	switch {
	case r.Cause == CauseLoop:
		return strings.Join(append(append([]string{}, r.Loop...), r.Loop[0]), " > ")
	case r.Cause == CauseStorming || r.Cause == CauseReceiver:
		return r.Peer
	case r.Port == 0:
		return r.Node
	}
	return fmt.Sprintf("%s port %d to %s", r.Node, r.Port, r.Peer)
}

// Sentence says in two sentences what a storm was and what it cost.
func (s *PauseStorm) Sentence() string {
	text := fmt.Sprintf("The root is %s (%s): %s. ", s.Root.Place(), s.Root.Cause, s.Root.Why)
	text += fmt.Sprintf("It paused %s for %.1f µs in total between %.1f and %.1f µs", plural(len(s.Links), "link"), s.PausedUS, float64(s.FromNS)/1000, float64(s.UntilNS)/1000)
	switch {
	case s.Waiting < 0:
		text += "; which flows waited is not known."
	case s.Waiting == 0:
		text += ", and no flow waited."
	case s.VictimCount == 0:
		text += fmt.Sprintf(", and %s waited for %.1f µs, all of which go to the root.", plural(s.Waiting, "flow"), s.WaitedUS)
	default:
		text += fmt.Sprintf(", and %s waited for %.1f µs: %.1f µs of them %s that never went there.", plural(s.Waiting, "flow"), s.WaitedUS, s.VictimUS, plural(s.VictimCount, "victim"))
	}
	if l := s.Lost; l != nil {
		change := "less"
		if l.FCTUS < 0 {
			change = "more"
		}
		text += fmt.Sprintf(" Without %s, the same %s would have taken %.1f µs %s in total", l.Without, plural(l.Flows, "flow"), math.Abs(l.FCTUS), change)
		if l.BusBWWithout > 0 {
			text += fmt.Sprintf(", and the bus bandwidth would have been %.2f GB/s, not %.2f", l.BusBWWithout, l.BusBW)
		}
		text += "."
	}
	return text
}

func (s *PauseStorm) print(w io.Writer, n int) {
	fmt.Fprintf(w, "%d. %s\n", n, s.Sentence())
	lines := [][]string{{"   paused link", "pauses", "paused µs", "packets", "waited µs", "victims µs"}}
	for i := range s.Links[:min(len(s.Links), linksOfTree)] {
		l := &s.Links[i]
		lines = append(lines, []string{
			fmt.Sprintf("   %s%s port %d to %s", strings.Repeat("  ", l.Depth-1), l.From, l.Port, l.To),
			fmt.Sprint(l.Pauses), fmt.Sprintf("%.1f", l.PausedUS), fmt.Sprint(l.Packets), fmt.Sprintf("%.1f", l.WaitedUS), fmt.Sprintf("%.1f", l.VictimUS),
		})
	}
	if len(s.Links) > 0 {
		align(w, lines)
	}
	if n := len(s.Links) - linksOfTree; n > 0 {
		fmt.Fprintf(w, "   and %s more\n", plural(n, "link"))
	}
	if len(s.RootFlows) > 0 {
		fmt.Fprintf(w, "   flows to the root:")
		for i, f := range s.RootFlows[:min(len(s.RootFlows), flowsShown)] {
			fmt.Fprintf(w, "%s %s to %s %.0f %%", comma(i), f.Src, f.Dst, 100*f.Share)
		}
		more(w, s.RootFlowCount-min(len(s.RootFlows), flowsShown))
	}
	if len(s.Victims) > 0 {
		fmt.Fprintf(w, "   victims:")
		for i, f := range s.Victims[:min(len(s.Victims), flowsShown)] {
			fmt.Fprintf(w, "%s %s to %s %.1f µs", comma(i), f.Src, f.Dst, f.WaitedUS)
		}
		more(w, s.VictimCount-min(len(s.Victims), flowsShown))
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

func more(w io.Writer, n int) {
	if n > 0 {
		fmt.Fprintf(w, " and %d more", n)
	}
	fmt.Fprintln(w)
}

// StormSheet has a row per storm of runs.
func StormSheet(runs []*Run) *Sheet {
	columns := []parquet.Column{{Name: "run", Type: parquet.Text}, {Name: "seed", Type: parquet.Int}, {Name: "storm", Type: parquet.Int},
		{Name: "node", Type: parquet.Text}, {Name: "port", Type: parquet.Int}, {Name: "peer", Type: parquet.Text}, {Name: "class", Type: parquet.Int},
		{Name: "cause", Type: parquet.Text}, {Name: "why", Type: parquet.Text},
		{Name: "from", Type: parquet.Int, Unit: "ns"}, {Name: "until", Type: parquet.Int, Unit: "ns"}, {Name: "links", Type: parquet.Int},
		{Name: "paused", Type: parquet.Double, Unit: "us"}, {Name: "packets", Type: parquet.Int}, {Name: "waited", Type: parquet.Double, Unit: "us"},
		{Name: "victim_time", Type: parquet.Double, Unit: "us"}, {Name: "victim_paused", Type: parquet.Double, Unit: "us"}, {Name: "root_flows", Type: parquet.Int}, {Name: "waiting_flows", Type: parquet.Int}, {Name: "victims", Type: parquet.Int}}
	return &Sheet{columns, func(yield func([]any, error) bool) {
		for _, r := range runs {
			for i := range r.storms() {
				s := &r.Causes.Storms[i]
				if !yield([]any{r.Label(), int64(r.Seed), int64(i + 1), s.Root.Node, int64(s.Root.Port), s.Root.Peer, int64(s.Root.Class), s.Root.Cause, s.Root.Why,
					s.FromNS, s.UntilNS, int64(len(s.Links)), s.PausedUS, s.Packets, s.WaitedUS, s.VictimUS, s.VictimPausedUS, int64(s.RootFlowCount), int64(s.Waiting), int64(s.VictimCount)}, nil) {
					return
				}
			}
		}
	}}
}

// PauseSheet has a row per link of each storm of runs.
func PauseSheet(runs []*Run) *Sheet {
	columns := []parquet.Column{{Name: "run", Type: parquet.Text}, {Name: "seed", Type: parquet.Int}, {Name: "storm", Type: parquet.Int}, {Name: "link", Type: parquet.Int},
		{Name: "waits_for", Type: parquet.Int}, {Name: "depth", Type: parquet.Int}, {Name: "from", Type: parquet.Text}, {Name: "port", Type: parquet.Int}, {Name: "to", Type: parquet.Text},
		{Name: "pauses", Type: parquet.Int}, {Name: "paused", Type: parquet.Double, Unit: "us"}, {Name: "packets", Type: parquet.Int},
		{Name: "waited", Type: parquet.Double, Unit: "us"}, {Name: "victim_time", Type: parquet.Double, Unit: "us"}, {Name: "victim_paused", Type: parquet.Double, Unit: "us"}}
	return &Sheet{columns, func(yield func([]any, error) bool) {
		for _, r := range runs {
			for i := range r.storms() {
				for k, l := range r.Causes.Storms[i].Links {
					if !yield([]any{r.Label(), int64(r.Seed), int64(i + 1), int64(k + 1), int64(l.Parent + 1), int64(l.Depth), l.From, int64(l.Port), l.To,
						int64(l.Pauses), l.PausedUS, l.Packets, l.WaitedUS, l.VictimUS, l.VictimPausedUS}, nil) {
						return
					}
				}
			}
		}
	}}
}

// storms returns the storms of a run.
func (r *Run) storms() []PauseStorm {
	if r.Causes == nil {
		return nil
	}
	return r.Causes.Storms
}
