// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

func TestExperimentsAreSoundAndSayWhatTheyAreAbout(t *testing.T) {
	for _, name := range catalog.Names() {
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

// A gap that does not follow the links' rate is named where it is long: at 400 Gb/s, not
// at 10, and not if it is set, or meant to be endless.
func TestLongGapsAreNamed(t *testing.T) {
	for _, c := range []struct{ link, set, want string }{
		{"400Gbps, delay: 500ns", "", "note: letflow: letflow.gap is 100us, 24 base round trips of this network (4.09312us), so flows have few flowlets; set: {letflow.gap: …} changes it"},
		{"400Gbps, delay: 500ns", "set: {letflow.gap: 5us}\n", ""},
		{"400Gbps, delay: 500ns", "set: {letflow.gap: 1s}\n", ""},
		{"10Gbps, delay: 10us", "", ""},
	} {
		s, err := scenario.ParseAt("e.yaml", []byte("name: e\nnetwork: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: "+c.link+"}}\nprofiles: [ecmp, letflow]\n"+c.set+"traffic: [{burst: {from: h1, to: h3, size: 1MB}}]\nuntil: 10ms\n"), scenario.Small)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Join(GapLines(&Plan{Scenario: s}), "\n"); lines != c.want {
			t.Errorf("%s %s: %q", c.link, c.set, lines)
		}
	}
}

// An arm that has another name now is read from outcomes under the name that it had.
func TestEarlierNamesOfArms(t *testing.T) {
	parse := func(arm string) *scenario.Scenario {
		s, err := scenario.ParseAt("e.yaml", []byte(`name: e
network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}}
traffic: [{incast: {degree: 2, size: 64KB, to: h1}}]
arms:
- {name: drill, profile: drill}
- `+arm+`
seeds: [1, 2]
until: 1ms
claims: [{less: avg_fct_us, with: drill-rlb, than: drill}]
`), scenario.Paper)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	was, is := parse("{name: drill-rlb, profile: rlb-drill}"), parse("{name: rlb-drill, was: drill-rlb, profile: rlb-drill}")
	if RunsHash(was) == RunsHash(is) {
		t.Fatal("the name of an arm is not part of the hash")
	}
	o := &result.Outcome{Scenario: RunsHash(was), Scale: scenario.Paper, Arms: []result.Arm{{Name: "drill"}, {Name: "drill-rlb"}},
		Cells: []result.Cell{{Arm: "drill-rlb"}}, Runs: []result.RunNote{{Arm: "drill-rlb"}}, Links: []result.Link{{Arm: "drill-rlb"}},
		Remarks: []string{"1 of 2 runs failed (drill-rlb, seed 1)"}, Claims: []result.Judged{{Claim: was.Claims[0]}}}
	if err := Continues(is, o); err != nil {
		t.Fatal(err)
	}
	if o.Arms[1].Name != "rlb-drill" || o.Cells[0].Arm != "rlb-drill" || o.Runs[0].Arm != "rlb-drill" || o.Links[0].Arm != "rlb-drill" || o.Remarks[0] != "1 of 2 runs failed (rlb-drill, seed 1)" || o.Claims[0].Claim.With != "rlb-drill" {
		t.Errorf("the outcome keeps the earlier name: %+v", o)
	}
	if is.Claims[0].With != "rlb-drill" {
		t.Errorf("a claim with the earlier name is about %s", is.Claims[0].With)
	}
	if err := Continues(was, &result.Outcome{Scenario: RunsHash(is), Scale: scenario.Paper}); err == nil {
		t.Error("an outcome of other names is taken without was")
	}
}
