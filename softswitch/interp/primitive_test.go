// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/packet"
)

// The primitives that P4_16 programs do not name, but that BMv2 has, each on
// x = 0x0f0f, y = 0x00ff, z = 0.
func TestPrimitivesOfP414(t *testing.T) {
	x, y, z := bmv2json.Field("h", "x"), bmv2json.Field("h", "y"), bmv2json.Field("h", "z")
	for _, tt := range []struct {
		op     string
		params []*bmv2json.Value
		want   string // x, y, z
	}{
		{"modify_field", []*bmv2json.Value{z, x}, "0f0f00ff0f0f"},
		{"add_to_field", []*bmv2json.Value{x, y}, "100e00ff0000"},
		{"subtract_from_field", []*bmv2json.Value{y, x}, "0f0ff1f00000"},
		{"add", []*bmv2json.Value{z, x, y}, "0f0f00ff100e"},
		{"subtract", []*bmv2json.Value{z, y, x}, "0f0f00fff1f0"},
		{"bit_xor", []*bmv2json.Value{z, x, y}, "0f0f00ff0ff0"},
		{"bit_or", []*bmv2json.Value{z, x, y}, "0f0f00ff0fff"},
		{"bit_and", []*bmv2json.Value{z, x, y}, "0f0f00ff000f"},
		{"shift_left", []*bmv2json.Value{z, y, hexOf(12)}, "0f0f00fff000"},
		{"shift_right", []*bmv2json.Value{z, x, hexOf(8)}, "0f0f00ff000f"},
		{"shift_left", []*bmv2json.Value{z, y, hexOf(1 << 40)}, "0f0f00ff0000"},
		{"modify_field_rng_uniform", []*bmv2json.Value{z, hexOf(9), hexOf(9)}, "0f0f00ff0009"},
		{"modify_field_rng_uniform", []*bmv2json.Value{x, hexOf(9), hexOf(8)}, "0f0f00ff0000"}, // no number: x stays
		{"no_op", nil, "0f0f00ff0000"},
		{"add_header", []*bmv2json.Value{bmv2json.Named(bmv2json.TypeHeader, "g")}, "0f0f00ff000000"},
		{"remove_header", []*bmv2json.Value{bmv2json.Named(bmv2json.TypeHeader, "h")}, ""},
		{"truncate", []*bmv2json.Value{hexOf(3)}, "0f0f00"},
		{"truncate", []*bmv2json.Value{hexOf(300)}, "0f0f00ff0000"},
		{"truncate", []*bmv2json.Value{hexOf(0)}, ""},
	} {
		l := newLab(bmv2json.HeaderField{Name: "x", Width: 16}, bmv2json.HeaderField{Name: "y", Width: 16}, bmv2json.HeaderField{Name: "z", Width: 16})
		l.json.HeaderTypes = append(l.json.HeaderTypes, &bmv2json.HeaderType{Name: "g_t", ID: 9, Fields: []bmv2json.HeaderField{{Name: "x", Width: 8}}})
		l.json.Headers = append(l.json.Headers, &bmv2json.Header{Name: "g", ID: 9, Type: "g_t"})
		l.json.Deparsers[0].Order = []string{"h", "g"}
		l.do(tt.op, tt.params...)
		if got := hex.EncodeToString(pass(l.machine(t), []byte{0x0f, 0x0f, 0, 0xff, 0, 0})); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.op, got, tt.want)
		}
	}
}

// copy_header and assign_header copy validity too: after copying an invalid
// header, the destination is invalid.
func TestCopiesOfHeaders(t *testing.T) {
	for _, op := range []string{"copy_header", "assign_header"} {
		l := newLab(bmv2json.HeaderField{Name: "x", Width: 8})
		l.json.Headers = append(l.json.Headers, &bmv2json.Header{Name: "g", ID: 9, Type: "h_t"})
		l.json.Deparsers[0].Order = []string{"h", "g"}
		h, g := bmv2json.Named(bmv2json.TypeHeader, "h"), bmv2json.Named(bmv2json.TypeHeader, "g")
		l.do(op, g, h)
		l.do("assign", bmv2json.Field("h", "x"), hexOf(2))
		if got := pass(l.machine(t), []byte{1, 0xaa}); !bytes.Equal(got, []byte{2, 1, 0xaa}) {
			t.Errorf("%s: %x", op, got)
		}
		l.action.Primitives = nil
		l.do(op, h, g)
		if got := pass(l.machine(t), []byte{1, 0xaa}); !bytes.Equal(got, []byte{0xaa}) {
			t.Errorf("%s of nothing: %x", op, got)
		}
	}
}

// Jumps in an action: the second assignment is executed or skipped.
func TestJumpsInActions(t *testing.T) {
	l := newLab(bmv2json.HeaderField{Name: "x", Width: 8}, bmv2json.HeaderField{Name: "y", Width: 8})
	l.do("_jump_if_zero", bmv2json.Field("h", "x"), hexOf(3))
	l.do("assign", bmv2json.Field("h", "y"), hexOf(1))
	l.do("_jump", hexOf(4))
	l.do("assign", bmv2json.Field("h", "y"), hexOf(2))
	m := l.machine(t)
	for x, y := range map[byte]byte{0: 2, 5: 1} {
		if got := pass(m, []byte{x, 0}); got[1] != y {
			t.Errorf("with %d: %d, want %d", x, got[1], y)
		}
	}
	// An infinite loop fails the packet, not the switch.
	l.action.Primitives = nil
	l.do("_jump", hexOf(0))
	m = l.machine(t)
	var log []string
	m.Log = func(s string) { log = append(log, s) }
	pass2 := func() bool { // without pass's egress, which starts anew
		f := &packet.Frame{Data: []byte{1, 2}}
		m.Start(f, f.Len())
		m.Parse()
		m.Ingress()
		return m.Ask.Failed
	}
	if !pass2() || len(log) != 1 || !strings.Contains(log[0], "a loop does not end") {
		t.Errorf("the loop ended: %q", log)
	}
}

