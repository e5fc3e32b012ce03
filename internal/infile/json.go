// SPDX-License-Identifier: Apache-2.0

package infile

import (
	"bufio"
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
)

// Memory is the greatest size in bytes of the values of a text of JSON.
const Memory = 2 << 30

// DisallowUnknownFields makes unknown keys an error.
func DisallowUnknownFields(d *json.Decoder) { d.DisallowUnknownFields() }

// JSONFrom decodes what r delivers, at most Data bytes, as JSON does.
func JSONFrom(r io.Reader, v any, set ...func(*json.Decoder)) error {
	text, err := jsonText(r, "JSON", Data)
	if err != nil {
		return err
	}
	return JSON(text, v, set...)
}

// ReadJSON reads a file of at most Data bytes, unless it begins as no list or object
// of JSON does.
func ReadJSON(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return jsonText(f, name, Data)
}

// ErrNotJSON is the cause of the error for a file that begins otherwise.
var ErrNotJSON = errors.New("it is not JSON: neither an object nor a list")

func jsonText(r io.Reader, name string, most int64) ([]byte, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if head = bytes.TrimLeft(head, " \t\r\n"); len(head) > 0 && head[0] != '{' && head[0] != '[' {
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrNotJSON}
	}
	return From(b, name, most)
}

// JSON decodes a text with one value of JSON into v, a pointer, unless the result
// would take more than Memory. A short text can stand for large values: an empty
// list may be an event of 40 bytes, an empty object a run of a thousand.
func JSON(text []byte, v any, set ...func(*json.Decoder)) error {
	_, err := Weighed(text, v, Memory, set...)
	return err
}

// Weighed is JSON with another limit. It returns the memory that the values take at
// most.
func Weighed(text []byte, v any, most int64, set ...func(*json.Decoder)) (weight int64, err error) {
	w := weigher{text: text, left: most, fields: make(map[reflect.Type]map[string]reflect.Type)}
	w.value(reflect.TypeOf(v).Elem(), 0)
	if weight = most - w.left; w.left < 0 {
		return weight, fmt.Errorf("%w: its values take more than %s of memory", ErrSize, size(most))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for _, f := range set {
		f(d)
	}
	if err := d.Decode(v); err != nil {
		return weight, Located(text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return weight, errors.New("there is text after the end of the JSON value")
	}
	return weight, nil
}

// Located returns an error of decoding a text of JSON with its line and column, and in
// words that do not name types of Go.
func Located(text []byte, err error) error {
	var offset int64
	switch e := err.(type) {
	case *json.SyntaxError:
		offset = e.Offset
	case *json.UnmarshalTypeError:
		offset = e.Offset
		var keys []string
		for key := range strings.SplitSeq(e.Field, ".") {
			if bytes.Contains(text, []byte(`"`+key+`"`)) { // not the name of an embedded struct
				keys = append(keys, key)
			}
		}
		what := strings.Join(keys, ".")
		if what == "" {
			what = "the value"
		}
		err = fmt.Errorf("%s is %s, must be %s", what, e.Value, kindOf(e.Type))
	default:
		if errors.Is(err, io.ErrUnexpectedEOF) {
			offset, err = int64(len(text)), errors.New("unexpected end of the text")
		} else {
			return err
		}
	}
	before := text[:max(0, min(offset, int64(len(text)))-1)]
	return fmt.Errorf("line %d, column %d: %w", 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'), err)
}

// kindOf names what a value of JSON must be to be decoded as a t.
func kindOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number of up to %d bits from 0", t.Bits())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of up to %d bits", t.Bits())
	}
	return "of another type"
}

// weigher goes through a text together with the type that it is decoded into, and
// subtracts the memory of what the decoder allocates. It stops at an error of
// syntax, which the decoder reports before it allocates anything.
type weigher struct {
	text   []byte
	i      int
	left   int64
	fields map[reflect.Type]map[string]reflect.Type
}

// Memory besides the elements themselves, estimated: lists have grown to at most
// twice their length, and maps have spare room.
const (
	growth   = 2
	mapEntry = 48
	anyValue = 32
)

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	anything        = reflect.TypeFor[any]()
)

