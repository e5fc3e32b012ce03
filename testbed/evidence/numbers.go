// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// A reading is a claim with a number of a paper at a scale and a point.
type reading struct {
	o      *result.Outcome
	c      *result.Judged
	answer string
}

// A number is an effect that a paper states in a figure, with its readings.
type number struct {
	source, text string
	readings     []reading
}

// numbers are those of all papers, in the order of their figures.
type numbers struct {
	d    *documents
	of   map[string][]*number          // by paper
	keys map[string]map[string]*number // by paper, and what identifies a number
}

// byChance is the remark at a difference that is not among those of its paper of which
// at most a share of falseDiscoveries is expected to be random.
const (
	byChance         = "; not significant (FDR)"
	falseDiscoveries = 0.05
)

// retained returns how many of ascending error probabilities the step-up procedure of
// Benjamini and Hochberg (1995) retains: all up to the last one below its limit.
func retained(p []float64) (n int) {
	for i, v := range p {
		if v <= falseDiscoveries*float64(i+1)/float64(len(p)) {
			n = i + 1
		}
	}
	return n
}

// numbersOfPapers finds out which differences are not significant, by paper, with the rule of
// Benjamini and Hochberg over all claims of less or more of its experiments at both
// scales that were tested, or have the opposite effect without their premise.
func (d *documents) numbersOfPapers() *numbers {
	all := make(map[string][]*result.Judged)
	for _, name := range catalog.Names() {
		s, err := exp.Load(name)
		if err != nil || s.Source == "" {
			continue // reproduction reports it
		}
		for _, scale := range []string{scenario.Small, scenario.Paper} {
			o := d.kept(name, scale)
			if o == nil {
				continue
			}
			for i := range o.Claims {
				c := &o.Claims[i]
				if key, _ := c.Claim.Relation(); key != "same" && (!c.Untested() || c.Contrary()) && !math.IsNaN(float64(c.P)) {
					all[d.paperOf(name)] = append(all[d.paperOf(name)], c)
				}
			}
		}
	}
	for _, claims := range all {
		slices.SortFunc(claims, func(a, b *result.Judged) int { return cmp.Compare(a.P, b.P) })
		p := make([]float64, len(claims))
		for i, c := range claims {
			p[i] = float64(c.P)
		}
		for _, c := range claims[retained(p):] {
			if c.Verdict == result.Holds || c.Answer() == result.Opposite || c.Contrary() {
				d.chance[c] = true
			}
		}
	}
	return &numbers{d, make(map[string][]*number), make(map[string]map[string]*number)}
}

// add adds a claim to the numbers of its paper, if it has one and its experiment repeats a
// figure.
func (n *numbers) add(of string, o *result.Outcome, c *result.Judged) {
	if !c.Claim.Paper.Given || !isFigure(o.Experiment) {
		return
	}
	key := fmt.Sprint(o.Experiment, "|", c.Text, "|", c.Claim.Paper)
	text := c.Text
	for _, axis := range slices.Sorted(maps.Keys(c.Claim.At)) {
		if axis != "reading" && axis != "nic" && c.Claim.Over != "best" {
			at := withoutNIC(c.Claim.At[axis])
			key += "|" + at
			text += ", " + axis + " " + at
		}
	}
	if n.keys[of] == nil {
		n.keys[of] = make(map[string]*number)
	}
	at := n.keys[of][key]
	if at == nil {
		at = &number{source: o.Source, text: text + whichDCQCN(o, c)}
		n.keys[of][key] = at
		n.of[of] = append(n.of[of], at)
	}
	answer := c.Answer()
	switch {
	case n.d.chance[c] && c.Contrary():
		answer = result.NotTested
	case n.d.chance[c]:
		answer = result.Inconclusive
	}
	at.readings = append(at.readings, reading{o, c, answer})
}

// withoutNIC removes the NIC from the name of a point that combines it with something else:
// papers state one number for all NICs.
func withoutNIC(point string) string {
	for _, nic := range roce.Recoveries {
		if rest, ok := strings.CutSuffix(point, ", "+string(nic)); ok {
			return rest
		}
	}
	return point
}

// answers has the answers from the best to the worst. Those that test nothing are last.
var answers = []string{result.Reproduced, result.Smaller, result.Inconclusive, result.None, result.Opposite, result.Idle, result.NotTested, result.Contrary}

// rank orders readings from the best to the worst.
func (r *reading) rank() int { return slices.Index(answers, r.answer) }

// gain returns the effect in the paper's direction.
func (r *reading) gain() float64 {
	gain := float64(r.c.Effect)
	if r.c.Claim.Paper.Change < 0 {
		gain = -gain
	}
	if math.IsNaN(gain) {
		return math.Inf(-1)
	}
	return gain
}

