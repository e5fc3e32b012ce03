// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// lines are the figures and tables of the five papers, each with the
// experiments that repeat it, or the page that answers it.
var lines = []struct{ figure, experiments, page string }{
	{"PLB 2", "plb-fig2", ""},
	{"PLB 3", "plb-fig3", ""},
	{"PLB 4", "plb-fig4", ""},
	{"PLB 5", "plb-fig5", ""},
	{"PLB 7, Web Server", "plb-fig7-webserver", ""},
	{"PLB 7, Data Mining", "plb-fig7-datamining", ""},
	{"CLB 4", "clb-fig4", ""},
	{"CLB 7a", "clb-fig7", ""},
	{"CLB 7b", "clb-fig7", ""},
	{"CLB 9a", "clb-fig9", ""},
	{"CLB 9b", "clb-fig9", ""},
	{"CLB 10a", "clb-fig10", ""},
	{"CLB 10b", "clb-fig10", ""},
	{"CLB 11a", "clb-fig11", ""},
	{"CLB 11b", "clb-fig11", ""},
	{"RLB 3a", "rlb-fig3", ""},
	{"RLB 3b", "rlb-fig3", ""},
	{"RLB 3c and d", "rlb-fig3", ""},
	{"RLB 4a", "rlb-fig4a", ""},
	{"RLB 4b", "rlb-fig4b", ""},
	{"RLB 7", "rlb-fig7", ""},
	{"RLB table I", "", "results/tofino.md"},
	{"RLB 10", "rlb-fig10", ""},
	{"RLB 11", "rlb-fig11", ""},
	{"RLB 12", "rlb-fig12", ""},
	{"RLB 13, Web Server", "rlb-fig13-webserver", ""},
	{"RLB 13, Cache Follower", "rlb-fig13-cachefollower", ""},
	{"RLB 13, Web Search", "rlb-fig13-websearch", ""},
	{"RLB 13, Data Mining", "rlb-fig13-datamining", ""},
	{"RLB 14", "rlb-fig14", ""},
	{"RLB 15", "rlb-fig15", ""},
	{"RLB 16", "rlb-fig16", ""},
	{"RLB 17a", "rlb-fig17a", ""},
	{"RLB 17b", "rlb-fig17b", ""},
	{"RLB 18", "rlb-fig18", ""},
	{"RLB section VI, summary", "rlb-text", ""},
	{"PCN 2a", "pcn-fig2", ""},
	{"PCN 2b", "pcn-fig2", ""},
	{"PCN 3", "pcn-fig2", ""},
	{"PCN 5", "pcn-fig5", ""},
	{"PCN 10", "", "fabric.md"},
	{"PCN 11", "pcn-fig11", ""},
	{"PCN 12", "pcn-fig12", ""},
	{"PCN 13", "pcn-fig13", ""},
	{"PCN table 1", "", "../testbed/workload/data"},
	{"PCN 14a, W1", "pcn-fig14-w1", ""},
	{"PCN 14b, W1", "pcn-fig14-w1", ""},
	{"PCN 14c, W1", "pcn-fig14-w1", ""},
	{"PCN 14, W2", "pcn-fig14-w2", ""},
	{"PCN abstract", "pcn-abstract", ""},
	{"PCN 17", "pcn-fig17", ""},
	{"PCN 18", "pcn-fig18", ""},
	{"PCN 19b", "pcn-fig19b", ""},
	{"PCN table 3", "pcn-table3", ""},
	{"PCN 20", "pcn-table3", ""},
	{"PCN 21b", "pcn-fig21b", ""},
	{"PB-FS 5", "pbfs-fig5", ""},
	{"PB-FS section V-B", "pbfs-fig5", ""},
	{"PB-FS 6a", "pbfs-fig6", ""},
	{"PB-FS 6b", "pbfs-fig6", ""},
	{"PB-FS 7", "pbfs-fig7", ""},
	{"PB-FS 8", "pbfs-fig8", ""},
	{"PB-FS section V-C", "pbfs-fig8", ""},
}

