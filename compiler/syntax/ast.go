// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/source"
)

// Node is a node of the tree.
type Node interface {
	Pos() source.Pos // of the first byte
	End() source.Pos // after the last byte
}

// Span returns the text that the node covers.
func Span(n Node) source.Span { return source.Span{Start: n.Pos(), End: n.End()} }

type node struct{ start, end source.Pos }

func (n *node) Pos() source.Pos { return n.start }
func (n *node) End() source.Pos { return n.end }

// SetSpan sets the position of a node that a pass has created.
func (n *node) SetSpan(sp source.Span) { n.start, n.end = sp.Start, sp.End }

// Ident is a name where it is declared or selected.
type Ident struct {
	node
	Name string
}

// Program is a whole program.
type Program struct {
	Decls []Decl
	// Exprs is the number of expressions: their IDs are below it.
	Exprs int
	Errs  bool // there were syntax errors
}

// Expr is an expression. Its ID is an index for the tables that passes keep
// about expressions.
type Expr interface {
	Node
	ID() int
	anExpr()
}

type expr struct {
	node
	id     int32
	height int32
}

func (e *expr) ID() int { return int(e.id) }
func (*expr) anExpr()   {}

// Expressions.
type (
	// BadExpr is in the place of a syntax error.
	BadExpr struct{ expr }

	// NameExpr is a name. With Global it has a dot before it and is looked up at
	// the top level.
	NameExpr struct {
		expr
		Name   string
		Global bool
	}

	// IntLit is an integer literal. Width is -1 without a given width. Base is 2,
	// 8, 10 or 16.
	IntLit struct {
		expr
		Value  *big.Int
		Width  int
		Signed bool
		Base   int
	}

	// BoolLit is true or false.
	BoolLit struct {
		expr
		Value bool
	}

	// StringLit is a string literal. Its escape sequences are not interpreted.
	StringLit struct {
		expr
		Value string
	}

	// ThisExpr is "this", in an abstract method.
	ThisExpr struct{ expr }

	// ListExpr is {a, b}. With Dots it ends in "...".
	ListExpr struct {
		expr
		Elems []Expr
	}

	// StructExpr is {a = 1, b = 2}; with Dots, the other fields get their
	// default values.
	StructExpr struct {
		expr
		Fields []*FieldValue
		Dots   bool
	}

	// InvalidExpr is {#}, an invalid header.
	InvalidExpr struct{ expr }

	// DotsExpr is "...", the default value of the expected type.
	DotsExpr struct{ expr }

	// DefaultExpr is "default" or "_" in the place of a set or an argument.
	DefaultExpr struct {
		expr
		Word bool // it is "default"
	}

	// UnaryExpr is -x, +x, ~x or !x.
	UnaryExpr struct {
		expr
		Op Kind
		X  Expr
	}

	// BinaryExpr is X Op Y. The operators Mask and Range make sets.
	BinaryExpr struct {
		expr
		Op    Kind
		OpPos source.Pos
		X, Y  Expr
	}

	// CondExpr is Cond ? X : Y.
	CondExpr struct {
		expr
		Cond, X, Y Expr
	}

	// CastExpr is (Type) X.
	CastExpr struct {
		expr
		Type TypeExpr
		X    Expr
	}

	// TypeNameExpr is a type in the place of an expression: T.x, T(…).
	TypeNameExpr struct {
		expr
		Type TypeExpr
	}

	// MemberExpr is X.Sel.
	MemberExpr struct {
		expr
		X   Expr
		Sel *Ident
	}

	// IndexExpr is X[Index].
	IndexExpr struct {
		expr
		X, Index Expr
	}

	// SliceExpr is X[Hi:Lo] or, with Plus, X[Lo+:Width].
	SliceExpr struct {
		expr
		X, Hi, Lo Expr
		Plus      bool // Hi is the width
	}

	// CallExpr is Fun<TypeArgs>(Args). Fun is a TypeNameExpr for a constructor.
	CallExpr struct {
		expr
		Fun      Expr
		TypeArgs []TypeExpr
		Args     []*Argument
	}

	// TupleExpr is the (a, b) of a key set or of select.
	TupleExpr struct {
		expr
		Elems []Expr
	}

	// SelectExpr is select (…) {…} after "transition".
	SelectExpr struct {
		expr
		Keys  []Expr
		Cases []*SelectCase
	}
)

// FieldValue is name = value in a struct expression or annotation.
type FieldValue struct {
	node
	Name  *Ident
	Value Expr
}

// Argument is an argument of a call; Name is nil if it is positional. The
// value of "_" is a DefaultExpr.
type Argument struct {
	node
	Name  *Ident
	Value Expr
}

// SelectCase is one line of a select expression.
type SelectCase struct {
	node
	Keys Expr // a TupleExpr if there are several
	Next *Ident
}

// TypeExpr is a type as it is written.
type TypeExpr interface {
	Node
	aType()
}

type typ struct{ node }

func (*typ) aType() {}

// Types.
type (
	// BadType is in the place of a syntax error.
	BadType struct{ typ }

	// BaseType is bool, bit<W> and so on. Kind is the keyword. Width may be nil.
	BaseType struct {
		typ
		Kind  Kind
		Width Expr
	}

	// NamedType is a name with optional type arguments.
	NamedType struct {
		typ
		Name   string
		Global bool
		Args   []TypeExpr
	}

	// ArrayType is Elem[Size].
	ArrayType struct {
		typ
		Elem TypeExpr
		Size Expr
	}

	// TupleType is tuple<…>.
	TupleType struct {
		typ
		Elems []TypeExpr
	}

	// ListType is list<Elem>.
	ListType struct {
		typ
		Elem TypeExpr
	}

	// DontCareType is _ among type arguments.
	DontCareType struct{ typ }
)

// Annotation is @name, @name(body) or @name[body].
type Annotation struct {
	node
	Name       string
	HasBody    bool // there were parentheses or brackets
	Structured bool
	Pragma     bool
	Tokens     []Token // of an unstructured body
	// Exprs or Fields are the values of a structured body. Some annotations of the
	// architecture have such values in parentheses: then Tokens is set as well.
	Exprs  []Expr
	Fields []*FieldValue
}

// Direction is how a parameter is passed.
type Direction uint8

// Directions.
const (
	NoDirection Direction = iota
	DirIn
	DirOut
	DirInout
)

func (d Direction) String() string { return [...]string{"", "in", "out", "inout"}[d] }

// Param is a parameter.
type Param struct {
	node
	Annotations []*Annotation
	Dir         Direction
	Type        TypeExpr
	Name        *Ident
	Default     Expr // or nil
}
