// SPDX-License-Identifier: Apache-2.0

package types

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// builtin is a method that is built into a type.
type builtin struct{ name string }

func (t *builtin) String() string { return "method " + t.name }

// member sets x to y.sel.
func (c *Checker) member(x *operand, e *syntax.MemberExpr) {
	c.rawExpr(x, e.X, nil)
	if x.mode == invalid {
		return
	}
	sel := e.Sel.Name
	switch sel {
	case "minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes":
		if c.calling == syntax.Expr(e) && !isObject(x.typ) {
			x.set(thing, &builtin{sel}, nil)
			return
		}
	}
	switch x.mode {
	case typexpr:
		c.typeMember(x, e)
		return
	case novalue:
		c.errorf(e.X.Pos(), CodeNoValue, "%s has no value", syntax.Text(e.X))
		x.invalidate()
		return
	}
	switch t := x.typ.(type) {
	case *Struct:
		c.structMember(x, e, t)
		return
	case *Array:
		if c.arrayMember(x, e, t) {
			return
		}
	case *ApplyResult:
		switch sel {
		case "hit", "miss":
			x.set(value, Bool, nil)
			return
		case "action_run":
			if !c.ctx.actionRun {
				c.errorf(e.Pos(), CodePlacement, "action_run can only be the expression of a switch")
				x.invalidate()
				return
			}
			x.set(value, &ActionRun{t.Table}, nil)
			return
		}
	case *Table:
		if sel == "apply" {
			x.set(thing, &builtin{sel}, nil)
			return
		}
	case *Block:
		if sel == "apply" && t.Kind != PackageBlock {
			x.set(thing, &builtin{sel}, nil)
			return
		}
	case *Extern:
		c.methodOf(x, e, t)
		return
	}
	c.noMember(x, e, nil)
}

func (c *Checker) noMember(x *operand, e *syntax.MemberExpr, names []string) {
	c.errorf(e.Sel.Pos(), CodeNoMember, "%s has no member %s%s", x.describe(), e.Sel.Name, didYouMean(e.Sel.Name, names))
	x.invalidate()
}

// typeMember sets x to T.sel.
func (c *Checker) typeMember(x *operand, e *syntax.MemberExpr) {
	sel := e.Sel.Name
	switch t := x.typ.(type) {
	case *Enum:
		i := t.Member(sel)
		if i < 0 {
			c.noMember(x, e, t.Members)
			return
		}
		if t.Underlying != nil {
			x.set(constant, t, IntValue{t.Values[i]})
		} else {
			x.set(constant, t, MemberValue(sel))
		}
		return
	case *Basic:
		if t == Error {
			if !c.errors[sel] {
				c.errorf(e.Sel.Pos(), CodeNoMember, "error.%s is not declared%s", sel, didYouMean(sel, c.info.Errors))
				x.invalidate()
				return
			}
			x.set(constant, Error, MemberValue(sel))
			return
		}
	case *Block:
		if sel == "apply" && t.Kind != PackageBlock {
			x.set(thing, &builtin{"direct apply"}, nil)
			return
		}
	}
	c.noMember(x, e, nil)
}

func (c *Checker) structMember(x *operand, e *syntax.MemberExpr, t *Struct) {
	sel := e.Sel.Name
	// A field may have the name of a method.
	calls := c.calling == syntax.Expr(e) && t.Kind != PlainStruct && isHeaderMethod(sel)
	if f, i := t.Field(sel); f != nil && !calls {
		m := x.mode
		var v Value
		if l, ok := x.val.(ListValue); ok && i < len(l) {
			v = l[i]
		}
		why := x.readonly
		x.set(m, f.Type, v)
		x.readonly = why
		if f.Type == Invalid {
			x.invalidate()
		}
		return
	}
	switch {
	case sel == "isValid" && t.Kind != PlainStruct, (sel == "setValid" || sel == "setInvalid") && t.Kind == Header:
		if sel != "isValid" && x.mode != variable {
			why := ""
			if x.readonly != "" {
				why = ": " + x.readonly
			}
			c.errorf(e.Pos(), CodeNotVariable, "%s cannot be changed%s", syntax.Text(e.X), why)
			x.invalidate()
			return
		}
		x.set(thing, &builtin{sel}, nil)
		return
	}
	names := fieldNames(t)
	if t.Kind != PlainStruct {
		names = append(names, "isValid")
	}
	if t.Kind == Header {
		names = append(names, "setValid", "setInvalid")
	}
	c.noMember(x, e, names)
}

