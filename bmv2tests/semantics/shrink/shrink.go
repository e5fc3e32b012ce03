// SPDX-License-Identifier: Apache-2.0

// Package shrink reduces a program that shows a difference: it deletes packets,
// entries, declarations and statements, and replaces expressions by their parts
// and by constants, while the difference remains.
package shrink

import (
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/bmv2tests/semantics/evaluator"
	"github.com/pauseless/pauseless/bmv2tests/semantics/generate"
	"github.com/pauseless/pauseless/compiler/syntax"
)

const includes = "#include <core.p4>\n#include <v1model.p4>\n"

// Reduce returns a smaller case for which differs still holds. It holds for c.
func Reduce(c generate.Case, differs func(generate.Case) bool) generate.Case {
	s := &shrinker{best: c, differs: differs}
	for i := range c.Packets {
		one := c
		one.Packets = c.Packets[i : i+1]
		if s.try(one) {
			break
		}
	}
	for {
		before := len(s.best.Text) + len(s.best.Entries)
		for i := len(s.best.Entries) - 1; i >= 0; i-- {
			less := s.best
			less.Entries = slices.Delete(slices.Clone(s.best.Entries), i, i+1)
			s.try(less)
		}
		p, err := evaluator.Parse("case.p4", s.best.Text)
		if err != nil {
			return s.best
		}
		s.decls = p.Own()
		s.list(reflect.ValueOf(&s.decls).Elem())
		if len(s.best.Text)+len(s.best.Entries) >= before {
			return s.best
		}
	}
}

type shrinker struct {
	best    generate.Case
	differs func(generate.Case) bool
	decls   []syntax.Decl // of the best case, or of the one that is tried
}

func (s *shrinker) try(c generate.Case) bool {
	if !s.differs(c) {
		return false
	}
	s.best = c
	return true
}

// keep tries the tree as it is now.
func (s *shrinker) keep() bool {
	var b strings.Builder
	b.WriteString(includes)
	for _, d := range s.decls {
		b.WriteString(syntax.Text(d))
	}
	c := s.best
	c.Text = b.String()
	return s.try(c)
}

// list deletes elements of a list, many at once and then single ones, and
// reduces those that stay.
func (s *shrinker) list(v reflect.Value) {
	for n := v.Len() / 2; n > 0; n /= 2 {
		for i := v.Len() - n; i >= 0; i -= n {
			if i+n > v.Len() {
				continue
			}
			old := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(old, v)
			v.Set(reflect.AppendSlice(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v.Slice(0, i)), v.Slice(i+n, v.Len())))
			if !s.keep() {
				v.Set(old)
			}
		}
	}
	if v.Len() == 1 {
		old := v.Index(0).Interface()
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		if !s.keep() {
			v.Set(reflect.Append(v, reflect.ValueOf(old)))
		}
	}
	for i := v.Len() - 1; i >= 0; i-- {
		s.slot(v.Index(i))
	}
}

// slot reduces what a field or an element holds.
func (s *shrinker) slot(v reflect.Value) {
	switch x := v.Interface().(type) {
	case syntax.Expr:
		s.replace(v, expressions(x))
	case syntax.Stmt:
		s.replace(v, statements(x))
	}
	s.node(v)
}

// replace tries values for a slot, in order, as long as one is taken.
func (s *shrinker) replace(v reflect.Value, with []syntax.Node) {
	for _, n := range with {
		old := v.Interface()
		if !reflect.TypeOf(n).AssignableTo(v.Type()) {
			continue
		}
		v.Set(reflect.ValueOf(n))
		if s.keep() {
			switch x := n.(type) {
			case syntax.Expr:
				s.replace(v, expressions(x))
			case syntax.Stmt:
				s.replace(v, statements(x))
			}
			return
		}
		v.Set(reflect.ValueOf(old))
	}
}

// node reduces the parts of a node.
func (s *shrinker) node(v reflect.Value) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[big.Int]() {
		return
	}
	s.parameters(v)
	for i := v.NumField() - 1; i >= 0; i-- {
		f := v.Field(i)
		if !f.CanSet() || v.Type().Field(i).Name == "Annotations" {
			continue
		}
		switch {
		case v.Type().Field(i).Name == "Else" && !f.IsNil():
			old := f.Interface()
			f.SetZero()
			if !s.keep() {
				f.Set(reflect.ValueOf(old))
				s.slot(f)
			}
		case f.Kind() == reflect.Slice:
			if v.Type() != reflect.TypeFor[syntax.SelectExpr]() || i != v.NumField()-2 { // each case needs all keys
				s.list(f)
			}
		case f.Kind() == reflect.Interface || f.Kind() == reflect.Pointer:
			if !f.IsNil() {
				s.slot(f)
			}
		case v.Type().Field(i).Anonymous:
			s.node(f)
		}
	}
}

