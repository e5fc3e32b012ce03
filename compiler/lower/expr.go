// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// exprTo returns the value of e converted to type t.
func (l *lowerer) exprTo(e syntax.Expr, t types.Type) value {
	return l.convert(l.expr(e), t)
}

// scalarTo returns the value of e, which has the simple type t.
func (l *lowerer) scalarTo(e syntax.Expr, t types.Type) ir.Expr {
	v := l.exprTo(e, t)
	if s, ok := v.(scalar); ok {
		return s.x
	}
	l.unsupported(e, "%s is too complex for this target", syntax.Text(e))
	return nil
}

// scalarOf returns the value of e, which has a simple type.
func (l *lowerer) scalarOf(e syntax.Expr) ir.Expr { return l.scalarTo(e, l.typeOf(e)) }

// number returns the value of e, which must be known at compile time.
func (l *lowerer) number(e syntax.Expr) *big.Int {
	switch v := l.expr(e).(type) {
	case number:
		return v.v
	case scalar:
		if c, ok := v.x.(*ir.Const); ok {
			return c.Val
		}
	}
	l.fail(e.Pos(), CodeNotConstant, "%s must be known at compile time", syntax.Text(e))
	return nil
}

// expr returns the value of e and emits the statements that compute it.
func (l *lowerer) expr(e syntax.Expr) value {
	if v := l.info.ValueOf(e); v != nil {
		if _, dots := v.(types.DefaultValue); dots {
			return text{"..."}
		}
		return l.constant(v, l.typeOf(e))
	}
	switch e := e.(type) {
	case *syntax.NameExpr:
		return l.name(e)
	case *syntax.ListExpr:
		return l.list(e)
	case *syntax.StructExpr:
		return l.record(e)
	case *syntax.UnaryExpr:
		return l.unary(e)
	case *syntax.BinaryExpr:
		return l.binary(e)
	case *syntax.CondExpr:
		return l.cond(e)
	case *syntax.CastExpr:
		return l.cast(e)
	case *syntax.MemberExpr:
		return l.memberOf(e)
	case *syntax.IndexExpr:
		return l.load(l.element(e, l.keep(l.expr(e.X), []syntax.Expr{e.Index})))
	case *syntax.SliceExpr:
		return l.slice(e)
	case *syntax.CallExpr:
		return l.call(e)
	}
	l.unsupported(e, "%s is not supported on this target", syntax.Text(e))
	return nil
}

func (l *lowerer) name(e *syntax.NameExpr) value {
	o := l.info.Use(e)
	if v := l.frame.lookup(o); v != nil {
		return v
	}
	if k, ok := o.(*types.Const); ok && k.Decl != nil { // of a constructor parameter
		return l.exprTo(k.Decl.Value, l.substitute(k.Type))
	}
	l.unsupported(e, "%s is not supported here", e.Name)
	return nil
}

// list returns {a, b} as a value of the type the checker gave it.
func (l *lowerer) list(e *syntax.ListExpr) value {
	t := l.typeOf(e)
	var elems []value
	for i, x := range e.Elems {
		if _, dots := x.(*syntax.DotsExpr); dots {
			break
		}
		v := l.exprTo(x, partType(t, i))
		elems = append(elems, l.keep(v, e.Elems[i+1:]))
	}
	switch t := t.(type) {
	case *types.Struct:
		for i := len(elems); i < len(t.Fields); i++ {
			elems = append(elems, l.zero(t.Fields[i].Type))
		}
	case *types.Array:
		for len(elems) < t.Size {
			elems = append(elems, l.zero(t.Elem))
		}
	}
	return l.compose(t, elems)
}

