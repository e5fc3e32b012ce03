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

// Tables of a hostile bfrt.json are errors. Before, a null ended the program, and so
// did a field of 2^62 bits when an entry was written.
func TestHostileTables(t *testing.T) {
	for text, want := range map[string]string{
		`{"tables":[null]}`:                "table 1: it is null",
		`{"tables":[{"id":1}]}`:            "its name has 0 bytes",
		`{"tables":[{"id":1,"name":"b"}]}`: "b has no table_type",
		`{"tables":[{"id":1,"name":"` + strings.Repeat("x", 1025) + `"}]}`:                                                                                         "its name has 1025 bytes",
		`{"tables":[{"name":"a","table_type":"x"},{"id":1,"name":"b","table_type":"x","key":[{"name":"k","type":{"type":"bytes","width":4611686018427387904}}]}]}`: "table 2: b: field \"k\" has 4611686018427387904 bits",
		`{"tables":[{"name":"b","table_type":"x","data":[{"singleton":{"name":"k","type":{"type":"bytes","width":-1}}}]}]}`:                                        "field \"k\" has -1 bits",
		`{"tables":[{"name":"b","table_type":"x","action_specs":[{"id":1,"name":"a","data":[{"name":"k","type":{"width":65537}}]}]}]}`:                             "field \"k\" has 65537 bits",
		`{"tables":[{"name":"b","table_type":"x","size":-1}]}`:                                                                                                     "a size of -1",
		`{"tables":[{"name":"a","table_type":"x","id":7},{"name":"b","table_type":"x","id":7}]}`:                                                                   "have the same id",
		`{"tables":[{"name":"b","table_type":"x","data":[{"singleton":[]}]}]}`:                                                                                     "bfrt.json:",
		`[]`: "bfrt.json:",
		``:   "bfrt.json:",
	} {
		if _, err := ParseInfo([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
	if _, err := ParseInfo([]byte(`{"tables":[{"name":"b","table_type":"x","data":[null]}]}`), []byte(`{}`)); err != nil {
		t.Error(err)
	}
}
