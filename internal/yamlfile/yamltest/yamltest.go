// SPDX-License-Identifier: Apache-2.0

// Package yamltest replaces the value of each key that a YAML file can have.
package yamltest

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Key is a key of a file, with its place: its path has a number for each list,
// and "x" for each key that the file chooses.
type Key struct {
	Path []string
	Type reflect.Type
}

func (k Key) String() string { return strings.Join(k.Path, ".") }

var text = reflect.TypeFor[encoding.TextUnmarshaler]()

// Keys returns the keys of the files that are decoded into v, a pointer to a struct.
func Keys(v any) []Key {
	var list []Key
	walk(reflect.TypeOf(v).Elem(), nil, nil, func(k Key) { list = append(list, k) })
	return list
}

func walk(t reflect.Type, path []string, above []reflect.Type, visit func(Key)) {
	at := func(key string) []string { return append(path[:len(path):len(path)], key) }
	for _, a := range above {
		if a == t {
			return // a type in itself
		}
	}
	switch {
	case reflect.PointerTo(t).Implements(text):
		visit(Key{path, t})
	case t.Kind() == reflect.Pointer:
		walk(t.Elem(), path, above, visit)
	case t.Kind() == reflect.Slice:
		walk(t.Elem(), at("0"), above, visit)
	case t.Kind() == reflect.Map:
		walk(t.Elem(), at("x"), above, visit)
	case t.Kind() == reflect.Struct:
		above = append(above[:len(above):len(above)], t)
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case f.Anonymous && name == "":
				walk(f.Type, path, above[:len(above)-1], visit)
			case name != "" && name != "-":
				walk(f.Type, at(name), above, visit)
			}
		}
	default:
		visit(Key{path, t})
	}
}

// A Text is a file in which the value of one key is replaced.
type Text struct {
	Key   Key
	Value string
	YAML  []byte
	Line  int // of the value
}

// Values are what no key, or few keys, can mean, in YAML.
var Values = []string{
	"-1", "0", "-9223372036854775808", "9223372036854775807", "18446744073709551616", "1e308", "1e400", "-1e308", "0.1", ".nan", "NaN", ".inf", "-.inf",
	"-1us", "0us", "1e308us", "NaNus", "9223372036854775807us", "-1KB", "0KB", "9223372036854775807KB", "-1Gbps", "0Gbps", "9223372036854775807Gbps", "1furlong",
	`""`, `" "`, "hostile!", "true", "[]", "[[]]", "{}", "{a: 1}", "2001-01-01", `"\0"`,
}

// Hostile calls try with texts in which one key of v has a value that it cannot have, or
// can hardly have, or is there twice. base is a file in which all is right, or begins so.
func Hostile(base string, v any, try func(Text)) error {
	for _, k := range Keys(v) {
		for _, value := range Values {
			t, err := Put(base, k, value)
			if err != nil {
				return err
			}
			try(*t)
		}
	}
	return nil
}

// Put returns the file with a value, in YAML, for a key.
func Put(base string, k Key, value string) (*Text, error) {
	var root, with yaml.Node
	if err := yaml.Unmarshal([]byte(base), &root); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal([]byte(value), &with); err != nil {
		return nil, fmt.Errorf("%s: %w", value, err)
	}
	const mark = "the value goes here"
	if root.Kind == 0 {
		root = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	put(root.Content[0], k.Path, mark)
	b, err := yaml.Marshal(&root)
	if err != nil {
		return nil, err
	}
	before, _, ok := strings.Cut(string(b), mark)
	if !ok {
		return nil, fmt.Errorf("%v has no place in\n%s", k, b)
	}
	return &Text{k, value, []byte(strings.Replace(string(b), mark, value, 1)), 1 + strings.Count(before, "\n")}, nil
}

func put(n *yaml.Node, path []string, value string) {
	if len(path) == 0 {
		*n = yaml.Node{Kind: yaml.ScalarNode, Value: value}
		return
	}
	if i, err := strconv.Atoi(path[0]); err == nil {
		if n.Kind != yaml.SequenceNode {
			*n = yaml.Node{Kind: yaml.SequenceNode}
		}
		for len(n.Content) <= i {
			n.Content = append(n.Content, &yaml.Node{})
		}
		put(n.Content[i], path[1:], value)
		return
	}
	if n.Kind != yaml.MappingNode {
		*n = yaml.Node{Kind: yaml.MappingNode}
	}
	n.Style = 0
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == path[0] {
			put(n.Content[i+1], path[1:], value)
			return
		}
	}
	e := &yaml.Node{}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: path[0]}, e)
	put(e, path[1:], value)
}
