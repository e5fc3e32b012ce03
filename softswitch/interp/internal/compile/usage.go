// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// findUses records how the program uses each field, so that unused fields need
// no time and no space.
func (c *compiler) findUses() {
	p := c.json
	for name, u := range c.arch.Fields {
		if h, i, ok := c.lookupField(name); ok {
			c.mark(h, i, u)
		}
	}
	for _, calc := range p.Calculations {
		c.calcsNamed[calc.Name] = append(c.calcsNamed[calc.Name], calc)
	}
	actions := make(map[string][]int) // ids by name
	for _, a := range p.Actions {
		actions[a.Name] = append(actions[a.Name], a.ID)
	}
	meters := make(map[string][]*bmv2json.MeterArray)
	for _, m := range p.MeterArrays {
		meters[m.Name] = append(meters[m.Name], m)
	}
	for _, parser := range p.Parsers {
		gress := c.arch.GressOf(c.arch.Parsers, parser.Name)
		for _, s := range parser.States {
			for _, op := range s.Ops {
				if op.Primitive != nil {
					c.usePrimitive(op.Primitive, gress)
				}
				for i, v := range op.Parameters {
					u := gress
					if op.Op == "set" && i == 0 {
						u |= ops.UseWrite
					}
					c.useValue(v, u)
				}
			}
			for _, v := range s.Key {
				c.useValue(v, gress)
			}
		}
	}
	for _, pl := range p.Pipelines {
		u := c.arch.GressOf(c.arch.Pipelines, pl.Name)
		if c.isDeparser(pl) {
			u = c.arch.GressOf(c.arch.Deparsers, pl.Name)
		}
		for _, t := range pl.Tables {
			for _, k := range t.Key {
				c.useField(k.Target, u, k.Pos)
			}
			if t.DirectMeters != "" {
				for _, m := range meters[t.DirectMeters] {
					if m.ResultTarget != nil {
						c.useField(*m.ResultTarget, u|ops.UseWrite, m.Pos)
					}
				}
			}
			if t.EntryTarget != nil {
				c.useField(*t.EntryTarget, u|ops.UseWrite, t.Pos)
			}
			for _, id := range t.ActionIDs {
				c.useAction(id, u)
			}
			if len(t.ActionIDs) == 0 {
				for _, name := range t.Actions {
					for _, id := range actions[name] {
						c.useAction(id, u)
					}
				}
			}
			if t.DefaultEntry != nil {
				c.useAction(t.DefaultEntry.ActionID, u)
			}
		}
		for _, a := range pl.ActionCalls {
			c.useAction(a.ActionID, u)
		}
		for _, ap := range pl.ActionProfiles {
			if ap.Selector != nil {
				for _, v := range ap.Selector.Input {
					c.useValue(v, u)
				}
			}
		}
		for _, cond := range pl.Conditionals {
			c.useValue(cond.Expression, u)
		}
	}
	for _, d := range p.Deparsers {
		for _, prim := range d.Primitives {
			c.usePrimitive(prim, c.arch.GressOf(c.arch.Deparsers, d.Name))
		}
	}
	for _, k := range p.Checksums {
		u := ops.Use(0)
		if k.Verify {
			u |= ops.UseIngress
		}
		if k.Update {
			u |= ops.UseEgress | ops.UseWrite
		}
		c.useField(k.Target, u, k.Pos)
		c.useValue(k.IfCond, u&^ops.UseWrite)
		c.useCalculation(k.Calculation, u&^ops.UseWrite)
	}
	// What nothing uses is compiled, too, so that its errors are found.
	for _, calc := range p.Calculations {
		if !c.usedCalcs[calc.Name] {
			c.useCalculation(calc.Name, ops.UseIngress)
		}
	}
	// Field lists are copied at the end of both pipelines, and a packet that recirculates has
	// the fields in ingress.
	for _, l := range p.FieldLists {
		for _, v := range l.Elements {
			c.useValue(v, ops.UseIngress|ops.UseEgress|ops.UseSet)
		}
	}
	for _, l := range p.LearnLists {
		for _, v := range l.Elements {
			c.useValue(v, ops.UseIngress|ops.UseEgress)
		}
	}
}

// mark records a use of a field.
func (c *compiler) mark(h *ops.Header, i int, u ops.Use) {
	if h.Slots != nil {
		if u&ops.UseIngress != 0 && u&ops.UseWrite != 0 {
			u |= ops.UseSet
		}
		h.Use[i] |= u
		return
	}
	h.Type.Fields[i].Use |= u
}

func (c *compiler) markAll(t *ops.HeaderType, u ops.Use) {
	for i := range t.Fields {
		t.Fields[i].Use |= u
	}
}

func (c *compiler) useField(ref bmv2json.FieldRef, u ops.Use, pos diag.Pos) {
	if ref.Field == "" || ref.Field == ops.ValidField {
		return
	}
	if h, i, ok := c.field(ref, pos); ok {
		c.mark(h, i, u)
	}
}

func (c *compiler) useAction(id int, u ops.Use) {
	if c.usedActions[id]&u == u {
		return
	}
	c.usedActions[id] |= u
	if a := c.actions[id]; a != nil {
		for _, prim := range a.json.Primitives {
			c.usePrimitive(prim, u)
		}
	}
}

