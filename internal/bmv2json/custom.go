// SPDX-License-Identifier: Apache-2.0

package bmv2json

import "reflect"

// What the file writes as a tuple, or in a shape that depends on its type.

func (f *FieldRef) decodeNode(d *decoder, n *node, what string) {
	if n.kind == str { // the key of a "valid" match names a header
		f.Header = n.text
		return
	}
	if d.tuple(n, 2, 2, what) {
		f.Header, f.Field = d.text(n.kids[0], "a header name"), d.text(n.kids[1], "a field name")
	}
}

func (f *FieldRef) encodeNode() *node {
	if f.Field == "" {
		return textNode(f.Header)
	}
	return arrayNode(textNode(f.Header), textNode(f.Field))
}

func (c *Constant) decodeNode(d *decoder, n *node, what string) {
	if d.tuple(n, 2, 2, what) {
		c.Name, c.Value = d.text(n.kids[0], "a name"), d.int(n.kids[1], "the number of "+n.kids[0].text)
	}
}

func (c *Constant) encodeNode() *node { return arrayNode(textNode(c.Name), intNode(c.Value)) }

func (a *FieldAlias) decodeNode(d *decoder, n *node, what string) {
	a.Pos = n.pos
	if d.tuple(n, 2, 2, what) {
		a.Name = d.text(n.kids[0], "an alias")
		a.Field.decodeNode(d, n.kids[1], "the field of an alias")
	}
}

func (a *FieldAlias) encodeNode() *node {
	return arrayNode(textNode(a.Name), a.Field.encodeNode())
}

func (m *UnionMember) decodeNode(d *decoder, n *node, what string) {
	if d.tuple(n, 2, 2, what) {
		m.Name, m.Type = d.text(n.kids[0], "a member"), d.text(n.kids[1], "a header type")
	}
}

func (m *UnionMember) encodeNode() *node { return arrayNode(textNode(m.Name), textNode(m.Type)) }

func (f *HeaderField) decodeNode(d *decoder, n *node, what string) {
	if !d.tuple(n, 2, 4, what) {
		return
	}
	f.Name = d.text(n.kids[0], "a field name")
	switch width := n.kids[1]; {
	case width.kind == str && width.text == "*":
		f.Varbit = true
	default:
		f.Width = d.int(width, "the width of field "+f.Name)
		if f.Width < 0 || f.Width > maxFieldBits {
			d.errorf(width, "field %s is %d bits wide, want 0 to %d", f.Name, f.Width, maxFieldBits)
		}
	}
	if len(n.kids) > 2 {
		if sign := n.kids[2]; sign.kind == number { // p4c's way with a bool
			f.Signed = d.int(sign, "the sign of field "+f.Name) != 0
		} else {
			f.Signed = d.bool(sign, "the sign of field "+f.Name)
		}
	}
	if len(n.kids) > 3 {
		f.Saturating = d.bool(n.kids[3], "the saturation of field "+f.Name)
	}
}

// maxFieldBits bounds the width of a field, against a file that would have a
// packet take all memory. A header fits a jumbo frame.
const maxFieldBits = 1 << 20

func (f *HeaderField) encodeNode() *node {
	if f.Varbit {
		return arrayNode(textNode(f.Name), textNode("*"))
	}
	n := arrayNode(textNode(f.Name), intNode(f.Width), &node{kind: boolean, bool: f.Signed})
	if f.Saturating {
		n.kids = append(n.kids, &node{kind: boolean, bool: true})
	}
	return n
}

func (t *NextTables) decodeNode(d *decoder, n *node, what string) {
	if n.kind == null || !d.want(n, object, what) {
		return
	}
	for i, kid := range n.kids {
		next := NextTable{Action: n.keys[i]}
		if kid.kind != null {
			next.Node = d.text(kid, "a next table")
		}
		*t = append(*t, next)
	}
}

func (t *NextTables) encodeNode() *node {
	n := &node{kind: object}
	for _, next := range *t {
		kid := &node{}
		if next.Node != "" {
			kid = textNode(next.Node)
		}
		n.add(next.Action, kid)
	}
	return n
}

