// SPDX-License-Identifier: Apache-2.0

package types

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/diag"
)

// declareType declares the name of a type.
func (c *Checker) declareType(d syntax.Decl, id *syntax.Ident, t Type) {
	o := &TypeName{object: obj(id), Type: t}
	c.info.Defs[d] = o
	c.info.Types[d] = t
	c.declare(o)
}

// typeParams declares type parameters in a scope of their own.
func (c *Checker) typeParams(ids []*syntax.Ident) []*TypeParam {
	var list []*TypeParam
	for _, id := range ids {
		p := &TypeParam{Name: id.Name}
		o := &TypeName{object: obj(id), Type: p}
		o.used = true
		c.declare(o)
		list = append(list, p)
	}
	return list
}

func (c *Checker) constDecl(d *syntax.ConstDecl) {
	t := c.typ(d.Type)
	if t != Invalid && !isRuntime(t) && !c.constType(t) {
		c.errorf(d.Type.Pos(), CodeTypeUse, "a constant cannot have type %s", typeText(t))
		t = Invalid
	}
	var x operand
	if t == Invalid {
		c.expr(&x, d.Value, nil)
		x.invalidate()
	} else {
		c.expr(&x, d.Value, t)
		if _, sized := x.typ.(*Bits); sized && t == Int && x.isConst() {
			x.typ = Int // as p4c, which casts here, though the specification only casts the other way
		}
		c.assign(&x, t, "constant "+d.Name.Name)
		c.known(&x, "constant "+d.Name.Name)
	}
	o := &Const{object: obj(d.Name), Type: t, Value: x.val, Decl: d}
	if x.mode == invalid {
		o.Type = Invalid
	}
	c.info.Defs[d] = o
	c.declare(o)
}

// constType reports whether only constants can have type t.
func (c *Checker) constType(t Type) bool {
	switch t := t.(type) {
	case *Basic:
		return t == Int || t == String || t == MatchKind
	case *List:
		return true
	case *Tuple:
		for _, e := range t.Elems {
			if !isRuntime(e) && !c.constType(e) {
				return false
			}
		}
		return true
	}
	return false
}

func (c *Checker) varDecl(d *syntax.VarDecl) {
	if len(d.Annotations) > 0 {
		c.annotations(d.Annotations)
	}
	t := c.varType(d)
	var x operand
	if d.Init != nil {
		if t == Invalid {
			c.expr(&x, d.Init, nil)
		} else {
			c.exprOf(&x, d.Init, t, "variable "+d.Name.Name)
		}
	}
	o := &Var{object: obj(d.Name), Type: t, Decl: d}
	c.info.Defs[d] = o
	c.declare(o)
}

// varType returns the type of a variable.
func (c *Checker) varType(d *syntax.VarDecl) Type {
	t := c.typ(d.Type)
	if t == Invalid || isRuntime(t) && !isFresh(t) {
		return t
	}
	hint := ""
	if isObject(t) {
		hint = "; an instance is declared as " + syntax.Text(d.Type) + "(…) " + d.Name.Name
	}
	c.errorf(d.Pos(), CodeTypeUse, "variable %s cannot have type %s%s", d.Name.Name, typeText(t), hint)
	return Invalid
}

func (c *Checker) structDecl(d *syntax.StructDecl) *Struct {
	s := &Struct{Name: d.Name.Name, Decl: d}
	switch d.Kind {
	case syntax.Header:
		s.Kind = Header
	case syntax.HeaderUnion:
		s.Kind = HeaderUnion
	}
	// The type's name is declared for its fields, for the message that it is
	// recursive.
	self := &TypeName{object: obj(d.Name), Type: s}
	c.info.Defs[d] = self
	c.info.Types[d] = s
	c.openScope()
	s.TypeParams = c.typeParams(d.TypeParams)
	seen := map[string]bool{}
	n := 0
	for _, f := range d.Fields {
		c.annotations(f.Annotations)
		t := c.fieldType(s, f)
		if seen[f.Name.Name] {
			c.errorf(f.Name.Pos(), CodeDuplicate, "field %s of %s is declared already", f.Name.Name, s.Name)
		}
		seen[f.Name.Name] = true
		if n += leaves(t); n > maxLeaves {
			c.errorf(f.Pos(), CodeTooLarge, "%s has more than %d fields", s.Name, maxLeaves)
			t = Invalid
			n = 0
		}
		s.Fields = append(s.Fields, &Field{f.Name.Name, t, f})
	}
	c.closeScope()
	c.info.Structs = append(c.info.Structs, s)
	c.declare(self)
	return s
}

