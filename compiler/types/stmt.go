// SPDX-License-Identifier: Apache-2.0

package types

import "github.com/pauseless/pauseless/compiler/syntax"

// body checks the block of a body. It reports whether its end is reachable.
func (c *Checker) body(b *syntax.BlockStmt) bool {
	return c.stmts(b.Stmts)
}

// stmts checks statements in order and reports whether the end of the last is
// reachable.
func (c *Checker) stmts(list []syntax.Stmt) bool {
	reached, warned := true, false
	for _, s := range list {
		if !reached && !warned {
			if _, empty := s.(*syntax.EmptyStmt); !empty {
				c.warnf(s.Pos(), CodeUnreachable, "the statement is never reached")
				warned = true
			}
		}
		if !c.stmt(s) {
			reached = false
		}
	}
	return reached
}

// stmt checks a statement and reports whether its end is reachable.
func (c *Checker) stmt(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.DeclStmt:
		if n, ok := s.Decl.(syntax.NamedDecl); ok && c.silence(n.Annots()) {
			defer c.unsilence()
		}
		c.localDecl(s.Decl)
	case *syntax.AssignStmt:
		c.assignment(s)
	case *syntax.CallStmt:
		var x operand
		c.rawExpr(&x, s.Call, nil)
		if call := c.info.calls[s.Call.ID()]; call != nil && call.Kind == CallConstructor {
			c.errorf(s.Pos(), CodePlacement, "%s constructs an instance, which is not a statement", syntax.Text(s.Call))
		}
	case *syntax.BlockStmt:
		c.annotations(s.Annotations)
		c.openScope()
		ok := c.stmts(s.Stmts)
		c.closeScope()
		return ok
	case *syntax.IfStmt:
		var x operand
		c.exprOf(&x, s.Cond, Bool, "the condition")
		then := c.scoped(s.Then)
		els := true
		if s.Else != nil {
			els = c.scoped(s.Else)
		}
		return then || els
	case *syntax.SwitchStmt:
		return c.switchStmt(s)
	case *syntax.ForStmt:
		c.forStmt(s)
	case *syntax.ForInStmt:
		c.forIn(s)
	case *syntax.ReturnStmt:
		c.returnStmt(s)
		return false
	case *syntax.ExitStmt:
		switch c.ctx.kind {
		case inState, inParser:
			c.errorf(s.Pos(), CodePlacement, "exit cannot be used in a parser")
		case inFunction:
			c.errorf(s.Pos(), CodePlacement, "exit cannot be used in a function")
		}
		return false
	case *syntax.BreakStmt, *syntax.ContinueStmt:
		if c.ctx.loops == 0 {
			c.errorf(s.Pos(), CodePlacement, "%s is only for loops", map[bool]string{true: "break", false: "continue"}[isBreak(s)])
		}
		return false
	}
	return true
}

func isBreak(s syntax.Stmt) bool { _, ok := s.(*syntax.BreakStmt); return ok }

// scoped checks a statement in a scope of its own.
func (c *Checker) scoped(s syntax.Stmt) bool {
	c.openScope()
	ok := c.stmt(s)
	c.closeScope()
	return ok
}

func (c *Checker) assignment(s *syntax.AssignStmt) {
	var x, y operand
	c.lvalue(&x, s.X)
	if s.Op == syntax.Assign {
		if x.mode == invalid {
			c.expr(&y, s.Y, nil)
			return
		}
		c.exprOf(&y, s.Y, x.typ, syntax.Text(s.X))
		return
	}
	// x op= y is x = x op y with x evaluated once.
	b := &syntax.BinaryExpr{Op: s.Op.BinaryOf(), OpPos: s.OpPos, X: s.X, Y: s.Y}
	c.expr(&y, s.Y, nil)
	if x.mode == invalid || y.mode == invalid {
		return
	}
	t := x.typ
	var r operand
	switch b.Op {
	case syntax.Shl, syntax.Shr:
		c.shift(&r, at(b, s), &x, &y)
	default:
		c.arith(&r, at(b, s), &x, &y)
	}
	if r.mode != invalid && !Identical(r.typ, t) {
		c.errorf(s.Pos(), CodeMismatch, "%s has type %s, but %v gives %s", syntax.Text(s.X), typeText(t), s.Op, typeText(r.typ))
	}
}

