// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
)

// number is a value of a figure.
type number float64

// MarshalJSON writes five digits, which is more than a screen resolves; NaN and
// infinities become null.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', 5, 64), nil
}

// Axis describes an axis. Unit is us, bytes, share, or empty.
type Axis struct {
	Label string `json:"label"`
	Unit  string `json:"unit,omitempty"`
	Log   bool   `json:"log,omitempty"`
	// Names label 0, 1, … on an axis of names.
	Names []string `json:"names,omitempty"`
}

// Curves is a figure with a line per arm. With several seeds the line is their
// mean, and a band shows the least and the greatest value.
type Curves struct {
	Title   string   `json:"title"`
	Caption string   `json:"-"`
	X       Axis     `json:"x"`
	Y       Axis     `json:"y"`
	At      []number `json:"at"` // values of x
	Arms    []Curve  `json:"arms"`
	Points  bool     `json:"points,omitempty"` // mark each value
	// Intervals: Lo and Hi are drawn as a bar at each value of x, not as a band.
	Intervals bool `json:"intervals,omitempty"`
	Half      bool `json:"-"` // half the page's width, where the window is wide enough
	Number    int  `json:"-"` // index in Experiment.Figures
}

// Curve is the line of an arm: values at Curves.At, and the bounds of the band
// or interval.
type Curve struct {
	Arm int      `json:"arm"`
	V   []number `json:"v"`
	Lo  []number `json:"lo,omitempty"`
	Hi  []number `json:"hi,omitempty"`
}

// curve returns the line of the means of seeds. Each seed has as many values as
// places, NaN where it has none.
func curve(arm int, seeds [][]float64, places int) Curve {
	c := Curve{Arm: arm}
	for i := range places {
		var v []float64
		for _, s := range seeds {
			if !math.IsNaN(s[i]) {
				v = append(v, s[i])
			}
		}
		if len(v) == 0 {
			v = []float64{math.NaN()}
		}
		c.V = append(c.V, number(result.Mean(v)))
		if len(seeds) > 1 {
			c.Lo, c.Hi = append(c.Lo, number(slices.Min(v))), append(c.Hi, number(slices.Max(v)))
		}
	}
	return c
}

const bandText = " Bands go from the least to the most of the runs, lines are their means."

// armShapes are the shapes of an arm's runs.
type armShapes struct {
	arm    int
	shapes []Shape
}

func band(arms []armShapes) string {
	for _, a := range arms {
		if len(a.shapes) > 1 {
			return bandText
		}
	}
	return ""
}

// fctCDF returns the distribution of flow completion times; no figure if no
// flow finished.
func fctCDF(arms []armShapes) []Curves {
	first, last := math.MaxInt, math.MinInt
	for _, a := range arms {
		for _, s := range a.shapes {
			if len(s.FCT) > 0 {
				first, last = min(first, s.FirstFCT-1), max(last, s.FirstFCT+len(s.FCT)-1)
			}
		}
	}
	if last < first {
		return nil
	}
	fig := Curves{
		Title: "Flow completion times", Caption: "Share of the finished flows that took at most so long." + band(arms),
		X: Axis{Label: "flow completion time", Unit: "us", Log: true}, Y: Axis{Label: "share of flows", Unit: "share"},
	}
	for b := first; b <= last; b++ {
		fig.At = append(fig.At, number(fctEdge(b)))
	}
	for _, a := range arms {
		var seeds [][]float64
		for _, s := range a.shapes {
			if len(s.FCT) == 0 {
				continue
			}
			shares := make([]float64, len(fig.At))
			for i := range shares {
				shares[i] = s.share(first + i)
			}
			seeds = append(seeds, shares)
		}
		if len(seeds) > 0 {
			fig.Arms = append(fig.Arms, curve(a.arm, seeds, len(fig.At)))
		}
	}
	return []Curves{fig}
}

// slowdownBySize returns the slowdown of flows of similar size: median and 99th
// percentile; no figures for fewer than two bins of size.
func slowdownBySize(arms []armShapes) []Curves {
	var bins []int
	for _, a := range arms {
		for _, s := range a.shapes {
			for _, b := range s.Sizes {
				if !slices.Contains(bins, b.Bin) {
					bins = append(bins, b.Bin)
				}
			}
		}
	}
	if len(bins) < 2 {
		return nil
	}
	slices.Sort(bins)
	var figures []Curves
	for _, q := range []struct {
		name string
		of   func(SizeBin) number
	}{{"median", func(b SizeBin) number { return b.Median }}, {"99th percentile", func(b SizeBin) number { return b.P99 }}} {
		fig := Curves{
			Title: "Slowdown by flow size, " + q.name, Caption: "Completion time over the time in an empty network, for flows of similar size." + band(arms),
			X: Axis{Label: "flow size", Unit: "bytes", Log: true}, Y: Axis{Label: "slowdown, " + q.name, Log: true}, Points: true, Half: true,
		}
		for _, b := range bins {
			fig.At = append(fig.At, number(math.Pow(10, (float64(b)+0.5)/sizeBins)))
		}
		for _, a := range arms {
			var seeds [][]float64
			for _, s := range a.shapes {
				v := make([]float64, len(bins))
				for i := range v {
					v[i] = math.NaN()
				}
				for _, b := range s.Sizes {
					v[slices.Index(bins, b.Bin)] = float64(q.of(b))
				}
				seeds = append(seeds, v)
			}
			fig.Arms = append(fig.Arms, curve(a.arm, seeds, len(bins)))
		}
		figures = append(figures, fig)
	}
	return figures
}

