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
	// The operand of "defined" is not expanded.
	var kept []syntax.Token
	for i := 0; i < len(list); i++ {
		t := list[i]
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
		if p.macros[list[i].Text] != nil {
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
	v := e.ternary()
	if !e.failed && e.at < len(e.list) {
		e.fail("unexpected %s in the condition", e.list[e.at].Source())
	}
	return !e.failed && v != 0
}

// evaluator evaluates a preprocessor expression with 64-bit numbers.
type evaluator struct {
	p      *preprocessor
	list   []syntax.Token
	at     int
	depth  int
	idle   int // operands that the result does not depend on, around the present one
	pos    source.Pos
	failed bool
}

func (e *evaluator) fail(format string, args ...any) int64 {
	if !e.failed {
		e.p.rep.Errorf(e.pos, CodeDirective, format, args...)
	}
	e.failed = true
	return 0
}

func (e *evaluator) peek() syntax.Kind {
	if e.at < len(e.list) {
		return e.list[e.at].Kind
	}
	return syntax.EOF
}

func (e *evaluator) ternary() int64 {
	if e.depth++; e.depth > maxNesting {
		return e.fail("the condition is nested too deep")
	}
	defer func() { e.depth-- }()
	c := e.binary(1)
	if e.peek() != syntax.Question {
		return c
	}
	e.at++
	a := e.unless(c == 0, e.ternary)
	if e.peek() != syntax.Colon {
		return e.fail("? without : in the condition")
	}
	e.at++
	b := e.unless(c != 0, e.ternary)
	if c != 0 {
		return a
	}
	return b
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
func (e *evaluator) unless(skip bool, operand func() int64) int64 {
	if skip {
		e.idle++
		defer func() { e.idle-- }()
	}
	return operand()
}

// shift shifts to the left, or to the right by a negative number, by any number of bits.
func shift(a, by int64) int64 {
	if by < 0 {
		return a >> uint64(-by)
	}
	return a << uint64(by)
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

func (e *evaluator) binary(lowest int) int64 {
	left := e.unary()
	for !e.failed {
		op, n := e.operator()
		prec := precedence[op]
		if prec < lowest || prec == 0 {
			break
		}
		e.at += n
		right := e.unless(op == syntax.AndAnd && left == 0 || op == syntax.OrOr && left != 0, func() int64 { return e.binary(prec + 1) })
		left = e.apply(op, left, right)
	}
	return left
}

func (e *evaluator) apply(op syntax.Kind, a, b int64) int64 {
	truth := func(t bool) int64 {
		if t {
			return 1
		}
		return 0
	}
	switch op {
	case syntax.OrOr:
		return truth(a != 0 || b != 0)
	case syntax.AndAnd:
		return truth(a != 0 && b != 0)
	case syntax.Or:
		return a | b
	case syntax.Xor:
		return a ^ b
	case syntax.And:
		return a & b
	case syntax.Equal:
		return truth(a == b)
	case syntax.NotEqual:
		return truth(a != b)
	case syntax.Less:
		return truth(a < b)
	case syntax.Greater:
		return truth(a > b)
	case syntax.LessEqual:
		return truth(a <= b)
	case syntax.GreaterEqual:
		return truth(a >= b)
	case syntax.Shl:
		return shift(a, b)
	case syntax.Shr:
		return shift(a, -b)
	case syntax.Plus:
		return a + b
	case syntax.Minus:
		return a - b
	case syntax.Star:
		return a * b
	}
	if b == 0 {
		if e.idle > 0 {
			return 0
		}
		return e.fail("division by zero in the condition")
	}
	if b == -1 {
		if op == syntax.Percent {
			return 0
		}
		return -a
	}
	if op == syntax.Percent {
		return a % b
	}
	return a / b
}

func (e *evaluator) unary() int64 {
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
		if e.unary() == 0 {
			return 1
		}
		return 0
	case t.Kind == syntax.Tilde:
		return ^e.unary()
	case t.Kind == syntax.Minus:
		return -e.unary()
	case t.Kind == syntax.Plus:
		return e.unary()
	case t.Kind == syntax.LParen:
		v := e.ternary()
		if e.peek() != syntax.RParen {
			return e.fail("( is not closed in the condition")
		}
		e.at++
		return v
	case t.Kind == syntax.Integer:
		text := strings.TrimRight(strings.ToLower(t.Text), "lu")
		v, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return e.fail("%s is not a number the preprocessor knows", t.Text)
		}
		return int64(v)
	case isName(t):
		if e.peek() == syntax.LParen {
			return e.fail("%s is not a macro with parameters", t.Text)
		}
		return 0
	}
	return e.fail("unexpected %s in the condition", t.Source())
}
