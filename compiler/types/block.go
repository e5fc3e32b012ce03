// SPDX-License-Identifier: Apache-2.0

package types

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

func (c *Checker) parserDecl(d *syntax.ParserDecl) {
	b := &Block{Kind: ParserBlock, Name: d.Name.Name, HasBody: d.HasBody, Parser: d}
	c.openScope()
	b.TypeParams = c.typeParams(d.TypeParams)
	if d.HasBody && len(d.TypeParams) > 0 {
		c.errorf(d.Pos(), CodeTypeArgs, "parser %s has a body and cannot have type parameters", d.Name.Name)
	}
	b.Params = c.params(d.Params, false, d.HasBody, ofParser)
	b.CtorParams = c.params(d.CtorParams, true, true, ofBlockCtor)
	if d.HasBody {
		c.within(&context{kind: inParser, block: b, result: Void}, func() { c.parserBody(d, b) })
	}
	c.closeScope()
	c.declareType(d, d.Name, b)
}

func (c *Checker) parserBody(d *syntax.ParserDecl, b *Block) {
	c.declareParams(b.CtorParams)
	c.declareParams(b.Params)
	c.openScope()
	c.localDecls(d.Locals)
	c.states(d)
	c.closeScope()
}

// localDecls checks the declarations before the states or the apply block.
func (c *Checker) localDecls(list []syntax.Decl) {
	for _, l := range list {
		if n, ok := l.(syntax.NamedDecl); ok {
			if _, isVar := l.(*syntax.VarDecl); !isVar {
				c.annotations(n.Annots())
			}
			if c.silence(n.Annots()) {
				c.localDecl(l)
				c.unsilence()
				continue
			}
		}
		c.localDecl(l)
	}
}

func (c *Checker) localDecl(l syntax.Decl) {
	switch l := l.(type) {
	case *syntax.ConstDecl:
		c.constDecl(l)
	case *syntax.VarDecl:
		c.varDecl(l)
	case *syntax.InstanceDecl:
		c.instanceDecl(l)
	case *syntax.ActionDecl:
		c.actionDecl(l)
	case *syntax.TableDecl:
		c.tableDecl(l)
	case *syntax.ValueSetDecl:
		c.valueSetDecl(l)
	}
}

func (c *Checker) controlDecl(d *syntax.ControlDecl) {
	b := &Block{Kind: ControlBlock, Name: d.Name.Name, HasBody: d.HasBody, Control: d}
	c.openScope()
	b.TypeParams = c.typeParams(d.TypeParams)
	if d.HasBody && len(d.TypeParams) > 0 {
		c.errorf(d.Pos(), CodeTypeArgs, "control %s has a body and cannot have type parameters", d.Name.Name)
	}
	b.Params = c.params(d.Params, false, d.HasBody, ofControl)
	b.CtorParams = c.params(d.CtorParams, true, true, ofBlockCtor)
	if d.HasBody {
		c.within(&context{kind: inControl, block: b, result: Void}, func() {
			c.declareParams(b.CtorParams)
			c.declareParams(b.Params)
			c.openScope()
			c.localDecls(d.Locals)
			c.ctx.kind = inApply
			c.annotations(d.Body.Annotations)
			c.openScope()
			c.body(d.Body)
			c.closeScope()
			c.closeScope()
		})
	}
	c.closeScope()
	c.declareType(d, d.Name, b)
}

func (c *Checker) packageDecl(d *syntax.PackageDecl) {
	b := &Block{Kind: PackageBlock, Name: d.Name.Name, Package: d}
	c.openScope()
	b.TypeParams = c.typeParams(d.TypeParams)
	b.Params = c.params(d.Params, true, false, ofPackage)
	c.closeScope()
	c.declareType(d, d.Name, b)
}

func (c *Checker) valueSetDecl(d *syntax.ValueSetDecl) {
	elem := c.typ(d.Elem)
	switch t := elem.(type) {
	case *Bits, *Enum, *NewType, *Tuple:
	case *Struct:
		if t.Kind != PlainStruct {
			c.errorf(d.Elem.Pos(), CodeTypeUse, "a value set cannot have elements of type %s", typeText(elem))
			elem = Invalid
			break
		}
		for _, f := range t.Fields {
			if _, ok := Width(f.Type); !ok {
				c.errorf(d.Elem.Pos(), CodeTypeUse, "field %s of the elements of a value set cannot have type %s", f.Name, typeText(f.Type))
				elem = Invalid
			}
		}
	default:
		if elem != Invalid && elem != Bool {
			c.errorf(d.Elem.Pos(), CodeTypeUse, "a value set cannot have elements of type %s", typeText(elem))
			elem = Invalid
		}
	}
	var x operand
	c.constExpr(&x, d.Size, Int, "the size of a value set")
	o := &ValueSet{object: obj(d.Name), Type: &Set{elem}, Decl: d}
	c.info.Defs[d] = o
	c.declare(o)
}

