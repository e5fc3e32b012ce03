// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
)

// whole is a small program that uses every kind of object, one per line.
const whole = `{"header_types" : [
{"name" : "h_t", "id" : 0, "fields" : [["a", 8, false], ["b", 24, false]]},
{"name" : "v_t", "id" : 1, "fields" : [["n", 8, false], ["v", "*"]], "max_length" : 9},
{"name" : "m_t", "id" : 2, "fields" : [["x", 16, false], ["egress_spec", 9, false], ["s", 8, true]]}],
"headers" : [
{"name" : "h", "id" : 0, "header_type" : "h_t", "metadata" : false},
{"name" : "v", "id" : 1, "header_type" : "v_t", "metadata" : false},
{"name" : "standard_metadata", "id" : 2, "header_type" : "m_t", "metadata" : true},
{"name" : "k[0]", "id" : 3, "header_type" : "h_t", "metadata" : false},
{"name" : "k[1]", "id" : 4, "header_type" : "h_t", "metadata" : false}],
"header_stacks" : [{"name" : "k", "id" : 0, "header_type" : "h_t", "size" : 2, "header_ids" : [3, 4]}],
"field_lists" : [{"id" : 1, "name" : "fl", "elements" : [{"type" : "field", "value" : ["standard_metadata", "x"]}]}],
"parsers" : [{"name" : "parser", "id" : 0, "init_state" : "start", "parse_states" : [
{"name" : "start", "id" : 0, "parser_ops" : [{"parameters" : [{"type" : "regular", "value" : "h"}], "op" : "extract"}],
"transitions" : [{"type" : "hexstr", "value" : "0x01", "mask" : null, "next_state" : "more"}, {"type" : "default", "value" : null, "mask" : null, "next_state" : null}],
"transition_key" : [{"type" : "field", "value" : ["h", "a"]}]},
{"name" : "more", "id" : 1, "parser_ops" : [{"parameters" : [{"type" : "stack", "value" : "k"}], "op" : "extract"}], "transitions" : [], "transition_key" : []}]}],
"deparsers" : [{"name" : "deparser", "id" : 0, "order" : ["h", "k[0]"], "primitives" : []}],
"meter_arrays" : [{"name" : "m", "id" : 0, "is_direct" : false, "size" : 4, "rate_count" : 2, "type" : "bytes"}],
"counter_arrays" : [{"name" : "c", "id" : 0, "size" : 4, "is_direct" : false}],
"register_arrays" : [{"name" : "r", "id" : 0, "size" : 4, "bitwidth" : 16}],
"calculations" : [{"name" : "sum", "id" : 0, "algo" : "csum16", "input" : [{"type" : "field", "value" : ["h", "b"]}]}],
"checksums" : [{"name" : "ck", "id" : 0, "target" : ["h", "a"], "type" : "generic", "calculation" : "sum", "verify" : false, "update" : true, "if_cond" : {"type" : "bool", "value" : true}}],
"actions" : [
{"name" : "act", "id" : 0, "runtime_data" : [{"name" : "p", "bitwidth" : 8}], "primitives" : [
{"op" : "assign", "parameters" : [{"type" : "field", "value" : ["h", "a"]}, {"type" : "runtime_data", "value" : 0}]},
{"op" : "register_write", "parameters" : [{"type" : "register_array", "value" : "r"}, {"type" : "hexstr", "value" : "0x01"}, {"type" : "field", "value" : ["h", "a"]}]},
{"op" : "modify_field_with_hash_based_offset", "parameters" : [{"type" : "field", "value" : ["h", "b"]}, {"type" : "hexstr", "value" : "0x00"}, {"type" : "calculation", "value" : "sum"}, {"type" : "hexstr", "value" : "0x10"}]}]}],
"pipelines" : [{"name" : "ingress", "id" : 0, "init_table" : "t", "tables" : [
{"name" : "t", "id" : 0, "key" : [{"match_type" : "exact", "name" : "h.a", "target" : ["h", "a"], "mask" : null}], "match_type" : "exact", "type" : "simple",
"max_size" : 16, "with_counters" : false, "support_timeout" : false, "direct_meters" : null,
"action_ids" : [0], "actions" : ["act"], "base_default_next" : "if", "next_tables" : {"act" : "if"},
"entries" : [{"match_key" : [{"match_type" : "exact", "key" : "0x07"}], "action_entry" : {"action_id" : 0, "action_data" : ["0x08"]}, "priority" : 1}]}],
"action_profiles" : [], "conditionals" : [{"name" : "if", "id" : 0, "expression" : {"type" : "expression", "value" : {"op" : "==", "left" : {"type" : "field", "value" : ["h", "a"]}, "right" : {"type" : "hexstr", "value" : "0x01"}}}, "false_next" : null, "true_next" : null}]},
{"name" : "egress", "id" : 1, "init_table" : null, "tables" : [], "action_profiles" : [], "conditionals" : []}],
"__meta__" : {"version" : [2, 23], "compiler" : "test"}}`

