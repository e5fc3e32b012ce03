// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// palette is Okabe and Ito's, which most readers can tell apart.
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 0, 0, 255},
}

func colour(i int) color.Color { return palette[i%len(palette)] }

const (
	figureWidth  = 22 * vg.Centimeter
	figureHeight = 10 * vg.Centimeter
)

// svg renders plots below one another, sharing the width.
func svg(plots ...*plot.Plot) (template.HTML, error) {
	height := figureHeight * vg.Length(len(plots))
	c := vgsvg.New(figureWidth, height)
	area := draw.New(c)
	for i, p := range plots {
		top := area.Max.Y - figureHeight*vg.Length(i)
		p.Draw(draw.Canvas{Canvas: area.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: area.Min.X, Y: top - figureHeight}, Max: vg.Point{X: area.Max.X, Y: top},
		}})
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	// The XML prologue has no place inside HTML.
	text := b.String()
	if i := strings.Index(text, "<svg"); i > 0 {
		text = text[i:]
	}
	return template.HTML(text), nil
}

func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	return p
}

func line(p *plot.Plot, name string, xy plotter.XYs, c color.Color) error {
	l, err := plotter.NewLine(xy)
	if err != nil {
		return err
	}
	l.Color, l.Width = c, vg.Points(1.5)
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
	return nil
}

// fctCDF draws the share of flows that finished within a time.
func fctCDF(runs []*result.Run) (figure, error) {
	p := newPlot("flow completion time, µs", "share of flows")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = false, false
	drawn := false
	for i, r := range runs {
		var fct []float64
		for _, f := range r.Flows {
			if f.FCTNS > 0 {
				fct = append(fct, float64(f.FCTNS)/1000)
			}
		}
		if len(fct) < 2 {
			continue
		}
		slices.Sort(fct)
		xy := make(plotter.XYs, len(fct))
		for j, v := range fct {
			xy[j] = plotter.XY{X: v, Y: float64(j+1) / float64(len(fct))}
		}
		if err := line(p, r.Profile, xy, colour(i)); err != nil {
			return figure{}, err
		}
		drawn = true
	}
	if !drawn || p.X.Min == p.X.Max {
		return figure{}, nil
	}
	pic, err := svg(p)
	return figure{"Flow completion times", "Share of the finished flows that took at most so long, from the first byte ready to the last acknowledgement.", pic}, err
}

// sizeBins splits flows by size, at a third of a decade.
const binsPerDecade = 3

// slowdownBySize draws the 99th percentile of slowdown for flows of like size.
func slowdownBySize(runs []*result.Run) (figure, error) {
	p := newPlot("flow size, bytes", "p99 slowdown")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	drawn := false
	for i, r := range runs {
		bins := make(map[int][]float64)
		for _, f := range r.Flows {
			if f.FCTNS > 0 && f.IdealNS > 0 && f.Bytes > 0 {
				b := int(math.Floor(math.Log10(float64(f.Bytes)) * binsPerDecade))
				bins[b] = append(bins[b], float64(f.FCTNS)/float64(f.IdealNS))
			}
		}
		var xy plotter.XYs
		for b, v := range bins {
			xy = append(xy, plotter.XY{X: math.Pow(10, (float64(b)+0.5)/binsPerDecade), Y: result.Quantile(v, 0.99)})
		}
		if len(xy) < 2 {
			continue
		}
		slices.SortFunc(xy, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		if err := line(p, r.Profile, xy, colour(i)); err != nil {
			return figure{}, err
		}
		drawn = true
	}
	if !drawn || p.Y.Min == p.Y.Max || p.X.Min == p.X.Max {
		return figure{}, nil
	}
	pic, err := svg(p)
	return figure{"Slowdown by flow size", "99th percentile of completion time over the time the flow would take alone.", pic}, err
}

// linesShown is how many queues a time line shows: those that grew longest.
const linesShown = 6

// timeline draws the longest queues of a run over time, and below, which
// ports were paused when.
func timeline(r *result.Run) (figure, error) {
	lines := longest(r.Lines)
	if len(lines) == 0 {
		return figure{}, nil
	}
	queues := newPlot("", lines[0].Unit)
	queues.Title.Text = r.Profile
	for i, l := range lines {
		xy := make(plotter.XYs, len(l.V))
		for j, v := range l.V {
			xy[j] = plotter.XY{X: float64(l.TNS[j]) / 1000, Y: float64(v)}
		}
		if err := line(queues, l.Name, xy, colour(i)); err != nil {
			return figure{}, err
		}
	}
	plots := []*plot.Plot{queues}
	if len(r.Pauses) > 0 {
		p, err := pauseChart(r)
		if err != nil {
			return figure{}, err
		}
		p.X.Min, p.X.Max = min(p.X.Min, queues.X.Min), max(p.X.Max, queues.X.Max)
		queues.X.Min, queues.X.Max = p.X.Min, p.X.Max
		plots = append(plots, p)
	}
	pic, err := svg(plots...)
	caption := fmt.Sprintf("Above: the %d queues that grew longest. Below: a bar wherever PFC kept a port from sending; %d pauses in all.", len(lines), len(r.Pauses))
	return figure{"Queues and pauses: " + r.Profile, caption, pic}, err
}

func longest(lines []result.Line) []result.Line {
	peak := func(l result.Line) uint64 { return slices.Max(append([]uint64{0}, l.V...)) }
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b result.Line) int { return cmp.Compare(peak(b), peak(a)) })
	sorted = sorted[:min(len(sorted), linesShown)]
	return slices.DeleteFunc(sorted, func(l result.Line) bool { return len(l.V) < 2 })
}

// pausePorts is how many ports the pause chart has rows for: those paused
// longest.
const pausePorts = 12

func pauseChart(r *result.Run) (*plot.Plot, error) {
	type port struct {
		name string
		sum  int64
	}
	var ports []port
	find := func(name string) int {
		return slices.IndexFunc(ports, func(p port) bool { return p.name == name })
	}
	label := func(p result.Pause) string { return fmt.Sprintf("%s port %d", p.Node, p.Port) }
	for _, p := range r.Pauses {
		i := find(label(p))
		if i < 0 {
			i = len(ports)
			ports = append(ports, port{name: label(p)})
		}
		ports[i].sum += p.EndNS - p.StartNS
	}
	slices.SortStableFunc(ports, func(a, b port) int { return cmp.Compare(b.sum, a.sum) })
	ports = ports[:min(len(ports), pausePorts)]

	p := newPlot("time, µs", "")
	var ticks []plot.Tick
	for i, pt := range ports {
		ticks = append(ticks, plot.Tick{Value: float64(-i), Label: pt.name})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Min, p.Y.Max = float64(-len(ports))+0.5, 0.5
	for _, pause := range r.Pauses {
		i := find(label(pause))
		if i < 0 {
			continue
		}
		l, err := plotter.NewLine(plotter.XYs{
			{X: float64(pause.StartNS) / 1000, Y: float64(-i)}, {X: float64(pause.EndNS) / 1000, Y: float64(-i)},
		})
		if err != nil {
			return nil, err
		}
		l.Color, l.Width = colour(1), vg.Points(6)
		p.Add(l)
	}
	return p, nil
}
