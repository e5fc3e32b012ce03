// SPDX-License-Identifier: Apache-2.0

package types

import "github.com/pauseless/pauseless/compiler/syntax"

// infer starts the inference of type arguments. It returns a substitution with
// the explicit arguments; the others are nil.
func (c *Checker) infer(e *syntax.CallExpr, params []*TypeParam, args []syntax.TypeExpr, name string) (Subst, bool) {
	if len(args) > 0 && len(args) != len(params) {
		c.errorf(e.Pos(), CodeTypeArgs, "%s needs %d type arguments, not %d", name, len(params), len(args))
		return nil, false
	}
	s := make(Subst, len(params))
	for i, p := range params {
		s[p] = nil
		if i < len(args) {
			t := c.typeArg(args[i])
			if t == Invalid {
				return nil, false
			}
			if isFresh(t) {
				continue
			}
			if t == Void {
				c.errorf(args[i].Pos(), CodeTypeUse, "void cannot be a type argument")
				return nil, false
			}
			s[p] = t
		}
	}
	return s, true
}

// checkArgs checks the arguments of a call and completes the substitution s of
// params. Literals come last, because their types depend on the other
// arguments.
func (c *Checker) checkArgs(e *syntax.CallExpr, call *Call, params []*TypeParam, s Subst, of paramOwner, result, want Type) bool {
	ok := true
	args := make([]operand, len(call.Params))
	for pass := range 3 {
		for i, p := range call.Params {
			a, x := call.Args[i], &args[i]
			if a == nil || x.expr != nil || lateness(a) > pass {
				continue
			}
			t := c.apply(s, p.Type)
			if !hasOpen(t, s) {
				c.rawExpr(x, a, t)
				continue
			}
			c.rawExpr(x, a, nil)
			if x.mode == invalid {
				ok = false
			} else if !c.unify(t, x.typ, s) {
				c.errorf(a.Pos(), CodeMismatch, "parameter %s of %s has type %s, but %s has type %s", p.Name, syntax.Text(e.Fun), typeText(t), syntax.Text(a), typeText(x.typ))
				ok = false
			}
		}
	}
	if !ok {
		return false
	}
	if len(s) > 0 {
		if result != nil && want != nil && hasOpen(c.apply(s, result), s) {
			c.unify(c.apply(s, result), want, s)
		}
		c.inferDefaults(call, s)
		if !c.solved(e, call, params, s, of) {
			return false
		}
	}
	for i, p := range call.Params {
		if call.Args[i] != nil && !c.argumentIs(&args[i], p, c.apply(s, p.Type), of) {
			ok = false
		}
	}
	return ok
}

// lateness returns the pass in which an argument takes part in inference.
func lateness(e syntax.Expr) int {
	switch {
	case isIntLiteral(e):
		return 2
	case isLiteral(e):
		return 1
	}
	return 0
}

// hasOpen reports whether t contains type parameters that s does not resolve.
func hasOpen(t Type, s Subst) bool {
	open := map[*TypeParam]Type{}
	for p, v := range s {
		if v == nil {
			open[p] = nil
		}
	}
	return len(open) > 0 && hasTypeParams(t, open)
}

// isIntLiteral reports whether e is a number without width.
func isIntLiteral(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.IntLit:
		return e.Width < 0
	case *syntax.UnaryExpr:
		return isIntLiteral(e.X)
	case *syntax.BinaryExpr:
		return isIntLiteral(e.X) && isIntLiteral(e.Y)
	}
	return false
}

// solved reports whether all type parameters are inferred.
func (c *Checker) solved(e *syntax.CallExpr, call *Call, params []*TypeParam, s Subst, of paramOwner) bool {
	for _, p := range params {
		t := s[p]
		if t == nil && (len(e.TypeArgs) > 0 || call.leavesOut(p)) {
			s[p] = &TypeParam{Name: "_", Fresh: true}
			continue
		}
		if t == nil {
			c.errorf(e.Pos(), CodeInfer, "cannot infer type argument %s of %s; write it, as in %s<…>(…)", p.Name, syntax.Text(e.Fun), syntax.Text(e.Fun))
			return false
		}
		if !c.solution(call, p, t, of) {
			return false
		}
	}
	return true
}

