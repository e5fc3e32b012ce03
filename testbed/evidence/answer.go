// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// answerTable matches the generated table of docs/answer.md.
var answerTable = regexp.MustCompile(`(?s)<!-- answer -->\n.*?<!-- end -->`)

// pairs are the comparisons of docs/answer.md: a scheme, and what it is compared with.
var pairs = []struct{ with, than, title, colour string }{
	{"rlb-drill", "drill", "RLB over DRILL", "#1f77b4"},
	{"rlb-presto", "presto", "RLB over Presto", "#9467bd"},
	{"rlb-letflow", "letflow", "RLB over LetFlow", "#2ca02c"},
	{"rlb-hermes", "hermes", "RLB over Hermes", "#7f7f7f"},
	{"clb", "conga", "CLB, than CONGA", "#ff7f0e"},
	{"plb", "ecmp", "PLB, than ECMP", "#d62728"},
}

// papersNumbers are the main numbers of papers that the picture of docs/answer.md shows:
// the claim, and its metric in few words.
var papersNumbers = []struct{ experiment, metric, with, than, title, colour string }{
	{"rlb-fig12", "p99_fct_us", "rlb-drill", "drill", "RLB: p99 FCT", pairs[0].colour},
	{"clb-fig9", "avg_cct_us", "clb", "conga", "CLB: coflows", pairs[4].colour},
	{"plb-fig7-webserver", "avg_fct_us", "plb", "conga", "PLB: FCT", pairs[5].colour},
}

