// SPDX-License-Identifier: Apache-2.0

package preproc

import (
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// condition evaluates the expression of an #if or #elif.
func (p *preprocessor) condition(in *input, pos source.Pos) bool {
	list := p.restOfLine(in, 0)
	// The operand of "defined" is not expanded, nor is a file's name.
	var kept []syntax.Token
	for i := 0; i < len(list); i++ {
		t := list[i]
		if t.Text == "__has_include" {
			k, ok := p.hasInclude(in, list[i+1:])
			if !ok {
				p.rep.Errorf(t.Pos, CodeDirective, "__has_include needs (\"file\") or (<file>)")
				return false
			}
			value := "0"
			if k > 0 {
				value = "1"
			}
			i += max(k, -k)
			kept = append(kept, syntax.Token{Kind: syntax.Integer, Pos: t.Pos, End: t.End, Text: value})
			continue
		}
		if t.Text != "defined" {
			kept = append(kept, t)
			continue
		}
		paren := i+1 < len(list) && list[i+1].Kind == syntax.LParen
		if paren {
			i++
		}
		i++
		if i >= len(list) || !isName(list[i]) {
			p.rep.Errorf(t.Pos, CodeDirective, "\"defined\" needs the name of a macro")
			return false
		}
		value := "0"
		if p.isDefined(list[i].Text) {
			value = "1"
		}
		if paren {
			i++
			if i >= len(list) || list[i].Kind != syntax.RParen {
				p.rep.Errorf(t.Pos, CodeDirective, "\"defined(\" is not closed")
				return false
			}
		}
		kept = append(kept, syntax.Token{Kind: syntax.Integer, Pos: t.Pos, End: t.End, Text: value})
	}
	e := &evaluator{p: p, list: p.expandList(kept), pos: pos}
	v := e.comma()
	if !e.failed && e.at < len(e.list) {
		e.fail("unexpected %s in the condition", e.list[e.at].Source())
	}
	return !e.failed && v.bits != 0
}

// number is a value of a preprocessor expression: intmax_t or uintmax_t of 64 bits
// (C11 6.10.1).
type number struct {
	bits     uint64
	unsigned bool
}

func truth(t bool) number {
	if t {
		return number{bits: 1}
	}
	return number{}
}

// evaluator evaluates a preprocessor expression.
type evaluator struct {
	p      *preprocessor
	list   []syntax.Token
	at     int
	depth  int
	idle   int // operands that the result does not depend on, around the present one
	pos    source.Pos
	failed bool
}

func (e *evaluator) fail(format string, args ...any) number {
	if !e.failed {
		e.p.rep.Errorf(e.pos, CodeDirective, format, args...)
	}
	e.failed = true
	return number{}
}

func (e *evaluator) peek() syntax.Kind {
	if e.at < len(e.list) {
		return e.list[e.at].Kind
	}
	return syntax.EOF
}

// comma returns the last of expressions separated by commas, as GNU cpp does.
func (e *evaluator) comma() number {
	v := e.ternary()
	for !e.failed && e.peek() == syntax.Comma {
		e.at++
		v = e.ternary()
	}
	return v
}

func (e *evaluator) ternary() number {
	if e.depth++; e.depth > maxNesting {
		return e.fail("the condition is nested too deep")
	}
	defer func() { e.depth-- }()
	c := e.binary(1)
	if e.peek() != syntax.Question {
		return c
	}
	e.at++
	a := e.unless(c.bits == 0, e.ternary)
	if e.peek() != syntax.Colon {
		return e.fail("? without : in the condition")
	}
	e.at++
	b := e.unless(c.bits != 0, e.ternary)
	unsigned := a.unsigned || b.unsigned
	if c.bits != 0 {
		return number{a.bits, unsigned}
	}
	return number{b.bits, unsigned}
}

var precedence = map[syntax.Kind]int{
	syntax.OrOr: 1, syntax.AndAnd: 2, syntax.Or: 3, syntax.Xor: 4, syntax.And: 5,
	syntax.Equal: 6, syntax.NotEqual: 6,
	syntax.Less: 7, syntax.Greater: 7, syntax.LessEqual: 7, syntax.GreaterEqual: 7,
	syntax.Shl: 8, syntax.Shr: 8, syntax.Plus: 9, syntax.Minus: 9,
	syntax.Star: 10, syntax.Slash: 10, syntax.Percent: 10,
}

// unless evaluates an operand. If skip is true, the result does not depend on it, and it
// may divide by zero.
func (e *evaluator) unless(skip bool, operand func() number) number {
	if skip {
		e.idle++
		defer func() { e.idle-- }()
	}
	return operand()
}

// shift shifts a to the left, or to the right, by any number of bits. By a negative
// number it shifts in the other direction, as GNU cpp does.
func shift(a number, left bool, by number) number {
	n := by.bits
	if !by.unsigned && int64(n) < 0 {
		left, n = !left, -n
	}
	switch {
	case left:
		a.bits <<= n
	case a.unsigned:
		a.bits >>= n
	default:
		a.bits = uint64(int64(a.bits) >> n)
	}
	return a
}

// operator returns the next binary operator and its number of tokens.
func (e *evaluator) operator() (syntax.Kind, int) {
	k := e.peek()
	if k == syntax.Greater && e.at+1 < len(e.list) {
		if next := e.list[e.at+1]; next.Kind == syntax.Greater && next.Flags == 0 {
			return syntax.Shr, 2
		}
	}
	return k, 1
}

func (e *evaluator) binary(lowest int) number {
	left := e.unary()
	for !e.failed {
		op, n := e.operator()
		prec := precedence[op]
		if prec < lowest || prec == 0 {
			break
		}
		e.at += n
		skip := op == syntax.AndAnd && left.bits == 0 || op == syntax.OrOr && left.bits != 0
		left = e.apply(op, left, e.unless(skip, func() number { return e.binary(prec + 1) }))
	}
	return left
}

// apply applies an operator. If one of the operands is unsigned, both are, except
// those of shifts.
func (e *evaluator) apply(op syntax.Kind, x, y number) number {
	a, b, unsigned := x.bits, y.bits, x.unsigned || y.unsigned
	less := func(a, b uint64) bool {
		if unsigned {
			return a < b
		}
		return int64(a) < int64(b)
	}
	switch op {
	case syntax.OrOr:
		return truth(a != 0 || b != 0)
	case syntax.AndAnd:
		return truth(a != 0 && b != 0)
	case syntax.Or:
		return number{a | b, unsigned}
	case syntax.Xor:
		return number{a ^ b, unsigned}
	case syntax.And:
		return number{a & b, unsigned}
	case syntax.Equal:
		return truth(a == b)
	case syntax.NotEqual:
		return truth(a != b)
	case syntax.Less:
		return truth(less(a, b))
	case syntax.Greater:
		return truth(less(b, a))
	case syntax.LessEqual:
		return truth(!less(b, a))
	case syntax.GreaterEqual:
		return truth(!less(a, b))
	case syntax.Shl:
		return shift(x, true, y)
	case syntax.Shr:
		return shift(x, false, y)
	case syntax.Plus:
		return number{a + b, unsigned}
	case syntax.Minus:
		return number{a - b, unsigned}
	case syntax.Star:
		return number{a * b, unsigned}
	}
	if b == 0 {
		if e.idle > 0 {
			return x // of which GNU cpp keeps the type
		}
		return e.fail("division by zero in the condition")
	}
	quotient := a / b
	if !unsigned {
		quotient = uint64(int64(a) / int64(b))
	}
	if op == syntax.Percent {
		return number{a - quotient*b, unsigned}
	}
	return number{quotient, unsigned}
}

func (e *evaluator) unary() number {
	if e.depth++; e.depth > maxNesting {
		return e.fail("the condition is nested too deep")
	}
	defer func() { e.depth-- }()
	if e.at >= len(e.list) {
		return e.fail("the condition ends too early")
	}
	t := e.list[e.at]
	e.at++
	switch {
	case t.Kind == syntax.Not:
		return truth(e.unary().bits == 0)
	case t.Kind == syntax.Tilde:
		v := e.unary()
		return number{^v.bits, v.unsigned}
	case t.Kind == syntax.Minus:
		v := e.unary()
		return number{-v.bits, v.unsigned}
	case t.Kind == syntax.Plus:
		return e.unary()
	case t.Kind == syntax.LParen:
		v := e.comma()
		if e.peek() != syntax.RParen {
			return e.fail("( is not closed in the condition")
		}
		e.at++
		return v
	case t.Kind == syntax.Integer:
		text := strings.TrimRight(strings.ToLower(t.Text), "lu")
		v, err := strconv.ParseUint(text, 0, 64)
		if err != nil || strings.Contains(text, "_") || strings.HasPrefix(text, "0o") {
			return e.fail("%s is not a number the preprocessor knows", t.Text)
		}
		return number{v, int64(v) < 0 || strings.ContainsAny(t.Text, "uU")}
	case t.Kind == syntax.Illegal && strings.HasPrefix(t.Text, "'"):
		v, ok := character(t.Text)
		if !ok {
			return e.fail("%s is not a character", t.Text)
		}
		return number{bits: uint64(v)}
	case isName(t):
		if e.peek() == syntax.LParen {
			return e.fail("%s is not a macro with parameters", t.Text)
		}
		return number{}
	}
	return e.fail("unexpected %s in the condition", t.Source())
}

// isDefined reports whether a name is that of a macro.
func (p *preprocessor) isDefined(name string) bool {
	if p.macros[name] != nil || name == "__has_include" {
		return true
	}
	_, ok := p.builtin(syntax.Token{Kind: syntax.Name, Text: name}, false)
	return ok
}

// hasInclude evaluates the operand of __has_include, with which list begins. It
// returns its number of tokens, negative if there is no such file.
func (p *preprocessor) hasInclude(in *input, list []syntax.Token) (n int, ok bool) {
	if len(list) < 3 || list[0].Kind != syntax.LParen {
		return 0, false
	}
	for n = 1; n < len(list) && list[n].Kind != syntax.RParen; n++ {
	}
	name, quoted := p.fileName(list[1:n])
	if n == len(list) || name == "" {
		return 0, false
	}
	n++
	if p.find(in.file, name, quoted, list[0].Pos, true) == nil {
		n = -n
	}
	return n, true
}

// escapes are the values of characters after a backslash.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'a': 7, 'b': 8, 'f': 12, 'v': 11, 'e': 27, 'E': 27, '\\': '\\', '\'': '\'', '"': '"', '?': '?'}

// character returns the value of a character constant. As in GNU cpp, one
// character is signed, and several fill an int from the right.
func character(text string) (int64, bool) {
	if len(text) < 3 || text[len(text)-1] != '\'' {
		return 0, false
	}
	text = text[1 : len(text)-1]
	var v uint32
	chars := 0
	for i := 0; i < len(text); chars++ {
		c := text[i]
		i++
		if c == '\\' && i < len(text) {
			digits, base := 0, 8
			if text[i] == 'x' {
				i++
				base, digits = 16, 1<<20
			} else if '0' <= text[i] && text[i] <= '7' {
				digits = 3
			}
			n, from := uint32(0), i
			for ; digits > 0 && i < len(text); digits-- {
				d, err := strconv.ParseUint(text[i:i+1], base, 8)
				if err != nil {
					break
				}
				n = n*uint32(base) + uint32(d)
				i++
			}
			switch e, known := escapes[text[min(i, len(text)-1)]]; {
			case i > from:
				c = byte(n)
			case base == 16:
				return 0, false
			default:
				if c = text[i]; known {
					c = e
				}
				i++
			}
		}
		v = v<<8 | uint32(c)
	}
	if chars == 1 {
		return int64(int8(v)), true
	}
	return int64(int32(v)), true
}
