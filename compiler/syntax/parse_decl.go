// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/pauseless/pauseless/compiler/source"

// declaration parses a declaration at the top level.
func (p *parser) declaration() Decl {
	start := p.tok.Pos
	annots := p.annotations()
	switch p.tok.Kind {
	case Const:
		return p.constDecl(start, annots)
	case Extern:
		return p.externDecl(start, annots)
	case Action:
		return p.actionDecl(start, annots)
	case Parser:
		return p.parserDecl(start, annots)
	case Control:
		return p.controlDecl(start, annots)
	case Package:
		return p.packageDecl(start, annots)
	case Header, HeaderUnion, Struct:
		return p.structDecl(start, annots)
	case Enum:
		return p.enumDecl(start, annots)
	case Typedef:
		return p.typedefDecl(start, annots)
	case Type:
		if k := p.peek(1); k.isTypeStart() || k.isName() || k == Dot {
			return p.typedefDecl(start, annots)
		}
	case Error:
		if p.peek(1) == LBrace {
			d := &ErrorDecl{}
			d.Members = p.identBlock(&d.decl, start, annots, "an error")
			return d
		}
	case MatchKind:
		if p.peek(1) == LBrace {
			d := &MatchKindDecl{}
			d.Members = p.identBlock(&d.decl, start, annots, "a match kind")
			return d
		}
	}
	return p.functionOrInstance(start, annots)
}

func (p *parser) finish(d *decl, start source.Pos, annots []*Annotation) {
	d.start, d.end = start, p.prevEnd()
	d.Annotations = annots
}

// identBlock parses keyword { a, b }.
func (p *parser) identBlock(d *decl, start source.Pos, annots []*Annotation, what string) []*Ident {
	d.Name = &Ident{node{p.tok.Pos, p.tok.End}, p.tok.Text}
	p.next()
	p.next()
	var list []*Ident
	p.list(RBrace, func() { list = append(list, p.name(what)) })
	p.next()
	p.finish(d, start, annots)
	return list
}

// functionOrInstance parses a function or an instance. Both begin with a type.
func (p *parser) functionOrInstance(start source.Pos, annots []*Annotation) Decl {
	if !p.tok.Kind.isTypeStart() && !p.tok.Kind.isName() && p.tok.Kind != Dot {
		p.fail("expected a declaration, found %s", p.tok.describe())
	}
	typeStart := p.tok.Pos
	t := p.typeRef()
	if p.tok.Kind == LParen {
		return p.instance(start, annots, typeStart, t)
	}
	f := p.prototype(t)
	if p.tok.Kind != LBrace {
		p.fail("expected the body of function %s, found %s", f.Name.Name, p.tok.describe())
	}
	mark := len(p.undo)
	p.declareParams(f.TypeParams, f.Params)
	f.Body = p.block()
	p.closeScope(mark)
	p.finish(&f.decl, start, annots)
	return f
}

// prototype parses name<T>(parameters) after a result type.
func (p *parser) prototype(result TypeExpr) *FuncDecl {
	f := &FuncDecl{Result: result}
	f.Name = p.name("a function")
	p.declare(f.Name.Name, notType)
	mark := len(p.undo)
	f.TypeParams = p.typeParams()
	f.Params = p.params()
	p.closeScope(mark)
	return f
}

// declareParams declares type parameters and parameters in the scope of a body.
func (p *parser) declareParams(typeParams []*Ident, lists ...[]*Param) {
	for _, t := range typeParams {
		p.declare(t.Name, isType)
	}
	for _, params := range lists {
		for _, param := range params {
			p.declare(param.Name.Name, notType)
		}
	}
}

// instance parses (arguments) name [= { … }]; after a type.
func (p *parser) instance(start source.Pos, annots []*Annotation, typeStart source.Pos, t TypeExpr) Decl {
	d := &InstanceDecl{Call: p.constructor(typeStart, t)}
	d.Name = p.name("an instance")
	if p.got(Assign) {
		d.HasBody = true
		p.want(LBrace, "before the methods of the instance")
		mark := len(p.undo)
		for p.tok.Kind != RBrace && p.tok.Kind != EOF {
			inner := p.tok.Pos
			d.Body = append(d.Body, p.recoverDecl(func() Decl { return p.functionOrInstance(inner, p.annotations()) }))
		}
		p.closeScope(mark)
		p.want(RBrace, "after the methods of the instance")
	}
	p.want(Semicolon, "after the instance")
	p.declare(d.Name.Name, notType)
	p.finish(&d.decl, start, annots)
	return d
}