// answer writes the table and the picture of docs/answer.md: the change of average
// slowdown by the share of paths that are paused downstream, from rlb-paused.
func (d *documents) answer() {
	const page = "docs/answer.md"
	o := d.best("rlb-paused")
	if o == nil {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- answer -->\n%s, %d runs per point:\n\n", where(o), len(o.Cells[0].Seeds))
	b.WriteString("| paused paths | NIC | PAUSE at spines, stalled flows | DRILL, than with go-back-n |")
	for _, p := range pairs {
		fmt.Fprintf(&b, " %s |", p.title)
	}
	b.WriteString("\n|---|---|---:|---:|" + strings.Repeat("---:|", len(pairs)) + "\n")
	for _, k := range o.Axes[0].Values {
		for _, nic := range []string{"go-back-n", "out-of-order"} {
			point := []string{k.Text, nic}
			at := slices.IndexFunc(o.Cells, func(c result.Cell) bool { return c.Arm == "drill" && slices.Equal(c.Point, point) })
			if at < 0 {
				d.problem("rlb-paused has no cell of drill at %v", point)
				return
			}
			base, alone := o.Cells[at].Mean, "–"
			if change := nicAlone(o, k.Text); nic != "go-back-n" && !math.IsNaN(change) {
				alone = share(result.Num(change))
			}
			fmt.Fprintf(&b, "| %s | %s | %.0f, %.0f | %s |", k.Text, nic, float64(base["pause_frames.spine"]), float64(base["stalled_flows"]), alone)
			for _, p := range pairs {
				c := d.pair(o, p.with, p.than, point)
				if c == nil {
					return
				}
				fmt.Fprintf(&b, " %s |", effect(c))
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("<!-- end -->")
	text := answerTable.ReplaceAllLiteral(d.page(page), []byte(b.String()))
	text = mark.ReplaceAllFunc(text, func(old []byte) []byte { return d.number(page, old) })
	text = effectMark.ReplaceAllFunc(text, func(old []byte) []byte { return d.effect(page, old) })
	d.files[page] = valueMark.ReplaceAllFunc(text, func(old []byte) []byte { return d.value(page, old) })
	d.files["docs/pictures/paused.svg"] = d.pausedPicture(o)
}

// nicAlone returns the change of DRILL's average slowdown by NICs that accept packets out of
// order, without any scheme; NaN if it is not known.
func nicAlone(o *result.Outcome, paused string) float64 {
	mean := [2]float64{math.NaN(), math.NaN()}
	for i, nic := range []string{"go-back-n", "out-of-order"} {
		for _, c := range o.Cells {
			if c.Arm == "drill" && slices.Equal(c.Point, []string{paused, nic}) {
				mean[i] = float64(c.Mean["avg_slowdown"])
			}
		}
	}
	return mean[1]/mean[0] - 1
}

// enough is the number of runs from which an outcome at the paper's scale is shown instead
// of that at the small scale.
const enough = 3

// best returns the outcome of an experiment at the paper's scale, if there is one with
// enough runs, otherwise that at the small scale.
func (d *documents) best(experiment string) *result.Outcome {
	if o := d.kept(experiment, scenario.Paper); o != nil && !slices.ContainsFunc(o.Cells, func(c result.Cell) bool { return len(c.Seeds) < enough }) {
		return o
	}
	return d.kept(experiment, scenario.Small)
}

// where names an outcome's scale with a link to its page.
func where(o *result.Outcome) string {
	scale := "small scale"
	if o.Scale == scenario.Paper {
		scale = "the paper's scale"
	}
	return fmt.Sprintf("[%s](results/%s.md)", scale, o.File())
}

// effectMark matches the effect of a claim with its interval and what its base runs were
// like: the experiment, the metric, the two arms, text that the point has, and that at the
// paper's scale if that is another one. With r it is the main number of a paper, and
// what came of it. Small instead of a point at the paper's scale keeps the small one.
var effectMark = marks(`<!--([cr]) ([^>]+?) :: ([^>]+?) :: ([^>]+?) :: ([^>]+?) :: ([^>]*?)(?: :: ([^>]*?))?-->.*?<!--/[cr]-->`)

// effect fills a mark of effectMark, with the outcome at the paper's scale if there is one.
func (d *documents) effect(page string, old []byte) []byte {
	m := effectMark.FindSubmatch(old)
	o, point := d.best(string(m[2])), string(m[6])
	if string(m[7]) == scenario.Small {
		o = d.kept(string(m[2]), scenario.Small)
	}
	if o == nil {
		return old
	}
	if len(m[7]) > 0 && o.Scale == scenario.Paper {
		point = string(m[7])
	}
	i := slices.IndexFunc(o.Claims, func(c result.Judged) bool {
		_, metric := c.Claim.Relation()
		return metric == string(m[3]) && c.Claim.With == string(m[4]) && c.Claim.Than == string(m[5]) && strings.Contains(c.Point, point)
	})
	if i < 0 {
		d.problem("%s: %s has no claim of %s with %s and %s at %q", page, o.File(), m[3], m[4], m[5], point)
		return old
	}
	c := &o.Claims[i]
	text := share(c.Effect)
	if r := interval(c); r != "" {
		text += " (" + r + ")"
	}
	if string(m[1]) == "r" {
		answer := c.Answer()
		if d.chance[c] && !c.Contrary() {
			answer = result.Inconclusive
		}
		text = fmt.Sprintf("%s; measured %s: **%s**", paperText(c), text, strings.Replace(answer, result.None, "not reproduced", 1))
	}
	if x := circumstances(o, c); x != "" {
		text += "; " + x
	}
	begin, _, _ := strings.Cut(string(old), "-->")
	return fmt.Appendf(nil, "%s-->%s, %s<!--/%s-->", begin, text, where(o), m[1])
}

// rowsTable matches the five rows of docs/answer.md that README.md repeats.
var rowsTable = regexp.MustCompile(`(?s)<!-- rows -->\n(.*?)<!-- end -->`)

// beside matches what stands beside a number in docs/answer.md: pauses, stalled flows, and
// the outcome.
var beside = regexp.MustCompile(`; \d+ PAUSE,[^|;]*?\[[^\]]*\]\([^)]*\)`)

// measured matches the measured value of a paper's main number: its effect, and the interval.
var measured = regexp.MustCompile(`; measured ([^ ]+ %) \([^)]*\)`)

// readme writes the rows of docs/answer.md into README.md: when to use a design, by how much
// it is better in the comparison before the first semicolon, and the main number of its
// paper without the interval; and nothing of what stands beside the numbers.
func (d *documents) readme() {
	rows := rowsTable.FindSubmatch(d.page("docs/answer.md"))
	old := d.page("README.md")
	if rows == nil || !rowsTable.Match(old) {
		d.problem("docs/answer.md and README.md each need the lines <!-- rows --> and <!-- end -->")
		return
	}
	text := regexp.MustCompile(`<!--.*?-->`).ReplaceAllString(string(rows[1]), "")
	text = strings.NewReplacer("](../", "](", "](results/", "](docs/results/").Replace(beside.ReplaceAllString(text, ""))
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if cells := strings.Split(line, "|"); len(cells) == 8 {
			cells = slices.Delete(cells, 4, 6)
			if gain, _, more := strings.Cut(cells[3], ";"); more {
				cells[3] = gain + " "
			}
			if _, design, linked := strings.Cut(cells[1], "["); linked { // the table above links to it
				design, _, _ = strings.Cut(design, "]")
				cells[1] = " " + design + " "
			}
			cells[4] = measured.ReplaceAllString(cells[4], ", measured $1")
			lines[i] = strings.Join(cells, "|")
		}
	}
	text = strings.Join(lines, "\n") + "\n"
	d.files["README.md"] = rowsTable.ReplaceAllLiteral(old, []byte("<!-- rows -->\n"+text+"<!-- end -->"))
}

// pair returns the claim about average slowdown of two arms at a point.
func (d *documents) pair(o *result.Outcome, with, than string, point []string) *result.Judged {
	text := (&result.Claim{Less: "avg_slowdown", With: with, Than: than}).Sentence()
	c := claimOf(o, text, o.PointText(point))
	if c == nil {
		d.problem("rlb-paused has no claim %q at %s", text, o.PointText(point))
	}
	return c
}

// The picture of docs/answer.md: its plot is from left to right and from top to bottom,
// and shows changes from least to most, in percent.
const (
	plotLeft, plotRight, plotTop, plotBottom = 70, 560, 24, 330
	plotLeast, plotMost                      = -80.0, 20.0
)

// pausedPicture draws the change of average slowdown over the paused paths: a line for
// each pair, solid with NICs that accept packets out of order, dashed with go-back-N; what
// these NICs alone bring to DRILL; and at the right the main numbers of papers.
func (d *documents) pausedPicture(o *result.Outcome) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 390" font-family="sans-serif" font-size="12">
<!-- SPDX-License-Identifier: Apache-2.0; made by pauseless exp docs -->
<title>Change of average slowdown by the number of paths that are paused downstream</title>
<rect width="760" height="390" fill="white"/>
`)
	y := func(percent float64) float64 {
		percent = min(max(percent, plotLeast), plotMost)
		return plotTop + (plotMost-percent)/(plotMost-plotLeast)*(plotBottom-plotTop)
	}
	values := o.Axes[0].Values
	x := func(i int) float64 { return plotLeft + 20 + float64(i)/float64(len(values)-1)*(plotRight-plotLeft-40) }
	for p := plotLeast; p <= plotMost; p += 20 {
		colour := "#ddd"
		if p == 0 {
			colour = "#444"
		}
		fmt.Fprintf(&b, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%+.0f %%</text>\n", plotLeft, y(p), plotRight, y(p), colour, plotLeft-8, y(p)+4, p)
	}
	for i, v := range values {
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x(i), plotBottom+20, v.Text)
	}
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">paths paused downstream</text>\n", (plotLeft+plotRight)/2, plotBottom+42)
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"14\">change of average slowdown; bars: 95 %% interval</text>\n", plotLeft)
	for k, p := range pairs {
		for _, style := range []struct{ nic, dash string }{{"out-of-order", ""}, {"go-back-n", " stroke-dasharray=\"5 4\""}} {
			var line strings.Builder
			for i, v := range values {
				c := d.pair(o, p.with, p.than, []string{v.Text, style.nic})
				if c == nil || math.IsNaN(float64(c.Effect)) {
					continue
				}
				at := x(i) + 3*(float64(k)-2.5)
				fmt.Fprintf(&line, " %.1f,%.1f", at, y(100*float64(c.Effect)))
				if style.dash == "" {
					fmt.Fprintf(&b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-opacity=\"0.5\"/>\n", at, y(100*float64(c.Low)), at, y(100*float64(c.High)), p.colour)
				}
			}
			fmt.Fprintf(&b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s/>\n", strings.TrimSpace(line.String()), p.colour, style.dash)
		}
		top := plotTop + 10 + 22*k
		fmt.Fprintf(&b, "<line x1=\"580\" y1=\"%d\" x2=\"604\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\"/><text x=\"612\" y=\"%d\">%s</text>\n", top, top, p.colour, top+4, p.title)
	}
	for i, s := range []struct{ dash, text string }{{"", "out-of-order NIC"}, {" stroke-dasharray=\"5 4\"", "go-back-N NIC"}} {
		top := plotTop + 160 + 22*i
		fmt.Fprintf(&b, "<line x1=\"580\" y1=\"%d\" x2=\"604\" y2=\"%d\" stroke=\"#444\" stroke-width=\"2\"%s/><text x=\"612\" y=\"%d\">%s</text>\n", top, top, s.dash, top+4, s.text)
	}
	var line strings.Builder
	for i, v := range values {
		if change := nicAlone(o, v.Text); !math.IsNaN(change) {
			fmt.Fprintf(&line, " %.1f,%.1f", x(i), y(100*change))
		}
	}
	top := plotTop + 204
	fmt.Fprintf(&b, "<polyline points=\"%s\" fill=\"none\" stroke=\"black\" stroke-width=\"2\" stroke-dasharray=\"1 4\"/>\n", strings.TrimSpace(line.String()))
	fmt.Fprintf(&b, "<line x1=\"580\" y1=\"%d\" x2=\"604\" y2=\"%d\" stroke=\"black\" stroke-width=\"2\" stroke-dasharray=\"1 4\"/><text x=\"612\" y=\"%d\">DRILL: out-of-order</text><text x=\"612\" y=\"%d\">instead of go-back-N</text>\n", top, top, top+4, top+20)
	fmt.Fprintf(&b, "<text x=\"580\" y=\"%d\">main numbers of papers:</text>\n", top+50)
	for i, n := range papersNumbers {
		outcome := d.best(n.experiment)
		if outcome == nil {
			continue
		}
		k := slices.IndexFunc(outcome.Claims, func(c result.Judged) bool {
			_, metric := c.Claim.Relation()
			return metric == n.metric && c.Claim.With == n.with && c.Claim.Than == n.than && !c.Claim.Paper.IsZero()
		})
		if k < 0 {
			d.problem("%s has no claim of %s with %s and %s and a paper's number", outcome.File(), n.metric, n.with, n.than)
			continue
		}
		percent := 100 * outcome.Claims[k].Claim.Paper.Change
		for _, at := range [][2]float64{{plotRight, y(percent)}, {592, float64(top + 68 + 20*i)}} {
			fmt.Fprintf(&b, "<path d=\"M%.1f %.1fl6 6l-6 6l-6 -6z\" fill=\"%s\"/>\n", at[0], at[1]-6, n.colour)
		}
		fmt.Fprintf(&b, "<text x=\"612\" y=\"%d\">%s %+.0f %%</text>\n", top+72+20*i, n.title, percent)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