func (c *Checker) fieldType(s *Struct, f *syntax.Field) Type {
	if n, ok := f.Type.(*syntax.NamedType); ok && n.Name == s.Name && c.scope.lookup(n.Name) == nil {
		c.errorf(f.Type.Pos(), CodeTypeUse, "%s %s contains itself", s.Kind, s.Name)
		return Invalid
	}
	t := c.typ(f.Type)
	if !c.canContain(s.Kind, t, true) {
		c.errorf(f.Pos(), CodeTypeUse, "field %s of %v %s cannot have type %s", f.Name.Name, s.Kind, s.Name, typeText(t))
		return Invalid
	}
	return t
}

func (c *Checker) enumDecl(d *syntax.EnumDecl) *Enum {
	e := &Enum{Name: d.Name.Name, Decl: d}
	if d.Type != nil {
		switch t := c.typ(d.Type).(type) {
		case *Bits:
			e.Underlying = t
		default:
			if t != Invalid {
				c.errorf(d.Type.Pos(), CodeTypeUse, "an enum is made of bit<W> or int<W>, not %s", typeText(t))
			}
			e.Underlying = smallBits[32]
		}
	}
	c.openScope()
	seen := map[string]bool{}
	for _, m := range d.Members {
		if seen[m.Name.Name] {
			c.errorf(m.Pos(), CodeDuplicate, "member %s of enum %s is declared already", m.Name.Name, e.Name)
			continue
		}
		seen[m.Name.Name] = true
		if e.Underlying != nil {
			v := new(big.Int)
			var x operand
			c.constExpr(&x, m.Value, e.Underlying, "member "+m.Name.Name)
			if iv, ok := x.val.(IntValue); ok {
				v = iv.Int
			}
			e.Values = append(e.Values, v)
			k := &Const{object: obj(m.Name), Type: e, Value: IntValue{v}}
			k.used = true
			c.declare(k) // later members may use it
		}
		e.Members = append(e.Members, m.Name.Name)
	}
	c.closeScope()
	c.info.Enums = append(c.info.Enums, e)
	c.declareType(d, d.Name, e)
	return e
}

func (c *Checker) errorDecl(d *syntax.ErrorDecl) {
	for _, m := range d.Members {
		if c.errors[m.Name] {
			c.errorf(m.Pos(), CodeDuplicate, "error.%s is declared already", m.Name)
			continue
		}
		c.errors[m.Name] = true
		c.info.Errors = append(c.info.Errors, m.Name)
	}
}

func (c *Checker) matchKindDecl(d *syntax.MatchKindDecl) {
	for _, m := range d.Members {
		o := &MatchKindObj{obj(m)}
		o.used = true
		c.declare(o)
		c.info.MatchKinds = append(c.info.MatchKinds, m.Name)
	}
}

func (c *Checker) typedefDecl(d *syntax.TypedefDecl) {
	var t Type
	if d.Decl != nil {
		switch inner := d.Decl.(type) {
		case *syntax.StructDecl:
			t = c.structDecl(inner)
		case *syntax.EnumDecl:
			t = c.enumDecl(inner)
		}
	} else {
		t = c.typ(d.Type)
	}
	switch t {
	case Void, String, MatchKind:
		c.errorf(d.Pos(), CodeTypeUse, "%s cannot be given another name", typeText(t))
		t = Invalid
	}
	if isFresh(t) {
		c.errorf(d.Pos(), CodeTypeUse, "_ cannot be given a name")
		t = Invalid
	}
	if d.New && t != Invalid {
		b := t
		if n, ok := t.(*NewType); ok {
			b = base(n)
		}
		if _, ok := b.(*Bits); !ok && b != Bool {
			c.errorf(d.Type.Pos(), CodeTypeUse, "a new type is made of bool, bit<W> or int<W>, not %s", typeText(t))
			t = Invalid
		} else {
			t = &NewType{d.Name.Name, d, t}
		}
	}
	c.declareType(d, d.Name, t)
}

// params resolves parameters. ctor is true for those of a constructor, bodied
// for those of a declaration with a body.
func (c *Checker) params(list []*syntax.Param, ctor, bodied bool, of paramOwner) []*Param {
	var out []*Param
	seen := map[string]bool{}
	for _, p := range list {
		c.annotations(p.Annotations)
		q := &Param{Name: p.Name.Name, Dir: p.Dir, Default: p.Default, Ctor: ctor, Decl: p}
		q.Optional = syntax.Annot(p.Annotations, "optional") != nil
		q.Type = c.paramType(p, q, ctor, of)
		if q.Optional && (of == ofAction || of == ofBlockCtor || of == ofFunction && bodied) {
			c.errorf(p.Name.Pos(), CodeAnnotation, "parameter %s cannot be @optional: that is for externs and the parameters of architectures", q.Name)
			q.Optional = false
		}
		if seen[q.Name] && !bodied { // others are declared in the scope of their body
			c.errorf(p.Name.Pos(), CodeDuplicate, "parameter %s is declared already", q.Name)
		}
		seen[q.Name] = true
		if p.Default != nil {
			c.paramDefault(p, q, of)
		}
		out = append(out, q)
	}
	return out
}

