// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// The same records as a table, as lines and as JSON.
func TestRecordsArePrintedInEachFormat(t *testing.T) {
	columns := []column{inJSON("switch"), both("port"), both("to"), {"burst", "cburst"}, inTable("note"), inJSON("index")}
	in := func(json bool, start func(*printer) *records) string {
		var b strings.Builder
		p := newPrinter(&b, json)
		r := start(p)
		for _, fields := range [][]any{
			{"l1", 7, pairs{{"b", "<1>"}, {"a", "2"}}, int64(12), nil, nil},
			{"l1", 12, pairs{}, int64(3), "née", []string{"x"}},
		} {
			if err := r.add(fields...); err != nil {
				t.Fatal(err)
			}
		}
		r.end("", "2 cells are 0")
		return b.String()
	}
	table := func(p *printer) *records { return p.table("l1 queues", columns...) }
	stream := func(p *printer) *records { return &records{p: p, columns: columns, lines: true} }
	for _, tt := range []struct{ name, got, want string }{
		{"table", in(false, table), "l1 queues\n" +
			"  port  to         burst  note\n" +
			"     7  b=<1> a=2     12\n" +
			"    12                 3  née\n" +
			"  2 cells are 0\n"},
		{"JSON", in(true, table), `{"cburst":12,"port":7,"switch":"l1","to":{"a":"2","b":"<1>"}}` + "\n" +
			`{"cburst":3,"index":["x"],"port":12,"switch":"l1","to":{}}` + "\n"},
		{"JSON stream", in(true, stream), in(true, table)},
	} {
		if tt.got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, tt.got, tt.want)
		}
	}
	var b strings.Builder
	p := newPrinter(&b, false)
	ended := 0
	p.stopAfter(2, func() { ended++ })
	r := p.stream(both("switch"), both("digest"), inJSON("time"), both("fields"))
	for i := range 4 {
		if err := r.add("l1", "fault_t", 5, pairs{{"path", cellOf(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if want := "l1 fault_t path=0\nl1 fault_t path=1\n"; b.String() != want || ended != 1 {
		t.Errorf("lines, 2 of 4: ended %d times after\n%s\nwant once after\n%s", ended, b.String(), want)
	}
}

// Heads stand above an empty list, but not below a title without rows.
func TestEmptyTables(t *testing.T) {
	var b strings.Builder
	p := newPrinter(&b, false)
	p.table("", both("switch"), both("port")).end()
	p.table("l1 rx", both("index")).end("4 cells are 0")
	if want := "switch  port\nl1 rx\n  4 cells are 0\n"; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// JSON has no control character as it is, also none of those from U+0080 to U+009F, and
// reads back as what it was.
func TestJSONHasNoControlCharacters(t *testing.T) {
	name := "a\u009b31mred\u0085\x7f\u001b]0;title\u0007\u2028é"
	var b strings.Builder
	if err := newPrinter(&b, true).stream(both("name")).add(name); err != nil {
		t.Fatal(err)
	}
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if unicode.IsControl(r) {
			t.Errorf("%q has the control character %q", b.String(), r)
		}
	}
	var back struct{ Name string }
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back.Name != name {
		t.Errorf("reads back as %q, %v", back.Name, err)
	}
}
