// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
)

// A packet's fields live in slots of 64 bits, f[0], f[1], …; a field wider
// than that has several, low bits first. A signed field is kept sign-extended.
//
//	fields of metadata that only parser and ingress use
//	─ shared ─ what a packet keeps while it is queued:
//	fields of metadata that egress uses too
//	one block for each header: its validity, where its bytes are, its fields
//	stack counters, what the architecture keeps (sysSlots)
//	─ fieldsEnd ─ not cleared from packet to packet:
//	action parameters, temporaries, constants
//
// Only fields that some part of the program uses have slots. The deparser
// leaves the bytes of others in the packet unchanged.
type slot = uint16

// maxSlots limits the slots of a program, because slot numbers have 16 bits.
const maxSlots = 1 << 16

// noSlot marks a field that the program does not use.
const noSlot = -1

// headerType is the layout of a header and of the block of each instance.
type headerType struct {
	name   string
	fields []fieldType
	bits   int // of the fixed-width fields
	varbit int // index of the variable-length field, or −1
	// maxBytes limits a header with a variable-length field; 0 is no limit.
	maxBytes int
	size     int      // slots of a block
	loads    []move   // for extraction
	stores   []move   // for deparsing over the packet's bytes
	all      []move   // for deparsing a header that was not extracted
	words    []bytes8 // as all, if the header has at least eight bytes and no variable-length field
	pos      diag.Pos
}

// Positions in a block.
const (
	relValid  = 0 // 1 if the header is valid
	relOffset = 1 // offset of its bytes in the packet, plus one; 0: none
	relDirty  = 2 // of simple headers: a bit for each of the type's stores to execute
	relVarLen = 3 // bits of the varbit field, if the type has one
	relVarOff = 4 // its offset in the packet, in bits
)

func (t *headerType) relFields() int {
	if t.varbit >= 0 {
		return 5
	}
	return 3
}

type fieldType struct {
	name       string
	width      int // 0 for the varbit field
	signed     bool
	saturating bool
	bit        int // offset in the header; the varbit field counts 0
	afterVar   bool
	use        use
	rel        int // position in a block, or noSlot
}

// use is how a program uses a field.
type use uint8

const (
	useIngress use = 1 << iota // parser, checks after it, ingress
	useEgress                  // egress and everything after it
	useWrite                   // assigned, apart from extraction
)

// header is a header or metadata instance.
type header struct {
	name string
	typ  *headerType
	base int // of its block; metadata has none
	// slots of the fields of metadata; nil for headers
	slots []int
	union *union
	stack *stack
	use   []use // metadata: of the fields
	// simple is true if the deparser writes only fields marked in relDirty.
	simple bool
	pos    diag.Pos
}

// field returns the first slot of a field, or noSlot.
func (h *header) field(i int) int {
	if h.slots != nil {
		return h.slots[i]
	}
	if rel := h.typ.fields[i].rel; rel >= 0 {
		return h.base + rel
	}
	return noSlot
}

// stack is an array of headers with adjacent blocks.
type stack struct {
	name     string
	typ      *headerType
	elements []*header
	base     int
	next     int // slot of the counter
}

// union is a header union whose members have adjacent blocks.
type union struct {
	name    string
	typ     *bmv2json.HeaderUnionType
	members []*header
	stack   *unionStack
}

// siblings returns the distances of the other members' blocks from that of
// member i.
func (u *union) siblings(i int) []int {
	var rel []int
	for j, h := range u.members {
		if j != i {
			rel = append(rel, h.base-u.members[i].base)
		}
	}
	return rel
}

// unionStack is an array of unions.
type unionStack struct {
	name     string
	elements []*union
	next     int
}

func (s *unionStack) stride() int {
	if len(s.elements) < 2 {
		return 0
	}
	return s.elements[1].members[0].base - s.elements[0].members[0].base
}

