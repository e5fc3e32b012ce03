// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/result"
)

// A trace has what each rank does: computing, its collectives and its messages.
func TestTracesHaveRanks(t *testing.T) {
	us := vtime.Microsecond
	plan := &fabric.Plan{Name: "part 1", Hosts: []int{0, 1}, Ops: []fabric.Op{{Kind: "all_reduce", Bytes: 100, Ranks: 2}}, Steps: []fabric.Step{
		{Rank: 0, Mark: fabric.Compute, Op: 0}, {Rank: 0, Mark: fabric.Begin, Op: 0}, {Rank: 0, Op: 0}, {Rank: 0, Mark: fabric.End, Op: 0}, {Rank: 1, Mark: fabric.End, Op: 0},
	}}
	run := &Run{Arm: "ecmp", Seed: 1, Network: &result.Network{Nodes: []result.NetNode{{Name: "h1"}, {Name: "h2"}}}}
	results := &fabric.Results{
		Flows: []fabric.FlowResult{{Flow: fabric.Flow{Src: 0, Dst: 1, Size: 50, Start: 10 * us}, Finished: true, FCT: 5 * us, Ideal: 4 * us}},
		Plans: []fabric.PlanResult{{Plan: plan, Steps: []fabric.StepResult{
			{Begun: 0, Done: 10 * us, Sent: -1, Flow: -1}, {Done: 10 * us, Sent: -1, Flow: -1}, {Begun: 10 * us, Sent: 10 * us, Done: 15 * us, Flow: 0},
			{Done: 15 * us, Sent: -1, Flow: -1}, {Begun: -1, Done: -1, Sent: -1, Flow: -1}, // has not ended
		}}},
	}
	var b bytes.Buffer
	if err := WriteTrace(&b, []*Run{run}, []*fabric.Results{results}); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Events []traceEvent `json:"traceEvents"`
	}
	if err := json.Unmarshal(b.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]traceEvent)
	for _, e := range trace.Events {
		seen[e.Phase+" "+e.Name] = e
	}
	for name, want := range map[string][2]float64{"X compute": {0, 10}, "X all_reduce of 100 bytes": {10, 5}} {
		if e, ok := seen[name]; !ok || e.TS != want[0] || *e.Dur != want[1] || e.PID != 3 {
			t.Errorf("%s is %+v, want from %v us for %v us", name, e, want[0], want[1])
		}
	}
	if b, e := seen["b h1 to h2"], seen["e h1 to h2"]; b.TS != 10 || e.TS != 15 || b.ID != e.ID || b.TID != 2 || b.Args["bytes"] != 50.0 {
		t.Errorf("the message is %+v to %+v", b, e)
	}
	if e := seen["M thread_name"]; e.Args["name"] != "rank 1 on h2 sends" {
		t.Errorf("the last thread is %v", e.Args)
	}
}
