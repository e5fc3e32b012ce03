// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/scenario"
)

func TestExperimentsAreSoundAndSayWhatTheyAreAbout(t *testing.T) {
	for _, name := range Names() {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name || s.Summary == "" || len(s.Claims) == 0 || len(s.Seeds) < 3 {
			t.Errorf("%s: name %q, summary %q, %d claims, %d seeds; want its own name, a summary, claims, at least three seeds",
				name, s.Name, s.Summary, len(s.Claims), len(s.Seeds))
		}
		if small, err := LoadAt(name, scenario.Small); err != nil {
			t.Errorf("%s at the small scale: %v", name, err)
		} else if small.Small.Text("why") == "" {
			t.Errorf("%s: the small scale has no text under why", name)
		}
	}
	if _, err := Load("rlb-fig12-incats"); err == nil || !strings.Contains(err.Error(), `did you mean "rlb-fig12-incast"?`) {
		t.Errorf("a name with a typing error: %v", err)
	}
}

// A figure comes before its variants, and figure 3 before figure 10.
func TestNamesAreInOrder(t *testing.T) {
	names, last := Names(), -1
	for _, name := range []string{"clb-fig4", "clb-fig10", "clb-fig10-growth", "pbfs-fig5", "rlb-fig3", "rlb-fig3-all-paths", "rlb-fig4a", "rlb-fig4a-unthrottled", "rlb-fig4b", "rlb-fig10"} {
		i := slices.Index(names, name)
		if i <= last {
			t.Errorf("%s is number %d, and the one before it number %d", name, i, last)
		}
		last = i
	}
}

// An endless flow counts with its host's rate, and flows that start within a short
// time with the time that links need for them.
func TestOfferedLoadsInWords(t *testing.T) {
	s, err := LoadAt("clb-fig4", scenario.Small)
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{Scenario: s}
	loads, err := p.Loads()
	if err != nil {
		t.Fatal(err)
	}
	const want = "offered load at nic go-back-n, of flows that start within 1.52 ms: host to leaf 0.45, leaf to host 0.45, leaf to spine 0.36, spine to leaf 0.36\n" +
		"note: l2 to r3 needs 2.38 ms to carry these flows"
	if lines := LoadLines(p, loads); len(lines) != 2 || lines[0] != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), want)
	}
}
