// SPDX-License-Identifier: Apache-2.0

package types

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// call sets x to the result of a call.
func (c *Checker) call(x *operand, e *syntax.CallExpr, want Type) {
	run := c.ctx.actionRun
	c.ctx.actionRun = false
	defer func() { c.ctx.actionRun = run }()
	var f operand
	c.calling = e.Fun
	c.rawExpr(&f, e.Fun, nil)
	call := &Call{}
	switch f.mode {
	case invalid:
		c.skipArgs(e.Args)
		return
	case typexpr:
		c.construct(x, e, call, f.typ)
	case thing:
		switch t := f.typ.(type) {
		case *method:
			c.callFunc(x, e, call, t, want)
		case *builtin:
			c.callBuiltin(x, e, call, t.name)
		case *Action:
			c.callAction(x, e, call, t)
		default:
			c.errorf(e.Pos(), CodeCall, "%s cannot be called", f.describe())
			c.skipArgs(e.Args)
			return
		}
	default:
		c.errorf(e.Pos(), CodeCall, "%s cannot be called", f.describe())
		c.skipArgs(e.Args)
		return
	}
	if x.mode != invalid {
		c.info.calls[e.ID()] = call
		c.placement(e, call)
	}
}

// skipArgs checks the arguments of an invalid call, so that their own errors
// are reported.
func (c *Checker) skipArgs(args []*syntax.Argument) {
	for _, a := range args {
		var x operand
		c.rawExpr(&x, a.Value, nil)
	}
}

// noTypeArgs reports type arguments of a call that takes none.
func (c *Checker) noTypeArgs(e *syntax.CallExpr) bool {
	if len(e.TypeArgs) > 0 {
		c.errorf(e.Pos(), CodeTypeArgs, "%s takes no type arguments", syntax.Text(e.Fun))
		return false
	}
	return true
}

// placement reports calls that the language forbids at their place (language
// spec, appendix "Restrictions on compile time and run time calls").
func (c *Checker) placement(e *syntax.CallExpr, call *Call) {
	bad := func(format string, args ...any) {
		c.errorf(e.Pos(), CodePlacement, format, args...)
	}
	k := c.ctx.kind
	if c.ctx.inCase && call.Kind != CallBuiltin {
		bad("a case of select cannot call %s; call it before, and compare with a variable", syntax.Text(e.Fun))
		return
	}
	switch call.Kind {
	case CallApply, CallDirect:
		what := "a table"
		kind := BlockKind(PackageBlock)
		if call.Block != nil {
			kind = call.Block.Kind
			what = "a " + kind.String()
		}
		switch {
		case k == inAction:
			bad("%s cannot be applied in an action", what)
		case k == inFunction || k == inMethod:
			bad("%s cannot be applied in a function", what)
		case kind == ParserBlock && k != inState:
			bad("a parser can only be applied in a parser")
		case kind != ParserBlock && k == inState:
			bad("%s cannot be applied in a parser", what)
		case k == atTop || k == inControl && what != "a table" || k == inParser:
			bad("%s cannot be applied in a declaration", what)
		}
	case CallAction:
		if k == inState || k == inParser {
			bad("an action cannot be called in a parser")
		}
		if k == inFunction || k == inMethod {
			bad("an action cannot be called in a function")
		}
	}
}

