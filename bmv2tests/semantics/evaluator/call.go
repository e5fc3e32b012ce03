// SPDX-License-Identifier: Apache-2.0

package evaluator

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// argument is an argument: an expression, or a value from the control plane or
// the architecture.
type argument struct {
	name  string // "" by position
	x     syntax.Expr
	value Value
	place place
}

func arguments(list []*syntax.Argument) []argument {
	var args []argument
	for _, a := range list {
		arg := argument{x: a.Value}
		if a.Name != nil {
			arg.name = a.Name.Name
		}
		args = append(args, arg)
	}
	return args
}

// bound is a parameter with its argument.
type bound struct {
	variable *variable // the temporary that the callee works on
	place    place     // where it is copied on return, or nil
}

// bind evaluates arguments from left to right as they appear in the call. For
// each, the l-value and the value are saved before the next is evaluated (6.8).
// Types of parameters are resolved in home, where the callee is declared.
func (f *frame) bind(params []*syntax.Param, args []argument, home, callee *frame) []bound {
	var list []bound
	given := map[string]bool{}
	for i, a := range args {
		p := params[min(i, len(params)-1)]
		for _, q := range params {
			if a.name == q.Name.Name {
				p = q
			}
		}
		given[p.Name.Name] = true
		b := f.bindOne(p, a, home)
		callee.names[p.Name.Name] = b.variable
		list = append(list, b)
	}
	for _, p := range params { // default values come next (6.8, step 2)
		if !given[p.Name.Name] {
			if p.Default == nil {
				panic(fault("parameter %s has no argument", p.Name.Name))
			}
			callee.names[p.Name.Name] = home.bindOne(p, argument{x: p.Default}, home).variable
		}
	}
	return list
}

func (f *frame) bindOne(p *syntax.Param, a argument, home *frame) bound {
	t := home.resolve(p.Type)
	if a.value != nil {
		return bound{variable: &variable{convert(a.value, t)}}
	}
	if p.Dir != syntax.DirOut && p.Dir != syntax.DirInout {
		v := a.place
		if v != nil {
			return bound{variable: &variable{v.get()}} // an extern object
		}
		return bound{variable: &variable{copyOf(convert(f.eval(a.x), t))}}
	}
	to := a.place
	if to == nil {
		if _, ok := a.x.(*syntax.DefaultExpr); ok {
			to = nowhere{t}
		} else if q, ok := f.place(a.x); ok {
			to = q
		} else {
			panic(fault("%s is no l-value", syntax.Text(a.x)))
		}
	}
	if p.Dir == syntax.DirOut {
		return bound{&variable{undefinedLike(t, to)}, to}
	}
	return bound{&variable{copyOf(to.get())}, to}
}

// undefinedLike returns the value of an out parameter at the beginning (6.8).
func undefinedLike(t Type, to place) Value {
	if _, any := t.(anyType); any {
		t = typeOfValue(to.get())
	}
	return undefined(t)
}

// invoke executes body, then copies out in order from left to right (6.8, step
// 6), also if it ends by exit (12.5).
func invoke(list []bound, body func()) {
	exited := false
	func() {
		defer func() {
			switch r := recover().(type) {
			case nil:
			case exiting:
				exited = true
			default:
				panic(r)
			}
		}()
		body()
	}()
	for _, b := range list {
		if b.place != nil {
			b.place.set(copyOf(b.variable.value))
		}
	}
	if exited {
		panic(exiting{})
	}
}

// callFunction calls a function or action.
func (f *frame) callFunction(c *callable, typeArgs []syntax.TypeExpr, args []argument) Value {
	home := c.home
	if len(c.typeParams) > 0 {
		home = home.inner()
		for i, p := range c.typeParams {
			home.names[p.Name] = anyType{}
			if i < len(typeArgs) {
				home.names[p.Name] = f.resolve(typeArgs[i])
			}
		}
	}
	callee := home.inner()
	list := f.bind(c.params, args, home, callee)
	ret := &variable{}
	callee.names[result] = ret
	var v Value
	invoke(list, func() {
		callee.block(c.body.Stmts)
		if c.result != nil && ret.value != nil {
			v = copyOf(convert(ret.value, home.resolve(c.result)))
		}
	})
	return v
}

// callControl applies a control. Its local variables are initialised anew, in
// order, each time (14.4).
func (f *frame) callControl(i *instance, d *syntax.ControlDecl, args []argument) {
	callee := f.activation(i, d.CtorParams)
	invoke(f.bind(d.Params, args, callee, callee), func() {
		for _, l := range d.Locals {
			callee.declare(l)
		}
		callee.names[result] = &variable{}
		callee.block(d.Body.Stmts)
	})
}

// activation is the frame of an instance, with its constructor's parameters.
func (f *frame) activation(i *instance, params []*syntax.Param) *frame {
	a := f.global().inner()
	a.path = i.path
	for n, p := range params {
		a.names[p.Name.Name] = constant{convert(i.args[n], a.resolve(p.Type))}
	}
	return a
}

// call evaluates a call.
func (f *frame) call(x *syntax.CallExpr) Value {
	switch fun := x.Fun.(type) {
	case *syntax.NameExpr:
		c, ok := f.lookup(fun).(*callable)
		if !ok {
			panic(fault("%s is called", fun.Name))
		}
		if c.body == nil {
			return f.callExtern(c.name, x)
		}
		return f.callFunction(c, x.TypeArgs, arguments(x.Args))
	case *syntax.MemberExpr:
		return f.callMethod(fun, x)
	}
	panic(fault("%s is called", syntax.Text(x.Fun)))
}