// constructor parses the arguments after a type into a call.
func (p *parser) constructor(start source.Pos, t TypeExpr) *CallExpr {
	c := &CallExpr{}
	if n, ok := t.(*NamedType); ok {
		x := &NameExpr{Name: n.Name, Global: n.Global}
		p.done(&x.expr, start)
		x.end = n.end
		c.Fun, c.TypeArgs = x, n.Args
	} else {
		x := &TypeNameExpr{Type: t}
		p.done(&x.expr, start)
		c.Fun = x
	}
	c.Args = p.arguments()
	p.done(&c.expr, start)
	p.raise(c)
	return c
}

// params parses (parameters).
func (p *parser) params() []*Param {
	p.want(LParen, "before the parameters")
	var list []*Param
	p.list(RParen, func() {
		q := &Param{node: node{start: p.tok.Pos}}
		q.Annotations = p.annotations()
		switch p.tok.Kind {
		case In:
			q.Dir = DirIn
		case Out:
			q.Dir = DirOut
		case Inout:
			q.Dir = DirInout
		}
		if q.Dir != NoDirection {
			p.next()
		}
		q.Type = p.typeRef()
		q.Name = p.name("a parameter")
		if p.got(Assign) {
			q.Default = p.expression()
		}
		q.end = p.prevEnd()
		list = append(list, q)
	})
	p.next()
	return list
}

// optParams parses optional (parameters).
func (p *parser) optParams() []*Param {
	if p.tok.Kind == LParen {
		return p.params()
	}
	return nil
}

func (p *parser) constDecl(start source.Pos, annots []*Annotation) Decl {
	d := &ConstDecl{}
	p.next()
	d.Type = p.typeRef()
	d.Name = p.name("a constant")
	p.want(Assign, "after the name of the constant")
	d.Value = p.expression()
	p.want(Semicolon, "after the constant")
	p.declare(d.Name.Name, notType)
	p.finish(&d.decl, start, annots)
	return d
}

func (p *parser) externDecl(start source.Pos, annots []*Annotation) Decl {
	p.next()
	isObject := p.tok.Kind.isName() && (p.peek(1) == LBrace || p.peek(1) == Less && p.lookahead(func() {
		p.next()
		p.typeParams()
		p.want(LBrace, "")
	}))
	if !isObject {
		f := p.prototype(p.typeRef())
		f.Extern = true
		p.want(Semicolon, "after the extern function")
		p.finish(&f.decl, start, annots)
		return f
	}
	d := &ExternDecl{}
	d.Name = p.name("an extern")
	p.declare(d.Name.Name, isType)
	mark := len(p.undo)
	d.TypeParams = p.typeParams()
	p.want(LBrace, "before the methods")
	for p.tok.Kind != RBrace && p.tok.Kind != EOF {
		if m, ok := p.recoverDecl(func() Decl { return p.method(d.Name.Name) }).(*FuncDecl); ok {
			d.Methods = append(d.Methods, m)
		}
	}
	p.closeScope(mark)
	p.want(RBrace, "after the methods")
	p.finish(&d.decl, start, annots)
	return d
}

// method parses a method prototype or constructor of the extern.
func (p *parser) method(extern string) Decl {
	start := p.tok.Pos
	annots := p.annotations()
	abstract := p.got(Abstract)
	var f *FuncDecl
	if p.tok.Kind.isName() && p.peek(1) == LParen {
		if p.tok.Text != extern {
			p.fail("method %s has no result type, and is not a constructor of %s", p.tok.Text, extern)
		}
		f = &FuncDecl{}
		f.Name = p.name("a constructor")
		f.Params = p.params()
	} else {
		f = p.prototype(p.typeRef())
	}
	f.Abstract = abstract
	p.want(Semicolon, "after the method")
	p.finish(&f.decl, start, annots)
	return f
}

func (p *parser) actionDecl(start source.Pos, annots []*Annotation) Decl {
	d := &ActionDecl{}
	p.next()
	d.Name = p.name("an action")
	p.declare(d.Name.Name, notType)
	d.Params = p.params()
	mark := len(p.undo)
	p.declareParams(nil, d.Params)
	d.Body = p.block()
	p.closeScope(mark)
	p.finish(&d.decl, start, annots)
	return d
}

