// SPDX-License-Identifier: Apache-2.0

package result

import (
	"strings"
	"testing"
)

func TestCausesExplainWhatTheyAreOf(t *testing.T) {
	holds, none := &Judged{Verdict: Holds, Point: "load 0.8, nic irn"}, &Judged{Verdict: Refuted, Why: "no gain of 10 % or more", Low: -0.05, High: 0.1}
	harm := &Judged{Verdict: Refuted, Low: 0.1, High: 0.3}
	for _, c := range []struct {
		of                []string
		holds, none, harm bool
	}{
		{nil, false, true, true},
		{[]string{None}, false, true, false},
		{[]string{None, Smaller}, true, true, false},
		{[]string{None, Opposite, Smaller}, true, true, true},
	} {
		s := &Cause{Of: c.of}
		if s.Explains(holds) != c.holds || s.Explains(none) != c.none || s.Explains(harm) != c.harm {
			t.Errorf("of %v: %v, %v, %v", c.of, s.Explains(holds), s.Explains(none), s.Explains(harm))
		}
	}
	if (&Cause{Of: []string{Smaller}, Point: "load 0.4"}).Explains(holds) {
		t.Error("a cause at load 0.4 explains a claim at 0.8")
	}
}

func TestCausesAreChecked(t *testing.T) {
	ok := Cause{Text: "chance", By: "e", Of: []string{None}, Scale: "paper", Gain: "more"}
	if err := ok.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Cause){
		"needs the keys text and by": func(s *Cause) { s.By = "" },
		"use small or paper":         func(s *Cause) { s.Scale = "large" },
		"use paper or more":          func(s *Cause) { s.Gain = "less" },
		"use none, opposite":         func(s *Cause) { s.Of = []string{"harm"} },
	} {
		s := ok
		if change(&s); s.Check() == nil || !strings.Contains(s.Check().Error(), want) {
			t.Errorf("error %v, want %q", s.Check(), want)
		}
	}
}
