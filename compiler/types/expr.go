// SPDX-License-Identifier: Apache-2.0

package types

import (
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/internal/diag"
)

// expr sets x to the value of e. It reports a type, function or statement.
func (c *Checker) expr(x *operand, e syntax.Expr, want Type) {
	c.rawExpr(x, e, want)
	c.hasValue(x)
}

// hasValue reports an error if x has no value, such as a type or function.
func (c *Checker) hasValue(x *operand) {
	switch x.mode {
	case novalue:
		c.errorf(x.pos(), CodeNoValue, "%s has no value", syntax.Text(x.expr))
		x.invalidate()
	case typexpr:
		c.errorf(x.pos(), CodeNoValue, "%s is a type, not a value", syntax.Text(x.expr))
		x.invalidate()
	case thing:
		switch t := x.typ.(type) {
		case *method, *builtin:
			c.errorf(x.pos(), CodeNoValue, "%s must be called", t)
			x.invalidate()
		case *Action, *Table, *Basic:
			c.errorf(x.pos(), CodeNoValue, "%s is not a value", typeText(t))
			x.invalidate()
		}
	}
}

// exprOf sets x to the value of e, converted implicitly to type t. what
// describes the purpose of e in messages.
func (c *Checker) exprOf(x *operand, e syntax.Expr, t Type, what string) {
	c.expr(x, e, t)
	c.assign(x, t, what)
}

// constExpr is exprOf for an expression that must be known at compile time.
func (c *Checker) constExpr(x *operand, e syntax.Expr, t Type, what string) {
	c.exprOf(x, e, t, what)
	c.known(x, what)
}

// known reports an error unless x is known at compile time.
func (c *Checker) known(x *operand, what string) {
	if x.mode != invalid && !x.isConst() && !isObject(x.typ) {
		c.errorf(x.pos(), CodeNotConstant, "%s must be known at compile time, %s is not", what, syntax.Text(x.expr))
		x.invalidate()
	}
}

// isObject reports whether values of type t are compile-time objects.
func isObject(t Type) bool {
	switch t.(type) {
	case *Extern, *Block:
		return true
	}
	return false
}

// rawExpr sets x to the operand that e denotes, of any mode, and records it.
func (c *Checker) rawExpr(x *operand, e syntax.Expr, want Type) {
	x.expr = e
	x.set(invalid, Invalid, nil)
	switch e := e.(type) {
	case *syntax.NameExpr:
		c.name(x, e)
	case *syntax.IntLit:
		c.intLit(x, e)
	case *syntax.BoolLit:
		x.set(constant, Bool, BoolValue(e.Value))
	case *syntax.StringLit:
		x.set(constant, String, StringValue(e.Value))
	case *syntax.ThisExpr:
		if c.ctx.this == nil {
			c.errorf(e.Pos(), CodePlacement, "\"this\" is only for abstract methods")
			break
		}
		x.set(thing, c.ctx.this, nil)
	case *syntax.ListExpr:
		c.list(x, e, want)
	case *syntax.StructExpr:
		c.structExpr(x, e, want)
	case *syntax.InvalidExpr:
		x.set(constant, NoHeader, NoHeaderValue{})
	case *syntax.DotsExpr:
		x.set(constant, Default, DefaultValue{})
	case *syntax.DefaultExpr:
		x.set(constant, Dontcare, nil)
	case *syntax.UnaryExpr:
		c.unary(x, e, want)
	case *syntax.BinaryExpr:
		c.binary(x, e)
	case *syntax.CondExpr:
		c.cond(x, e, want)
	case *syntax.CastExpr:
		c.cast(x, e)
	case *syntax.TypeNameExpr:
		t := c.typ(e.Type)
		if t != Invalid {
			x.set(typexpr, t, nil)
		}
	case *syntax.MemberExpr:
		c.member(x, e)
	case *syntax.IndexExpr:
		c.index(x, e)
	case *syntax.SliceExpr:
		c.slice(x, e)
	case *syntax.CallExpr:
		c.call(x, e, want)
	case *syntax.TupleExpr:
		c.errorf(e.Pos(), CodePlacement, "several values in parentheses are only for key sets")
	}
	x.expr = e
	c.record(e, x.typ, x.val)
}

