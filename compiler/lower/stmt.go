// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// stmtList lowers statements in order.
func (l *lowerer) stmtList(list []syntax.Stmt) {
	for _, s := range list {
		if l.dead {
			return
		}
		l.stmt(s)
	}
}

func (l *lowerer) stmt(s syntax.Stmt) {
	span := l.span
	l.span = syntax.Span(s)
	defer func() { l.span = span }()
	switch s := s.(type) {
	case *syntax.DeclStmt:
		l.localDecl(s.Decl)
	case *syntax.EmptyStmt:
	case *syntax.AssignStmt:
		l.assignment(s)
	case *syntax.CallStmt:
		l.call(s.Call)
	case *syntax.BlockStmt:
		l.stmtList(s.Stmts)
	case *syntax.IfStmt:
		l.ifStmt(s)
	case *syntax.SwitchStmt:
		l.switchStmt(s)
	case *syntax.ForStmt:
		l.forStmt(s)
	case *syntax.ForInStmt:
		l.forIn(s)
	case *syntax.ReturnStmt:
		l.returnStmt(s)
	case *syntax.ExitStmt:
		l.copyAllOut()
		l.emit(&ir.Exit{Base: l.at()})
		l.dead = true
	case *syntax.BreakStmt:
		l.leave(l.loop().brk)
	case *syntax.ContinueStmt:
		l.leave(l.loop().cont)
	default:
		l.unsupported(s, "this statement is not supported on this target")
	}
}

func (l *lowerer) loop() loop {
	for f := l.frame; f != nil; f = f.parent {
		if n := len(f.loops); n > 0 {
			return f.loops[n-1]
		}
	}
	panic("BUG: no loop")
}

// localDecl lowers a declaration among statements or before them.
func (l *lowerer) localDecl(d syntax.Decl) {
	switch d := d.(type) {
	case *syntax.VarDecl:
		o := l.info.Defs[d].(*types.Var)
		p := l.temp(l.substitute(o.Type), o.ObjName())
		l.frame.vals[o] = p
		if d.Init != nil {
			l.assign(p, l.exprTo(d.Init, l.substitute(o.Type)))
		} else {
			l.invalidate(p)
		}
	case *syntax.ConstDecl:
		// its value is looked up where it is used
	case *syntax.InstanceDecl:
		l.unsupported(d, "an instance among statements is not supported")
	}
}

// invalidate makes the headers in a new place invalid: the code may be run
// again.
func (l *lowerer) invalidate(v value) {
	switch v := v.(type) {
	case header:
		l.emit(&ir.SetValid{Base: l.at(), Header: v.ref})
	case aggregate:
		for _, e := range v.elems {
			l.invalidate(e)
		}
	case stack:
		for _, e := range l.parts(v) {
			l.invalidate(e)
		}
		if l.parser != nil { // the next element to extract is the first
			l.emit(&ir.Pop{Base: l.at(), Stack: v.s, N: len(v.s.Elems)})
		}
	case unionStack:
		for _, e := range l.parts(v) {
			l.invalidate(e)
		}
		if l.parser != nil {
			l.emit(&ir.Pop{Base: l.at(), Union: v.s, N: len(v.s.Elems)})
		}
	case union:
		for _, h := range v.u.Members {
			l.emit(&ir.SetValid{Base: l.at(), Header: h})
		}
	}
}

func (l *lowerer) assignment(s *syntax.AssignStmt) {
	t := l.typeOf(s.X)
	dst := l.lvalue(s.X)
	if l.hasEffects(s.Y) {
		dst = l.fixed(dst)
	}
	if s.Op == syntax.Assign {
		l.assign(dst, l.exprTo(s.Y, t))
		return
	}
	x := l.keep(l.load(dst), []syntax.Expr{s.Y})
	v := l.operate(s, s.Op.BinaryOf(), x, l.expr(s.Y))
	l.assign(dst, l.convert(v, t))
}

func (l *lowerer) ifStmt(s *syntax.IfStmt) {
	els := func() {
		if s.Else != nil {
			l.stmt(s.Else)
		}
	}
	then := func() { l.stmt(s.Then) }
	// if (t.apply().hit) needs no variable.
	cond, not := s.Cond, false
	for {
		u, ok := cond.(*syntax.UnaryExpr)
		if !ok || u.Op != syntax.Not {
			break
		}
		cond, not = u.X, !not
	}
	if m, ok := cond.(*syntax.MemberExpr); ok && l.parser == nil {
		if call, ok := m.X.(*syntax.CallExpr); ok {
			if _, ok := l.info.TypeOf(call).(*types.ApplyResult); ok {
				if (m.Sel.Name == "hit") == not {
					then, els = els, then
				}
				l.applyTable(call, then, els)
				return
			}
		}
	}
	l.ifElse(l.scalarOf(s.Cond), syntax.Span(s.Cond), then, els)
}