// paperHead is the beginning of the page of a paper.
const paperHead = `# %s: claims and results

[reproduction.md](../reproduction.md#claims) explains the words, and has the figures and the numbers of claims of all papers.

%s
## Claims

The page of an outcome has a line for each claim, with its interval, what its base runs were like, the verdict, and the cause as far as an experiment shows it.
How many of them hold, are not reproduced, are open, and are not tested:

| outcome | about | source | hold | not reproduced | open | not tested |
|---|---|---|---:|---:|---:|---:|
`

// reproduction writes docs/reproduction.md, which has a row for each figure and table
// of the papers, and the page of each paper, which has one for each of its numbers and
// for each outcome, made from what docs/results keeps. The pages of outcomes get the causes
// of what came out where an experiment shows them.
func (d *documents) reproduction() {
	tallies := make(map[string]tally)           // by file
	claims := make(map[string]*strings.Builder) // by paper
	var causes struct{ shown, open, unknown int }
	var gains struct{ near, more, shown, unknown int } // of figures' claims with an effect in the paper that hold
	sums := make(map[string]*[4]tally)                 // of claims, by paper: see column
	var papers []string                                // in the order of the experiments
	numbers := d.numbersOfPapers()
	for _, name := range catalog.Names() {
		s, err := exp.Load(name)
		if err != nil {
			d.problem("%w", err)
			continue
		}
		if s.Source == "" {
			continue
		}
		small, paper := d.kept(name, scenario.Small), d.kept(name, scenario.Paper)
		of := d.paperOf(name)
		if sums[of] == nil {
			sums[of] = new([4]tally)
			papers, claims[of] = append(papers, of), new(strings.Builder)
		} else if papers[len(papers)-1] != of {
			d.problem("%s is not beside the other experiments of its paper", name)
		}
		for _, o := range []*result.Outcome{small, paper} {
			if o == nil {
				continue
			}
			other := paper
			if o == paper {
				other = nil
			}
			var n tally
			notes := make([]result.ClaimNote, len(o.Claims))
			for i := range o.Claims {
				n.add(&o.Claims[i])
				numbers.add(of, o, &o.Claims[i])
				sums[of][column(o.Claims[i].Claim.Paper.Given, o == paper)].add(&o.Claims[i])
				notes[i] = d.note(o, other, &o.Claims[i])
				switch why := notes[i].Cause; {
				case !o.Claims[i].Claim.Paper.Given, o.Claims[i].Untested():
				case o.Claims[i].Verdict == result.Holds && !isFigure(name):
				case o.Claims[i].Verdict == result.Holds && strings.Contains(why, notKnown):
					gains.unknown++
				case o.Claims[i].Verdict == result.Holds && why != "":
					gains.shown++
				case o.Claims[i].Verdict == result.Holds && o.Claims[i].Near():
					gains.near++
				case o.Claims[i].Verdict == result.Holds:
					gains.more++
				case strings.Contains(why, notKnown):
					causes.unknown++
				case why == openWithPaper:
					causes.open++
				default:
					causes.shown++
				}
			}
			tallies[o.File()] = n
			d.resultsPage(o, notes)
			fmt.Fprintf(claims[of], "| [%s](../results/%s.md) | %s | %s | %d | %d | %d | %d |\n", o.File(), o.File(), o.Summary, o.Source, n.holds, n.refuted, n.open, n.untested)
		}
	}

	var b strings.Builder
	fmt.Fprint(&b, `# Which claims of the papers are reproduced

An experiment has two scales: small, and the paper's.
Its file explains what is smaller at the small scale, and how the paper was interpreted where it states no value.
No parameter is tuned for a single figure.
"Not reproduced" is a statement about these runs, not about the authors' own measurement.

## By paper

The table counts claims by verdict ([rules](reference/statistics.md)):

- hold;
- not reproduced: the interval lies on the other side of no effect, or excludes [every gain that counts](reference/statistics.md#verdicts);
- open: inconclusive;
- not tested: the premise of the claim is absent, or the scheme did nothing (idle).

"With a number" are claims whose effect the paper states as a number; a claim can hold although its effect is smaller than in the paper.
"Others" are the papers' claims without a number, and our own, most of them about causes.

| paper | scale | with a number: hold | not reproduced | open | not tested | others: hold | not reproduced | open | not tested |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
`)
	for _, of := range papers {
		for i, scale := range []string{"small", "the paper's"} {
			fmt.Fprintf(&b, "| [%s](reproduction/%s.md) | %s |", of, strings.ToLower(of), scale)
			for _, n := range sums[of][2*i : 2*i+2] {
				fmt.Fprintf(&b, " %d | %d | %d | %d |", n.holds, n.refuted, n.open, n.untested)
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString(numbers.counts(papers))
	fmt.Fprint(&b, `
## Figures and tables

The numbers of claims of each experiment that hold, are not reproduced, are open, and are not tested, at the two scales.
Figures that one experiment repeats have the same numbers.

| paper, figure | small scale | hold | not reproduced | open | not tested | paper's scale | hold | not reproduced | open | not tested |
|---|---|---:|---:|---:|---:|---|---:|---:|---:|---:|
`)
	run, full := 0, 0
	for _, l := range lines {
		switch {
		case l.page != "":
			fmt.Fprintf(&b, "| %s | [%s](%s) | | | | | | | | | |\n", l.figure, strings.TrimPrefix(l.page, "../"), l.page)
			if _, err := os.Stat(filepath.Join(d.root, "docs", l.page)); err != nil {
				d.problem("%w", err)
			}
		case l.experiments == "":
			fmt.Fprintf(&b, "| %s | not run | | | | | | | | | |\n", l.figure)
		default:
			run++
			fmt.Fprintf(&b, "| %s |", l.figure)
			for _, scale := range []string{scenario.Small, scenario.Paper} {
				file := (&result.Outcome{Experiment: l.experiments, Scale: scale}).File()
				switch n, ok := tallies[file]; {
				case ok:
					fmt.Fprintf(&b, " [%s](results/%s.md)", file, file)
					fmt.Fprintf(&b, " | %d | %d | %d | %d |", n.holds, n.refuted, n.open, n.untested)
					if scale == scenario.Paper {
						full++
					}
				case scale == scenario.Small:
					d.problem("%s: there is no experiment %s with results", l.figure, l.experiments)
				default:
					fmt.Fprint(&b, " not run | | | | |")
				}
			}
			b.WriteByte('\n')
		}
	}
	scaled := "all"
	if full < run {
		scaled = strconv.Itoa(full)
	}
	fmt.Fprintf(&b, "\nOf %d figures and tables, %d are experiments, %s of them also at the papers' scale.\nThe others are on the linked pages.\n", len(lines), run, scaled)
	if len(d.lacking) > 0 {
		fmt.Fprintf(&b, "\n%d outcomes have claims that further runs may decide: `pauseless exp run NAME --earlier docs/results` adds them, as many as the file allows.\n", len(d.lacking))
	}
	var pages []string
	for _, of := range papers {
		pages = append(pages, fmt.Sprintf("[%s](reproduction/%s.md)", of, strings.ToLower(of)))
		d.files["docs/reproduction/"+strings.ToLower(of)+".md"] = []byte(fmt.Sprintf(paperHead, of, numbers.table(of)) + claims[of].String())
	}
	fmt.Fprintf(&b, `
## Claims

The page of a paper has its numbers and its outcomes: %s.
The page of an outcome has a line for each claim, with the effect that the paper states, ours with its 95 %% interval (of paired runs), and the verdict.

- A claim that has several points is written once, before the first.
- Effects are changes relative to the scheme after "than".
  A change of less than 0.05 %% is printed as 0.0 %%.
- "Base runs" are the PAUSE frames per run of the scheme after "than", the share of its measured flows that were paused at least once, and how many runs of both were not in a steady state.
- "Not significant (FDR)" marks differences that the procedure of Benjamini and Hochberg does not retain at a false discovery rate of 5 %% for each paper.
- The column "cause" has the cause, if an experiment shows it that has the same traffic and scale and differs in nothing else.
  "Not known" is for claims with an effect in the paper that do not hold, or hold with an effect that is smaller by more than 10 points.
- If a verdict is open, the column states whether the interval contains the paper's effect; this is not a cause.

| claims with an effect in the paper | number |
|---|---:|
| do not hold, and an experiment shows the cause | %d |
| open, with the paper's effect in the interval | %d |
| do not hold, cause not known | %d |
| hold in the figures' own experiments, with the paper's effect in the interval or within 10 points of it | %d |
| hold, with a larger effect | %d |
| hold, with a smaller effect | %d |
| hold, with a smaller effect, and an experiment shows the cause | %d |
`, strings.Join(pages, ", "), causes.shown, causes.open, causes.unknown, gains.near, gains.more, gains.shown+gains.unknown, gains.shown)
	d.files["docs/reproduction.md"] = []byte(b.String())
	words := strings.Join(strings.Fields(string(d.page("README.md"))), " ")
	if scaled == "all" {
		scaled += " " + strconv.Itoa(run)
	}
	if want := fmt.Sprintf("%d of the %d figures and tables of the five papers are experiments, %s also at the papers' scale", run, len(lines), scaled); !strings.Contains(words, want) {
		d.problem("README.md does not say %q", want)
	}
}

// paperOf returns the paper that an experiment is about, as lines name it.
func (d *documents) paperOf(experiment string) string {
	prefix, _, _ := strings.Cut(experiment, "-")
	of, ok := map[string]string{"plb": "PLB", "clb": "CLB", "rlb": "RLB", "pcn": "PCN", "pbfs": "PB-FS"}[prefix]
	if !ok {
		d.problem("experiment %s has a key source, so it should repeat a figure of one of the papers in lines, and its name begin with that paper; "+
			"an experiment about another paper has no source, and its scheme's page has <!-- results: %s --> and <!-- end -->", experiment, experiment)
	}
	return of
}

// column returns the place of a claim among the sums of its paper.
func column(number, full bool) int {
	k := 0
	if !number {
		k = 1
	}
	if full {
		k += 2
	}
	return k
}

// tally counts verdicts.
type tally struct {
	holds, refuted, open, untested int
}

func (n *tally) add(c *result.Judged) {
	switch {
	case c.Verdict == result.Holds:
		n.holds++
	case c.Verdict == result.Refuted:
		n.refuted++
	case c.Untested():
		n.untested++
	default:
		n.open++
	}
}

// note returns what the page of an outcome says about a claim of a paper.
func (d *documents) note(o, paper *result.Outcome, c *result.Judged) result.ClaimNote {
	n := result.ClaimNote{Of: whichDCQCN(o, c), Base: circumstances(o, c), Cause: d.cause(o, paper, c)}
	if c.Claim.Note != "" {
		n.Of = " (" + c.Claim.Note + ")" + n.Of
	}
	if d.chance[c] {
		n.Verdict = byChance
	}
	return n
}

// share writes a change.
func share(x result.Num) string {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return ""
	}
	return result.Effect{Change: float64(x), Given: true}.String()
}

// effect returns a change with its interval, which few runs may not have.
func effect(c *result.Judged) string {
	if i := interval(c); i != "" {
		return fmt.Sprintf("%s (%s)", share(c.Effect), i)
	}
	return share(c.Effect) + " (too few runs for an interval)"
}

func interval(c *result.Judged) string {
	low, high := share(max(c.Low, -1)), share(max(c.High, -1))
	if low == "" || high == "" || c.Deterministic() {
		return ""
	}
	return low + " to " + high
}
