// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/pauseless/pauseless/compiler/source"

// Precedence of the binary operators; higher binds tighter.
var precedence = [keywordEnd]int8{
	OrOr: 1, AndAnd: 2,
	Equal: 3, NotEqual: 3,
	Less: 4, Greater: 4, LessEqual: 4, GreaterEqual: 4,
	Or: 5, Xor: 6, And: 7,
	Shl: 8, Shr: 8,
	Plus: 9, Minus: 9, PlusPlus: 9, PlusSat: 9, MinusSat: 9,
	Star: 10, Slash: 10, Percent: 10,
}

// done sets position, ID and height of an expression from its parts.
func (p *parser) done(e *expr, start source.Pos, parts ...Expr) {
	e.start, e.end = start, p.prevEnd()
	e.id = p.exprs
	p.exprs++
	for _, part := range parts {
		if part != nil {
			e.height = max(e.height, heightOf(part)+1)
		}
	}
	if e.height > maxHeight {
		p.failAt(start, CodeNesting, "the expression is deeper than %d operations", maxHeight)
	}
}

func heightOf(x Expr) int32 { return x.(interface{ heightOf() int32 }).heightOf() }

func (e *expr) heightOf() int32 { return e.height }

func (p *parser) expression() Expr {
	p.enter()
	start := p.tok.Pos
	x := p.binary(1)
	if p.tok.Kind == Question {
		c := &CondExpr{Cond: x}
		p.next()
		c.X = p.expression()
		p.want(Colon, "in ?:")
		c.Y = p.expression()
		p.done(&c.expr, start, c.Cond, c.X, c.Y)
		x = c
	}
	p.leave()
	return x
}

// operator returns the next binary operator and its number of tokens: > and >
// without space between them are a shift.
func (p *parser) operator() (Kind, int) {
	if p.angle && (p.tok.Kind == Greater || p.tok.Kind == GreaterEqual) {
		return EOF, 0
	}
	if p.tok.Kind == Greater && p.at+1 < len(p.tokens) {
		if t := &p.tokens[p.at+1]; t.Kind == Greater && t.Flags&(LineStart|SpaceAhead) == 0 {
			return Shr, 2
		}
	}
	return p.tok.Kind, 1
}

func (p *parser) binary(lowest int8) Expr {
	start := p.tok.Pos
	x := p.unary()
	for {
		op, n := p.operator()
		prec := precedence[op]
		if prec < lowest || prec == 0 {
			return x
		}
		b := &BinaryExpr{Op: op, OpPos: p.tok.Pos, X: x}
		for range n {
			p.next()
		}
		b.Y = p.binary(prec + 1)
		p.done(&b.expr, start, b.X, b.Y)
		x = b
	}
}

func (p *parser) unary() Expr {
	start := p.tok.Pos
	switch k := p.tok.Kind; k {
	case Not, Tilde, Minus, Plus:
		p.enter()
		p.next()
		u := &UnaryExpr{Op: k}
		u.X = p.unary()
		p.done(&u.expr, start, u.X)
		p.leave()
		return u
	case LParen:
		if p.atCast() {
			p.enter()
			c := &CastExpr{}
			p.next()
			c.Type = p.typeRef()
			p.want(RParen, "after the type of the cast")
			c.X = p.unary()
			p.done(&c.expr, start, c.X)
			p.leave()
			return c
		}
	}
	return p.postfix(start, p.primary())
}

// atCast reports whether a cast begins at the current parenthesis.
func (p *parser) atCast() bool {
	t := p.peek(1)
	if t.isTypeStart() {
		return !(t == Error && p.peek(2) == Dot)
	}
	i := 1
	if t == Dot {
		i++
	}
	if p.at+i >= len(p.tokens) || !p.isTypeName(&p.tokens[p.at+i]) {
		return t == List && p.peek(2) == Less
	}
	switch p.peek(i + 1) {
	case RParen, Less, LBracket:
	default:
		return false
	}
	if p.peek(i+1) == RParen {
		// (T).x is not a cast, and an operator cannot follow a cast.
		switch p.peek(i + 2) {
		case Dot, Semicolon, Comma, RParen, RBrace, RBracket:
			return false
		}
		return true
	}
	return p.lookahead(func() {
		p.next()
		p.typeRef()
		p.want(RParen, "")
	})
}

