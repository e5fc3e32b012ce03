// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pauseless/pauseless/testbed/result"
)

// number is a value of a figure. Five digits are more than a screen shows; what
// is no number is null.
type number float64

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', 5, 64), nil
}

// Axis is the look of an axis. Unit is us, bytes, share, or empty.
type Axis struct {
	Label string `json:"label"`
	Unit  string `json:"unit,omitempty"`
	Log   bool   `json:"log,omitempty"`
	// Names stand at 0, 1, … in place of numbers.
	Names []string `json:"names,omitempty"`
}

// Curves is a figure with a line per arm. Several seeds make a line of means
// in a band from the least to the most.
type Curves struct {
	Title   string   `json:"title"`
	Caption string   `json:"-"`
	X       Axis     `json:"x"`
	Y       Axis     `json:"y"`
	At      []number `json:"at"` // places on the x axis
	Arms    []Curve  `json:"arms"`
	Points  bool     `json:"points,omitempty"` // few places: show them
}

// Curve is the line of an arm.
type Curve struct {
	Arm int      `json:"arm"`
	V   []number `json:"v"`
	Lo  []number `json:"lo,omitempty"`
	Hi  []number `json:"hi,omitempty"`
}

// curve makes the line of the means of seeds, each of which has a value or NaN
// at every place.
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

const bandText = " Bands go from the least to the most of the seeds, lines are their means."

func band(g *group) string {
	for _, a := range g.arms {
		if len(a.runs) > 1 {
			return bandText
		}
	}
	return ""
}

// cdfPlaces is how many places of the x axis a distribution is known at.
const cdfPlaces = 160

// fctCDF makes the distribution of flow completion times.
func fctCDF(g *group) []Curves {
	lo, hi := math.Inf(1), 0.0
	fcts := func(r *result.Run) []float64 {
		var v []float64
		for _, f := range r.Flows {
			if f.FCTNS > 0 {
				v = append(v, float64(f.FCTNS)/1000)
			}
		}
		slices.Sort(v)
		return v
	}
	for _, a := range g.arms {
		for _, r := range a.runs {
			if v := fcts(r); len(v) > 0 {
				lo, hi = min(lo, v[0]), max(hi, v[len(v)-1])
			}
		}
	}
	if hi <= lo {
		return nil
	}
	fig := Curves{
		Title: "Flow completion times", Caption: "Share of the finished flows that took at most so long." + band(g),
		X: Axis{Label: "flow completion time", Unit: "us", Log: true}, Y: Axis{Label: "share of flows", Unit: "share"},
	}
	for i := range cdfPlaces {
		fig.At = append(fig.At, number(lo*math.Pow(hi/lo, float64(i)/(cdfPlaces-1))))
	}
	fig.At[cdfPlaces-1] = number(hi * 1.0001) // rounding must not lose the last
	for _, a := range g.arms {
		var seeds [][]float64
		for _, r := range a.runs {
			v := fcts(r)
			if len(v) == 0 {
				continue
			}
			shares := make([]float64, cdfPlaces)
			for i, at := range fig.At {
				n, _ := slices.BinarySearchFunc(v, float64(at), func(x, at float64) int {
					if x <= at {
						return -1
					}
					return 1
				})
				shares[i] = float64(n) / float64(len(v))
			}
			seeds = append(seeds, shares)
		}
		if len(seeds) > 0 {
			fig.Arms = append(fig.Arms, curve(a.arm, seeds, cdfPlaces))
		}
	}
	return []Curves{fig}
}

// binsPerDecade is the number of bins of flow size per decade.
const binsPerDecade = 4

// slowdownBySize makes the slowdown of flows of like size: the median, and what
// one of a hundred exceeds.
func slowdownBySize(g *group) []Curves {
	slowdowns := func(r *result.Run) map[int][]float64 {
		bins := make(map[int][]float64)
		for _, f := range r.Flows {
			if f.FCTNS > 0 && f.IdealNS > 0 && f.Bytes > 0 {
				b := int(math.Floor(math.Log10(float64(f.Bytes)) * binsPerDecade))
				bins[b] = append(bins[b], float64(f.FCTNS)/float64(f.IdealNS))
			}
		}
		return bins
	}
	used := make(map[int]bool)
	for _, a := range g.arms {
		for _, r := range a.runs {
			for b := range slowdowns(r) {
				used[b] = true
			}
		}
	}
	if len(used) < 2 {
		return nil
	}
	var bins []int
	for b := range used {
		bins = append(bins, b)
	}
	slices.Sort(bins)
	var figures []Curves
	for _, q := range []struct {
		name string
		of   float64
	}{{"99th percentile", 0.99}, {"median", 0.5}} {
		fig := Curves{
			Title: "Slowdown by flow size, " + q.name, Caption: "Completion time over the time that the flow would take alone, of flows of like size." + band(g),
			X: Axis{Label: "flow size", Unit: "bytes", Log: true}, Y: Axis{Label: q.name + " of slowdown", Log: true}, Points: true,
		}
		for _, b := range bins {
			fig.At = append(fig.At, number(math.Pow(10, (float64(b)+0.5)/binsPerDecade)))
		}
		for _, a := range g.arms {
			var seeds [][]float64
			for _, r := range a.runs {
				of := slowdowns(r)
				v := make([]float64, len(bins))
				for i, b := range bins {
					v[i] = math.NaN()
					if len(of[b]) > 0 {
						v[i] = result.Quantile(of[b], q.of)
					}
				}
				seeds = append(seeds, v)
			}
			fig.Arms = append(fig.Arms, curve(a.arm, seeds, len(bins)))
		}
		figures = append(figures, fig)
	}
	return figures
}