// callBuiltin sets x to the result of a method that is built into a type.
func (c *Checker) callBuiltin(x *operand, e *syntax.CallExpr, call *Call, name string) {
	recv := e.Fun.(*syntax.MemberExpr).X
	t := c.info.types[recv.ID()]
	call.Recv, call.Name = recv, name
	if !c.noTypeArgs(e) {
		return
	}
	switch name {
	case "apply":
		switch t := t.(type) {
		case *Table:
			call.Kind = CallApply
			if len(e.Args) > 0 {
				c.errorf(e.Args[0].Pos(), CodeArgument, "apply of a table takes no arguments")
				return
			}
			x.set(value, &ApplyResult{t}, nil)
		case *Block:
			call.Kind, call.Block = CallApply, t
			c.applyBlock(x, e, call, t)
		}
		return
	case "direct apply":
		b := t.(*Block)
		call.Kind, call.Block = CallDirect, b
		if !b.HasBody {
			c.errorf(e.Pos(), CodePlacement, "%s has no body and cannot be applied", typeText(b))
			return
		}
		if len(b.CtorParams) > 0 {
			c.errorf(e.Pos(), CodePlacement, "%s has constructor parameters; declare an instance and apply that", typeText(b))
			return
		}
		c.applyBlock(x, e, call, b)
		return
	}
	call.Kind = CallBuiltin
	switch name {
	case "isValid":
		x.set(value, Bool, nil)
	case "setValid", "setInvalid":
		x.set(novalue, Void, nil)
	case "push_front", "pop_front":
		if len(e.Args) != 1 {
			c.errorf(e.Pos(), CodeArgument, "%s takes one argument", name)
			x.invalidate()
			return
		}
		n, ok := c.size(e.Args[0].Value, "the count")
		if ok && n < 0 {
			c.errorf(e.Args[0].Pos(), CodeOutOfRange, "the count %d is negative", n)
			return
		}
		if !ok {
			return
		}
		call.Args = []syntax.Expr{e.Args[0].Value}
		x.set(novalue, Void, nil)
		return
	case "minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes":
		width := Width
		if name[1] == 'i' {
			width = minWidth
		}
		n, ok := width(t)
		if !ok {
			c.errorf(e.Pos(), CodeMismatch, "%s has no size in bits", typeText(t))
			return
		}
		if name[len(name)-2] == 'e' {
			n = (n + 7) / 8
		}
		x.set(constant, Int, makeInt(int64(n)))
	}
	if len(e.Args) > 0 {
		c.errorf(e.Args[0].Pos(), CodeArgument, "%s takes no arguments", name)
		x.invalidate()
	}
}

func (c *Checker) applyBlock(x *operand, e *syntax.CallExpr, call *Call, b *Block) {
	if !c.matchArgs(e, call, b.Params, b.Name) {
		return
	}
	x.set(novalue, Void, nil)
	for i, p := range call.Params {
		if !c.argument(call.Args[i], p, p.Type, ofControl) {
			x.mode = invalid
		}
	}
	if x.mode == invalid {
		x.invalidate()
	}
}

// callAction sets x to the call of an action in statements.
func (c *Checker) callAction(x *operand, e *syntax.CallExpr, call *Call, a *Action) {
	call.Kind, call.Action = CallAction, a
	if !c.noTypeArgs(e) || !c.matchArgs(e, call, a.Params, a.Name) {
		return
	}
	x.set(novalue, Void, nil)
	for i, p := range call.Params {
		if !c.argument(call.Args[i], p, p.Type, ofAction) {
			x.mode = invalid
		}
	}
	if x.mode == invalid {
		x.invalidate()
	}
}

// matchArgs sorts the arguments of a call by parameter.
func (c *Checker) matchArgs(e *syntax.CallExpr, call *Call, params []*Param, name string) bool {
	list, ok := c.orderArgs(e.Args, params, name, e.Pos())
	if !ok {
		c.skipArgs(e.Args)
		return false
	}
	call.Params, call.Args = params, list
	return true
}

// orderArgs returns the arguments in the order of the parameters, with nil for
// missing ones.
func (c *Checker) orderArgs(args []*syntax.Argument, params []*Param, name string, pos source.Pos) ([]syntax.Expr, bool) {
	list := make([]syntax.Expr, len(params))
	named := len(args) > 0 && args[0].Name != nil
	for i, a := range args {
		if named != (a.Name != nil) {
			c.errorf(a.Pos(), CodeArgument, "either all arguments have names or none")
			return nil, false
		}
		k := i
		if named {
			k = paramIndex(params, a.Name.Name)
			if k < 0 {
				c.errorf(a.Pos(), CodeArgument, "%s has no parameter %s%s", name, a.Name.Name, didYouMean(a.Name.Name, paramNames(params)))
				return nil, false
			}
			if list[k] != nil {
				c.errorf(a.Pos(), CodeArgument, "parameter %s has two arguments", a.Name.Name)
				return nil, false
			}
		} else if k >= len(params) {
			c.errorf(a.Pos(), CodeArgument, "%s takes %d arguments, not %d", name, len(params), len(args))
			return nil, false
		}
		list[k] = a.Value
	}
	for i, p := range params {
		if list[i] == nil && p.Default == nil && !p.Optional {
			c.errorf(pos, CodeArgument, "%s needs an argument for parameter %s", name, p.Name)
			return nil, false
		}
	}
	return list, true
}

