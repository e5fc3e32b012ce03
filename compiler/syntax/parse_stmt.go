// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/pauseless/pauseless/compiler/source"

func (s *stmt) setSpan(start, end source.Pos) { s.start, s.end = start, end }

// block parses { statements }.
func (p *parser) block() *BlockStmt {
	p.enter()
	defer p.leave()
	b := &BlockStmt{}
	start := p.tok.Pos
	p.want(LBrace, "to begin a block")
	mark := len(p.undo)
	for p.tok.Kind != RBrace && p.tok.Kind != EOF {
		b.Stmts = append(b.Stmts, p.recoverStmt(p.statement))
	}
	p.closeScope(mark)
	p.want(RBrace, "to end a block")
	b.setSpan(start, p.prevEnd())
	return b
}

// statement parses a statement or a declaration in a block.
func (p *parser) statement() Stmt {
	p.enter()
	defer p.leave()
	start := p.tok.Pos
	annots := p.annotations()
	switch p.tok.Kind {
	case LBrace:
		b := p.block()
		b.Annotations = annots
		b.start = start
		return b
	case For:
		return p.forStmt(start, annots)
	case Const:
		return p.declStmt(start, p.constDecl(start, annots))
	}
	if len(annots) > 0 {
		return p.declStmt(start, p.localDecl(start, annots))
	}
	switch p.tok.Kind {
	case Semicolon:
		s := &EmptyStmt{}
		p.next()
		s.setSpan(start, p.prevEnd())
		return s
	case If:
		s := &IfStmt{}
		p.next()
		p.want(LParen, "after if")
		s.Cond = p.expression()
		p.want(RParen, "after the condition")
		s.Then = p.scoped()
		if p.got(Else) {
			s.Else = p.elseBranch()
		}
		s.setSpan(start, p.prevEnd())
		return s
	case Switch:
		return p.switchStmt()
	case Return:
		s := &ReturnStmt{}
		p.next()
		if p.tok.Kind != Semicolon {
			s.X = p.expression()
		}
		p.want(Semicolon, "after return")
		s.setSpan(start, p.prevEnd())
		return s
	case Exit:
		s := &ExitStmt{}
		p.next()
		p.want(Semicolon, "after exit")
		s.setSpan(start, p.prevEnd())
		return s
	case Break:
		s := &BreakStmt{}
		p.next()
		p.want(Semicolon, "after break")
		s.setSpan(start, p.prevEnd())
		return s
	case Continue:
		s := &ContinueStmt{}
		p.next()
		p.want(Semicolon, "after continue")
		s.setSpan(start, p.prevEnd())
		return s
	case Action, Table, State, Transition, ValueSet:
		if !p.tok.Kind.isName() || p.peek(1).isName() && p.tok.Kind != State {
			p.fail("%q is not allowed in a block", p.tok.Kind.String())
		}
	}
	s := p.simple()
	p.want(Semicolon, "after the statement")
	return s
}

// elseBranch parses what follows else. A chain of else if nests in the syntax tree only: it
// has a limit of its own.
func (p *parser) elseBranch() Stmt {
	if p.tok.Kind != If {
		return p.scoped()
	}
	if p.chain++; p.chain > maxBranches {
		p.chain--
		p.failAt(p.tok.Pos, CodeNesting, "the program has more than %d branches of else if in a row: a table or a switch is faster", maxBranches)
	}
	defer func() { p.chain-- }()
	p.leave()
	defer func() { p.depth++ }()
	return p.scoped()
}

// scoped parses a statement in a scope of its own.
func (p *parser) scoped() Stmt {
	mark := len(p.undo)
	s := p.recoverStmt(p.statement)
	p.closeScope(mark)
	return s
}

func (p *parser) declStmt(start source.Pos, d Decl) Stmt {
	s := &DeclStmt{Decl: d}
	s.setSpan(start, p.prevEnd())
	return s
}

// simple parses an assignment, call, variable or instance, without the
// semicolon.
func (p *parser) simple() Stmt {
	start := p.tok.Pos
	if d := p.simpleDecl(start); d != nil {
		return p.declStmt(start, d)
	}
	if !p.tok.Kind.isName() && p.tok.Kind != Dot && p.tok.Kind != This && p.tok.Kind != LParen && !p.tok.Kind.isTypeStart() {
		p.fail("expected a statement, found %s", p.tok.describe())
	}
	x := p.lvalue()
	if k := p.tok.Kind; Assign <= k && k <= XorAssign {
		s := &AssignStmt{Op: k, OpPos: p.tok.Pos, X: x}
		p.next()
		s.Y = p.expression()
		s.setSpan(start, p.prevEnd())
		return s
	}
	c, ok := x.(*CallExpr)
	if !ok {
		p.fail("expected an assignment or a call, found %s", p.tok.describe())
	}
	if p.tok.Kind.isName() { // T(…) name
		p.failAt(start, CodeSyntax, "an instance is declared outside of blocks, before apply or the states")
	}
	s := &CallStmt{Call: c}
	s.setSpan(start, p.prevEnd())
	return s
}

