// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// trace emits an instruction that writes a line of a trace.
func (c *compiler) trace(format string, args ...any) {
	c.prog.messages = append(c.prog.messages, message{text: fmt.Sprintf(format, args...)})
	c.emit(iTrace, 0, 0, 0, uint64(len(c.prog.messages)-1))
}

// posOf returns where in the P4 text an object is, in brackets, or "".
func posOf(s *bmv2json.SourceInfo) string {
	if s == nil {
		return ""
	}
	return "   [" + sourcePos(s) + "]"
}

// traceExtract emits an instruction that traces the fields of an extracted header.
func (c *compiler) traceExtract(n int) {
	c.prog.messages = append(c.prog.messages, message{header: &c.prog.extracts[n]})
	c.emit(iTrace, 0, 0, 0, uint64(len(c.prog.messages)-1))
}

// extracted returns the text of a header that was just extracted.
func (m *Machine) extracted(x *extraction) string {
	base, name := x.base, x.name
	if x.next >= 0 {
		n := int(m.f[x.next]) - 1
		if n < 0 || n >= x.n {
			return "extract " + name
		}
		base, name = base+n*x.stride, fmt.Sprintf("%s[%d]", name, n)
	}
	v := HeaderValue{Name: name, Fields: m.fieldsOf(&header{name: name, typ: x.typ, base: base}, base)}
	return "extract " + v.String()
}

func (c *compiler) tracePrimitive(p *bmv2json.Primitive) {
	text := p.Op
	if p.SourceInfo != nil {
		text = strings.Join(strings.Fields(p.SourceInfo.Fragment), " ") + "   [" + sourcePos(p.SourceInfo) + "]"
	}
	c.trace("  %s", text)
}

// traceResult traces the field that a primitive wrote.
func (c *compiler) traceResult(p *bmv2json.Primitive) {
	i := 0
	switch p.Op {
	case "assign", "modify_field", "register_read", "modify_field_rng_uniform", "modify_field_with_hash_based_offset", "add_to_field",
		"subtract_from_field", "add", "subtract", "bit_and", "bit_or", "bit_xor", "shift_left", "shift_right":
	case "execute_meter":
		i = 2
	default:
		return
	}
	v := p.Parameters[i]
	if v.Type != bmv2json.TypeField {
		return
	}
	e := c.expr(v)
	if e.op != opField || e.slot < 0 {
		return
	}
	msg := message{text: fmt.Sprintf("    %s.%s = {}", v.Name, v.Field), args: []fieldAt{{e.slot, e.limbs, e.width, e.signed()}}}
	c.prog.messages = append(c.prog.messages, msg)
	c.emit(iTrace, 0, 0, 0, uint64(len(c.prog.messages)-1))
}

// number formats the value of a field.
func (m *Machine) number(f fieldAt) string {
	limbs := append([]uint64(nil), m.f[f.slot:f.slot+f.limbs]...)
	x := new(big.Int)
	if f.signed && int64(limbs[len(limbs)-1]) < 0 {
		zero := make([]uint64, len(limbs))
		bitvec.Sub(limbs, zero, limbs)
		x.SetBytes(bitvec.AppendBytes(nil, limbs, 8*len(limbs)))
		return "-" + x.String()
	}
	bitvec.Mask(limbs, f.width)
	return x.SetBytes(bitvec.AppendBytes(nil, limbs, 8*len(limbs))).String()
}

// format replaces the braces of a message by values, as in log_msg: \{ is a
// brace.
func (m *Machine) format(msg *message) string {
	if msg.header != nil {
		return m.extracted(msg.header)
	}
	var b strings.Builder
	arg := 0
	text := msg.text
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == '{' || text[i+1] == '}'):
			i++
			b.WriteByte(text[i])
		case text[i] == '{' && arg < len(msg.args):
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				b.WriteByte('{')
				continue
			}
			b.WriteString(m.number(msg.args[arg]))
			arg++
			i += end
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
