// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/types"
)

// Stmt is a statement.
type Stmt interface {
	// Where returns the source span of the statement.
	Where() source.Span
}

// Base is embedded in all statements.
type Base struct{ Span source.Span }

// Where returns the source span of the statement.
func (s *Base) Where() source.Span { return s.Span }

// Statements.
type (
	// Assign sets a VarRef or FieldRef.
	Assign struct {
		Base
		Dst, Src Expr
	}

	// CopyHeader copies a header including its validity. The others copy all
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

	// Push shifts a stack by N towards higher indices, Pop towards lower ones.
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

	// If is a conditional.
	If struct {
		Base
		Cond       Expr
		Then, Else []Stmt
		CondSpan   source.Span
	}

	// Block is statements that Leave of its label ends.
	Block struct {
		Base
		Label *Label
		Body  []Stmt
	}

	// Leave continues after the Block with the label.
	Leave struct {
		Base
		Label *Label
	}

	// Loop runs Body and then Update while Cond holds. Leave of Break ends it.
	Loop struct {
		Base
		Break  *Label
		Cond   Expr
		Before []Stmt // computes Cond, in each iteration
		Body   []Stmt // a Block if continue is used
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
// after all other actions.
type Case struct {
	Actions []*Action
	Body    []Stmt
}

// Arg is an argument of an extern: one of X, List, Header, Member and Object.
type Arg struct {
	// X is a scalar or, for an out parameter, a place.
	X Expr
	// List has the leaves of a struct, tuple or list, in order. It is empty but not
	// nil if there are none.
	List []Arg
	// Header, Stack and Union are complete places.
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
