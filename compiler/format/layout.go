// SPDX-License-Identifier: Apache-2.0

package format

import (
	"slices"
	"strings"

	"github.com/pauseless/pauseless/compiler/syntax"
)

const step = 4 // columns of an indent

// scope is an open bracket or the whole text.
type scope struct {
	open      syntax.Kind // of the bracket; EOF for the whole text
	block     bool
	inline    bool
	key       bool // the key or entries of a table, where colons have space on both sides
	labels    bool // of a switch, whose labels end with colons
	members   *members
	indent    int // of lines in it
	outer     int // of the closing bracket
	statement int // of the current statement in it
	next      int // of continuation lines, if it holds no statements
	fresh     bool
	questions int  // ? without a : so far
	colon     bool // the last colon belonged to a ?
}

// layouter writes items as lines.
type layouter struct {
	items  []item
	lines  []string
	cur    strings.Builder // the current line, without its indent
	margin int             // the indent of the current line
	stack  []scope
	saved  [][]scope // at each open #if

	prev      int  // the last item written, -1 at the beginning
	aggregate bool // the statement declares a header, struct or union
	declares  bool // the statement is a declaration with parameters
	isSwitch  bool
	annotated int // items up to here belong to an annotation before a statement
	wantLine  bool
}

func layout(items []item) []byte {
	classify(items)
	l := &layouter{items: items, prev: -1, annotated: -1}
	l.stack = []scope{{open: syntax.EOF, block: true, fresh: true}}
	for i := range items {
		l.item(i)
	}
	l.flush()
	for len(l.lines) > 0 && l.lines[len(l.lines)-1] == "" {
		l.lines = l.lines[:len(l.lines)-1]
	}
	if len(l.lines) == 0 {
		return []byte{}
	}
	return []byte(strings.Join(l.lines, "\n") + "\n")
}

func (l *layouter) top() *scope { return &l.stack[len(l.stack)-1] }

// flush ends the current line.
func (l *layouter) flush() {
	if l.cur.Len() > 0 {
		l.lines = append(l.lines, strings.Repeat(" ", l.margin)+l.cur.String())
		l.cur.Reset()
	}
}

// newLine ends the line. It keeps an empty line of the text, unless it is next
// to a brace.
func (l *layouter) newLine(it *item) {
	l.flush()
	if it.lines < 2 || len(l.lines) == 0 || l.lines[len(l.lines)-1] == "" {
		return
	}
	if p := &l.items[l.prev]; p.tok == syntax.LBrace && p.block || it.tok == syntax.RBrace && it.block || it.tok == syntax.EOF {
		return
	}
	l.lines = append(l.lines, "")
}

func (l *layouter) item(i int) {
	it := &l.items[i]
	switch it.kind {
	case directive, pragma:
		if l.prev >= 0 {
			l.newLine(it)
		}
		l.margin = 0
		if it.kind == pragma {
			l.margin = l.top().indent
		}
		l.cur.WriteString(it.text)
		l.flush()
		if it.kind == directive {
			l.conditional(it.text)
		}
		l.wantLine = true
	case comment, line:
		l.comment(i, it)
	default:
		l.token(i, it)
	}
	l.prev = i
}

// conditional saves the brackets that are open at an #if for each branch.
func (l *layouter) conditional(text string) {
	word := strings.TrimLeft(text[1:], " \t")
	n := len(l.saved)
	switch {
	case strings.HasPrefix(word, "if"):
		l.saved = append(l.saved, slices.Clone(l.stack))
	case strings.HasPrefix(word, "el") && n > 0:
		l.stack = slices.Clone(l.saved[n-1])
	case strings.HasPrefix(word, "endif") && n > 0:
		l.saved = l.saved[:n-1]
	}
}

