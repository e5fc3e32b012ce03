// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/bmv2json"
)

// Selections by bytes lead to the same state as selections by fields, for headers of
// any layout, values that no field has, and packets that end anywhere.
func TestSelectionByBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	byBytes, taken := 0, 0
	for range 200 {
		fields := []bmv2json.HeaderField{{Name: "mark", Width: 8}}
		for range 2 + rng.IntN(6) {
			fields = append(fields, bmv2json.HeaderField{Name: fmt.Sprint("f", len(fields)), Width: 1 + rng.IntN(33)})
		}
		l := newLab(fields...)
		l.do("assign", bmv2json.Field("standard_metadata", "egress_spec"), bmv2json.Field("h", "mark"))
		state := l.json.Parsers[0].States[0]
		var ones []byte // the bits of the key's fields
		for _, i := range rng.Perm(len(fields) - 1)[:2] {
			state.Key = append(state.Key, bmv2json.Field("h", fields[i+1].Name))
			width := fields[i+1].Width
			ones = append(ones, byte(1<<((width+7)%8+1)-1))
			for range (width - 1) / 8 {
				ones = append(ones, 0xff)
			}
		}
		state.Transitions = nil
		for i := range 1 + rng.IntN(4) {
			value, mask := make([]byte, len(ones)), make([]byte, len(ones))
			for j := range value {
				// Few bits, so that packets of few bits match.
				value[j], mask[j] = byte(rng.Uint32()&rng.Uint32()&rng.Uint32()&rng.Uint32()), byte(rng.Uint32()&rng.Uint32())
				if rng.IntN(20) > 0 {
					value[j] &= ones[j]
				}
			}
			tr := &bmv2json.Transition{Type: "hexstr", Value: fmt.Sprintf("0x%x", value), Next: fmt.Sprint("s", i)}
			if rng.IntN(3) > 0 {
				tr.Mask = fmt.Sprintf("0x%x", mask)
			}
			state.Transitions = append(state.Transitions, tr)
			l.json.Parsers[0].States = append(l.json.Parsers[0].States, &bmv2json.ParseState{Name: tr.Next, Transitions: acceptAll(), Ops: []*bmv2json.ParserOp{
				{Op: "set", Parameters: []*bmv2json.Value{bmv2json.Field("h", "mark"), hexOf(int64(i + 1))}}}})
		}
		state.Transitions = append(state.Transitions, acceptAll()...)
		fast, err := Compile(l.json, Options{})
		if err != nil {
			t.Fatal(err)
		}
		plain, err := Compile(l.json, Options{Plain: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(fast.code.ByteMatches) > 0 {
			byBytes++
		}
		size := 0
		for _, f := range l.json.HeaderTypes[0].Fields {
			size += f.Width
		}
		for range 40 {
			data := make([]byte, max(0, size/8-2+rng.IntN(12)))
			for i := range data {
				data[i] = byte(rng.Uint32() & rng.Uint32() & rng.Uint32() & rng.Uint32())
			}
			if len(data) > 0 {
				data[0] = 0
			}
			got, want := runFuzzed(fast, data, chained), runFuzzed(plain, data, saved)
			if got != want {
				t.Fatalf("by bytes\n%s\nby fields\n%s\nof %x, program\n%s", got, want, data, bmv2json.Encode(l.json))
			}
			if !strings.Contains(got, fmt.Sprintf("\n%x ", data)) {
				taken++
			}
		}
	}
	if byBytes < 100 || taken < 800 {
		t.Errorf("%d of 200 programs select by bytes, and %d of 8000 packets have left the default", byBytes, taken)
	}
}