// record returns {a = 1, b = 2}.
func (l *lowerer) record(e *syntax.StructExpr) value {
	t := l.typeOf(e)
	s, ok := t.(*types.Struct)
	if !ok {
		r := t.(*types.Record)
		a := aggregate{t: t}
		for i, f := range e.Fields {
			a.elems = append(a.elems, l.keep(l.exprTo(f.Value, r.Types[i]), rest(e.Fields[i+1:])))
		}
		return a
	}
	elems := make([]value, len(s.Fields))
	for k, f := range e.Fields {
		field, i := s.Field(f.Name.Name)
		elems[i] = l.keep(l.exprTo(f.Value, field.Type), rest(e.Fields[k+1:]))
	}
	for i := range elems {
		if elems[i] == nil {
			elems[i] = l.zero(s.Fields[i].Type)
		}
	}
	return l.compose(s, elems)
}

func rest(list []*syntax.FieldValue) []syntax.Expr {
	out := make([]syntax.Expr, len(list))
	for i, f := range list {
		out[i] = f.Value
	}
	return out
}

// keep returns v, copied if an expression evaluated later could change it.
func (l *lowerer) keep(v value, later []syntax.Expr) value {
	if l.anyEffects(later) {
		return l.copyOf(v)
	}
	return v
}

func (l *lowerer) keepScalar(x ir.Expr, later []syntax.Expr) ir.Expr {
	return l.keep(scalar{x}, later).(scalar).x
}

func (l *lowerer) anyEffects(list []syntax.Expr) bool {
	return slices.ContainsFunc(list, l.hasEffects)
}

// hasEffects reports whether evaluating e can change anything.
func (l *lowerer) hasEffects(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(e syntax.Expr) bool {
		if c, ok := e.(*syntax.CallExpr); ok {
			switch k := l.info.Call(c); {
			case k == nil || k.Kind == types.CallBuiltin && k.Name == "isValid":
			case k.Kind == types.CallFunction && k.Func.Decl.Body != nil && l.soleResult(k.Func) != nil:
			default:
				found = true
			}
		}
		return !found
	})
	return found
}

// copyOf returns a copy of v that later statements do not change.
func (l *lowerer) copyOf(v value) value {
	switch v := v.(type) {
	case scalar:
		if isConst(v) != nil {
			return v
		}
		tmp := l.tempVar(v.x.Type(), "tmp")
		l.emit(&ir.Assign{Base: l.at(), Dst: tmp, Src: v.x})
		return scalar{tmp}
	case aggregate:
		out := aggregate{t: v.t}
		for _, e := range v.elems {
			out.elems = append(out.elems, l.copyOf(e))
		}
		return out
	case headerLit:
		out := headerLit{t: v.t}
		for _, e := range v.elems {
			out.elems = append(out.elems, l.copyOf(e))
		}
		return out
	case stackLit:
		out := stackLit{t: v.t}
		for _, e := range v.elems {
			out.elems = append(out.elems, l.copyOf(e))
		}
		return out
	case header, stack, union, unionStack, unionAt:
		tmp := l.temp(typeOfPlace(v), "tmp")
		l.assign(tmp, v)
		return tmp
	}
	return v
}

// typeOfPlace returns the type of a header, stack or union.
func typeOfPlace(v value) types.Type {
	switch v := v.(type) {
	case header:
		return v.t
	case stack:
		return v.t
	case union:
		return v.t
	case unionStack:
		return v.t
	case unionAt:
		return v.t
	case aggregate:
		return v.t
	}
	return types.Invalid
}

func (l *lowerer) unary(e *syntax.UnaryExpr) value {
	v := l.expr(e.X)
	if n, ok := v.(number); ok {
		if e.Op == syntax.Minus {
			return number{new(big.Int).Neg(n.v)}
		}
		return n
	}
	if s, ok := v.(scalar); ok {
		return scalar{mkUnary(e.Op, s.x)}
	}
	l.unsupported(e, "%s is not supported on this target", syntax.Text(e))
	return nil
}

func (l *lowerer) binary(e *syntax.BinaryExpr) value {
	switch e.Op {
	case syntax.AndAnd, syntax.OrOr:
		return l.logic(e)
	}
	x := l.keep(l.expr(e.X), []syntax.Expr{e.Y})
	y := l.expr(e.Y)
	return l.operate(e, e.Op, x, y)
}