func (l *layouter) comment(i int, it *item) {
	own := it.lines > 0 || l.prev < 0
	if own || l.wantLine && (l.prev < 0 || l.items[l.prev].kind != token) {
		if l.prev >= 0 {
			l.newLine(it)
		}
		l.margin = l.lineIndent(i)
		own = true
	} else if l.cur.Len() == 0 && len(l.lines) > 0 {
		// The previous token has ended its line.
		l.reopen()
	}
	if l.cur.Len() > 0 && !l.tight(i) {
		l.cur.WriteByte(' ')
	}
	if it.kind == comment && strings.Contains(it.text, "\n") {
		l.longComment(it.text)
	} else {
		l.cur.WriteString(it.text)
	}
	if it.kind == line {
		l.flush()
		l.wantLine = true
	} else if own {
		l.wantLine = false
	}
}

// tight reports whether a comment directly follows an opening bracket.
func (l *layouter) tight(i int) bool {
	if l.prev < 0 || l.items[i].kind != comment {
		return false
	}
	p := &l.items[l.prev]
	return p.kind == token && (p.tok == syntax.LParen || p.tok == syntax.LBracket || p.angle && p.tok == syntax.Less)
}

// longComment writes a comment of several lines. Lines that begin with a star
// are aligned with the first, others do not change.
func (l *layouter) longComment(text string) {
	rows := strings.Split(text, "\n")
	stars := true
	for _, r := range rows[1:] {
		stars = stars && strings.HasPrefix(strings.TrimSpace(r), "*")
	}
	l.cur.WriteString(strings.TrimRight(rows[0], " \t\r"))
	column := l.margin
	for _, r := range rows[1:] {
		l.flush()
		if l.margin = 0; stars {
			l.margin = column
			l.cur.WriteString(" " + strings.TrimSpace(r))
		} else if r = strings.TrimRight(r, " \t\r"); r == "" {
			l.lines = append(l.lines, "")
		} else {
			l.cur.WriteString(r)
		}
	}
}

// reopen continues the last line.
func (l *layouter) reopen() {
	n := len(l.lines) - 1
	last := l.lines[n]
	l.lines = l.lines[:n]
	text := strings.TrimLeft(last, " ")
	l.margin = len(last) - len(text)
	l.cur.WriteString(text)
}

// lineIndent returns the indent of the line that begins with item i.
func (l *layouter) lineIndent(i int) int {
	s := l.top()
	it := &l.items[i]
	switch {
	case it.kind == token && closers[it.tok] == s.open && s.open != syntax.EOF && it.tok != syntax.EOF:
		return s.outer
	case s.block && s.fresh:
		return s.indent
	case s.block && it.tok == syntax.Else:
		return s.indent
	case s.block:
		return s.statement + step
	}
	return s.next
}

func (l *layouter) token(i int, it *item) {
	if it.tok == syntax.EOF {
		return
	}
	l.begin(i, it)
	if l.cur.Len() > 0 && l.spaced(i) {
		l.cur.WriteByte(' ')
	}
	s := l.top()
	if s.block && s.fresh && i > l.annotated {
		l.startStatement(i, it, s)
	}
	l.cur.WriteString(it.text)
	l.wantLine = false
	switch it.tok {
	case syntax.LParen, syntax.LBracket, syntax.LBrace:
		l.push(i, it)
	case syntax.RParen, syntax.RBracket, syntax.RBrace:
		l.pop(i, it)
	case syntax.Semicolon:
		if s.block {
			s.members.end(l)
			s.fresh = true
			l.wantLine = !s.inline
		}
	case syntax.Comma:
		if s.block {
			s.fresh = true
		}
	case syntax.Question:
		s.questions++
	case syntax.Colon:
		s.colon = s.questions > 0
		if s.questions > 0 {
			s.questions--
		} else if s.block && s.labels {
			s.fresh = true
		}
	}
}

// begin starts a new line before item i if the rules require one.
func (l *layouter) begin(i int, it *item) {
	if l.prev < 0 {
		l.margin = 0
		return
	}
	p := &l.items[l.prev]
	want := it.lines > 0
	switch {
	case p.kind == line || p.kind == directive || p.kind == pragma:
		want = true
	case p.kind == comment:
		want = it.lines > 0
	case it.tok == syntax.LBrace && it.block:
		want = false
	case it.tok == syntax.Else && p.tok == syntax.RBrace:
		want = false
	case it.tok == syntax.Semicolon || it.tok == syntax.Comma:
		want = false
	case l.wantLine:
		want = true
	}
	if it.tok == syntax.RBrace && it.block && !it.inline && p.tok != syntax.LBrace {
		want = true
	}
	if !want {
		if l.cur.Len() == 0 && len(l.lines) > 0 {
			l.reopen()
		}
		return
	}
	l.newLine(it)
	l.margin = l.lineIndent(i)
}

