// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// value is the compile-time form of an expression.
type value any

type (
	// scalar is a simple value that the switch computes, or a constant. If x is a
	// variable or field, it is a place.
	scalar struct{ x ir.Expr }

	// number is a value of type int.
	number struct{ v *big.Int }

	// text is a string.
	text struct{ s string }

	// aggregate is a struct, tuple, list or array of anything but headers.
	aggregate struct {
		t     types.Type
		elems []value
	}

	// header is a header at a place, headerLit a valid header made of its fields,
	// and noHeader is {#}.
	header struct {
		ref ir.HeaderRef
		t   *types.Struct
	}
	headerLit struct {
		t     *types.Struct
		elems []value
	}
	noHeader struct{}

	// stack is a header stack; stackLit is one made of its elements.
	stack struct {
		s *ir.Stack
		t *types.Array
	}
	stackLit struct {
		t     *types.Array
		elems []value
	}

	// union and unionStack are a header union and a stack of them.
	union struct {
		u *ir.Union
		t *types.Struct
	}
	unionStack struct {
		s *ir.UnionStack
		t *types.Array
	}
	// unionAt is the element of a union stack with an index found at run time, or
	// its last or next.
	unionAt struct {
		s     *ir.UnionStack
		index ir.Expr
		last  bool
		t     *types.Struct
	}

	// object is an extern object.
	object struct{ o *ir.Object }

	// packet is a packet_in or packet_out of the architecture.
	packet struct{}

	// element is an array element with an index found at run time.
	element struct {
		array aggregate
		index ir.Expr
	}
	// sliceOf is width bits of a place, from a lowest bit that is constant or found
	// at run time. Only lvalue makes it.
	sliceOf struct {
		of    value
		low   ir.Expr
		width int
	}
)

// boolConst and bitConst make constants.
func boolConst(b bool) *ir.Const {
	v := new(big.Int)
	if b {
		v.SetInt64(1)
	}
	return &ir.Const{T: ir.BoolType, Val: v}
}

func bitConst(width int, v int64) *ir.Const {
	return &ir.Const{T: ir.Type{Kind: ir.Bits, Width: width}, Val: big.NewInt(v)}
}

// substitute replaces type parameters of the function being lowered in t.
func (l *lowerer) substitute(t types.Type) types.Type {
	for f := l.frame; f != nil; f = f.parent {
		if f.subst != nil {
			t = l.info.Substitute(t, f.subst)
		}
	}
	return t
}

// typeOf returns the type of an expression in the code being lowered.
func (l *lowerer) typeOf(e syntax.Expr) types.Type { return l.substitute(l.info.TypeOf(e)) }

// base returns the type under new types and the underlying type of an enum.
func base(t types.Type) types.Type {
	for {
		switch u := t.(type) {
		case *types.NewType:
			t = u.Base
		case *types.Enum:
			if u.Underlying == nil {
				return t
			}
			t = u.Underlying
		default:
			return t
		}
	}
}

// irType returns the run-time type of values of type t, if they are simple.
func irType(t types.Type) (ir.Type, bool) {
	switch t := base(t).(type) {
	case *types.Bits:
		if t.Signed {
			return ir.Type{Kind: ir.Signed, Width: t.Width}, true
		}
		return ir.Type{Kind: ir.Bits, Width: t.Width}, true
	case *types.Basic:
		switch t {
		case types.Bool:
			return ir.BoolType, true
		case types.Error:
			return ir.ErrorType, true
		}
	case *types.Varbit:
		return ir.Type{Kind: ir.Varbit, Width: t.Width}, true
	case *types.Enum:
		return ir.Bit32, true
	}
	return ir.Type{}, false
}

