// SPDX-License-Identifier: Apache-2.0

package bmv2json

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
)

// Codes of the diagnostics of this package.
const (
	CodeSyntax diag.Code = "json-syntax"
	CodeShape  diag.Code = "json-shape"
)

// Decode reads a file. The name is used in error messages, which have file, line
// and column. The error is a diag.List of all errors. Decode ignores keys that
// the format does not have, as BMv2 does. It checks the types of values only; the
// loader checks that the names refer to objects.
func Decode(name string, data []byte) (*Program, error) {
	root, err := parse(name, data)
	if err != nil {
		return nil, err
	}
	d := &decoder{}
	p := &Program{}
	d.decode(root, reflect.ValueOf(p).Elem(), "the program")
	if len(d.list) == 0 && (len(p.Parsers) == 0 || len(p.Pipelines) == 0) {
		d.errorf(root, "not a BMv2 program: it has no parsers or no pipelines")
	}
	for _, c := range p.Calculations {
		if c != nil && len(c.Input) > maxInputs {
			d.list.Errorf(c.Pos, CodeShape, "calculation %s has %d inputs, expected at most %d", c.Name, len(c.Input), maxInputs)
		}
	}
	if len(d.list) == 0 {
		d.sizes(p)
	}
	if err := d.list.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// sizes reports what is too large as a whole, though its parts are not.
func (d *decoder) sizes(p *Program) {
	widths := make(map[string]int)
	for _, t := range p.HeaderTypes {
		if t == nil {
			continue
		}
		bits := 0
		for i := range t.Fields {
			bits = min(bits+t.Fields[i].Width, maxHeaderBits+1)
		}
		if bits > maxHeaderBits {
			d.list.Errorf(t.Pos, CodeShape, "header type %s has more than %d bits", t.Name, maxHeaderBits)
		}
		widths[t.Name] = bits
	}
	all := 0
	for _, h := range p.Headers {
		if h == nil {
			continue
		}
		if all = min(all+widths[h.Type], maxAllBits+1); all > maxAllBits {
			d.list.Errorf(h.Pos, CodeShape, "the headers up to %s have more than %d bits together", h.Name, maxAllBits)
			break
		}
	}
	for _, lists := range [][]*FieldList{p.FieldLists, p.LearnLists} {
		elements := 0
		for _, l := range lists {
			if l == nil {
				continue
			}
			if elements += len(l.Elements); elements > maxElements {
				d.list.Errorf(l.Pos, CodeShape, "the lists up to %s have %d elements together, expected at most %d", l.Name, elements, maxElements)
				break
			}
		}
	}
}

// Limits of a program as a whole. The time and the memory that it takes to load grow
// with them.
const (
	maxHeaderBits = 1 << 20 // of a header or struct
	maxAllBits    = 1 << 24 // of all headers
	maxElements   = 1 << 14 // of all field lists, and of all learn lists
)

// maxInputs is the greatest number of inputs of a calculation: as many as a large frame has
// words of 16 bits. Loading takes time that grows with its square.
const maxInputs = 1 << 12

// Encode returns the file. Equal programs give equal bytes.
func Encode(p *Program) []byte {
	return append(encode(reflect.ValueOf(p)).append(nil, 0), '\n')
}

// Types with a special form in the file, for decoding, encoding or both.
type (
	decodable interface {
		decodeNode(d *decoder, n *node, what string)
	}
	encodable interface{ encodeNode() *node }
)

type decoder struct{ list diag.List }

// maxErrors is the number of errors that are reported.
const maxErrors = 200

func (d *decoder) errorf(n *node, format string, args ...any) {
	if len(d.list) >= maxErrors {
		return
	}
	d.list.Errorf(n.pos, CodeShape, format, args...)
}

// want reports whether n has the given kind, and adds an error otherwise.
func (d *decoder) want(n *node, k kind, what string) bool {
	if n.kind != k {
		d.errorf(n, "%s is %v, expected %v", what, n.kind, k)
	}
	return n.kind == k
}

// tuple reports whether n is an array of lo to hi elements.
func (d *decoder) tuple(n *node, lo, hi int, what string) bool {
	if !d.want(n, array, what) {
		return false
	}
	if len(n.kids) < lo || len(n.kids) > hi {
		d.errorf(n, "%s has %d elements, expected %d", what, len(n.kids), lo)
		return false
	}
	return true
}

func (d *decoder) text(n *node, what string) string {
	if !d.want(n, str, what) {
		return ""
	}
	return n.text
}

func (d *decoder) int(n *node, what string) int {
	if !d.want(n, number, what) {
		return 0
	}
	i, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || i > math.MaxInt64/8 || i < math.MinInt64/8 {
		d.errorf(n, "%s is %s, expected a whole number that fits 60 bits", what, n.text)
		return 0
	}
	return int(i)
}

func (d *decoder) bool(n *node, what string) bool {
	return d.want(n, boolean, what) && n.bool
}

// decode reads n into v. What describes n in messages.
func (d *decoder) decode(n *node, v reflect.Value, what string) {
	if v.CanAddr() {
		switch c := v.Addr().Interface().(type) {
		case decodable:
			c.decodeNode(d, n, what)
			return
		case tuple:
			d.parts(n, c.parts(), what)
			setPos(v, n)
			return
		}
	}
	switch v.Kind() {
	case reflect.String:
		if n.kind != null {
			v.SetString(d.text(n, what))
		}
	case reflect.Int:
		if n.kind == null {
			return
		}
		v.SetInt(int64(d.int(n, what)))
	case reflect.Bool:
		v.SetBool(d.bool(n, what))
	case reflect.Pointer:
		if n.kind == null {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, v.Elem(), what)
	case reflect.Slice:
		if n.kind == null || !d.want(n, array, what) {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.kids), len(n.kids)))
		for i, kid := range n.kids {
			if kid.kind == null {
				d.errorf(kid, "an element of %s is null", what)
				continue
			}
			d.decode(kid, v.Index(i), "an element of "+what)
		}
	case reflect.Struct:
		d.object(n, v.Addr().Interface(), what)
	default:
		panic("BUG: no JSON for " + v.Type().String())
	}
}