func (o *ParserOp) decodeNode(d *decoder, n *node, what string) {
	if !d.want(n, object, what) {
		return
	}
	o.Pos = n.pos
	op, params := n.get("op"), n.get("parameters")
	if op == nil || params == nil {
		d.errorf(n, "a parser operation needs \"op\" and \"parameters\"")
		return
	}
	o.Op = d.text(op, "\"op\"")
	if o.Op == "primitive" {
		if d.tuple(params, 1, 1, "\"parameters\"") {
			o.Primitive = &Primitive{}
			d.decode(params.kids[0], reflect.ValueOf(o.Primitive).Elem(), "a primitive")
		}
		return
	}
	d.decode(params, reflect.ValueOf(&o.Parameters).Elem(), "\"parameters\"")
}

func (o *ParserOp) encodeNode() *node {
	n := &node{kind: object}
	if o.Primitive != nil {
		n.add("parameters", arrayNode(encode(reflect.ValueOf(o.Primitive))))
	} else {
		n.add("parameters", encode(reflect.ValueOf(o.Parameters)))
	}
	n.add("op", textNode(o.Op))
	return n
}

func (t *Transition) decodeNode(d *decoder, n *node, what string) {
	if !d.want(n, object, what) {
		return
	}
	type plain Transition
	t.Type = "hexstr" // where an old file leaves it out
	d.fields(n, reflect.ValueOf((*plain)(t)).Elem(), what)
	if t.Type == "hexstr" && t.Value == "default" {
		t.Type, t.Value = "default", ""
	}
}

func (t *Transition) encodeNode() *node {
	type plain Transition
	return encode(reflect.ValueOf((*plain)(t)))
}

func (m *Match) decodeNode(d *decoder, n *node, what string) {
	if !d.want(n, object, what) {
		return
	}
	type plain Match
	if key := n.get("key"); key != nil && key.kind == boolean { // of a "valid" match
		text := "0x00"
		if key.bool {
			text = "0x01"
		}
		*key = *textNode(text)
	}
	d.fields(n, reflect.ValueOf((*plain)(m)).Elem(), what)
}

func (m *Match) encodeNode() *node {
	type plain Match
	n := encode(reflect.ValueOf((*plain)(m)))
	if m.MatchType == "valid" {
		*n.get("key") = node{kind: boolean, bool: m.Key == "0x01"}
	}
	return n
}

func (a *Attribute) decodeNode(d *decoder, n *node, what string) {
	if !d.want(n, object, what) {
		return
	}
	if name := n.get("name"); name != nil {
		a.Name = d.text(name, "\"name\"")
	}
	a.Value = &Value{}
	a.Value.decodeNode(d, n, what)
}

func (a *Attribute) encodeNode() *node {
	n := &node{kind: object}
	n.add("name", textNode(a.Name))
	v := a.Value.encodeNode()
	n.keys, n.kids = append(n.keys, v.keys...), append(n.kids, v.kids...)
	return n
}

func (c *Checksum) decodeNode(d *decoder, n *node, what string) {
	if !d.want(n, object, what) {
		return
	}
	type plain Checksum
	c.Verify, c.Update = true, true
	d.fields(n, reflect.ValueOf((*plain)(c)).Elem(), what)
}

func (c *Checksum) encodeNode() *node {
	type plain Checksum
	return encode(reflect.ValueOf((*plain)(c)))
}

