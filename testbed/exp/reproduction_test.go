// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/testbed/result"
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
	{"RLB table I", "", "tofino.md"},
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
	{"PCN table 3", "", ""},
	{"PCN 20", "", ""},
	{"PCN 21b", "pcn-fig21b", ""},
	{"PB-FS 5", "pbfs-fig5", ""},
	{"PB-FS section V-B", "pbfs-fig5", ""},
	{"PB-FS 6a", "", ""},
	{"PB-FS 6b", "", ""},
	{"PB-FS 7", "pbfs-fig7", ""},
	{"PB-FS 8", "pbfs-fig8", ""},
	{"PB-FS section V-C", "pbfs-fig8", ""},
}

// docs/reproduction.md has a row for each figure and table of the papers, and
// one for each claim about it, made from what docs/results keeps. A cause is
// named where an experiment shows it.
func TestReproductionSaysWhatCameOut(t *testing.T) {
	type tally struct{ holds, refuted, open int }
	tallies := make(map[string]tally)
	var claims strings.Builder
	for _, name := range Names() {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Source == "" {
			continue
		}
		o := kept(t, name)
		if o == nil {
			continue
		}
		var n tally
		for _, c := range o.Claims {
			switch c.Verdict {
			case result.Holds:
				n.holds++
			case result.Refuted:
				n.refuted++
			default:
				n.open++
			}
			text := c.Text
			if c.Point != "" {
				text += ", " + c.Point
			}
			if c.Claim.Note != "" {
				text += " (" + c.Claim.Note + ")"
			}
			verdict := c.Verdict
			if c.Why != "" {
				verdict += ": " + c.Why
			}
			fmt.Fprintf(&claims, "| [%s](results/%s.md) | %s | %s | %s | %s | %d | %s | %s |\n", name, name, text, c.Claim.Paper, share(c.Effect), interval(c), c.Seeds, verdict, cause(name, o, &c))
		}
		tallies[name] = n
	}

	var b strings.Builder
	fmt.Fprint(&b, `# What the papers show, and what came out here

All runs are of the small scale: an experiment's file says what was shrunk, and how the paper was read where it is silent.
Nothing is tuned by figure. A claim that a paper makes and our result refutes stands here as refuted.

## Figures and tables

| paper, figure | experiment | claims that hold | refuted | inconclusive |
|---|---|---:|---:|---:|
`)
	run := 0
	for _, l := range lines {
		switch {
		case l.page != "":
			fmt.Fprintf(&b, "| %s | [%s](%s) | | | |\n", l.figure, strings.TrimPrefix(l.page, "../"), l.page)
			if _, err := os.Stat(filepath.Join("../../docs", l.page)); err != nil {
				t.Error(err)
			}
		case l.experiments == "":
			fmt.Fprintf(&b, "| %s | not run | | | |\n", l.figure)
		default:
			run++
			for _, name := range strings.Fields(l.experiments) {
				n, ok := tallies[name]
				if !ok {
					t.Errorf("%s: there is no experiment %s with results", l.figure, name)
				}
				fmt.Fprintf(&b, "| %s | [%s](results/%s.md) | %d | %d | %d |\n", l.figure, name, name, n.holds, n.refuted, n.open)
			}
		}
	}
	fmt.Fprint(&b, `
## Claims

A row for each claim: the effect that the paper states, ours with its 95 % interval, paired by seed, and the verdict. The last
column has the cause where an experiment shows it; "not known" is said of claims with an effect in the paper that do not hold here.

| experiment | claim | paper | here | 95 % interval | seeds | verdict | cause |
|---|---|---:|---:|---:|---:|---|---|
`)
	b.WriteString(claims.String())
	golden.Check(t, "../../docs/reproduction.md", []byte(b.String()))
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d of\nthe %d figures and tables", run, len(lines)); !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not say %q", want)
	}
}

// kept returns the outcome that docs/results keeps of an experiment.
func kept(t *testing.T, name string) *result.Outcome {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(results, name+".json"))
	if err != nil {
		t.Errorf("%v; run `pauseless exp run %s --keep docs/results`", err, name)
		return nil
	}
	var o result.Outcome
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &o
}

// shown are causes that an experiment of their own shows: why claims about a
// metric do not hold. All claims of that experiment must.
var shown = []struct{ experiment, metric, by, cause string }{
	{"pcn-fig17", "jain", "pcn-fig17-period", "the time between two reports, in which a flow at its fair share has one packet"},
}

func TestCausesAreShown(t *testing.T) {
	for _, s := range shown {
		for _, c := range kept(t, s.by).Claims {
			if c.Verdict != result.Holds {
				t.Errorf("%s is named as the cause of %s, but %q is %s", s.by, s.experiment, c.Text, c.Verdict)
			}
		}
	}
}

// cause says why a claim does not hold, as far as an experiment shows it. One
// that does not hold with go-back-N, and does if nothing but that is changed,
// shows it by itself.
func cause(name string, o *result.Outcome, c *result.Judged) string {
	if c.Verdict == result.Holds {
		return ""
	}
	if other := strings.Replace(c.Point, "go-back-n", "out-of-order", 1); other != c.Point {
		for _, d := range o.Claims {
			if d.Text == c.Text && d.Point == other && d.Verdict == result.Holds {
				return "go-back-N: it holds with hosts that place packets out of order"
			}
		}
	}
	_, metric := c.Claim.Relation()
	for _, s := range shown {
		if s.experiment == name && s.metric == metric {
			return fmt.Sprintf("%s: [%s](results/%s.md)", s.cause, s.by, s.by)
		}
	}
	if c.Claim.Paper == (result.Effect{}) {
		return ""
	}
	return "not known"
}

// share writes a change.
func share(x result.Num) string {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*float64(x))
}

func interval(c result.Judged) string {
	low, high := share(c.Low), share(c.High)
	if low == "" || high == "" {
		return ""
	}
	return low + " to " + high
}
