// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// declare reads the declarations of types and instances.
func (c *compiler) declare() {
	types := map[string]*ops.HeaderType{}
	for _, t := range c.json.HeaderTypes {
		ht := &ops.HeaderType{Name: t.Name, Varbit: -1, MaxBytes: t.MaxLength, Pos: t.Pos}
		if t.LengthExp != nil {
			c.errorf(t.LengthExp.Pos, "header type %s computes its length itself; compile the program with p4c, which passes it to extract", t.Name)
		}
		for i, f := range t.Fields {
			ft := ops.FieldType{Name: f.Name, Width: f.Width, Signed: f.Signed, Saturating: f.Saturating, Bit: ht.Bits, AfterVar: ht.Varbit >= 0, Rel: ops.NoSlot}
			switch {
			case f.Varbit && ht.Varbit >= 0:
				c.errorf(t.Pos, "header type %s has two variable-length fields", t.Name)
			case f.Varbit:
				ht.Varbit = i
			case f.Signed && f.Width < 1:
				c.errorf(t.Pos, "signed field %s of header type %s has no bits", f.Name, t.Name)
			}
			ht.Bits += ft.Width
			ht.Fields = append(ht.Fields, ft)
		}
		if types[t.Name] != nil {
			c.errorf(t.Pos, "header type %s is declared twice", t.Name)
		}
		types[t.Name] = ht
		c.types = append(c.types, ht)
	}
	byID := map[int]*ops.Header{}
	for _, h := range c.json.Headers {
		t := types[h.Type]
		if t == nil {
			c.errorf(h.Pos, "header %s has unknown type %s", h.Name, h.Type)
			continue
		}
		hdr := &ops.Header{Name: h.Name, Type: t, Pos: h.Pos}
		if h.Metadata && t.Varbit < 0 { // p4c puts a varbit variable into "metadata" of its own
			hdr.Use = make([]ops.Use, len(t.Fields))
			hdr.Slots = make([]int, len(t.Fields))
		} else if t.Varbit < 0 && t.Bits%8 != 0 {
			c.errorf(h.Pos, "header %s has %d bits, expected a multiple of 8", h.Name, t.Bits)
		}
		if c.headers[h.Name] != nil {
			c.errorf(h.Pos, "header %s is declared twice", h.Name)
		}
		c.headers[h.Name], byID[h.ID] = hdr, hdr
		c.Order = append(c.Order, hdr)
	}
	member := func(pos diag.Pos, of string, id int) *ops.Header {
		h := byID[id]
		switch {
		case h == nil:
			c.errorf(pos, "%s has unknown header id %d", of, id)
		case h.Slots != nil:
			c.errorf(pos, "%s has metadata %s in it", of, h.Name)
		case h.Stack != nil || h.Union != nil:
			c.errorf(pos, "header %s is in %s and elsewhere", h.Name, of)
		default:
			return h
		}
		return nil
	}
	for _, s := range c.json.HeaderStacks {
		st := &ops.Stack{Name: s.Name, Type: types[s.Type]}
		for _, id := range s.HeaderIDs {
			if h := member(s.Pos, "header stack "+s.Name, id); h != nil {
				if h.Type != st.Type {
					c.errorf(s.Pos, "header stack %s of type %s has %s of type %s in it", s.Name, s.Type, h.Name, h.Type.Name)
				}
				h.Stack = st
				st.Elements = append(st.Elements, h)
			}
		}
		if st.Type == nil || len(st.Elements) == 0 {
			c.errorf(s.Pos, "header stack %s is empty or of unknown type %s", s.Name, s.Type)
			continue
		}
		c.stacks[s.Name] = st
		c.stackOrder = append(c.stackOrder, st)
	}
	unionTypes := map[string]*bmv2json.HeaderUnionType{}
	for _, t := range c.json.HeaderUnionTypes {
		unionTypes[t.Name] = t
	}
	unionByID := map[int]*ops.Union{}
	for _, u := range c.json.HeaderUnions {
		un := &ops.Union{Name: u.Name, Type: unionTypes[u.Type]}
		for _, id := range u.HeaderIDs {
			if h := member(u.Pos, "header union "+u.Name, id); h != nil {
				if i := len(un.Members); un.Type != nil && i < len(un.Type.Headers) && h.Type.Name != un.Type.Headers[i].Type {
					c.errorf(u.Pos, "header union %s of type %s has %s of type %s in it, expected type %s", u.Name, u.Type, h.Name, h.Type.Name, un.Type.Headers[i].Type)
				}
				h.Union = un
				un.Members = append(un.Members, h)
			}
		}
		if un.Type == nil || len(un.Members) == 0 || len(un.Members) != len(un.Type.Headers) {
			c.errorf(u.Pos, "header union %s does not fit its type %s", u.Name, u.Type)
			continue
		}
		c.unions[u.Name], unionByID[u.ID] = un, un
		c.unionOrder = append(c.unionOrder, un)
	}
	for _, s := range c.json.HeaderUnionStacks {
		us := &ops.UnionStack{Name: s.Name}
		for _, id := range s.UnionIDs {
			u := unionByID[id]
			if u == nil || u.Stack != nil || len(us.Elements) > 0 && u.Type != us.Elements[0].Type {
				c.errorf(s.Pos, "header union stack %s does not fit its element of id %d", s.Name, id)
				continue
			}
			u.Stack = us
			us.Elements = append(us.Elements, u)
		}
		if len(us.Elements) == 0 {
			c.errorf(s.Pos, "header union stack %s is empty", s.Name)
			continue
		}
		c.unionStacks[s.Name] = us
		c.unionStackOrder = append(c.unionStackOrder, us)
	}
	for _, a := range c.json.FieldAliases {
		c.aliases[a.Name] = a.Field
	}
}

