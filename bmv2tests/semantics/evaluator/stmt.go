// SPDX-License-Identifier: Apache-2.0

package evaluator

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// outcome is how a statement ends.
type outcome int

const (
	done outcome = iota
	returned
	broken
	continued
)

// exiting is the panic of an exit statement: it also ends the expressions in
// whose evaluation it is executed (12.5).
type exiting struct{}

// block executes statements in a scope of their own (12.3).
func (f *frame) block(list []syntax.Stmt) outcome {
	inner := f.inner()
	for _, s := range list {
		if o := inner.exec(s); o != done {
			return o
		}
	}
	return done
}

// result is where the value of a return statement goes.
const result = "return"

// exec executes a statement.
func (f *frame) exec(s syntax.Stmt) outcome {
	f.step()
	switch s := s.(type) {
	case *syntax.DeclStmt:
		f.declare(s.Decl)
	case *syntax.EmptyStmt:
	case *syntax.AssignStmt:
		f.assign(s)
	case *syntax.CallStmt:
		f.call(s.Call)
	case *syntax.BlockStmt:
		return f.block(s.Stmts)
	case *syntax.IfStmt: // (12.6)
		switch {
		case truth(f.eval(s.Cond)):
			return f.block([]syntax.Stmt{s.Then})
		case s.Else != nil:
			return f.block([]syntax.Stmt{s.Else})
		}
	case *syntax.SwitchStmt:
		return f.switchOn(s)
	case *syntax.ForStmt:
		return f.loop(s)
	case *syntax.ForInStmt:
		return f.loopIn(s)
	case *syntax.ReturnStmt: // (12.4)
		if s.X != nil {
			f.find(result).(*variable).value = f.eval(s.X)
		}
		return returned
	case *syntax.ExitStmt:
		panic(exiting{})
	case *syntax.BreakStmt:
		return broken
	case *syntax.ContinueStmt:
		return continued
	default:
		panic(fault("a %T is executed", s))
	}
	return done
}

// assign evaluates the left side to an l-value, then the right side, then
// copies. X op= Y is X = X op Y with X evaluated once (12.1).
func (f *frame) assign(s *syntax.AssignStmt) {
	p, ok := f.place(s.X)
	if !ok {
		panic(fault("%s is no l-value", syntax.Text(s.X)))
	}
	old := copyOf(p.get())
	v := f.eval(s.Y)
	if s.Op != syntax.Assign {
		v = operate(s.Op.BinaryOf(), old, v)
	}
	p.set(copyOf(convert(v, typeOfValue(old))))
}

// typeOfValue returns the type of a stored value.
func typeOfValue(v Value) Type {
	switch v := v.(type) {
	case Bits:
		return v.Type
	case Bool:
		return BoolType{}
	case Int:
		return IntType{}
	case Name:
		return v.Type
	case Enum:
		return v.Type
	case *Struct:
		return v.Type
	case *Stack:
		return v.Type
	case Varbit:
		return v.Type
	}
	panic(fault("a %T is stored", v))
}

// switchOn executes a switch statement. A label without a block falls through
// to the next one that has a block (12.7).
func (f *frame) switchOn(s *syntax.SwitchStmt) outcome {
	v := f.eval(s.X)
	match := func(label syntax.Expr) bool {
		if _, ok := label.(*syntax.DefaultExpr); ok {
			return true // it is the last one
		}
		if a, ok := v.(Applied); ok { // (12.7.1)
			n, ok := label.(*syntax.NameExpr)
			return ok && n.Name == a.Action
		}
		a, b := alike(v, f.eval(label))
		return truth(equal(a, b))
	}
	for i, c := range s.Cases {
		if !match(c.Label) {
			continue
		}
		for ; i < len(s.Cases); i++ {
			if s.Cases[i].Body != nil {
				return f.block([]syntax.Stmt{s.Cases[i].Body})
			}
		}
		return done
	}
	return done
}

// loop executes for (init; condition; update) body (12.8).
func (f *frame) loop(s *syntax.ForStmt) outcome {
	inner := f.inner()
	for _, i := range s.Init {
		inner.exec(i)
	}
	for truth(inner.eval(s.Cond)) {
		switch o := inner.block([]syntax.Stmt{s.Body}); o {
		case broken:
			return done
		case returned:
			return o
		}
		for _, u := range s.Update {
			inner.exec(u)
		}
	}
	return done
}

// loopIn executes for (v in collection) body. The collection is evaluated once
// (12.8).
func (f *frame) loopIn(s *syntax.ForInStmt) outcome {
	t := f.resolve(s.Var.Type)
	var list []Value
	if r, ok := s.X.(*syntax.BinaryExpr); ok && r.Op == syntax.Range {
		low, high := f.eval(r.X), f.eval(r.Y)
		for i := new(big.Int).Set(known(low)); i.Cmp(known(high)) <= 0; i = new(big.Int).Add(i, big.NewInt(1)) {
			list = append(list, wrap(t.(*BitsType), i))
			f.step()
		}
	} else {
		switch v := f.eval(s.X).(type) {
		case *List:
			list = v.Elems
		case *Stack:
			list = v.Elems
		}
	}
	for _, v := range list {
		inner := f.inner()
		inner.names[s.Var.Name.Name] = &variable{copyOf(convert(v, t))}
		switch o := inner.block([]syntax.Stmt{s.Body}); o {
		case broken:
			return done
		case returned:
			return o
		}
	}
	return done
}
