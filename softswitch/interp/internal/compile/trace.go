// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// trace emits an instruction that writes a line of a trace.
func (c *compiler) trace(format string, args ...any) {
	c.Prog.Messages = append(c.Prog.Messages, ops.Message{Text: fmt.Sprintf(format, args...)})
	c.emit(ops.Trace, 0, 0, 0, uint64(len(c.Prog.Messages)-1))
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
	c.Prog.Messages = append(c.Prog.Messages, ops.Message{Header: &c.Prog.Extracts[n]})
	c.emit(ops.Trace, 0, 0, 0, uint64(len(c.Prog.Messages)-1))
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
	msg := ops.Message{Text: fmt.Sprintf("    %s.%s = {}", v.Name, v.Field), Args: []ops.FieldAt{{Slot: e.slot, Limbs: e.limbs, Width: e.width, Signed: e.signed()}}}
	c.Prog.Messages = append(c.Prog.Messages, msg)
	c.emit(ops.Trace, 0, 0, 0, uint64(len(c.Prog.Messages)-1))
}