// allocate assigns slots to the objects that the program uses. All uses must be
// known.
func (c *compiler) allocate() {
	p := c.Prog
	next := 0
	metadata := func(shared bool) {
		for _, h := range c.Order {
			for i := range h.Slots {
				if (h.Use[i]&ops.UseEgress != 0) != shared {
					continue
				}
				h.Slots[i] = ops.NoSlot
				if h.Use[i] != 0 {
					h.Slots[i] = next
					next += bitvec.Limbs(h.Type.Fields[i].Width)
				}
			}
		}
	}
	metadata(false)
	p.Shared = next
	p.Sys = next
	next += ops.SysSlots
	metadata(true)
	p.MetadataEnd = next
	for _, t := range c.types {
		t.Size = t.RelFields()
		for i := range t.Fields {
			f := &t.Fields[i]
			if f.Use != 0 && i != t.Varbit {
				f.Rel = t.Size
				t.Size += bitvec.Limbs(f.Width)
			}
		}
		t.Plan()
	}
	place := func(h *ops.Header) {
		h.Base = next
		next += h.Type.Size
	}
	for _, h := range c.Order {
		if h.Slots == nil && h.Stack == nil && h.Union == nil {
			place(h)
		}
	}
	for _, s := range c.stackOrder {
		s.Next = next
		next++
		s.Base = next
		for _, h := range s.Elements {
			place(h)
		}
	}
	for _, u := range c.unionOrder {
		if u.Stack == nil {
			for _, h := range u.Members {
				place(h)
			}
		}
	}
	for _, s := range c.unionStackOrder {
		s.Next = next
		next++
		for _, u := range s.Elements {
			for _, h := range u.Members {
				place(h)
			}
		}
	}
	p.FieldsEnd = next
	c.Params, p.Params = next, next
	c.temps = next + c.ParamSlots
	c.tempTop = c.temps
	c.TempMax = c.temps
	if next > ops.MaxSlots/2 {
		c.errorf(c.json.Pos, "the program's fields take %d slots, more than %d", next, ops.MaxSlots/2)
	}
}
