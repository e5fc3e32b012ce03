// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"slices"
	"strconv"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

func (l *lowerer) forStmt(s *syntax.ForStmt) {
	if l.parser != nil {
		l.unsupported(s, "a loop cannot be used in a parser")
	}
	for _, i := range s.Init {
		l.stmt(i)
	}
	l.runLoop(func(to loop) { l.loopBody(s.Body, to) }, func() ir.Expr { return l.scalarOf(s.Cond) }, func() {
		for _, u := range s.Update {
			l.stmt(u)
		}
	})
}

// runLoop lowers a loop with the given condition, body and update.
func (l *lowerer) runLoop(body func(to loop), cond func() ir.Expr, update func()) {
	loopStmt := &ir.Loop{Base: l.at()}
	var c ir.Expr
	loopStmt.Before, _ = l.collect(func() { c = cond() })
	if k, ok := c.(*ir.Const); ok && !isTrue(k) && len(loopStmt.Before) == 0 {
		return
	}
	loopStmt.Cond = c
	l.labelled("loop", func(brk *label) {
		loopStmt.Body, _ = l.collect(func() {
			l.labelled("next", func(cont *label) {
				body(loop{brk, cont})
			})
		})
		loopStmt.Update, _ = l.collect(update)
		loopStmt.Break = brk.ir
		l.emit(loopStmt)
	})
}

// forIn lowers a loop over a range to one that counts, and one over a list or
// stack to one body for each element.
func (l *lowerer) forIn(s *syntax.ForInStmt) {
	o := l.info.Defs[s.Var].(*types.Var)
	t := l.substitute(o.Type)
	if r, ok := s.X.(*syntax.BinaryExpr); ok && r.Op == syntax.Range {
		lo := l.keepScalar(l.scalarTo(r.X, t), []syntax.Expr{r.Y})
		l.forRange(s, o, t, lo, l.scalarTo(r.Y, t))
		return
	}
	v := l.expr(s.X)
	list := l.parts(v)
	if list == nil {
		if len(l.parts(l.convert(v, t))) == 0 {
			if a, ok := v.(aggregate); !ok || len(a.elems) > 0 {
				l.unsupported(s.X, "a loop over %s is not supported on this target", syntax.Text(s.X))
			}
		}
	}
	list = slices.Clone(list)
	written := l.writtenIn(s.Body)
	for i, e := range list { // the loop does not see later changes
		if written.places.meets(l.placesOf(e)) {
			list[i] = l.copyOf(e)
		}
	}
	l.labelled("loop", func(brk *label) {
		for i, e := range list {
			l.labelled("next"+strconv.Itoa(i), func(cont *label) {
				if e = l.castTo(e, t); written.objects[o] {
					own := l.temp(t, o.ObjName())
					l.assign(own, e)
					e = own
				}
				l.frame.vals[o] = e
				l.loopBody(s.Body, loop{brk, cont})
			})
		}
	})
}

// castTo casts a value to type t.
func (l *lowerer) castTo(v value, t types.Type) value {
	it, simple := irType(t)
	if s, ok := v.(scalar); ok && simple {
		return scalar{mkCast(it, s.x)}
	}
	return l.convert(v, t)
}

func (l *lowerer) loopBody(body syntax.Stmt, to loop) {
	l.frame.loops = append(l.frame.loops, to)
	l.stmt(body)
	l.frame.loops = l.frame.loops[:len(l.frame.loops)-1]
}

// forRange lowers for (v in lo .. hi). The end is part of the range, and may
// be the largest number there is. If the body assigns to v, another variable
// counts.
func (l *lowerer) forRange(s *syntax.ForInStmt, o *types.Var, t types.Type, lo, hi ir.Expr) {
	i := l.temp(t, o.ObjName()).(scalar)
	hi = l.copyOf(scalar{hi}).(scalar).x
	l.move(i, scalar{lo})
	v := i
	if l.writtenIn(s.Body).objects[o] {
		v = l.temp(t, o.ObjName()).(scalar)
	}
	l.frame.vals[o] = v
	again := l.tempVar(ir.BoolType, "more")
	l.move(scalar{again}, scalar{mkBinary(syntax.LessEqual, i.x, hi)})
	l.runLoop(func(to loop) {
		l.move(v, i)
		l.loopBody(s.Body, to)
	}, func() ir.Expr { return again }, func() {
		l.move(scalar{again}, scalar{mkBinary(syntax.Less, i.x, hi)})
		step := &ir.Const{T: i.x.Type(), Val: bitConst(8, 1).Val}
		l.move(i, scalar{mkBinary(syntax.Plus, i.x, step)})
	})
}

// written is what statements assign to.
type written struct {
	objects map[types.Object]bool // variables that they name
	places  *places               // of objects that are declared outside of them
}

// writtenIn returns what a statement assigns to, without lowering it.
func (l *lowerer) writtenIn(s syntax.Stmt) written {
	w := written{map[types.Object]bool{}, newPlaces()}
	syntax.WalkStmts(s, func(s syntax.Stmt) {
		if a, ok := s.(*syntax.AssignStmt); ok {
			w.add(l, a.X)
		}
	})
	syntax.WalkStmt(s, func(e syntax.Expr) bool {
		if c, ok := e.(*syntax.CallExpr); ok {
			w.call(l, c)
		}
		return true
	})
	return w
}

// call adds what a call assigns to.
func (w *written) call(l *lowerer, e *syntax.CallExpr) {
	c := l.info.Call(e)
	if c == nil {
		return
	}
	for i, p := range c.Params {
		if p.Dir >= syntax.DirOut && c.Args[i] != nil {
			w.add(l, c.Args[i])
		}
	}
	switch c.Kind {
	case types.CallBuiltin:
		w.add(l, c.Recv)
	case types.CallAction:
		for o := range l.objectsIn(c.Action.Decl.Body) {
			w.places.add(l.frame.lookup(o))
		}
	case types.CallApply:
		if _, ok := l.info.TypeOf(c.Recv).(*types.Table); ok {
			w.places.all = true
		}
	}
}

// add adds the place of e, or a larger one.
func (w *written) add(l *lowerer, e syntax.Expr) {
	root := e
	for {
		switch x := root.(type) {
		case *syntax.MemberExpr:
			root = x.X
			continue
		case *syntax.IndexExpr:
			root = x.X
			continue
		case *syntax.SliceExpr:
			root = x.X
			continue
		case *syntax.NameExpr:
			w.objects[l.info.Use(x)] = true
		}
		break
	}
	w.places.add(l.around(e))
}

// around returns the place that e denotes, or a larger one, without emitting
// statements. It returns nil if e is declared in code that is not lowered yet.
func (l *lowerer) around(e syntax.Expr) value {
	switch e := e.(type) {
	case *syntax.MemberExpr:
		switch v := l.around(e.X).(type) {
		case aggregate, header, union:
			return l.member(e, v)
		default:
			return v
		}
	case *syntax.IndexExpr:
		return l.around(e.X)
	case *syntax.SliceExpr:
		return l.around(e.X)
	case *syntax.NameExpr:
		return l.frame.lookup(l.info.Use(e))
	}
	return nil
}