func (p *parser) parserDecl(start source.Pos, annots []*Annotation) Decl {
	d := &ParserDecl{}
	p.next()
	d.Name = p.name("a parser")
	p.declare(d.Name.Name, isType)
	mark := len(p.undo)
	d.TypeParams = p.typeParams()
	d.Params = p.params()
	if !p.got(Semicolon) {
		d.HasBody = true
		d.CtorParams = p.optParams()
		p.declareParams(nil, d.Params, d.CtorParams)
		p.want(LBrace, "before the body of the parser")
		for p.tok.Kind != RBrace && p.tok.Kind != EOF {
			switch l := p.recoverDecl(p.parserElement).(type) {
			case *StateDecl:
				d.States = append(d.States, l)
			default:
				if len(d.States) > 0 {
					if _, bad := l.(*BadDecl); !bad {
						p.recoverDecl(func() Decl {
							p.failAt(l.Pos(), CodeSyntax, "declarations stand before the states of a parser")
							return nil
						})
					}
				}
				d.Locals = append(d.Locals, l)
			}
		}
		p.want(RBrace, "after the body of the parser")
	}
	p.closeScope(mark)
	p.finish(&d.decl, start, annots)
	return d
}

func (p *parser) parserElement() Decl {
	start := p.tok.Pos
	annots := p.annotations()
	switch {
	case p.tok.Kind == State && p.peek(1).isName():
		return p.stateDecl(start, annots)
	case p.tok.Kind == ValueSet:
		d := &ValueSetDecl{}
		p.next()
		p.want(Less, "after value_set")
		d.Elem = p.typeRef()
		p.want(Greater, "after the type")
		p.want(LParen, "before the size")
		d.Size = p.expression()
		p.want(RParen, "after the size")
		d.Name = p.name("a value set")
		p.want(Semicolon, "after the value set")
		p.declare(d.Name.Name, notType)
		p.finish(&d.decl, start, annots)
		return d
	}
	return p.localDecl(start, annots)
}

// localDecl parses a constant, variable or instance.
func (p *parser) localDecl(start source.Pos, annots []*Annotation) Decl {
	if p.tok.Kind == Const {
		return p.constDecl(start, annots)
	}
	if !p.tok.Kind.isTypeStart() && !p.tok.Kind.isName() && p.tok.Kind != Dot {
		p.fail("expected a declaration, found %s", p.tok.describe())
	}
	typeStart := p.tok.Pos
	t := p.typeRef()
	if p.tok.Kind == LParen {
		return p.instance(start, annots, typeStart, t)
	}
	d := p.varDecl(start, annots, t)
	p.want(Semicolon, "after the variable")
	d.end = p.prevEnd()
	return d
}

// varDecl parses name [= value] after a type, without a semicolon.
func (p *parser) varDecl(start source.Pos, annots []*Annotation, t TypeExpr) *VarDecl {
	d := &VarDecl{Type: t}
	d.Name = p.name("a variable")
	d.Type = p.sizes(d.Type)
	if p.got(Assign) {
		d.Init = p.expression()
	}
	p.declare(d.Name.Name, notType)
	p.finish(&d.decl, start, annots)
	return d
}

func (p *parser) stateDecl(start source.Pos, annots []*Annotation) Decl {
	d := &StateDecl{}
	p.next()
	d.Name = p.name("a state")
	p.want(LBrace, "before the body of the state")
	mark := len(p.undo)
	for p.tok.Kind != RBrace && p.tok.Kind != EOF && p.tok.Kind != Transition {
		d.Body = append(d.Body, p.recoverStmt(p.statement))
	}
	if p.got(Transition) {
		d.Next = p.stateExpression()
	}
	p.closeScope(mark)
	p.want(RBrace, "after the body of the state")
	p.finish(&d.decl, start, annots)
	return d
}

// stateExpression parses the expression after "transition".
func (p *parser) stateExpression() Expr {
	start := p.tok.Pos
	if p.tok.Kind != Select {
		n := &NameExpr{}
		n.Name = p.name("a state").Name
		p.done(&n.expr, start)
		p.want(Semicolon, "after the state")
		return n
	}
	s := &SelectExpr{}
	p.next()
	p.want(LParen, "after select")
	p.list(RParen, func() { s.Keys = append(s.Keys, p.expression()) })
	p.next()
	p.want(LBrace, "before the cases")
	for p.tok.Kind != RBrace && p.tok.Kind != EOF {
		c := &SelectCase{node: node{start: p.tok.Pos}}
		c.Keys = p.keyset()
		p.want(Colon, "after the key set")
		c.Next = p.name("a state")
		p.want(Semicolon, "after the state")
		c.end = p.prevEnd()
		s.Cases = append(s.Cases, c)
	}
	p.want(RBrace, "after the cases")
	p.done(&s.expr, start, s.Keys...)
	return s
}

