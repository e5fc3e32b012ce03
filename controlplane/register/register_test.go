// SPDX-License-Identifier: Apache-2.0

package register

import (
	"fmt"
	"testing"

	"github.com/pauseless/pauseless/controlplane/schema"
)

func TestCellsAndValuesHaveNames(t *testing.T) {
	uplinks := Namer(func(dim string, i int) string {
		if dim == "path" && i < 2 {
			return fmt.Sprintf("%d (via s%d)", i, i+1)
		}
		return ""
	})
	index := []schema.Dim{{Name: "leaf", Size: 2}, {Name: "path", Size: 2}}
	for _, c := range []struct {
		array          Array
		cell           int
		label, meaning string
	}{
		{Array{Unit: "ns", Index: index, Values: make([]uint64, 4)}, 3, "leaf=1 path=1 (via s2)", ""},
		{Array{Unit: "path", Index: index[:1], Values: []uint64{7, 1}}, 1, "leaf=1", "1 (via s2)"},
		{Array{Unit: "path", Index: index[:1], Values: []uint64{7, 1}}, 0, "leaf=0", "7"},
		{Array{Unit: "paths", Bits: 8, Index: index[:1], Values: []uint64{0xc0, 0x20}}, 0, "leaf=0", "0 (via s1), 1 (via s2)"},
		{Array{Unit: "paths", Bits: 8, Index: index[:1], Values: []uint64{0xc0, 0x20}}, 1, "leaf=1", "2"},
		{Array{Unit: "paths", Bits: 8, Index: []schema.Dim{{Name: "one", Size: 1}}, Values: []uint64{0}}, 0, "", ""},
		{Array{Values: []uint64{5}}, 0, "", ""},
	} {
		if got := c.array.Label(c.cell, uplinks); got != c.label {
			t.Errorf("%+v[%d] is about %q, want %q", c.array, c.cell, got, c.label)
		}
		if got := c.array.Meaning(c.cell, uplinks); got != c.meaning {
			t.Errorf("%+v[%d] means %q, want %q", c.array, c.cell, got, c.meaning)
		}
	}
	if got := (Array{Unit: "path", Values: []uint64{3}}).Meaning(0, nil); got != "3" {
		t.Errorf("without names: %q", got)
	}
}