// lvalue parses an expression without operators, which can be assigned to or
// called.
func (p *parser) lvalue() Expr {
	start := p.tok.Pos
	if p.tok.Kind.isName() && p.peek(1) == Less || p.tok.Kind == Tuple || p.tok.Kind == List {
		// T<…>.apply(…) on a type with type arguments
		var t TypeExpr
		if p.try(func() {
			t = p.typeRef()
			if p.tok.Kind != Dot {
				p.fail("no type")
			}
		}) {
			x := &TypeNameExpr{Type: t}
			p.done(&x.expr, start)
			return p.postfix(start, x)
		}
	}
	return p.postfix(start, p.primary())
}

// simpleDecl parses a variable declaration without semicolon, if present.
func (p *parser) simpleDecl(start source.Pos) Decl {
	k := p.tok.Kind
	switch {
	case k.isTypeStart():
		if k == Error && p.peek(1) == Dot {
			return nil
		}
	case k == Dot:
		if p.peek(1).isName() && p.peek(2).isName() {
			break
		}
		return nil
	case k.isName():
		next := p.peek(1)
		switch {
		case next.isName():
		case next == Less || next == LBracket && p.isTypeName(p.tok):
			if !p.lookahead(func() { p.typeRef(); p.name("") }) {
				return nil
			}
		case next == LParen:
			if !p.lookahead(func() {
				p.next()
				p.arguments()
				p.name("")
				if p.tok.Kind != Semicolon && p.tok.Kind != Assign {
					p.fail("")
				}
			}) {
				return nil
			}
		default:
			return nil
		}
	default:
		return nil
	}
	typeStart := p.tok.Pos
	t := p.typeRef()
	if p.tok.Kind == LParen {
		d := &InstanceDecl{Call: p.constructor(typeStart, t)}
		d.Name = p.name("an instance")
		p.declare(d.Name.Name, notType)
		p.finish(&d.decl, start, nil)
		return d
	}
	return p.varDecl(start, nil, t)
}

func (p *parser) switchStmt() Stmt {
	s := &SwitchStmt{}
	start := p.tok.Pos
	p.next()
	p.want(LParen, "after switch")
	s.X = p.expression()
	p.want(RParen, "after the expression")
	p.want(LBrace, "before the cases")
	for p.tok.Kind != RBrace && p.tok.Kind != EOF {
		c := &SwitchCase{node: node{start: p.tok.Pos}}
		if p.tok.Kind == Default {
			c.Label = p.defaultExpr()
		} else {
			c.Label = p.expression()
		}
		p.want(Colon, "after the label")
		if p.tok.Kind == LBrace || p.tok.Kind == At {
			annots := p.annotations()
			c.Body = p.block()
			c.Body.Annotations = annots
		}
		c.end = p.prevEnd()
		s.Cases = append(s.Cases, c)
	}
	p.want(RBrace, "after the cases")
	s.setSpan(start, p.prevEnd())
	return s
}

func (p *parser) forStmt(start source.Pos, annots []*Annotation) Stmt {
	mark := len(p.undo)
	defer func() { p.closeScope(mark) }()
	p.next()
	p.want(LParen, "after for")
	varStart := p.tok.Pos
	varAnnots := p.annotations()
	var v *VarDecl
	if p.try(func() {
		t := p.typeRef()
		v = &VarDecl{Type: t}
		v.Name = p.name("")
		p.want(In, "")
	}) {
		p.finish(&v.decl, varStart, varAnnots)
		v.end = v.Name.end
		p.declare(v.Name.Name, notType)
		f := &ForInStmt{Annotations: annots, Var: v, X: p.setExpr()}
		p.want(RParen, "after the collection")
		f.Body = p.scoped()
		f.setSpan(start, p.prevEnd())
		return f
	}
	f := &ForStmt{Annotations: annots}
	p.list(Semicolon, func() {
		at := p.tok.Pos
		if varAnnots == nil {
			varAnnots = p.annotations()
		}
		s := p.simple()
		if d, ok := s.(*DeclStmt); ok {
			if v, ok := d.Decl.(*VarDecl); ok {
				v.Annotations, v.start = varAnnots, at
			}
		}
		varAnnots = nil
		f.Init = append(f.Init, s)
	})
	p.next()
	f.Cond = p.expression()
	p.want(Semicolon, "after the condition")
	p.list(RParen, func() { f.Update = append(f.Update, p.simple()) })
	p.next()
	f.Body = p.scoped()
	f.setSpan(start, p.prevEnd())
	return f
}