// parameters deletes parameters of a function, action or control together with
// the arguments of its calls.
func (s *shrinker) parameters(v reflect.Value) {
	var name string
	var params *[]*syntax.Param
	switch d := v.Addr().Interface().(type) {
	case *syntax.FuncDecl:
		name, params = d.Name.Name, &d.Params
	case *syntax.ActionDecl:
		name, params = d.Name.Name, &d.Params
	case *syntax.ControlDecl:
		name, params = d.Name.Name, &d.Params
	default:
		return
	}
	for i := len(*params) - 1; i >= 0; i-- {
		calls := s.calls(name)
		old := *params
		saved := make([][]*syntax.Argument, len(calls))
		for j, c := range calls {
			saved[j] = c.Args
			at := i
			for k, a := range c.Args {
				if a.Name != nil && a.Name.Name == old[i].Name.Name {
					at = k
				}
			}
			if at < len(c.Args) {
				c.Args = slices.Delete(slices.Clone(c.Args), at, at+1)
			}
		}
		*params = slices.Delete(slices.Clone(old), i, i+1)
		if !s.keep() {
			*params = old
			for j, c := range calls {
				c.Args = saved[j]
			}
		}
	}
}

// calls returns the calls of a function or action, or of the instances of a
// control.
func (s *shrinker) calls(name string) []*syntax.CallExpr {
	instances := map[string]bool{}
	for _, d := range s.decls {
		if c, ok := d.(*syntax.ControlDecl); ok {
			for _, l := range c.Locals {
				if i, ok := l.(*syntax.InstanceDecl); ok {
					if t, ok := i.Call.Fun.(*syntax.NameExpr); ok && t.Name == name {
						instances[i.Name.Name] = true
					}
				}
			}
		}
	}
	var list []*syntax.CallExpr
	seen := func(x syntax.Expr) bool {
		c, ok := x.(*syntax.CallExpr)
		if !ok {
			return true
		}
		switch f := c.Fun.(type) {
		case *syntax.NameExpr:
			if f.Name == name {
				list = append(list, c)
			}
		case *syntax.MemberExpr:
			if n, ok := f.X.(*syntax.NameExpr); ok && instances[n.Name] && f.Sel.Name == "apply" {
				list = append(list, c)
			}
		}
		return true
	}
	for _, d := range s.decls {
		syntax.WalkDecl(d, seen)
	}
	return list
}

// expressions returns what may replace an expression: its parts and constants.
func expressions(x syntax.Expr) []syntax.Node {
	switch x := x.(type) {
	case *syntax.IntLit:
		if x.Value.IsInt64() && x.Value.Int64() <= 1 {
			return nil
		}
		one := *x
		one.Value = big.NewInt(1)
		return []syntax.Node{&one}
	case *syntax.BoolLit, *syntax.DefaultExpr, *syntax.SelectExpr:
		return nil
	}
	list := []syntax.Node{&syntax.BoolLit{Value: true}, &syntax.BoolLit{}, &syntax.IntLit{Value: big.NewInt(1), Width: -1, Base: 10}}
	if _, ok := x.(*syntax.NameExpr); ok {
		return list
	}
	syntax.Walk(x, func(y syntax.Expr) bool {
		if y != x {
			list = append(list, y)
		}
		return true
	})
	return list
}

// statements returns what may replace a statement: those in it.
func statements(x syntax.Stmt) []syntax.Node {
	var list []syntax.Node
	add := func(s syntax.Stmt) {
		if s != nil {
			list = append(list, s)
		}
	}
	switch x := x.(type) {
	case *syntax.IfStmt:
		add(x.Then)
		add(x.Else)
	case *syntax.ForStmt:
		add(x.Body)
	case *syntax.ForInStmt:
		add(x.Body)
	case *syntax.SwitchStmt:
		for _, c := range x.Cases {
			if c.Body != nil {
				add(c.Body)
			}
		}
	case *syntax.BlockStmt:
		if len(x.Stmts) == 1 {
			add(x.Stmts[0])
		}
	}
	return list
}
