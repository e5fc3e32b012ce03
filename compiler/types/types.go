// SPDX-License-Identifier: Apache-2.0

package types

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// Type is a P4 type. Declared types are equal if they are the same pointer. Use
// Identical to compare types.
type Type interface{ String() string }

// Basic is a type without parts.
type Basic struct{ name string }

func (t *Basic) String() string { return t.name }

// The basic types.
var (
	Invalid   = &Basic{"invalid type"} // after an error; matches every type
	Void      = &Basic{"void"}
	Bool      = &Basic{"bool"}
	Int       = &Basic{"int"} // of any size
	String    = &Basic{"string"}
	Error     = &Basic{"error"}
	MatchKind = &Basic{"match_kind"}
	Dontcare  = &Basic{"_"}   // of _ and default
	Default   = &Basic{"..."} // of ..., the default value of any type
	State     = &Basic{"state"}
	NoHeader  = &Basic{"{#}"} // of {#}
	Anything  = &Basic{"_ "}  // an argument of type _
)

// Bits is bit<Width> or, if Signed, int<Width>.
type Bits struct {
	Width  int
	Signed bool
}

func (t *Bits) String() string {
	if t.Signed {
		return fmt.Sprintf("int<%d>", t.Width)
	}
	return fmt.Sprintf("bit<%d>", t.Width)
}

// Varbit is varbit<Width>.
type Varbit struct{ Width int }

func (t *Varbit) String() string { return fmt.Sprintf("varbit<%d>", t.Width) }

// TypeParam is a type parameter of a generic declaration.
type TypeParam struct {
	Name string
	// Fresh marks a parameter to be inferred, in place of _ or of omitted
	// arguments.
	Fresh bool
}

func (t *TypeParam) String() string { return t.Name }

// isFresh reports whether t is _, which matches every type.
func isFresh(t Type) bool {
	p, ok := t.(*TypeParam)
	return ok && p.Fresh
}

// StructKind is the kind of a Struct.
type StructKind uint8

// The kinds of Struct.
const (
	PlainStruct StructKind = iota
	Header
	HeaderUnion
)

func (k StructKind) String() string { return [...]string{"struct", "header", "header_union"}[k] }

// Struct is a struct, header or header union.
type Struct struct {
	Kind   StructKind
	Name   string
	Decl   *syntax.StructDecl
	Fields []*Field

	generic
	origin *Struct
}

// Field is a field of a Struct.
type Field struct {
	Name string
	Type Type
	Decl *syntax.Field
}

func (t *Struct) String() string { return t.Name + t.args() }

// Field returns the field of the given name and its index, or nil and -1.
func (t *Struct) Field(name string) (*Field, int) {
	for i, f := range t.Fields {
		if f.Name == name {
			return f, i
		}
	}
	return nil, -1
}

// generic is the common part of generic types: parameters before and arguments
// after specialisation.
type generic struct {
	TypeParams []*TypeParam
	TypeArgs   []Type
}

func (g *generic) args() string {
	if len(g.TypeArgs) == 0 {
		return ""
	}
	return "<" + typeList(g.TypeArgs) + ">"
}

func typeList(list []Type) string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.String()
	}
	return strings.Join(names, ", ")
}

// Enum is an enum. Underlying is nil if it has no underlying type.
type Enum struct {
	Name       string
	Decl       *syntax.EnumDecl
	Members    []string
	Underlying *Bits
	Values     []*big.Int // with Underlying
}

func (t *Enum) String() string { return t.Name }

// Member returns the index of a member, or -1.
func (t *Enum) Member(name string) int {
	for i, m := range t.Members {
		if m == name {
			return i
		}
	}
	return -1
}

// NewType is a type declared by "type".
type NewType struct {
	Name string
	Decl *syntax.TypedefDecl
	Base Type
}

func (t *NewType) String() string { return t.Name }

// Array is an array. An array of headers or unions is a header stack.
type Array struct {
	Elem Type
	Size int
}

func (t *Array) String() string { return fmt.Sprintf("%v[%d]", t.Elem, t.Size) }

// IsStack reports whether the array is a header stack.
func (t *Array) IsStack() bool {
	s, ok := t.Elem.(*Struct)
	return ok && s.Kind != PlainStruct
}

// Tuple is tuple<…>, and the type of {a, b} without an expected type.
type Tuple struct{ Elems []Type }

func (t *Tuple) String() string { return "tuple<" + typeList(t.Elems) + ">" }

// List is list<Elem>.
type List struct{ Elem Type }

func (t *List) String() string { return "list<" + t.Elem.String() + ">" }

// Set is the type of ranges, masks and value sets of Elem.
type Set struct{ Elem Type }

func (t *Set) String() string { return "set<" + t.Elem.String() + ">" }

// Record is the type of {a = 1, b = 2} without an expected struct.
type Record struct {
	Names []string
	Types []Type
	Dots  bool
}

