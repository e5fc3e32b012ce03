// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/types"
)

// Stmt is a statement.
type Stmt interface {
	// Where returns the text the statement was made from.
	Where() source.Span
}

// Base is embedded in all statements.
type Base struct{ Span source.Span }

// Where returns the text the statement was made from.
func (s *Base) Where() source.Span { return s.Span }

// Statements.
type (
	// Assign sets a VarRef or FieldRef.
	Assign struct {
		Base
		Dst, Src Expr
	}

	// CopyHeader copies a header with its validity; the others copy all
	// headers of a stack or union.
	CopyHeader struct {
		Base
		Dst, Src HeaderRef
	}
	CopyStack struct {
		Base
		Dst, Src *Stack
	}
	CopyUnion struct {
		Base
		Dst, Src *Union
	}
	CopyUnionStack struct {
		Base
		Dst, Src *UnionStack
	}

	// SetValid makes a header valid or invalid.
	SetValid struct {
		Base
		Header HeaderRef
		Valid  bool
	}

	// Push shifts a stack by N; Pop does it the other way.
	Push struct {
		Base
		Stack *Stack
		Union *UnionStack
		N     int
	}
	Pop struct {
		Base
		Stack *Stack
		Union *UnionStack
		N     int
	}

	// If chooses.
	If struct {
		Base
		Cond       Expr
		Then, Else []Stmt
		CondSpan   source.Span
	}

	// Block is statements that a Leave of its label ends.
	Block struct {
		Base
		Label *Label
		Body  []Stmt
	}

	// Leave goes after the Block of the label.
	Leave struct {
		Base
		Label *Label
	}

	// Loop runs Body and then Update while Cond holds. Leave of Break ends
	// it.
	Loop struct {
		Base
		Break  *Label
		Cond   Expr
		Before []Stmt // what computing Cond takes, every time
		Body   []Stmt // a Block for continue, if that is used
		Update []Stmt
	}

	// Apply applies a table. Hit and Miss, or Cases, are the statements that
	// follow.
	Apply struct {
		Base
		Table     *Table
		Hit, Miss []Stmt
		Cases     []*Case
	}

	// Exit ends the control.
	Exit struct{ Base }

	// Call calls an extern function, or with Object its method.
	Call struct {
		Base
		Name   string
		Object *Object
		Func   *types.Func
		Args   []Arg
		// TypeArgs are the types of the function's type parameters.
		TypeArgs []types.Type
		CallSpan source.Span
	}

	// Extract reads a header; Length is the size of its varbit, or nil.
	Extract struct {
		Base
		Header HeaderRef
		Length Expr
	}

	// Advance skips bits.
	Advance struct {
		Base
		Bits Expr
	}

	// Verify rejects the packet if Cond is false.
	Verify struct {
		Base
		Cond, Err Expr
	}

	// Emit appends a header to the packet.
	Emit struct {
		Base
		Header HeaderRef
	}
)

// Case has the statements after some of a table's actions or, without Actions,
// after any other action.
type Case struct {
	Actions []*Action
	Body    []Stmt
}

// Arg is an argument of an extern: one of X, List, Header, Member and Object.
type Arg struct {
	// X is a simple value or, for an out parameter, place.
	X Expr
	// List are the leaves of a struct, tuple or list, in order. It is not nil
	// for one without any.
	List []Arg
	// Header, Stack and Union are places as a whole.
	Header HeaderRef
	Stack  *Stack
	Union  *Union
	// Member is a member of an enum of the architecture.
	Member string
	Object *Object
	// Source is the type of the parameter after inference, or nil.
	Source types.Type
	Span   source.Span
}
