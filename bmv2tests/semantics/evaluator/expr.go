// SPDX-License-Identifier: Apache-2.0

package evaluator

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// eval evaluates an expression to a value, which shares nothing with variables.
func (f *frame) eval(x syntax.Expr) Value {
	f.step()
	switch x := x.(type) {
	case *syntax.IntLit:
		if x.Width < 0 {
			return Int{x.Value}
		}
		return wrap(&BitsType{x.Width, x.Signed}, x.Value)
	case *syntax.BoolLit:
		return Bool{V: x.Value}
	case *syntax.StringLit:
		return x.Value
	case *syntax.InvalidExpr:
		return Invalid{}
	case *syntax.DotsExpr:
		return Dots{}
	case *syntax.ListExpr:
		l := &List{}
		for i, e := range x.Elems { // from left to right (8.1)
			if _, dots := e.(*syntax.DotsExpr); dots && i == len(x.Elems)-1 {
				l.Dots = true
				break
			}
			l.Elems = append(l.Elems, f.eval(e))
		}
		return l
	case *syntax.StructExpr:
		l := &List{Names: []string{}, Dots: x.Dots}
		for _, e := range x.Fields {
			l.Names = append(l.Names, e.Name.Name)
			l.Elems = append(l.Elems, f.eval(e.Value))
		}
		return l
	case *syntax.UnaryExpr:
		return unary(x.Op, f.eval(x.X))
	case *syntax.BinaryExpr:
		return f.binary(x)
	case *syntax.CondExpr: // evaluates only one of the two (8.1)
		if truth(f.eval(x.Cond)) {
			return f.eval(x.X)
		}
		return f.eval(x.Y)
	case *syntax.CastExpr:
		return cast(f.eval(x.X), f.resolve(x.Type))
	case *syntax.CallExpr:
		return f.call(x)
	case *syntax.NameExpr:
		switch e := f.lookup(x).(type) {
		case *variable:
			return copyOf(e.value)
		case constant:
			return e.value
		}
		panic(fault("%s has no value", x.Name))
	case *syntax.MemberExpr:
		return f.evalMember(x)
	case *syntax.IndexExpr:
		if p, ok := f.place(x); ok {
			return copyOf(p.get())
		}
		v := f.eval(x.X)
		i := known(f.eval(x.Index))
		return copyOf((indexed(v, i)).get())
	case *syntax.SliceExpr:
		if p, ok := f.place(x); ok {
			return p.get()
		}
		v := f.eval(x.X)
		hi, lo := f.bounds(x)
		return sliceOf(v, hi, lo)
	}
	panic(fault("a %T has no value", x))
}

func indexed(v Value, i *big.Int) place {
	if _, ok := v.(*Stack); ok {
		return element{&variable{v}, i, false}
	}
	return member{&variable{v}, int(i.Int64())}
}

// evalMember evaluates X.Sel: a field, a member of an enum, or a property.
func (f *frame) evalMember(x *syntax.MemberExpr) Value {
	if t := f.typeOf(x.X); t != nil {
		switch t := t.(type) {
		case *NameType:
			return Name{Type: t, V: x.Sel.Name}
		case *EnumType:
			return Enum{t, wrap(t.Under, t.Members[x.Sel.Name])}
		}
		panic(fault("a member of a type"))
	}
	if p, ok := f.place(x); ok {
		return copyOf(p.get())
	}
	switch v := f.eval(x.X).(type) {
	case *Struct:
		if i := v.Type.index(x.Sel.Name); i >= 0 {
			return member{&variable{v}, i}.get()
		}
	case *Stack:
		switch x.Sel.Name {
		case "size":
			return wrap(&BitsType{Width: 32}, big.NewInt(int64(v.Type.Size)))
		case "lastIndex": // undefined for an empty stack (8.18)
			t := &BitsType{Width: 32}
			if v.Next == 0 {
				return Bits{Type: t}
			}
			return wrap(t, big.NewInt(int64(v.Next-1)))
		}
	case Applied: // (14.2.2)
		switch x.Sel.Name {
		case "hit":
			return Bool{V: v.Hit}
		case "miss":
			return Bool{V: !v.Hit}
		case "action_run":
			return v
		}
	}
	panic(fault("no member %s", x.Sel.Name))
}

