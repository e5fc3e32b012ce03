// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/internal/diag"
)

// CodeLexical marks text that is no token.
const CodeLexical diag.Code = "lexical"

// Scanner splits the text of a file into tokens. White space, comments and line
// continuations only set flags of the next token.
type Scanner struct {
	// Comments makes the scanner return comments as tokens.
	Comments bool
	// Lines makes the scanner return the tokens of C's preprocessor. A string ends
	// with its line; one without a closing quote gets the flag Open, and its Text
	// excludes the line end. Text from an apostrophe to the next, or to the end of
	// the line, is one Illegal token. A number goes on as in C: 1..N is one. Space
	// may follow the backslash of a continued line.
	Lines bool

	file *source.File
	text string
	at   int
	line bool // only space since the line began
	rep  *source.Reporter
}

// NewScanner returns a scanner of the file. It reports errors to rep.
func NewScanner(file *source.File, rep *source.Reporter) *Scanner {
	return &Scanner{file: file, text: file.Text, line: true, rep: rep}
}

func (s *Scanner) errorf(offset int, format string, args ...any) {
	s.rep.Errorf(s.file.Pos(offset), CodeLexical, format, args...)
}

// Next returns the next token. At the end of the file, every call returns EOF.
func (s *Scanner) Next() Token {
	var flags TokenFlags
	for s.at < len(s.text) {
		start := s.at
		switch c := s.text[s.at]; c {
		case '\n':
			s.at++
			s.line = true
			flags |= SpaceAhead
			continue
		case ' ', '\t', '\r', '\f', '\v':
			s.at++
			flags |= SpaceAhead
			continue
		case '\\':
			n := s.continuation(s.at)
			if n == 0 {
				break
			}
			s.at += n
			flags |= SpaceAhead
			continue
		case '/':
			if !s.comment() {
				break
			}
			if s.Comments {
				if s.line {
					flags |= LineStart
				}
				text := s.text[start:s.at]
				s.line = false
				return s.token(Comment, flags, start, text)
			}
			flags |= SpaceAhead
			if strings.IndexByte(s.text[start:s.at], '\n') >= 0 {
				s.line = true
			}
			continue
		}
		break
	}
	if s.line {
		flags |= LineStart
	}
	s.line = false
	if s.at >= len(s.text) {
		s.line = true
		return s.token(EOF, flags|LineStart, s.at, "")
	}
	return s.scan(flags)
}

// AtLineEnd reports whether the rest of the line has only space and comments
// that end on it.
func (s *Scanner) AtLineEnd() bool {
	at, line := s.at, s.line
	defer func() { s.at, s.line = at, line }()
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '\n':
			return true
		case ' ', '\t', '\r', '\f', '\v':
			s.at++
		case '\\':
			n := s.continuation(s.at)
			if n == 0 {
				return false
			}
			s.at += n
		case '/':
			start := s.at
			if !s.comment() {
				return false
			}
			if strings.IndexByte(s.text[start:s.at], '\n') >= 0 {
				return true
			}
		default:
			return false
		}
	}
	return true
}

// SkipLine skips the rest of the line and returns it.
func (s *Scanner) SkipLine() string {
	start := s.at
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		if n := s.continuation(s.at); n > 0 {
			s.at += n
		} else {
			s.at++
		}
	}
	return s.text[start:s.at]
}

// continuation returns the length of a backslash followed by a line end, or 0.
func (s *Scanner) continuation(at int) int {
	rest := s.text[at:]
	if strings.HasPrefix(rest, "\\\n") {
		return 2
	}
	if strings.HasPrefix(rest, "\\\r\n") {
		return 3
	}
	if s.Lines && strings.HasPrefix(rest, "\\") {
		if n := len(rest) - len(strings.TrimLeft(rest[1:], " \t\r\f\v")); n < len(rest) && rest[n] == '\n' {
			return n + 1
		}
	}
	return 0
}

// comment skips a comment and reports whether there was one.
func (s *Scanner) comment() bool {
	rest := s.text[s.at:]
	switch {
	case strings.HasPrefix(rest, "//"):
		s.SkipLine()
		return true
	case strings.HasPrefix(rest, "/*"):
		n := strings.Index(rest[2:], "*/")
		if n < 0 {
			s.errorf(s.at, "comment is not closed")
			s.at = len(s.text)
			return true
		}
		s.at += n + 4
		return true
	}
	return false
}

func (s *Scanner) token(k Kind, flags TokenFlags, start int, text string) Token {
	return Token{k, flags, s.file.Pos(start), s.file.Pos(s.at), text}
}