// lookahead reports whether f can parse the next tokens. It consumes none.
func (p *parser) lookahead(f func()) bool {
	at, exprs := p.at, p.exprs
	ok := p.try(f)
	p.at, p.exprs = at, exprs
	p.tok = &p.tokens[at]
	return ok
}

func (p *parser) primary() Expr {
	start := p.tok.Pos
	if angle := p.angle; angle && (p.tok.Kind == LParen || p.tok.Kind == LBrace) {
		p.angle = false
		defer func() { p.angle = angle }()
	}
	switch k := p.tok.Kind; {
	case k == Integer:
		return p.integer()
	case k == True || k == False:
		b := &BoolLit{Value: k == True}
		p.next()
		p.done(&b.expr, start)
		return b
	case k == String:
		s := &StringLit{Value: p.tok.Text}
		p.next()
		p.done(&s.expr, start)
		return s
	case k == This:
		t := &ThisExpr{}
		p.next()
		p.done(&t.expr, start)
		return t
	case k == Dots:
		d := &DotsExpr{}
		p.next()
		p.done(&d.expr, start)
		return d
	case k == InvalidBrace:
		i := &InvalidExpr{}
		p.next()
		p.done(&i.expr, start)
		return i
	case k == LBrace:
		return p.braces()
	case k == LParen:
		p.next()
		x := p.expression()
		p.want(RParen, "to close (")
		return x
	case k == Dot || k.isName():
		n := &NameExpr{}
		n.Global = p.got(Dot)
		if !p.tok.Kind.isName() {
			p.fail("expected a name, found %s", p.tok.describe())
		}
		n.Name = p.tok.Text
		p.next()
		p.done(&n.expr, start)
		return n
	case k.isTypeStart():
		t := &TypeNameExpr{Type: p.typeRef()}
		p.done(&t.expr, start)
		if p.tok.Kind != Dot && p.tok.Kind != LParen {
			p.fail("a type is not a value")
		}
		return t
	}
	p.fail("expected an expression, found %s", p.tok.describe())
	return nil
}

// postfix parses members, indexes and calls after x.
func (p *parser) postfix(start source.Pos, x Expr) Expr {
	for {
		switch p.tok.Kind {
		case Dot:
			m := &MemberExpr{X: x}
			p.next()
			m.Sel = p.name("a member")
			p.done(&m.expr, start, x)
			x = m
		case LBracket:
			x = p.index(start, x)
		case LParen:
			c := &CallExpr{Fun: x}
			c.Args = p.arguments()
			p.done(&c.expr, start, x)
			p.raise(c)
			x = c
		case Less:
			c := p.genericCall(start, x)
			if c == nil {
				return x
			}
			x = c
		default:
			return x
		}
	}
}

// raise increases the height of a call to include its arguments.
func (p *parser) raise(c *CallExpr) {
	for _, a := range c.Args {
		c.height = max(c.height, heightOf(a.Value)+1)
	}
	if c.height > maxHeight {
		p.failAt(c.start, CodeNesting, "the expression is deeper than %d operations", maxHeight)
	}
}

// genericCall parses <types>(arguments) after x, if present.
func (p *parser) genericCall(start source.Pos, x Expr) Expr {
	switch x.(type) {
	case *NameExpr, *MemberExpr:
	default:
		return nil
	}
	first := p.at + 1
	if first < len(p.tokens) && p.tokens[first].Kind == Dot {
		first++
	}
	if k := p.peek(1); !k.isTypeStart() && k != Underscore && k != Greater && !(k == List && p.peek(2) == Less) &&
		(first >= len(p.tokens) || !p.isTypeName(&p.tokens[first])) {
		return nil
	}
	c := &CallExpr{Fun: x}
	if !p.try(func() {
		p.next()
		c.TypeArgs = p.typeArgs()
		if p.tok.Kind != LParen {
			p.fail("no call")
		}
	}) {
		return nil
	}
	c.Args = p.arguments()
	p.done(&c.expr, start, x)
	p.raise(c)
	return c
}