// operate returns x op y.
func (l *lowerer) operate(at syntax.Node, op syntax.Kind, x, y value) value {
	a, xnum := x.(number)
	b, ynum := y.(number)
	switch op {
	case syntax.Shl, syntax.Shr:
		if xnum {
			n := b.v
			if c := isConst(y); c != nil {
				n = c.Val
			}
			if n == nil || n.Sign() < 0 || n.Cmp(big.NewInt(1<<16)) > 0 {
				l.fail(at.Pos(), CodeOutOfRange, "shift by %v", n)
			}
			return l.constant(types.FoldShift(op, a.v, n, types.Int), types.Int)
		}
		s := x.(scalar)
		if ynum {
			if b.v.Sign() < 0 {
				l.fail(at.Pos(), CodeOutOfRange, "shift by the negative amount %v", b.v)
			}
			n := new(big.Int).Set(b.v)
			if limit := big.NewInt(int64(s.x.Type().Width)); n.Cmp(limit) > 0 {
				n = limit // all bits are shifted out, or only the sign is left
			}
			return scalar{mkShift(op, s.x, &ir.Const{T: ir.Bit32, Val: n})}
		}
		if t, ok := y.(scalar); ok {
			return scalar{mkShift(op, l.once(s.x), l.once(t.x))}
		}
	case syntax.PlusPlus:
		if s, ok := x.(text); ok {
			return text{s.s + y.(text).s}
		}
		return scalar{mkConcat(x.(scalar).x, y.(scalar).x)}
	}
	if xnum && ynum {
		if (op == syntax.Slash || op == syntax.Percent) && b.v.Sign() == 0 {
			l.fail(at.Pos(), CodeOutOfRange, "division by zero")
		}
		v := types.Fold(op, a.v, b.v, types.Int)
		return l.constant(v, types.Int)
	}
	if xnum {
		x = number{a.v}
		if s, ok := y.(scalar); ok {
			x = l.convert(x, typeFor(s.x.Type()))
		}
	}
	if ynum {
		if s, ok := x.(scalar); ok {
			y = l.convert(y, typeFor(s.x.Type()))
		}
	}
	switch op {
	case syntax.Equal, syntax.NotEqual:
		eq := l.equal(at, x, y)
		if op == syntax.NotEqual {
			if b, ok := eq.(*ir.Binary); ok && b.Op == syntax.Equal {
				return scalar{&ir.Binary{Op: syntax.NotEqual, T: ir.BoolType, X: b.X, Y: b.Y}}
			}
			return scalar{mkUnary(syntax.Not, eq)}
		}
		return scalar{eq}
	}
	s, ok1 := x.(scalar)
	t, ok2 := y.(scalar)
	if !ok1 || !ok2 {
		l.unsupported(at, "the operands of %v are not supported on this target", op)
	}
	if op == syntax.Slash || op == syntax.Percent {
		t.x = l.once(t.x)
	}
	return scalar{mkBinary(op, s.x, t.x)}
}

// logic returns x && y or x || y. It evaluates y only if needed.
func (l *lowerer) logic(e *syntax.BinaryExpr) value {
	x := l.scalarOf(e.X)
	if c, ok := x.(*ir.Const); ok && isTrue(c) != (e.Op == syntax.AndAnd) {
		return scalar{x}
	}
	if !l.hasEffects(e.Y) {
		return scalar{mkBinary(e.Op, x, l.scalarOf(e.Y))}
	}
	tmp := l.tempVar(ir.BoolType, "tmp")
	eval := func() { l.emit(&ir.Assign{Base: l.at(), Dst: tmp, Src: l.scalarOf(e.Y)}) }
	known := func() { l.emit(&ir.Assign{Base: l.at(), Dst: tmp, Src: boolConst(e.Op == syntax.OrOr)}) }
	if e.Op == syntax.AndAnd {
		l.ifElse(x, syntax.Span(e.X), eval, known)
	} else {
		l.ifElse(x, syntax.Span(e.X), known, eval)
	}
	return scalar{tmp}
}

