// SPDX-License-Identifier: Apache-2.0

package types

import (
	"github.com/pauseless/pauseless/compiler/syntax"
)

// unused warns of an unused object.
func (c *Checker) unused(o Object) {
	if o.(based).base().used || c.excused(o) {
		return
	}
	what := ""
	switch o := o.(type) {
	case *Var:
		what = "variable"
	case *Const:
		what = "constant"
	case *ActionObj:
		what = "action"
	case *TableObj:
		what = "table"
	case *Instance:
		if t, ok := o.Type.(*Extern); ok {
			for _, m := range t.Methods {
				if m.Decl.Abstract {
					return // its methods are called by the target
				}
			}
		}
		what = "instance"
	case *ValueSet:
		what = "value set"
	default:
		return
	}
	c.warnf(o.Pos(), CodeUnused, "%s %s is never used", what, o.ObjName())
}

// excused reports whether the annotations of a declaration suppress the
// warning.
func (c *Checker) excused(o Object) bool {
	var list []*syntax.Annotation
	switch o := o.(type) {
	case *Var:
		list = o.Decl.Annotations
	case *Const:
		if o.Decl != nil {
			list = o.Decl.Annotations
		}
	case *ActionObj:
		list = o.Action.Decl.Annotations
	case *TableObj:
		list = o.Table.Decl.Annotations
	case *Instance:
		list = o.Decl.Annotations
	}
	for _, a := range list {
		if s, ok := syntax.AnnotString(a); ok && a.Name == "noWarn" && (s == "" || s == string(CodeUnused)) {
			return true
		}
	}
	return false
}

// unusedTop warns of functions, actions and blocks of the program that are
// never used. Libraries, which have no main, are for others to use.
func (c *Checker) unusedTop() {
	if c.info.Main == nil {
		return
	}
	main := c.rep.Set.FileAt(c.info.Main.pos)
	for _, o := range c.top.order {
		b := o.(based).base()
		if b.used || c.rep.Set.FileAt(b.pos) != main || c.excused(o) {
			continue
		}
		what := ""
		switch o := o.(type) {
		case *FuncSet:
			if o.Funcs[0].Decl.Extern || syntax.Annot(o.Funcs[0].Decl.Annotations, "noWarn") != nil {
				continue
			}
			what = "function"
		case *ActionObj:
			what = "action"
		case *TypeName:
			t, ok := o.Type.(*Block)
			if !ok || !t.HasBody {
				continue
			}
			what = t.Kind.String()
		case *Instance:
			what = "instance"
		default:
			continue
		}
		c.warnf(b.pos, CodeUnused, "%s %s is never used", what, b.name)
	}
}

// shadowing warns of a declaration that hides another that could be meant.
func (c *Checker) shadowing(o Object) {
	switch o.(type) {
	case *TypeName, *StateObj:
		return
	}
	old := c.scope.parent.lookup(o.ObjName())
	switch old.(type) {
	case nil, *TypeName, *MatchKindObj, *FuncSet:
		return
	case *ParamObj:
		if _, isParam := o.(*ParamObj); !isParam && c.ctx.kind != inControl && c.ctx.kind != inParser {
			c.errorf(o.Pos(), CodeDuplicate, "%s is the name of a parameter, declared at %v, and cannot be declared again", o.ObjName(), c.rep.Set.Position(old.Pos()))
			return
		}
	}
	if f := c.rep.Set.FileAt(old.Pos()); f == nil || isSystem(f.Name) {
		return
	}
	c.warnf(o.Pos(), CodeShadow, "%s hides the one declared at %v", o.ObjName(), c.rep.Set.Position(old.Pos()))
}