// unary computes -x, +x, ~x and !x.
func unary(op syntax.Kind, v Value) Value {
	switch v := v.(type) {
	case Bool:
		return Bool{V: !v.V, Undefined: v.Undefined}
	case Int:
		switch op {
		case syntax.Minus:
			return Int{new(big.Int).Neg(v.V)}
		case syntax.Plus:
			return v
		}
	case Enum:
		return unary(op, v.V)
	case Bits:
		switch {
		case v.V == nil || op == syntax.Plus:
			return v
		case op == syntax.Minus:
			return wrap(v.Type, new(big.Int).Neg(v.V))
		case op == syntax.Tilde:
			return wrap(v.Type, new(big.Int).Not(v.V))
		}
	}
	panic(fault("%v of a %T", op, v))
}

// binary evaluates X Op Y: && and || with short circuit, all others from left to
// right (8.1).
func (f *frame) binary(x *syntax.BinaryExpr) Value {
	a := f.eval(x.X)
	switch x.Op {
	case syntax.AndAnd:
		if !truth(a) {
			return Bool{}
		}
		return f.eval(x.Y)
	case syntax.OrOr:
		if truth(a) {
			return Bool{V: true}
		}
		return f.eval(x.Y)
	}
	return operate(x.Op, a, f.eval(x.Y))
}

// operate computes an operator of two values.
func operate(op syntax.Kind, a, b Value) Value {
	switch op {
	case syntax.Shl, syntax.Shr:
		return shift(op, a, b)
	case syntax.PlusPlus:
		return concatenate(a, b)
	}
	a, b = alike(a, b)
	switch op {
	case syntax.Equal:
		return equal(a, b)
	case syntax.NotEqual:
		e := equal(a, b)
		return Bool{V: !e.V, Undefined: e.Undefined}
	}
	switch x := a.(type) {
	case Int:
		y := b.(Int)
		if r, ok := compare(op, x.V, y.V); ok {
			return Bool{V: r}
		}
		return Int{arithmetic(op, x.V, y.V)}
	case Bits:
		y := b.(Bits)
		if *x.Type != *y.Type {
			panic(fault("%v of numbers of different types", op))
		}
		if x.V == nil || y.V == nil {
			if _, ok := compare(op, new(big.Int), new(big.Int)); ok {
				return Bool{Undefined: true}
			}
			return Bits{Type: x.Type}
		}
		if r, ok := compare(op, x.V, y.V); ok {
			return Bool{V: r}
		}
		switch op {
		case syntax.PlusSat, syntax.MinusSat:
			return saturate(x.Type, arithmetic(op, x.V, y.V))
		}
		return wrap(x.Type, arithmetic(op, x.V, y.V))
	}
	panic(fault("%v of a %T", op, a))
}

// alike makes the operands of an operator one type: literals become what the
// other operand is, enums their underlying type if the other is no enum.
func alike(a, b Value) (Value, Value) {
	if e, ok := a.(Enum); ok {
		if _, both := b.(Enum); !both {
			a = e.V
		}
	}
	if e, ok := b.(Enum); ok {
		if _, both := a.(Enum); !both {
			b = e.V
		}
	}
	like := func(v, other Value) Value {
		switch o := other.(type) {
		case Bits:
			return convert(v, o.Type)
		case *Struct:
			return convert(v, o.Type)
		case *Stack:
			return convert(v, o.Type)
		}
		return v
	}
	switch a.(type) {
	case Int, *List, Invalid:
		a = like(a, b)
	}
	switch b.(type) {
	case Int, *List, Invalid:
		b = like(b, a)
	}
	return a, b
}

// compare computes <, <=, > and >=. ok is false for other operators.
func compare(op syntax.Kind, a, b *big.Int) (r, ok bool) {
	c := a.Cmp(b)
	switch op {
	case syntax.Less:
		return c < 0, true
	case syntax.LessEqual:
		return c <= 0, true
	case syntax.Greater:
		return c > 0, true
	case syntax.GreaterEqual:
		return c >= 0, true
	}
	return false, false
}

// arithmetic computes an operator on unlimited integers: two's complement of
// any width for the bitwise ones.
func arithmetic(op syntax.Kind, a, b *big.Int) *big.Int {
	r := new(big.Int)
	switch op {
	case syntax.Plus, syntax.PlusSat:
		return r.Add(a, b)
	case syntax.Minus, syntax.MinusSat:
		return r.Sub(a, b)
	case syntax.Star:
		return r.Mul(a, b)
	case syntax.And:
		return r.And(a, b)
	case syntax.Or:
		return r.Or(a, b)
	case syntax.Xor:
		return r.Xor(a, b)
	case syntax.Slash, syntax.Percent: // of positive numbers (8.8)
		if a.Sign() < 0 || b.Sign() <= 0 {
			panic(unspecified("a division of numbers that are not positive"))
		}
		if op == syntax.Slash {
			return r.Quo(a, b)
		}
		return r.Rem(a, b)
	}
	panic(fault("operator %v", op))
}

