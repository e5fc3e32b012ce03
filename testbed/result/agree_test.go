// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"iter"
	"math"
	"strings"
	"testing"
)

func theseRuns(runs ...*Run) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		for _, r := range runs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// watched is a run whose register had some values at 10, 20 … us.
func watched(arm, unit string, endUS float64, byNode map[string][]uint64) *Run {
	r := &Run{Arm: arm, Summary: Summary{EndUS: endUS}}
	for _, node := range []string{"l1", "l2"} {
		for i, v := range byNode[node] {
			r.Watched = Watch(r.Watched, node, "sent", unit, int64(i+1)*10_000, []uint64{v, 0})
		}
	}
	return r
}

// Registers are compared at quarters of the shortest run: sums over switches of counters,
// the largest of times; means over the runs.
func TestRegistersAtToldMoments(t *testing.T) {
	real := theseRuns(
		watched("a", "packets", 40, map[string][]uint64{"l1": {1, 2, 3, 4}, "l2": {10, 20, 30, 40}}),
		watched("a", "packets", 80, map[string][]uint64{"l1": {3, 4, 5, 6, 7}, "l2": {10, 20, 30, 40, 50}}),
		watched("b", "us", 40, map[string][]uint64{"l1": {5, 5, 5, 5}, "l2": {1, 9, 1, 1}}))
	virtual := theseRuns(watched("a", "packets", 44, map[string][]uint64{"l1": {0, 0, 0, 44}}))
	got, err := AgreeOn(real, virtual)
	if err != nil {
		t.Fatal(err)
	}
	want := []RegisterAt{
		{"a", "sent", "packets", 10, (11 + 13) / 2, 0}, {"a", "sent", "packets", 20, (22 + 24) / 2, 0},
		{"a", "sent", "packets", 30, (33 + 35) / 2, 0}, {"a", "sent", "packets", 40, (44 + 46) / 2, 44},
		{"b", "sent", "us", 10, 5, 0}, {"b", "sent", "us", 20, 9, 0}, {"b", "sent", "us", 30, 5, 0}, {"b", "sent", "us", 40, 5, 0},
	}
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("value %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestAgreementSaysWhatDiffers(t *testing.T) {
	outcome := func(fct, frames, paused, effect float64) *Outcome {
		return &Outcome{
			Cells:  []Cell{{Arm: "a", Mean: map[string]Num{"avg_fct_us": Num(fct), "pause_frames": Num(frames), "paused_us": Num(paused)}}},
			Claims: []Judged{{Text: "less", Verdict: Holds, Effect: Num(effect), Low: Num(effect), High: Num(math.Inf(1))}},
		}
	}
	var b bytes.Buffer
	a := &Agreement{Real: outcome(110, 10, 0, -0.2), Virtual: outcome(100, 20, 0, 0.1)}
	if err := a.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| average FCT, µs | a | 110 | 100 | +10.0 % | – | 15 %: yes |",
		"| PAUSE frames | a | 10 | 20 | -50.0 % | – | 25 %: **no** |",
		"| paused time of all ports, µs | a | 0 | 0 | – | – | 25 %: yes |",
		"| less | -20.0 % | – | holds | +10.0 % | holds | **no** |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

// The interval is that of the paired differences: it includes most seeds' own.
func TestIntervalOfTheDifference(t *testing.T) {
	cell := func(v ...Num) Cell {
		return Cell{Arm: "a", Seeds: []uint64{1, 2, 3, 4}, Values: map[string][]Num{"avg_fct_us": v}, Mean: map[string]Num{"avg_fct_us": Num(Mean([]float64{float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])}))}}
	}
	var b bytes.Buffer
	a := &Agreement{Real: &Outcome{Cells: []Cell{cell(90, 110, 95, 113)}}, Virtual: &Outcome{Cells: []Cell{cell(100, 100, 100, 100)}}}
	if err := a.Write(&b); err != nil {
		t.Fatal(err)
	}
	// The mean is 102, the standard error 5.61, and t of 3 degrees of freedom 3.18.
	if want := "| average FCT, µs | a | 102 | 100 | +2.0 % | -15.9 to +19.9 % | 15 %: yes |"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, &b)
	}
}
