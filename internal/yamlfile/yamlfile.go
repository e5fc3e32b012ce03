// SPDX-License-Identifier: Apache-2.0

// Package yamlfile reads YAML configuration (profiles, topologies, scenarios)
// into Go structs. It reports all errors in one run, with their lines and columns:
// unknown keys with the nearest known one, values of the wrong type or out of
// range, and keys given twice.
//
// Fields are matched by their `yaml:"name"` tag; a field without one is not
// read from the file. Types that implement encoding.TextUnmarshaler, such as
// vtime.Rate, read scalars. Fields that the file leaves out keep their values.
package yamlfile

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"go.yaml.in/yaml/v3"
)

// Codes of the diagnostics of this package.
const (
	CodeSyntax  diag.Code = "yaml-syntax"
	CodeKey     diag.Code = "yaml-key"
	CodeValue   diag.Code = "yaml-value"
	CodeInvalid diag.Code = "invalid"
)

// A File is a configuration file that has been read, and the diagnostics
// about it so far.
type File struct {
	Name string
	name *string
	root *yaml.Node
	list diag.List
}

// Read parses the named file and decodes its one document into v, a pointer
// to a struct. The caller checks the meaning of the values, reports errors with
// Errorf, and then calls Err. Read returns an error only if the file does not
// exist or is not YAML.
func Read(name string, v any) (*File, error) {
	data, err := infile.Read(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, data, v)
}

// maxRepeated is the greatest number of values that aliases repeat. A short file with
// aliases of aliases can stand for more values than a machine has memory for, and one
// that contains itself for any number.
const maxRepeated = 1_000_000

// repeats counts the values that aliases repeat down from left, and reports whether
// there are more. Line is then that of the alias.
func repeats(n *yaml.Node, left, line *int, inAlias bool) bool {
	if n.Kind == yaml.AliasNode {
		if !inAlias {
			*line = n.Line
		}
		n, inAlias = n.Alias, true
	}
	if inAlias {
		*left--
	}
	return *left < 0 || slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return repeats(c, left, line, inAlias) })
}

// maxBytes is the greatest size of a configuration file, as a check against wrong
// file names.
const maxBytes = 64 << 20

// Parse is Read for a text in memory. If v is nil, the file is parsed and not
// decoded; Into decodes it.
func Parse(name string, data []byte, v any) (*File, error) {
	f := &File{Name: name, name: &name}
	if len(data) > maxBytes {
		return nil, f.fail(0, "file has %d bytes, more than the %d that a configuration may have", len(data), maxBytes)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, f.fail(1, "file is empty")
	} else if err != nil {
		line, msg := splitLine(err)
		line, msg = explain(string(data), line, msg)
		return nil, f.fail(line, "%s", msg)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, f.fail(doc.Line, "more than one document in the file")
	}
	f.root = doc.Content[0]
	if left, line := maxRepeated, 0; repeats(f.root, &left, &line, false) {
		return nil, f.fail(line, "aliases repeat more than %d values; write fewer of them", maxRepeated)
	}
	if v != nil {
		f.Into(v)
	}
	return f, nil
}

// Into decodes the file into v, a pointer to a struct.
func (f *File) Into(v any) { f.decode(f.root, reflect.ValueOf(v).Elem(), "", 0) }

func (f *File) fail(line int, format string, args ...any) error {
	f.list.Errorf(diag.MakePos(f.name, int32(line), 0), CodeSyntax, format, args...)
	return f.list.Err()
}