func paramIndex(params []*Param, name string) int {
	for i, p := range params {
		if p.Name == name {
			return i
		}
	}
	return -1
}

func paramNames(params []*Param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return names
}

// argument checks an argument, which may be nil, for parameter p of type t.
func (c *Checker) argument(e syntax.Expr, p *Param, t Type, of paramOwner) bool {
	if e == nil {
		return true
	}
	var x operand
	c.rawExpr(&x, e, t)
	return c.argumentIs(&x, p, t, of)
}

// argumentIs checks the argument x for parameter p of type t.
func (c *Checker) argumentIs(x *operand, p *Param, t Type, of paramOwner) bool {
	e := x.expr
	if x.typ == Dontcare && x.mode != invalid {
		if p.Dir != syntax.DirOut && !p.Optional && of != ofPackage && of != ofCtor {
			c.errorf(e.Pos(), CodeArgument, "parameter %s has %s, and only one with direction out can be _", p.Name, dirText(p.Dir))
			return false
		}
		return true
	}
	if b, ok := t.(*Block); ok {
		return c.conforms(x, b, p)
	}
	c.hasValue(x)
	switch p.Dir {
	case syntax.DirOut, syntax.DirInout:
		c.mustVary(x)
		if x.mode == invalid {
			return false
		}
		if !Identical(x.typ, t) {
			c.errorf(e.Pos(), CodeMismatch, "parameter %s has type %s, but %s has type %s", p.Name, typeText(t), syntax.Text(e), typeText(x.typ))
			return false
		}
		return true
	}
	c.assign(x, t, "parameter "+p.Name)
	if x.mode == invalid {
		return false
	}
	if p.Dir == syntax.NoDirection && of != ofAction && of != ofMethod && !x.isConst() && !isObject(x.typ) {
		c.errorf(e.Pos(), CodeNotConstant, "parameter %s must be known at compile time, %s is not", p.Name, syntax.Text(e))
		return false
	}
	return true
}

// callFunc sets x to the result of a function or method.
func (c *Checker) callFunc(x *operand, e *syntax.CallExpr, call *Call, m *method, want Type) {
	call.Kind = CallFunction
	if m.typ != nil {
		call.Kind, call.Recv, call.Extern = CallMethod, m.recv, m.typ.(*Extern)
	}
	f := c.overload(e, m.funcs, m.name)
	if f == nil {
		return
	}
	call.Func = f
	if !c.matchArgs(e, call, f.Params, m.name) {
		return
	}
	s, ok := c.infer(e, f.TypeParams, e.TypeArgs, f.Name)
	if !ok {
		c.skipArgs(e.Args)
		return
	}
	of := ofFunction
	if f.Decl.Extern || f.Owner != nil {
		of = ofMethod
	}
	if !c.checkArgs(e, call, f.TypeParams, s, of, f.Result, want) {
		return
	}
	for _, p := range f.TypeParams {
		call.TypeArgs = append(call.TypeArgs, s[p])
	}
	if !c.coreCall(e, call, s) {
		return
	}
	c.deprecated(e.Pos(), f.Decl.Annotations, f.Name)
	t := c.apply(s, f.Result)
	if TooLarge(t) {
		c.errorf(e.Pos(), CodeTooLarge, "the result of %s has more than %d fields", f.Name, maxLeaves)
		t = Invalid
	}
	if t == Void {
		x.set(novalue, Void, nil)
		return
	}
	x.set(value, t, nil)
	if f.Name == "static_assert" && f.Decl.Extern {
		c.staticAssert(x, e, call)
	}
}