// Timeline has the queues and pauses of a run over time. Times are in
// microseconds.
type Timeline struct {
	Arm   int      `json:"arm"`
	Seed  uint64   `json:"seed"`
	T     []number `json:"t"`
	Lines []struct {
		Name string   `json:"name"`
		V    []number `json:"v"`
	} `json:"lines"`
	// Registers are those that the scenario watches, one after the other.
	Registers []Watched   `json:"registers,omitempty"`
	Rows      []string    `json:"rows"`   // ports that were paused longest
	Pauses    [][4]number `json:"pauses"` // row, class, start, end
	// Paused has link, direction (0: from end A) and paused time of every link
	// that was paused.
	Paused [][3]number `json:"paused"`
}

// Watched is a register over time: for each switch the sum of its cells, or the largest of
// times. Times are in microseconds.
type Watched struct {
	Name  string        `json:"name"`
	Unit  string        `json:"unit"`
	T     []number      `json:"t"`
	Lines []WatchedLine `json:"lines"`
}

// WatchedLine has the values at a switch.
type WatchedLine struct {
	Name string   `json:"name"`
	V    []number `json:"v"`
}

// addRegisters adds the watched registers that were not zero all the time.
func (t *Timeline) addRegisters(r *result.Run, d detail) {
	for _, l := range r.Watched {
		if !slices.ContainsFunc(l.V, func(v uint64) bool { return v > 0 }) {
			continue
		}
		name := strings.TrimPrefix(l.Name, l.Node+" ")
		i := slices.IndexFunc(t.Registers, func(w Watched) bool { return w.Name == name })
		stride := (len(l.TNS) + d.places - 1) / d.places
		if i < 0 {
			i = len(t.Registers)
			w := Watched{Name: name, Unit: l.Unit}
			for k := 0; k < len(l.TNS); k += stride {
				w.T = append(w.T, number(l.TNS[k])/1000)
			}
			t.Registers = append(t.Registers, w)
		}
		var v []number
		for k := 0; k < len(l.V); k += stride {
			v = append(v, number(l.V[k]))
		}
		// A switch that was read once more or less than the first one has its last value.
		w := &t.Registers[i]
		for len(v) < len(w.T) {
			v = append(v, v[len(v)-1])
		}
		w.Lines = append(w.Lines, WatchedLine{l.Node, v[:len(w.T)]})
	}
}

// maxTimelines limits the size of a page; the results file has all runs.
const maxTimelines = 24

// timelines returns the time lines of the runs, the first seeds of all arms
// first, and how many runs are omitted.
func timelines(g *group) (out []Timeline, omitted int) {
	for seed := 0; ; seed++ {
		some := false
		for _, a := range g.arms {
			if seed >= len(a.runs) {
				continue
			}
			some = true
			r := a.runs[seed]
			if len(r.Lines) == 0 && len(r.Pauses) == 0 {
				continue
			}
			if len(out) == maxTimelines {
				omitted++
				continue
			}
			out = append(out, timeline(a.arm, r, fine))
		}
		if !some {
			return out, omitted
		}
	}
}

// timeline returns the queues that grew longest and the pauses of the ports
// that were paused longest. If there are more than d.pauses, it joins pauses
// that are close together.
func timeline(arm int, r *result.Run, d detail) Timeline {
	t := Timeline{Arm: arm, Seed: r.Seed, T: []number{}, Rows: []string{}, Pauses: [][4]number{}, Paused: [][3]number{}}
	lines := longest(r.Lines, d.lines)
	if len(lines) > 0 {
		// Each stride of samples becomes one: its maximum, at the stride's
		// first time.
		stride := (len(lines[0].TNS) + d.places - 1) / d.places
		for i := 0; i < len(lines[0].TNS); i += stride {
			t.T = append(t.T, number(lines[0].TNS[i])/1000)
		}
		for _, l := range lines {
			var v []number
			for i := 0; i < len(l.V); i += stride {
				v = append(v, number(slices.Max(l.V[i:min(i+stride, len(l.V))])))
			}
			t.Lines = append(t.Lines, struct {
				Name string   `json:"name"`
				V    []number `json:"v"`
			}{l.Name, v})
		}
	}
	t.addRegisters(r, d)
	t.addPauses(r, d)
	return t
}

