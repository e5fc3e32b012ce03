// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/testbed/result/parquet"
)

// mostLinks is the number of links in a table.
const mostLinks = 5

// links sets o.Links, the links paused longest first. Links between the same nodes
// count as one. A cell that only has runs of an earlier outcome has its links.
func (o *Outcome) links() {
	o.Links, o.LinksLeftOut = nil, 0
	type link struct{ node, peer string }
	for i := range o.Cells {
		c := &o.Cells[i]
		var runs []*RunNote
		for k := range o.Runs {
			if r := &o.Runs[k]; r.Arm == c.Arm && slices.Equal(r.Point, c.Point) && !r.Earlier {
				runs = append(runs, r)
			}
		}
		if len(runs) == 0 && o.Earlier != nil {
			o.LinksLeftOut = o.Earlier.LinksLeftOut // those of all its cells
			for _, l := range o.Earlier.Links {
				if l.Arm == c.Arm && slices.Equal(l.Point, c.Point) {
					o.Links = append(o.Links, l)
				}
			}
		}
		frames, paused := make(map[link]float64), make(map[link][]float64)
		var all []link
		for k, r := range runs {
			for _, l := range r.Links {
				at := link{l.Node, l.Peer}
				if paused[at] == nil {
					paused[at] = make([]float64, len(runs))
					all = append(all, at)
				}
				frames[at] += float64(l.Frames) / float64(len(runs))
				paused[at][k] += l.PausedUS
			}
		}
		var list []Link
		for _, at := range all {
			mean := meanInterval(paused[at], 0.05)
			l := Link{Arm: c.Arm, Point: c.Point, Node: at.node, Peer: at.peer, Frames: frames[at], PausedUS: mean.Value}
			if len(runs) > 1 {
				l.Half = mean.Half()
			}
			list = append(list, l)
		}
		slices.SortStableFunc(list, longer)
		o.Links = append(o.Links, list...)
	}
}

// claimed adds the metrics of single links that claims name.
func (r *RunNote) claimed(claims []Claim) {
	for i := range claims {
		_, name := claims[i].Relation()
		base, selector, _ := strings.Cut(name, ".")
		node, peer, ok := strings.Cut(selector, linkTo)
		if !ok || r.Metrics == nil || r.Earlier {
			continue
		}
		var frames, paused float64
		for _, l := range r.Links {
			if l.Node == node && l.Peer == peer {
				frames, paused = frames+float64(l.Frames), paused+l.PausedUS
			}
		}
		r.Metrics = maps.Clone(r.Metrics)
		r.Metrics[name] = map[string]float64{"pause_frames": frames, "paused_us": paused}[base]
	}
}

// longer orders links by paused time, then by name.
func longer(a, b Link) int {
	return cmp.Or(cmp.Compare(b.PausedUS, a.PausedUS), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Peer, b.Peer))
}

// linksShown returns the links that were paused longest under any arm, each at one
// point.
func (o *Outcome) linksShown() (shown []*Link) {
	sorted := slices.Clone(o.Links)
	slices.SortStableFunc(sorted, longer)
	for i := range sorted {
		l := &sorted[i]
		if len(shown) < mostLinks && !slices.ContainsFunc(shown, l.same) {
			shown = append(shown, l)
		}
	}
	return shown
}

// same reports whether two are of one link at one point.
func (l *Link) same(m *Link) bool {
	return l.Node == m.Node && l.Peer == m.Peer && slices.Equal(l.Point, m.Point)
}

