// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"reflect"
	"strings"
	"testing"
)

// A switch that sends fewer or other cells than were read gets an error. Before, the
// table of cells was printed beyond the end of a list, which ended the program.
func TestCellsThatASwitchSends(t *testing.T) {
	r := Register{Name: "r", Size: 2, Fields: []Field{{Name: "f1"}, {Name: "f2"}}}
	one := func(index uint64, data map[string]any) Entry {
		return Entry{Match: []Match{{Field: "$REGISTER_INDEX", Value: index}}, Data: data}
	}
	both := func(values ...any) map[string]any { return map[string]any{"pipe.r.f1": values, "pipe.r.f2": values} }
	n := func(v uint64) any { return v }
	got, err := r.values([]Entry{one(1, both(n(3), n(4))), one(0, both(n(1), n(2)))}, 0, 1)
	if want := [][][]uint64{{{1, 3}, {1, 3}}, {{2, 4}, {2, 4}}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for what, list := range map[string][]Entry{
		"sent no cells":                      {},
		"cell 0 where cell 1 was expected":   {one(0, both(n(1))), one(0, both(n(1)))},
		"cell 7 where cell 1 was expected":   {one(0, both(n(1))), one(7, both(n(1)))},
		"1 values of field f1 in pipeline 0": {one(0, both(n(1)))},
		"1 values of field f1 in pipeline 1": {one(0, both(n(1), n(1))), one(1, both(n(1)))},
		"0 values of field f2 in pipeline 0": {one(0, map[string]any{"f1": n(1)}), one(1, map[string]any{"f1": n(1)})},
		"field f1 is a string":               {one(0, map[string]any{"f1": "x"}), one(1, both(n(1)))},
		"field f3 is a uint64":               {one(0, map[string]any{"f3": n(1)}), one(1, both(n(1)))},
		"cell 5 where cell 0 was expected":   {one(5, both(n(1))), one(6, both(n(1)))},
		"4 values of field f1 in pipeline 0": {one(0, map[string]any{"f1": []any{n(1)}, "a.f1": []any{n(1)}}), one(1, map[string]any{"f1": []any{n(1)}, "a.f1": []any{n(1)}})},
	} {
		if got, err := r.values(list, 0, 1); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}
