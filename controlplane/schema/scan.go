// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scanner splits a line of entity text into tokens: "->", one of ()[]{},= and
// words, which are anything between those and spaces. A quoted string is one
// word.
type scanner struct {
	line   string
	tokens []token
	next   int
}

type token struct {
	text   string
	quoted bool
	col    int // of its first byte, from 1
}

func (t token) is(text string) bool { return !t.quoted && t.text == text }

const punctuation = "()[]{},="

func scan(line string) (*scanner, error) {
	s := &scanner{line: line}
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case c == ' ' || c == '\t':
			i++
		case c == '#':
			i = len(line)
		case c == '"':
			quoted, err := strconv.QuotedPrefix(line[i:])
			if err != nil {
				return nil, fmt.Errorf("column %d: string is not closed", i+1)
			}
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("column %d: %s is not a string", i+1, quoted)
			}
			s.tokens = append(s.tokens, token{text, true, i + 1})
			i += len(quoted)
		case strings.HasPrefix(line[i:], "->"):
			s.tokens = append(s.tokens, token{"->", false, i + 1})
			i += 2
		case strings.IndexByte(punctuation, c) >= 0:
			s.tokens = append(s.tokens, token{line[i : i+1], false, i + 1})
			i++
		default:
			end := i + wordLen(line[i:])
			s.tokens = append(s.tokens, token{line[i:end], false, i + 1})
			i = end
		}
	}
	return s, nil
}

// wordLen returns the length of the word at the start of text, including an
// index inside a name, as in hdr.vlan[0].id.
func wordLen(text string) int {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '[':
			end := strings.IndexByte(text[i:], ']')
			if end < 0 || !strings.HasPrefix(text[i+end:], "].") || strings.Trim(text[i+1:i+end], "0123456789") != "" {
				return i
			}
			i += end
		case c == ' ' || c == '\t' || c == '"' || c == '#' || strings.IndexByte(punctuation, c) >= 0:
			return i
		case strings.HasPrefix(text[i:], "->") && i > 0:
			return i
		}
	}
	return len(text)
}

// peek returns the token n positions ahead. Its text is empty after the end.
func (s *scanner) peek(n int) token {
	if s.next+n >= len(s.tokens) {
		return token{col: len(s.line) + 1}
	}
	return s.tokens[s.next+n]
}

func (s *scanner) more() bool { return s.next < len(s.tokens) }

// accept consumes the next token if it is text.
func (s *scanner) accept(text string) bool {
	if s.more() && s.peek(0).is(text) {
		s.next++
		return true
	}
	return false
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", s.peek(0).col, fmt.Sprintf(format, args...))
}

func (s *scanner) expect(text string) error {
	if s.accept(text) {
		return nil
	}
	return s.errorf("expected %q, not %s", text, s.found())
}

func (s *scanner) found() string {
	if !s.more() {
		return "the end of the line"
	}
	return strconv.Quote(s.peek(0).text)
}

// word consumes the next token, which must not be punctuation.
func (s *scanner) word(what string) (string, error) {
	t := s.peek(0)
	if !s.more() || !t.quoted && (t.text == "->" || len(t.text) == 1 && strings.Contains(punctuation, t.text)) {
		return "", s.errorf("expected %s, not %s", what, s.found())
	}
	s.next++
	return t.text, nil
}

// number consumes the next token, a number of at most bits bits.
func (s *scanner) number(what string, bits int) (uint64, error) {
	col := s.peek(0)
	text, err := s.word(what)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(text, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("column %d: %s: %q is not a number of at most %d bits", col.col, what, text, bits)
	}
	return v, nil
}

// duration consumes the next token, a time such as 10ms.
func (s *scanner) duration(what string) (time.Duration, error) {
	col := s.peek(0)
	text, err := s.word(what)
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("column %d: %s: %q is not a time such as 10ms", col.col, what, text)
	}
	return d, nil
}
