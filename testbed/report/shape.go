// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"slices"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/testbed/result"
)

// ShapesFormat is the format of Shapes as JSON.
const ShapesFormat = "pauseless-figures/1"

// Shapes has the figures' data of single runs, condensed. An experiment keeps
// it beside its outcome, so that a report needs no store of runs.
type Shapes struct {
	Format   string            `json:"format"`
	Runs     []Shape           `json:"runs"`
	Networks []*result.Network `json:"networks,omitempty"`
}

// Shape has the figures' data of one run.
type Shape struct {
	Arm   string   `json:"arm"`
	Point []string `json:"point,omitempty"`
	Seed  uint64   `json:"seed"`
	// FCT counts finished flows by completion time. Bin k ends at
	// 10^(k/fctBins) microseconds; FCT[0] is bin FirstFCT.
	FirstFCT int   `json:"first_fct,omitempty"`
	FCT      []int `json:"fct,omitempty"`
	// Sizes has the slowdown of flows of similar size.
	Sizes []SizeBin `json:"sizes,omitempty"`
	// Time is the time line; nil if it is omitted to save space.
	Time *Timeline `json:"time,omitempty"`
	// Network is the index of the run's network in Shapes.Networks, from 1; 0 if
	// it is not known.
	Network int `json:"network,omitempty"`
}

// SizeBin is the slowdown of the flows of 10^(Bin/sizeBins) up to
// 10^((Bin+1)/sizeBins) bytes.
type SizeBin struct {
	Bin    int    `json:"bin"`
	Median number `json:"median"`
	P99    number `json:"p99"`
}

// Bins per decade, of completion times and of flow sizes. A bin of completion
// times is 6 % wide.
const (
	fctBins  = 40
	sizeBins = 4
)

func fctBin(ns int64) int { return int(math.Ceil(math.Log10(float64(ns)/1000) * fctBins)) }

func fctEdge(bin int) float64 { return math.Pow(10, float64(bin)/fctBins) }

// detail limits the size of a time line.
type detail struct{ lines, places, ports, pauses int }

var (
	fine   = detail{6, 2000, 12, 4000}
	coarse = detail{4, 400, 10, 800} // for an experiment, which has dozens of runs
)

// shapeOf returns the shape of a run, without its time line and network.
func shapeOf(r *result.Run) Shape {
	s := Shape{Arm: r.Arm, Point: r.Point, Seed: r.Seed}
	bins := make(map[int][]float64)
	last := math.MinInt
	s.FirstFCT = math.MaxInt
	for _, f := range r.Flows {
		if f.FCTNS > 0 {
			b := fctBin(f.FCTNS)
			s.FirstFCT, last = min(s.FirstFCT, b), max(last, b)
		}
		if f.FCTNS > 0 && f.IdealNS > 0 && f.Bytes > 0 {
			b := int(math.Floor(math.Log10(float64(f.Bytes)) * sizeBins))
			bins[b] = append(bins[b], float64(f.FCTNS)/float64(f.IdealNS))
		}
	}
	if last < s.FirstFCT {
		s.FirstFCT = 0
	} else {
		s.FCT = make([]int, last-s.FirstFCT+1)
	}
	for _, f := range r.Flows {
		if f.FCTNS > 0 {
			s.FCT[fctBin(f.FCTNS)-s.FirstFCT]++
		}
	}
	for b, v := range bins {
		s.Sizes = append(s.Sizes, SizeBin{b, number(result.Quantile(v, 0.5)), number(result.Quantile(v, 0.99))})
	}
	slices.SortFunc(s.Sizes, func(a, b SizeBin) int { return a.Bin - b.Bin })
	return s
}

// share returns the share of the flows that took at most fctEdge(bin).
func (s *Shape) share(bin int) float64 {
	upTo, all := 0, 0
	for i, n := range s.FCT {
		all += n
		if s.FirstFCT+i <= bin {
			upTo += n
		}
	}
	return float64(upTo) / float64(all)
}

// experimentTimelines limits the runs of an experiment that have a time line.
const experimentTimelines = 48

// Condense returns the shapes of an experiment's runs, of which it holds one at
// a time in memory. The first run of each arm and point has a time line.
// Condense returns the first error that runs yields.
func Condense(runs iter.Seq2[*result.Run, error]) (*Shapes, error) {
	s := &Shapes{Format: ShapesFormat, Runs: []Shape{}}
	drawn := 0
	for r, err := range runs {
		if err != nil {
			return nil, err
		}
		shape := shapeOf(r)
		first := !slices.ContainsFunc(s.Runs, func(o Shape) bool { return o.Arm == r.Arm && slices.Equal(o.Point, r.Point) && o.Time != nil })
		if first && drawn < experimentTimelines && len(r.Lines)+len(r.Pauses) > 0 {
			t := timeline(0, r, coarse)
			shape.Time = &t
			drawn++
			if r.Network != nil {
				shape.Network = s.network(r.Network)
			}
		}
		s.Runs = append(s.Runs, shape)
	}
	return s, nil
}

// network returns the index of a network in s.Networks, from 1.
func (s *Shapes) network(n *result.Network) int {
	i := slices.IndexFunc(s.Networks, func(o *result.Network) bool { return reflect.DeepEqual(o, n) })
	if i < 0 {
		i = len(s.Networks)
		s.Networks = append(s.Networks, n)
	}
	return i + 1
}

// WriteJSON writes the shapes as JSON, one run per line, with a seal.
func (s *Shapes) WriteJSON(to io.Writer) error {
	w := new(bytes.Buffer)
	networks, err := json.Marshal(s.Networks)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "{\"format\":%q,\"networks\":%s,\"runs\":[", s.Format, networks)
	for i := range s.Runs {
		line, err := json.Marshal(&s.Runs[i])
		if err != nil {
			return err
		}
		sep := "\n"
		if i > 0 {
			sep = ",\n"
		}
		fmt.Fprintf(w, "%s%s", sep, line)
	}
	w.WriteString("\n]}\n")
	_, err = to.Write(result.Seal(w.Bytes()))
	return err
}

// ReadShapes reads the JSON that WriteJSON writes. It returns an error if the
// format is another, or if an index is out of range.
func ReadShapes(r io.Reader) (*Shapes, error) {
	text, err := infile.From(r, "the figures", infile.Data)
	if err != nil {
		return nil, err
	}
	var s Shapes
	if err := infile.JSON(text, &s); err != nil {
		return nil, err
	}
	if err := result.CheckSeal(text); err != nil {
		return nil, err
	}
	if s.Format != ShapesFormat {
		return nil, fmt.Errorf("format is %q, expected %q", s.Format, ShapesFormat)
	}
	for i := range s.Runs {
		x := &s.Runs[i]
		if x.Network < 0 || x.Network > len(s.Networks) {
			return nil, fmt.Errorf("run %d has network %d of %d", i, x.Network, len(s.Networks))
		}
		if t := x.Time; t != nil {
			for _, l := range t.Lines {
				if len(l.V) != len(t.T) {
					return nil, fmt.Errorf("run %d has a line of %d samples instead of %d", i, len(l.V), len(t.T))
				}
			}
			for _, w := range t.Registers {
				for _, l := range w.Lines {
					if len(l.V) != len(w.T) {
						return nil, fmt.Errorf("run %d has a register of %d readings instead of %d", i, len(l.V), len(w.T))
					}
				}
			}
			for _, p := range t.Pauses {
				if p[0] < 0 || int(p[0]) >= len(t.Rows) {
					return nil, fmt.Errorf("run %d has a pause in row %v of %d", i, p[0], len(t.Rows))
				}
			}
		}
	}
	return &s, nil
}
