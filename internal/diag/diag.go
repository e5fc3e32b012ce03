// SPDX-License-Identifier: Apache-2.0

// Package diag has the type of all errors in files: position, severity, code and
// message. The compiler, the readers of profiles, topologies and scenarios, and
// the JSON loader all return a List. The command line prints it with the source
// lines and a caret.
package diag

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pos is a place in a file. It is small, so that every token and tree node
// can carry one by value.
type Pos struct {
	file *string
	Line int32 // from 1; 0 if only the file is known
	Col  int32 // from 1, in bytes; 0 if only the line is known
}

// MakePos returns a position in the file of the given name. Positions of one
// file should share the pointer.
func MakePos(file *string, line, col int32) Pos { return Pos{file, line, col} }

// FilePos returns a position that names only the file.
func FilePos(name string) Pos { return Pos{file: &name} }

// File returns the file's name, or "" for the zero Pos.
func (p Pos) File() string {
	if p.file == nil {
		return ""
	}
	return *p.file
}

// IsValid reports whether p names a file.
func (p Pos) IsValid() bool { return p.file != nil }

// String returns "file:line:col", without the parts that are not known.
func (p Pos) String() string {
	switch {
	case p.file == nil:
		return "-"
	case p.Line == 0:
		return *p.file
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", *p.file, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", *p.file, p.Line, p.Col)
}

// Compare orders positions by file name, line and column.
func (p Pos) Compare(q Pos) int {
	if p.file != q.file {
		if c := strings.Compare(p.File(), q.File()); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// Severity is the severity of a diagnostic: error or warning.
type Severity uint8

// Severities.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Code is the permanent name of a kind of diagnostic, such as "undeclared".
// docs/diagnostics.md describes each, with an example that a test runs.
type Code string

// Diagnostic is an error or a warning about one position.
type Diagnostic struct {
	Pos      Pos
	Severity Severity
	Code     Code
	Msg      string // lower case, names the thing, may end with what to do: "did you mean …?"
}

// Error returns "file:line:col: message [code]", with "warning: " before the
// message of a warning.
func (d *Diagnostic) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: ", d.Pos)
	if d.Severity == Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(d.Msg)
	if d.Code != "" {
		fmt.Fprintf(&b, " [%s]", d.Code)
	}
	return b.String()
}

// List collects diagnostics. The zero value is empty and ready.
type List []*Diagnostic

// Errorf adds an error. A message that ends with a diagnostic keeps the code of that
// one.
func (l *List) Errorf(pos Pos, code Code, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	for _, a := range args {
		var inner List
		if err, ok := a.(error); ok && errors.As(err, &inner) {
			last := inner[len(inner)-1].Code
			if rest, ends := strings.CutSuffix(msg, fmt.Sprintf(" [%s]", last)); ends {
				msg, code = rest, last
			}
		}
	}
	*l = append(*l, &Diagnostic{pos, Error, code, brief(msg)})
}

// Warnf adds a warning.
func (l *List) Warnf(pos Pos, code Code, format string, args ...any) {
	*l = append(*l, &Diagnostic{pos, Warning, code, brief(fmt.Sprintf(format, args...))})
}

// maxMessage is how many bytes of a message are kept: a file of another kind may have a
// word of a megabyte where a name is expected.
const maxMessage = 2000

// brief shortens a message in the middle.
func brief(msg string) string {
	if len(msg) <= maxMessage {
		return msg
	}
	return strings.ToValidUTF8(msg[:maxMessage/2], "") + " … " + strings.ToValidUTF8(msg[len(msg)-maxMessage/4:], "")
}

// HasErrors reports whether one of the diagnostics is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d *Diagnostic) bool { return d.Severity == Error })
}

// Sort orders the list by position and drops duplicates.
func (l *List) Sort() {
	slices.SortStableFunc(*l, func(a, b *Diagnostic) int { return a.Pos.Compare(b.Pos) })
	*l = slices.CompactFunc(*l, func(a, b *Diagnostic) bool {
		return a.Pos.Compare(b.Pos) == 0 && a.Severity == b.Severity && a.Code == b.Code && a.Msg == b.Msg
	})
}

// Err returns the sorted list as an error, or nil if none of it is an error. The list
// stays as it is.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	l = slices.Clone(l) // Sort clears the places of duplicates
	l.Sort()
	return l
}

// Error returns the diagnostics, one a line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Print writes the list. Each diagnostic is followed by its source line, with a
// caret under the position. Source returns a file's text, or nil if it is not
// available; line and caret are left out then.
func Print(w io.Writer, l List, source func(file string) []byte) {
	for _, d := range l {
		fmt.Fprintln(w, printable(d.Error()))
		if source == nil || d.Pos.Line < 1 {
			continue
		}
		text := source(d.Pos.File())
		line, ok := lineOf(text, int(d.Pos.Line))
		if !ok {
			continue
		}
		col := int(d.Pos.Col) - 1
		if len(line) > excerpt { // the part around the column
			from := min(max(col-excerpt/2, 0), len(line)-1)
			line, col = line[from:min(from+excerpt, len(line))], col-from
		}
		fmt.Fprintf(w, "    %s\n", printable(line))
		if col >= 0 && col <= len(line) {
			fmt.Fprintf(w, "    %s^\n", blank(line[:col]))
		}
	}
}

// excerpt is how many bytes of a line Print shows.
const excerpt = 160

// printable replaces characters that control a terminal, except tabs and line breaks,
// and bytes that are no text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' {
			return utf8.RuneError
		}
		return r
	}, s)
}

// blank replaces all characters of s by spaces, except tabs.
func blank(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
		s = s[n:]
	}
	return b.String()
}

func lineOf(text []byte, n int) (string, bool) {
	for ; n > 1; n-- {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return "", false
		}
		text = text[i+1:]
	}
	if len(text) == 0 {
		return "", false
	}
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(string(text), "\r"), true
}
