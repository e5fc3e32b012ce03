// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"encoding"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
	"github.com/pauseless/pauseless/testbed/workload"
)

const module = "github.com/pauseless/pauseless/"

// value describes what may stand at a place of a file.
type value struct {
	text   string // in words
	scalar string // "time", "rate", "size", "text", "number", "integer", "boolean"
	fields []field
	elem   *value // of a list, or of a map
	isMap  bool
}

// field is a key of an object.
type field struct {
	key      string
	doc      string
	fallback string   // what holds where it is left out; "" for none
	low, up  string   // bounds; "" for none
	values   []string // that it may have; nil: any
	value    value
}

// describer reads the comments of Go types.
type describer struct {
	t        *testing.T
	comments map[string]map[string]string // by package and type, by field
	docs     map[string]string            // of types
	values   map[string][]string          // of types of text: their constants
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// describe describes the values of a type; def is what they are without a file.
func (d *describer) describe(t reflect.Type, def reflect.Value) value {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
		if def.IsValid() && !def.IsNil() {
			def = def.Elem()
		} else {
			def = reflect.Value{}
		}
	}
	switch t {
	case reflect.TypeFor[vtime.Time]():
		return value{text: "time, as `2us`", scalar: "time"}
	case reflect.TypeFor[yamlfile.Raw]():
		return value{text: "overlay: keys as in this file", scalar: "any"}
	case reflect.TypeFor[vtime.Rate]():
		return value{text: "rate, as `40Gbps`", scalar: "rate"}
	case reflect.TypeFor[vtime.Size]():
		return value{text: "size, as `64KB`", scalar: "size"}
	}
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		return value{text: "text", scalar: "text"}
	}
	switch t.Kind() {
	case reflect.Struct:
		return value{text: "keys, below", fields: d.fields(t, def)}
	case reflect.Slice:
		e := d.describe(t.Elem(), reflect.Value{})
		return value{text: "list of " + plural(e), elem: &e}
	case reflect.Map:
		e := d.describe(t.Elem(), reflect.Value{})
		return value{text: "names, each with " + strings.TrimSuffix(e.text, ", below"), elem: &e, isMap: true}
	case reflect.Bool:
		return value{text: "`true` or `false`", scalar: "boolean"}
	case reflect.String:
		return value{text: "text", scalar: "text"}
	case reflect.Float32, reflect.Float64:
		return value{text: "number", scalar: "number"}
	}
	return value{text: "whole number", scalar: "integer"}
}

func plural(v value) string {
	switch {
	case v.fields != nil:
		return "objects, below"
	case v.scalar == "text":
		return "texts"
	case v.scalar == "integer":
		return "whole numbers"
	case v.scalar == "any":
		return strings.Replace(v.text, "overlay", "overlays", 1)
	case v.elem != nil:
		return "lists"
	}
	return v.text + "s"
}

func (d *describer) fields(t reflect.Type, def reflect.Value) []field {
	docs := d.commentsOf(t)
	keys := keysOf(t)
	var list []field
	before := ""
	for i := range t.NumField() {
		f := t.Field(i)
		var have reflect.Value
		if def.IsValid() {
			have = def.Field(i)
		}
		tag := f.Tag.Get("yaml")
		key, _, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && key == "":
			list = append(list, d.fields(f.Type, have)...)
			continue
		case tag == ",inline":
			list = append(list, d.choices()...)
			continue
		case key == "" || key == "-":
			continue
		}
		doc := docs[f.Name]
		if doc == "" && regexp.MustCompile(`\b`+f.Name+`\b`).MatchString(before) {
			doc = before // two fields with one comment
		}
		before = docs[f.Name]
		if before == "" {
			before = doc
		}
		if t := elem(f.Type); doc == "" && t.Kind() == reflect.Struct {
			d.commentsOf(t)
			doc = d.docs[t.PkgPath()+"."+t.Name()]
			doc = words(doc, keysOf(t))
			doc = regexp.MustCompile(`^(?:An? |The )?`+t.Name()+` (?:(?:is|are) )?(\w)`).ReplaceAllString(doc, "$1")
		}
		if t := elem(f.Type); t.Kind() == reflect.String && strings.HasPrefix(t.PkgPath(), module) {
			d.load(t.PkgPath())
			name := t.PkgPath() + "." + t.Name()
			about := words(regexp.MustCompile(`^`+t.Name()+` (?:is |are )?`).ReplaceAllString(d.docs[name], ""), nil)
			if values := d.values[name]; values != nil {
				if doc != "" {
					about = "" // the field's own comment is enough
				}
				about += " One of " + listOf(values) + "."
			}
			doc = strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(doc, ".")+". "+about, ". "))
		}
		switch {
		case t == reflect.TypeFor[cc.Config]() && key == "algorithm":
			doc += ": one of " + listOf(cc.Algorithms()) + ". Empty: none"
		case key == "sizes" && t.PkgPath() == reflect.TypeFor[workload.Coflow]().PkgPath():
			doc = strings.TrimSuffix(doc, ".") + ". Distributions are " + listOf(workload.Names())
		}
		if doc == "" {
			d.t.Errorf("%s.%s, key %q: no comment says what it is", t, f.Name, key)
		}
		low, up, _ := strings.Cut(f.Tag.Get("limits"), "..")
		about := field{key: key, doc: words(named(key, doc), keys), fallback: fallback(have), low: low, up: up, value: d.describe(f.Type, have)}
		if t == reflect.TypeFor[gen.Profile]() && key == "base" {
			about.doc, about.values = choiceOf("base")
		}
		list = append(list, about)
	}
	return list
}