// value weighs the next value, which is decoded into a t, whose own size has been
// counted. With t nil it is skipped.
func (w *weigher) value(t reflect.Type, depth int) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		w.left -= int64(t.Size())
	}
	own := false // it has a decoder of its own, which gets the text
	if t != nil {
		p := reflect.PointerTo(t)
		own = p.Implements(unmarshaler) || p.Implements(textUnmarshaler)
	}
	from := w.i
	var inner reflect.Type
	if !own {
		inner = t
	}
	ok := w.part(inner, depth)
	if own {
		w.left -= growth * int64(w.i-from)
	}
	return ok && w.left >= 0
}

func (w *weigher) part(t reflect.Type, depth int) bool {
	w.space()
	if w.i >= len(w.text) || depth > 10_000 { // the decoder's own limit
		return false
	}
	switch w.text[w.i] {
	case '{':
		return w.object(t, depth)
	case '[':
		return w.list(t, depth)
	case '"':
		from := w.i
		if !w.string() {
			return false
		}
		if t != nil {
			w.left -= int64(w.i - from)
		}
		return true
	}
	for w.i < len(w.text) && !strings.ContainsRune(",]} \t\r\n", rune(w.text[w.i])) {
		w.i++
	}
	return true
}

func (w *weigher) list(t reflect.Type, depth int) bool {
	var elem reflect.Type
	cost := int64(0)
	switch {
	case t == nil:
	case t.Kind() == reflect.Slice:
		elem, cost = t.Elem(), growth*int64(t.Elem().Size())
	case t.Kind() == reflect.Array:
		elem = t.Elem()
	case t.Kind() == reflect.Interface:
		elem, cost = anything, anyValue
	}
	w.i++
	if w.next(']') {
		return true
	}
	for {
		w.left -= cost
		if !w.value(elem, depth+1) {
			return false
		}
		if w.next(']') {
			return true
		}
		if !w.next(',') {
			return false
		}
	}
}

func (w *weigher) object(t reflect.Type, depth int) bool {
	w.i++
	if w.next('}') {
		return true
	}
	for {
		w.space()
		from := w.i
		if w.i >= len(w.text) || w.text[w.i] != '"' || !w.string() {
			return false
		}
		key := w.text[from+1 : w.i-1]
		if !w.next(':') {
			return false
		}
		var elem reflect.Type
		switch {
		case t == nil:
		case t.Kind() == reflect.Struct:
			elem = w.field(t, key)
		case t.Kind() == reflect.Map:
			elem = t.Elem()
			w.left -= int64(len(key)) + growth*int64(t.Key().Size()+elem.Size()) + mapEntry
		case t.Kind() == reflect.Interface:
			elem = anything
			w.left -= int64(len(key)) + mapEntry + 2*anyValue
		}
		if !w.value(elem, depth+1) {
			return false
		}
		if w.next('}') {
			return true
		}
		if !w.next(',') {
			return false
		}
	}
}

// field returns the type of a field by its name in JSON, or nil. Like the decoder
// it takes names in other cases, and names with escapes.
func (w *weigher) field(t reflect.Type, key []byte) reflect.Type {
	fields := w.fields[t]
	if fields == nil {
		fields = make(map[string]reflect.Type)
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			if _, twice := fields[name]; f.IsExported() && name != "-" && !twice {
				fields[name] = f.Type
			}
		}
		w.fields[t] = fields
	}
	if f, ok := fields[string(key)]; ok {
		return f
	}
	var name string
	if json.Unmarshal(append(append([]byte{'"'}, key...), '"'), &name) != nil {
		return nil
	}
	if f, ok := fields[name]; ok {
		return f
	}
	for n, f := range fields {
		if strings.EqualFold(n, name) {
			return f
		}
	}
	return nil
}

// string goes over a string.
func (w *weigher) string() bool {
	for w.i++; w.i < len(w.text); w.i++ {
		switch w.text[w.i] {
		case '\\':
			w.i++
		case '"':
			w.i++
			return true
		}
	}
	return false
}

func (w *weigher) space() {
	for w.i < len(w.text) && (w.text[w.i] == ' ' || w.text[w.i] == '\n' || w.text[w.i] == '\t' || w.text[w.i] == '\r') {
		w.i++
	}
}

// next goes over a character, if it is the next one.
func (w *weigher) next(c byte) bool {
	w.space()
	if w.i < len(w.text) && w.text[w.i] == c {
		w.i++
		return true
	}
	return false
}
