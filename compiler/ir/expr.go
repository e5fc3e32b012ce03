// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// Expr is an expression without side effects. Operators have the language's
// meaning for the types of their operands.
type Expr interface {
	Type() Type
}

// HeaderRef is a header: a *Header, or one that is found at run time.
type HeaderRef interface {
	HeaderType() *HeaderType
}

// Headers found at run time.
type (
	// StackElem is the element of a stack with an index computed at run time.
	StackElem struct {
		Stack *Stack
		Index Expr
	}

	// StackNext is the next element to extract, StackLast the last extracted.
	StackNext struct{ Stack *Stack }
	StackLast struct{ Stack *Stack }

	// Members of elements of a stack of unions.
	UnionStackElem struct {
		Stack  *UnionStack
		Index  Expr
		Member int
	}
	UnionStackNext struct {
		Stack  *UnionStack
		Member int
	}
	UnionStackLast struct {
		Stack  *UnionStack
		Member int
	}
)

// HeaderType returns the type of the header.
func (h *Header) HeaderType() *HeaderType { return h.Type }

// HeaderType returns the type of the header.
func (h *StackElem) HeaderType() *HeaderType { return h.Stack.Type }

// HeaderType returns the type of the header.
func (h *StackNext) HeaderType() *HeaderType { return h.Stack.Type }

// HeaderType returns the type of the header.
func (h *StackLast) HeaderType() *HeaderType { return h.Stack.Type }

// HeaderType returns the type of the header.
func (h *UnionStackElem) HeaderType() *HeaderType { return h.Stack.Type.Members[h.Member].Type }

// HeaderType returns the type of the header.
func (h *UnionStackNext) HeaderType() *HeaderType { return h.Stack.Type.Members[h.Member].Type }

// HeaderType returns the type of the header.
func (h *UnionStackLast) HeaderType() *HeaderType { return h.Stack.Type.Members[h.Member].Type }

// Expressions.
type (
	// Const is a constant; of type bool it is 0 or 1.
	Const struct {
		T   Type
		Val *big.Int
		// Member is the name of the enum member or error that the constant represents.
		Member string
	}

	// Text is a string.
	Text struct{ Val string }

	// VarRef is the value of a variable.
	VarRef struct{ Var *Var }

	// FieldRef is the value of a field of a header.
	FieldRef struct {
		Header HeaderRef
		Field  int
	}

	// ParamRef is a parameter of the action.
	ParamRef struct{ Param *ActionParam }

	// Valid is the validity of a header, UnionValid whether one header of a union
	// is valid.
	Valid      struct{ Header HeaderRef }
	UnionValid struct{ Union *Union }

	// LastIndex is the index of the last extracted element.
	LastIndex struct {
		Stack *Stack
		Union *UnionStack
	}

	// Lookahead is the packet's bits at Offset bits from the current position.
	Lookahead struct {
		T      Type
		Offset int
	}

	// Unary is -X, ~X or !X.
	Unary struct {
		Op syntax.Kind
		X  Expr
	}

	// Binary is X Op Y; T is the type of the result.
	Binary struct {
		Op   syntax.Kind
		T    Type
		X, Y Expr
	}

	// Mux is Cond ? X : Y.
	Mux struct{ Cond, X, Y Expr }

	// Cast converts X to type T.
	Cast struct {
		T Type
		X Expr
	}

	// Slice is bits Hi to Lo of X.
	Slice struct {
		X      Expr
		Hi, Lo int
	}
)

// Type returns the type of the value.
func (x *Const) Type() Type { return x.T }

// Type returns the type of the value.
func (x *Text) Type() Type { return Type{Kind: String} }

// Type returns the type of the value.
func (x *VarRef) Type() Type { return x.Var.Type }

// Type returns the type of the value.
func (x *FieldRef) Type() Type { return x.Header.HeaderType().Fields[x.Field].Type }

// Type returns the type of the value.
func (x *ParamRef) Type() Type { return x.Param.Type }

// Type returns the type of the value.
func (x *Valid) Type() Type { return BoolType }

// Type returns the type of the value.
func (x *UnionValid) Type() Type { return BoolType }

// Type returns the type of the value.
func (x *LastIndex) Type() Type { return Bit32 }

// Type returns the type of the value.
func (x *Lookahead) Type() Type { return x.T }

// Type returns the type of the value.
func (x *Unary) Type() Type { return x.X.Type() }

// Type returns the type of the value.
func (x *Binary) Type() Type { return x.T }

// Type returns the type of the value.
func (x *Mux) Type() Type { return x.X.Type() }

// Type returns the type of the value.
func (x *Cast) Type() Type { return x.T }

// Type returns the type of the value.
func (x *Slice) Type() Type { return Type{Bits, x.Hi - x.Lo + 1} }

// Walk calls f for x and, while f returns true, for the parts of x.
func Walk(x Expr, f func(Expr) bool) {
	if x == nil || !f(x) {
		return
	}
	switch x := x.(type) {
	case *FieldRef:
		walkRef(x.Header, f)
	case *Valid:
		walkRef(x.Header, f)
	case *Unary:
		Walk(x.X, f)
	case *Binary:
		Walk(x.X, f)
		Walk(x.Y, f)
	case *Mux:
		Walk(x.Cond, f)
		Walk(x.X, f)
		Walk(x.Y, f)
	case *Cast:
		Walk(x.X, f)
	case *Slice:
		Walk(x.X, f)
	}
}

func walkRef(h HeaderRef, f func(Expr) bool) {
	switch h := h.(type) {
	case *StackElem:
		Walk(h.Index, f)
	case *UnionStackElem:
		Walk(h.Index, f)
	}
}