// keysOf returns the keys of a struct's fields, by Go name.
func keysOf(t reflect.Type) map[string]string {
	keys := make(map[string]string)
	for i := range t.NumField() {
		if key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); key != "" && key != "-" {
			keys[t.Field(i).Name] = key
		}
	}
	return keys
}

func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// choices describes the keys of a profile that pick blocks.
func (d *describer) choices() []field {
	var list []field
	for _, c := range gen.Choices() {
		if c.Name == "base" {
			continue // a field of its own
		}
		f := field{key: c.Name, fallback: c.Default, value: value{text: "one of these", scalar: "text"}}
		f.doc, f.values = choiceOf(c.Name)
		list = append(list, f)
	}
	return list
}

// listOf returns values as a text, as code.
func listOf(values []string) string { return "`" + strings.Join(values, "`, `") + "`" }

// choiceOf returns what the values of such a key mean, and which there are.
func choiceOf(key string) (doc string, values []string) {
	var means []string
	for _, c := range gen.Choices() {
		if c.Name != key {
			continue
		}
		for _, v := range c.Values {
			values = append(values, v.Value)
			means = append(means, "`"+v.Value+"`: "+v.Summary)
		}
	}
	if slices.Contains(values, "on") {
		values = append(values, "true", "false")
	}
	return strings.Join(means, "; ") + ".", values
}

// named completes a comment that begins with "of" or "that of": a rate "of host links" is
// the rate of host links.
func named(key, doc string) string {
	if key == "of" {
		return doc
	}
	noun := key[strings.LastIndex(key, "_")+1:]
	if noun == "mtu" || noun == "dscp" {
		noun = strings.ToUpper(noun)
	}
	return regexp.MustCompile(`^(?:[Tt]hat )?(?:of|Of|[Pp]er) `).ReplaceAllStringFunc(doc, func(start string) string {
		if strings.EqualFold(start, "per ") {
			return noun + " per "
		}
		return noun + " of "
	})
}

// words makes a comment one about keys.
func words(doc string, keys map[string]string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	doc = regexp.MustCompile(`\b[A-Z]\w*\b`).ReplaceAllStringFunc(doc, func(w string) string {
		if key, ok := keys[w]; ok {
			return "`" + key + "`"
		}
		return w
	})
	if doc != "" && !strings.HasSuffix(doc, ".") {
		doc += "."
	}
	if len(doc) > 1 && doc[1] >= 'a' && doc[1] <= 'z' || strings.HasPrefix(doc, "a ") {
		doc = strings.ToUpper(doc[:1]) + doc[1:]
	}
	return doc
}

// fallback returns a value as a file would have it, or "" if it is zero.
func fallback(v reflect.Value) string {
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || v.IsZero() {
		return ""
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return ""
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, fallback(v.Index(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}

// commentsOf returns the comments of a struct's fields.
func (d *describer) commentsOf(t reflect.Type) map[string]string {
	name := t.PkgPath() + "." + t.Name()
	if d.comments[name] == nil {
		d.load(t.PkgPath())
	}
	return d.comments[name]
}

func (d *describer) load(pkg string) {
	files, err := filepath.Glob(filepath.Join("../..", strings.TrimPrefix(pkg, module), "*.go"))
	if err != nil || len(files) == 0 {
		d.t.Fatalf("no source of %s: %v", pkg, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			d.t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				of, named := spec.Type.(*ast.Ident)
				text, literal := spec.Values[0].(*ast.BasicLit)
				if named && literal && text.Kind == token.STRING {
					v, err := strconv.Unquote(text.Value)
					if err != nil {
						d.t.Fatal(err)
					}
					if name := pkg + "." + of.Name; !slices.Contains(d.values[name], v) {
						d.values[name] = append(d.values[name], v)
					}
				}
			}
			if g, ok := n.(*ast.GenDecl); ok && len(g.Specs) == 1 {
				if spec, ok := g.Specs[0].(*ast.TypeSpec); ok {
					d.docs[pkg+"."+spec.Name.Name] = g.Doc.Text()
				}
			}
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			st, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			m := make(map[string]string)
			for _, f := range st.Fields.List {
				text := strings.TrimSpace(f.Doc.Text() + " " + f.Comment.Text())
				for _, n := range f.Names {
					m[n.Name] = text
				}
			}
			d.comments[pkg+"."+spec.Name.Name] = m
			return true
		})
	}
}
