// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// checksums writes a control that verifies or computes checksums. BMv2 has no
// statements there, only checksums, each with a condition.
func (g *generator) checksums(c *ir.Control) {
	verify := c.Role == arch.VerifyChecksum
	want := "update_checksum"
	if verify {
		want = "verify_checksum"
	}
	for _, s := range c.Body {
		call, ok := s.(*ir.Call)
		if !ok || call.Name != want && call.Name != want+"_with_payload" || call.Object != nil {
			g.fail(s.Where(), "only calls of %s and %s_with_payload are allowed here, with arguments that need no computation", want, want)
		}
		g.checksum(call, verify, call.Name != want)
	}
}

func (g *generator) checksum(s *ir.Call, verify, payload bool) {
	calc := g.calculation(s.Args[3].Member)
	calc.SourceInfo = g.where(s.CallSpan)
	for _, x := range leaves(s.Args[1], nil) {
		if !isSimple(x) {
			g.fail(s.CallSpan, "the data of %s must be fields and constants", s.Name)
		}
		v := g.data(x)
		if v.Type == bmv2json.TypeHexStr {
			v.Width = x.Type().Width
		}
		calc.Input = append(calc.Input, v)
	}
	if payload {
		calc.Input = append(calc.Input, &bmv2json.Value{Type: bmv2json.TypePayload})
	}
	target := g.place(s.Args[2].X)
	if target == nil || target.Type != bmv2json.TypeField {
		g.fail(s.CallSpan, "the checksum of %s must be a field", s.Name)
	}
	g.out.Checksums = append(g.out.Checksums, &bmv2json.Checksum{
		Name:        g.unique("cksum"),
		ID:          len(g.out.Checksums),
		SourceInfo:  g.where(s.Span),
		Target:      bmv2json.FieldRef{Header: target.Name, Field: target.Field},
		Type:        "generic",
		Calculation: calc.Name,
		Verify:      verify,
		Update:      !verify,
		IfCond:      g.logic(s.Args[0].X),
	})
}