// parts reads an array with one element per part.
func (d *decoder) parts(n *node, parts []part, what string) {
	if d.tuple(n, len(parts), len(parts), what) {
		for i, p := range parts {
			d.decode(n.kids[i], reflect.ValueOf(p.to).Elem(), p.what)
		}
	}
}

// object reads the keys of an object into the fields of the struct that to
// points to.
func (d *decoder) object(n *node, to any, what string) {
	if !d.want(n, object, what) {
		return
	}
	v := reflect.ValueOf(to).Elem()
	for _, f := range fieldsOf(v.Type()) {
		if f.index < 0 {
			continue
		}
		if kid := n.get(f.key); kid != nil {
			d.decode(kid, v.Field(f.index), strconv.Quote(f.key))
		} else if f.required {
			d.errorf(n, "%s has no %q", what, f.key)
		}
	}
	setPos(v, n)
}

// setPos sets the struct's field Pos, if it has one.
func setPos(v reflect.Value, n *node) {
	if pos := v.FieldByName("Pos"); pos.IsValid() {
		pos.Set(reflect.ValueOf(n.pos))
	}
}

// field describes the form of a struct field in the file.
type field struct {
	index     int
	key       string
	omitEmpty bool
	required  bool
}

// fieldsOf returns the fields of a struct that are in the file. Those without
// which an object has no meaning, such as names, are required.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag.Get("json")
		key, opts, _ := strings.Cut(tag, ",")
		if key == "" || key == "-" {
			continue
		}
		fields = append(fields, field{
			index:     i,
			key:       key,
			omitEmpty: opts == "omitempty",
			required: opts == "" && slices.Contains([]string{"name", "op", "header_type", "union_type", "bitwidth",
				"init_state", "match_type", "algo", "action_id", "expression", "parse_states"}, key),
		})
	}
	return fields
}

// encode converts a value to a node.
func encode(v reflect.Value) *node {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return &node{}
	}
	p := v
	if v.CanAddr() {
		p = v.Addr()
	}
	switch c := p.Interface().(type) {
	case encodable:
		return c.encodeNode()
	case tuple:
		return encodeParts(c.parts())
	}
	switch v.Kind() {
	case reflect.String:
		return textNode(v.String())
	case reflect.Int:
		return intNode(int(v.Int()))
	case reflect.Bool:
		return boolNode(v.Bool())
	case reflect.Pointer:
		return encode(v.Elem())
	case reflect.Slice:
		n := &node{kind: array}
		for i := range v.Len() {
			n.kids = append(n.kids, encode(v.Index(i)))
		}
		return n
	case reflect.Struct:
		return encodeFields(v)
	}
	panic("BUG: no JSON for " + v.Type().String())
}

// encodeFields converts a struct to an object.
func encodeFields(v reflect.Value) *node {
	n := &node{kind: object}
	for _, f := range fieldsOf(v.Type()) {
		value := v.Field(f.index)
		if f.omitEmpty && value.IsZero() {
			continue
		}
		kid := encode(value)
		if kid.kind == str && kid.text == "" && nullable[f.key] {
			kid = &node{}
		}
		n.add(f.key, kid)
	}
	return n
}

func encodeParts(parts []part) *node {
	n := &node{kind: array}
	for _, p := range parts {
		n.kids = append(n.kids, encode(reflect.ValueOf(p.to)))
	}
	return n
}

// nullable has the keys whose empty string is written as null.
var nullable = map[string]bool{
	"next_state": true, "value": true, "mask": true, "init_table": true, "base_default_next": true,
	"true_next": true, "false_next": true, "next_node": true, "direct_meters": true,
}

func (n *node) add(key string, kid *node) {
	n.keys = append(n.keys, key)
	n.kids = append(n.kids, kid)
}

func textNode(s string) *node { return &node{kind: str, text: s} }
func boolNode(b bool) *node   { return &node{kind: boolean, bool: b} }
func intNode(i int) *node     { return &node{kind: number, text: strconv.Itoa(i)} }

func arrayNode(kids ...*node) *node { return &node{kind: array, kids: kids} }