// equal returns whether x and y, of the same type, are equal.
func (l *lowerer) equal(at syntax.Node, x, y value) ir.Expr {
	switch a := x.(type) {
	case scalar:
		if b, ok := y.(scalar); ok {
			return mkBinary(syntax.Equal, a.x, b.x)
		}
	case text:
		if b, ok := y.(text); ok {
			return boolConst(a.s == b.s)
		}
	case noHeader:
		if _, ok := y.(noHeader); ok {
			return boolConst(true)
		}
		return l.equal(at, y, x)
	case aggregate:
		if b, ok := y.(aggregate); ok {
			return l.equalLists(at, a.elems, b.elems)
		}
	case stackLit:
		return l.equalLists(at, a.elems, l.parts(y))
	case stack:
		return l.equalLists(at, l.parts(x), l.parts(y))
	case union:
		b, ok := y.(union)
		if !ok {
			if _, ok := y.(noHeader); ok {
				return mkUnary(syntax.Not, &ir.UnionValid{Union: a.u})
			}
			break
		}
		return l.equalLists(at, l.parts(a), l.parts(b))
	case header, headerLit:
		return l.equalHeaders(at, x, y)
	}
	l.unsupported(at, "these values cannot be compared on this target")
	return nil
}

func (l *lowerer) equalLists(at syntax.Node, x, y []value) ir.Expr {
	var r ir.Expr = boolConst(true)
	for i := range x {
		if i < len(y) {
			r = mkBinary(syntax.AndAnd, r, l.equal(at, x[i], y[i]))
		}
	}
	return r
}

// equalHeaders compares headers: both are invalid, or both are valid and
// their fields are equal.
func (l *lowerer) equalHeaders(at syntax.Node, x, y value) ir.Expr {
	vx, vy := validity(x), validity(y)
	if vx == nil || vy == nil {
		l.unsupported(at, "these values cannot be compared on this target")
	}
	if _, ok := y.(noHeader); ok {
		return mkUnary(syntax.Not, vx)
	}
	fields := l.equalLists(at, l.parts(x), l.parts(y))
	both := mkBinary(syntax.AndAnd, vx, mkBinary(syntax.AndAnd, vy, fields))
	neither := mkBinary(syntax.AndAnd, mkUnary(syntax.Not, vx), mkUnary(syntax.Not, vy))
	return mkBinary(syntax.OrOr, neither, both)
}

// validity returns whether a header is valid.
func validity(v value) ir.Expr {
	switch v := v.(type) {
	case header:
		return &ir.Valid{Header: v.ref}
	case headerLit:
		return boolConst(true)
	case noHeader:
		return boolConst(false)
	}
	return nil
}

// parts returns the fields of a header or struct, or the elements of a stack.
func (l *lowerer) parts(v value) []value {
	switch v := v.(type) {
	case aggregate:
		return v.elems
	case headerLit:
		return v.elems
	case stackLit:
		return v.elems
	case header:
		list := make([]value, len(v.t.Fields))
		for i := range list {
			list[i] = l.field(v, i)
		}
		return list
	case union:
		list := make([]value, len(v.t.Fields))
		for i, f := range v.t.Fields {
			list[i] = header{v.u.Members[i], f.Type.(*types.Struct)}
		}
		return list
	case unionAt:
		list := make([]value, len(v.t.Fields))
		for i, f := range v.t.Fields {
			list[i] = header{v.member(i), f.Type.(*types.Struct)}
		}
		return list
	case stack:
		t := v.t.Elem.(*types.Struct)
		list := make([]value, len(v.s.Elems))
		for i, h := range v.s.Elems {
			list[i] = header{h, t}
		}
		return list
	case unionStack:
		t := v.t.Elem.(*types.Struct)
		list := make([]value, len(v.s.Elems))
		for i, u := range v.s.Elems {
			list[i] = union{u, t}
		}
		return list
	}
	return nil
}