func (p *parser) controlDecl(start source.Pos, annots []*Annotation) Decl {
	d := &ControlDecl{}
	p.next()
	d.Name = p.name("a control")
	p.declare(d.Name.Name, isType)
	mark := len(p.undo)
	d.TypeParams = p.typeParams()
	d.Params = p.params()
	if !p.got(Semicolon) {
		d.HasBody = true
		d.CtorParams = p.optParams()
		p.declareParams(nil, d.Params, d.CtorParams)
		p.want(LBrace, "before the body of the control")
		for p.tok.Kind != RBrace && p.tok.Kind != EOF && !(p.tok.Kind == Apply && p.peek(1) == LBrace) && !(p.tok.Kind == Apply && p.peek(1) == At) {
			d.Locals = append(d.Locals, p.recoverDecl(p.controlElement))
		}
		if p.tok.Kind == Apply {
			p.next()
			blockAnnots := p.annotations()
			d.Body = p.block()
			d.Body.Annotations = blockAnnots
		} else {
			p.errorHere("control %s has no apply block", d.Name.Name)
			d.Body = &BlockStmt{}
		}
		p.want(RBrace, "after the apply block, which ends the control")
	}
	p.closeScope(mark)
	p.finish(&d.decl, start, annots)
	return d
}

func (p *parser) controlElement() Decl {
	start := p.tok.Pos
	annots := p.annotations()
	switch p.tok.Kind {
	case Action:
		return p.actionDecl(start, annots)
	case Table:
		return p.tableDecl(start, annots)
	}
	return p.localDecl(start, annots)
}

func (p *parser) packageDecl(start source.Pos, annots []*Annotation) Decl {
	d := &PackageDecl{}
	p.next()
	d.Name = p.name("a package")
	p.declare(d.Name.Name, isType)
	mark := len(p.undo)
	d.TypeParams = p.typeParams()
	d.Params = p.params()
	p.closeScope(mark)
	p.want(Semicolon, "after the package")
	p.finish(&d.decl, start, annots)
	return d
}

func (p *parser) structDecl(start source.Pos, annots []*Annotation) Decl {
	d := &StructDecl{Kind: p.tok.Kind}
	p.next()
	d.Name = p.name("a type")
	p.declare(d.Name.Name, isType)
	mark := len(p.undo)
	d.TypeParams = p.typeParams()
	p.want(LBrace, "before the fields")
	for p.tok.Kind != RBrace && p.tok.Kind != EOF {
		p.recoverDecl(func() Decl {
			f := &Field{node: node{start: p.tok.Pos}}
			f.Annotations = p.annotations()
			f.Type = p.typeRef()
			f.Name = p.name("a field")
			f.Type = p.sizes(f.Type)
			p.want(Semicolon, "after the field")
			f.end = p.prevEnd()
			d.Fields = append(d.Fields, f)
			return nil
		})
	}
	p.closeScope(mark)
	p.want(RBrace, "after the fields")
	p.finish(&d.decl, start, annots)
	return d
}

func (p *parser) enumDecl(start source.Pos, annots []*Annotation) Decl {
	d := &EnumDecl{}
	p.next()
	if !(p.tok.Kind.isName() && p.peek(1) == LBrace) {
		d.Type = p.typeRef()
	}
	d.Name = p.name("an enum")
	p.declare(d.Name.Name, isType)
	p.want(LBrace, "before the members")
	p.list(RBrace, func() {
		m := &EnumMember{node: node{start: p.tok.Pos}}
		m.Name = p.name("a member")
		if d.Type != nil {
			p.want(Assign, "after a member of an enum with a type")
			m.Value = p.expression()
		}
		m.end = p.prevEnd()
		d.Members = append(d.Members, m)
	})
	if len(d.Members) == 0 {
		p.errorHere("enum %s has no members", d.Name.Name)
	}
	p.next()
	p.finish(&d.decl, start, annots)
	return d
}

func (p *parser) typedefDecl(start source.Pos, annots []*Annotation) Decl {
	d := &TypedefDecl{New: p.tok.Kind == Type}
	p.next()
	inner := p.tok.Pos
	switch innerAnnots := p.annotations(); p.tok.Kind {
	case Header, HeaderUnion, Struct:
		d.Decl = p.structDecl(inner, innerAnnots)
	case Enum:
		d.Decl = p.enumDecl(inner, innerAnnots)
	default:
		d.Type = p.typeRef()
	}
	d.Name = p.name("a type")
	p.declare(d.Name.Name, isType)
	p.want(Semicolon, "after the type")
	p.finish(&d.decl, start, annots)
	return d
}