// instanceDecl checks T(args) name.
func (c *Checker) instanceDecl(d *syntax.InstanceDecl) {
	switch c.ctx.kind {
	case inFunction, inAction, inState, inApply, inMethod:
		c.errorf(d.Pos(), CodePlacement, "%s is an instance, which cannot be declared inside of statements", d.Name.Name)
	}
	o := &Instance{object: obj(d.Name), Decl: d, Top: c.ctx.kind == atTop}
	var x operand
	c.declaring = d.Call
	c.rawExpr(&x, d.Call, nil)
	o.Type = x.typ
	call := c.info.calls[d.Call.ID()]
	if x.mode != invalid && (call == nil || call.Kind != CallConstructor) {
		c.errorf(d.Pos(), CodeNoType, "%s is not the constructor of an extern, parser, control or package", syntax.Text(d.Call.Fun))
		o.Type = Invalid
	}
	if b, ok := o.Type.(*Block); ok {
		switch {
		case !b.HasBody && b.Kind != PackageBlock:
			c.errorf(d.Pos(), CodePlacement, "%s has no body and cannot be instantiated", typeText(b))
		case b.Kind == PackageBlock && !o.Top:
			c.errorf(d.Pos(), CodePlacement, "a package is instantiated at the top level only")
		case b.Kind != PackageBlock && o.Top:
			c.errorf(d.Pos(), CodePlacement, "%s cannot be instantiated at the top level", typeText(b))
		case b.Kind == ParserBlock && (c.ctx.kind == inControl || c.ctx.kind == inApply):
			c.errorf(d.Pos(), CodePlacement, "a parser cannot be instantiated in a control")
		case b.Kind == ControlBlock && (c.ctx.kind == inParser || c.ctx.kind == inState):
			c.errorf(d.Pos(), CodePlacement, "a control cannot be instantiated in a parser")
		}
	}
	c.info.Defs[d] = o
	if d.HasBody {
		c.abstractMethods(d, o)
	} else if t, ok := o.Type.(*Extern); ok {
		for _, m := range t.Methods {
			if m.Decl.Abstract && !isOptional(m) {
				c.errorf(d.Pos(), CodeAbstract, "%s must implement the abstract method %s of %s", d.Name.Name, m.Name, t)
				break
			}
		}
	}
	c.declare(o)
}

// abstractMethods checks the methods that an instance implements.
func (c *Checker) abstractMethods(d *syntax.InstanceDecl, o *Instance) {
	t, ok := o.Type.(*Extern)
	if !ok {
		if o.Type != Invalid {
			c.errorf(d.Pos(), CodeAbstract, "%s is not an extern and has no methods to implement", typeText(o.Type))
		}
		return
	}
	var open []*Func
	for _, m := range t.Methods {
		if m.Decl.Abstract {
			open = append(open, m)
		}
	}
	if len(open) == 0 {
		c.errorf(d.Pos(), CodeAbstract, "%s has no abstract methods to implement", t)
		return
	}
	c.openScope()
	for _, inner := range d.Body {
		switch inner := inner.(type) {
		case *syntax.FuncDecl:
			f := c.prototype(inner, ofFunction)
			match := -1
			for i, m := range open {
				if m.Name == f.Name && len(implemented(m, f)) == len(f.Params) {
					match = i
				}
			}
			if match < 0 {
				c.errorf(inner.Name.Pos(), CodeAbstract, "%s has no abstract method %s with %d parameters", t, f.Name, len(f.Params))
			} else {
				if !implements(f, open[match]) {
					c.errorf(inner.Name.Pos(), CodeAbstract, "%v does not implement %v", f, open[match])
				}
				open = append(open[:match:match], open[match+1:]...)
			}
			if inner.Body != nil {
				block := c.ctx.block
				c.funcBody(inner, f, &context{kind: inMethod, result: f.Result, this: t, block: block})
			}
			o.Methods = append(o.Methods, f)
		case *syntax.InstanceDecl:
			c.within(&context{kind: inControl, block: c.ctx.block}, func() { c.instanceDecl(inner) })
		}
	}
	c.closeScope()
	for _, m := range open {
		if isOptional(m) {
			continue
		}
		c.errorf(d.Pos(), CodeAbstract, "%s must implement the abstract method %s of %s", d.Name.Name, m.Name, t)
	}
}

// isOptional reports whether an instance need not implement abstract method m.
func isOptional(m *Func) bool { return syntax.Annot(m.Decl.Annotations, "optional") != nil }