func isHeaderMethod(name string) bool {
	return name == "isValid" || name == "setValid" || name == "setInvalid"
}

// arrayMember handles the members of header stacks.
func (c *Checker) arrayMember(x *operand, e *syntax.MemberExpr, t *Array) bool {
	if !t.IsStack() {
		return false
	}
	sel := e.Sel.Name
	switch sel {
	case "next", "last", "lastIndex":
		if c.ctx.kind != inState && c.ctx.kind != inParser {
			c.errorf(e.Pos(), CodePlacement, "%s of a header stack can only be used in a parser", sel)
			x.invalidate()
			return true
		}
		if sel == "lastIndex" {
			x.set(value, smallBits[32], nil)
			return true
		}
		m, why := x.mode, x.readonly
		x.set(m, t.Elem, nil)
		x.readonly = why
		if sel == "last" && m == variable {
			x.mode = variable
		}
		return true
	case "size":
		x.set(constant, smallBits[32], makeInt(int64(t.Size)))
		return true
	case "push_front", "pop_front":
		if x.mode != variable {
			c.errorf(e.Pos(), CodeNotVariable, "%s cannot be changed", syntax.Text(e.X))
			x.invalidate()
			return true
		}
		x.set(thing, &builtin{sel}, nil)
		return true
	}
	c.noMember(x, e, []string{"next", "last", "lastIndex", "size", "push_front", "pop_front"})
	return true
}

// methodOf sets x to a method of an extern object.
func (c *Checker) methodOf(x *operand, e *syntax.MemberExpr, t *Extern) {
	m := &method{name: e.Sel.Name, recv: e.X, typ: t}
	var names []string
	for _, f := range t.Methods {
		if f.Name == e.Sel.Name {
			m.funcs = append(m.funcs, f)
		}
		names = append(names, f.Name)
	}
	if m.funcs == nil {
		c.noMember(x, e, names)
		return
	}
	x.set(thing, m, nil)
}

// index sets x to y[i].
func (c *Checker) index(x *operand, e *syntax.IndexExpr) {
	c.expr(x, e.X, nil)
	var i operand
	c.expr(&i, e.Index, nil)
	if x.mode == invalid || i.mode == invalid {
		x.invalidate()
		return
	}
	if !isNumeric(underlyingBits(i.typ)) {
		c.errorf(e.Index.Pos(), CodeMismatch, "an index must be a number, not %s", i.describe())
		x.invalidate()
		return
	}
	v, known := i.val.(IntValue)
	n := -1
	var elem Type
	m := x.mode
	switch t := x.typ.(type) {
	case *Array:
		n, elem = t.Size, t.Elem
		if i.typ == Int && !i.isConst() {
			known = false
		}
	case *Tuple:
		n = len(t.Elems)
		if !known {
			c.errorf(e.Index.Pos(), CodeNotConstant, "the index of a tuple must be known at compile time, %s is not", syntax.Text(e.Index))
			x.invalidate()
			return
		}
	case *List:
		if l, ok := x.val.(ListValue); ok {
			n = len(l)
		}
		elem = t.Elem
	default:
		c.errorf(e.Pos(), CodeOperand, "%s is not an array or tuple and has no index", x.describe())
		x.invalidate()
		return
	}
	if known {
		if v.Sign() < 0 {
			c.errorf(e.Index.Pos(), CodeOutOfRange, "the index %v is negative", v)
			x.invalidate()
			return
		}
		if n >= 0 && v.Cmp(big.NewInt(int64(n))) >= 0 {
			c.errorf(e.Index.Pos(), CodeOutOfRange, "the index %v is out of range: there are %d elements", v, n)
			x.invalidate()
			return
		}
		if t, ok := x.typ.(*Tuple); ok {
			elem = t.Elems[v.Int64()]
		}
	}
	var val Value
	if l, ok := x.val.(ListValue); ok && known && int(v.Int64()) < len(l) {
		val = l[v.Int64()]
	}
	if m == constant && val == nil && !i.isConst() {
		m = value
	}
	why := x.readonly
	x.set(m, elem, val)
	x.readonly = why
	if _, ok := x.typ.(*Extern); ok {
		x.mode = thing
	}
}