// usePrimitive records the uses of a primitive's parameters. A field parameter
// counts as written. The few that are only read would gain nothing.
func (c *compiler) usePrimitive(p *bmv2json.Primitive, u ops.Use) {
	for i, v := range p.Parameters {
		w := u
		if i == 0 || p.Op == "execute_meter" || p.Op == "execute_meter_aware" {
			w |= ops.UseWrite
		}
		c.useValue(v, w)
	}
	switch p.Op {
	case "mark_to_drop":
		for _, v := range p.Parameters {
			if h := c.headers[v.Name]; h != nil {
				for _, name := range []string{egressSpec, mcastGroup} {
					if i := h.Type.Index(name); i >= 0 {
						c.mark(h, i, u|ops.UseWrite)
					}
				}
			}
		}
	case "add_header", "add_header_fast", "assign_VL":
		// A header that is not as it came is written as a whole.
		for _, v := range p.Parameters {
			for _, t := range c.typesIn(v) {
				c.markAll(t, u|ops.UseWrite)
			}
		}
	}
}

func (c *compiler) useCalculation(name string, u ops.Use) {
	c.usedCalcs[name] = true
	for _, calc := range c.calcsNamed[name] {
		for _, v := range calc.Input {
			c.useValue(v, u)
		}
	}
}

// useValue notes the uses in a value and all that is in it.
func (c *compiler) useValue(v *bmv2json.Value, u ops.Use) {
	if v == nil {
		return
	}
	read := u &^ ops.UseWrite
	switch v.Type {
	case bmv2json.TypeField:
		c.useField(bmv2json.FieldRef{Header: v.Name, Field: v.Field}, u, v.Pos)
	case bmv2json.TypeStackField:
		if s := c.stacks[v.Name]; s != nil {
			if i := s.Type.Index(v.Field); i >= 0 {
				s.Type.Fields[i].Use |= u
			}
		}
	case bmv2json.TypeUnionStackField:
		if h := c.unionStackMember(v.Name, v.Member); h != nil {
			if i := h.Type.Index(v.Field); i >= 0 {
				h.Type.Fields[i].Use |= u
			}
		}
	case bmv2json.TypeCalculation:
		c.useCalculation(v.Name, read)
	case bmv2json.TypeRegister:
		c.useValue(v.Inner, read)
	case bmv2json.TypeParams, bmv2json.TypeFieldList:
		for _, e := range v.List {
			c.useValue(e, read)
		}
	case bmv2json.TypeHeader:
		// In a calculation or comparison; a use as such needs no field.
		if h := c.headers[v.Name]; h != nil && u&ops.UseWrite == 0 && h.Slots == nil {
			c.markAll(h.Type, u)
		}
	case bmv2json.TypeExpression:
		c.useValue(v.Inner, u)
		if v.Op == nil {
			return
		}
		if v.Op.Op == "access_field" {
			for _, t := range c.typesIn(v.Op.Left) {
				if v.Op.Offset >= 0 && v.Op.Offset < len(t.Fields) {
					t.Fields[v.Op.Offset].Use |= u
				}
			}
		}
		if v.Op.Op == "==" || v.Op.Op == "!=" {
			for _, side := range []*bmv2json.Value{v.Op.Left, v.Op.Right} {
				for _, t := range c.typesIn(side) {
					c.markAll(t, read)
				}
			}
		}
		c.useOperand(v.Op.Left, read)
		c.useOperand(v.Op.Right, read)
		c.useOperand(v.Op.Cond, read)
	}
}

// useOperand is useValue for an operand: a header among them is only asked
// for its validity or one field.
func (c *compiler) useOperand(v *bmv2json.Value, u ops.Use) {
	if v != nil && v.Type != bmv2json.TypeHeader {
		c.useValue(v, u)
	}
}

// typesIn returns the types of the headers that a value stands for.
func (c *compiler) typesIn(v *bmv2json.Value) []*ops.HeaderType {
	if v == nil {
		return nil
	}
	switch v.Type {
	case bmv2json.TypeField: // of assign_VL
		if h := c.headers[v.Name]; h != nil && h.Slots == nil {
			return []*ops.HeaderType{h.Type}
		}
	case bmv2json.TypeHeader, bmv2json.TypeRegular:
		if h := c.headers[v.Name]; h != nil && h.Slots == nil {
			return []*ops.HeaderType{h.Type}
		}
	case bmv2json.TypeHeaderStack:
		if s := c.stacks[v.Name]; s != nil {
			return []*ops.HeaderType{s.Type}
		}
	case bmv2json.TypeHeaderUnion:
		if u := c.unions[v.Name]; u != nil {
			return unionMemberTypes(u)
		}
	case bmv2json.TypeUnionStack:
		if s := c.unionStacks[v.Name]; s != nil {
			return unionMemberTypes(s.Elements[0])
		}
	case bmv2json.TypeExpression:
		if v.Inner != nil {
			return c.typesIn(v.Inner)
		}
		switch v.Op.Op {
		case "dereference_header_stack", "dereference_union_stack":
			return c.typesIn(v.Op.Left)
		case "access_union_header":
			if ts := c.typesIn(v.Op.Left); v.Op.Offset >= 0 && v.Op.Offset < len(ts) {
				return ts[v.Op.Offset : v.Op.Offset+1]
			}
		case "?":
			return append(c.typesIn(v.Op.Left), c.typesIn(v.Op.Right)...)
		}
	}
	return nil
}

func unionMemberTypes(u *ops.Union) []*ops.HeaderType {
	var ts []*ops.HeaderType
	for _, h := range u.Members {
		ts = append(ts, h.Type)
	}
	return ts
}