// startStatement records that a statement begins with item i.
func (l *layouter) startStatement(i int, it *item, s *scope) {
	s.statement = l.margin
	if l.cur.Len() > 0 {
		s.statement = s.indent
	}
	if it.tok == syntax.At {
		l.annotated = l.annotation(i)
		if l.annotated > i {
			return
		}
	}
	s.fresh = it.tok == syntax.RBrace
	s.questions = 0
	l.isSwitch = it.tok == syntax.Switch
	switch it.tok {
	case syntax.Parser, syntax.Control, syntax.Action, syntax.Package, syntax.Extern:
		l.declares = true
	default:
		l.declares = s.open == syntax.EOF // a function or an instance
	}
	l.aggregate = it.tok == syntax.Header || it.tok == syntax.Struct || it.tok == syntax.HeaderUnion
	s.members.begin(l)
}

// annotation returns the last item of the annotation that begins at i.
func (l *layouter) annotation(i int) int {
	next := func(k int) int {
		for k++; k < len(l.items)-1 && (l.items[k].kind == comment || l.items[k].kind == line); k++ {
		}
		return k
	}
	name := next(i)
	if l.items[name].kind != token || l.items[name].tok == syntax.EOF {
		return i
	}
	open := next(name)
	if t := l.items[open].tok; l.items[open].kind == token && (t == syntax.LParen || t == syntax.LBracket) && l.items[open].match > open {
		return l.items[open].match
	}
	return name
}

// push opens a scope for a bracket that was written.
func (l *layouter) push(i int, it *item) {
	s := l.top()
	n := scope{open: it.tok, block: it.block, inline: it.inline || s.inline && s.open != syntax.EOF, statement: s.statement, fresh: true}
	switch {
	case it.tok == syntax.LBrace && it.block:
		n.outer = s.statement
		n.indent = n.outer + step
		n.key, n.labels = l.listsKeys(i), l.isSwitch
		if l.aggregate && !n.inline {
			n.members = &members{}
		}
		l.isSwitch, l.aggregate = false, false
		n.statement = n.indent
		l.wantLine = !n.inline
	case it.tok == syntax.LBrace:
		n.outer = l.margin
		n.next = l.margin + l.cur.Len() + 1
		if next := &l.items[i+1]; (next.lines > 0 || next.kind == line) && next.tok != syntax.Comma && next.tok != syntax.Semicolon {
			n.next = l.margin + step
		}
	case !s.block:
		n.outer, n.next = s.next, s.next
	case it.tok == syntax.LParen && l.declares && i+1 < len(l.items) && l.items[i+1].lines == 0 && l.items[i+1].kind != line:
		// Parameters are aligned with the first.
		n.outer, n.next = s.statement, l.margin+l.cur.Len()
	default:
		n.outer, n.next = s.statement, s.statement+step
	}
	l.stack = append(l.stack, n)
}

// listsKeys reports whether the brace at i opens a table's key or entries.
func (l *layouter) listsKeys(i int) bool {
	if i < 2 || l.items[i-1].tok != syntax.Assign {
		return false
	}
	what := l.items[i-2].tok
	return what == syntax.Key || what == syntax.Entries
}

// pop closes the scope of a closing bracket.
func (l *layouter) pop(i int, it *item) {
	if len(l.stack) == 1 || l.top().open != closers[it.tok] {
		return
	}
	s := *l.top()
	l.stack = l.stack[:len(l.stack)-1]
	t := l.top()
	if it.tok != syntax.RBrace || !it.block {
		return
	}
	s.members.align(l)
	if t.block {
		t.fresh = true
		l.wantLine = !t.inline
	}
}