// saturate limits a result to the range of its type (8.6, 8.7).
func saturate(t *BitsType, v *big.Int) Value {
	low, high := new(big.Int), allOnes(t.Width)
	if t.Signed {
		high = allOnes(t.Width - 1)
		low = new(big.Int).Neg(power(t.Width - 1))
	}
	switch {
	case v.Cmp(low) < 0:
		return Bits{t, low}
	case v.Cmp(high) > 0:
		return Bits{t, high}
	}
	return Bits{t, v}
}

// shift computes << and >>. The result has the type of the left operand. By at
// least the width, it is zero, or all sign bits (8.6, 8.7).
func shift(op syntax.Kind, a, b Value) Value {
	if e, ok := b.(Enum); ok {
		b = e.V
	}
	if e, ok := a.(Enum); ok {
		a = e.V
	}
	if n, ok := b.(Bits); ok && n.V == nil {
		if x, ok := a.(Bits); ok {
			return Bits{Type: x.Type}
		}
	}
	n := known(b)
	if n.Sign() < 0 {
		panic(fault("a shift by a negative number"))
	}
	switch x := a.(type) {
	case Int:
		if op == syntax.Shl {
			return Int{new(big.Int).Lsh(x.V, uint(n.Uint64()))}
		}
		return Int{new(big.Int).Rsh(x.V, uint(n.Uint64()))}
	case Bits:
		if x.V == nil {
			return x
		}
		by := uint(x.Type.Width)
		if n.Cmp(big.NewInt(int64(by))) < 0 {
			by = uint(n.Uint64())
		}
		if op == syntax.Shl {
			return wrap(x.Type, new(big.Int).Lsh(x.V, by))
		}
		return wrap(x.Type, new(big.Int).Rsh(x.V, by))
	}
	panic(fault("%v of a %T", op, a))
}

// concatenate computes a ++ b. The left operand is the upper bits and gives the
// sign (8.6).
func concatenate(a, b Value) Value {
	if s, ok := a.(string); ok {
		return s + b.(string)
	}
	if e, ok := a.(Enum); ok {
		a = e.V
	}
	if e, ok := b.(Enum); ok {
		b = e.V
	}
	x, y := a.(Bits), b.(Bits)
	t := &BitsType{x.Type.Width + y.Type.Width, x.Type.Signed}
	if x.V == nil || y.V == nil {
		return Bits{Type: t}
	}
	r := new(big.Int).Lsh(pattern(x), uint(y.Type.Width))
	return wrap(t, r.Or(r, pattern(y)))
}

// contains reports whether a set has a value (8.15).
func (f *frame) contains(set syntax.Expr, v []Value) bool {
	if tuple, ok := set.(*syntax.TupleExpr); ok { // (8.15.5)
		for i, e := range tuple.Elems {
			if !f.contains(e, v[i:i+1]) {
				return false
			}
		}
		return true
	}
	switch x := set.(type) {
	case *syntax.DefaultExpr: // (8.15.2)
		return true
	case *syntax.BinaryExpr:
		switch x.Op {
		case syntax.Mask: // (8.15.3)
			mask := numberLike(f.eval(x.Y), v[0])
			a, b := pattern(numberLike(v[0], v[0])), pattern(numberLike(f.eval(x.X), v[0]))
			m := pattern(mask)
			return a.And(a, m).Cmp(b.And(b, m)) == 0
		case syntax.Range: // (8.15.4)
			n := numberLike(v[0], v[0]).V
			return numberLike(f.eval(x.X), v[0]).V.Cmp(n) <= 0 && n.Cmp(numberLike(f.eval(x.Y), v[0]).V) <= 0
		}
	}
	if s, ok := f.setNamed(set); ok { // (13.11)
		return s.contains(v)
	}
	a, b := alike(v[0], f.eval(set))
	return truth(equal(a, b))
}

// numberLike converts a bound of a set to the type of the key.
func numberLike(v, key Value) Bits {
	if e, ok := key.(Enum); ok {
		key = e.V
	}
	if e, ok := v.(Enum); ok {
		v = e.V
	}
	t := key.(Bits).Type
	b := convert(v, t).(Bits)
	known(b)
	return b
}
