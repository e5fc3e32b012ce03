// SPDX-License-Identifier: Apache-2.0

package types

import "github.com/pauseless/pauseless/compiler/syntax"

// Info is what the checker found out about a program.
type Info struct {
	// Main is the instance named main, or nil.
	Main *Instance
	// Errors are all errors and MatchKinds all match kinds, in order.
	Errors     []string
	MatchKinds []string
	// Enums are the enums in order of declaration.
	Enums []*Enum
	// Structs are the struct-like types in order of declaration.
	Structs []*Struct
	// Defs has the objects of declarations.
	Defs map[syntax.Decl]Object
	// Structs and other types of declarations that declare one.
	Types map[syntax.Decl]Type
	// Funcs has the functions of declarations.
	Funcs map[*syntax.FuncDecl]*Func
	// TypeExprs has the types of written types that lowering needs.
	TypeExprs map[syntax.TypeExpr]Type

	noAction *Action

	in     instances
	types  []Type
	values []Value
	uses   map[int]Object
	params map[*Param]*ParamObj
	calls  map[int]*Call
}

// CallKind says what a call calls.
type CallKind uint8

// The kinds of calls.
const (
	CallFunction CallKind = iota // a function or extern function
	CallMethod                   // a method of an extern object
	CallBuiltin                  // isValid, setValid, push_front, …; Name says which
	CallApply                    // apply of a table, parser or control
	CallDirect                   // apply of a parser or control type
	CallAction
	CallConstructor
)

// Call is a call after resolution of overloads, inference of type arguments
// and ordering of arguments.
type Call struct {
	Kind CallKind
	Name string // of a builtin
	Func *Func  // function, method or constructor
	// Action, Block, Extern: what is called or constructed.
	Action *Action
	Block  *Block
	Extern *Extern
	// TypeArgs belong to the type parameters of Func.
	TypeArgs []Type
	// Params and Args go together; an argument is nil where it was left out.
	Params []*Param
	Args   []syntax.Expr
	// Recv is the expression before the dot, for methods, builtins and apply.
	Recv syntax.Expr
}

// TypeOf returns the type of an expression. In a generic function it may
// have the function's type parameters in it.
func (in *Info) TypeOf(x syntax.Expr) Type { return in.types[x.ID()] }

// ValueOf returns the value of an expression that is known already, or nil.
func (in *Info) ValueOf(x syntax.Expr) Value { return in.values[x.ID()] }

// Use returns what a name stands for.
func (in *Info) Use(x *syntax.NameExpr) Object { return in.uses[x.ID()] }

// NoAction returns the action that tables without default_action have, or
// nil if core.p4 is not included.
func (in *Info) NoAction() *Action { return in.noAction }

// ParamObj returns the object of a parameter inside of what has it.
func (in *Info) ParamObj(p *Param) *ParamObj { return in.params[p] }

// Call returns what is known about a call.
func (in *Info) Call(x *syntax.CallExpr) *Call { return in.calls[x.ID()] }
