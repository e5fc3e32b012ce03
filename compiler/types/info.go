// SPDX-License-Identifier: Apache-2.0

package types

import "github.com/pauseless/pauseless/compiler/syntax"

// Info is the result of checking a program.
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
	// Types has the types of declarations that declare one.
	Types map[syntax.Decl]Type
	// Funcs has the functions of declarations.
	Funcs map[*syntax.FuncDecl]*Func
	// TypeExprs has the types of those type expressions that lowering needs.
	TypeExprs map[syntax.TypeExpr]Type

	noAction *Action

	in     instances
	types  []Type
	values []Value
	uses   map[int]Object
	params map[*Param]*ParamObj
	calls  map[int]*Call
}

// CallKind is what a call calls.
type CallKind uint8

// The kinds of calls.
const (
	CallFunction CallKind = iota // a function or extern function
	CallMethod                   // a method of an extern object
	CallBuiltin                  // isValid, setValid, push_front, …, in Name
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
	// Action, Block or Extern is called or constructed.
	Action *Action
	Block  *Block
	Extern *Extern
	// TypeArgs are the type arguments of Func.
	TypeArgs []Type
	// Params and Args are parallel. An omitted argument is nil.
	Params []*Param
	Args   []syntax.Expr
	// Recv is the expression before the dot, for methods, builtins and apply.
	Recv syntax.Expr
}

// TypeOf returns the type of an expression. In a generic function it may
// contain the function's type parameters.
func (in *Info) TypeOf(x syntax.Expr) Type { return in.types[x.ID()] }

// ValueOf returns the value of an expression that is known at compile time, or
// nil.
func (in *Info) ValueOf(x syntax.Expr) Value { return in.values[x.ID()] }

// Use returns the object that a name denotes.
func (in *Info) Use(x *syntax.NameExpr) Object { return in.uses[x.ID()] }

// NoAction returns the default action of tables without default_action, or nil
// if core.p4 is not included.
func (in *Info) NoAction() *Action { return in.noAction }

// ParamObj returns the object of a parameter in its body.
func (in *Info) ParamObj(p *Param) *ParamObj { return in.params[p] }

// Call returns the resolved call.
func (in *Info) Call(x *syntax.CallExpr) *Call { return in.calls[x.ID()] }
