// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// lab builds programs with one header, h, and one action that ingress executes,
// for tests of the action's effect on the fields.
type lab struct {
	json   *bmv2json.Program
	action *bmv2json.Action
}

// newLab returns a program whose header has these fields, padded to whole
// bytes.
func newLab(fields ...bmv2json.HeaderField) *lab {
	bits := 0
	for _, f := range fields {
		bits += f.Width
	}
	if rest := bits % 8; rest != 0 {
		fields = append(fields, bmv2json.HeaderField{Name: "padding", Width: 8 - rest})
	}
	l := &lab{action: &bmv2json.Action{Name: "act", ID: 1}}
	l.json = &bmv2json.Program{
		HeaderTypes: []*bmv2json.HeaderType{{Name: "h_t", ID: 1, Fields: fields}, {Name: "std_t", ID: 2, Fields: []bmv2json.HeaderField{
			{Name: "egress_spec", Width: 9}, {Name: "egress_port", Width: 9}, {Name: "_padding", Width: 6}}}},
		Headers:   []*bmv2json.Header{{Name: "h", ID: 1, Type: "h_t"}, {Name: "standard_metadata", ID: 2, Type: "std_t", Metadata: true}},
		Parsers:   []*bmv2json.Parser{{Name: "parser", InitState: "start", States: []*bmv2json.ParseState{{Name: "start", Ops: extractHeader(), Transitions: acceptAll()}}}},
		Deparsers: []*bmv2json.Deparser{{Name: "deparser", Order: []string{"h"}}},
		Actions:   []*bmv2json.Action{l.action},
		Pipelines: []*bmv2json.Pipeline{
			{Name: "ingress", InitTable: "call", ActionCalls: []*bmv2json.ActionCall{{Name: "call", ActionID: 1}}},
			{Name: "egress", ID: 1},
		},
	}
	return l
}

func extractHeader() []*bmv2json.ParserOp {
	return []*bmv2json.ParserOp{{Op: "extract", Parameters: []*bmv2json.Value{bmv2json.Named(bmv2json.TypeRegular, "h")}}}
}

func acceptAll() []*bmv2json.Transition { return []*bmv2json.Transition{{Type: "default"}} }

// do adds a primitive to the action.
func (l *lab) do(op string, params ...*bmv2json.Value) {
	l.action.Primitives = append(l.action.Primitives, &bmv2json.Primitive{Op: op, Parameters: params})
}

// machine compiles the program.
func (l *lab) machine(t testing.TB) *Machine {
	t.Helper()
	p, err := Compile(l.json, Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, bmv2json.Encode(l.json))
	}
	return NewMachine(NewState(p, 1))
}

// pass processes a packet and returns the resulting bytes.
func pass(m *Machine, data []byte) []byte {
	f := &packet.Frame{Data: append([]byte(nil), data...)}
	m.Start(f, f.Len())
	m.Parse()
	m.Ingress()
	m.Resume(f, m.Save(nil))
	m.Egress()
	m.Finish()
	return append(f.Data, make([]byte, f.Elided)...)
}

// pack packs numbers as the fields of h.
func (l *lab) pack(values ...*big.Int) []byte {
	fields := l.json.HeaderTypes[0].Fields
	bits := 0
	for _, f := range fields {
		bits += f.Width
	}
	b, at := make([]byte, bits/8), 0
	for i, v := range values {
		w := fields[i].Width
		u := new(big.Int).And(v, new(big.Int).Sub(pow2(w), bigOne))
		limbs := make([]uint64, bitvec.Limbs(w))
		bitvec.FromBytes(limbs, u.Bytes())
		for limb := range limbs {
			n := min(64, w-64*limb)
			ops.PutBits(b, at+w-64*limb-n, n, limbs[limb])
		}
		at += w
	}
	return b
}

// unpack returns the fields of h, signed ones with their sign.
func (l *lab) unpack(b []byte) []*big.Int {
	var values []*big.Int
	at := 0
	for _, f := range l.json.HeaderTypes[0].Fields {
		v := new(big.Int)
		for i := range f.Width {
			v.Lsh(v, 1)
			v.Or(v, new(big.Int).SetUint64(ops.GetBits(b, at+i, 1)))
		}
		if f.Signed && f.Width > 0 && v.Bit(f.Width-1) == 1 {
			v.Sub(v, pow2(f.Width))
		}
		values = append(values, v)
		at += f.Width
	}
	return values
}

// number returns a constant in the notation of the file.
func number(v *big.Int) *bmv2json.Value {
	if v.Sign() < 0 {
		return bmv2json.Hex(fmt.Sprintf("-0x%x", new(big.Int).Neg(v)))
	}
	return bmv2json.Hex(fmt.Sprintf("0x%x", v))
}

func hexOf(n int64) *bmv2json.Value { return number(big.NewInt(n)) }
