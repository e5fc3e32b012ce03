// SPDX-License-Identifier: Apache-2.0

// Package source holds the text of a program, which may come from several files,
// and the positions in it.
//
// A position is one small integer, an offset into the concatenation of all
// files of a Set, so that tokens and tree nodes can store it cheaply. It is
// converted to file, line and column only for a message or the source_info of
// an output.
package source

import (
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
)

// Pos is a position in the text of a Set. The zero Pos is not valid.
type Pos int32

// IsValid reports whether p is a position.
func (p Pos) IsValid() bool { return p > 0 }

// Span is a range of text from Start to before End.
type Span struct{ Start, End Pos }

// MaxSize is the maximum size of a Set's text, in bytes.
const MaxSize = 1 << 26

// Set is the text of one compilation. The zero value is empty and ready.
type Set struct {
	files []*File
	last  *File // the file found last: lookups are often in the same file
}

// File is one file of a Set.
type File struct {
	Name string
	Text string

	base  Pos
	lines []int32 // offsets of the first byte of every line
	marks []mark  // in order of offset
}

// mark is a #line directive: it sets the file and line of the text after an
// offset.
type mark struct {
	offset int32
	name   *string
	line   int32 // of the line with the offset
}

// Add appends a file. It returns nil if the set would grow beyond MaxSize.
func (s *Set) Add(name, text string) *File {
	base := Pos(1)
	if n := len(s.files); n > 0 {
		base = s.files[n-1].end() + 1
	}
	if int64(base)+int64(len(text)) > MaxSize {
		return nil
	}
	f := &File{Name: name, Text: text, base: base}
	f.lines = append(f.lines, 0)
	for i := 0; i < len(text); {
		j := strings.IndexByte(text[i:], '\n')
		if j < 0 {
			break
		}
		i += j + 1
		f.lines = append(f.lines, int32(i))
	}
	f.marks = []mark{{0, &f.Name, 1}}
	s.files = append(s.files, f)
	return f
}

// Includes reports whether a file of this name, in any folder, was added after
// the first.
func (s *Set) Includes(name string) bool {
	return len(s.files) > 0 && slices.ContainsFunc(s.files[1:], func(f *File) bool { return path.Base(filepath.ToSlash(f.Name)) == name })
}

// Pos returns the position of the byte at the offset.
func (f *File) Pos(offset int) Pos { return f.base + Pos(offset) }

// Offset is the inverse of Pos.
func (f *File) Offset(p Pos) int { return int(p - f.base) }

func (f *File) end() Pos { return f.base + Pos(len(f.Text)) }

// SetLine sets the file and line number of the line after the one with the
// offset, as #line does. Calls must be in order of offset.
func (f *File) SetLine(offset int, name string, line int) {
	next := f.line(offset) + 1
	if next >= len(f.lines) {
		return
	}
	last := f.marks[len(f.marks)-1]
	p := last.name
	if name != "" && name != *p {
		p = &name
	}
	f.marks = append(f.marks, mark{f.lines[next], p, int32(line)})
}

// line returns the index of the line with the offset.
func (f *File) line(offset int) int {
	return sort.Search(len(f.lines), func(i int) bool { return int(f.lines[i]) > offset }) - 1
}

// FileAt returns the file with position p, or nil.
func (s *Set) FileAt(p Pos) *File {
	if !p.IsValid() {
		return nil
	}
	if f := s.last; f != nil && f.base <= p && p <= f.end() {
		return f
	}
	i := sort.Search(len(s.files), func(i int) bool { return s.files[i].base > p }) - 1
	if i < 0 {
		return nil
	}
	s.last = s.files[i]
	return s.last
}

// Position returns file, line and column of p.
func (s *Set) Position(p Pos) diag.Pos {
	f := s.FileAt(p)
	if f == nil {
		return diag.Pos{}
	}
	offset := f.Offset(p)
	i := sort.Search(len(f.marks), func(i int) bool { return int(f.marks[i].offset) > offset }) - 1
	m := f.marks[i]
	line := f.line(offset)
	return diag.MakePos(m.name, int32(line-f.line(int(m.offset)))+m.line, int32(offset)-f.lines[line]+1)
}

// Text returns the text of a span. It returns "" for a span across files.
func (s *Set) Text(sp Span) string {
	f := s.FileAt(sp.Start)
	if f == nil || sp.End < sp.Start || sp.End > f.end() {
		return ""
	}
	return f.Text[f.Offset(sp.Start):f.Offset(sp.End)]
}

// Fragment returns the part of the span on its first line, followed by " ..."
// if there is more.
func (s *Set) Fragment(sp Span) string {
	text := s.Text(sp)
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return strings.TrimSuffix(text[:i], "\r") + " ..."
	}
	return text
}

// Source returns the text of the named file for diag.Print, or nil. Files
// that exist only as the target of a #line directive have none.
func (s *Set) Source(name string) []byte {
	for _, f := range s.files {
		if f.Name == name {
			return []byte(f.Text)
		}
	}
	return nil
}

// Main returns the file that is compiled: the first one that does not consist
// of command line options.
func (s *Set) Main() *File {
	if len(s.files) == 0 {
		return nil
	}
	return s.files[0]
}