// Timeline is what a run has over time. Times are in microseconds.
type Timeline struct {
	Arm   int      `json:"arm"`
	Seed  uint64   `json:"seed"`
	T     []number `json:"t"`
	Lines []struct {
		Name string   `json:"name"`
		V    []number `json:"v"`
	} `json:"lines"`
	Rows   []string    `json:"rows"`   // ports that were paused longest
	Pauses [][4]number `json:"pauses"` // row, class, start, end
	// Paused has link, direction (0: from its end A) and time of the links of
	// the network that were paused at all.
	Paused [][3]number `json:"paused"`
}

// What a page has room for; all is in the results file.
const (
	maxTimelines = 24
	linesShown   = 6    // the queues that grew longest
	placesShown  = 2000 // of a time line
	portsShown   = 12   // the ports that were paused longest
	pausesShown  = 4000 // of a run; those close together are shown as one
)

// timelines returns the time lines of the runs, the first seeds of all arms
// first, and how many runs are left out.
func timelines(g *group) (out []Timeline, left int) {
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
				left++
				continue
			}
			out = append(out, timeline(a.arm, r))
		}
		if !some {
			return out, left
		}
	}
}

func timeline(arm int, r *result.Run) Timeline {
	t := Timeline{Arm: arm, Seed: r.Seed, T: []number{}, Rows: []string{}, Pauses: [][4]number{}, Paused: [][3]number{}}
	lines := longest(r.Lines)
	if len(lines) > 0 {
		// Of neighbours that fall together the largest is kept, at its time
		// in the first line.
		stride := (len(lines[0].TNS) + placesShown - 1) / placesShown
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
	t.addPauses(r)
	return t
}

// longest returns the lines that rose highest, all sampled at the same times.
func longest(lines []result.Line) []result.Line {
	peak := func(l result.Line) uint64 { return slices.Max(append([]uint64{0}, l.V...)) }
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b result.Line) int { return cmp.Compare(peak(b), peak(a)) })
	sorted = slices.DeleteFunc(sorted, func(l result.Line) bool {
		return len(l.V) < 2 || len(l.V) != len(l.TNS) || len(l.V) != len(sorted[0].V)
	})
	return sorted[:min(len(sorted), linesShown)]
}

// addPauses adds the pauses of the ports that were paused longest, and the
// paused time of all links.
func (t *Timeline) addPauses(r *result.Run) {
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
	ports = ports[:min(len(ports), portsShown)]
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
	for gap := int64(1); len(shown) > pausesShown; gap *= 4 {
		shown = joined(shown, gap*1000)
	}
	for _, p := range shown {
		t.Pauses = append(t.Pauses, [4]number{number(row[port{p.Node, p.Port}]), number(p.Class), number(p.StartNS) / 1000, number(p.EndNS) / 1000})
	}
}

// joined makes one pause of those of a port and class that are no further
// apart than gap nanoseconds.
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

// LinkRow is a direction of a link and for how long it was paused in each of
// the experiment's arms, with the first seed.
type LinkRow struct {
	Name  string
	Cells []string // in µs
}

// linksShown is how many links the table below the maps has.
const linksShown = 12

// pausedLinks says in a table what the maps show in colours.
func pausedLinks(p *Page, x *Experiment) []LinkRow {
	if x.Network == nil {
		return nil
	}
	type link struct{ id, dir int }
	paused := make(map[link][]float64)
	for i, a := range x.Arms {
		k := slices.IndexFunc(x.Runs, func(t Timeline) bool { return t.Arm == a })
		if k < 0 {
			continue
		}
		for _, v := range x.Runs[k].Paused {
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
		row := LinkRow{Name: x.Network.LinkName(l.id, l.dir)}
		for _, us := range paused[l] {
			row.Cells = append(row.Cells, fmt.Sprintf("%.1f", us))
		}
		rows = append(rows, row)
	}
	return rows
}