// slice sets x to y[hi:lo] or y[lo+:width].
func (c *Checker) slice(x *operand, e *syntax.SliceExpr) {
	c.expr(x, e.X, nil)
	what := "the end of a slice"
	if e.Plus {
		what = "the width of a slice"
	}
	hi, ok1 := c.sliceBound(e.Hi, what, e.Plus)
	if e.Plus {
		c.plusSlice(x, e, hi, ok1)
		return
	}
	lo, ok2 := c.sliceBound(e.Lo, "the end of a slice", false)
	if x.mode == invalid || !ok1 || !ok2 {
		x.invalidate()
		return
	}
	t := c.sliceable(x, e)
	if t == nil {
		return
	}
	b, isB := t.(*Bits)
	switch {
	case lo < 0 || hi < 0:
		c.errorf(e.Pos(), CodeOutOfRange, "a slice cannot have the negative end %d", min(lo, hi))
	case isB && hi >= b.Width:
		c.errorf(e.Hi.Pos(), CodeOutOfRange, "bit %d is out of range: %v has %d", hi, syntax.Text(e.X), b.Width)
	case lo > hi:
		c.errorf(e.Pos(), CodeOutOfRange, "the slice [%d:%d] has its ends the wrong way round", hi, lo)
	case hi > maxWidth:
		c.errorf(e.Pos(), CodeOutOfRange, "bit %d is out of range", hi)
	default:
		c.sliced(x, hi, lo)
		return
	}
	x.invalidate()
}

func (c *Checker) sliceBound(e syntax.Expr, what string, width bool) (int, bool) {
	n, ok := c.size(e, what)
	if ok && width && n < 1 {
		c.errorf(e.Pos(), CodeOutOfRange, "%s cannot be %d", what, n)
		return 0, false
	}
	return n, ok
}

// sliceable returns the type of x, bits or int, that e slices. If x has no
// bits, it reports an error and returns nil.
func (c *Checker) sliceable(x *operand, e *syntax.SliceExpr) Type {
	t := underlyingBits(x.typ)
	if _, ok := t.(*Bits); !ok && t != Int {
		c.errorf(e.Pos(), CodeOperand, "%s has no bits to slice", x.describe())
		x.invalidate()
		return nil
	}
	return t
}

// plusSlice sets x to y[lo+:width]. lo may be computed at run time.
func (c *Checker) plusSlice(x *operand, e *syntax.SliceExpr, width int, ok bool) {
	var lo operand
	c.expr(&lo, e.Lo, nil)
	if x.mode == invalid || lo.mode == invalid || !ok {
		x.invalidate()
		return
	}
	lt := underlyingBits(lo.typ)
	if !isNumeric(lt) {
		c.errorf(e.Lo.Pos(), CodeMismatch, "the end of a slice must be a number, not %s", lo.describe())
		x.invalidate()
		return
	}
	t := c.sliceable(x, e)
	if t == nil {
		return
	}
	b, isB := t.(*Bits)
	if lb, ok := lt.(*Bits); ok && lb.Signed && lo.val == nil {
		c.errorf(e.Lo.Pos(), CodeMismatch, "the end of a slice must be known at compile time or of type bit<W>")
		x.invalidate()
		return
	}
	if v, ok := lo.val.(IntValue); ok {
		if v.Sign() < 0 || !v.IsInt64() || isB && v.Int64()+int64(width) > int64(b.Width) || v.Int64() > maxWidth {
			c.errorf(e.Pos(), CodeOutOfRange, "the slice [%v+:%d] of %s is out of range", v, width, syntax.Text(e.X))
			x.invalidate()
			return
		}
		c.sliced(x, int(v.Int64())+width-1, int(v.Int64()))
		return
	}
	m, why := x.mode, x.readonly
	if m == constant {
		m = value
	}
	x.set(m, c.bits(e, width, false), nil)
	x.readonly = why
}

// sliced sets x to bits hi to lo of x.
func (c *Checker) sliced(x *operand, hi, lo int) {
	m, why := x.mode, x.readonly
	var v Value
	if iv, ok := x.val.(IntValue); ok {
		v = FoldSlice(iv.Int, hi, lo)
	}
	if e, ok := x.typ.(*Enum); ok && m == variable && e.Underlying != nil {
		m = value
	}
	x.set(m, &Bits{Width: hi - lo + 1}, v)
	x.readonly = why
}

// FoldSlice returns bits hi to lo of v.
func FoldSlice(v *big.Int, hi, lo int) Value {
	r := new(big.Int).Rsh(v, uint(lo))
	return IntValue{r.And(r, Mask(hi-lo+1))}
}
