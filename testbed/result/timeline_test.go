// SPDX-License-Identifier: Apache-2.0

package result

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// trainingRun has a job of two ranks: rank 0 computes for 100 us and sends, while it
// computes for 20 us more; rank 1 receives, computes for 50 us and sends back.
func trainingRun(t *testing.T) (*topo.Topology, *fabric.Results) {
	t.Helper()
	net, err := topo.Parse("t.yaml", []byte("dumbbell: {left: 1, right: 1, rate: 40Gbps, delay: 1us}"))
	if err != nil {
		t.Fatal(err)
	}
	us := vtime.Microsecond
	op := fabric.Op{Kind: "send_recv", Bytes: 1_000_000, Base: 1_000_000, Ranks: 2, Root: -1}
	plan := &fabric.Plan{Name: "part 1", Hosts: []int{0, 1}, Ops: []fabric.Op{op}, Steps: []fabric.Step{
		{Rank: 0, Mark: fabric.Compute}, {Rank: 0, Mark: fabric.Begin, After: []fabric.Dep{{Step: 0}}}, {Rank: 0, After: []fabric.Dep{{Step: 1}}},
		{Rank: 0, Mark: fabric.Compute, After: []fabric.Dep{{Step: 0}}},
		{Rank: 1, Mark: fabric.Begin}, {Rank: 1, Mark: fabric.Compute, After: []fabric.Dep{{Step: 2, On: fabric.Received}}},
		{Rank: 1, After: []fabric.Dep{{Step: 5}}}, {Rank: 0, Mark: fabric.End, After: []fabric.Dep{{Step: 6, On: fabric.Received}}},
		{Rank: 1, Mark: fabric.End, After: []fabric.Dep{{Step: 5}}},
	}}
	at := func(ready, begun, done int) fabric.StepResult {
		return fabric.StepResult{Ready: vtime.Time(ready) * us, Begun: vtime.Time(begun) * us, Done: vtime.Time(done) * us, Sent: -1, Flow: -1}
	}
	steps := []fabric.StepResult{at(0, 0, 100), at(100, 100, 100), at(100, 100, 310), at(100, 100, 120), at(0, 0, 0), at(300, 300, 350), at(350, 350, 610), at(600, 600, 600), at(350, 350, 350)}
	steps[2].Flow, steps[2].Sent, steps[6].Flow, steps[6].Sent = 0, 100*us, 1, 350*us
	flow := func(src, dst int, start vtime.Time, stalled bool, resent int64) fabric.FlowResult {
		return fabric.FlowResult{Flow: fabric.Flow{Src: src, Dst: dst, Size: 1_000_000, Start: start, Plan: plan}, Finished: true, FCT: 210 * us, Delivered: 200 * us, Ideal: 150 * us, Stalled: stalled, Resent: resent}
	}
	back := flow(1, 0, 350*us, false, 7)
	back.FCT, back.Delivered = 260*us, 250*us
	return net, &fabric.Results{End: 700 * us, Flows: []fabric.FlowResult{flow(0, 1, 100*us, true, 0), back},
		Plans: []fabric.PlanResult{{Plan: plan, Steps: steps, Idle: 500 * us}}}
}

func TestTimeLinesOfRanks(t *testing.T) {
	net, r := trainingRun(t)
	lines := rankLines(net, &r.Plans[0], r)
	want := []RankLine{
		{0, "h1", []Span{{0, 120_000, Computing}, {120_000, 310_000, Sending}}},
		{1, "h2", []Span{{300_000, 350_000, Computing}, {350_000, 610_000, Sending}}},
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("lines are %+v, want %+v", lines, want)
	}
	stops := []Pause{{"l1", 2, 3, 150_000, 180_000}, {"l2", 2, 3, 150_000, 400_000}, {"h1", 1, 3, 190_000, 195_000}}
	last := lastOf(net, &r.Plans[0], r, stops)
	if len(last) != 2 || last[0].Step != 6 || last[0].Where != "7 packets were sent again" || last[1].Step != 2 || last[1].Src != "h1" ||
		!strings.HasPrefix(last[1].Where, "l1 port 2 was paused 30.0 µs") {
		t.Errorf("the last messages are %+v", last)
	}
}

func TestNumbersOfJobs(t *testing.T) {
	net, r := trainingRun(t)
	run := Collect(net, r, 0, nil)
	// From the first rank that begins, at 0, to the last one that ends, at 600 us.
	c := run.Collectives[0]
	if len(run.Collectives) != 1 || c.TimeUS != 600 || c.AlgBW != 1e6/600/1000 || c.BusBW != c.AlgBW || c.Late[0] != 250 || c.Count != 250_000 || c.RedOp != "none" {
		t.Errorf("the collective is %+v", run.Collectives)
	}
	j := run.Jobs[0]
	// Rank 0: 610 us less 120; rank 1: to 610 us less 50.
	if j.DoneUS != 610 || j.IdleUS != 500 || j.ExposedUS != (600-120+610-50)/2.0 {
		t.Errorf("the job is %+v", j)
	}
	m, _, _ := Measure(&Observed{Topology: net, Results: r, Parts: 1, Until: vtime.Never})
	for name, want := range map[string]float64{"avg_collective_us": 600, "max_collective_us": 600, "busbw": c.BusBW, "job_slowdown": 1.22, "rank_spread_us": 250, "exposed_us": j.ExposedUS} {
		if m[name] != want {
			t.Errorf("%s is %g, want %g", name, m[name], want)
		}
	}
}
