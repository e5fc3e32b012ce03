// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"encoding/csv"
	"reflect"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Pauses are counted by link and direction, within the window.
func TestPausedTimeOfSingleLinks(t *testing.T) {
	net := network(t) // h1 to h4 are nodes 0 to 3, l1 and l2 4 and 5
	us := vtime.Microsecond
	r := &fabric.Results{End: 100 * us, Pauses: []fabric.PauseEvent{
		{Time: 2 * us, Node: 1, Port: 1, Class: 3, Quanta: 65535}, // h2, from before the window
		{Time: 14 * us, Node: 1, Port: 1, Class: 3, Quanta: 0},
		{Time: 20 * us, Node: 4, Port: 3, Class: 3, Quanta: 65535}, // l1 towards the spine
		{Time: 25 * us, Node: 4, Port: 3, Class: 3, Quanta: 0},
		{Time: 30 * us, Node: 4, Port: 3, Class: 3, Quanta: 65535},
		{Time: 32 * us, Node: 4, Port: 3, Class: 3, Quanta: 0},
	}}
	_, _, links := Measure(&Observed{Topology: net, Results: r, From: 10 * us, Until: 80 * us})
	spine := net.Nodes[net.Nodes[4].Ports[2].Peer].Name
	want := []LinkPauses{{"h2", "l1", 0, 4}, {"l1", spine, 2, 7}}
	if !reflect.DeepEqual(links, want) {
		t.Errorf("got %v, want %v", links, want)
	}
}

func TestLinksOfAnOutcome(t *testing.T) {
	o, runs := notes(map[string][2][]float64{"0.6": {{60, 62, 61}, {100, 100, 102}}})
	for i := range runs {
		if runs[i].Arm == "than" {
			runs[i].Links = []LinkPauses{{"l1", "s1", 3, 30}}
			if runs[i].Seed == 2 { // two links between the same switches, and another link
				runs[i].Links = []LinkPauses{{"l1", "s1", 1, 20}, {"l1", "s1", 1, 40}, {"h1", "l1", 2, 9}}
			}
		}
	}
	o.Fill(runs, []Claim{{Less: "paused_us.l1->s1", With: "with", Than: "than"}, {Less: "pause_frames.h1->l1", With: "with", Than: "1"}})
	if len(o.Links) != 2 || o.Links[0].Node != "l1" || o.Links[0].PausedUS != 40 || o.Links[0].Half == 0 || o.Links[1].PausedUS != 3 || o.Links[1].Arm != "than" {
		t.Errorf("links %+v; want l1 to s1 with 40 us and h1 to l1 with 3 us, of the arm than", o.Links)
	}
	if j := o.Claims[0]; j.Value != 0 || j.Other != 40 || j.Text != "paused time from l1 to s1: shorter with with than with than" {
		t.Errorf("a claim about a link: %+v", j)
	}
	if j := o.Claims[1]; j.Verdict != Holds {
		t.Errorf("a claim about a link that was not paused: %+v", j)
	}
	var table, rows bytes.Buffer
	if err := o.Table(&table, false); err != nil || !strings.Contains(table.String(), "l1 to s1, load 0.6") {
		t.Errorf("error %v; the table lacks the link that was paused longest:\n%s", err, &table)
	}
	if err := o.LinkSheet().WriteCSV(&rows); err != nil {
		t.Fatal(err)
	}
	if all, err := csv.NewReader(&rows).ReadAll(); err != nil || len(all) != 1+5 || strings.Join(all[0], " ") != "experiment scale arm load seed node peer pause_frames paused_us" {
		t.Errorf("error %v, rows %v; want one for each run and link", err, all)
	}
}