// leavesOut reports whether p occurs only in the types of parameters without an
// argument.
func (call *Call) leavesOut(p *TypeParam) bool {
	named := false
	for i, q := range call.Params {
		if hasTypeParams(q.Type, Subst{p: nil}) {
			named = true
			if call.Args[i] != nil {
				return false
			}
		}
	}
	return named
}

// old reports whether a call is of a deprecated extern function: recirculate(0) is in
// programs from before 2021, and its argument means nothing.
func old(call *Call) bool {
	return call.Kind == CallFunction && call.Func != nil && syntax.Annot(call.Func.Decl.Annotations, "deprecated") != nil
}

// solution reports whether type parameter p can be t.
func (c *Checker) solution(call *Call, p *TypeParam, t Type, of paramOwner) bool {
	for i, q := range call.Params {
		a := call.Args[i]
		if q.Type != Type(p) || a == nil {
			continue
		}
		switch u := t.(type) {
		case *Basic:
			if u == Int && (of == ofCtor || q.Dir != syntax.NoDirection) && !old(call) {
				c.errorf(a.Pos(), CodeInfer, "%s has no width, and nothing else gives type %s of parameter %s one; write it with a width, as in 32w%s", syntax.Text(a), p.Name, q.Name, syntax.Text(a))
				return false
			}
			if u == String && q.Dir != syntax.NoDirection {
				c.errorf(a.Pos(), CodeDirection, "parameter %s has %s and cannot be a string", q.Name, dirText(q.Dir))
				return false
			}
		case *Record:
			c.errorf(a.Pos(), CodeInfer, "the struct type of %s is not known; write it with a cast, as in (S) %s", syntax.Text(a), syntax.Text(a))
			return false
		case *Block, *Table, *Action:
			if of == ofFunction || of == ofMethod {
				c.errorf(a.Pos(), CodeTypeUse, "an argument cannot be a %s", typeText(t))
				return false
			}
		}
	}
	return true
}

// unify extends s such that the parameter type p, in which type parameters of s
// may occur, equals the argument's type a.
func (c *Checker) unify(p, a Type, s Subst) bool {
	if p == Invalid || a == Invalid || a == Dontcare {
		return true
	}
	if isFresh(p) {
		return true
	}
	if tp, ok := p.(*TypeParam); ok {
		if old, open := s[tp]; open {
			if old == nil {
				if a == Void || a == Default {
					return false
				}
				s[tp] = a
				return true
			}
			return c.fits(a, old) || c.widen(tp, old, a, s)
		}
	}
	if isFresh(a) {
		return true
	}
	switch p := p.(type) {
	case *Array:
		a, ok := a.(*Array)
		return ok && a.Size == p.Size && c.unify(p.Elem, a.Elem, s)
	case *List:
		switch a := a.(type) {
		case *List:
			return c.unify(p.Elem, a.Elem, s)
		case *Tuple:
			for _, e := range a.Elems {
				if !c.unify(p.Elem, e, s) {
					return false
				}
			}
			return true
		}
		return false
	case *Set:
		a, ok := a.(*Set)
		return ok && c.unify(p.Elem, a.Elem, s)
	case *Tuple:
		a, ok := a.(*Tuple)
		return ok && c.unifyLists(p.Elems, a.Elems, s)
	case *Struct:
		switch a := a.(type) {
		case *Struct:
			if p.origin != nil && p.origin == a.origin {
				return c.unifyLists(p.TypeArgs, a.TypeArgs, s)
			}
		case *Tuple:
			if len(a.Elems) != len(p.Fields) {
				return false
			}
			for i, f := range p.Fields {
				if !c.unify(f.Type, a.Elems[i], s) {
					return false
				}
			}
			return true
		case *Record:
			for i, n := range a.Names {
				f, _ := p.Field(n)
				if f == nil || !c.unify(f.Type, a.Types[i], s) {
					return false
				}
			}
			return true
		}
	case *Extern:
		if a, ok := a.(*Extern); ok && p.Origin() == a.Origin() {
			return c.unifyLists(p.TypeArgs, a.TypeArgs, s)
		}
	case *Block:
		if a, ok := a.(*Block); ok {
			return c.unifyBlocks(p, a, s)
		}
	}
	return c.fits(a, p)
}