// scan returns the token at the current offset.
func (s *Scanner) scan(flags TokenFlags) Token {
	start := s.at
	c := s.text[s.at]
	switch {
	case isLetter(c):
		text := s.word()
		if k, ok := keywords[text]; ok {
			return s.token(k, flags, start, text)
		}
		return s.token(Name, flags, start, text)
	case isDigit(c) && s.Lines:
		return s.token(Integer, flags, start, s.ppNumber())
	case isDigit(c):
		return s.token(Integer, flags, start, s.word())
	case c == '\'' && s.Lines:
		return s.token(Illegal, flags, start, s.quoted())
	case c == '"':
		return s.string(flags)
	}
	if strings.HasPrefix(s.text[s.at:], "@pragma") && !(s.at+7 < len(s.text) && (isLetter(s.text[s.at+7]) || isDigit(s.text[s.at+7]))) {
		s.at += 7
		return s.token(Pragma, flags, start, "")
	}
	k, n := punctuation(s.text[s.at:])
	if n == 0 { // annotations may contain any character
		s.at++
		return s.token(Illegal, flags, start, s.text[start:s.at])
	}
	s.at += n
	return s.token(k, flags, start, "")
}

// word skips letters and digits and returns them. A line continuation may split
// a word, as in C.
func (s *Scanner) word() string {
	start, before := s.at, ""
	for s.at < len(s.text) {
		c := s.text[s.at]
		if isLetter(c) || isDigit(c) {
			s.at++
			continue
		}
		n := s.continuation(s.at)
		if after := s.at + n; n == 0 || after >= len(s.text) || !isLetter(s.text[after]) && !isDigit(s.text[after]) {
			break
		}
		before += s.text[start:s.at]
		s.at += n
		start = s.at
	}
	return before + s.text[start:s.at]
}

// ppNumber skips a number as C's preprocessor reads it (C11 6.4.8).
func (s *Scanner) ppNumber() string {
	text := s.word()
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '.':
		case (c == '+' || c == '-') && strings.IndexByte("eEpP", text[len(text)-1]) >= 0:
		default:
			return text
		}
		text += s.text[s.at : s.at+1]
		s.at++
		text += s.word()
	}
	return text
}

// quoted skips text from an apostrophe to the next one on the line, or to the
// end of the line.
func (s *Scanner) quoted() string {
	start := s.at
	for s.at++; s.at < len(s.text) && s.text[s.at] != '\n'; s.at++ {
		switch s.text[s.at] {
		case '\\':
			if s.at+1 < len(s.text) && s.text[s.at+1] != '\n' {
				s.at++
			}
		case '\'':
			s.at++
			return s.text[start:s.at]
		}
	}
	return s.text[start:s.at]
}

func (s *Scanner) string(flags TokenFlags) Token {
	start, joined := s.at, false
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			if n := s.continuation(s.at); n > 0 {
				s.at += n - 1
				joined = s.Lines
			} else {
				s.at++
			}
		case '"':
			s.at++
			return s.token(String, flags, start, join(s.text[start+1:s.at-1], joined))
		case '\n':
			if s.Lines {
				return s.token(String, flags|Open, start, join(strings.TrimSuffix(s.text[start+1:s.at], "\r"), joined))
			}
		}
	}
	s.at = len(s.text)
	if s.Lines {
		return s.token(String, flags|Open, start, join(s.text[start+1:], joined))
	}
	s.errorf(start, "string is not closed")
	return s.token(String, flags, start, s.text[start+1:])
}

// join removes line continuations from a string if it has some.
func join(text string, joined bool) string {
	if !joined {
		return text
	}
	return strings.NewReplacer("\\\n", "", "\\\r\n", "").Replace(text)
}

// punctuation returns the longest operator or delimiter at the start of s, and
// its length.
func punctuation(s string) (Kind, int) {
	for n := min(4, len(s)); n > 0; n-- {
		if k, ok := punctuations[n][s[:n]]; ok {
			return k, n
		}
	}
	return Illegal, 0
}

// punctuations are the delimiters and operators by length.
var punctuations = func() (m [5]map[string]Kind) {
	for i := range m {
		m[i] = map[string]Kind{}
	}
	for k := punctuationStart + 1; k < punctuationEnd; k++ {
		if k != Shr { // would break a<b<c>>
			m[len(kindText[k])][kindText[k]] = k
		}
	}
	return m
}()

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// NextLine skips a whole line and returns it with its line end and its offset.
// The scanner must be at the start of the line or after a token. NextLine
// handles comments that span lines, but no strings: it is for text that is not
// compiled. At the end of the file it returns "".
func (s *Scanner) NextLine() (string, int) {
	start := s.at
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '\n':
			s.at++
			s.line = true
			return s.text[start:s.at], start
		case c == '\\' && s.continuation(s.at) > 0:
			s.at += s.continuation(s.at)
		case strings.HasPrefix(s.text[s.at:], "//"):
			s.SkipLine()
		case strings.HasPrefix(s.text[s.at:], "/*"):
			s.comment()
		default:
			s.at++
		}
	}
	s.line = true
	return s.text[start:], start
}

// Offset returns the current offset in bytes.
func (s *Scanner) Offset() int { return s.at }

// Seek sets the offset, which must be that of the first token on its line.
func (s *Scanner) Seek(offset int) { s.at, s.line = offset, true }

// Resume sets the offset, which is within a line.
func (s *Scanner) Resume(offset int) { s.at, s.line = offset, false }