// ends returns the best and the worst reading of a number. The worst is one that was
// tested, if any was.
func (n *number) ends() (best, worst *reading) {
	for i := range n.readings {
		r := &n.readings[i]
		if best == nil || r.rank() < best.rank() || r.rank() == best.rank() && r.gain() > best.gain() {
			best = r
		}
		switch {
		case worst == nil, worst.c.Untested() && !r.c.Untested():
			worst = r
		case r.c.Untested() && !worst.c.Untested():
		case r.rank() > worst.rank() || r.rank() == worst.rank() && r.gain() < worst.gain():
			worst = r
		}
	}
	return best, worst
}

// table writes a line for each number of a paper.
func (n *numbers) table(of string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Numbers of the paper

Each row is a number that the paper states, with the best and the worst of our readings of its figure, over scales, NICs, and what the paper leaves open.
"Reproduced" has at least half of the paper's effect, "smaller" less, "opposite" one on the other side, and "none" has no effect although the scheme had something to act on.
"Not tested" had nothing to act on; "not tested, opposite" nevertheless has a cost.
"Idle" means that the program did nothing.

| source | number | paper | best reading | worst reading |
|---|---|---:|---|---|
`)
	for _, x := range n.of[of] {
		best, worst := x.ends()
		fmt.Fprintf(&b, "| %s | %s | %s | %s |", x.source, x.text, paperText(best.c), best.text())
		if worst == best {
			b.WriteString(" the only one |\n")
		} else {
			fmt.Fprintf(&b, " %s |\n", worst.text())
		}
	}
	return b.String()
}

// text writes a reading: its answer, effect and interval, where, and its base runs.
func (r *reading) text() string {
	text := fmt.Sprintf("**%s**: %s", r.answer, share(r.c.Effect))
	if i := interval(r.c); i != "" {
		text += " (" + i + ")"
	}
	text += fmt.Sprintf(", [%s](../results/%s.md)", r.o.File(), r.o.File())
	if r.c.Point != "" {
		text += ", " + r.c.Point
	}
	return text + "; " + circumstances(r.o, r.c)
}

// paperText returns what the paper states: an effect, or a bound.
func paperText(c *result.Judged) string {
	if x, isNumber := c.Claim.Number(); isNumber && c.Claim.Paper.Given {
		key, _ := c.Claim.Relation()
		return fmt.Sprintf("%s than %g", key, x)
	}
	return c.Claim.Paper.String()
}

// counts writes how many numbers of each paper have which answer.
func (n *numbers) counts(papers []string) string {
	var b strings.Builder
	b.WriteString("\n## Numbers of the papers\n\nA number that a paper states for a figure or table can have several readings.\nThe table counts the numbers by the answers of the best and of the worst reading that was tested; [the pages of the papers](#claims) list them.\nA number counts once for each figure, whatever NICs and scales it was repeated with; experiments that leave out or change the traffic of a figure, such as pbfs-fig5-incast, are not readings of it.\n\n| paper | numbers | reading |")
	for _, a := range answers {
		fmt.Fprintf(&b, " %s |", a)
	}
	b.WriteString("\n|---|---:|---|" + strings.Repeat("---:|", len(answers)) + "\n")
	for _, of := range papers {
		count := map[bool]map[string]int{true: {}, false: {}}
		for _, x := range n.of[of] {
			best, worst := x.ends()
			count[true][best.answer]++
			count[false][worst.answer]++
		}
		for _, isBest := range []bool{true, false} {
			name := "worst"
			if isBest {
				name = "best"
			}
			fmt.Fprintf(&b, "| [%s](reproduction/%s.md) | %d | %s |", of, strings.ToLower(of), len(n.of[of]), name)
			for _, a := range answers {
				fmt.Fprintf(&b, " %d |", count[isBest][a])
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// circumstances says what the runs of a claim's base were like.
func circumstances(o *result.Outcome, c *result.Judged) string {
	x := o.Circumstances(c)
	var parts []string
	if !math.IsNaN(x.PauseFrames) {
		parts = append(parts, fmt.Sprintf("%.0f PAUSE", x.PauseFrames))
	}
	switch {
	case x.Stalled > 0.5:
		parts = append(parts, fmt.Sprintf("most flows stall (%.0f %%)", 100*x.Stalled))
	case !math.IsNaN(x.Stalled):
		parts = append(parts, fmt.Sprintf("%.1f %% stalled", 100*x.Stalled))
	}
	if x.Unsteady > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d runs not steady", x.Unsteady, x.Runs))
	}
	return strings.Join(parts, ", ")
}

// whichDCQCN says which DCQCN the arms of a claim have that are called so.
func whichDCQCN(o *result.Outcome, c *result.Judged) string {
	var found []string
	for i := range o.Arms {
		a := &o.Arms[i]
		if (a.Name == c.Claim.With || a.Name == c.Claim.Than) && strings.Contains(a.Name, "dcqcn") && !slices.Contains(found, a.CC) {
			found = append(found, a.CC)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return " (DCQCN: `" + strings.Join(found, "`, `") + "`)"
}
