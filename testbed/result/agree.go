// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
)

// Agreement compares the outcome of an experiment on a real network with that of the same
// runs in virtual time.
type Agreement struct {
	Real, Virtual *Outcome
	// Registers are the watched registers at some moments.
	Registers []RegisterAt
}

// RegisterAt is a watched register at a moment: the sum over the switches, or the largest
// of times, averaged over the runs of an arm.
type RegisterAt struct {
	Arm, Name, Unit string
	AtUS            float64
	Real, Virtual   float64
}

// agreed are the metrics that are compared, with the greatest difference that counts as
// agreement; zero for one that is only shown.
var agreed = []struct {
	metric string
	within float64
}{{"avg_fct_us", 0.15}, {"pause_frames", 0.25}, {"paused_us", 0.25}, {MarkedPackets, 0}, {"packets_received", 0.01}, {"packets_marked", 0}}

// moments is how many times of a run registers are compared at.
const moments = 4

// AgreeOn reads the watched registers of the runs of both outcomes, and compares them at
// told moments: the quarters of the time in which all runs of an arm were under way.
func AgreeOn(real, virtual iter.Seq2[*Run, error]) (list []RegisterAt, err error) {
	type key struct{ arm, name string }
	var order []key
	units := make(map[key]string)
	until := make(map[string]int64) // by arm: the end of the shortest run
	var both [2]map[key][]map[string]Line
	for i, runs := range []iter.Seq2[*Run, error]{real, virtual} {
		both[i] = make(map[key][]map[string]Line)
		for r, err := range runs {
			if err != nil {
				return nil, err
			}
			arm := r.Label()
			one := make(map[key]map[string]Line)
			end := int64(r.Summary.EndUS * 1000)
			for _, l := range r.Watched {
				k := key{arm, strings.TrimPrefix(l.Name, l.Node+" ")}
				if one[k] == nil {
					one[k] = make(map[string]Line)
				}
				one[k][l.Node] = l
				if units[k] == "" {
					order = append(order, k)
					units[k] = l.Unit
				}
			}
			if was, ok := until[arm]; !ok || end < was {
				until[arm] = end
			}
			for k, lines := range one {
				both[i][k] = append(both[i][k], lines)
			}
		}
	}
	for _, k := range order {
		for m := 1; m <= moments; m++ {
			at := until[k.arm] * int64(m) / moments
			var mean [2]float64
			for i := range both {
				for _, lines := range both[i][k] {
					mean[i] += valueAt(lines, at) / float64(len(both[i][k]))
				}
			}
			list = append(list, RegisterAt{k.arm, k.name, units[k], float64(at) / 1000, mean[0], mean[1]})
		}
	}
	return list, nil
}

// valueAt returns a register of all switches at a time: as it was last read before.
func valueAt(lines map[string]Line, at int64) (sum float64) {
	for _, l := range lines {
		i, _ := slices.BinarySearch(l.TNS, at+1)
		if i == 0 {
			continue
		}
		switch v := float64(l.V[i-1]); l.Unit {
		case "us", "ns":
			sum = max(sum, v)
		default:
			sum += v
		}
	}
	return sum
}

// differs formats the 95 % interval of the difference of a metric, seed by seed.
func differs(real, virtual *Cell, metric string) string {
	var x, y []float64
	for _, seed := range real.Seeds {
		p, ok := real.value(metric, seed)
		q, also := virtual.value(metric, seed)
		if ok && also {
			x, y = append(x, float64(p)), append(y, float64(q))
		}
	}
	if len(x) < 2 {
		return "–"
	}
	i := RatioInterval(x, y, 0.05)
	return share(i.Low-1, i.High-1)
}

// bounds formats the interval of a claim's change.
func bounds(x *Judged) string { return share(float64(x.Low), float64(x.High)) }

// share formats an interval of a change.
func share(low, high float64) string {
	if math.IsInf(low, 0) || math.IsInf(high, 0) || math.IsNaN(low) || math.IsNaN(high) {
		return "–"
	}
	return fmt.Sprintf("%+.1f to %+.1f %%", 100*low, 100*high)
}

// Write writes the comparison as Markdown tables.
func (a *Agreement) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| mean of the runs | variant | real switches | fabric | difference | 95 % interval | agrees within |\n|---|---|---:|---:|---:|---:|---|\n")
	for i := range a.Real.Cells {
		c := &a.Real.Cells[i]
		v := a.Virtual.cell(c.Arm, c.Point)
		if v == nil {
			continue
		}
		for _, m := range agreed {
			mean, ok := c.Mean[m.metric]
			if !ok {
				continue
			}
			x, y := float64(mean), float64(v.Mean[m.metric])
			info, ok := MetricOf(m.metric)
			if !ok {
				info.Title = strings.ReplaceAll(m.metric, "_", " ")
			}
			title := info.Title
			if info.Unit != "" {
				title += ", " + unitText(info.Unit)
			}
			diff, within := "–", fmt.Sprintf("%.0f %%: yes", 100*m.within)
			if m.within == 0 {
				within = ""
			}
			switch {
			case y != 0:
				d := x/y - 1
				diff = fmt.Sprintf("%+.1f %%", 100*d)
				if m.within > 0 && math.Abs(d) > m.within {
					within = fmt.Sprintf("%.0f %%: **no**", 100*m.within)
				}
			case x != 0 && m.within > 0:
				within = fmt.Sprintf("%.0f %%: **no**", 100*m.within)
			}
			fmt.Fprintf(&b, "| %s | %s | %.4g | %.4g | %s | %s | %s |\n", title, strings.Join(append([]string{c.Arm}, c.Point...), ", "), x, y, diff, differs(c, v, m.metric), within)
		}
	}
	b.WriteString("\n| claim | real switches | 95 % interval | verdict | fabric | verdict | same sign |\n|---|---:|---:|---|---:|---|---|\n")
	for i := range a.Real.Claims {
		if i >= len(a.Virtual.Claims) {
			break
		}
		x, y := &a.Real.Claims[i], &a.Virtual.Claims[i]
		same := "yes"
		if float64(x.Effect)*float64(y.Effect) < 0 {
			same = "**no**"
		}
		fmt.Fprintf(&b, "| %s | %+.1f %% | %s | %s | %+.1f %% | %s | %s |\n", x.Text, 100*float64(x.Effect), bounds(x), a.Real.Word(x.Verdict), 100*float64(y.Effect), a.Virtual.Word(y.Verdict), same)
	}
	if len(a.Registers) > 0 {
		b.WriteString("\n| register, all switches | variant | at | real switches | fabric |\n|---|---|---:|---:|---:|\n")
		for _, r := range a.Registers {
			fmt.Fprintf(&b, "| `%s`, %s | %s | %.0f µs | %.4g | %.4g |\n", r.Name, unitText(r.Unit), r.Arm, r.AtUS, r.Real, r.Virtual)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
