// SPDX-License-Identifier: Apache-2.0

package bmv2json

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/pauseless/pauseless/internal/diag"
)

// A node is a JSON value with its position in the text. It is the step between
// structs and bytes, in both directions.
type node struct {
	kind kind
	pos  diag.Pos
	text string // of a string or number
	bool bool
	keys []string // of an object, in the order of the text
	kids []*node  // of an object or array
}

type kind uint8

const (
	null kind = iota
	boolean
	number
	str
	array
	object
)

func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	for i, k := range n.keys {
		if k == key {
			return n.kids[i]
		}
	}
	return nil
}

// maxDepth bounds nesting, so that a hostile text cannot exhaust the stack.
// Expressions of real programs nest a few dozen deep, three levels each.
const maxDepth = 5000

// reader parses text to nodes.
type reader struct {
	data []byte
	dec  *json.Decoder
	file *string
	// The position at byte offset off, moved forward as tokens are read.
	off       int
	line, col int32
}

// parse reads one JSON value.
func parse(name string, data []byte) (*node, error) {
	r := &reader{data: data, file: &name, line: 1, col: 1, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	n, err := r.value(0)
	if err != nil {
		return nil, err
	}
	r.seekToken()
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, r.errorf("unexpected text after the end of the JSON value")
	}
	return n, nil
}

// seek moves the position forward to a byte offset.
func (r *reader) seek(off int) {
	for ; r.off < off && r.off < len(r.data); r.off++ {
		if r.data[r.off] == '\n' {
			r.line++
			r.col = 1
		} else {
			r.col++
		}
	}
}

// seekToken moves the position to the start of the next token.
func (r *reader) seekToken() {
	off := int(r.dec.InputOffset())
	for off < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[off]) >= 0 {
		off++
	}
	r.seek(off)
}

func (r *reader) pos() diag.Pos { return diag.MakePos(r.file, r.line, r.col) }

func (r *reader) errorf(format string, args ...any) error {
	var l diag.List
	l.Errorf(r.pos(), CodeSyntax, format, args...)
	return l
}

// fail reports an error of the tokenizer at its place.
func (r *reader) fail(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		r.off, r.line, r.col = 0, 1, 1
		r.seek(int(syntax.Offset) - 1)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.seek(len(r.data))
		if len(bytes.TrimSpace(r.data)) == 0 {
			return r.errorf("file is empty")
		}
		return r.errorf("file ends in the middle of the JSON value")
	}
	return r.errorf("%v", err)
}

func (r *reader) value(depth int) (*node, error) {
	r.seekToken()
	n := &node{pos: r.pos()}
	if depth > maxDepth {
		return nil, r.errorf("values are nested more than %d deep", maxDepth)
	}
	tok, err := r.dec.Token()
	if err != nil {
		return nil, r.fail(err)
	}
	switch tok := tok.(type) {
	case nil:
	case bool:
		n.kind, n.bool = boolean, tok
	case json.Number:
		n.kind, n.text = number, string(tok)
	case string:
		n.kind, n.text = str, tok
	case json.Delim:
		n.kind = array
		if tok == '{' {
			n.kind = object
		}
		for r.dec.More() {
			if n.kind == object {
				r.seekToken()
				key, err := r.dec.Token()
				if err != nil {
					return nil, r.fail(err)
				}
				n.keys = append(n.keys, key.(string))
			}
			kid, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, kid)
		}
		if _, err := r.dec.Token(); err != nil {
			return nil, r.fail(err)
		}
	}
	return n, nil
}

// append appends n in p4c's layout: two spaces per level, an array of scalars on
// one line.
func (n *node) append(b []byte, indent int) []byte {
	newline := func(b []byte, indent int) []byte {
		b = append(b, '\n')
		for range indent {
			b = append(b, "  "...)
		}
		return b
	}
	switch n.kind {
	case null:
		return append(b, "null"...)
	case boolean:
		return strconv.AppendBool(b, n.bool)
	case number:
		return append(b, n.text...)
	case str:
		return appendString(b, n.text)
	case object:
		b = append(b, '{')
		for i, kid := range n.kids {
			if i > 0 {
				b = append(b, ',')
			}
			b = newline(b, indent+1)
			b = appendString(b, n.keys[i])
			b = append(b, " : "...)
			b = kid.append(b, indent+1)
		}
		return append(newline(b, indent), '}')
	}
	small := true
	for _, kid := range n.kids {
		small = small && kid.kind < array
	}
	b = append(b, '[')
	for i, kid := range n.kids {
		if i > 0 {
			b = append(b, ',')
			if small {
				b = append(b, ' ')
			}
		}
		if !small {
			b = newline(b, indent+1)
		}
		b = kid.append(b, indent+1)
	}
	if !small {
		b = newline(b, indent)
	}
	return append(b, ']')
}

// appendString appends a string literal. It escapes only what JSON requires.
func appendString(b []byte, s string) []byte {
	var w bytes.Buffer
	e := json.NewEncoder(&w)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("BUG: " + err.Error())
	}
	return append(b, bytes.TrimSuffix(w.Bytes(), []byte("\n"))...)
}