// widen replaces the type of an argument without width by that of a later
// argument.
func (c *Checker) widen(tp *TypeParam, old, a Type, s Subst) bool {
	if old == Int && isBits(a) {
		s[tp] = a
		return true
	}
	return false
}

func (c *Checker) unifyLists(p, a []Type, s Subst) bool {
	if len(p) != len(a) {
		return false
	}
	for i := range p {
		if !c.unify(c.apply(s, p[i]), a[i], s) {
			return false
		}
	}
	return true
}

// unifyBlocks unifies a parser or control with the type of a parameter. It may
// omit optional parameters: those at the end or, where the types are distinct,
// others.
func (c *Checker) unifyBlocks(p, a *Block, s Subst) bool {
	if p.Kind != a.Kind {
		return false
	}
	if p.Origin() == a.Origin() {
		return c.unifyLists(p.TypeArgs, a.TypeArgs, s)
	}
	if p.Kind == PackageBlock {
		return false
	}
	i := 0
	for _, q := range p.Params {
		may, t := q.Optional || q.Default != nil, c.apply(s, q.Type)
		if i >= len(a.Params) || may && len(a.Params) < len(p.Params) && !hasOpen(t, s) && !Identical(t, a.Params[i].Type) {
			if !may {
				return false
			}
			continue
		}
		if q.Dir != a.Params[i].Dir || !c.unifyExact(t, a.Params[i].Type, s) {
			return false
		}
		i++
	}
	return i == len(a.Params)
}

// unifyExact is unify without the conversions of literals.
func (c *Checker) unifyExact(p, a Type, s Subst) bool {
	if tp, ok := p.(*TypeParam); ok {
		if old, open := s[tp]; open && old != nil {
			return Identical(old, a)
		}
	}
	if hasOpen(p, s) {
		return c.unify(p, a, s)
	}
	return Identical(p, a)
}

// inferDefaults completes the substitution from the default values of
// parameters without an argument.
func (c *Checker) inferDefaults(call *Call, s Subst) {
	for i, p := range call.Params {
		if call.Args[i] == nil && p.Default != nil && hasOpen(p.Type, s) {
			if t := c.info.types[p.Default.ID()]; t != nil {
				c.unify(c.apply(s, p.Type), t, s)
			}
		}
	}
}

// conforms reports whether the parser, control or package x fits a parameter
// of type b.
func (c *Checker) conforms(x *operand, b *Block, p *Param) bool {
	if x.mode == invalid {
		return false
	}
	a, ok := x.typ.(*Block)
	if x.mode == thing && ok {
		if a.Kind == b.Kind && !a.HasBody && a.Kind != PackageBlock {
			if _, isParam := x.expr.(*syntax.NameExpr); !isParam {
				c.errorf(x.pos(), CodePlacement, "%s has no body and cannot be instantiated", typeText(a))
				return false
			}
		}
		if c.unifyBlocks(b, a, Subst{}) {
			return true
		}
	}
	if x.mode == typexpr {
		c.errorf(x.pos(), CodeNoValue, "%s is a type; instantiate it, as in %s(…)", syntax.Text(x.expr), syntax.Text(x.expr))
		return false
	}
	why := ""
	if ok && a.Kind == b.Kind {
		why = c.whyNot(b, a)
	}
	c.errorf(x.pos(), CodeMismatch, "parameter %s has type %s, which %s does not fit%s", p.Name, typeText(b), x.describe(), why)
	return false
}

// whyNot describes the first difference between the parameters of two blocks.
func (c *Checker) whyNot(b, a *Block) string {
	if len(b.Params) != len(a.Params) {
		return ": " + itoa(len(b.Params)) + " parameters are wanted, it has " + itoa(len(a.Params))
	}
	for i, p := range b.Params {
		q := a.Params[i]
		if p.Dir != q.Dir || !Identical(p.Type, q.Type) {
			return ": parameter " + itoa(i+1) + " should be \"" + p.String() + "\" and is \"" + q.String() + "\""
		}
	}
	return ""
}