// paramOwner is the kind of declaration that has the parameters.
type paramOwner uint8

const (
	ofFunction paramOwner = iota
	ofMethod
	ofAction
	ofParser
	ofControl
	ofPackage
	ofCtor      // of an extern
	ofBlockCtor // of a parser or control
)

func (c *Checker) paramType(p *syntax.Param, q *Param, ctor bool, of paramOwner) Type {
	t := c.typArgs(p.Type, false)
	c.info.TypeExprs[p.Type] = t
	if t == Invalid {
		return t
	}
	if (ctor || of == ofPackage) && p.Dir != syntax.NoDirection {
		c.errorf(p.Pos(), CodeDirection, "parameter %s is known at compile time and cannot have a direction", q.Name)
		q.Dir = syntax.NoDirection
	}
	bad := func(why string) Type {
		c.errorf(p.Pos(), CodeTypeUse, "parameter %s cannot have type %s%s", q.Name, typeText(t), why)
		return Invalid
	}
	switch u := t.(type) {
	case *Basic:
		switch {
		case u == Void || u == MatchKind && of != ofPackage && !ctor:
			return bad("")
		case (u == Int || u == String) && q.Dir != syntax.NoDirection:
			c.errorf(p.Pos(), CodeDirection, "parameter %s of type %s cannot have a direction", q.Name, typeText(t))
			return Invalid
		case (u == Int || u == String) && of == ofAction:
			return bad(" in an action")
		}
	case *Set:
		return bad("")
	case *Extern:
		if q.Dir != syntax.NoDirection {
			c.errorf(p.Pos(), CodeDirection, "parameter %s is an extern and cannot have a direction", q.Name)
			return Invalid
		}
		if of == ofAction {
			return bad(" in an action")
		}
	case *Block:
		if u.Kind == PackageBlock && of != ofPackage {
			return bad("")
		}
		if u.Kind != PackageBlock && of != ofPackage && of != ofBlockCtor {
			return bad("; only constructors of parsers and controls, and packages, take one")
		}
		if of == ofBlockCtor && u.HasBody {
			return bad(": it has a body; name a type that it conforms to")
		}
		if q.Dir != syntax.NoDirection {
			c.errorf(p.Pos(), CodeDirection, "parameter %s is a %v and cannot have a direction", q.Name, u.Kind)
			return Invalid
		}
		if of == ofPackage && u.HasBody && u.Kind != PackageBlock {
			return bad(": a package takes parser and control types")
		}
	case *Tuple, *List:
		if _, ok := t.(*List); ok && q.Dir != syntax.NoDirection {
			c.errorf(p.Pos(), CodeDirection, "parameter %s of type %s cannot have a direction", q.Name, typeText(t))
			return Invalid
		}
	}
	return t
}

func (c *Checker) paramDefault(p *syntax.Param, q *Param, of paramOwner) {
	switch {
	case q.Dir == syntax.DirOut || q.Dir == syntax.DirInout:
		c.errorf(p.Default.Pos(), CodeDirection, "a parameter with %s cannot have a default value", dirText(q.Dir))
	case q.Optional:
		c.errorf(p.Default.Pos(), CodeDirection, "parameter %s is @optional and cannot have a default value as well", q.Name)
	}
	var x operand
	if q.Type == Invalid {
		c.expr(&x, p.Default, nil)
		return
	}
	if _, ok := q.Type.(*TypeParam); ok {
		c.expr(&x, p.Default, nil)
		return
	}
	c.constExpr(&x, p.Default, q.Type, "the default of "+q.Name)
}

// declareParams declares parameters in the scope of a body.
func (c *Checker) declareParams(list []*Param) {
	for _, p := range list {
		o := &ParamObj{object: obj(p.Decl.Name), Param: p}
		c.info.params[p] = o
		c.declare(o)
	}
}