// name sets x to the operand that a name denotes.
func (c *Checker) name(x *operand, e *syntax.NameExpr) {
	o := c.resolve(e)
	if o == nil {
		return
	}
	switch o := o.(type) {
	case *Const:
		x.set(constant, o.Type, o.Value)
	case *Var:
		x.set(variable, o.Type, nil)
	case *ParamObj:
		c.param(x, o.Param)
	case *TypeName:
		x.set(typexpr, o.Type, nil)
	case *FuncSet:
		x.set(thing, &method{name: o.name, funcs: o.Funcs}, nil)
	case *ActionObj:
		x.set(thing, o.Action, nil)
	case *TableObj:
		x.set(thing, o.Table, nil)
	case *Instance:
		x.set(thing, o.Type, nil)
	case *ValueSet:
		x.set(value, o.Type, nil)
	case *StateObj:
		x.set(thing, State, nil)
	case *MatchKindObj:
		x.set(constant, MatchKind, MemberValue(o.name))
	default:
		panic("BUG: a name stands for something unknown")
	}
	if x.typ == Invalid {
		x.invalidate()
	}
}

// resolve returns the object of a name, or reports that the name is not
// declared.
func (c *Checker) resolve(e *syntax.NameExpr) Object {
	s := c.scope
	if e.Global {
		s = c.top
	}
	o := s.lookup(e.Name)
	if o == nil {
		c.undeclared(e, s)
		return nil
	}
	o.(based).base().used = true
	c.info.uses[e.ID()] = o
	return o
}

// undeclared reports a name without a declaration.
func (c *Checker) undeclared(e *syntax.NameExpr, s *scope) {
	if e.Name == "_" {
		c.errorf(e.Pos(), CodeUndeclared, "_ is not a value")
		return
	}
	c.errorf(e.Pos(), CodeUndeclared, "%s is not declared%s", e.Name, diag.DidYouMean(e.Name, namesIn(s)))
}

func namesIn(s *scope) []string {
	var list []string
	for ; s != nil; s = s.parent {
		for _, o := range s.order {
			list = append(list, o.ObjName())
		}
	}
	return list
}

// param sets x to a parameter, as its body sees it.
func (c *Checker) param(x *operand, p *Param) {
	switch {
	case isObject(p.Type):
		x.set(thing, p.Type, nil)
	case p.Dir == syntax.DirOut || p.Dir == syntax.DirInout:
		x.set(variable, p.Type, nil)
	case p.Ctor || p.Dir == syntax.NoDirection && (c.ctx.kind == inFunction || p.Type == Int || p.Type == String):
		x.set(constant, p.Type, nil)
	default:
		x.set(value, p.Type, nil)
		x.readonly = "it is a parameter with " + dirText(p.Dir)
	}
}

// intLit sets x to an integer literal.
func (c *Checker) intLit(x *operand, e *syntax.IntLit) {
	if e.Width < 0 {
		x.set(constant, Int, IntValue{e.Value})
		return
	}
	t := c.bits(e, e.Width, e.Signed)
	if t == Invalid {
		return
	}
	b := t.(*Bits)
	v := e.Value
	if over := v.BitLen() > b.Width || b.Signed && !Fits(v, b); over {
		c.warnf(e.Pos(), CodeOverflow, "%v does not fit %v", v, b)
		v = Wrap(v, b)
	}
	x.set(constant, b, IntValue{v})
}

// list sets x to {a, b}.
func (c *Checker) list(x *operand, e *syntax.ListExpr, want Type) {
	elems := e.Elems
	dots := false
	if n := len(elems); n > 0 {
		if _, ok := elems[n-1].(*syntax.DotsExpr); ok {
			elems, dots = elems[:n-1], true
		}
	}
	var needs []Type
	switch t := want.(type) {
	case *Struct:
		if t.Kind == HeaderUnion {
			c.errorf(e.Pos(), CodeMismatch, "a header union is not made from a list; assign to its headers")
			return
		}
		for _, f := range t.Fields {
			needs = append(needs, f.Type)
		}
	case *Tuple:
		needs = t.Elems
	case *Array:
		if len(elems) > t.Size || len(elems) < t.Size && !dots {
			c.errorf(e.Pos(), CodeMismatch, "%d values for %v", len(elems), typeText(t))
			return
		}
		c.elements(x, elems, func(int) Type { return t.Elem }, t)
		c.fill(x, dots, t)
		return
	case *List:
		c.elements(x, elems, func(int) Type { return t.Elem }, t)
		return
	default:
		c.tuple(x, e)
		return
	}
	if len(elems) > len(needs) || len(elems) < len(needs) && !dots {
		c.errorf(e.Pos(), CodeMismatch, "%d values for the %d of %v", len(elems), len(needs), typeText(want))
		return
	}
	c.elements(x, elems, func(i int) Type { return needs[i] }, want)
	c.fill(x, dots, want)
}

// elements checks values against the expected types and sets x to a value of
// type t with these elements.
func (c *Checker) elements(x *operand, elems []syntax.Expr, want func(i int) Type, t Type) {
	x.set(constant, t, nil)
	vals := make(ListValue, 0, len(elems))
	for i, el := range elems {
		var y operand
		c.exprOf(&y, el, want(i), "element "+itoa(i+1)+" of the list")
		switch {
		case y.mode == invalid:
			x.mode = invalid
		case !y.isConst() && x.mode != invalid:
			x.mode = value
		}
		if y.val != nil {
			vals = append(vals, y.val)
		}
	}
	if x.mode == invalid {
		x.invalidate()
	}
	if x.mode == constant && len(vals) == len(elems) {
		x.val = vals
	}
}

