// SPDX-License-Identifier: Apache-2.0

package bmv2json

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

const forward = "testdata/forward.json"

func TestEncodeInvertsDecode(t *testing.T) {
	data, err := os.ReadFile(forward)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(forward, data)
	if err != nil {
		t.Fatal(err)
	}
	if got := Encode(p); !bytes.Equal(got, data) {
		t.Errorf("Encode(Decode(%s)) differs from it:\n%s", forward, firstDifference(got, data))
	}
	if got := p.Actions[0].Primitives[0].Pos.String(); got != "testdata/forward.json:216:9" {
		t.Errorf("first primitive is at %s", got)
	}
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one ends early"
}

// Every error is reported with its position, several in one run.
func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", " \n", "f.json:2:1: file is empty [json-syntax]"},
		{"cut", `{"errors" : [`, "f.json:1:14: file ends in the middle of the JSON value [json-syntax]"},
		{"comma", "{\n  \"errors\" : [,]\n}", "f.json:2:14: invalid character ',' looking for beginning of value [json-syntax]"},
		{"trailing", "{} {}", "f.json:1:4: unexpected text after the end of the JSON value [json-syntax]"},
		{"not an object", "[1]", "f.json:1:1: the program is an array, expected an object [json-shape]"},
		{"two mistakes", "{\n\"actions\" : [{\"name\" : 7}],\n\"errors\" : [[\"e\"]]}",
			"f.json:2:24: \"name\" is a number, expected a string [json-shape]\n" +
				"f.json:3:13: an element of \"errors\" has 1 elements, expected 2 [json-shape]"},
		{"no name", `{"headers" : [{"id" : 1}]}`,
			"f.json:1:15: an element of \"headers\" has no \"name\" [json-shape]\nf.json:1:15: an element of \"headers\" has no \"header_type\" [json-shape]"},
		{"null element", `{"headers" : [null]}`, "f.json:1:15: an element of \"headers\" is null [json-shape]"},
		{"fraction", `{"headers" : [{"name" : "h", "header_type" : "t", "id" : 1.5}]}`,
			"f.json:1:58: \"id\" is 1.5, expected a whole number that fits 60 bits [json-shape]"},
		{"wide field", `{"header_types" : [{"name" : "h", "fields" : [["f", 2000000]]}]}`,
			"f.json:1:53: field f is 2000000 bits wide, expected 0 to 131072 [json-shape]"},
		{"long calculation", `{"parsers" : [{"name" : "p", "id" : 0, "init_state" : "s", "parse_states" : []}], "pipelines" : [{"name" : "i", "id" : 0, "init_table" : null, "tables" : [], "conditionals" : [], "action_profiles" : []}],
"calculations" : [{"name" : "c", "id" : 0, "algo" : "csum16", "input" : [` + strings.Repeat(`{"type" : "field", "value" : ["h", "f"]}, `, 4096) + `{"type" : "field", "value" : ["h", "f"]}]}]}`,
			"f.json:2:19: calculation c has 4097 inputs, expected at most 4096 [json-shape]"},
		{"many wide fields", `{"parsers" : [{"name" : "p", "id" : 0, "init_state" : "s", "parse_states" : []}], "pipelines" : [{"name" : "i", "id" : 0, "init_table" : null, "tables" : [], "conditionals" : [], "action_profiles" : []}],
"header_types" : [{"name" : "h", "id" : 0, "fields" : [` + strings.Repeat(`["f", 131072], `, 8) + `["g", 1]]}]}`,
			"f.json:2:19: header type h has more than 1048576 bits [json-shape]"},
		{"long lists", `{"parsers" : [{"name" : "p", "id" : 0, "init_state" : "s", "parse_states" : []}], "pipelines" : [{"name" : "i", "id" : 0, "init_table" : null, "tables" : [], "conditionals" : [], "action_profiles" : []}],
"field_lists" : [{"id" : 1, "name" : "l", "elements" : [` + strings.Repeat(`{"type" : "field", "value" : ["h", "f"]}, `, 1<<14) + `{"type" : "field", "value" : ["h", "f"]}]}]}`,
			"f.json:2:18: the lists up to l have 16385 elements together, expected at most 16384 [json-shape]"},
		{"value without type", `{"field_lists" : [{"name" : "l", "elements" : [{"value" : 1}]}]}`,
			"f.json:1:48: an element of \"elements\" has no \"type\" [json-shape]"},
		{"deep", strings.Repeat("[", 6000), "f.json:1:5002: values are nested more than 5000 deep [json-syntax]"},
	} {
		p, err := Decode("f.json", []byte(tt.text))
		if err == nil || err.Error() != tt.want || p != nil {
			t.Errorf("%s: got %v\nwant %s", tt.name, err, tt.want)
		}
	}
}

// BMv2's reader also accepts forms that p4c no longer writes.
func TestDecodeReadsOlderFiles(t *testing.T) {
	p, err := Decode("f.json", []byte(`{
	"parsers" : [{"name" : "p", "init_state" : "s", "parse_states" : [{"name" : "s", "parser_ops" :
		[{"op" : "verify", "parameters" : [{"type" : "bool", "value" : true}, 2]}, {"op" : "shift", "parameters" : [4]}],
		"transitions" : [{"value" : "default", "mask" : null, "next_state" : null}]}]}],
	"checksums" : [{"name" : "c", "target" : ["h", "f"]}],
	"pipelines" : [{"name" : "ingress", "tables" : [{"name" : "t", "match_type" : "exact",
		"key" : [{"match_type" : "valid", "target" : "h"}],
		"entries" : [{"match_key" : [{"match_type" : "valid", "key" : true}], "action_entry" : {"action_id" : 1}}]}]}],
	"unknown" : {}}`))
	if err != nil {
		t.Fatal(err)
	}
	ops := p.Parsers[0].States[0].Ops
	if got := ops[0].Parameters[1].Name; got != "2" {
		t.Errorf("error of verify is %q", got)
	}
	if got := p.Parsers[0].States[0].Transitions[0]; got.Type != "default" || got.Value != "" {
		t.Errorf("transition without a type reads as %+v", got)
	}
	if !p.Checksums[0].Verify || !p.Checksums[0].Update {
		t.Error("a checksum that says nothing is not verified and updated")
	}
	table := p.Pipelines[0].Tables[0]
	if table.Key[0].Target.Header != "h" || table.Entries[0].MatchKey[0].Key != "0x01" {
		t.Errorf("valid match reads as %+v %+v", table.Key[0], table.Entries[0].MatchKey[0])
	}
}

func FuzzDecode(f *testing.F) {
	data, err := os.ReadFile(forward)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"actions" : [{"name" : "a", "primitives" : [{"op" : "drop"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode("f.json", data)
		if (p == nil) == (err == nil) {
			t.Fatalf("Decode returned %v, %v", p, err)
		}
		if p == nil {
			return
		}
		// A decoded program can be encoded, and decodes to the same program.
		text := Encode(p)
		q, err := Decode("g.json", text)
		if err != nil {
			t.Fatalf("own output does not read back: %v\n%s", err, text)
		}
		if again := Encode(q); !bytes.Equal(text, again) {
			t.Fatalf("output changes on the second round:\n%s", firstDifference(again, text))
		}
	})
}