// at gives a synthesized expression the position of a statement.
func at(b *syntax.BinaryExpr, s *syntax.AssignStmt) *syntax.BinaryExpr {
	b.SetSpan(syntax.Span(s))
	return b
}

// lvalue sets x to a place that can be assigned to, or reports an error.
func (c *Checker) lvalue(x *operand, e syntax.Expr) {
	c.expr(x, e, nil)
	c.mustVary(x)
}

// mustVary reports an error if x cannot be assigned to.
func (c *Checker) mustVary(x *operand) {
	if x.mode == invalid || x.mode == variable {
		return
	}
	why := x.readonly
	switch {
	case why != "":
		why = ": " + why
	case x.isConst():
		why = ": it is a constant"
	}
	c.errorf(x.pos(), CodeNotVariable, "%s cannot be assigned to%s", syntax.Text(x.expr), why)
	x.invalidate()
}

func (c *Checker) returnStmt(s *syntax.ReturnStmt) {
	switch c.ctx.kind {
	case inState, inParser:
		c.errorf(s.Pos(), CodePlacement, "return cannot be used in a parser")
		return
	}
	want := c.ctx.result
	if want == nil {
		want = Void
	}
	if s.X == nil {
		if want != Void && want != Invalid {
			c.errorf(s.Pos(), CodeFlow, "return needs a value of type %s", typeText(want))
		}
		return
	}
	var x operand
	if want == Void {
		c.rawExpr(&x, s.X, nil)
		if x.mode != invalid {
			c.errorf(s.X.Pos(), CodeFlow, "nothing is returned here, but return has a value")
		}
		return
	}
	if want == Invalid {
		c.expr(&x, s.X, nil)
		return
	}
	c.exprOf(&x, s.X, want, "the result")
}

func (c *Checker) switchStmt(s *syntax.SwitchStmt) bool {
	switch c.ctx.kind {
	case inState, inParser:
		c.errorf(s.Pos(), CodePlacement, "switch cannot be used in a parser")
	}
	var x operand
	old := c.ctx.actionRun
	c.ctx.actionRun = true
	c.expr(&x, s.X, nil)
	c.ctx.actionRun = old
	run, isRun := x.typ.(*ActionRun)
	if x.mode != invalid && !isRun {
		t := base(x.typ)
		if _, ok := t.(*Enum); !isBits(t) && t != Bool && t != Error && !ok || t == Int {
			if x.typ == Int {
				c.errorf(s.X.Pos(), CodeSwitch, "%s has no width to switch on; give it one", syntax.Text(s.X))
			} else {
				c.errorf(s.X.Pos(), CodeSwitch, "switch cannot use %s", x.describe())
			}
			x.invalidate()
		}
	}
	seen := map[string]bool{}
	reached, hasDefault := false, false
	for i, sc := range s.Cases {
		if d, ok := sc.Label.(*syntax.DefaultExpr); ok {
			c.record(d, Dontcare, nil)
			if hasDefault {
				c.errorf(s.Pos(), CodeDuplicate, "switch has two default cases, the second at %v", c.rep.Set.Position(sc.Pos()))
			} else if i < len(s.Cases)-1 {
				if _, second := s.Cases[i+1].Label.(*syntax.DefaultExpr); !second {
					c.errorf(s.Cases[i+1].Pos(), CodeSwitch, "a case follows the default case, which must come last")
				}
			}
			hasDefault = true
		} else if isRun {
			c.actionLabel(sc, run.Table, seen)
		} else {
			c.valueLabel(sc, &x, seen)
		}
		if sc.Body != nil {
			c.annotations(sc.Body.Annotations)
			c.openScope()
			if c.stmts(sc.Body.Stmts) {
				reached = true
			}
			c.closeScope()
		}
	}
	if n := len(s.Cases); n > 0 && s.Cases[n-1].Body == nil {
		c.warnf(s.Cases[n-1].Pos(), CodeSwitch, "the last case has no statements")
		reached = true
	}
	return reached || !hasDefault
}

