// SPDX-License-Identifier: Apache-2.0

// Package syntax has the tokens, the tree and the parser of P4_16 (language
// spec 1.2.5, appendix "P4 grammar").
//
// The grammar depends on which names are types: (T) -x is a cast or a
// subtraction, a < b > (c) a call or two comparisons. The parser therefore
// records for each declared name whether it is a type.
package syntax

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/internal/diag"
)

// Codes of the diagnostics of the parser.
const (
	CodeSyntax  diag.Code = "syntax"
	CodeNumber  diag.Code = "number"
	CodeNesting diag.Code = "nesting"
)

// Limits on the shape of a program. Later passes recurse over the tree and
// rely on them; the formatter has the first, too.
const (
	MaxNesting = 1000 // of blocks, parentheses and types
	maxHeight  = 2000 // of an expression's tree

	maxBranches = 10_000 // of else if in a row
)

// Parse parses the tokens, the last of which is EOF.
func Parse(tokens []Token, rep *source.Reporter) *Program {
	p := &parser{tokens: tokens, rep: rep, names: map[string]nameKind{}}
	p.tok = &p.tokens[0]
	prog := &Program{}
	for p.tok.Kind != EOF {
		if p.got(Semicolon) || p.failed && p.got(RBrace) { // ; the end of a construct with an error
			continue
		}
		at := p.at
		if d := p.recoverDecl(p.declaration); d != nil {
			prog.Decls = append(prog.Decls, d)
		}
		if p.at == at {
			p.next()
		}
	}
	prog.Exprs = int(p.exprs)
	prog.Errs = p.failed
	return prog
}

type nameKind uint8

const (
	notType nameKind = iota + 1
	isType
)

type parser struct {
	tokens []Token
	at     int
	tok    *Token // tokens[at]
	rep    *source.Reporter
	exprs  int32
	chain  int // branches of else if around the token
	depth  int
	failed bool
	over   bool // parsing has ended: no more errors are reported
	trying int  // speculation depth: errors are not reported
	angle  bool // in bit<…>, where > ends the expression

	names map[string]nameKind
	undo  []undo // entries to restore in names when a scope ends
}

type undo struct {
	name string
	kind nameKind
}

// bailout is the panic that ends parsing of a construct.
type bailout struct{}

func (p *parser) next() {
	if p.at < len(p.tokens)-1 {
		p.at++
		p.tok = &p.tokens[p.at]
	}
}

// peek returns the kind of the token n positions ahead.
func (p *parser) peek(n int) Kind {
	if p.at+n < len(p.tokens) {
		return p.tokens[p.at+n].Kind
	}
	return EOF
}

// prevEnd returns the end of the previous token.
func (p *parser) prevEnd() source.Pos {
	if p.at == 0 {
		return p.tok.Pos
	}
	return p.tokens[p.at-1].End
}

func (p *parser) got(k Kind) bool {
	if p.tok.Kind == k {
		p.next()
		return true
	}
	return false
}

func (p *parser) want(k Kind, context string) source.Pos {
	pos := p.tok.Pos
	if !p.got(k) {
		p.fail("expected %q %s, found %s", k.String(), context, p.tok.describe())
	}
	return pos
}

// fail reports a syntax error at the current token and ends the construct.
func (p *parser) fail(format string, args ...any) {
	p.failAt(p.tok.Pos, CodeSyntax, format, args...)
}

func (p *parser) failAt(pos source.Pos, code diag.Code, format string, args ...any) {
	if p.trying == 0 && !p.over {
		p.failed = true
		p.rep.Errorf(pos, code, format, args...)
		p.over = code == CodeNesting || p.rep.Full()
	}
	panic(bailout{})
}

// errorHere reports a syntax error at the current token and continues.
func (p *parser) errorHere(format string, args ...any) {
	if p.trying > 0 {
		panic(bailout{})
	}
	if !p.over {
		p.failed = true
		p.rep.Errorf(p.tok.Pos, CodeSyntax, format, args...)
		p.over = p.rep.Full()
	}
}