func (l *lowerer) cond(e *syntax.CondExpr) value {
	c := l.scalarOf(e.Cond)
	t := l.typeOf(e)
	if k, ok := c.(*ir.Const); ok {
		if isTrue(k) {
			return l.exprTo(e.X, t)
		}
		return l.exprTo(e.Y, t)
	}
	if _, ok := irType(t); ok && !l.hasEffects(e.X) && !l.hasEffects(e.Y) {
		return scalar{mkMux(c, l.scalarTo(e.X, t), l.scalarTo(e.Y, t))}
	}
	tmp := l.temp(t, "tmp")
	l.ifElse(c, syntax.Span(e.Cond),
		func() { l.assign(tmp, l.exprTo(e.X, t)) },
		func() { l.assign(tmp, l.exprTo(e.Y, t)) })
	return tmp
}

func (l *lowerer) cast(e *syntax.CastExpr) value {
	t := l.typeOf(e)
	v := l.expr(e.X)
	if it, ok := irType(t); ok {
		switch v := v.(type) {
		case scalar:
			return scalar{mkCast(it, v.x)}
		case number:
			if it.Kind == ir.Bool {
				return scalar{boolConst(v.v.Sign() != 0)}
			}
			return l.convert(v, t)
		}
	}
	if t == types.Int {
		if c := isConst(v); c != nil {
			return number{c.Val}
		}
		if n, ok := v.(number); ok {
			return n
		}
		l.unsupported(e, "%s is not known at compile time and cannot become an int", syntax.Text(e.X))
	}
	return l.convert(v, t)
}

func (l *lowerer) memberOf(e *syntax.MemberExpr) value {
	if call, ok := e.X.(*syntax.CallExpr); ok {
		if _, ok := l.info.TypeOf(call).(*types.ApplyResult); ok {
			return scalar{l.applyFlag(call, e.Sel.Name == "hit")}
		}
	}
	return l.member(e, l.expr(e.X))
}

// member returns member e of v.
func (l *lowerer) member(e *syntax.MemberExpr, v value) value {
	sel := e.Sel.Name
	switch v := v.(type) {
	case aggregate:
		switch t := v.t.(type) {
		case *types.Struct:
			if _, i := t.Field(sel); i >= 0 {
				return v.elems[i]
			}
		case *types.Record:
			for i, n := range t.Names {
				if n == sel {
					return v.elems[i]
				}
			}
		}
	case header:
		if _, i := v.t.Field(sel); i >= 0 {
			return l.field(v, i)
		}
	case headerLit:
		if _, i := v.t.Field(sel); i >= 0 {
			return v.elems[i]
		}
	case union:
		if f, i := v.t.Field(sel); i >= 0 {
			return header{v.u.Members[i], f.Type.(*types.Struct)}
		}
	case unionAt:
		if f, i := v.t.Field(sel); i >= 0 {
			return header{v.member(i), f.Type.(*types.Struct)}
		}
	case stack:
		t := v.t.Elem.(*types.Struct)
		switch sel {
		case "next":
			return header{&ir.StackNext{Stack: v.s}, t}
		case "last":
			return header{&ir.StackLast{Stack: v.s}, t}
		case "lastIndex":
			return scalar{&ir.LastIndex{Stack: v.s}}
		}
	case unionStack:
		t := v.t.Elem.(*types.Struct)
		switch sel {
		case "next", "last":
			return unionAt{s: v.s, last: sel == "last", t: t}
		case "lastIndex":
			return scalar{&ir.LastIndex{Union: v.s}}
		}
	}
	l.unsupported(e, "%s is not supported on this target", syntax.Text(e))
	return nil
}

// member returns member i of the union.
func (u unionAt) member(i int) ir.HeaderRef {
	switch {
	case u.index != nil:
		return &ir.UnionStackElem{Stack: u.s, Index: u.index, Member: i}
	case u.last:
		return &ir.UnionStackLast{Stack: u.s, Member: i}
	}
	return &ir.UnionStackNext{Stack: u.s, Member: i}
}

