// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

func network(t *testing.T) *topo.Topology {
	t.Helper()
	ls := topo.LeafSpine{Leaves: 2, Spines: 1, HostsPerLeaf: 2, Rate: 40 * vtime.Gbps, Delay: 2 * vtime.Microsecond}
	n, err := ls.Build("t", topo.SwitchConfig{Buffer: vtime.MB, PFC: topo.PFC{XOFF: 100 * vtime.KB}})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPausesAreJoinedUntilResumeExpiryOrEnd(t *testing.T) {
	net := network(t)
	us := vtime.Microsecond
	const quantum = 12800 * vtime.Picosecond // 512 bits at 40 Gb/s
	r := &fabric.Results{End: 100 * us, Pauses: []fabric.PauseEvent{
		{Time: 1 * us, Node: 0, Port: 1, Class: 3, Quanta: 1000}, // runs out at 13.8 µs
		{Time: 5 * us, Node: 1, Port: 1, Class: 3, Quanta: 65535},
		{Time: 6 * us, Node: 1, Port: 1, Class: 3, Quanta: 65535}, // renewed
		{Time: 9 * us, Node: 1, Port: 1, Class: 3, Quanta: 0},
		{Time: 20 * us, Node: 0, Port: 1, Class: 3, Quanta: 65535}, // still on at the end
		{Time: 30 * us, Node: 2, Port: 1, Class: 3, Quanta: 0},     // resumes nothing
	}}
	got := Pauses(net, r)
	want := []Pause{
		{"h1", 1, 3, 1000, (1*us + 1000*quantum).Nanoseconds()},
		{"h2", 1, 3, 5000, 9000},
		{"h1", 1, 3, 20000, 100000},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Columns of runs that differ only by the seed say which: an interrupted scenario
// has no means.
func TestColumnsOfSeeds(t *testing.T) {
	run := func(arm string, seed uint64, partial bool) *Run {
		return &Run{Arm: arm, Seed: seed, Partial: partial, Metrics: map[string]float64{"avg_fct_us": float64(seed)}}
	}
	for want, runs := range map[string][]*Run{
		"drill, seed 1 drill, seed 2 rlb (partial)": {run("drill", 1, false), run("drill", 2, false), run("rlb", 1, true)},
		"drill rlb":                          {run("drill", 1, false), run("rlb", 1, false)},
		"means of 2 runs":                    {run("drill", 1, false), run("drill", 2, false)},
		"means of different numbers of runs": {run("drill", 1, false), run("drill", 2, false), run("rlb", 1, false)},
	} {
		var table strings.Builder
		if err := Table(&table, runs); err != nil {
			t.Fatal(err)
		}
		if head, _, _ := strings.Cut(table.String(), "\n"); !strings.HasPrefix(strings.Join(strings.Fields(head), " "), want) {
			t.Errorf("the table begins with %q, want %q", head, want)
		}
	}
}

func TestSummaryCountsOnlyFinishedFlowsInFCT(t *testing.T) {
	net := network(t)
	us := vtime.Microsecond
	r := &fabric.Results{End: 50 * us, Flows: []fabric.FlowResult{
		{Flow: fabric.Flow{Src: 0, Dst: 2, Size: 1000}, Finished: true, FCT: 10 * us, Ideal: 10 * us, Packets: 1, Sent: 1},
		{Flow: fabric.Flow{Src: 1, Dst: 2, Size: 2000}, Finished: true, FCT: 30 * us, Ideal: 10 * us, Packets: 2, Sent: 5, Resent: 3, Stalled: true},
		{Flow: fabric.Flow{Src: 1, Dst: 3, Size: 2000}, Ideal: 10 * us, Packets: 2, Sent: 1},
	}}
	run := Collect(net, r, 7, nil)
	run.Profile = "drill"
	run.Summary.Scheme = map[string]uint64{"warnings_sent": 4}
	s := run.Summary
	if s.Flows != 3 || s.Finished != 2 || s.AvgFCTUS != 20 || s.P99FCTUS != 30 || s.AvgSlowdown != 2 || s.Stalled != 1 || run.Flows[1].Resent != 3 || run.Flows[2].Resent != 0 {
		t.Errorf("got %+v", run)
	}
	var table strings.Builder
	if err := Table(&table, []*Run{run}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 of 3", "average FCT                   20.0 µs", "warnings sent                       4"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("table lacks %q:\n%s", want, table.String())
		}
	}
	var file bytes.Buffer
	if err := WriteJSON(&file, []*Run{run}); err != nil {
		t.Fatal(err)
	}
	run.Raw = nil
	back, err := ReadJSON(&file)
	if err != nil || !reflect.DeepEqual(back[0], run) {
		t.Errorf("JSON reads back as %+v, %v", back, err)
	}
}

// A run without finished flows has no FCT and no slowdown, instead of zero.
func TestNoTimesOfNoFlows(t *testing.T) {
	var file bytes.Buffer
	if err := WriteJSON(&file, []*Run{{Summary: Summary{Flows: 3}}}); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"fct_us", "slowdown"} {
		if strings.Contains(file.String(), word) {
			t.Errorf("the file has %s:\n%s", word, &file)
		}
	}
	if !strings.Contains(file.String(), `"finished": 0`) {
		t.Errorf("the file does not say that none has finished:\n%s", &file)
	}
}

// A bit that changes in a file of results changes no number without a word: the file
// is refused, or has the same runs.
func TestFlippedBitsInResults(t *testing.T) {
	runs := []*Run{{
		Scenario: "flip", Profile: "drill", Seed: 7, Summary: Summary{EndUS: 1234.5, Flows: 2, Finished: 2, AvgFCTUS: 10.25, P99FCTUS: 1e-7},
		Metrics: map[string]float64{"avg_fct_us": 10.25}, Flows: []Flow{{Bytes: 1000}, {Bytes: 2}}, Remarks: []string{"bad \xff letter", "\ufffd"},
	}, {Scenario: "flip", Profile: "ecmp", Seed: 8, Flows: []Flow{}}}
	var file bytes.Buffer
	if err := WriteJSON(&file, runs); err != nil {
		t.Fatal(err)
	}
	if runs[0].SHA256 != "" {
		t.Error("WriteJSON changes the runs")
	}
	want, err := ReadJSON(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for bit := range 8 * file.Len() {
		text := slices.Clone(file.Bytes())
		text[bit/8] ^= 1 << (bit % 8)
		got, err := ReadJSON(bytes.NewReader(text))
		if err != nil {
			refused++
		} else if !reflect.DeepEqual(got, want) {
			t.Fatalf("with bit %d of byte %d flipped, other runs are read:\n%s", bit%8, bit/8, text)
		}
	}
	t.Logf("%d of %d flips are refused, the others change white space", refused, 8*file.Len())
	text := bytes.Replace(file.Bytes(), []byte("10.25"), []byte("10.75"), 1)
	if _, err := ReadJSON(bytes.NewReader(text)); err == nil || !strings.Contains(err.Error(), `run 1 (drill, seed 7) is not as it was written`) {
		t.Errorf("another number: %v", err)
	}
}

func TestQuantileIsNearestRank(t *testing.T) {
	v := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{0: 1, 0.2: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := Quantile(v, q); got != want {
			t.Errorf("Quantile(%g) = %g, want %g", q, got, want)
		}
	}
	if Quantile(nil, 0.5) != 0 || Mean(nil) != 0 {
		t.Error("of nothing, quantile and mean should be zero")
	}
}
