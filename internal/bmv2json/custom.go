// SPDX-License-Identifier: Apache-2.0

package bmv2json

import (
	"reflect"
	"strings"
)

// Parts of the file that are tuples, or whose form depends on their type.

// A part is an element of a tuple: its description in messages, and the
// destination of the value, a *string, *int or pointer to a type of this package.
type part struct {
	what string
	to   any
}

// tuple is implemented by types that the file has as arrays of fixed parts.
type tuple interface{ parts() []part }

func (c *Constant) parts() []part {
	return []part{{"a name", &c.Name}, {"the number of a constant", &c.Value}}
}

func (a *FieldAlias) parts() []part {
	return []part{{"an alias", &a.Name}, {"the field of an alias", &a.Field}}
}

func (m *UnionMember) parts() []part {
	return []part{{"a member", &m.Name}, {"a header type", &m.Type}}
}

// parts returns the header's and the field's name. A header alone, for a "valid"
// match, is not a tuple and is handled by decodeNode.
func (f *FieldRef) parts() []part {
	return []part{{"a header name", &f.Header}, {"a field name", &f.Field}}
}

func (f *FieldRef) decodeNode(d *decoder, n *node, what string) {
	if n.kind == str {
		f.Header = n.text
		return
	}
	d.parts(n, f.parts(), what)
}

func (f *FieldRef) encodeNode() *node {
	if f.Field == "" {
		return textNode(f.Header)
	}
	return encodeParts(f.parts())
}

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
			d.errorf(width, "field %s is %d bits wide, expected 0 to %d", f.Name, f.Width, maxFieldBits)
		}
	}
	if len(n.kids) > 2 {
		if sign := n.kids[2]; sign.kind == number { // p4c writes a number for a bool
			f.Signed = d.int(sign, "the sign of field "+f.Name) != 0
		} else {
			f.Signed = d.bool(sign, "the sign of field "+f.Name)
		}
	}
	if len(n.kids) > 3 {
		f.Saturating = d.bool(n.kids[3], "the saturation of field "+f.Name)
	}
}

// maxFieldBits is the greatest width of a field: more than a jumbo frame of 9216 bytes
// has. The time that a field takes when a program is loaded grows with its width.
const maxFieldBits = 1 << 17

func (f *HeaderField) encodeNode() *node {
	if f.Varbit {
		return arrayNode(textNode(f.Name), textNode("*"))
	}
	n := arrayNode(textNode(f.Name), intNode(f.Width), boolNode(f.Signed))
	if f.Saturating {
		n.kids = append(n.kids, boolNode(true))
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
		o.Primitive = &Primitive{}
		d.parts(params, []part{{"a primitive", o.Primitive}}, "\"parameters\"")
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
	t.Type = "hexstr" // the default in old files
	d.object(n, t, what)
	if t.Type == "hexstr" && t.Value == "default" {
		t.Type, t.Value = "default", ""
	}
}

func (m *Match) decodeNode(d *decoder, n *node, what string) {
	if key := n.get("key"); key != nil && key.kind == boolean { // of a "valid" match
		text := "0x00"
		if key.bool {
			text = "0x01"
		}
		*key = *textNode(text)
	}
	d.object(n, m, what)
}

func (m *Match) encodeNode() *node {
	n := encodeFields(reflect.ValueOf(m).Elem())
	if m.MatchType == "valid" {
		*n.get("key") = *boolNode(m.Key == "0x01")
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
	c.Verify, c.Update = true, true
	d.object(n, c, what)
}

// parts returns the parts of a value's "value", or nil if it is not a tuple.
func (v *Value) parts() []part {
	switch v.Type {
	case TypeField, TypeStackField, TypeNextUnion:
		return []part{{"a name", &v.Name}, {"a field name", &v.Field}}
	case TypeUnionStackField:
		return []part{{"a name", &v.Name}, {"a member", &v.Member}, {"a field name", &v.Field}}
	case TypeLookahead:
		return []part{{"an offset", &v.Index}, {"a width", &v.Width}}
	case TypeRegister:
		if v.Inner == nil {
			v.Inner = &Value{}
		}
		return []part{{"a name", &v.Name}, {"the index of a register", v.Inner}}
	}
	return nil
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
	if parts := v.parts(); parts != nil {
		d.parts(value, parts, what)
		return
	}
	switch v.Type {
	case TypeBool:
		v.Bool = d.bool(value, what)
	case TypeRuntimeData, TypeLocal:
		v.Index = d.int(value, what)
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

// hasOffset reports whether the right operand of an operation is the number of
// a field or member.
func (o *Op) hasOffset() bool { return strings.HasPrefix(o.Op, "access_") }

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
	switch right := n.get("right"); {
	case !v.Op.hasOffset():
		v.Op.Right = operand("right")
	case right == nil:
		d.errorf(n, "%s has no right operand", v.Op.Op)
	default:
		v.Op.Offset = d.int(right, "the right operand of "+v.Op.Op)
	}
}

func (v *Value) encodeNode() *node {
	var value *node
	if parts := v.parts(); parts != nil {
		value = encodeParts(parts)
	} else {
		switch v.Type {
		case TypeBool:
			value = boolNode(v.Bool)
		case TypeRuntimeData, TypeLocal:
			value = intNode(v.Index)
		case TypeExpression:
			value = v.encodeExpression()
		case TypeParams, TypeFieldList:
			value = encode(reflect.ValueOf(v.List))
			if len(v.List) == 0 && v.Type == TypeParams {
				value.kind = object
			}
		case TypePayload:
			value = &node{}
		default:
			value = textNode(v.Name)
		}
	}
	n := &node{kind: object}
	n.add("type", textNode(v.Type))
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
	n := &node{kind: object}
	n.add("op", textNode(v.Op.Op))
	n.add("left", encode(reflect.ValueOf(v.Op.Left)))
	if v.Op.hasOffset() {
		n.add("right", intNode(v.Op.Offset))
	} else {
		n.add("right", encode(reflect.ValueOf(v.Op.Right)))
	}
	if v.Op.Cond != nil {
		n.add("cond", v.Op.Cond.encodeNode())
	}
	return n
}