// overload selects the function by the number and names of the arguments.
func (c *Checker) overload(e *syntax.CallExpr, list []*Func, name string) *Func {
	if len(list) == 1 {
		return list[0]
	}
	var found []*Func
	for _, f := range list {
		ctor := f.Decl.Result == nil
		if takes(f, e.Args) && (ctor || len(e.TypeArgs) == 0 || len(e.TypeArgs) == len(f.TypeParams)) {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 1:
		return found[0]
	case len(found) == 0:
		c.errorf(e.Pos(), CodeArgument, "no %s takes these %d arguments", name, len(e.Args))
	default:
		c.errorf(e.Pos(), CodeArgument, "several %s take these %d arguments; name the arguments", name, len(e.Args))
	}
	c.skipArgs(e.Args)
	return nil
}

// takes reports whether f accepts arguments of this number and these names.
func takes(f *Func, args []*syntax.Argument) bool {
	if len(args) > len(f.Params) {
		return false
	}
	given := make([]bool, len(f.Params))
	for i, a := range args {
		if a.Name != nil {
			i = paramIndex(f.Params, a.Name.Name)
		}
		if i < 0 || given[i] {
			return false
		}
		given[i] = true
	}
	for i, p := range f.Params {
		if !given[i] && p.Default == nil && !p.Optional {
			return false
		}
	}
	return true
}

// construct sets x to an instance of t.
func (c *Checker) construct(x *operand, e *syntax.CallExpr, call *Call, t Type) {
	call.Kind = CallConstructor
	c.info.types[e.Fun.ID()] = t
	switch t := t.(type) {
	case *Extern:
		if t.origin == nil && len(t.TypeParams) == 0 && len(e.TypeArgs) > 0 {
			c.noTypeArgs(e)
			c.skipArgs(e.Args)
			return
		}
		c.constructExtern(x, e, call, t)
	case *Block:
		c.constructBlock(x, e, call, t)
	default:
		c.errorf(e.Pos(), CodeCall, "%s has no constructor", typeText(t))
		c.skipArgs(e.Args)
	}
}

func (c *Checker) constructExtern(x *operand, e *syntax.CallExpr, call *Call, t *Extern) {
	if len(t.Ctors) == 0 {
		c.errorf(e.Pos(), CodeCall, "%s has no constructor", typeText(t))
		c.skipArgs(e.Args)
		return
	}
	f := c.overload(e, t.Ctors, t.Name)
	if f == nil || !c.matchArgs(e, call, f.Params, t.Name) {
		return
	}
	s, ok := c.infer(e, t.TypeParams, e.TypeArgs, t.Name)
	if !ok || !c.checkArgs(e, call, t.TypeParams, s, ofCtor, nil, nil) {
		return
	}
	r := t
	if len(t.TypeParams) > 0 {
		if r, ok = c.specializeTo(e, t, s.of(t.TypeParams)).(*Extern); !ok {
			return
		}
	}
	for _, m := range t.Methods {
		if m.Decl.Abstract && !isOptional(m) && e != c.declaring {
			c.errorf(e.Pos(), CodeAbstract, "%s has abstract methods and must be declared, with their implementations", t)
			return
		}
	}
	call.Func, call.Extern = f, r
	c.deprecated(e.Pos(), t.Decl.Annotations, t.Name)
	x.set(thing, r, nil)
}

func (c *Checker) constructBlock(x *operand, e *syntax.CallExpr, call *Call, t *Block) {
	params := t.CtorParams
	of := ofCtor
	if t.Kind == PackageBlock {
		params, of = t.Params, ofPackage
	}
	if !c.matchArgs(e, call, params, t.Name) {
		return
	}
	s, ok := c.infer(e, t.TypeParams, e.TypeArgs, t.Name)
	if !ok || !c.checkArgs(e, call, t.TypeParams, s, of, nil, nil) {
		return
	}
	r := t
	if len(t.TypeParams) > 0 {
		r = c.info.in.specializeBlock(t, s.of(t.TypeParams))
	}
	call.Block = r
	x.set(thing, r, nil)
}

// staticAssert evaluates static_assert at compile time.
func (c *Checker) staticAssert(x *operand, e *syntax.CallExpr, call *Call) {
	x.set(constant, Bool, nil)
	if len(call.Args) == 0 || call.Args[0] == nil {
		return
	}
	ok, known := c.info.values[call.Args[0].ID()].(BoolValue)
	if !known {
		return
	}
	x.val = BoolValue(true)
	if bool(ok) {
		return
	}
	msg := "the assertion is false"
	if len(call.Args) > 1 && call.Args[1] != nil {
		if s, ok := c.info.values[call.Args[1].ID()].(StringValue); ok {
			msg = string(s)
		}
	}
	c.errorf(e.Pos(), CodeAssert, "%s", msg)
}