// enter increments the nesting depth. The caller defers or calls leave.
func (p *parser) enter() {
	if p.depth++; p.depth > MaxNesting {
		p.failAt(p.tok.Pos, CodeNesting, "the program nests deeper than %d", MaxNesting)
	}
}

func (p *parser) leave() { p.depth-- }

// try calls f. If f fails to parse, try restores the state and returns false.
func (p *parser) try(f func()) (ok bool) {
	at, depth, scope, angle := p.at, p.depth, len(p.undo), p.angle
	p.trying++
	defer func() {
		p.trying--
		if r := recover(); r != nil {
			if _, is := r.(bailout); !is {
				panic(r)
			}
			p.at, p.depth, p.angle = at, depth, angle
			p.tok = &p.tokens[at]
			p.closeScope(scope)
			ok = false
		}
	}()
	f()
	return true
}

// recoverDecl parses a declaration. After a syntax error it skips to where the
// next may begin.
func (p *parser) recoverDecl(f func() Decl) (d Decl) {
	depth, scope := p.depth, len(p.undo)
	start := p.tok.Pos
	defer func() {
		if r := recover(); r != nil {
			p.bailed(r, depth, scope)
			bad := &BadDecl{}
			bad.start, bad.end = start, p.prevEnd()
			bad.Name = &Ident{node: bad.node}
			d = bad
		}
	}()
	return f()
}

// recoverStmt is recoverDecl for statements.
func (p *parser) recoverStmt(f func() Stmt) (s Stmt) {
	depth, scope, at := p.depth, len(p.undo), p.at
	start := p.tok.Pos
	defer func() {
		if r := recover(); r != nil {
			if p.tokens[at].Kind == For {
				p.skipHead(at)
			}
			p.bailed(r, depth, scope)
			bad := &BadStmt{}
			bad.start, bad.end = start, p.prevEnd()
			s = bad
		}
	}()
	return f()
}

func (p *parser) bailed(r any, depth, scope int) {
	if _, ok := r.(bailout); !ok || p.trying > 0 {
		panic(r)
	}
	p.depth, p.angle = depth, false
	p.closeScope(scope)
	if p.over {
		p.at = len(p.tokens) - 1
		p.tok = &p.tokens[p.at]
		return
	}
	p.sync()
}

// skipHead skips the rest of a loop's head, which has semicolons, if it is
// closed before a block begins or ends.
func (p *parser) skipHead(start int) {
	depth := 0
	for i := start + 1; i < len(p.tokens)-1; i++ {
		switch p.tokens[i].Kind {
		case LBrace, RBrace:
			return
		case LParen:
			depth++
		case RParen:
			if depth--; depth == 0 {
				if i > p.at {
					p.at = i + 1
					p.tok = &p.tokens[p.at]
				}
				return
			}
		}
	}
}

// sync skips past the next semicolon or block, or to the end of the enclosing
// block.
func (p *parser) sync() {
	depth := 0
	for {
		switch p.tok.Kind {
		case EOF:
			return
		case Semicolon:
			if depth == 0 {
				p.next()
				return
			}
		case LBrace:
			depth++
		case RBrace:
			if depth == 0 {
				return
			}
			if depth--; depth == 0 {
				p.next()
				return
			}
		}
		p.next()
	}
}

// declare records until the scope ends whether a name is a type.
func (p *parser) declare(name string, kind nameKind) {
	p.undo = append(p.undo, undo{name, p.names[name]})
	p.names[name] = kind
}

func (p *parser) closeScope(mark int) {
	for len(p.undo) > mark {
		u := p.undo[len(p.undo)-1]
		p.undo = p.undo[:len(p.undo)-1]
		if u.kind == 0 {
			delete(p.names, u.name)
		} else {
			p.names[u.name] = u.kind
		}
	}
}

