// SPDX-License-Identifier: Apache-2.0

package types

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// Object is a declared name.
type Object interface {
	ObjName() string
	Pos() source.Pos
}

type object struct {
	name string
	pos  source.Pos
	used bool
}

func (o *object) ObjName() string { return o.name }
func (o *object) Pos() source.Pos { return o.pos }
func (o *object) base() *object   { return o }

type based interface{ base() *object }

// Objects.
type (
	// Const is a constant. Value is nil if it is known only when the enclosing
	// block is instantiated.
	Const struct {
		object
		Type  Type
		Value Value
		Decl  *syntax.ConstDecl
	}

	// Var is a local variable.
	Var struct {
		object
		Type Type
		Decl *syntax.VarDecl
	}

	// ParamObj is a parameter in its body.
	ParamObj struct {
		object
		Param *Param
	}

	// TypeName is the name of a type.
	TypeName struct {
		object
		Type Type
	}

	// FuncSet is a function name with all overloads.
	FuncSet struct {
		object
		Funcs []*Func
	}

	// ActionObj is an action.
	ActionObj struct {
		object
		Action *Action
		// Top is true if the action is declared outside of controls.
		Top bool
	}

	// TableObj is a table.
	TableObj struct {
		object
		Table *Table
	}

	// Instance is an instance of an extern, parser, control or package.
	Instance struct {
		object
		Type Type
		Decl *syntax.InstanceDecl
		// Methods are the implementations of abstract methods.
		Methods []*Func
		Top     bool
	}

	// ValueSet is a parser value set.
	ValueSet struct {
		object
		Type *Set
		Decl *syntax.ValueSetDecl
	}

	// StateObj is a parser state; Decl is nil for accept and reject.
	StateObj struct {
		object
		Decl *syntax.StateDecl
	}

	// MatchKindObj is a match kind.
	MatchKindObj struct{ object }
)

// scope has the names declared in a block.
type scope struct {
	parent *scope
	names  map[string]Object
	order  []Object
}

func (s *scope) lookup(name string) Object {
	for ; s != nil; s = s.parent {
		if o := s.names[name]; o != nil {
			return o
		}
	}
	return nil
}

func (c *Checker) openScope() { c.scope = &scope{parent: c.scope} }

// closeScope ends the innermost scope and warns of unused names.
func (c *Checker) closeScope() {
	for _, o := range c.scope.order {
		c.unused(o)
	}
	c.scope = c.scope.parent
}

// declare adds an object to the innermost scope.
func (c *Checker) declare(o Object) {
	name := o.ObjName()
	if old := c.scope.names[name]; old != nil {
		c.errorf(o.Pos(), CodeDuplicate, "%s is declared already, at %v", name, c.rep.Set.Position(old.Pos()))
		return
	}
	if c.scope.parent != nil {
		c.shadowing(o)
	}
	if c.scope.names == nil {
		c.scope.names = map[string]Object{}
	}
	c.scope.names[name] = o
	c.scope.order = append(c.scope.order, o)
}

// declareFunc adds a function to the overloads of its name.
func (c *Checker) declareFunc(f *Func, id *syntax.Ident) {
	if set, ok := c.scope.names[f.Name].(*FuncSet); ok {
		for _, g := range set.Funcs {
			if len(f.Params) == len(g.Params) && sameNames(f.Params, g.Params) {
				c.errorf(id.Pos(), CodeDuplicate, "%s with these parameters is declared already, at %v", f.Name, c.rep.Set.Position(g.Decl.Name.Pos()))
				return
			}
		}
		set.Funcs = append(set.Funcs, f)
		return
	}
	set := &FuncSet{Funcs: []*Func{f}}
	set.name, set.pos = f.Name, id.Pos()
	c.declare(set)
}

func sameNames(a, b []*Param) bool {
	for i := range a {
		if a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

func obj(id *syntax.Ident) object { return object{name: id.Name, pos: id.Pos()} }
