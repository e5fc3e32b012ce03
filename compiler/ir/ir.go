// SPDX-License-Identifier: Apache-2.0

// Package ir represents programs in the form that switches execute. Lowering
// has evaluated constants, specialised generic code, and inlined functions and
// nested instances of controls and parsers. A program consists of places
// (header fields and variables), parser states, tables, actions, and
// statements.
//
// Statements are structured. A return inside inlined code is a Leave of the
// enclosing labelled Block.
package ir

import (
	"fmt"
	"math/big"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// Kind is the kind of a value at run time.
type Kind uint8

// The kinds of values.
const (
	Bits   Kind = iota // bit<Width>
	Signed             // int<Width>
	Bool
	Error
	Varbit
	String // only as an argument of a call
)

// Type is the type of a value at run time.
type Type struct {
	Kind  Kind
	Width int // in bits; the maximum of a varbit
}

// ErrorWidth is the width of an error in bits.
const ErrorWidth = 32

// Frequent types.
var (
	BoolType  = Type{Bool, 1}
	ErrorType = Type{Error, ErrorWidth}
	Bit32     = Type{Bits, 32}
)

func (t Type) String() string {
	switch t.Kind {
	case Bits:
		return fmt.Sprintf("bit<%d>", t.Width)
	case Signed:
		return fmt.Sprintf("int<%d>", t.Width)
	case Varbit:
		return fmt.Sprintf("varbit<%d>", t.Width)
	}
	return [...]string{Bool: "bool", Error: "error", String: "string"}[t.Kind]
}

// IsNumber reports whether t is bit<W> or int<W>.
func (t Type) IsNumber() bool { return t.Kind == Bits || t.Kind == Signed }

// Program is a whole program.
type Program struct {
	Arch *arch.Arch
	// Headers, Stacks, Unions and Vars are all places, in order of creation.
	HeaderTypes []*HeaderType
	UnionTypes  []*UnionType
	Headers     []*Header
	Stacks      []*Stack
	Unions      []*Union
	UnionStacks []*UnionStack
	Vars        []*Var
	Errors      []string
	Enums       []*types.Enum
	Parsers     []*Parser
	Controls    []*Control
	Objects     []*Object
	// Actions are the actions of all tables. Called are the actions that
	// controls call directly. They are inlined, and only their names and
	// declarations remain.
	Actions []*Action
	Called  []*Action
	Main    *types.Instance // the package instance
	Pipe    string          // name of the package instance that is main's argument, in TNA
}

// HeaderType is the layout of headers, or of an architecture's struct that is
// stored like a header.
type HeaderType struct {
	Name   string
	Fields []*Field
	Struct *types.Struct
}

// Field is a field of a header type.
type Field struct {
	Name string
	Type Type
	Decl *syntax.Field
}

// Header is an instance of a header type. A metadata header is always valid.
type Header struct {
	Name     string
	Type     *HeaderType
	Metadata bool
	// Stack and Index identify the element of a stack, Union the union of a member.
	Stack *Stack
	Index int
	Union *Union
}

// Stack is a header stack.
type Stack struct {
	Name  string
	Type  *HeaderType
	Elems []*Header
}

// UnionType is a header union.
type UnionType struct {
	Name    string
	Members []UnionMember
	Struct  *types.Struct
}

// UnionMember is a header of a union type.
type UnionMember struct {
	Name string
	Type *HeaderType
}

// Union is an instance of a union.
type Union struct {
	Name    string
	Type    *UnionType
	Members []*Header
	Stack   *UnionStack
	Index   int
}

// UnionStack is a stack of unions.
type UnionStack struct {
	Name  string
	Type  *UnionType
	Elems []*Union
}

// Var is a variable of a simple type.
type Var struct {
	Name string
	Type Type
	// Meta is true for the user's metadata. Lists are the numbers of its field
	// lists.
	Meta  bool
	Lists []int
}

// FirstNamelessList is the smallest number of a field list that has no number in the program:
// clone3, resubmit and recirculate name their fields in the call.
const FirstNamelessList = 1 << 8

// Label names a Block or Loop.
type Label struct {
	Name string
	Used bool
}

// Parser is a parser.
type Parser struct {
	Name      string
	Role      string
	Start     *State
	States    []*State
	ValueSets []*ValueSet
	Span      source.Span
}

// State is a parser state. It ends in a Select, or else in Next. A nil Next
// accepts.
type State struct {
	Name   string
	Body   []Stmt
	Select *Select
	Next   *State
	// Reject makes a state without Select reject the packet.
	Reject bool
	Decl   *syntax.StateDecl
}

// Select chooses the next state.
type Select struct {
	Keys  []Expr
	Cases []*SelectCase
	Span  source.Span
}

// SelectCase is taken if all Keys match or, with ValueSet, if the set has the
// values.
type SelectCase struct {
	Keys     []KeySet
	ValueSet *ValueSet
	Next     *State // nil accepts
	Reject   bool
}

// KeySet is one part of a key set: the values v with v & Mask == Value, or a
// range from Value to High.
type KeySet struct {
	Value *big.Int
	Mask  *big.Int // nil compares all bits
	High  *big.Int // nil if it is not a range
	Any   bool
}

// ValueSet is a parser value set.
type ValueSet struct {
	Name  string
	Width int
	Size  int64
	Decl  *types.ValueSet
	Path  string
}

// Control is a control of the architecture, with all nested instances inlined.
type Control struct {
	Name    string
	Role    string
	Body    []Stmt
	Tables  []*Table
	Objects []*Object
	Span    source.Span
	Decl    *types.Block
}

// Object is an instance of an extern.
type Object struct {
	Name string // the name for the control plane
	Type *types.Extern
	Kind string // the name of its type in v1model, or of the type itself
	Args []Arg  // of the constructor
	// Params are the parameters of the constructor.
	Params []*types.Param
	Decl   *types.Instance
	Span   source.Span
	// Annotations are those of the declaration.
	Annotations []*syntax.Annotation
	// Role is that of the enclosing parser or control, "" at the top level.
	Role string
	// Prop is set for an object constructed in a table property.
	Prop *syntax.Property
}

// Arg returns the constructor's argument for the named parameter, or nil.
func (o *Object) Arg(name string) *Arg {
	for i, p := range o.Params {
		if p.Name == name && i < len(o.Args) {
			return &o.Args[i]
		}
	}
	return nil
}

// Profile returns the action profile that a selector is constructed with, or the
// object itself.
func (o *Object) Profile() *Object {
	if a := o.Arg("action_profile"); a != nil && a.Object != nil {
		return a.Object
	}
	return o
}

// Table is a match-action table.
type Table struct {
	Name    string // the name for the control plane
	Keys    []*Key
	Actions []*ActionRef
	// Default is the default action; nil for none.
	Default      *ActionCall
	ConstDefault bool
	Entries      []*Entry
	ConstEntries bool
	HasEntries   bool // there is a list, even if it is empty
	// LargestWins is true if the largest priority value has precedence.
	LargestWins bool
	Size        int64
	SizeSet     bool
	// Props are the properties that the architecture defines, by name.
	Props map[string]*Prop
	Decl  *types.TableObj
	Span  source.Span
	Role  string
}

// Prop is a table property.
type Prop struct {
	Object *Object
	Const  *Const
	Decl   *syntax.Property
}

// Key is a key of a table.
type Key struct {
	X      Expr
	Match  string
	Name   string
	Source types.Type
	Decl   *syntax.KeyElement
}

// ActionRef is an action in the list of a table.
type ActionRef struct {
	Action *Action
	Ref    *syntax.ActionRef // nil for an implicit NoAction
}

// ActionCall is an action with its arguments.
type ActionCall struct {
	Action *Action
	Args   []*Const
}

// Entry is an entry of a table in the program.
type Entry struct {
	Keys []KeySet
	Call *ActionCall
	// Priority is nil if the keys need none. Rank is the value of @priority, BMv2's
	// annotation, of which the smallest has precedence.
	Priority *big.Int
	Rank     *big.Int
	Const    bool
	Decl     *syntax.Entry
}

// Action is an action that table entries can have.
type Action struct {
	Name   string // the name for the control plane
	Params []*ActionParam
	Body   []Stmt
	Decl   *types.Action
	Span   source.Span
	Role   string
}

// ActionParam is a parameter of an action that entries set.
type ActionParam struct {
	Name   string
	Type   Type
	Source types.Type
	Decl   *types.Param
}