// callExtern calls a function of core.p4 or v1model.p4.
func (f *frame) callExtern(name string, x *syntax.CallExpr) Value {
	switch name {
	case "verify": // (13.7)
		ok := truth(f.eval(x.Args[0].Value))
		if e := f.eval(x.Args[1].Value).(Name); !ok {
			panic(reject{e.V})
		}
	case "mark_to_drop":
		p, _ := f.place(x.Args[0].Value)
		s := p.get().(*Struct)
		s.Fields[s.Type.index("egress_spec")] = wrap(&BitsType{Width: 9}, big.NewInt(dropPort))
		s.Fields[s.Type.index("mcast_grp")] = wrap(&BitsType{Width: 16}, new(big.Int))
	default:
		panic(fault("extern function %s", name))
	}
	return nil
}

// callMethod calls X.method(…).
func (f *frame) callMethod(fun *syntax.MemberExpr, x *syntax.CallExpr) Value {
	if n, ok := fun.X.(*syntax.NameExpr); ok {
		switch e := f.find(n.Name).(type) {
		case *table:
			return e.apply()
		case *instance:
			return f.applyInstance(e, x)
		case *syntax.ControlDecl: // direct invocation (15.1)
			return f.applyInstance(&instance{decl: e, path: f.path + "." + n.Name}, x)
		case *syntax.ParserDecl:
			return f.applyInstance(&instance{decl: e, path: f.path + "." + n.Name}, x)
		case *register:
			return f.callRegister(e, fun.Sel.Name, x)
		case *variable:
			switch p := e.value.(type) {
			case *packetIn:
				return f.callPacketIn(p, fun.Sel.Name, x)
			case *packetOut:
				p.emit(f.eval(x.Args[0].Value))
				return nil
			}
		}
	}
	if t, ok := fun.X.(*syntax.TypeNameExpr); ok {
		if n, ok := t.Type.(*syntax.NamedType); ok {
			if d, ok := f.find(n.Name).(syntax.Decl); ok {
				return f.applyInstance(&instance{decl: d, path: f.path + "." + n.Name}, x)
			}
		}
	}
	p, ok := f.place(fun.X)
	if !ok {
		p = &variable{f.eval(fun.X)}
	}
	switch v := p.get().(type) {
	case *Struct:
		switch fun.Sel.Name {
		case "isValid":
			if v.Type.Kind != syntax.HeaderUnion {
				return v.Valid
			}
			any := Bool{} // (8.19)
			for _, m := range v.Fields {
				any = Bool{V: any.V || m.(*Struct).Valid.V, Undefined: any.Undefined || m.(*Struct).Valid.Undefined}
			}
			return any
		case "setValid", "setInvalid":
			setValidity(p, fun.Sel.Name == "setValid")
			return nil
		}
	case *Stack:
		v.shift(fun.Sel.Name, int(known(f.eval(x.Args[0].Value)).Int64()))
		return nil
	}
	panic(fault("method %s", fun.Sel.Name))
}

// shift is push_front and pop_front, as the pseudocode of 8.18 has them.
func (s *Stack) shift(method string, count int) {
	size := s.Type.Size
	switch method {
	case "push_front":
		for i := size - 1; i >= 0; i-- {
			if i >= count {
				s.Elems[i] = copyOf(s.Elems[i-count])
			} else {
				s.Elems[i] = undefined(s.Type.Elem)
			}
		}
		s.Next = min(s.Next+count, size)
	case "pop_front":
		for i := range size {
			if i+count < size {
				s.Elems[i] = copyOf(s.Elems[i+count])
			} else {
				s.Elems[i] = undefined(s.Type.Elem)
			}
		}
		s.Next = max(s.Next-count, 0)
	default:
		panic(fault("method %s of a stack", method))
	}
}

func (f *frame) applyInstance(i *instance, x *syntax.CallExpr) Value {
	switch d := i.decl.(type) {
	case *syntax.ControlDecl:
		f.callControl(i, d, arguments(x.Args))
	case *syntax.ParserDecl:
		f.callParser(i, d, arguments(x.Args))
	}
	return nil
}

// callRegister is read and write of v1model's register, whose cells are zero at
// first. Indices out of range are not specified.
func (f *frame) callRegister(r *register, method string, x *syntax.CallExpr) Value {
	cells := f.run.program.cells
	if cells[r.path] == nil {
		cells[r.path] = make([]Value, r.size)
	}
	at := func(i *big.Int) *Value {
		if i.Cmp(big.NewInt(int64(r.size))) >= 0 {
			panic(unspecified("a register's index is out of range"))
		}
		c := &cells[r.path][i.Int64()]
		if *c == nil {
			*c = zero(r.elem)
		}
		return c
	}
	if method == "read" {
		to, _ := f.place(x.Args[0].Value)
		to.set(*at(known(f.eval(x.Args[1].Value))))
		return nil
	}
	i := known(f.eval(x.Args[0].Value))
	v := convert(f.eval(x.Args[1].Value), r.elem)
	*at(i) = v
	return nil
}
