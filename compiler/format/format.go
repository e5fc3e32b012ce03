// SPDX-License-Identifier: Apache-2.0

// Package format lays out P4_16 text in the style of this project: four
// spaces for each brace, one space around operators, a brace at the end of
// its line, the members of headers and structs in columns.
//
// It works on tokens: comments and preprocessor directives stay where they are,
// and a program need not be complete. Line ends stay except under two rules: in
// a block over several lines every statement is on its own line, and several
// blank lines become one.
//
// Only the space between tokens changes. Source verifies this, and that no
// comment is lost.
package format

import (
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/diag"
)

// CodeInternal marks an internal error of the formatter.
const CodeInternal diag.Code = "internal"

// Source formats a text. After errors, which concern only tokens and brackets,
// it returns nil.
func Source(name string, text []byte) ([]byte, diag.List) {
	items, rep := read(name, string(text))
	if rep.Failed() {
		rep.List.Sort()
		return nil, rep.List
	}
	out := layout(items)
	again, rep2 := read(name, string(out))
	if what := lost(items, again); what != "" || rep2.Failed() {
		rep.List.Errorf(diag.FilePos(name), CodeInternal, "the formatter failed: please report this program (%s)", what)
		return nil, rep.List
	}
	return out, nil
}

// kind is the kind of an item.
type kind uint8

const (
	token     kind = iota
	comment        // up to */
	line           // a // comment
	directive      // a whole line that begins with #
	pragma         // a whole line that begins with @pragma
)

// item is a part of the text.
type item struct {
	kind  kind
	tok   syntax.Kind
	text  string
	lines int // line ends before it
	pos   source.Pos
	space bool

	// Properties of tokens, as far as the surrounding tokens show them:
	match  int  // index of the matching bracket, or -1
	angle  bool // < or > around types
	cast   bool // the ) of a cast
	unary  bool // an operator before its operand
	second bool // the second > of >>
	block  bool // { or } of statements, members or the like
	inline bool // { or } of a block on one line
}

// read splits a text into items, the last of which is the end of the file.
func read(name, text string) ([]item, *source.Reporter) {
	set := &source.Set{}
	rep := &source.Reporter{Set: set}
	f := set.Add(name, text)
	if f == nil {
		rep.List.Errorf(diag.FilePos(name), "too-large", "the file is too large")
		rep.Fail()
		return nil, rep
	}
	s := syntax.NewScanner(f, rep)
	s.Comments = true
	var items []item
	end := 0
	for {
		t := s.Next()
		start := f.Offset(t.Pos)
		it := item{tok: t.Kind, pos: t.Pos, text: t.Source(), match: -1, lines: lineEnds(text[end:start]), space: start > end}
		switch {
		case t.Kind == syntax.EOF:
			it.text = ""
			items = append(items, it)
			balanced(items, rep)
			return items, rep
		case t.Kind == syntax.Comment && strings.HasPrefix(it.text, "//"):
			it.kind, it.text = line, trim(it.text)
			if f.Offset(t.End) == len(text) { // no line follows
				it.text = strings.TrimRight(it.text, "\\ \t\r\f\v")
			}
		case t.Kind == syntax.Comment:
			it.kind = comment
		case t.Kind == syntax.Hash && t.Flags&syntax.LineStart != 0:
			it.kind, it.text = directive, restOfLine(s, rep, t.Pos, text, start)
		case t.Kind == syntax.Pragma:
			for !s.AtLineEnd() {
				s.Next()
			}
			it.kind, it.text = pragma, restOfLine(s, rep, t.Pos, text, start)
		case t.Kind == syntax.Illegal && it.text == `\` || t.Kind == syntax.Hash || t.Kind == syntax.HashHash:
			rep.Errorf(t.Pos, syntax.CodeLexical, "unexpected %s", it.text)
		}
		end = f.Offset(t.End)
		if it.kind == directive || it.kind == pragma {
			end = start + len(it.text)
			it.text = trim(it.text)
			if end == len(text) { // no line follows
				it.text = strings.TrimRight(it.text, "\\ \t\r\f\v")
			}
		}
		items = append(items, it)
	}
}

// balanced reports brackets that nest too deep, and those without a partner. With conditionals it reports
// none, because the partner may be in another branch.
func balanced(items []item, rep *source.Reporter) {
	if rep.Failed() {
		return
	}
	var stack []*item
	depth := 0
	for i := range items {
		switch it := &items[i]; {
		case it.kind != token:
		case it.tok == syntax.LParen, it.tok == syntax.LBracket, it.tok == syntax.LBrace:
			if depth++; depth > syntax.MaxNesting {
				rep.Errorf(it.pos, syntax.CodeNesting, "the text nests deeper than %d brackets", syntax.MaxNesting)
				return
			}
		case depth > 0 && closers[it.tok] != 0:
			depth--
		}
	}
	for i := range items {
		it := &items[i]
		if it.kind == directive && strings.HasPrefix(strings.TrimLeft(it.text[1:], " \t"), "if") {
			return
		}
	}
	for i := range items {
		it := &items[i]
		switch n := len(stack); it.tok {
		case syntax.LParen, syntax.LBracket, syntax.LBrace:
			if it.kind == token {
				stack = append(stack, it)
			}
		case syntax.RParen, syntax.RBracket, syntax.RBrace:
			if n == 0 || stack[n-1].tok != closers[it.tok] {
				rep.Errorf(it.pos, syntax.CodeSyntax, "%s has no opening bracket", it.text)
				return
			}
			stack = stack[:n-1]
		}
	}
	if n := len(stack); n > 0 {
		rep.Errorf(stack[n-1].pos, syntax.CodeSyntax, "%s is not closed", stack[n-1].text)
	}
}

// trim returns a line without trailing space. One space remains after a
// backslash, which would otherwise continue the line.
func trim(s string) string {
	short := strings.TrimRight(s, " \t\r\f\v")
	if strings.HasSuffix(short, "\\") && short != s {
		return short + " "
	}
	return short
}

// lineEnds counts line ends except line continuations.
func lineEnds(gap string) int {
	return strings.Count(gap, "\n") - strings.Count(gap, "\\\n") - strings.Count(gap, "\\\r\n")
}

// restOfLine returns the rest of a line, including comments that begin on it.
func restOfLine(s *syntax.Scanner, rep *source.Reporter, pos source.Pos, text string, start int) string {
	end := start
	for {
		s.SkipLine()
		end = s.Offset()
		got := text[start:end]
		if open := strings.LastIndex(got, "/*"); open < 0 || strings.Contains(got[open:], "*/") || strings.Contains(got[:open], "//") {
			return got
		}
		if end >= len(text) {
			rep.Errorf(pos, syntax.CodeLexical, "comment is not closed")
			return got
		}
		s.Seek(end + 1)
	}
}

// lost describes the first difference between two lists of items, or returns ""
// if they are equal.
func lost(a, b []item) string {
	for i := range a {
		if i >= len(b) {
			return fmt.Sprintf("%q is lost", a[i].text)
		}
		if a[i].kind != b[i].kind || squeeze(a[i].text) != squeeze(b[i].text) {
			return fmt.Sprintf("%q became %q", a[i].text, b[i].text)
		}
	}
	if len(b) > len(a) {
		return fmt.Sprintf("%q is new", b[len(a)].text)
	}
	return ""
}

// squeeze returns a comment without trailing space on its lines, which
// formatting may change.
func squeeze(s string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString(strings.TrimSpace(l))
		b.WriteByte('\n')
	}
	return b.String()
}