func load(text string) error {
	p, err := bmv2json.Decode("prog.json", []byte(text))
	if err == nil {
		_, err = Compile(p, Options{})
	}
	return err
}

// Each error names the file, the position, the object and the cause.
func TestMistakesInProgramsAreExplained(t *testing.T) {
	if err := load(whole); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`"version" : [2, 23]`, `"version" : [3, 0]`, "the file has version 3 of the format, expected 2"},
		{`"header_type" : "v_t"`, `"header_type" : "w_t"`, "header v has unknown type w_t"},
		{`["a", 8, false], ["b", 24, false]`, `["a", 7, false], ["b", 24, false]`, "header h has 31 bits, expected a multiple of 8"},
		{`{"name" : "v_t", "id" : 1`, `{"name" : "h_t", "id" : 1`, "header type h_t is declared twice"},
		{`{"name" : "v", "id" : 1`, `{"name" : "h", "id" : 1`, "header h is declared twice"},
		{`["n", 8, false], ["v", "*"]`, `["n", "*"], ["v", "*"]`, "header type v_t has two variable-length fields"},
		{`["s", 8, true]`, `["s", 0, true]`, "signed field s of header type m_t has no bits"},
		{`"header_ids" : [3, 4]`, `"header_ids" : [3, 9]`, "header stack k has unknown header id 9"},
		{`"header_ids" : [3, 4]`, `"header_ids" : [3, 1]`, "header stack k of type h_t has v of type v_t in it"},
		{`"header_ids" : [3, 4]`, `"header_ids" : [3, 3]`, "header k[0] is in header stack k and elsewhere"},
		{`"header_ids" : [3, 4]`, `"header_ids" : []`, "header stack k is empty or of unknown type h_t"},
		{`"init_state" : "start"`, `"init_state" : "begin"`, `unknown parser state begin`},
		{`"next_state" : "more"`, `"next_state" : "mroe"`, `unknown parser state mroe (did you mean "more"?)`},
		{`"value" : "0x01", "mask"`, `"value" : "0x0101", "mask"`, "transition value 0x0101 does not fit the 1 bytes of the key"},
		{`{"type" : "stack", "value" : "k"}`, `{"type" : "stack", "value" : "q"}`, "unknown header q"},
		{`{"type" : "regular", "value" : "h"}`, `{"type" : "regular", "value" : "v"}`, "header v has a variable-length field: extract needs its length"},
		{`"op" : "extract"}],
"transitions" : [{`, `"op" : "extrakt"}],
"transitions" : [{`, "unknown parser operation extrakt"},
		{`"order" : ["h", "k[0]"]`, `"order" : ["h", "x"]`, "deparser emits unknown header x"},
		{`"size" : 4, "rate_count"`, `"size" : 4000000000, "rate_count"`, "meter array m has 4000000000 cells"},
		{`"rate_count" : 2, "type" : "bytes"`, `"rate_count" : 2, "type" : "bits"`, `meter array m counts "bits", expected bytes or packets`},
		{`"size" : 4, "is_direct"`, `"size" : -1, "is_direct"`, "counter array c has -1 cells"},
		{`"size" : 4, "bitwidth" : 16`, `"size" : 400000000, "bitwidth" : 16`, "register array r has 400000000 cells of 16 bits"},
		{`"algo" : "csum16"`, `"algo" : "crc33"`, `unknown hash algorithm crc33 (did you mean "crc32"?)`},
		{`"type" : "generic"`, `"type" : "ipv4"`, `checksum ck has type "ipv4", expected generic`},
		{`"calculation" : "sum", "verify"`, `"calculation" : "som", "verify"`, "checksum ck has unknown calculation som"},
		{`"target" : ["h", "a"], "type"`, `"target" : ["h", "z"], "type"`, "header h has no field z"},
		{`"op" : "assign"`, `"op" : "asign"`, `unknown primitive asign (did you mean "assign"?)`},
		{`, {"type" : "runtime_data", "value" : 0}]`, `]`, "primitive assign has 1 parameters, expected 2"},
		{`"type" : "runtime_data", "value" : 0`, `"type" : "runtime_data", "value" : 3`, "no action parameter 3 here"},
		{`{"type" : "register_array", "value" : "r"}`, `{"type" : "register_array", "value" : "q"}`, "unknown register_array q"},
		{`{"type" : "register_array", "value" : "r"}`, `{"type" : "meter_array", "value" : "m"}`, "parameter 1 of register_write is a meter_array, expected a register_array"},
		{`{"type" : "calculation", "value" : "sum"}`, `{"type" : "calculation", "value" : "mus"}`, "unknown calculation mus"},
		{`"bitwidth" : 8}], "primitives"`, `"bitwidth" : 99999}], "primitives"`, "parameter p of action act has 99999 bits"},
		{`"init_table" : "t"`, `"init_table" : "u"`, "unknown node u"},
		{`"next_tables" : {"act" : "if"}`, `"next_tables" : {"act" : "fi"}`, "unknown node fi"},
		{`"action_ids" : [0]`, `"action_ids" : [7]`, "table t has an action of unknown id 7"},
		{`"match_type" : "exact", "type" : "simple"`, `"match_type" : "fuzzy", "type" : "simple"`, `table t has match type "fuzzy", expected exact, lpm, ternary or range`},
		{`"name" : "h.a", "target" : ["h", "a"]`, `"name" : "h.a", "target" : ["g", "a"]`, "unknown header g"},
		{`"action_data" : ["0x08"]`, `"action_data" : []`, "action act has 0 arguments, expected 1"},
		{`"key" : "0x07"`, `"key" : "0x0707"`, "does not fit"},
		{`"op" : "==", "left"`, `"op" : "=~", "left"`, `unknown operation "=~"`},
		{`"op" : "==", "left" : {"type" : "field", "value" : ["h", "a"]}`, `"op" : "==", "left" : {"type" : "bool", "value" : true}`, "comparison of a boolean with a number"},
		{`{"op" : "==", "left" : {"type" : "field", "value" : ["h", "a"]}, "right"`, `{"op" : "+", "left" : {"type" : "field", "value" : ["h", "a"]}, "right"`, "expression is a number, expected a boolean"},
		{`"op" : "==", "left" : {"type" : "field", "value" : ["h", "a"]}`, `"op" : "==", "left" : {"type" : "expression", "value" : {"op" : "last_stack_index", "left" : null, "right" : {"type" : "header_stack", "value" : "q"}}}`, "unknown header stack q"},
		{`"id" : 1, "init_table" : null`, `"id" : 1, "init_table" : "nowhere"`, "unknown node nowhere"},
	} {
		if strings.Count(whole, tt.old) != 1 {
			t.Errorf("%s is %d times in the program, not once", tt.old, strings.Count(whole, tt.old))
			continue
		}
		err := load(strings.Replace(whole, tt.old, tt.new, 1))
		var list diag.List
		switch {
		case err == nil:
			t.Errorf("%s: no error, want %q", tt.new, tt.want)
		case !errors.As(err, &list), !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s: error %v, want %q", tt.new, err, tt.want)
		case !regexp.MustCompile(`(?m)^prog\.json:\d+:\d+: `).MatchString(err.Error()):
			t.Errorf("%s: error %v has no place", tt.new, err)
		}
	}
}

