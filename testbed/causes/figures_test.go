// SPDX-License-Identifier: Apache-2.0

package causes_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// figures are what the table of docs/pauses.md is about: an arm of a figure at a point,
// and the part of the traffic that the figure measures, 0: all.
var figures = []struct {
	text, experiment, arm, point string
	part                         int
}{
	{"RLB, 3", "rlb-fig3", "drill", "go-back-n", 1},
	{"RLB, 3, one path paused", "rlb-fig3-victims", "drill", "", 1},
	{"", "rlb-fig3-victims", "rlb-drill", "", 1},
	{"", "rlb-fig3-victims", "letflow", "", 1},
	{"", "rlb-fig3-victims", "presto", "", 1},
	{"CLB, 9", "clb-fig9", "conga", "400ns, 30", 0},
	{"", "clb-fig9", "clb", "400ns, 30", 0},
	{"CLB, 9, with other traffic", "clb-fig9-mixed", "conga", "", 1},
	{"", "clb-fig9-mixed", "clb", "", 1},
	{"CLB, 11", "clb-fig11", "conga", "30", 0},
	{"", "clb-fig11", "clb", "30", 0},
	{"PLB, 2", "plb-fig2", "drill", "go-back-n", 1},
	{"", "plb-fig2", "plb", "go-back-n", 1},
	{"PCN, 2 and 3", "pcn-fig2", "pfc", "", 0},
	{"", "pcn-fig2", "dcqcn", "", 0},
	{"", "pcn-fig2", "qcn", "", 0},
	{"", "pcn-fig2", "pcn", "", 0},
	{"PB-FS, 5", "pbfs-fig5", "dcqcn", "", 1},
	{"", "pbfs-fig5", "dcqcn-pbfs", "", 1},
	{"", "pbfs-fig5", "timely", "", 1},
	{"", "pbfs-fig5", "timely-pbfs", "", 1},
}

// The table of docs/pauses.md has what runs of the figures give. PAUSES is a part of the
// names of the experiments that are compared, fig: all; without it one row is compared. With
// UPDATE_GOLDEN=1 as well the rows are written.
func TestPausesInThePapersFigures(t *testing.T) {
	const page = "../../docs/pauses.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	which := os.Getenv("PAUSES")
	doc, compared := string(text), 0
	for _, f := range figures {
		if which == "" && f.arm != "plb" || !strings.Contains(f.experiment, which) {
			continue
		}
		text, err := catalog.Text(f.experiment)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.ParseAt(f.experiment+".yaml", text, scenario.Small)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Cases(), func(c *scenario.Case) bool {
			return c.Arm == f.arm && strings.HasPrefix(strings.Join(c.Point, ", "), f.point)
		})
		if i < 0 {
			t.Fatalf("%s has no arm %s at %q", f.experiment, f.arm, f.point)
		}
		c := s.Cases()[i]
		prog, err := c.Build(&programs)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Run(t.Context(), prog, 1, scenario.Options{Explain: true, Event: func(controlplane.Event) {}})
		if err != nil {
			t.Fatal(err)
		}
		k := r.Causes
		share := func(part, of float64) string {
			if of == 0 {
				return ""
			}
			return fmt.Sprintf("%.1f %%", 100*part/of)
		}
		begin := fmt.Sprintf("| %s | `%s` | %s |", f.text, f.experiment, f.arm)
		row := fmt.Sprintf("%s %.2f | %.2f | %s | %.2f | %.2f | %s |", begin, k.PausedUS/1000, k.VictimPausedUS/1000, share(k.VictimPausedUS, k.PausedUS),
			k.WaitedUS/1000, k.VictimUS/1000, share(k.VictimUS, k.WaitedUS))
		if f.part > 0 {
			of := fmt.Sprintf(".part%d", f.part)
			row += fmt.Sprintf(" %.2f | %.2f |", r.Metrics["waited_us"+of]/1000, r.Metrics["victim_time_us"+of]/1000)
		} else {
			row += " | |"
		}
		at := strings.Index(doc, "\n"+begin)
		if at < 0 {
			t.Fatalf("%s has no row %q", page, begin)
		}
		line, _, _ := strings.Cut(doc[at+1:], "\n")
		if compared++; golden.Update && which != "" {
			doc = strings.Replace(doc, line, row, 1)
		} else if line != row {
			t.Errorf("%s has\n%s\nfor\n%s\nPAUSES=fig UPDATE_GOLDEN=1 go test ./testbed/causes -run PapersFigures writes the table again", page, line, row)
		}
	}
	if golden.Update && which != "" {
		if err := os.WriteFile(page, []byte(doc), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if compared == 0 {
		t.Error("no row is compared")
	}
}