// element returns element e of v.
func (l *lowerer) element(e *syntax.IndexExpr, v value) value {
	if list := l.parts(v); list != nil {
		var at *big.Int
		switch i := l.expr(e.Index).(type) {
		case number:
			at = i.v
		case scalar:
			c, ok := i.x.(*ir.Const)
			if !ok {
				return l.runtimeIndex(e, v, list, l.once(i.x))
			}
			at = c.Val
		}
		if at == nil || at.Sign() < 0 || at.Cmp(big.NewInt(int64(len(list)))) >= 0 {
			l.fail(e.Pos(), CodeOutOfRange, "the index %v is out of range: there are %d elements", at, len(list))
		}
		return list[at.Int64()]
	}
	l.unsupported(e, "%s is not supported on this target", syntax.Text(e))
	return nil
}

// once returns x, or a variable with its value if x contains an operand that
// would be repeated: an index found at run time is checked, as are shift
// amounts and divisors.
func (l *lowerer) once(x ir.Expr) ir.Expr {
	repeats := false
	ir.Walk(x, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.FieldRef:
			repeats = repeats || hasIndices(scalar{x})
		case *ir.Binary:
			switch x.Op {
			case syntax.Shl, syntax.Shr, syntax.Slash, syntax.Percent:
				_, known := x.Y.(*ir.Const)
				repeats = repeats || !known
			}
		}
		return !repeats
	})
	if repeats {
		return l.copyOf(scalar{x}).(scalar).x
	}
	return x
}

// runtimeIndex returns the element with an index that is not known.
func (l *lowerer) runtimeIndex(e *syntax.IndexExpr, v value, list []value, i ir.Expr) value {
	switch v := v.(type) {
	case stack:
		return header{&ir.StackElem{Stack: v.s, Index: i}, v.t.Elem.(*types.Struct)}
	case unionStack:
		return unionAt{s: v.s, index: i, t: v.t.Elem.(*types.Struct)}
	case aggregate:
		if _, ok := list[0].(scalar); ok {
			return element{v, i}
		}
	}
	l.unsupported(e, "an index of %s must be known at compile time on this target", syntax.Text(e.X))
	return nil
}

func (l *lowerer) slice(e *syntax.SliceExpr) value {
	v := l.expr(e.X)
	if e.Plus {
		v = l.keep(v, []syntax.Expr{e.Lo})
		width := int(l.number(e.Hi).Int64())
		lo := l.expr(e.Lo)
		if c := isConst(lo); c != nil {
			lo = number{c.Val}
		}
		if n, ok := lo.(number); ok {
			at := int(n.v.Int64())
			return l.bitsOf(e, v, at+width-1, at)
		}
		s, ok := v.(scalar)
		if !ok {
			l.unsupported(e, "%s is not supported on this target", syntax.Text(e))
		}
		x := unsigned(s.x)
		return scalar{mkCast(ir.Type{Kind: ir.Bits, Width: width}, mkShift(syntax.Shr, x, l.once(lo.(scalar).x)))}
	}
	hi, lo := l.number(e.Hi), l.number(e.Lo)
	return l.bitsOf(e, v, int(hi.Int64()), int(lo.Int64()))
}

// unsigned returns x as bit<W>.
func unsigned(x ir.Expr) ir.Expr {
	return mkCast(ir.Type{Kind: ir.Bits, Width: x.Type().Width}, x)
}

// bitsOf returns v[hi:lo].
func (l *lowerer) bitsOf(e *syntax.SliceExpr, v value, hi, lo int) value {
	switch v := v.(type) {
	case number:
		return l.constant(types.FoldSlice(v.v, hi, lo), &types.Bits{Width: hi - lo + 1})
	case scalar:
		if lo < 0 || hi >= v.x.Type().Width {
			l.fail(e.Pos(), CodeOutOfRange, "the slice [%d:%d] of %s is out of range", hi, lo, syntax.Text(e.X))
		}
		return scalar{mkSlice(v.x, hi, lo)}
	}
	l.unsupported(e, "%s is not supported on this target", syntax.Text(e))
	return nil
}