// explain completes what the parser says about a text: it does not say where an anchor
// or a byte is, nor what to do.
func explain(text string, line int, msg string) (int, string) {
	at := func(i int) int { return 1 + strings.Count(text[:max(i, 0)], "\n") }
	switch {
	case strings.Contains(msg, "unknown anchor '"):
		_, name, _ := strings.Cut(msg, "unknown anchor '")
		name, _, _ = strings.Cut(name, "'")
		line = at(strings.Index(text, "*"+name))
	case strings.Contains(msg, "control characters are not allowed"):
		i := strings.IndexFunc(text, func(c rune) bool {
			return c < ' ' && !strings.ContainsRune("\t\n\r", c) || c >= 0x7f && c < 0xa0 && c != 0x85
		})
		if i < 0 {
			break
		}
		line, msg = at(i), fmt.Sprintf("byte 0x%02x is a control character, which may not be in the file", text[i])
	case strings.Contains(msg, "UTF-8"):
		for i, c := range text {
			if _, n := utf8.DecodeRuneInString(text[i:]); c == utf8.RuneError && n == 1 {
				return at(i), fmt.Sprintf("byte 0x%02x is not UTF-8; save the file as UTF-8", text[i])
			}
		}
	case strings.Contains(msg, "cannot start any token"), strings.Contains(msg, "tab character"):
		lines := strings.Split(text, "\n")
		if line < 1 || line > len(lines) {
			break
		}
		if l := lines[line-1]; strings.Contains(l[:len(l)-len(strings.TrimLeft(l, " \t"))], "\t") {
			msg = "the line is indented with a tab; YAML is indented with spaces"
		}
	case strings.Contains(msg, "did not find expected node content"), strings.Contains(msg, "did not find expected ',' or"):
		msg = "a value is missing, or a bracket or quotation mark is not closed, in this line or the next"
	case strings.Contains(msg, "found unexpected end of stream"):
		msg = "the file ends within quotation marks or brackets"
	case strings.Contains(msg, "mapping values are not allowed"):
		line, msg = max(line, 1), "a second colon: put text that contains a colon in quotes, or correct the indentation"
	case strings.Contains(msg, "did not find expected key"), strings.Contains(msg, "did not find expected '-' indicator"):
		msg += "; look at the indentation here and in the next line"
	}
	return line, msg
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

func splitLine(err error) (int, string) {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return 0, err.Error()
	}
	line, _ := strconv.Atoi(m[1])
	return line, m[2]
}

// Err returns all diagnostics as a diag.List, or nil if there is no error.
func (f *File) Err() error { return f.list.Err() }

// Errorf reports a value that is well formed and wrong. The path names it: the
// keys of the file and the indexes of list elements, joined by dots, as in
// "links.3.rate". If the file leaves the value out, the error has the position of
// the longest part of the path that the file has. If the value could not be
// decoded, it has an error already, and Errorf adds none.
func (f *File) Errorf(path, format string, args ...any) {
	if f.full() {
		return
	}
	pos := f.Pos(path)
	for _, d := range f.list {
		if d.Pos == pos && d.Code == CodeValue {
			return
		}
	}
	f.errorf(pos, CodeInvalid, format, args...)
}

// maxErrors is the greatest number of errors of a file that are reported. Each is
// compared with all others, and a file may have as many as it has bytes.
const maxErrors = 200

// errorf adds an error, unless there are too many.
func (f *File) errorf(pos diag.Pos, code diag.Code, format string, args ...any) {
	switch {
	case len(f.list) < maxErrors:
		f.list.Errorf(pos, code, format, args...)
	case len(f.list) == maxErrors:
		f.list.Errorf(pos, CodeInvalid, "the file has more than %d errors; those after this line are not shown", maxErrors)
	}
}

// full reports whether further errors are not shown, so that decoding can end.
func (f *File) full() bool { return len(f.list) > maxErrors }

// Pos returns the position of the value at path, as Errorf finds it.
func (f *File) Pos(path string) diag.Pos {
	n, _ := f.find(path)
	return f.pos(n)
}

// Has reports whether the file gives a value at path.
func (f *File) Has(path string) bool {
	_, all := f.find(path)
	return all
}

