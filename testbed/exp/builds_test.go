// SPDX-License-Identifier: Apache-2.0

package exp

import "testing"

// Another build reads what a store has, says whose runs these are, and makes its own
// when it runs the experiment.
func TestRunsOfAnotherBuildAreRead(t *testing.T) {
	this := Version
	defer func() { Version = this }()
	st := newStore(t)
	if _, ok, err := tinyPlan(t).Stored(st); ok || err != nil {
		t.Errorf("an empty store has runs: %v", err)
	}
	Version = func() string { return "0123456789abcdef" }
	was := outcome(t, tinyPlan(t), st, Options{})
	Version = func() string { return "fedcba9876543210" }
	p := tinyPlan(t)
	b, ok, err := p.Stored(st)
	if err != nil || !ok || b.ID != "0123456789abcdef" || b.Last.IsZero() {
		t.Fatalf("the store's build is %v, %v, %v", b, ok, err)
	}
	s, err := p.Status(st, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Left != 0 || s.Done < 8 || text(t, s.Outcome) != was {
		t.Errorf("%d runs are done and %d left; want those of the other build, with the same outcome", s.Done, s.Left)
	}
	for r, err := range p.Runs(st, s.Outcome) {
		if err != nil || len(r.Flows) == 0 {
			t.Fatalf("a run is read as %v, %v", r, err)
		}
	}
	if _, ok, err := tinyPlan(t, "20KB, 40KB", "10KB, 50KB").Stored(st); ok || err != nil {
		t.Errorf("another experiment has these runs: %v", err)
	}
	outcome(t, tinyPlan(t), st, Options{})
	if _, ok, err := tinyPlan(t).Stored(st); ok || err != nil {
		t.Errorf("this build's own runs do not count: %v", err)
	}
	if builds, err := st.Builds(); err != nil || len(builds) != 2 {
		t.Errorf("builds are %v, %v", builds, err)
	}
}