// A program that is truncated at any byte is an error, never a panic.
func TestProgramCutOff(t *testing.T) {
	for n := 0; n < len(whole); n += 7 {
		if err := load(whole[:n]); err == nil {
			t.Fatalf("the first %d bytes are taken for a program", n)
		}
	}
}

// A file with many mistakes is refused after the first of them: the work and the text
// for all would grow with the square of its size.
func TestErrorsAreLimited(t *testing.T) {
	for list, element := range map[string]string{
		`"parsers" : [`:      `{"name" : "p%d", "id" : %[1]d, "init_state" : "start", "parse_states" : []}, `,
		`"deparsers" : [`:    `{"name" : "d%d", "id" : %[1]d, "order" : ["none"], "primitives" : []}, `,
		`"header_types" : [`: `{"name" : "h_t", "id" : %d, "fields" : []}, `,
		`"field_lists" : [`:  `{"id" : %d, "name" : 7, "elements" : []}, `,
	} {
		var b strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&b, element, i+9)
		}
		err := load(strings.Replace(whole, list, list+b.String(), 1))
		const maxErrors = 200 // of package compile
		var all diag.List
		if !errors.As(err, &all) || len(all) < maxErrors || len(all) > maxErrors+1 {
			t.Errorf("%s: %d errors, want %d", list, len(all), maxErrors)
		}
	}
}
