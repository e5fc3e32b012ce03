// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// A brief outcome has the links paused longest of each arm and point, and the
// number of the others.
func TestBriefOutcomeHasTheLinksPausedLongest(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.4": {{1}, {1}}, "0.6": {{1}, {1}}})
	for i := range runs {
		for k := range LinksKept + 5 {
			runs[i].Links = append(runs[i].Links, LinkPauses{Node: "n" + string(rune('a'+k)), Peer: "s", PausedUS: float64(k + 1)})
		}
	}
	o.Fill(runs, nil)
	b := o.Brief()
	if len(b.Links) != 4*LinksKept || b.LinksLeftOut != 4*5 || b.Links[LinksKept-1].PausedUS != 6 || len(o.Links) != 4*(LinksKept+5) {
		t.Errorf("%d links of %d, %d left out, the %dth has %v us", len(b.Links), len(o.Links), b.LinksLeftOut, LinksKept, b.Links[LinksKept-1].PausedUS)
	}
	if again := b.Brief(); len(again.Links) != len(b.Links) || again.LinksLeftOut != b.LinksLeftOut {
		t.Error("Brief of a brief outcome differs")
	}
}

// A run at the papers' scale may deadlock with thousands of flows; pcn-fig21b had
// 4.7 MB, as each of its 31 deadlocked runs named them all.
func TestBriefOutcomeOfADeadlockIsSmall(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.4": {{1}, {1}}, "0.6": {{1}, {-1}}})
	const flows = 5000
	locked := &runs[len(runs)-1]
	for i := range flows {
		locked.Stuck = append(locked.Stuck, Stuck{Src: fmt.Sprint("h", i), Dst: "h0", Bytes: 1 << 20, Reason: "deadlock in class 3 since 56.4ms: l0 → t1 → l1 → t2 → l0", Deadlock: true, SinceNS: 56_400_000})
	}
	o.Fill(runs, []Claim{{Less: "pause_frames", With: "with", Than: "than"}})
	b := o.Brief()
	var full, brief bytes.Buffer
	if err := o.WriteJSON(&full); err != nil {
		t.Fatal(err)
	}
	if err := b.WriteJSON(&brief); err != nil {
		t.Fatal(err)
	}
	if full.Len() < 100*flows || brief.Len() > 20_000 {
		t.Errorf("with %d stuck flows the outcome has %d bytes, and %d if brief", flows, full.Len(), brief.Len())
	}
	last := b.Runs[len(runs)-1]
	if len(last.Stuck) != StuckKept || last.StuckLeftOut != flows-StuckKept || !reflect.DeepEqual(last.Stuck, locked.Stuck[:StuckKept]) {
		t.Errorf("%d flows are named, %d left out: %v", len(last.Stuck), last.StuckLeftOut, last.Stuck)
	}
	if n := len(o.Runs[len(runs)-1].Stuck); n != flows {
		t.Errorf("Brief changed its argument: %d flows are left", n)
	}
	if !strings.Contains(strings.Join(b.Remarks, " "), "1 of 4 runs did not finish: flows cannot proceed (than, 0.6, seed 1: h0 to h0") {
		t.Errorf("remarks %q", b.Remarks)
	}

	// The tables, and what is computed from it again, are those of the full one.
	var was, is bytes.Buffer
	if err := o.WriteMarkdown(&was); err != nil {
		t.Fatal(err)
	}
	if err := b.WriteMarkdown(&is); err != nil {
		t.Fatal(err)
	}
	if was.String() != is.String() {
		t.Errorf("the page differs:\n%s\nwant\n%s", &is, &was)
	}
	if again := b.Brief(); !reflect.DeepEqual(again, b) {
		t.Error("Brief of a brief outcome differs")
	}

	// Outcomes with all flows, as earlier versions kept them, can be read.
	back, err := ReadOutcome(&full)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := back.Brief().WriteJSON(&again); err != nil {
		t.Fatal(err)
	}
	if again.String() != brief.String() {
		t.Error("an outcome that was read and shortened differs from the brief one")
	}
}
