// SPDX-License-Identifier: Apache-2.0

package syntax

// isTypeStart reports whether a token of kind k always begins a type. A name
// does not count, since it may begin anything.
func (k Kind) isTypeStart() bool {
	switch k {
	case Bit, Bool, Error, Int, MatchKind, StringType, Tuple, Varbit, Void:
		return true
	}
	return false
}

// typeRef parses a type.
func (p *parser) typeRef() TypeExpr {
	p.enter()
	defer p.leave()
	return p.sizes(p.typeNoArray())
}

// sizes parses array sizes after a type, or after the name of a field or
// variable. The specification allows sizes only after types. p4c also accepts
// bit<8> x[4].
func (p *parser) sizes(t TypeExpr) TypeExpr {
	for p.tok.Kind == LBracket {
		p.next()
		a := &ArrayType{Elem: t}
		a.start = t.Pos()
		a.Size = p.expression()
		p.want(RBracket, "after the size")
		a.end = p.prevEnd()
		t = a
	}
	return t
}

func (p *parser) typeNoArray() TypeExpr {
	start := p.tok.Pos
	switch k := p.tok.Kind; k {
	case Bool, Error, MatchKind, StringType, Void:
		b := &BaseType{Kind: k}
		p.next()
		b.start, b.end = start, p.prevEnd()
		return b
	case Bit, Int, Varbit:
		b := &BaseType{Kind: k}
		p.next()
		if p.got(Less) {
			b.Width = p.width()
			p.want(Greater, "after the width")
		} else if k == Varbit {
			p.fail("varbit needs a width: varbit<W>")
		}
		b.start, b.end = start, p.prevEnd()
		return b
	case Tuple:
		t := &TupleType{}
		p.next()
		p.want(Less, "after tuple")
		t.Elems = p.typeArgs()
		t.start, t.end = start, p.prevEnd()
		return t
	case List:
		if p.peek(1) != Less {
			break
		}
		t := &ListType{}
		p.next()
		open := p.tok.Pos
		p.next()
		args := p.typeArgs()
		if len(args) != 1 {
			p.failAt(open, CodeSyntax, "list needs one type argument, not %d", len(args))
		}
		t.Elem = args[0]
		t.start, t.end = start, p.prevEnd()
		return t
	}
	return p.namedType()
}

// width parses the width in bit<width>. The specification requires a number or
// an expression in parentheses. Like p4c, the parser accepts any expression
// without >.
func (p *parser) width() Expr {
	defer func(angle bool) { p.angle = angle }(p.angle)
	p.angle = true
	return p.expression()
}

// namedType parses [.]Name[<args>].
func (p *parser) namedType() TypeExpr {
	t := &NamedType{}
	t.start = p.tok.Pos
	t.Global = p.got(Dot)
	if !p.tok.Kind.isName() {
		p.fail("expected a type, found %s", p.tok.describe())
	}
	t.Name = p.tok.Text
	p.next()
	if p.got(Less) {
		t.Args = p.typeArgs()
	}
	t.end = p.prevEnd()
	return t
}

// typeArgs parses type arguments and the closing >. The caller has consumed the
// <.
func (p *parser) typeArgs() []TypeExpr {
	var list []TypeExpr
	p.list(Greater, func() { list = append(list, p.typeArg()) })
	p.next()
	return list
}

func (p *parser) typeArg() TypeExpr {
	if p.tok.Kind == Underscore {
		t := &DontCareType{}
		t.start, t.end = p.tok.Pos, p.tok.End
		p.next()
		return t
	}
	return p.typeRef()
}

// typeParams parses an optional <T, U> and declares the names.
func (p *parser) typeParams() []*Ident {
	if !p.got(Less) {
		return nil
	}
	var list []*Ident
	p.list(Greater, func() {
		id := p.name("a type parameter")
		p.declare(id.Name, isType)
		list = append(list, id)
	})
	if len(list) == 0 {
		p.fail("expected the name of a type parameter")
	}
	p.next()
	return list
}