// constant returns a value of type t that the checker has computed.
func (l *lowerer) constant(v types.Value, t types.Type) value {
	switch v := v.(type) {
	case types.IntValue:
		if it, ok := irType(t); ok {
			return scalar{&ir.Const{T: it, Val: v.Int}}
		}
		return number{v.Int}
	case types.BoolValue:
		return scalar{boolConst(bool(v))}
	case types.StringValue:
		return text{string(v)}
	case types.NoHeaderValue:
		return noHeader{}
	case types.MemberValue:
		return l.memberConst(string(v), t)
	case types.ListValue:
		elems := make([]value, len(v))
		for i, e := range v {
			elems[i] = l.constant(e, partType(t, i))
		}
		return l.compose(t, elems)
	}
	return nil
}

// memberConst returns a member of an enum or an error.
func (l *lowerer) memberConst(name string, t types.Type) value {
	index := 0
	switch t := t.(type) {
	case *types.Enum:
		index = t.Member(name)
		return scalar{&ir.Const{T: ir.Bit32, Val: big.NewInt(int64(index)), Member: name}}
	case *types.Basic:
		if t == types.Error {
			for i, e := range l.info.Errors {
				if e == name {
					index = i
				}
			}
			return scalar{&ir.Const{T: ir.ErrorType, Val: big.NewInt(int64(index)), Member: name}}
		}
	}
	return text{name}
}

// partType returns the type of part i of a value of type t.
func partType(t types.Type, i int) types.Type {
	switch t := t.(type) {
	case *types.Struct:
		return t.Fields[i].Type
	case *types.Tuple:
		return t.Elems[i]
	case *types.Array:
		return t.Elem
	case *types.List:
		return t.Elem
	case *types.Record:
		return t.Types[i]
	}
	return types.Invalid
}

// compose makes a value of type t from its parts.
func (l *lowerer) compose(t types.Type, elems []value) value {
	switch t := t.(type) {
	case *types.Struct:
		if t.Kind == types.Header {
			return headerLit{t, elems}
		}
	case *types.Array:
		if t.IsStack() {
			return stackLit{t, elems}
		}
	}
	return aggregate{t, elems}
}

// convert converts v to type t. The checker has verified that this is possible.
func (l *lowerer) convert(v value, t types.Type) value {
	switch v := v.(type) {
	case number:
		if b, ok := base(t).(*types.Bits); ok {
			it, _ := irType(t)
			return scalar{&ir.Const{T: it, Val: types.Wrap(v.v, b)}}
		}
	case aggregate:
		if v.t == t || types.Identical(v.t, t) {
			return v
		}
		return l.convertList(v, t)
	case nil:
		return v
	case text:
		if v.s == "..." {
			return l.zero(t)
		}
	}
	return v
}

// convertList converts a list literal to a value of type t.
func (l *lowerer) convertList(v aggregate, t types.Type) value {
	switch t := t.(type) {
	case *types.Struct:
		elems := make([]value, len(t.Fields))
		if r, ok := v.t.(*types.Record); ok {
			for i, name := range r.Names {
				if f, k := t.Field(name); f != nil {
					elems[k] = l.convert(v.elems[i], f.Type)
				}
			}
		} else {
			for i, e := range v.elems {
				if i < len(elems) {
					elems[i] = l.convert(e, t.Fields[i].Type)
				}
			}
		}
		for i, e := range elems {
			if e == nil {
				elems[i] = l.zero(t.Fields[i].Type)
			}
		}
		return l.compose(t, elems)
	case *types.Tuple, *types.List, *types.Array:
		elems := make([]value, len(v.elems))
		for i, e := range v.elems {
			elems[i] = l.convert(e, partType(t, i))
		}
		return l.compose(t, elems)
	}
	return v
}

// zero returns the default value of a type.
func (l *lowerer) zero(t types.Type) value {
	if v := types.ZeroValue(t); v != nil {
		return l.constant(v, t)
	}
	return nil
}

// isConst returns the constant that v is, or nil.
func isConst(v value) *ir.Const {
	if s, ok := v.(scalar); ok {
		c, _ := s.x.(*ir.Const)
		return c
	}
	return nil
}

// isPlace reports whether x is a variable or field.
func isPlace(x ir.Expr) bool {
	switch x.(type) {
	case *ir.VarRef, *ir.FieldRef:
		return true
	}
	return false
}
