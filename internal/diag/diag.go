// SPDX-License-Identifier: Apache-2.0

// Package diag has the one shape in which anything that reads a file says
// what is wrong with it: position, severity, code and message. The compiler,
// the profile, topology and scenario readers and the JSON loader all report
// a List, and the command line prints it with the source line and a caret.
package diag

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Pos is a place in a file. It is small, so that every token and tree node
// can carry one by value.
type Pos struct {
	file *string
	Line int32 // from 1; 0 where only the file is known
	Col  int32 // from 1, in bytes; 0 where only the line is known
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

// String returns "file:line:col", as much of it as is known.
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

// Severity is whether a diagnostic stops the work.
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

// Code names a kind of diagnostic for good, as in "undeclared". It is
// documented once, with an example that a test runs.
type Code string

// Diagnostic is one complaint about one place.
type Diagnostic struct {
	Pos      Pos
	Severity Severity
	Code     Code
	Msg      string // lower case, names the thing, may end with what to do: "did you mean …?"
}

// Error returns "file:line:col: message [code]"; a warning says that it is
// one.
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

// Errorf adds an error.
func (l *List) Errorf(pos Pos, code Code, format string, args ...any) {
	*l = append(*l, &Diagnostic{pos, Error, code, fmt.Sprintf(format, args...)})
}

// Warnf adds a warning.
func (l *List) Warnf(pos Pos, code Code, format string, args ...any) {
	*l = append(*l, &Diagnostic{pos, Warning, code, fmt.Sprintf(format, args...)})
}

// HasErrors reports whether one of the diagnostics is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d *Diagnostic) bool { return d.Severity == Error })
}

// Sort orders the list by position and drops what is said twice of one place.
func (l *List) Sort() {
	slices.SortStableFunc(*l, func(a, b *Diagnostic) int { return a.Pos.Compare(b.Pos) })
	*l = slices.CompactFunc(*l, func(a, b *Diagnostic) bool {
		return a.Pos.Compare(b.Pos) == 0 && a.Severity == b.Severity && a.Code == b.Code && a.Msg == b.Msg
	})
}

// Err returns the sorted list as an error, or nil if it has no errors in it.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
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

// Print writes the list, each diagnostic followed by its source line and a
// caret under the place. The function source returns a file's text, or nil
// where it is not to be had, in which case line and caret are left out.
func Print(w io.Writer, l List, source func(file string) []byte) {
	for _, d := range l {
		fmt.Fprintln(w, d.Error())
		if source == nil || d.Pos.Line < 1 {
			continue
		}
		text := source(d.Pos.File())
		line, ok := lineOf(text, int(d.Pos.Line))
		if !ok {
			continue
		}
		fmt.Fprintf(w, "    %s\n", line)
		if col := int(d.Pos.Col) - 1; col >= 0 && col <= len(line) {
			fmt.Fprintf(w, "    %s^\n", blank(line[:col]))
		}
	}
}

// blank returns as many spaces as s is wide, with its tabs kept.
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