// fill sets the elements that a list with ... omits to their default values.
func (c *Checker) fill(x *operand, dots bool, t Type) {
	vals, ok := x.val.(ListValue)
	if !dots || !ok {
		return
	}
	zero, ok := ZeroValue(t).(ListValue)
	if s, is := t.(*Struct); is && s.Kind == Header { // a header made from a list is valid
		zero, ok = make(ListValue, len(s.Fields)), true
		for i, f := range s.Fields {
			zero[i] = ZeroValue(f.Type)
		}
	}
	if !ok || len(zero) < len(vals) {
		x.val = nil
		return
	}
	x.val = append(append(ListValue{}, vals...), zero[len(vals):]...)
}

// tuple sets x to a list without an expected type.
func (c *Checker) tuple(x *operand, e *syntax.ListExpr) {
	t := &Tuple{}
	x.set(constant, t, nil)
	vals := make(ListValue, 0, len(e.Elems))
	for _, el := range e.Elems {
		var y operand
		c.expr(&y, el, nil)
		switch {
		case y.mode == invalid:
			x.mode = invalid
		case !y.isConst() && x.mode != invalid:
			x.mode = value
		}
		if y.val != nil {
			vals = append(vals, y.val)
		}
		t.Elems = append(t.Elems, y.typ)
	}
	if x.mode != invalid && TooLarge(t) {
		c.errorf(e.Pos(), CodeTooLarge, "the list has more than %d fields", maxLeaves)
		x.mode = invalid
	}
	if x.mode == invalid {
		x.invalidate()
	}
	if x.mode == constant && len(vals) == len(e.Elems) {
		x.val = vals
	}
}

// structExpr sets x to {a = 1, b = 2}.
func (c *Checker) structExpr(x *operand, e *syntax.StructExpr, want Type) {
	seen := map[string]bool{}
	for _, f := range e.Fields {
		if seen[f.Name.Name] {
			c.errorf(f.Pos(), CodeDuplicate, "field %s has two values", f.Name.Name)
			return
		}
		seen[f.Name.Name] = true
	}
	s, ok := want.(*Struct)
	if !ok {
		c.recordExpr(x, e)
		return
	}
	x.set(constant, s, nil)
	vals := make(ListValue, len(s.Fields))
	known := true
	for _, f := range e.Fields {
		field, i := s.Field(f.Name.Name)
		if field == nil {
			c.errorf(f.Pos(), CodeNoMember, "%v has no field %s%s", typeText(s), f.Name.Name, diag.DidYouMean(f.Name.Name, fieldNames(s)))
			x.mode = invalid
			continue
		}
		var y operand
		c.exprOf(&y, f.Value, field.Type, "field "+field.Name)
		switch {
		case y.mode == invalid:
			x.mode = invalid
		case !y.isConst() && x.mode != invalid:
			x.mode = value
		}
		vals[i] = y.val
		known = known && y.val != nil
	}
	if x.mode == invalid {
		x.invalidate()
		return
	}
	for i, f := range s.Fields {
		if seen[f.Name] {
			continue
		}
		if !e.Dots && s.Kind != HeaderUnion {
			c.errorf(e.Pos(), CodeMismatch, "field %s of %v has no value; end with ... to give the others their default values", f.Name, typeText(s))
			x.invalidate()
			return
		}
		vals[i] = ZeroValue(f.Type)
		known = known && vals[i] != nil
	}
	if x.mode == constant && known && s.Kind != HeaderUnion {
		x.val = vals
	}
}

// recordExpr sets x to a struct expression without an expected type.
func (c *Checker) recordExpr(x *operand, e *syntax.StructExpr) {
	r := &Record{Dots: e.Dots}
	x.set(constant, r, nil)
	vals := make(ListValue, 0, len(e.Fields))
	for _, f := range e.Fields {
		var y operand
		c.expr(&y, f.Value, nil)
		switch {
		case y.mode == invalid:
			x.mode = invalid
		case !y.isConst() && x.mode != invalid:
			x.mode = value
		}
		if y.val != nil {
			vals = append(vals, y.val)
		}
		r.Names = append(r.Names, f.Name.Name)
		r.Types = append(r.Types, y.typ)
	}
	if x.mode == invalid {
		x.invalidate()
	}
	if x.mode == constant && len(vals) == len(e.Fields) {
		x.val = vals
	}
}

func fieldNames(s *Struct) []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}