// implemented returns the parameters of abstract method m that f implements. f
// may leave out parameters that are @optional.
func implemented(m, f *Func) []*Param {
	spare := len(m.Params) - len(f.Params)
	if spare < 0 {
		return nil
	}
	var list []*Param
	for _, p := range m.Params {
		if p.Optional && spare > 0 && (len(list) == len(f.Params) || f.Params[len(list)].Name != p.Name) {
			spare--
			continue
		}
		list = append(list, p)
	}
	return list
}

// implements reports whether f has the signature of abstract method m.
func implements(f, m *Func) bool {
	if !Identical(m.Result, f.Result) {
		return false
	}
	for i, p := range implemented(m, f) {
		if q := f.Params[i]; p.Dir != q.Dir || !Identical(p.Type, q.Type) {
			return false
		}
	}
	return true
}

// states checks the states of a parser.
func (c *Checker) states(d *syntax.ParserDecl) {
	states := map[string]*StateObj{}
	end := source.Pos(0)
	for _, name := range []string{"accept", "reject"} {
		o := &StateObj{object: object{name: name, pos: end, used: true}}
		states[name] = o
	}
	for _, s := range d.States {
		name := s.Name.Name
		c.annotations(s.Annotations)
		if old := states[name]; old != nil {
			if old.Decl == nil {
				c.errorf(s.Name.Pos(), CodeState, "state %s is built in and cannot be declared", name)
			} else {
				c.errorf(s.Name.Pos(), CodeDuplicate, "state %s is declared already, at %v", name, c.rep.Set.Position(old.Pos()))
			}
			continue
		}
		o := &StateObj{object: obj(s.Name), Decl: s}
		states[name] = o
		c.info.Defs[s] = o
		if old := c.scope.names[name]; old != nil {
			c.errorf(s.Name.Pos(), CodeDuplicate, "%s is declared already, at %v", name, c.rep.Set.Position(old.Pos()))
		}
	}
	if start := states["start"]; start == nil {
		c.errorf(d.Name.Pos(), CodeState, "parser %s has no state \"start\"", d.Name.Name)
	} else {
		start.used = true
	}
	c.within(&context{kind: inState, block: c.ctx.block, result: Void, states: states}, func() {
		for _, s := range d.States {
			c.openScope()
			quiet := c.silence(s.Annotations)
			for _, st := range s.Body {
				c.stmt(st)
			}
			c.transition(s)
			if quiet {
				c.unsilence()
			}
			c.closeScope()
		}
	})
	c.reachesEnd(d)
	for _, s := range d.States {
		if o := states[s.Name.Name]; o != nil && !o.used {
			c.warnf(s.Name.Pos(), CodeUnused, "no transition leads to state %s", s.Name.Name)
		}
	}
}

// reachesEnd checks that a parser can reach accept or reject.
func (c *Checker) reachesEnd(d *syntax.ParserDecl) {
	next := map[string][]string{}
	for _, s := range d.States {
		switch x := s.Next.(type) {
		case nil:
			next[s.Name.Name] = []string{"reject"}
		case *syntax.NameExpr:
			next[s.Name.Name] = []string{x.Name}
		case *syntax.SelectExpr:
			all := false
			for _, sc := range x.Cases {
				next[s.Name.Name] = append(next[s.Name.Name], sc.Next.Name)
				all = all || isAll(sc.Keys)
			}
			if !all {
				next[s.Name.Name] = append(next[s.Name.Name], "reject")
			}
		}
	}
	seen := map[string]bool{}
	work := []string{"start"}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		if s == "accept" || s == "reject" {
			return
		}
		if !seen[s] {
			seen[s] = true
			work = append(work, next[s]...)
		}
	}
	if next["start"] != nil {
		c.errorf(d.Name.Pos(), CodeState, "parser %s never comes to accept or reject", d.Name.Name)
	}
}

// transition checks the transition of a state.
func (c *Checker) transition(s *syntax.StateDecl) {
	switch next := s.Next.(type) {
	case nil:
		c.warnf(s.Name.Pos(), CodeTransition, "state %s has no transition, which rejects the packet", s.Name.Name)
	case *syntax.NameExpr:
		c.target(&syntax.Ident{Name: next.Name}, next.Pos())
	case *syntax.SelectExpr:
		c.selectExpr(next)
	}
}

// target looks up the state of a transition.
func (c *Checker) target(id *syntax.Ident, pos source.Pos) {
	o := c.ctx.states[id.Name]
	if o == nil {
		if v := c.scope.lookup(id.Name); v != nil {
			c.errorf(pos, CodeState, "%s is not a state", id.Name)
			return
		}
		names := make([]string, 0, len(c.ctx.states))
		for _, s := range c.ctx.block.Parser.States {
			names = append(names, s.Name.Name)
		}
		c.errorf(pos, CodeUndeclared, "state %s is not declared%s", id.Name, didYouMean(id.Name, append(names, "accept", "reject")))
		return
	}
	o.used = true
}
