// SPDX-License-Identifier: Apache-2.0

package preproc

import (
	"strings"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// longString reads the rest of a string that is open at the end of its line. P4
// strings may span lines, C strings may not: cpp, which p4c runs, treats the
// further lines like all others. It executes directives, replaces skipped lines
// by empty ones, expands macros, and reduces white space between tokens to one
// space. The first line does not change.
//
// Unlike in cpp, the arguments of a macro must end on the line where they
// begin, and #include is an error: cpp inserts the quoted file name, which ends
// the string. Also, no space is inserted between two expanded tokens that would
// otherwise merge.
func (p *preprocessor) longString(in *input, first syntax.Token) syntax.Token {
	text := in.file.Text
	var b strings.Builder
	b.WriteString(first.Text)
	from, written := in.file.Offset(first.Pos), 0
	for {
		// The scanner is at the end of a line.
		at := in.scan.Offset()
		if at >= len(text) {
			p.rep.Errorf(first.Pos, syntax.CodeLexical, "string is not closed")
			break
		}
		// The number of lines must not change: some were joined or skipped.
		gone := strings.Count(text[from:at], "\n") - strings.Count(b.String()[written:], "\n")
		b.WriteString(strings.Repeat("\n", 1+gone))
		from, written = at+1, b.Len()
		in.scan.Seek(from)
		if !in.active() {
			p.skip(in)
			continue
		}
		if p.directiveInString(in) {
			continue
		}
		if p.lineOfString(in, &b) {
			break
		}
	}
	first.End = in.file.Pos(in.scan.Offset())
	first.Flags &^= syntax.Open
	first.Text = b.String()
	return first
}

// directiveInString executes the directive on the current line, if it has one
// that is effective within a string.
func (p *preprocessor) directiveInString(in *input) bool {
	at := in.scan.Offset()
	line := strings.TrimLeft(in.scan.SkipLine(), " \t")
	hash := in.scan.Offset() - len(line)
	in.scan.Seek(at)
	if !strings.HasPrefix(line, "#") {
		return false
	}
	word := strings.TrimLeft(line[1:], " \t")
	end := 0
	for end < len(word) && 'a' <= word[end] && word[end] <= 'z' {
		end++
	}
	switch word[:end] {
	case "if", "ifdef", "ifndef", "elif", "else", "endif", "define", "undef", "error", "warning", "line":
		in.scan.Seek(hash)
		p.directive(in, in.scan.Next())
	case "include":
		p.rep.Errorf(in.file.Pos(hash), CodeInclude, "#include is not supported within a string")
	default:
		return false // text in cpp, too
	}
	in.scan.SkipLine()
	return true
}

// lineOfString appends the current line to a string and reports whether the
// string ends on it. It leaves the scanner at the end of the line or after the
// closing quote.
func (p *preprocessor) lineOfString(in *input, b *strings.Builder) (closed bool) {
	text := in.file.Text
	start := in.scan.Offset()
	in.scan.SkipLine()
	end := in.scan.Offset()
	in.scan.Seek(start)
	in.scan.Comments = true
	defer func() { in.scan.Comments = false }()
	var list []syntax.Token
	for {
		t := in.scan.Next()
		at, after := in.file.Offset(t.Pos), in.file.Offset(t.End)
		if t.Kind == syntax.EOF || at >= end {
			in.scan.Seek(end)
			break
		}
		if t.Kind == syntax.Illegal && t.Text == "'" { // a character constant, or the rest of the line
			n := strings.IndexByte(text[after:end], '\'')
			if n < 0 {
				n = end - after - 1
			}
			after += n + 1
			in.scan.Resume(after)
			t.Kind = syntax.String
		}
		if t.Kind == syntax.String || t.Kind == syntax.Comment { // copied unchanged
			t.Kind = syntax.Comment
			quote := closingQuote(text[start:], at-start, after-start)
			if quote >= 0 {
				in.scan.Resume(start + quote + 1)
				in.plain = after
				after = start + quote
				closed = true
			}
			t.Text = strings.ReplaceAll(text[at:after], "\r", "")
			if after > end { // a comment of several lines
				in.scan.SkipLine()
				end = in.scan.Offset()
				in.scan.Resume(after)
			}
		}
		list = append(list, t)
		if closed {
			break
		}
	}
	if len(list) == 0 {
		return closed
	}
	indent := strings.TrimRight(text[start:in.file.Offset(list[0].Pos)], "\\\r\n")
	for i, t := range p.expandList(list) {
		switch {
		case i == 0:
			b.WriteString(strings.Repeat(" ", len(indent)))
		case t.Flags&(syntax.SpaceAhead|syntax.LineStart) != 0:
			b.WriteByte(' ')
		}
		b.WriteString(t.Source())
	}
	return closed
}

// closingQuote returns the index of the quote that ends a string in
// text[from:to], or -1. A quote after a backslash does not end it.
func closingQuote(text string, from, to int) int {
	for i := from; i < to; i++ {
		if text[i] != '"' {
			continue
		}
		n := i
		for n > 0 && text[n-1] == '\\' {
			n--
		}
		if (i-n)%2 == 0 {
			return i
		}
	}
	return -1
}
