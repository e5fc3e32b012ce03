// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/pauseless/pauseless/testbed/result"
)

// RankPicture is the time line of the ranks of a job in a run, as a drawing of a fixed
// width.
type RankPicture struct {
	Title  string
	Height int
	Rows   []RankRow
	Ticks  []RankTick
	Last   []result.Last
}

// RankRow is a rank. Y is the top of its bars.
type RankRow struct {
	Name string
	Y    int
	Bars []RankBar
}

// RankBar is a time in which the rank computes or sends.
type RankBar struct {
	X, Width float64
	What     result.Activity
	Text     string
}

// RankTick is a mark of the time axis.
type RankTick struct {
	X    float64
	Text string
}

// Sizes of the drawing, in its own units.
const (
	rankWidth = 1000 // of the time axis
	rankRow   = 12
)

// mostPictures is the number of runs whose ranks a page shows.
const mostPictures = 4

// rankPictures returns the drawings of the first seed of each arm.
func rankPictures(p *Page, g *group) (all []RankPicture) {
	for _, a := range g.arms {
		if len(a.runs) == 0 {
			continue
		}
		r := a.runs[0]
		for i := range r.Jobs {
			if j := &r.Jobs[i]; len(j.Lines) > 0 && len(all) < mostPictures {
				all = append(all, rankPicture(fmt.Sprintf("%s, seed %d, %s", p.Arms[a.arm], r.Seed, j.Name), j))
			}
		}
	}
	return all
}

func rankPicture(title string, j *result.Job) RankPicture {
	pic := RankPicture{Title: title, Height: rankRow*len(j.Lines) + 16, Last: j.Last}
	from, until := int64(-1), int64(0)
	for _, l := range j.Lines {
		for _, s := range l.Spans {
			if from < 0 || s.StartNS < from {
				from = s.StartNS
			}
			until = max(until, s.EndNS)
		}
	}
	if until <= from {
		return pic
	}
	x := func(ns int64) float64 { return rankWidth * float64(ns-from) / float64(until-from) }
	for i, l := range j.Lines {
		row := RankRow{Name: fmt.Sprintf("rank %d, %s", l.Rank, l.Host), Y: i * rankRow}
		for _, s := range l.Spans {
			row.Bars = append(row.Bars, RankBar{X: x(s.StartNS), Width: max(x(s.EndNS)-x(s.StartNS), 0.5), What: s.What,
				Text: fmt.Sprintf("%s: %s from %.1f to %.1f µs", row.Name, s.What, float64(s.StartNS)/1000, float64(s.EndNS)/1000)})
		}
		pic.Rows = append(pic.Rows, row)
	}
	for k := range 5 {
		ns := from + (until-from)*int64(k)/4
		pic.Ticks = append(pic.Ticks, RankTick{x(ns), fmt.Sprintf("%.4g µs", float64(ns)/1000)})
	}
	return pic
}