// longest returns the lines with the highest maximum, at most as many as given.
// All have the same number of samples.
func longest(lines []result.Line, most int) []result.Line {
	peak := func(l result.Line) uint64 { return slices.Max(append([]uint64{0}, l.V...)) }
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b result.Line) int { return cmp.Compare(peak(b), peak(a)) })
	sorted = slices.DeleteFunc(sorted, func(l result.Line) bool {
		return len(l.V) < 2 || len(l.V) != len(l.TNS) || len(l.V) != len(sorted[0].V)
	})
	return sorted[:min(len(sorted), most)]
}

// addPauses adds the pauses of the ports that were paused longest, and the
// paused time of all links.
func (t *Timeline) addPauses(r *result.Run, d detail) {
	type port struct {
		node   string
		number int
	}
	total := make(map[port]int64)
	var ports []port
	for _, p := range r.Pauses {
		k := port{p.Node, p.Port}
		if total[k] == 0 && !slices.Contains(ports, k) {
			ports = append(ports, k)
		}
		total[k] += p.EndNS - p.StartNS
	}
	slices.SortStableFunc(ports, func(a, b port) int { return cmp.Compare(total[b], total[a]) })
	if r.Network != nil {
		for _, p := range ports {
			if link, dir, ok := r.Network.Sender(p.node, p.number); ok {
				t.Paused = append(t.Paused, [3]number{number(link), number(dir), number(total[p]) / 1000})
			}
		}
	}
	ports = ports[:min(len(ports), d.ports)]
	row := make(map[port]int)
	for i, p := range ports {
		row[p] = i
		t.Rows = append(t.Rows, fmt.Sprintf("%s port %d", p.node, p.number))
	}
	var shown []result.Pause
	for _, p := range r.Pauses {
		if _, ok := row[port{p.Node, p.Port}]; ok {
			shown = append(shown, p)
		}
	}
	for gap := int64(1); len(shown) > d.pauses; gap *= 4 {
		shown = joined(shown, gap*1000)
	}
	for _, p := range shown {
		t.Pauses = append(t.Pauses, [4]number{number(row[port{p.Node, p.Port}]), number(p.Class), number(p.StartNS) / 1000, number(p.EndNS) / 1000})
	}
}

// joined joins pauses of a port and class that are at most gap nanoseconds
// apart.
func joined(pauses []result.Pause, gap int64) []result.Pause {
	type key struct {
		node  string
		port  int
		class uint8
	}
	last := make(map[key]int)
	var out []result.Pause
	for _, p := range pauses {
		k := key{p.Node, p.Port, p.Class}
		if i, ok := last[k]; ok && p.StartNS-out[i].EndNS <= gap {
			out[i].EndNS = max(out[i].EndNS, p.EndNS)
			continue
		}
		last[k] = len(out)
		out = append(out, p)
	}
	return out
}

// LinkRow is a direction of a link and its paused time in each of the
// experiment's arms, with the first seed.
type LinkRow struct {
	Name  string
	Cells []string // in µs
}

// linksShown limits the table below the maps.
const linksShown = 12

// pausedLinks returns the table below the maps: the links paused longest.
func pausedLinks(x *Experiment, pt *Point) []LinkRow {
	if pt.Network == nil {
		return nil
	}
	type link struct{ id, dir int }
	paused := make(map[link][]float64)
	for i, a := range x.Arms {
		k := slices.IndexFunc(pt.Runs, func(t Timeline) bool { return t.Arm == a })
		if k < 0 {
			continue
		}
		for _, v := range pt.Runs[k].Paused {
			l := link{int(v[0]), int(v[1])}
			if paused[l] == nil {
				paused[l] = make([]float64, len(x.Arms))
			}
			paused[l][i] = float64(v[2])
		}
	}
	var links []link
	for l := range paused {
		links = append(links, l)
	}
	slices.SortFunc(links, func(a, b link) int {
		return cmp.Or(cmp.Compare(slices.Max(paused[b]), slices.Max(paused[a])), cmp.Compare(a.id, b.id), cmp.Compare(a.dir, b.dir))
	})
	var rows []LinkRow
	for _, l := range links[:min(len(links), linksShown)] {
		row := LinkRow{Name: pt.Network.LinkName(l.id, l.dir)}
		for _, us := range paused[l] {
			row.Cells = append(row.Cells, fmt.Sprintf("%.1f", us))
		}
		rows = append(rows, row)
	}
	return rows
}
