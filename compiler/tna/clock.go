// SPDX-License-Identifier: Apache-2.0

package tna

import (
	"strings"

	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// clocks finds the fields and variables that are assigned a time of the chip, or one
// that is computed from it, and besides it nothing but constants.
func (c *checker) clocks(tree *syntax.Program) {
	c.times = make(map[string]bool)
	for more := true; more; { // from field to field
		before := len(c.times)
		c.assignments(tree, func(place string, value syntax.Expr) {
			if c.isTime(value) {
				c.times[place] = true
			}
		})
		more = len(c.times) > before
	}
	others := make(map[string]bool)
	c.assignments(tree, func(place string, value syntax.Expr) {
		others[place] = others[place] || c.info.ValueOf(value) == nil && !c.isTime(value)
	})
	for place := range others {
		if others[place] {
			delete(c.times, place)
		}
	}
}

// assignments calls do for the assignments of all controls.
func (c *checker) assignments(tree *syntax.Program, do func(place string, value syntax.Expr)) {
	set := func(place string, value syntax.Expr) {
		if place != "" && value != nil {
			do(place, value)
		}
	}
	body := func(b *syntax.BlockStmt) {
		syntax.WalkStmts(b, func(s syntax.Stmt) {
			switch s := s.(type) {
			case *syntax.AssignStmt:
				set(c.placeOf(s.X), s.Y)
			case *syntax.DeclStmt:
				if v, ok := s.Decl.(*syntax.VarDecl); ok {
					set(v.Name.Name, v.Init)
				}
			}
		})
	}
	for _, d := range tree.Decls {
		d, ok := d.(*syntax.ControlDecl)
		if !ok || !d.HasBody {
			continue
		}
		for _, l := range d.Locals {
			switch l := l.(type) {
			case *syntax.ActionDecl:
				body(l.Body)
			case *syntax.VarDecl:
				set(l.Name.Name, l.Init)
			}
		}
		body(d.Body)
	}
}

// placeOf names a field by its struct, and a variable by its name.
func (c *checker) placeOf(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.NameExpr:
		return x.Name
	case *syntax.SliceExpr:
		return c.placeOf(x.X)
	case *syntax.MemberExpr:
		if s, ok := c.info.TypeOf(x.X).(*types.Struct); ok {
			return s.Name + "." + x.Sel.Name
		}
	}
	return ""
}

// isTime reports whether x is a time, as a difference of times is not.
func (c *checker) isTime(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.CastExpr:
		return c.isTime(x.X)
	case *syntax.SliceExpr:
		return c.isTime(x.X)
	case *syntax.NameExpr:
		return c.times[x.Name]
	case *syntax.MemberExpr:
		s, ok := c.info.TypeOf(x.X).(*types.Struct)
		if ok && strings.Contains(s.Name, "intrinsic_metadata") {
			return strings.HasSuffix(x.Sel.Name, "_tstamp")
		}
		return c.times[c.placeOf(x)]
	case *syntax.BinaryExpr:
		switch x.Op {
		case syntax.Plus:
			return c.isTime(x.X) || c.isTime(x.Y)
		case syntax.Minus:
			return c.isTime(x.X) && c.info.ValueOf(x.Y) != nil
		}
	}
	return false
}

// uncast returns x without casts.
func uncast(x syntax.Expr) syntax.Expr {
	for {
		cast, ok := x.(*syntax.CastExpr)
		if !ok {
			return x
		}
		x = cast.X
	}
}