// isTypeName reports whether the token is the name of a type.
func (p *parser) isTypeName(t *Token) bool { return t.Kind.isName() && p.names[t.Text] == isType }

// name parses a name.
func (p *parser) name(what string) *Ident {
	if !p.tok.Kind.isName() {
		p.fail("expected the name of %s, found %s", what, p.tok.describe())
	}
	id := &Ident{node{p.tok.Pos, p.tok.End}, p.tok.Text}
	p.next()
	return id
}

// list parses elements separated by commas up to the closing token, which it
// does not consume. A trailing comma is allowed.
func (p *parser) list(end Kind, element func()) {
	for p.tok.Kind != end {
		element()
		if !p.got(Comma) {
			break
		}
	}
	if p.tok.Kind != end {
		p.fail("expected \",\" or %q, found %s", end.String(), p.tok.describe())
	}
}

// annotations parses zero or more annotations.
func (p *parser) annotations() []*Annotation {
	var list []*Annotation
	for {
		switch p.tok.Kind {
		case At:
			list = append(list, p.annotation())
		case Pragma:
			list = append(list, p.pragma())
		default:
			return list
		}
	}
}

func (p *parser) annotation() *Annotation {
	a := &Annotation{node: node{start: p.tok.Pos}}
	p.next()
	if !p.tok.Kind.isName() && !p.tok.Kind.IsKeyword() {
		p.fail("expected the name of an annotation, found %s", p.tok.describe())
	}
	a.Name = p.tok.Text
	p.next()
	switch p.tok.Kind {
	case LParen:
		a.HasBody = true
		if at := p.at; hasValues[a.Name] {
			p.try(func() {
				p.next()
				p.annotationValues(a, RParen)
			})
			p.at, p.tok = at, &p.tokens[at]
		}
		a.Tokens = p.balanced()
	case LBracket:
		a.HasBody, a.Structured = true, true
		p.next()
		p.annotationValues(a, RBracket)
		p.next()
	}
	a.end = p.prevEnd()
	return a
}

// hasValues are the annotations with values in parentheses.
var hasValues = map[string]bool{"field_list": true, "priority": true, "pkginfo": true, "platform_property": true}

// annotationValues parses a list of values, all with names or all without.
func (p *parser) annotationValues(a *Annotation, end Kind) {
	p.list(end, func() {
		if p.tok.Kind.isName() && p.peek(1) == Assign {
			a.Fields = append(a.Fields, p.fieldValue())
		} else {
			a.Exprs = append(a.Exprs, p.expression())
		}
	})
	if len(a.Fields) > 0 && len(a.Exprs) > 0 {
		p.fail("annotation @%s mixes values with and without names", a.Name)
	}
}

// balanced returns the tokens inside the parentheses that begin at the current
// token.
func (p *parser) balanced() []Token {
	open := p.tok.Pos
	p.next()
	start, depth := p.at, 0
	for {
		switch p.tok.Kind {
		case EOF:
			p.failAt(open, CodeSyntax, "( is not closed")
		case LParen:
			depth++
		case RParen:
			if depth == 0 {
				list := p.tokens[start:p.at:p.at]
				p.next()
				return list
			}
			depth--
		}
		p.next()
	}
}

// pragma parses @pragma name …, which ends at the end of the line.
func (p *parser) pragma() *Annotation {
	a := &Annotation{node: node{start: p.tok.Pos}, Pragma: true}
	p.next()
	if p.tok.Flags&LineStart != 0 || p.tok.Text == "" {
		p.fail("@pragma needs a name")
	}
	a.Name = p.tok.Text
	p.next()
	start := p.at
	for p.tok.Flags&LineStart == 0 && p.tok.Kind != EOF {
		p.next()
	}
	a.Tokens = p.tokens[start:p.at:p.at]
	a.HasBody = len(a.Tokens) > 0
	a.end = p.prevEnd()
	return a
}