func (c *Checker) externDecl(d *syntax.ExternDecl) {
	t := &Extern{Name: d.Name.Name, Decl: d}
	c.declareType(d, d.Name, t)
	c.openScope()
	t.TypeParams = c.typeParams(d.TypeParams)
	for _, m := range d.Methods {
		c.annotations(m.Annotations)
		f := c.prototype(m, ofMethod)
		f.Owner = t
		for _, p := range f.Params {
			if e, ok := p.Type.(*Extern); ok && e.Origin() == t {
				c.errorf(p.Decl.Pos(), CodeTypeUse, "a method of extern %s cannot take an %s", t.Name, t.Name)
			}
		}
		if m.Result == nil {
			if m.Abstract {
				c.errorf(m.Pos(), CodePlacement, "a constructor cannot be abstract")
			}
			if overlaps(t.Ctors, f) {
				c.errorf(m.Name.Pos(), CodeDuplicate, "a constructor with these parameters is declared already")
			}
			t.Ctors = append(t.Ctors, f)
			continue
		}
		if f.Name == t.Name {
			c.errorf(m.Pos(), CodePlacement, "%s is the name of the extern, whose constructor has no result type", f.Name)
			continue
		}
		if overlaps(t.Methods, f) {
			c.errorf(m.Name.Pos(), CodeDuplicate, "method %s with these parameters is declared already", f.Name)
		}
		t.Methods = append(t.Methods, f)
	}
	c.closeScope()
}

// overlaps reports whether some call matches both f and a function of the list.
func overlaps(list []*Func, f *Func) bool {
	for _, g := range list {
		if g.Name == f.Name && len(g.Params) == len(f.Params) && sameNames(g.Params, f.Params) {
			return true
		}
	}
	return false
}

// prototype resolves the signature of a function.
func (c *Checker) prototype(d *syntax.FuncDecl, of paramOwner) *Func {
	f := &Func{Name: d.Name.Name, Decl: d}
	c.info.Funcs[d] = f
	c.openScope()
	f.TypeParams = c.typeParams(d.TypeParams)
	if d.Result != nil {
		f.Result = c.resultType(d)
	} else {
		of = ofCtor
	}
	f.Params = c.params(d.Params, of == ofCtor, d.Body != nil, of)
	c.closeScope()
	return f
}

func (c *Checker) resultType(d *syntax.FuncDecl) Type {
	if n, ok := d.Result.(*syntax.NamedType); ok && len(n.Args) == 0 && c.scope.lookup(n.Name) == nil {
		c.errorf(n.Pos(), CodeUndeclared, "type %s is not declared%s", n.Name, diag.DidYouMean(n.Name, typeNamesIn(c.scope)))
		return Invalid
	}
	t := c.typ(d.Result)
	switch u := t.(type) {
	case *Basic:
		if u == String || u == Int || u == MatchKind {
			if d.Body == nil && u == String {
				break // the compiler may evaluate an extern
			}
			c.errorf(d.Result.Pos(), CodeTypeUse, "a function cannot return %s", typeText(t))
			return Invalid
		}
	case *Extern, *Block, *Set:
		c.errorf(d.Result.Pos(), CodeTypeUse, "a function cannot return %s", typeText(t))
		return Invalid
	}
	return t
}

func (c *Checker) funcDecl(d *syntax.FuncDecl) {
	f := c.prototype(d, ofFunction)
	if d.Body != nil {
		c.funcBody(d, f, &context{kind: inFunction, result: f.Result})
	}
	c.declareFunc(f, d.Name) // after the body: there is no recursion
}

// funcBody checks the body of a function or method.
func (c *Checker) funcBody(d *syntax.FuncDecl, f *Func, ctx *context) {
	c.openScope()
	for i, id := range d.TypeParams {
		o := &TypeName{object: obj(id), Type: f.TypeParams[i]}
		o.used = true
		c.declare(o)
	}
	c.within(ctx, func() {
		c.declareParams(f.Params)
		if c.body(d.Body) && f.Result != Void && f.Result != Invalid {
			c.errorf(d.Name.Pos(), CodeFlow, "function %s can end without returning a value", d.Name.Name)
		}
	})
	c.closeScope()
}

func (c *Checker) actionDecl(d *syntax.ActionDecl) {
	a := &Action{Name: d.Name.Name, Decl: d}
	a.Params = c.params(d.Params, false, true, ofAction)
	directionless := false
	for i, p := range a.Params {
		if p.Dir == syntax.NoDirection {
			directionless = true
		} else if directionless {
			c.errorf(d.Params[i].Pos(), CodeDirection, "parameter %s has a direction and must come before those without", p.Name)
			break
		}
	}
	o := &ActionObj{object: obj(d.Name), Action: a, Top: c.ctx.kind == atTop}
	c.info.Defs[d] = o
	c.openScope()
	c.within(&context{kind: inAction, block: c.ctx.block, result: Void}, func() {
		c.declareParams(a.Params)
		c.body(d.Body)
	})
	c.closeScope()
	c.declare(o)
}