// longestPaused returns a table of the links that were paused longest under any
// arm, or nil if there are none.
func (o *Outcome) longestPaused() [][]string {
	if len(o.Links) == 0 {
		return nil
	}
	head := []string{"links paused longest, µs"}
	for _, a := range o.Arms {
		head = append(head, a.Name)
	}
	lines := [][]string{head}
	for _, l := range o.linksShown() {
		line := []string{fmt.Sprintf("%s to %s", l.Node, l.Peer)}
		if len(l.Point) > 0 {
			line[0] += ", " + o.PointText(l.Point)
		}
		for _, a := range o.Arms {
			k := slices.IndexFunc(o.Links, func(m Link) bool { return m.Arm == a.Name && m.same(l) })
			switch {
			case k >= 0 && o.Links[k].Half > 0:
				line = append(line, number(o.Links[k].PausedUS)+" ±"+number(o.Links[k].Half))
			case k >= 0:
				line = append(line, number(o.Links[k].PausedUS))
			case o.LinksLeftOut > 0:
				line = append(line, "-") // not known: left out by Slim
			default:
				line = append(line, number(0))
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// keptLink is a link at a point in KeptFormat: paused time and the half-width of its
// interval, both in µs, and PAUSE frames, by arm. Zeros at the end are left out.
type keptLink struct {
	Point []string             `json:"point,omitempty"`
	Node  string               `json:"node"`
	Peer  string               `json:"peer"`
	Arms  map[string][]float64 `json:"arms"`
}

// compactLinks gathers the links of all arms.
func compactLinks(links []Link) (list []keptLink) {
	type place struct{ node, peer, point string }
	index := make(map[place]int)
	for i := range links {
		l := &links[i]
		at := place{l.Node, l.Peer, strings.Join(l.Point, "\x00")}
		n, ok := index[at]
		if !ok {
			n, index[at] = len(list), len(list)
			list = append(list, keptLink{l.Point, l.Node, l.Peer, make(map[string][]float64)})
		}
		values := []float64{l.PausedUS, l.Half, l.Frames}
		for len(values) > 0 && values[len(values)-1] == 0 {
			values = values[:len(values)-1]
		}
		list[n].Arms[l.Arm] = values
	}
	return list
}

// links is the inverse of compactLinks, in the order of Outcome.links.
func (k *kept) links(cells []Cell) (list []Link) {
	for i := range cells {
		c, first := &cells[i], len(list)
		for _, l := range k.Links {
			if v, ok := l.Arms[c.Arm]; ok && slices.Equal(l.Point, c.Point) {
				v = append(v[:len(v):len(v)], 0, 0, 0)
				list = append(list, Link{Arm: c.Arm, Point: c.Point, Node: l.Node, Peer: l.Peer, Frames: v[2], PausedUS: v[0], Half: v[1]})
			}
		}
		slices.SortStableFunc(list[first:], longer)
	}
	return list
}

// slimLinks leaves the links of the page, without their PAUSE frames, which it does not
// show.
func (k *kept) slimLinks(o *Outcome) {
	shown := o.linksShown()
	var few []Link
	left := len(o.Links)
	for i := range o.Cells {
		c := &o.Cells[i]
		for _, s := range shown {
			if !slices.Equal(s.Point, c.Point) {
				continue
			}
			at := slices.IndexFunc(o.Links, func(l Link) bool { return l.Arm == c.Arm && l.same(s) })
			switch {
			case at >= 0:
				l := o.Links[at]
				l.Frames, l.PausedUS, l.Half = 0, roundAs(l.PausedUS), roundAs(l.Half)
				few = append(few, l)
				left--
			case o.LinksLeftOut == 0: // it was not paused
				few = append(few, Link{Arm: c.Arm, Point: c.Point, Node: s.Node, Peer: s.Peer})
			}
		}
	}
	k.Links = compactLinks(few)
	k.LinksLeftOut += left
}

// LinkSheet has a row per run and link that was paused.
func (o *Outcome) LinkSheet() *Sheet {
	columns := append(o.place(), parquet.Column{Name: "node", Type: parquet.Text}, parquet.Column{Name: "peer", Type: parquet.Text},
		parquet.Column{Name: "pause_frames", Type: parquet.Int}, parquet.Column{Name: "paused_us", Type: parquet.Double, Unit: "us"})
	var rows iter.Seq2[[]any, error] = func(yield func([]any, error) bool) {
		for i := range o.Runs {
			r := &o.Runs[i]
			for _, l := range r.Links {
				if !yield(append(o.placeOf(r.Arm, r.Point, r.Seed), l.Node, l.Peer, int64(l.Frames), l.PausedUS), nil) {
					return
				}
			}
		}
	}
	return &Sheet{columns, rows}
}
