// SPDX-License-Identifier: Apache-2.0

package result

import (
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
)

func TestSummaryIsOfMeasuredFlows(t *testing.T) {
	us := vtime.Microsecond
	flow := func(group int, coflow uint32, start, fct vtime.Time) fabric.FlowResult {
		return fabric.FlowResult{
			Flow: fabric.Flow{Src: 0, Dst: 2, Size: 1000, Group: group, Coflow: coflow, Start: start}, Finished: fct > 0,
			FCT: fct, Ideal: 10 * us, OutOfOrder: int64(group),
		}
	}
	r := &fabric.Results{End: 100 * us, Flows: []fabric.FlowResult{
		flow(1, 7, 0, 10*us), flow(1, 7, 5*us, 25*us), flow(2, 0, 0, 90*us), flow(1, 8, 0, 10*us), flow(1, 8, 0, 0),
	}}
	s := Collect(network(t), r, 1, func(f *fabric.FlowResult) bool { return f.Group == 1 }).Summary
	if s.Flows != 4 || s.Finished != 3 || s.OutOfOrder != 4 || s.AvgFCTUS != 15 {
		t.Errorf("part 1: %+v", s)
	}
	// Coflow 7 lasts from 0 to 30 µs, coflow 8 is not finished.
	if s.Coflows != 1 || s.AvgCCTUS != 30 {
		t.Errorf("%d coflows, %g us on average, want 1 of 30 us", s.Coflows, s.AvgCCTUS)
	}
	// The mean of many coflows is the same bits each time.
	var many []fabric.FlowResult
	for i := range uint32(40) {
		many = append(many, flow(1, i+1, 0, vtime.Time(i*i)*us/3+us))
	}
	first := Collect(network(t), &fabric.Results{Flows: many}, 1, nil).Summary.AvgCCTUS
	for range 20 {
		if again := Collect(network(t), &fabric.Results{Flows: many}, 1, nil).Summary.AvgCCTUS; again != first {
			t.Fatalf("average coflow completion time is %v and then %v", first, again)
		}
	}
	if all := Collect(network(t), r, 1, nil).Summary; all.Flows != 5 || all.OutOfOrder != 6 {
		t.Errorf("all parts: %+v", all)
	}
}