// ifElse lowers a choice. Els may be nil.
func (l *lowerer) ifElse(cond ir.Expr, span source.Span, then, els func()) {
	if els == nil {
		els = func() {}
	}
	if c, ok := cond.(*ir.Const); ok {
		if isTrue(c) {
			then()
		} else {
			els()
		}
		return
	}
	if l.dead {
		return
	}
	if l.parser != nil {
		l.parserIf(cond, span, then, els)
		return
	}
	yes, r1 := l.collect(then)
	no, r2 := l.collect(els)
	if len(yes) > 0 || len(no) > 0 {
		l.emit(&ir.If{Base: l.at(), Cond: cond, Then: yes, Else: no, CondSpan: span})
	}
	l.dead = !r1 && !r2
}

// label is where leave goes.
type label struct {
	ir    *ir.Label
	state *ir.State // in a parser
}

// labelled runs do, in which leave jumps to the end of the code that do emits.
func (l *lowerer) labelled(name string, do func(to *label)) {
	if l.dead {
		return
	}
	to := &label{ir: &ir.Label{Name: l.unique("label " + name)[len("label "):]}}
	if l.parser != nil {
		to.state = l.parser.newState(l, name)
		do(to)
		if !l.dead {
			l.parser.state.Next = to.state
		}
		if to.ir.Used || !l.dead {
			l.parser.state = to.state
			l.dead = false
		}
		return
	}
	body, reached := l.collect(func() { do(to) })
	if !to.ir.Used {
		for _, s := range body {
			l.emit(s)
		}
		l.dead = !reached
		return
	}
	body = dropLastLeave(body, to.ir)
	l.emit(&ir.Block{Base: l.at(), Label: to.ir, Body: body})
}

// dropLastLeave removes a trailing jump to the label that follows.
func dropLastLeave(list []ir.Stmt, to *ir.Label) []ir.Stmt {
	if n := len(list); n > 0 {
		switch s := list[n-1].(type) {
		case *ir.Leave:
			if s.Label == to {
				return list[:n-1]
			}
		case *ir.If:
			s.Then = dropLastLeave(s.Then, to)
			s.Else = dropLastLeave(s.Else, to)
		}
	}
	return list
}

// leave goes to a label.
func (l *lowerer) leave(to *label) {
	if l.dead {
		return
	}
	to.ir.Used = true
	if l.parser != nil {
		l.parser.state.Next = to.state
	} else {
		l.emit(&ir.Leave{Base: l.at(), Label: to.ir})
	}
	l.dead = true
}

func (l *lowerer) returnStmt(s *syntax.ReturnStmt) {
	f := l.frame
	for f.ret == nil {
		f = f.parent
	}
	if s.X != nil {
		if f.ret.result != nil {
			l.assign(f.ret.result, l.exprTo(s.X, f.ret.t))
		} else {
			l.expr(s.X)
		}
	}
	l.leave(f.ret.label)
}

func (l *lowerer) switchStmt(s *syntax.SwitchStmt) {
	if m, ok := s.X.(*syntax.MemberExpr); ok && m.Sel.Name == "action_run" {
		if call, ok := m.X.(*syntax.CallExpr); ok {
			l.switchAction(s, call)
			return
		}
	}
	t := l.typeOf(s.X)
	x := l.scalarTo(s.X, t)
	if _, ok := x.(*ir.Const); !ok && !isPlace(x) {
		x = l.copyOf(scalar{x}).(scalar).x
	} else if isPlace(x) {
		x = l.copyOf(scalar{x}).(scalar).x // a case may change it
	}
	l.switchCases(s, s.Cases, x, t)
}

// switchCases lowers cases to a chain of choices.
func (l *lowerer) switchCases(s *syntax.SwitchStmt, cases []*syntax.SwitchCase, x ir.Expr, t types.Type) {
	if len(cases) == 0 {
		return
	}
	n := 0
	for n < len(cases)-1 && cases[n].Body == nil {
		n++
	}
	var cond ir.Expr = boolConst(false)
	for _, c := range cases[:n+1] {
		if _, ok := c.Label.(*syntax.DefaultExpr); ok {
			cond = boolConst(true)
			break
		}
		cond = mkBinary(syntax.OrOr, cond, mkBinary(syntax.Equal, x, l.scalarTo(c.Label, t)))
	}
	l.ifElse(cond, syntax.Span(cases[n].Label), func() {
		if cases[n].Body != nil {
			l.stmt(cases[n].Body)
		}
	}, func() { l.switchCases(s, cases[n+1:], x, t) })
}