// declare reads the declarations of types and instances.
func (c *compiler) declare() {
	types := map[string]*headerType{}
	for _, t := range c.json.HeaderTypes {
		ht := &headerType{name: t.Name, varbit: -1, maxBytes: t.MaxLength, pos: t.Pos}
		if t.LengthExp != nil {
			c.errorf(t.LengthExp.Pos, "header type %s computes its length itself; compile the program with p4c, which passes it to extract", t.Name)
		}
		for i, f := range t.Fields {
			ft := fieldType{name: f.Name, width: f.Width, signed: f.Signed, saturating: f.Saturating, bit: ht.bits, afterVar: ht.varbit >= 0, rel: noSlot}
			switch {
			case f.Varbit && ht.varbit >= 0:
				c.errorf(t.Pos, "header type %s has two variable-length fields", t.Name)
			case f.Varbit:
				ht.varbit = i
			case f.Signed && f.Width < 1:
				c.errorf(t.Pos, "signed field %s of header type %s has no bits", f.Name, t.Name)
			}
			ht.bits += ft.width
			ht.fields = append(ht.fields, ft)
		}
		if types[t.Name] != nil {
			c.errorf(t.Pos, "header type %s is declared twice", t.Name)
		}
		types[t.Name] = ht
		c.types = append(c.types, ht)
	}
	byID := map[int]*header{}
	for _, h := range c.json.Headers {
		t := types[h.Type]
		if t == nil {
			c.errorf(h.Pos, "header %s has unknown type %s", h.Name, h.Type)
			continue
		}
		hdr := &header{name: h.Name, typ: t, pos: h.Pos}
		if h.Metadata && t.varbit < 0 { // p4c puts a varbit variable into "metadata" of its own
			hdr.use = make([]use, len(t.fields))
			hdr.slots = make([]int, len(t.fields))
		} else if t.varbit < 0 && t.bits%8 != 0 {
			c.errorf(h.Pos, "header %s has %d bits, expected a multiple of 8", h.Name, t.bits)
		}
		if c.headers[h.Name] != nil {
			c.errorf(h.Pos, "header %s is declared twice", h.Name)
		}
		c.headers[h.Name], byID[h.ID] = hdr, hdr
		c.order = append(c.order, hdr)
	}
	member := func(pos diag.Pos, of string, id int) *header {
		h := byID[id]
		switch {
		case h == nil:
			c.errorf(pos, "%s has unknown header id %d", of, id)
		case h.slots != nil:
			c.errorf(pos, "%s has metadata %s in it", of, h.name)
		case h.stack != nil || h.union != nil:
			c.errorf(pos, "header %s is in %s and elsewhere", h.name, of)
		default:
			return h
		}
		return nil
	}
	for _, s := range c.json.HeaderStacks {
		st := &stack{name: s.Name, typ: types[s.Type]}
		for _, id := range s.HeaderIDs {
			if h := member(s.Pos, "header stack "+s.Name, id); h != nil {
				if h.typ != st.typ {
					c.errorf(s.Pos, "header stack %s of type %s has %s of type %s in it", s.Name, s.Type, h.name, h.typ.name)
				}
				h.stack = st
				st.elements = append(st.elements, h)
			}
		}
		if st.typ == nil || len(st.elements) == 0 {
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
	unionByID := map[int]*union{}
	for _, u := range c.json.HeaderUnions {
		un := &union{name: u.Name, typ: unionTypes[u.Type]}
		for _, id := range u.HeaderIDs {
			if h := member(u.Pos, "header union "+u.Name, id); h != nil {
				if i := len(un.members); un.typ != nil && i < len(un.typ.Headers) && h.typ.name != un.typ.Headers[i].Type {
					c.errorf(u.Pos, "header union %s of type %s has %s of type %s in it, expected type %s", u.Name, u.Type, h.name, h.typ.name, un.typ.Headers[i].Type)
				}
				h.union = un
				un.members = append(un.members, h)
			}
		}
		if un.typ == nil || len(un.members) == 0 || len(un.members) != len(un.typ.Headers) {
			c.errorf(u.Pos, "header union %s does not fit its type %s", u.Name, u.Type)
			continue
		}
		c.unions[u.Name], unionByID[u.ID] = un, un
		c.unionOrder = append(c.unionOrder, un)
	}
	for _, s := range c.json.HeaderUnionStacks {
		us := &unionStack{name: s.Name}
		for _, id := range s.UnionIDs {
			u := unionByID[id]
			if u == nil || u.stack != nil || len(us.elements) > 0 && u.typ != us.elements[0].typ {
				c.errorf(s.Pos, "header union stack %s does not fit its element of id %d", s.Name, id)
				continue
			}
			u.stack = us
			us.elements = append(us.elements, u)
		}
		if len(us.elements) == 0 {
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

// Slots that the architecture and the machine use in every packet.
const (
	sysPayload    = iota // offset of the unparsed rest of the packet
	sysTruncate          // maximum length after deparsing, plus one; 0: none
	sysLength            // simple_switch's packet length register
	sysIngressLen        // length on arrival, for counters and meters
	sysExit              // set by exit until the pipeline ends
	sysSlots
)

// allocate assigns slots to the objects that the program uses. All uses must be
// known.
func (c *compiler) allocate() {
	p := c.prog
	next := 0
	metadata := func(shared bool) {
		for _, h := range c.order {
			for i := range h.slots {
				if (h.use[i]&useEgress != 0) != shared {
					continue
				}
				h.slots[i] = noSlot
				if h.use[i] != 0 {
					h.slots[i] = next
					next += bitvec.Limbs(h.typ.fields[i].width)
				}
			}
		}
	}
	metadata(false)
	p.shared = next
	p.sys = next
	next += sysSlots
	metadata(true)
	p.metadataEnd = next
	for _, t := range c.types {
		t.size = t.relFields()
		for i := range t.fields {
			f := &t.fields[i]
			if f.use != 0 && i != t.varbit {
				f.rel = t.size
				t.size += bitvec.Limbs(f.width)
			}
		}
		t.plan()
	}
	place := func(h *header) {
		h.base = next
		next += h.typ.size
	}
	for _, h := range c.order {
		if h.slots == nil && h.stack == nil && h.union == nil {
			place(h)
		}
	}
	for _, s := range c.stackOrder {
		s.next = next
		next++
		s.base = next
		for _, h := range s.elements {
			place(h)
		}
	}
	for _, u := range c.unionOrder {
		if u.stack == nil {
			for _, h := range u.members {
				place(h)
			}
		}
	}
	for _, s := range c.unionStackOrder {
		s.next = next
		next++
		for _, u := range s.elements {
			for _, h := range u.members {
				place(h)
			}
		}
	}
	p.fieldsEnd = next
	c.params, p.params = next, next
	c.temps = next + c.paramSlots
	c.tempTop = c.temps
	c.tempMax = c.temps
	if next > maxSlots/2 {
		c.errorf(c.json.Pos, "the program's fields take %d slots, more than %d", next, maxSlots/2)
	}
}