// A pipeline may return to a node, as for a loop that applies a table: here until
// x is zero. A loop that does not end fails the packet.
func TestPipelinesThatLoop(t *testing.T) {
	l := newLab(bmv2json.HeaderField{Name: "x", Width: 8}, bmv2json.HeaderField{Name: "y", Width: 8})
	x, y := bmv2json.Field("h", "x"), bmv2json.Field("h", "y")
	l.do("assign", x, bmv2json.Wrap(bmv2json.Expr("-", x, hexOf(1))))
	l.do("assign", y, bmv2json.Wrap(bmv2json.Expr("+", y, hexOf(2))))
	ingress := l.json.Pipelines[0]
	ingress.InitTable, ingress.ActionCalls = "cond", nil
	ingress.Conditionals = []*bmv2json.Conditional{{Name: "cond", Expression: bmv2json.Wrap(bmv2json.Expr("!=", x, hexOf(0))), TrueNext: "t"}}
	ingress.Tables = []*bmv2json.Table{{Name: "t", MatchType: "exact", Type: "simple", MaxSize: 4,
		Key:       []*bmv2json.Key{{MatchType: "exact", Name: "h.x", Target: bmv2json.FieldRef{Header: "h", Field: "x"}}},
		ActionIDs: []int{1}, Actions: []string{"act"}, NextTables: []bmv2json.NextTable{{Action: "act", Node: "cond"}},
		DefaultEntry: &bmv2json.DefaultEntry{ActionID: 1}}}
	for _, options := range []Options{{}, {Plain: true}} {
		p, err := Compile(l.json, options)
		if err != nil {
			t.Fatal(err)
		}
		m := NewMachine(NewState(p, 1))
		for x := range 20 {
			if got := pass(m, []byte{byte(x), 1}); got[0] != 0 || got[1] != byte(1+2*x) {
				t.Errorf("with %d: %d", x, got)
			}
		}
	}
	ingress.Conditionals[0].Expression = bmv2json.Wrap(bmv2json.Expr("==", y, y))
	m := l.machine(t)
	f := &packet.Frame{Data: []byte{1, 2}}
	m.Start(f, f.Len())
	m.Parse()
	m.Ingress()
	if !m.Ask.Failed {
		t.Error("the loop ended")
	}
}

// A parser that returns to a state without consuming bytes ends with
// ParserTimeout. One that consumes bytes ends with the packet.
func TestParsersThatLoop(t *testing.T) {
	l := newLab(bmv2json.HeaderField{Name: "x", Width: 8})
	state := l.json.Parsers[0].States[0]
	state.Ops = nil
	state.Transitions = []*bmv2json.Transition{{Type: "default", Next: "start"}}
	m := l.machine(t)
	f := &packet.Frame{Data: make([]byte, 100)}
	m.Start(f, f.Len())
	m.Parse()
	if got := m.state.Program.ErrorName(m.Ask.ParserError); got != "ParserTimeout" {
		t.Errorf("parser error %s, want ParserTimeout", got)
	}
	state.Ops = extractHeader()
	m = l.machine(t)
	m.Start(f, f.Len())
	m.Parse()
	if got := m.state.Program.ErrorName(m.Ask.ParserError); got != "PacketTooShort" || m.cur != 100 {
		t.Errorf("parser error %s after %d bytes, want PacketTooShort after 100", got, m.cur)
	}
}

// Bytes that are not in memory are zeros: they can be extracted, looked ahead,
// hashed and truncated.
func TestElidedBytesAreZeros(t *testing.T) {
	l := newLab(bmv2json.HeaderField{Name: "x", Width: 32})
	l.do("assign", bmv2json.Field("h", "x"), bmv2json.Wrap(bmv2json.Expr("+", bmv2json.Field("h", "x"), hexOf(1))))
	m := l.machine(t)
	f := &packet.Frame{Data: []byte{0xab, 0xcd}, Elided: 10}
	m.Start(f, f.Len())
	m.Parse()
	m.Ingress()
	m.Finish()
	if !bytes.Equal(f.Data, []byte{0xab, 0xcd, 0, 1}) || f.Elided != 8 {
		t.Errorf("%x and %d zeros, want abcd0001 and 8", f.Data, f.Elided)
	}
}

// The fields of a digest, wide ones included.
func TestDigestHasTheFields(t *testing.T) {
	l := newLab(bmv2json.HeaderField{Name: "x", Width: 8}, bmv2json.HeaderField{Name: "y", Width: 80})
	l.json.LearnLists = []*bmv2json.FieldList{{ID: 4, Name: "d", Elements: []*bmv2json.Value{bmv2json.Field("h", "y"), bmv2json.Field("h", "x")}}}
	l.do("generate_digest", hexOf(0), hexOf(4))
	m := l.machine(t)
	f := &packet.Frame{Data: []byte{7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}
	m.Start(f, f.Len())
	m.Parse()
	m.Ingress()
	number, values, ok := m.Digest(m.Ask.Digest)
	if !ok || number != 0 || len(values) != 2 || !slices.Equal(values[0], []uint64{0x030405060708090a, 0x0102}) || !slices.Equal(values[1], []uint64{7}) {
		t.Errorf("digest %d %x %v", number, values, ok)
	}
}