// index parses [i], [hi:lo] or [lo+:width] after x.
func (p *parser) index(start source.Pos, x Expr) Expr {
	p.next()
	first := p.expression()
	switch p.tok.Kind {
	case Colon, PlusColon:
		s := &SliceExpr{X: x, Hi: first, Plus: p.tok.Kind == PlusColon}
		p.next()
		s.Lo = p.expression()
		if s.Plus {
			s.Hi, s.Lo = s.Lo, s.Hi
		}
		p.want(RBracket, "after the slice")
		p.done(&s.expr, start, s.X, s.Hi, s.Lo)
		return s
	}
	i := &IndexExpr{X: x, Index: first}
	p.want(RBracket, "after the index")
	p.done(&i.expr, start, i.X, i.Index)
	return i
}

// braces parses {a, b} and {a = 1, …}.
func (p *parser) braces() Expr {
	p.enter()
	defer p.leave()
	start := p.tok.Pos
	p.next()
	if p.tok.Kind.isName() && p.peek(1) == Assign {
		s := &StructExpr{}
		p.list(RBrace, func() {
			if s.Dots {
				p.fail("\"...\" must come last")
			}
			if p.got(Dots) {
				s.Dots = true
				return
			}
			s.Fields = append(s.Fields, p.fieldValue())
		})
		p.next()
		p.done(&s.expr, start)
		for _, f := range s.Fields {
			s.height = max(s.height, heightOf(f.Value)+1)
		}
		return s
	}
	l := &ListExpr{}
	p.list(RBrace, func() { l.Elems = append(l.Elems, p.expression()) })
	p.next()
	p.done(&l.expr, start, l.Elems...)
	return l
}

func (p *parser) fieldValue() *FieldValue {
	f := &FieldValue{node: node{start: p.tok.Pos}}
	f.Name = p.name("a field")
	p.want(Assign, "after the name of the field")
	f.Value = p.expression()
	f.end = p.prevEnd()
	return f
}

// arguments parses (a, b = 1, _).
func (p *parser) arguments() []*Argument {
	p.enter()
	defer p.leave()
	p.want(LParen, "before the arguments")
	var list []*Argument
	p.list(RParen, func() {
		a := &Argument{node: node{start: p.tok.Pos}}
		if p.tok.Kind.isName() && p.peek(1) == Assign {
			a.Name = p.name("an argument")
			p.next()
		}
		if p.tok.Kind == Underscore {
			a.Value = p.defaultExpr()
		} else {
			a.Value = p.expression()
		}
		a.end = p.prevEnd()
		list = append(list, a)
	})
	p.next()
	return list
}

func (p *parser) defaultExpr() Expr {
	d := &DefaultExpr{Word: p.tok.Kind == Default}
	start := p.tok.Pos
	p.next()
	p.done(&d.expr, start)
	return d
}

// integer parses an integer literal.
func (p *parser) integer() Expr {
	t := p.tok
	lit := &IntLit{}
	if err := parseInt(t.Text, lit); err != "" {
		p.failAt(t.Pos, CodeNumber, "%s", err)
	}
	p.next()
	p.done(&lit.expr, t.Pos)
	return lit
}

// keyset parses the label of a select case or the keys of a table entry: one
// set, or several in parentheses as a TupleExpr.
func (p *parser) keyset() Expr {
	if p.tok.Kind != LParen {
		return p.simpleKeyset()
	}
	start := p.tok.Pos
	t := &TupleExpr{}
	if !p.try(func() {
		p.next()
		t.Elems = append(t.Elems, p.simpleKeyset())
		if p.tok.Kind != Comma && !(p.tok.Kind == RParen && p.peek(1) == Colon) {
			p.fail("no key set")
		}
	}) {
		return p.simpleKeyset()
	}
	if p.got(RParen) {
		return t.Elems[0]
	}
	p.next()
	p.list(RParen, func() { t.Elems = append(t.Elems, p.simpleKeyset()) })
	p.next()
	p.done(&t.expr, start, t.Elems...)
	return t
}

func (p *parser) simpleKeyset() Expr {
	if p.tok.Kind == Default || p.tok.Kind == Underscore {
		return p.defaultExpr()
	}
	return p.setExpr()
}

// setExpr parses an expression, or two joined by &&& or ...
func (p *parser) setExpr() Expr {
	start := p.tok.Pos
	x := p.expression()
	if k := p.tok.Kind; k == Mask || k == Range {
		b := &BinaryExpr{Op: k, OpPos: p.tok.Pos, X: x}
		p.next()
		b.Y = p.expression()
		p.done(&b.expr, start, b.X, b.Y)
		return b
	}
	return x
}