// find returns the node at the longest part of path that the file has, and reports
// whether that is all of it.
func (f *File) find(path string) (n *yaml.Node, all bool) {
	n = f.root
	if path == "" {
		return n, true
	}
	for _, key := range split(path, false) {
		next := child(n, key)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

func (f *File) pos(n *yaml.Node) diag.Pos {
	return diag.MakePos(f.name, int32(n.Line), int32(n.Column))
}

func child(n *yaml.Node, key string) *yaml.Node {
	n = resolve(n)
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	}
	return nil
}

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// maxDepth is the greatest depth of nesting; with aliases, a document could be
// infinitely deep.
const maxDepth = 32

// decode stores the value of node n in v. The path names it in messages.
func (f *File) decode(n *yaml.Node, v reflect.Value, path string, depth int) {
	n = resolve(n)
	if r, ok := v.Addr().Interface().(*Raw); ok {
		r.node = n
		return
	}
	if depth > maxDepth {
		f.errorf(f.pos(n), CodeValue, "nested more than %d deep", maxDepth)
		return
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if n.Kind != yaml.ScalarNode {
			f.want(n, path, "one value")
		} else if err := u.UnmarshalText([]byte(n.Value)); err != nil {
			f.errorf(f.pos(n), CodeValue, "%s%v", prefix(path), err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		f.decodeStruct(n, v, path, depth)
	case reflect.Slice:
		f.decodeSlice(n, v, path, depth)
	case reflect.Map:
		f.decodeMap(n, v, path, depth)
	default:
		f.decodeScalar(n, v, path)
	}
}

func (f *File) decodeStruct(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.MappingNode {
		f.want(n, path, "keys and values")
		return
	}
	fields := make(map[string]field)
	var names []string
	collectFields(v, fields, &names)
	more := inlineMap(v)
	if more.IsValid() {
		for _, k := range more.MapKeys() {
			names = append(names, k.String())
		}
		slices.Sort(names)
	}
	f.eachPair(n, func(key, value *yaml.Node) {
		to, ok := fields[key.Value]
		if k := reflect.ValueOf(key.Value); !ok && more.IsValid() && more.MapIndex(k).IsValid() {
			e := reflect.New(more.Type().Elem()).Elem()
			f.decode(value, e, join(path, key.Value), depth+1)
			more.SetMapIndex(k, e)
			return
		}
		if !ok {
			hint := diag.DidYouMean(key.Value, names)
			if takes(v, Other{Key: key.Value, Pos: f.pos(key)}, hint == "") {
				return
			}
			if hint == "" {
				hint = "; known here: " + strings.Join(names, ", ")
			}
			f.errorf(f.pos(key), CodeKey, "%sunknown key %q%s", prefix(path), key.Value, hint)
			return
		}
		before := len(f.list)
		f.decode(value, to.Value, join(path, key.Value), depth+1)
		if len(f.list) == before {
			if text := outOfLimits(key.Value, to.Value, to.limits); text != "" {
				f.errorf(f.pos(value), CodeValue, "%s", text)
			}
		}
	})
}

// A field of a struct, and the limits of its value from its tag, as in
// `limits:"1..64"`; either end may be left out.
type field struct {
	reflect.Value
	limits string
}

// outOfLimits returns an error's text if a number is out of its limits, or "".
func outOfLimits(key string, v reflect.Value, limits string) string {
	if limits == "" {
		return ""
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	var x float64
	switch {
	case v.CanInt():
		x = float64(v.Int())
	case v.CanUint():
		x = float64(v.Uint())
	default:
		x = v.Float()
	}
	low, up, _ := strings.Cut(limits, "..")
	least, noLow := strconv.ParseFloat(low, 64)
	most, noUp := strconv.ParseFloat(up, 64)
	switch {
	case (noLow != nil || x >= least) && (noUp != nil || x <= most):
		return ""
	case noUp != nil:
		return fmt.Sprintf("%s is %v, must be at least %s", key, v, low)
	case noLow != nil:
		return fmt.Sprintf("%s is %v, must be at most %s", key, v, up)
	}
	return fmt.Sprintf("%s is %v, must be from %s to %s", key, v, low, up)
}

// OutOfLimits returns the errors of a struct's numbers, by key: of those that are
// not within the limits of their fields' tags, `limits:"1..64"`. Decoding a file
// reports the same errors.
func OutOfLimits(v any) map[string]string {
	fields := make(map[string]field)
	var names []string
	collectFields(reflect.Indirect(reflect.ValueOf(v)), fields, &names)
	bad := make(map[string]string)
	for name, f := range fields {
		if text := outOfLimits(name, f.Value, f.limits); text != "" {
			bad[name] = text
		}
	}
	return bad
}

// Comments makes a struct that has such a field take keys that look like comments:
// "__comment__", "comment", "_note".
type Comments struct{}

// Others makes a struct that has such a field take all keys that it lacks: the field lists
// them, without comments. A key that is almost one of the struct's stays an error.
type Others []Other

// Other is a key that a struct lacks.
type Other struct {
	Key string
	Pos diag.Pos
}

// takes reports whether struct v takes a key that it lacks; far is true if the key is not
// almost one of the struct's.
func takes(v reflect.Value, o Other, far bool) bool {
	comment := strings.HasPrefix(o.Key, "_") || strings.Contains(strings.ToLower(o.Key), "comment")
	for i := range v.NumField() {
		switch v.Type().Field(i).Type {
		case reflect.TypeFor[Comments]():
			return comment
		case reflect.TypeFor[Others]():
			if others := v.Field(i).Addr().Interface().(*Others); far && !comment {
				*others = append(*others, o)
			}
			return far || comment
		}
	}
	return false
}

// inlineMap returns the map of struct v whose keys count as keys of the struct:
// the field tagged `yaml:",inline"`.
func inlineMap(v reflect.Value) reflect.Value {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == ",inline" && v.Field(i).Kind() == reflect.Map {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// collectFields lists the fields of struct v by their yaml names; those of an
// embedded struct count as its own.
func collectFields(v reflect.Value, fields map[string]field, names *[]string) {
	t := v.Type()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		switch {
		case t.Field(i).Anonymous && name == "":
			collectFields(v.Field(i), fields, names)
		case name != "" && name != "-":
			fields[name] = field{v.Field(i), t.Field(i).Tag.Get("limits")}
			*names = append(*names, name)
		}
	}
}

// eachPair calls do for the pairs of a mapping. It reports keys that are given
// twice, and skips them.
func (f *File) eachPair(n *yaml.Node, do func(key, value *yaml.Node)) {
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content) && !f.full(); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			f.errorf(f.pos(key), CodeKey, "a key must be a plain word")
			continue
		}
		if line, ok := seen[key.Value]; ok {
			f.errorf(f.pos(key), CodeKey, "key %q is given twice, first in line %d", key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		do(key, n.Content[i+1])
	}
}

func (f *File) decodeSlice(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.SequenceNode {
		f.want(n, path, "a list")
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		if f.full() {
			return
		}
		f.decode(c, s.Index(i), join(path, strconv.Itoa(i)), depth+1)
	}
	v.Set(s)
}

func (f *File) decodeMap(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.MappingNode {
		f.want(n, path, "keys and values")
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	f.eachPair(n, func(key, value *yaml.Node) {
		k := reflect.New(v.Type().Key()).Elem()
		f.decodeScalar(key, k, path)
		e := reflect.New(v.Type().Elem()).Elem()
		f.decode(value, e, join(path, key.Value), depth+1)
		v.SetMapIndex(k, e)
	})
}

func (f *File) decodeScalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode {
		f.want(n, path, "one value")
		return
	}
	plain := strings.ReplaceAll(n.Value, "_", "")
	switch v.Kind() {
	case reflect.String:
		v.SetString(n.Value)
	case reflect.Bool:
		var b bool
		if n.Decode(&b) != nil {
			f.want(n, path, "true or false")
			return
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(plain, 0, v.Type().Bits())
		if err != nil {
			f.want(n, path, "a whole number")
			return
		}
		v.SetInt(i)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		u, err := strconv.ParseUint(plain, 0, v.Type().Bits())
		if err != nil {
			f.want(n, path, "a whole number of at least 0")
			return
		}
		v.SetUint(u)
	case reflect.Float64:
		x, err := strconv.ParseFloat(plain, 64)
		if err != nil || x != x || x > 1e300 || x < -1e300 {
			f.want(n, path, "a number")
			return
		}
		v.SetFloat(x)
	default:
		panic(fmt.Sprintf("BUG: yamlfile cannot fill a %v", v.Type()))
	}
}

func (f *File) want(n *yaml.Node, path, what string) {
	got := "this"
	switch n.Kind {
	case yaml.ScalarNode:
		got = strconv.Quote(n.Value)
	case yaml.MappingNode:
		got = "keys and values"
	case yaml.SequenceNode:
		got = "a list"
	}
	f.errorf(f.pos(n), CodeValue, "%sexpected %s, not %s", prefix(path), what, got)
}

func prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