func (v *Value) decodeNode(d *decoder, n *node, what string) {
	v.Pos = n.pos
	if n.kind == number { // verify, shift: a bare number
		v.Type, v.Name = TypeHexStr, n.text
		d.int(n, what)
		return
	}
	if !d.want(n, object, what) {
		return
	}
	typ, value := n.get("type"), n.get("value")
	if typ == nil {
		d.errorf(n, "%s has no \"type\"", what)
		return
	}
	v.Type = d.text(typ, "\"type\"")
	if value == nil {
		value = &node{pos: n.pos}
	}
	what = "the value of a " + v.Type
	switch v.Type {
	case TypeField, TypeStackField, TypeNextUnion:
		if d.tuple(value, 2, 2, what) {
			v.Name, v.Field = d.text(value.kids[0], "a name"), d.text(value.kids[1], "a field name")
		}
	case TypeUnionStackField:
		if d.tuple(value, 3, 3, what) {
			v.Name, v.Member, v.Field = d.text(value.kids[0], "a name"), d.text(value.kids[1], "a member"), d.text(value.kids[2], "a field name")
		}
	case TypeBool:
		v.Bool = d.bool(value, what)
	case TypeRuntimeData, TypeLocal:
		v.Index = d.int(value, what)
	case TypeLookahead:
		if d.tuple(value, 2, 2, what) {
			v.Index, v.Width = d.int(value.kids[0], "an offset"), d.int(value.kids[1], "a width")
		}
	case TypeRegister:
		if d.tuple(value, 2, 2, what) {
			v.Name = d.text(value.kids[0], "a name")
			v.Inner = &Value{}
			v.Inner.decodeNode(d, value.kids[1], "the index of a register")
		}
	case TypeExpression:
		v.decodeExpression(d, value)
	case TypeParams, TypeFieldList:
		if value.kind == object && len(value.kids) == 0 { // p4c's empty list
			return
		}
		d.decode(value, reflect.ValueOf(&v.List).Elem(), what)
	case TypePayload:
	default:
		v.Name = d.text(value, what)
		if w := n.get("bitwidth"); w != nil {
			v.Width = d.int(w, "\"bitwidth\"")
		}
	}
}

// decodeExpression reads an operation, or an operand in a wrapper.
func (v *Value) decodeExpression(d *decoder, n *node) {
	if !d.want(n, object, "the value of an expression") {
		return
	}
	op := n.get("op")
	if op == nil {
		v.Inner = &Value{}
		v.Inner.decodeNode(d, n, "the operand of an expression")
		return
	}
	v.Op = &Op{Op: d.text(op, "\"op\""), Pos: n.pos}
	operand := func(key string) *Value {
		kid := n.get(key)
		if kid == nil || kid.kind == null {
			return nil
		}
		o := &Value{}
		o.decodeNode(d, kid, "the "+key+" operand of "+v.Op.Op)
		return o
	}
	v.Op.Left, v.Op.Cond = operand("left"), operand("cond")
	switch v.Op.Op {
	case "access_field", "access_union_header":
		if right := n.get("right"); right != nil {
			v.Op.Offset = d.int(right, "the right operand of "+v.Op.Op)
		} else {
			d.errorf(n, "%s has no right operand", v.Op.Op)
		}
	default:
		v.Op.Right = operand("right")
	}
}

func (v *Value) encodeNode() *node {
	n := &node{kind: object}
	n.add("type", textNode(v.Type))
	value := &node{}
	switch v.Type {
	case TypeField, TypeStackField, TypeNextUnion:
		value = arrayNode(textNode(v.Name), textNode(v.Field))
	case TypeUnionStackField:
		value = arrayNode(textNode(v.Name), textNode(v.Member), textNode(v.Field))
	case TypeBool:
		value = &node{kind: boolean, bool: v.Bool}
	case TypeRuntimeData, TypeLocal:
		value = intNode(v.Index)
	case TypeLookahead:
		value = arrayNode(intNode(v.Index), intNode(v.Width))
	case TypeRegister:
		value = arrayNode(textNode(v.Name), v.Inner.encodeNode())
	case TypeExpression:
		value = v.encodeExpression()
	case TypeParams, TypeFieldList:
		if len(v.List) == 0 && v.Type == TypeParams {
			value = &node{kind: object}
		} else {
			value = encode(reflect.ValueOf(v.List))
		}
	case TypePayload:
	default:
		value = textNode(v.Name)
	}
	n.add("value", value)
	if v.Width != 0 && v.Type != TypeLookahead {
		n.add("bitwidth", intNode(v.Width))
	}
	return n
}

func (v *Value) encodeExpression() *node {
	if v.Op == nil {
		return v.Inner.encodeNode()
	}
	operand := func(v *Value) *node {
		if v == nil {
			return &node{}
		}
		return v.encodeNode()
	}
	n := &node{kind: object}
	n.add("op", textNode(v.Op.Op))
	n.add("left", operand(v.Op.Left))
	switch v.Op.Op {
	case "access_field", "access_union_header":
		n.add("right", intNode(v.Op.Offset))
	default:
		n.add("right", operand(v.Op.Right))
	}
	if v.Op.Cond != nil {
		n.add("cond", v.Op.Cond.encodeNode())
	}
	return n
}