// actionLabel checks a label of switch (t.apply().action_run).
func (c *Checker) actionLabel(sc *syntax.SwitchCase, t *Table, seen map[string]bool) {
	n, ok := sc.Label.(*syntax.NameExpr)
	if !ok {
		c.errorf(sc.Label.Pos(), CodeSwitch, "a label must be the name of an action of table %s", t.Name)
		return
	}
	for _, a := range t.Actions {
		if a.Action.Name == n.Name {
			if seen[n.Name] {
				c.errorf(n.Pos(), CodeDuplicate, "action %s has two cases", n.Name)
			}
			seen[n.Name] = true
			c.record(n, &ActionRun{t}, MemberValue(n.Name))
			return
		}
	}
	names := make([]string, len(t.Actions))
	for i, a := range t.Actions {
		names[i] = a.Action.Name
	}
	c.errorf(n.Pos(), CodeSwitch, "table %s has no action %s%s", t.Name, n.Name, didYouMean(n.Name, names))
}

// valueLabel checks a label of a switch on a value.
func (c *Checker) valueLabel(sc *syntax.SwitchCase, x *operand, seen map[string]bool) {
	var y operand
	if x.mode == invalid {
		c.rawExpr(&y, sc.Label, nil)
		return
	}
	c.constExpr(&y, sc.Label, x.typ, "the label")
	if y.val == nil {
		return
	}
	key := y.val.String()
	if seen[key] {
		c.errorf(sc.Label.Pos(), CodeDuplicate, "value %s has two cases", key)
	}
	seen[key] = true
}

func (c *Checker) forStmt(s *syntax.ForStmt) {
	c.annotations(s.Annotations)
	c.openScope()
	for _, i := range s.Init {
		c.stmt(i)
	}
	var x operand
	c.exprOf(&x, s.Cond, Bool, "the condition")
	for _, u := range s.Update {
		if _, ok := u.(*syntax.DeclStmt); ok {
			c.errorf(u.Pos(), CodePlacement, "a declaration cannot be among the updates of a loop")
			continue
		}
		c.stmt(u)
	}
	c.loop(s.Body)
	c.closeScope()
}

func (c *Checker) loop(body syntax.Stmt) {
	if c.ctx.kind == inState {
		c.errorf(body.Pos(), CodePlacement, "a loop cannot be used in a parser")
	}
	c.ctx.loops++
	c.scoped(body)
	c.ctx.loops--
}

func (c *Checker) forIn(s *syntax.ForInStmt) {
	c.annotations(s.Annotations)
	t := c.varType(s.Var)
	if r, ok := s.X.(*syntax.BinaryExpr); ok && r.Op == syntax.Range {
		var x, y operand
		c.exprOf(&x, r.X, t, "the start of the range")
		c.exprOf(&y, r.Y, t, "the end of the range")
		if tb := base(t); t != Invalid && !isBits(tb) {
			c.errorf(s.Var.Pos(), CodeMismatch, "a loop over a range needs a variable of type bit<W> or int<W>, not %s", typeText(t))
			t = Invalid
		}
		c.record(r, &Set{t}, nil)
	} else {
		var x operand
		c.expr(&x, s.X, nil)
		var elem Type
		switch u := x.typ.(type) {
		case *Array:
			elem = u.Elem
		case *List:
			elem = u.Elem
		case *Tuple:
			elem = t
			for _, e := range u.Elems {
				if t != Invalid && !c.fits(e, t) {
					elem = e
				}
			}
		default:
			if x.mode != invalid {
				c.errorf(s.X.Pos(), CodeMismatch, "a loop cannot go over %s", x.describe())
			}
		}
		// As in p4c, the elements are cast to the type of the variable.
		if elem != nil && t != Invalid && !castable(&operand{mode: value, typ: elem}, t) {
			c.errorf(s.Var.Pos(), CodeMismatch, "the elements have type %s, the variable has type %s", typeText(elem), typeText(t))
		}
	}
	c.openScope()
	o := &Var{object: obj(s.Var.Name), Type: t, Decl: s.Var}
	o.used = true
	c.info.Defs[s.Var] = o
	c.declare(o)
	c.loop(s.Body)
	c.closeScope()
}
