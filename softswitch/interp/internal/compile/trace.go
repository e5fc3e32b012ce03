// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"
	"regexp"
	"slices"
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
	if text != c.said {
		c.trace("  %s", text)
	}
	c.said = ""
	if temporary(p) {
		c.said = text
	}
}

// temporaries are the compiler's names of what it computes before a statement.
var temporaries = regexp.MustCompile(`^tmp(_\d+)?$`)

// temporary reports whether a primitive computes a part of a statement in a variable that the
// statement does not name.
func temporary(p *bmv2json.Primitive) bool {
	if p.Op != "assign" || p.SourceInfo == nil || strings.Contains(p.SourceInfo.Fragment, "tmp") {
		return false
	}
	v := p.Parameters[0]
	return v.Type == bmv2json.TypeField && v.Name == "scalars" && temporaries.MatchString(v.Field)
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
	name := v.Name + "." + v.Field
	if local, ok := strings.CutPrefix(name, "scalars."); ok {
		name = local
		if member, ok := strings.CutPrefix(local, "userMetadata."); ok {
			name = "metadata." + member
		}
	}
	if temporary(p) {
		name = "a value in it"
	}
	msg := ops.Message{Text: fmt.Sprintf("    %s = {}", name), Name: name, Args: []ops.FieldAt{{Slot: e.slot, Limbs: e.limbs, Width: e.width, Signed: e.signed()}}}
	c.Prog.Messages = append(c.Prog.Messages, msg)
	c.emit(ops.Trace, 0, 0, 0, uint64(len(c.Prog.Messages)-1))
}

// invalid emits an instruction that traces a line if a header is not valid.
func (c *compiler) invalid(h *ops.Header, format string, args ...any) {
	c.Prog.Messages = append(c.Prog.Messages, ops.Message{Text: fmt.Sprintf(format, args...), Invalid: h})
	c.emit(ops.Trace, 0, 0, 0, uint64(len(c.Prog.Messages)-1))
}

// lost traces that an assignment is to a field of a header that is not valid.
func (c *compiler) lost(v *bmv2json.Value) {
	if h := c.headers[v.Name]; v.Type == bmv2json.TypeField && v.Field != ops.ValidField && h != nil && h.Slots == nil {
		c.invalid(h, "    note: header %s is not valid: what is assigned to it is lost (setValid comes first)", v.Name)
	}
}

// unread traces the headers of an expression that are not valid, unless it asks whether they
// are.
func (c *compiler) unread(v *bmv2json.Value, indent string) {
	asked, read := make(map[string]bool), []string(nil)
	var walk func(v *bmv2json.Value)
	walk = func(v *bmv2json.Value) {
		if v == nil {
			return
		}
		if h := c.headers[v.Name]; v.Type == bmv2json.TypeField && h != nil && h.Slots == nil {
			if v.Field == ops.ValidField {
				asked[v.Name] = true
			} else if !slices.Contains(read, v.Name) {
				read = append(read, v.Name)
			}
		}
		walk(v.Inner)
		for _, e := range v.List {
			walk(e)
		}
		if op := v.Op; op != nil {
			walk(op.Left)
			walk(op.Right)
			walk(op.Cond)
		}
	}
	walk(v)
	for _, name := range read {
		if !asked[name] {
			c.invalid(c.headers[name], "%snote: header %s is not valid: its fields have no values", indent, name)
		}
	}
}

// unset returns why a field of metadata with these uses has no value in the pipeline that is
// generated, or "".
func (c *compiler) unset(u ops.Use) string {
	switch {
	case u&ops.UseWrite == 0:
		return "nothing in the program sets it"
	case c.gress == ops.UseIngress && u&ops.UseSet == 0:
		return "only egress sets it, which is after ingress"
	}
	return ""
}

// neverSet traces the fields of an expression that no packet and no action sets.
func (c *compiler) neverSet(v *bmv2json.Value, indent string, seen map[string]bool) {
	if v == nil {
		return
	}
	if h := c.headers[v.Name]; v.Type == bmv2json.TypeField && h != nil && h.Slots != nil && !ofArchitecture[h.Name] && !seen[v.Name+"."+v.Field] {
		seen[v.Name+"."+v.Field] = true
		ref := bmv2json.FieldRef{Header: v.Name, Field: v.Field}
		if member, meta := strings.CutPrefix(v.Field, "userMetadata."); meta {
			if h, n, ok := c.field(ref, v.Pos); ok {
				if why := c.unset(h.Use[n]); why != "" {
					c.trace("%sthe metadata's %s is 0: %s", indent, member, why)
				}
			}
		}
	}
	c.neverSet(v.Inner, indent, seen)
	for _, e := range v.List {
		c.neverSet(e, indent, seen)
	}
	if op := v.Op; op != nil {
		c.neverSet(op.Left, indent, seen)
		c.neverSet(op.Right, indent, seen)
		c.neverSet(op.Cond, indent, seen)
	}
}
