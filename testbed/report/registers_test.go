// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
)

// Watched registers are drawn one by one, with a line for each switch; those that stay
// zero are left out.
func TestWatchedRegisters(t *testing.T) {
	r := &result.Run{Arm: "a", Watched: []result.Line{
		{Name: "l1 reroutes", Node: "l1", Unit: "packets", TNS: []int64{1000, 2000, 3000}, V: []uint64{0, 4, 9}},
		{Name: "l2 reroutes", Node: "l2", Unit: "packets", TNS: []int64{1000, 2000}, V: []uint64{0, 7}},
		{Name: "l1 warned", Node: "l1", Unit: "paths", TNS: []int64{1000, 2000, 3000}, V: []uint64{0, 0, 0}},
	}}
	got := timeline(0, r, fine).Registers
	if len(got) != 1 || got[0].Name != "reroutes" || got[0].Unit != "packets" || !slices.Equal(got[0].T, []number{1, 2, 3}) || len(got[0].Lines) != 2 {
		t.Fatalf("registers are %+v", got)
	}
	if l := got[0].Lines; l[0].Name != "l1" || !slices.Equal(l[0].V, []number{0, 4, 9}) || l[1].Name != "l2" || !slices.Equal(l[1].V, []number{0, 7, 7}) {
		t.Errorf("lines are %+v", l)
	}
}
