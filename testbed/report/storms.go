// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
)

// What a page has of an explained run, and of a storm; the results file has all.
const (
	stormsOnPage = 5
	linksOnPage  = 40
	flowsOnPage  = 5
	spanWidth    = 360 // of a time line, in pixels
)

// StormRun has the storms of pauses of a run, worst first.
type StormRun struct {
	Title string
	Lead  string // all storms in a sentence
	Cut   string
	List  []StormTree
	More  int // storms left out
}

// StormTree is a storm: the paused links, each below the one that it waits for, with
// their pauses over time.
type StormTree struct {
	Text       string
	From, To   string // of the time line
	Links      []StormLink
	MoreLinks  int
	RootFlows  string
	Victims    string
	RootFlowsN int
}

// StormLink is a row.
type StormLink struct {
	Indent                  int // in pixels
	Name                    string
	Pauses                  int
	Paused, Waited, Victims string
	Packets                 int64
	Spans                   template.HTML
}

// stormRuns returns the storms of the group's runs that are explained.
func stormRuns(p *Page, g *group) (list []StormRun) {
	for _, a := range g.arms {
		for _, r := range a.runs {
			if r.Causes == nil || len(list) == maxRegTables {
				continue
			}
			s := StormRun{Title: fmt.Sprintf("%s, seed %d", p.Arms[a.arm], r.Seed), Lead: r.Causes.Sentence(), Cut: r.Causes.Cut}
			for i := range r.Causes.Storms {
				if i == stormsOnPage {
					s.More = len(r.Causes.Storms) - i
					break
				}
				s.List = append(s.List, stormTree(&r.Causes.Storms[i]))
			}
			list = append(list, s)
		}
	}
	return list
}

func stormTree(s *result.PauseStorm) StormTree {
	t := StormTree{Text: s.Sentence(), From: us(float64(s.FromNS) / 1000), To: us(float64(s.UntilNS) / 1000), MoreLinks: max(len(s.Links)-linksOnPage, 0)}
	for _, l := range s.Links[:min(len(s.Links), linksOnPage)] {
		t.Links = append(t.Links, StormLink{
			Indent: 16 * (l.Depth - 1), Name: fmt.Sprintf("%s port %d to %s", l.From, l.Port, l.To), Pauses: l.Pauses, Packets: l.Packets,
			Paused: us(l.PausedUS), Waited: us(l.WaitedUS), Victims: us(l.VictimUS), Spans: spans(s, l.SpansNS),
		})
	}
	var flows, victims []string
	for _, f := range s.RootFlows[:min(len(s.RootFlows), flowsOnPage)] {
		flows = append(flows, fmt.Sprintf("%s to %s %.0f %%", f.Src, f.Dst, 100*f.Share))
	}
	for _, f := range s.Victims[:min(len(s.Victims), flowsOnPage)] {
		victims = append(victims, fmt.Sprintf("%s to %s %s µs", f.Src, f.Dst, us(f.WaitedUS)))
	}
	t.RootFlows, t.Victims = some(flows, s.RootFlowCount), some(victims, s.VictimCount)
	return t
}

func us(x float64) string { return fmt.Sprintf("%.1f", x) }

func some(list []string, all int) string {
	text := strings.Join(list, ", ")
	if n := all - len(list); n > 0 && len(list) > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// spans draws the pauses of a link over the time of its storm.
func spans(s *result.PauseStorm, list [][2]int64) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="spans" viewBox="0 0 %d 12" width="%d" height="12" role="img" aria-label="%d pauses">`, spanWidth, spanWidth, len(list))
	scale := spanWidth / float64(max(s.UntilNS-s.FromNS, 1))
	for _, k := range list {
		x := float64(k[0]-s.FromNS) * scale
		fmt.Fprintf(&b, `<path d="M%.1f 1h%.1fv10h-%.1fz"/>`, x, max(float64(k[1]-k[0])*scale, 0.5), max(float64(k[1]-k[0])*scale, 0.5))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
