// SPDX-License-Identifier: Apache-2.0

package types

import (
	"github.com/pauseless/pauseless/compiler/include"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// isSystem reports whether a file came with the compiler.
func isSystem(name string) bool { return include.Is(name) }

// annotations checks the annotations that the compiler supports. Others may
// have any form.
func (c *Checker) annotations(list []*syntax.Annotation) {
	for i, a := range list {
		if a.Structured {
			c.structured(a)
		}
		for _, b := range list[:i] {
			if b.Name == a.Name && (a.Structured || b.Structured) {
				c.errorf(a.Pos(), CodeAnnotation, "annotation @%s is given twice", a.Name)
			}
		}
		if a.Structured || a.Pragma {
			continue
		}
		switch a.Name {
		case "name", "deprecated", "noWarn":
			s, ok := syntax.AnnotString(a)
			if !ok {
				c.errorf(a.Pos(), CodeAnnotation, "annotation @%s needs one string", a.Name)
			} else if a.Name == "name" && s == "" {
				c.errorf(a.Pos(), CodeAnnotation, "annotation @name needs a name that is not empty")
			}
		case "hidden", "tableonly", "defaultonly", "optional", "pure", "noSideEffects":
			if len(a.Tokens) > 0 {
				c.errorf(a.Pos(), CodeAnnotation, "annotation @%s has no body", a.Name)
			}
		case "field_list":
			c.structured(a)
			if len(a.Exprs) == 0 {
				c.errorf(a.Pos(), CodeAnnotation, "annotation @field_list needs numbers")
			}
		case "pkginfo", "platform_property":
			c.structured(a)
			if len(a.Fields) == 0 {
				c.errorf(a.Pos(), CodeAnnotation, "annotation @%s needs values with names", a.Name)
			}
		case "match":
			c.matchAnnotation(a)
		case "priority":
			c.structured(a)
			if len(a.Exprs) != 1 {
				c.errorf(a.Pos(), CodeAnnotation, "annotation @priority needs one number")
			}
		}
	}
}

// matchAnnotation checks @match(kind), on fields of value sets.
func (c *Checker) matchAnnotation(a *syntax.Annotation) {
	if len(a.Tokens) == 1 {
		if _, ok := c.scope.lookup(a.Tokens[0].Text).(*MatchKindObj); ok {
			return
		}
	}
	c.errorf(a.Pos(), CodeAnnotation, "annotation @match needs a match kind")
}

// structured checks the values in @name[…].
func (c *Checker) structured(a *syntax.Annotation) {
	seen := map[string]bool{}
	check := func(e syntax.Expr) {
		if n, ok := e.(*syntax.NameExpr); ok && c.scope.lookup(n.Name) == nil {
			// p4c leaves the value out: it may be a macro that the build did not define.
			c.warnf(e.Pos(), CodeAnnotation, "%s in annotation @%s is not declared: the value is left out; define it with -D", n.Name, a.Name)
			return
		}
		var x operand
		c.expr(&x, e, nil)
		if x.mode == invalid {
			return
		}
		switch x.val.(type) {
		case IntValue, BoolValue, StringValue:
		default:
			c.errorf(e.Pos(), CodeAnnotation, "annotation @%s needs numbers, strings and booleans known at compile time, not %s", a.Name, syntax.Text(e))
		}
	}
	for _, e := range a.Exprs {
		check(e)
	}
	for _, f := range a.Fields {
		if seen[f.Name.Name] {
			c.errorf(f.Pos(), CodeDuplicate, "%s is given twice in annotation @%s", f.Name.Name, a.Name)
		}
		seen[f.Name.Name] = true
		check(f.Value)
	}
}

// silence applies @noWarn until unsilence. It reports whether there was one.
func (c *Checker) silence(list []*syntax.Annotation) bool {
	var q map[string]bool
	for _, a := range list {
		if a.Name != "noWarn" {
			continue
		}
		if s, ok := syntax.AnnotString(a); ok {
			if q == nil {
				q = map[string]bool{}
			}
			q[s] = true
		}
	}
	if q == nil {
		return false
	}
	c.quiet = append(c.quiet, q)
	return true
}

func (c *Checker) unsilence() { c.quiet = c.quiet[:len(c.quiet)-1] }

// deprecated warns if the used declaration has the annotation @deprecated.
func (c *Checker) deprecated(pos source.Pos, list []*syntax.Annotation, name string) {
	if a := syntax.Annot(list, "deprecated"); a != nil {
		s, _ := syntax.AnnotString(a)
		c.warnf(pos, CodeDeprecated, "%s is deprecated: %s", name, s)
	}
}