func (t *Record) String() string {
	parts := make([]string, len(t.Names))
	for i, n := range t.Names {
		parts[i] = n + ": " + t.Types[i].String()
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Param is a parameter of a function, block or constructor.
type Param struct {
	Name     string
	Dir      syntax.Direction
	Type     Type
	Default  syntax.Expr // or nil
	Optional bool
	Ctor     bool // of a constructor
	Decl     *syntax.Param
}

func (p *Param) String() string {
	s := p.Type.String() + " " + p.Name
	if p.Dir != syntax.NoDirection {
		s = p.Dir.String() + " " + s
	}
	return s
}

func paramList(list []*Param) string {
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = p.String()
	}
	return strings.Join(parts, ", ")
}

// Func is a function, method, extern function or constructor.
type Func struct {
	Name       string
	TypeParams []*TypeParam
	Params     []*Param
	Result     Type // nil for a constructor
	Decl       *syntax.FuncDecl
	// Owner is the extern that has the method, or nil.
	Owner *Extern

	origin *Func
}

// Origin returns the function as declared, before the type arguments of its
// extern were applied.
func (f *Func) Origin() *Func {
	if f.origin != nil {
		return f.origin
	}
	return f
}

func (f *Func) String() string {
	result := ""
	if f.Result != nil {
		result = f.Result.String() + " "
	}
	return result + f.Name + "(" + paramList(f.Params) + ")"
}

// Action is an action.
type Action struct {
	Name   string
	Params []*Param
	Decl   *syntax.ActionDecl
}

func (t *Action) String() string { return "action " + t.Name }

// Extern is an extern object type.
type Extern struct {
	Name    string
	Decl    *syntax.ExternDecl
	Methods []*Func
	Ctors   []*Func

	generic
	origin *Extern
}

func (t *Extern) String() string { return t.Name + t.args() }

// Origin returns the extern as it is declared.
func (t *Extern) Origin() *Extern {
	if t.origin != nil {
		return t.origin
	}
	return t
}

// BlockKind is the kind of a Block.
type BlockKind uint8

// The kinds of Block.
const (
	ParserBlock BlockKind = iota
	ControlBlock
	PackageBlock
)

func (k BlockKind) String() string { return [...]string{"parser", "control", "package"}[k] }

// Block is a parser, control or package. Parsers and controls without body are
// types.
type Block struct {
	Kind       BlockKind
	Name       string
	Params     []*Param // of apply; of the constructor for a package
	CtorParams []*Param
	HasBody    bool
	Parser     *syntax.ParserDecl
	Control    *syntax.ControlDecl
	Package    *syntax.PackageDecl

	generic
	origin *Block
}

func (t *Block) String() string { return t.Name + t.args() }

// Origin returns the block as it is declared.
func (t *Block) Origin() *Block {
	if t.origin != nil {
		return t.origin
	}
	return t
}

// Table is the type of a table.
type Table struct {
	Name string
	Decl *syntax.TableDecl
	// Actions are those of the actions property, in order.
	Actions []*ActionRef
}

func (t *Table) String() string { return "table " + t.Name }

// ActionRef is an element of a table's actions property.
type ActionRef struct {
	Action *Action
	Ref    *syntax.ActionRef
	// Args are the arguments for the parameters with direction.
	Args []syntax.Expr
}

// ApplyResult is the type of table.apply(): a struct of hit, miss and
// action_run.
type ApplyResult struct{ Table *Table }

func (t *ApplyResult) String() string { return "apply result of table " + t.Table.Name }

// ActionRun is the type of table.apply().action_run.
type ActionRun struct{ Table *Table }

func (t *ActionRun) String() string { return "action_run of table " + t.Table.Name }

// method is the type of a method before it is called.
type method struct {
	name  string
	funcs []*Func // overloaded
	recv  syntax.Expr
	typ   Type // of recv
}

func (t *method) String() string { return "method " + t.name }

// Identical reports whether two types are the same.
func Identical(a, b Type) bool {
	if a == b {
		return true
	}
	if a == Invalid || b == Invalid || isFresh(a) || isFresh(b) {
		return true
	}
	switch a := a.(type) {
	case *Bits:
		b, ok := b.(*Bits)
		return ok && *a == *b
	case *Varbit:
		b, ok := b.(*Varbit)
		return ok && a.Width == b.Width
	case *Array:
		b, ok := b.(*Array)
		return ok && a.Size == b.Size && Identical(a.Elem, b.Elem)
	case *Tuple:
		b, ok := b.(*Tuple)
		return ok && identicalLists(a.Elems, b.Elems)
	case *List:
		b, ok := b.(*List)
		return ok && Identical(a.Elem, b.Elem)
	case *Set:
		b, ok := b.(*Set)
		return ok && Identical(a.Elem, b.Elem)
	case *Struct:
		b, ok := b.(*Struct)
		return ok && a.origin != nil && a.origin == b.origin && identicalLists(a.TypeArgs, b.TypeArgs)
	case *Extern:
		b, ok := b.(*Extern)
		return ok && a.origin != nil && a.origin == b.origin && identicalLists(a.TypeArgs, b.TypeArgs)
	case *Block:
		b, ok := b.(*Block)
		return ok && a.origin != nil && a.origin == b.origin && identicalLists(a.TypeArgs, b.TypeArgs)
	case *ApplyResult:
		b, ok := b.(*ApplyResult)
		return ok && a.Table == b.Table
	case *ActionRun:
		b, ok := b.(*ActionRun)
		return ok && a.Table == b.Table
	}
	return false
}

func identicalLists(a, b []Type) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Identical(a[i], b[i]) {
			return false
		}
	}
	return true
}
