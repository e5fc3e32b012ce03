// SPDX-License-Identifier: Apache-2.0

package yamlfile

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Raw is a value of a file that is not decoded. File.Over lays it over other
// parts of a file.
type Raw struct{ node *yaml.Node }

// Given reports whether there is a value.
func (r Raw) Given() bool { return r.node != nil }

// Has reports whether there is a value under a key.
func (r Raw) Has(key string) bool { return r.node != nil && child(r.node, key) != nil }

// Keys returns the keys of the value in order.
func (r Raw) Keys() []string {
	var keys []string
	if n := r.node; n != nil && resolve(n).Kind == yaml.MappingNode {
		n = resolve(n)
		for i := 0; i+1 < len(n.Content); i += 2 {
			keys = append(keys, n.Content[i].Value)
		}
	}
	return keys
}

// Key returns the value under a key. If there is none, Given of the result is
// false.
func (r Raw) Key(key string) Raw {
	if r.node == nil {
		return Raw{}
	}
	return Raw{child(r.node, key)}
}

// Items returns the elements of a list, or nil if the value is not a list.
func (r Raw) Items() []Raw {
	if r.node == nil || resolve(r.node).Kind != yaml.SequenceNode {
		return nil
	}
	items := make([]Raw, 0, len(resolve(r.node).Content))
	for _, n := range resolve(r.node).Content {
		items = append(items, Raw{n})
	}
	return items
}

// Text returns the text of the value under a key, or of the value itself if the
// key is "". It returns "" if that is not a single value.
func (r Raw) Text(key string) string {
	n := r.node
	if n != nil && key != "" {
		n = child(n, key)
	}
	if n == nil {
		return ""
	}
	if n = resolve(n); n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// Value returns a raw value with a given text and the position of r.
func (r Raw) Value(text string) Raw {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if r.node != nil {
		n.Line, n.Column = r.node.Line, r.node.Column
	}
	return Raw{n}
}

// Raw returns the value at path. If the file has none, Given of the result is
// false.
func (f *File) Raw(path string) Raw {
	if n, all := f.find(path); all {
		return Raw{n}
	}
	return Raw{}
}

// Copy returns the file without the diagnostics so far.
func (f *File) Copy() *File { return &File{Name: f.Name, name: f.name, root: f.root} }

// Without returns a copy of the file without some of its top-level keys.
func (f *File) Without(keys ...string) *File {
	c := f.Copy()
	root := resolve(f.root)
	if root.Kind != yaml.MappingNode {
		return c
	}
	c.root = shallow(root)
	c.root.Content = nil
	for i := 0; i+1 < len(root.Content); i += 2 {
		if !slices.Contains(keys, root.Content[i].Value) {
			c.root.Content = append(c.root.Content, root.Content[i], root.Content[i+1])
		}
	}
	return c
}

// literal are the keys under which names may have dots.
var literal = []string{"set", "paths", "addresses"}

// Over returns a copy of the file in which the values of an overlay replace the
// file's own, except those under the keys in skip. If both values are mappings,
// they are merged. A key with dots is a path; a number in it is the index of a
// list element, from 0. Errors in the overlay are added to the copy, with their
// positions in the overlay.
func (f *File) Over(r Raw, skip ...string) *File {
	c := f.Copy()
	n := resolve(r.node)
	if n.Kind != yaml.MappingNode {
		c.want(n, "", "keys and values")
		return c
	}
	c.root = c.merge(f.root, n, false, skip)
	return c
}

// Put returns a copy of the file with a value at path. An error about the path has
// the position of at.
func (f *File) Put(path string, r, at Raw) *File {
	c := f.Copy()
	c.root = c.put(f.root, split(path, false), r.node, at.node, false)
	return c
}

// merge returns base with an overlay on it.
func (f *File) merge(base, over *yaml.Node, isLiteral bool, skip []string) *yaml.Node {
	over = resolve(over)
	if base == nil || over.Kind != yaml.MappingNode {
		if over.Kind != yaml.MappingNode {
			return over
		}
		base = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: over.Line, Column: over.Column}
	}
	base = resolve(base)
	if base.Kind == yaml.ScalarNode {
		base = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: over.Line, Column: over.Column}
	}
	f.eachPair(over, func(key, value *yaml.Node) {
		if !slices.Contains(skip, key.Value) {
			base = f.put(base, split(key.Value, isLiteral), value, key, isLiteral)
		}
	})
	return base
}

// split cuts a path at its dots, but not below a literal key.
func split(path string, isLiteral bool) []string {
	if isLiteral {
		return []string{path}
	}
	keys := strings.Split(path, ".")
	for i, k := range keys[:len(keys)-1] {
		if slices.Contains(literal, k) {
			return append(keys[:i+1], strings.Join(keys[i+1:], "."))
		}
	}
	return keys
}

// put returns n with a value at a path below it. Errors about the path have the
// position of at.
func (f *File) put(n *yaml.Node, path []string, value, at *yaml.Node, isLiteral bool) *yaml.Node {
	if len(path) == 0 {
		return f.merge(n, value, isLiteral, nil)
	}
	key := path[0]
	below := isLiteral || slices.Contains(literal, key)
	if n == nil {
		n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line, Column: at.Column}
	}
	n = resolve(n)
	switch n.Kind {
	case yaml.SequenceNode:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(n.Content) {
			f.errorf(f.pos(at), CodeKey, "%q is not an index of this list of %d elements, which are numbered from 0", key, len(n.Content))
			return n
		}
		c := shallow(n)
		c.Content[i] = f.put(n.Content[i], path[1:], value, at, below)
		return c
	case yaml.ScalarNode:
		n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line, Column: at.Column}
	}
	c := shallow(n)
	for i := 0; i+1 < len(c.Content); i += 2 {
		if c.Content[i].Value == key {
			c.Content[i+1] = f.put(c.Content[i+1], path[1:], value, at, below)
			return c
		}
	}
	k := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: at.Line, Column: at.Column}
	c.Content = append(c.Content, k, f.put(nil, path[1:], value, at, below))
	return c
}

func shallow(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = slices.Clone(n.Content)
	return &c
}

// Canonical returns the file as JSON, with keys in order and values as they are
// written. A key without a value (~) is left out. Two files with the same content
// give the same bytes.
func (f *File) Canonical() []byte { return []byte(f.CanonicalAt("")) }

func plain(n *yaml.Node, depth int) any {
	n = resolve(n)
	switch {
	case depth > maxDepth:
		return nil
	case n.Kind == yaml.MappingNode:
		m := make(map[string]any)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if v := resolve(n.Content[i+1]); v.ShortTag() != "!!null" {
				m[n.Content[i].Value] = plain(v, depth+1)
			}
		}
		return m
	case n.Kind == yaml.SequenceNode:
		s := []any{}
		for _, c := range n.Content {
			s = append(s, plain(c, depth+1))
		}
		return s
	}
	return n.Value
}

// CanonicalAt is Canonical for the value at path; "" if there is none.
func (f *File) CanonicalAt(path string) string {
	n, all := f.find(path)
	if !all {
		return ""
	}
	data, err := json.Marshal(plain(n, 0))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(data)
}

// Adopt adds the diagnostics of another file to those of this one.
func (f *File) Adopt(o *File) { f.list = append(slices.Clone(o.list), f.list...) }

// Mapping returns a mapping with values as its keys, each without a value of its own.
func Mapping(keys []Raw) Raw {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, k := range keys {
		at := resolve(k.node)
		n.Content = append(n.Content, at, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line, Column: at.Column})
	}
	return Raw{n}
}
