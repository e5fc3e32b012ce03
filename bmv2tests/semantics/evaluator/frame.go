// SPDX-License-Identifier: Apache-2.0

package evaluator

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// A frame is a scope with its variables (6.6.1). Blocks, calls and activations
// of parsers and controls have one each.
type frame struct {
	run   *run
	up    *frame
	names map[string]any
	path  string // of the instance, for the control plane
}

// What a name can mean, besides *variable and Type.
type (
	constant struct{ value Value }
	// callable is a function or action; home is the frame of its declaration.
	callable struct {
		name       string
		params     []*syntax.Param
		typeParams []*syntax.Ident
		result     syntax.TypeExpr
		body       *syntax.BlockStmt
		home       *frame
	}
	table struct {
		decl *syntax.TableDecl
		home *frame // of the control's activation
		path string
	}
	// instance is an instance of a control or parser.
	instance struct {
		decl syntax.Decl
		args []Value
		path string
	}
	// register is an instance of v1model's register.
	register struct {
		elem Type
		path string
		size int
	}
	valueSet struct{}
)

// steps limits the evaluation for one packet.
const steps = 200_000

func (f *frame) step() {
	if f.run.steps++; f.run.steps > steps {
		panic(unspecified("evaluation takes more than %d steps", steps))
	}
}

func (f *frame) inner() *frame {
	return &frame{run: f.run, up: f, names: map[string]any{}, path: f.path}
}

// find returns what a name means, or nil.
func (f *frame) find(name string) any {
	for s := f; s != nil; s = s.up {
		if e, ok := s.names[name]; ok {
			return e
		}
	}
	return nil
}

func (f *frame) global() *frame {
	for f.up != nil {
		f = f.up
	}
	return f
}

func (f *frame) lookup(x *syntax.NameExpr) any {
	if x.Global {
		f = f.global()
	}
	if e := f.find(x.Name); e != nil {
		return e
	}
	panic(fault("%s is not declared", x.Name))
}

// typeOf returns the type that an expression names, or nil.
func (f *frame) typeOf(x syntax.Expr) Type {
	switch x := x.(type) {
	case *syntax.TypeNameExpr:
		return f.resolve(x.Type)
	case *syntax.NameExpr:
		t, _ := f.find(x.Name).(Type)
		return t
	}
	return nil
}

// resolve returns the type that is written.
func (f *frame) resolve(t syntax.TypeExpr) Type {
	switch t := t.(type) {
	case *syntax.BaseType:
		width := 1
		if t.Width != nil {
			width = int(known(f.eval(t.Width)).Int64())
		}
		switch t.Kind {
		case syntax.Bool:
			return BoolType{}
		case syntax.Bit:
			return &BitsType{Width: width}
		case syntax.Int:
			if t.Width == nil {
				return IntType{}
			}
			return &BitsType{width, true}
		case syntax.Varbit:
			return &VarbitType{width}
		case syntax.Error:
			return f.run.program.errors
		}
		return anyType{} // void, string
	case *syntax.NamedType:
		switch e := f.find(t.Name).(type) {
		case Type:
			return e
		case *syntax.StructDecl: // generic
			g := f.global().inner()
			for i, p := range e.TypeParams {
				g.names[p.Name] = f.resolve(t.Args[i])
			}
			return g.structType(e)
		}
		return anyType{} // externs
	case *syntax.ArrayType:
		return &StackType{f.resolve(t.Elem), int(known(f.eval(t.Size)).Int64())}
	case *syntax.TupleType:
		s := &StructType{Kind: syntax.Tuple}
		for _, e := range t.Elems {
			s.Fields = append(s.Fields, field{"", f.resolve(e)})
		}
		return s
	case *syntax.ListType:
		return &ListType{f.resolve(t.Elem)}
	}
	return anyType{}
}

func (f *frame) structType(d *syntax.StructDecl) *StructType {
	s := &StructType{Kind: d.Kind}
	for _, x := range d.Fields {
		s.Fields = append(s.Fields, field{x.Name.Name, f.resolve(x.Type)})
	}
	return s
}

// declare adds a declaration to the frame. Variables are initialised (11.2).
func (f *frame) declare(d syntax.Decl) {
	switch d := d.(type) {
	case *syntax.ConstDecl:
		f.names[d.Name.Name] = constant{convert(f.eval(d.Value), f.resolve(d.Type))}
	case *syntax.VarDecl:
		t := f.resolve(d.Type)
		var v Value
		if d.Init != nil {
			v = convert(f.eval(d.Init), t)
		} else {
			v = undefined(t)
		}
		f.names[d.Name.Name] = &variable{copyOf(v)}
	case *syntax.FuncDecl:
		f.names[d.Name.Name] = &callable{d.Name.Name, d.Params, d.TypeParams, d.Result, d.Body, f}
	case *syntax.ActionDecl:
		f.names[d.Name.Name] = &callable{d.Name.Name, d.Params, nil, nil, d.Body, f}
	case *syntax.TableDecl:
		f.names[d.Name.Name] = &table{d, f, f.path + "." + d.Name.Name}
	case *syntax.ValueSetDecl:
		f.names[d.Name.Name] = valueSet{}
	case *syntax.InstanceDecl:
		f.instantiate(d)
	case *syntax.ParserDecl, *syntax.ControlDecl:
		f.names[d.(syntax.NamedDecl).Ident().Name] = d
	case *syntax.StructDecl:
		if len(d.TypeParams) > 0 {
			f.names[d.Name.Name] = d
		} else {
			f.names[d.Name.Name] = f.structType(d)
		}
	case *syntax.TypedefDecl: // a new type has the values of the old one (8.23)
		if d.Type != nil {
			f.names[d.Name.Name] = f.resolve(d.Type)
		}
	case *syntax.EnumDecl:
		if d.Type == nil {
			f.names[d.Name.Name] = &NameType{d.Name.Name, d.Members[0].Name.Name}
			break
		}
		e := &EnumType{f.resolve(d.Type).(*BitsType), map[string]*big.Int{}, d.Members[0].Name.Name}
		f.names[d.Name.Name] = e
		for _, m := range d.Members {
			e.Members[m.Name.Name] = known(convert(f.eval(m.Value), e.Under))
		}
	}
}

// instantiate declares an instance of a control, parser or extern.
func (f *frame) instantiate(d *syntax.InstanceDecl) {
	path := d.Name.Name
	if f.path != "" {
		path = f.path + "." + path
	}
	name, ok := d.Call.Fun.(*syntax.NameExpr)
	if !ok {
		panic(fault("instance %s has no named type", d.Name.Name))
	}
	switch decl := f.find(name.Name).(type) {
	case *syntax.ControlDecl, *syntax.ParserDecl:
		i := &instance{decl: decl.(syntax.Decl), path: path}
		for _, a := range d.Call.Args {
			i.args = append(i.args, f.eval(a.Value))
		}
		f.names[d.Name.Name] = i
		return
	}
	if name.Name == "register" {
		f.names[d.Name.Name] = &register{f.resolve(d.Call.TypeArgs[0]), path, int(known(f.eval(d.Call.Args[0].Value)).Int64())}
	}
}

func (f *frame) setNamed(x syntax.Expr) (valueSet, bool) {
	n, ok := x.(*syntax.NameExpr)
	if !ok {
		return valueSet{}, false
	}
	s, ok := f.find(n.Name).(valueSet)
	return s, ok
}

// contains is false: no control plane adds members (13.11).
func (valueSet) contains([]Value) bool { return false }
